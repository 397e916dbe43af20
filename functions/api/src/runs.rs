//! Runs as their caller sees them: state, history, trace, evidence, cancel.

use agent::boundary::chain;
use agent::ports::ledger::RunRow;
use agent::runs::Unreadable;
use app::connect::ApiApp;
use domain::budget::{BudgetLimits, BudgetUse};
use domain::events::FailureCode;
use domain::ids::{CallerId, RunId, SessionId};
use domain::release::Outcome;
use edge::problem::{Code, Problem};
use http::{Response, StatusCode};
use lambda_http::Body;
use serde_json::{Value, json};
use time::format_description::well_known::Rfc3339;

use crate::handler;

const DEFAULT_PAGE: u32 = 20;
const MAX_PAGE: u32 = 100;

pub async fn state(app: &ApiApp, id: RunId, caller: &CallerId) -> Result<Response<Body>, Problem> {
    let row = app.runs.run(id, caller).await.map_err(problem)?;
    let mut document = with_result(&row);
    // What the caller said of it is no part of the run: a store that can't tell takes nothing away.
    let feedback = app.feedback.rating(id, caller).await.unwrap_or_else(|error| {
        tracing::warn!(error = %chain(&error), "feedback was not read");
        None
    });
    if let Some(map) = document.as_object_mut() {
        map.insert("feedback".to_owned(), json!(feedback));
    }
    Ok(handler::json(StatusCode::OK, &document))
}

pub async fn cancel(app: &ApiApp, id: RunId, caller: &CallerId) -> Result<Response<Body>, Problem> {
    let row = app.runs.cancel(id, caller).await.map_err(problem)?;
    Ok(handler::json(StatusCode::ACCEPTED, &summary(&row)))
}

pub async fn trace(app: &ApiApp, id: RunId, caller: &CallerId) -> Result<Response<Body>, Problem> {
    let (row, rows) = app.runs.trace(id, caller).await.map_err(problem)?;
    let document = json!({
        "run": summary(&row),
        "budget": { "limits": limits(&row.budget_limits), "used": used(&row.budget_used) },
        "ungrounded_literals": row.ungrounded_literals,
        "repaired": row.repaired,
        "cost_usd": row.cost_nano_usd.map(|nano| nano as f64 / 1e9),
        "steps": rows.steps,
        "tool_invocations": rows.invocations,
    });
    Ok(handler::json(StatusCode::OK, &document))
}

pub async fn evidence(app: &ApiApp, id: RunId, caller: &CallerId) -> Result<Response<Body>, Problem> {
    let analyses = app.runs.evidence(id, caller).await.map_err(problem)?;
    Ok(handler::json(StatusCode::OK, &json!({ "run_id": id, "analyses": analyses })))
}

pub async fn of_session(
    app: &ApiApp,
    session: &SessionId,
    caller: &CallerId,
    limit: Option<String>,
    cursor: Option<String>,
) -> Result<Response<Body>, Problem> {
    let limit = handler::whole(limit, "limit", DEFAULT_PAGE, MAX_PAGE)?;
    let cursor = cursor.map(|text| RunId::parse(&text)).transpose();
    let cursor = cursor.map_err(|_| Problem::invalid("cursor must be a next_cursor of an earlier page"))?;
    let page = app.runs.of_session(session, caller, limit, cursor).await.map_err(problem)?;
    let runs: Vec<Value> = page.runs.iter().map(summary).collect();
    Ok(handler::json(StatusCode::OK, &json!({ "runs": runs, "next_cursor": page.next })))
}

fn summary(row: &RunRow) -> Value {
    json!({
        "run_id": row.run_id,
        "session_id": row.session_id,
        "query": row.query,
        "status": row.outcome.map_or("RUNNING", Outcome::as_str),
        "intent": row.intent,
        "reason": row.reason,
        "started_at": rfc3339(Some(row.started_at)),
        "ended_at": rfc3339(row.ended_at),
        "deadline": rfc3339(Some(row.deadline)),
    })
}

/// With what its stream told, so that a client that lost the stream loses nothing.
fn with_result(row: &RunRow) -> Value {
    let mut document = summary(row);
    let failure = (row.outcome == Some(Outcome::Failed)).then(|| {
        let code = row.reason.as_deref().and_then(FailureCode::parse).unwrap_or(FailureCode::Internal);
        json!({ "code": code, "message": code.message(), "retryable": code.retryable() })
    });
    if let Some(map) = document.as_object_mut() {
        map.insert("outcome".to_owned(), json!(row.outcome));
        map.insert("body".to_owned(), json!(row.body));
        map.insert("failure".to_owned(), json!(failure));
    }
    document
}

fn limits(limits: &BudgetLimits) -> Value {
    let BudgetLimits { model_calls, tool_calls, input_tokens, output_tokens, tool_bytes } = limits;
    json!({ "model_calls": model_calls, "tool_calls": tool_calls, "input_tokens": input_tokens, "output_tokens": output_tokens, "tool_bytes": tool_bytes })
}

fn used(used: &BudgetUse) -> Value {
    json!(used)
}

fn rfc3339(at: Option<time::OffsetDateTime>) -> Option<String> {
    at.and_then(|at| at.format(&Rfc3339).ok())
}

pub fn problem(unreadable: Unreadable) -> Problem {
    match unreadable {
        Unreadable::NotFound => Problem::not_found(),
        Unreadable::EvidenceExpired => Problem::new(
            Code::EvidenceExpired,
            "evidence is kept for 24 hours; this run's has expired, its report has not",
        ),
        Unreadable::Store(error) => {
            tracing::error!(error = %chain(&error), "a store is unavailable");
            Problem::store_unavailable()
        }
    }
}
