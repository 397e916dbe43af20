//! What a function replied, and the HTTP response that the gateway makes of it.

use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, Response, StatusCode, header};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use bytes::{Bytes, BytesMut};
use futures_util::stream::poll_fn;
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;

use super::config::EventShape;

/// Between the prelude and the body of a streamed HTTP response.
const DELIMITER: [u8; 8] = [0; 8];
/// A prelude that grows beyond this many bytes is a fault.
const MAX_PRELUDE: usize = 1024 * 1024;

pub(super) enum Reply {
    Buffered(Bytes),
    Streamed(Streamed),
    Failed(Failure),
}

pub(super) struct Streamed {
    /// Whether status and headers come first, as JSON.
    pub(super) prelude: bool,
    pub(super) chunks: mpsc::Receiver<Chunk>,
}

pub(super) type Chunk = Result<Bytes, StreamBroken>;

/// The function's connection ended in the middle of its response.
#[derive(Debug, thiserror::Error)]
#[error("the function's response ended in the middle")]
pub(super) struct StreamBroken;

/// Why an invocation has no reply.
#[derive(Debug, Clone, PartialEq)]
pub enum Failure {
    /// The function reported an error, a panic too: its diagnostic document.
    FunctionError(Value),
    /// The process ended without a reply, or never asked for the event.
    Crashed,
    TimedOut,
    /// All allowed sandboxes were busy.
    Throttled,
    ResponseTooLarge,
    /// The process could not be started.
    NotStarted(String),
    /// The reply is not an HTTP response: says what is wrong with it.
    Malformed(String),
}

impl Failure {
    fn status(&self) -> StatusCode {
        match self {
            Self::Throttled => StatusCode::TOO_MANY_REQUESTS,
            _ => StatusCode::BAD_GATEWAY,
        }
    }

    /// A stable word for tests, in the field `emulator_fault` of the JSON body.
    pub fn code(&self) -> &'static str {
        match self {
            Self::FunctionError(_) => "FUNCTION_ERROR",
            Self::Crashed => "FUNCTION_CRASHED",
            Self::TimedOut => "FUNCTION_TIMED_OUT",
            Self::Throttled => "THROTTLED",
            Self::ResponseTooLarge => "RESPONSE_TOO_LARGE",
            Self::NotStarted(_) => "FUNCTION_NOT_STARTED",
            Self::Malformed(_) => "MALFORMED_RESPONSE",
        }
    }
}

/// The gateway's own answer: AWS's message, and the reason for whoever reads a failed test.
pub(super) fn failed(failure: &Failure) -> Response<Body> {
    let message = match failure {
        Failure::Throttled => "Too Many Requests",
        _ => "Internal server error",
    };
    let detail = match failure {
        Failure::FunctionError(diagnostic) => diagnostic.clone(),
        Failure::NotStarted(text) | Failure::Malformed(text) => text.clone().into(),
        _ => Value::Null,
    };
    let body = json!({ "message": message, "emulator_fault": failure.code(), "detail": detail });
    json_response(failure.status(), &body)
}

pub(super) fn json_response(status: StatusCode, body: &Value) -> Response<Body> {
    let mut response = Response::new(Body::from(body.to_string()));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// Status, headers and cookies are applied, the body is passed on as it comes.
pub(super) async fn into_http(reply: Reply, shape: EventShape) -> Response<Body> {
    let response = match reply {
        Reply::Buffered(bytes) => buffered(&bytes, shape),
        Reply::Streamed(streamed) => stream(streamed).await,
        Reply::Failed(failure) => Err(failure),
    };
    response.unwrap_or_else(|failure| failed(&failure))
}

async fn stream(mut streamed: Streamed) -> Result<Response<Body>, Failure> {
    if !streamed.prelude {
        let mut response = Response::new(rest(Bytes::new(), streamed.chunks));
        let binary = HeaderValue::from_static("application/octet-stream");
        response.headers_mut().insert(header::CONTENT_TYPE, binary);
        return Ok(response);
    }
    let (prelude, first) = read_prelude(&mut streamed.chunks).await?;
    let mut response = head(&prelude)?;
    *response.body_mut() = rest(first, streamed.chunks);
    Ok(response)
}

/// The prelude, and what came behind it in the same chunk.
pub(super) async fn read_prelude(
    chunks: &mut mpsc::Receiver<Chunk>,
) -> Result<(Map<String, Value>, Bytes), Failure> {
    let mut buffer = BytesMut::new();
    loop {
        if let Some(at) = buffer.windows(DELIMITER.len()).position(|window| window == DELIMITER) {
            let prelude = serde_json::from_slice(&buffer[..at])
                .map_err(|fault| Failure::Malformed(format!("the prelude is not a JSON object: {fault}")))?;
            let first = buffer.split_off(at + DELIMITER.len()).freeze();
            return Ok((prelude, first));
        }
        if buffer.len() > MAX_PRELUDE {
            return Err(Failure::Malformed("the prelude has no end".to_owned()));
        }
        match chunks.recv().await {
            Some(Ok(chunk)) => buffer.extend_from_slice(&chunk),
            Some(Err(StreamBroken)) => return Err(Failure::Crashed),
            None => return Err(Failure::Malformed("the stream ended inside the prelude".to_owned())),
        }
    }
}

fn rest(first: Bytes, mut chunks: mpsc::Receiver<Chunk>) -> Body {
    let mut first = Some(first).filter(|first| !first.is_empty());
    Body::from_stream(poll_fn(move |context| match first.take() {
        Some(first) => std::task::Poll::Ready(Some(Ok(first))),
        None => chunks.poll_recv(context),
    }))
}

fn buffered(bytes: &[u8], shape: EventShape) -> Result<Response<Body>, Failure> {
    let document = serde_json::from_slice::<Value>(bytes)
        .map_err(|fault| Failure::Malformed(format!("the response is not JSON: {fault}")))?;
    let Some(fields) = document.as_object().filter(|fields| fields.contains_key("statusCode")) else {
        return match shape {
            // Payload 2.0 takes any JSON as the body of a 200.
            EventShape::FunctionUrlV2 => Ok(json_response(StatusCode::OK, &document)),
            EventShape::RestProxyV1 => Err(Failure::Malformed("the response has no statusCode".to_owned())),
        };
    };
    let mut response = head(fields)?;
    let body = fields.get("body").and_then(Value::as_str).unwrap_or_default();
    let is_base64 = fields.get("isBase64Encoded").and_then(Value::as_bool).unwrap_or_default();
    *response.body_mut() = if is_base64 {
        let decoded = BASE64_STANDARD.decode(body);
        Body::from(decoded.map_err(|fault| Failure::Malformed(format!("the body is not Base64: {fault}")))?)
    } else {
        Body::from(body.to_owned())
    };
    Ok(response)
}

/// Status, headers (a value or a list of values each) and cookies, with an empty body.
fn head(fields: &Map<String, Value>) -> Result<Response<Body>, Failure> {
    let malformed = |what: &str| Failure::Malformed(what.to_owned());
    let status = fields.get("statusCode").and_then(Value::as_u64).unwrap_or(200);
    let status = u16::try_from(status).ok().and_then(|status| StatusCode::from_u16(status).ok());
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status.ok_or_else(|| malformed("statusCode is no HTTP status"))?;
    for (name, values) in merged_headers(fields) {
        for value in values.as_array().map_or(std::slice::from_ref(values), Vec::as_slice) {
            append(&mut response, name, value).ok_or_else(|| malformed(&format!("bad header {name}")))?;
        }
    }
    for cookie in fields.get("cookies").and_then(Value::as_array).into_iter().flatten() {
        append(&mut response, "set-cookie", cookie).ok_or_else(|| malformed("bad cookie"))?;
    }
    Ok(response)
}

/// A name in `multiValueHeaders` hides the same name in `headers`.
fn merged_headers(fields: &Map<String, Value>) -> Vec<(&String, &Value)> {
    let of = |key: &str| fields.get(key).and_then(Value::as_object).into_iter().flatten();
    let hidden = |name: &str| of("multiValueHeaders").any(|(other, _)| other.eq_ignore_ascii_case(name));
    of("multiValueHeaders").chain(of("headers").filter(|(name, _)| !hidden(name))).collect()
}

/// The length and the connection are the gateway's business.
fn append(response: &mut Response<Body>, name: &str, value: &Value) -> Option<()> {
    let name = HeaderName::from_bytes(name.as_bytes()).ok()?;
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let value = HeaderValue::from_str(&text).ok()?;
    if ![header::CONTENT_LENGTH, header::CONNECTION, header::TRANSFER_ENCODING].contains(&name) {
        response.headers_mut().append(name, value);
    }
    Some(())
}
