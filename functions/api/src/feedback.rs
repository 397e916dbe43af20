//! What a caller says of a run that has ended.

use agent::boundary::chain;
use agent::ports::{Feedback, Rating};
use app::connect::ApiApp;
use domain::ids::{CallerId, RunId};
use edge::problem::{Code, Problem};
use edge::request::json_text;
use http::{HeaderMap, Response, StatusCode};
use lambda_http::Body;
use serde::Deserialize;
use serde_json::json;

use crate::{handler, runs};

const MAX_BODY_BYTES: usize = 16 * 1024;
const MAX_REASON_CHARS: usize = 64;
const MAX_COMMENT_CHARS: usize = 2000;
const RIGHT: &str = r#"send {"rating": "UP" or "DOWN", "reason"?: "WRONG_CAUSE", "comment"?: "…"}"#;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FeedbackBody {
    rating: String,
    #[serde(default)]
    reason: Option<String>,
    #[serde(default)]
    comment: Option<String>,
}

pub async fn rate(
    app: &ApiApp,
    id: RunId,
    caller: &CallerId,
    headers: &HeaderMap,
    body: &[u8],
) -> Result<Response<Body>, Problem> {
    let feedback = read(json_text(headers, body, MAX_BODY_BYTES, RIGHT)?)?;
    let row = app.runs.run(id, caller).await.map_err(runs::problem)?;
    if row.outcome.is_none() {
        let detail = "the run has not ended; rate it when its state is SUCCESS, FALLBACK or FAILED";
        return Err(Problem::new(Code::RunInProgress, detail).about_run(id));
    }
    app.feedback.rate(id, caller, &feedback, app.runs.clock.now()).await.map_err(|error| {
        tracing::error!(error = %chain(&error), "a store is unavailable");
        Problem::store_unavailable()
    })?;
    Ok(handler::json(StatusCode::OK, &json!({ "run_id": id, "feedback": feedback })))
}

fn read(text: &str) -> Result<Feedback, Problem> {
    let body: FeedbackBody = serde_json::from_str(text)
        .map_err(|fault| Problem::invalid(format!("the body is no feedback: {fault}; {RIGHT}")))?;
    let rating = Rating::parse(&body.rating);
    let rating = rating.ok_or_else(|| Problem::invalid("rating must be UP or DOWN"))?;
    let plain = |text: &str| {
        text.chars().filter(|c| !c.is_control() || *c == '\n').collect::<String>().trim().to_owned()
    };
    let reason = body.reason.filter(|reason| !reason.is_empty());
    let fits = |reason: &String| {
        reason.len() <= MAX_REASON_CHARS
            && reason.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_')
    };
    if !reason.as_ref().is_none_or(fits) {
        return Err(Problem::invalid(format!(
            "reason must be 1 to {MAX_REASON_CHARS} characters of A-Z 0-9 _"
        )));
    }
    let comment = body.comment.map(|comment| plain(&comment)).filter(|comment| !comment.is_empty());
    if comment.as_ref().is_some_and(|comment| comment.chars().count() > MAX_COMMENT_CHARS) {
        return Err(Problem::invalid(format!("comment may have at most {MAX_COMMENT_CHARS} characters")));
    }
    Ok(Feedback { rating, reason, comment })
}
