//! Reading `POST /api/chat`: the same question whatever the event shape, header case or body encoding.

use agent::admission::Refused;
use domain::ids::SessionId;
use domain::question::Query;
use http::{HeaderMap, Method, header};
use serde::Deserialize;

use crate::alert::{self, NoAlert};
use crate::problem::{Code, Problem};

/// A chat request that may be admitted.
#[derive(Debug, PartialEq, Eq)]
pub struct Ask {
    pub query: Query,
    pub session_id: Option<SessionId>,
    pub idempotency_key: Option<String>,
}

/// Parsed once, strictly; nothing looks at the raw body again.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AskBody {
    query: String,
    #[serde(default)]
    session_id: Option<String>,
}

/// Bytes of a body at most: a query of 8 KiB with every character escaped fits.
pub const MAX_BODY_BYTES: usize = 64 * 1024;
const MAX_IDEMPOTENCY_KEY: usize = 128;

/// Checks method, headers and body in the order in which a client can fix them.
pub fn read_ask(method: &Method, headers: &HeaderMap, body: &[u8]) -> Result<Ask, Problem> {
    if method != Method::POST {
        return Err(Problem::method_not_allowed("POST"));
    }
    check_media(headers)?;
    if body.len() > MAX_BODY_BYTES {
        let detail = format!("the body has {} bytes, at most {MAX_BODY_BYTES} are accepted", body.len());
        return Err(Problem::new(Code::PayloadTooLarge, detail));
    }
    let AskBody { query, session_id } = parse_body(body)?;
    let query = Query::parse(&query).map_err(|invalid| Problem::invalid(invalid.to_string()))?;
    let session_id = session_id.map(|text| SessionId::parse(&text)).transpose();
    let session_id = session_id.map_err(|invalid| Problem::invalid(invalid.to_string()))?;
    Ok(Ask { query, session_id, idempotency_key: idempotency_key(headers)? })
}

fn parse_body(body: &[u8]) -> Result<AskBody, Problem> {
    const RIGHT: &str = r#"send {"query": "…", "session_id": "…" (optional)}"#;
    let text =
        std::str::from_utf8(body).map_err(|_| Problem::invalid(format!("the body is not UTF-8; {RIGHT}")))?;
    if text.trim().is_empty() {
        return Err(Problem::invalid(format!("the body is empty; {RIGHT}")));
    }
    let chat = serde_json::from_str(text);
    let Err(fault) = chat else { return chat.map_err(|_| Problem::invalid(RIGHT)) };
    // A body without a query may be an alert.
    if let Ok(body) = serde_json::from_str::<serde_json::Value>(text)
        && body.get("query").is_none()
    {
        match alert::query(&body) {
            Ok(query) => return Ok(AskBody { query, session_id: None }),
            Err(NoAlert::NothingToAsk(why)) => return Err(Problem::invalid(why)),
            Err(NoAlert::UnknownShape) => {}
        }
    }
    let detail = format!(
        "the body is not a chat request: {fault}; {RIGHT}, or an alert of Alertmanager, CloudWatch (SNS, EventBridge) or PagerDuty v3"
    );
    Err(Problem::invalid(detail))
}

/// The text of a JSON body: the right media type, not too long, UTF-8, not empty. `right` says what to send.
pub fn json_text<'b>(
    headers: &HeaderMap,
    body: &'b [u8],
    max_bytes: usize,
    right: &str,
) -> Result<&'b str, Problem> {
    check_media(headers)?;
    if body.len() > max_bytes {
        let detail = format!("the body has {} bytes, at most {max_bytes} are accepted", body.len());
        return Err(Problem::new(Code::PayloadTooLarge, detail));
    }
    let text =
        std::str::from_utf8(body).map_err(|_| Problem::invalid(format!("the body is not UTF-8; {right}")))?;
    if text.trim().is_empty() {
        return Err(Problem::invalid(format!("the body is empty; {right}")));
    }
    Ok(text)
}

fn check_media(headers: &HeaderMap) -> Result<(), Problem> {
    // SNS sends JSON and calls it text.
    if headers.contains_key("x-amz-sns-message-type") {
        return Ok(());
    }
    let unsupported = |detail: &str| Problem::new(Code::UnsupportedMediaType, detail);
    if let Some(encoding) = headers.get(header::CONTENT_ENCODING)
        && !encoding.as_bytes().eq_ignore_ascii_case(b"identity")
    {
        return Err(unsupported("compressed bodies are not accepted; send plain application/json"));
    }
    let media_type =
        headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let essence = media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let json =
        essence == "application/json" || (essence.starts_with("application/") && essence.ends_with("+json"));
    if json { Ok(()) } else { Err(unsupported("set content-type: application/json")) }
}

fn idempotency_key(headers: &HeaderMap) -> Result<Option<String>, Problem> {
    let mut values = headers.get_all("idempotency-key").iter();
    let Some(value) = values.next() else {
        return Ok(None);
    };
    let text = value.to_str().unwrap_or_default();
    let valid = (1..=MAX_IDEMPOTENCY_KEY).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_graphic());
    if !valid || values.next().is_some() {
        return Err(Problem::invalid(
            "Idempotency-Key must be one value of 1 to 128 visible ASCII characters",
        ));
    }
    Ok(Some(text.to_owned()))
}

/// The refusals of admission in the contract's codes.
impl From<Refused> for Problem {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::SessionBusy { run_id } => {
                let detail = "another run of this session is active; wait for it, cancel it, or use another session_id";
                Self::new(Code::SessionBusy, detail).about_run(run_id)
            }
            Refused::RunInProgress { run_id } => {
                let detail = "the run that this Idempotency-Key started is still active; ask GET /api/runs/ and the run_id given here";
                Self::new(Code::RunInProgress, detail).about_run(run_id)
            }
            Refused::RateLimited { limit, retry_after_seconds } => {
                let detail = format!(
                    "this caller's limit of {limit} is reached; try again after the time in Retry-After"
                );
                Self::new(Code::RateLimited, detail).retry_after(retry_after_seconds)
            }
            Refused::UnknownSession => Self::not_found(),
            Refused::StoreUnavailable(_) => Self::store_unavailable(),
        }
    }
}

#[cfg(test)]
#[path = "request_tests.rs"]
mod tests;
