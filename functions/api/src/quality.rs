//! How well runs went, for administrators: numbers of all callers' runs, no contents.

use agent::boundary::chain;
use app::connect::ApiApp;
use edge::problem::Problem;
use http::{Response, StatusCode};
use lambda_http::Body;
use serde_json::{Value, json};
use time::format_description::well_known::Rfc3339;
use time::{Duration, OffsetDateTime};

use crate::handler;

const DEFAULT_SPAN: Duration = Duration::days(7);
/// A longer span would read too much of the ledger at once.
const MAX_SPAN: Duration = Duration::days(92);

pub async fn read(app: &ApiApp, from: Option<String>, to: Option<String>) -> Result<Response<Body>, Problem> {
    let to = moment(to, "to")?.unwrap_or_else(|| app.runs.clock.now());
    let from = moment(from, "from")?.unwrap_or(to - DEFAULT_SPAN);
    if from >= to || to - from > MAX_SPAN {
        return Err(Problem::invalid("from must lie before to, at most 92 days"));
    }
    let quality = app.quality.quality(from, to).await.map_err(|error| {
        tracing::error!(error = %chain(&error), "a store is unavailable");
        Problem::store_unavailable()
    })?;
    let time = |at: OffsetDateTime| at.format(&Rfc3339).ok();
    let ended = quality.runs - quality.outcomes.get("RUNNING").copied().unwrap_or(0);
    let share = |n: u64| if ended == 0 { Value::Null } else { json!(n as f64 / ended as f64) };
    let of = |outcome: &str| share(quality.outcomes.get(outcome).copied().unwrap_or(0));
    let rates = json!({
        "success": of("SUCCESS"), "fallback": of("FALLBACK"), "failed": of("FAILED"), "repaired": share(quality.repaired),
    });
    // What only some runs cost says nothing of all of them.
    let is_priced = quality.priced_runs > 0;
    let mut answer = json!(quality);
    if let Some(answer) = answer.as_object_mut() {
        answer.remove("cost_nano_usd");
        let cost = is_priced.then_some(quality.cost_nano_usd as f64 / 1e9);
        answer.extend([
            ("from".to_owned(), json!(time(from))),
            ("to".to_owned(), json!(time(to))),
            ("rates".to_owned(), rates),
            ("cost_usd".to_owned(), json!(cost)),
        ]);
    }
    Ok(handler::json(StatusCode::OK, &answer))
}

fn moment(text: Option<String>, name: &str) -> Result<Option<OffsetDateTime>, Problem> {
    let Some(text) = text else { return Ok(None) };
    let read = OffsetDateTime::parse(&text, &Rfc3339);
    read.map(Some)
        .map_err(|_| Problem::invalid(format!("{name} must be a time such as 2026-11-30T14:05:00Z")))
}
