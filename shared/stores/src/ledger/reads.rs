//! Reading `diagnosis_run` back: one run, and a session's runs page by page.

use agent::ports::ledger::{RunPage, RunRow};
use domain::budget::{BudgetLimits, BudgetUse};
use domain::ids::{CallerId, RunId, SessionId};
use domain::question::Intent;
use domain::release::Outcome;
use serde_json::value::RawValue;

use super::connection::Connection;
use super::fault::Fault;
use super::values::Row;

/// Runs of one page at most.
const MAX_PAGE: u32 = 100;

pub(super) async fn one(
    connection: &mut Connection,
    run_id: RunId,
    caller: &CallerId,
) -> Result<Option<RunRow>, Fault> {
    let sql = "SELECT * FROM diagnosis_run WHERE run_id = ? AND caller = ?";
    let rows = connection.on().fetch(sql, &[run_id.into(), caller.into()]).await?;
    rows.first().map(run_row).transpose()
}

pub(super) async fn page(
    connection: &mut Connection,
    session: &SessionId,
    caller: &CallerId,
    limit: u32,
    before: Option<RunId>,
) -> Result<Option<RunPage>, Fault> {
    let sql = "SELECT session_id FROM chat_session WHERE session_id = ? AND caller = ?";
    if connection.on().fetch(sql, &[session.into(), caller.into()]).await?.is_empty() {
        return Ok(None);
    }
    let limit = limit.clamp(1, MAX_PAGE);
    // Run ids are UUIDv7: their order is the order of the runs' starts. One row more than asked tells whether
    // there is a next page.
    let sql = "SELECT * FROM diagnosis_run WHERE session_id = ? AND caller = ? AND run_id < ? \
               ORDER BY run_id DESC LIMIT ?";
    // After every run id there is.
    let end = before.map_or_else(|| "g".to_owned(), |run_id| run_id.to_string());
    let values = [session.into(), caller.into(), end.into(), (limit + 1).into()];
    let rows = connection.on().fetch(sql, &values).await?;
    let wanted = usize::try_from(limit).unwrap_or(usize::MAX);
    let more = rows.len() > wanted;
    let runs = rows.iter().take(wanted).map(run_row).collect::<Result<Vec<_>, _>>()?;
    let next = runs.last().filter(|_| more).map(|run| run.run_id);
    Ok(Some(RunPage { runs, next }))
}

fn run_row(row: &Row) -> Result<RunRow, Fault> {
    let parsed = |text: Option<String>| text.map(|t| RawValue::from_string(t).map_err(|_| Fault::Unreadable));
    let intent = row.optional_text("intent")?.map(|text| Intent::parse(&text).ok_or(Fault::Unreadable));
    let outcome = row.optional_text("outcome")?.map(|text| Outcome::parse(&text).ok_or(Fault::Unreadable));
    let cites = row.optional_text("cites")?.unwrap_or_else(|| "[]".to_owned());
    Ok(RunRow {
        run_id: RunId::parse(&row.text("run_id")?).map_err(|_| Fault::Unreadable)?,
        session_id: SessionId::parse(&row.text("session_id")?).map_err(|_| Fault::Unreadable)?,
        query: row.text("query")?,
        started_at: row.time("started_at")?,
        deadline: row.time("deadline")?,
        ended_at: row.optional_time("ended_at")?,
        intent: intent.transpose()?,
        outcome: outcome.transpose()?,
        reason: row.optional_text("reason")?,
        body: parsed(row.optional_text("body")?).transpose()?,
        cites: serde_json::from_str(&cites).map_err(|_| Fault::Unreadable)?,
        budget_used: BudgetUse {
            model_calls: row.u32("used_model_calls")?,
            tool_calls: row.u32("used_tool_calls")?,
            input_tokens: row.u64("used_input_tokens")?,
            output_tokens: row.u64("used_output_tokens")?,
            tool_bytes: row.u64("used_tool_bytes")?,
        },
        budget_limits: BudgetLimits {
            model_calls: row.u32("limit_model_calls")?,
            tool_calls: row.u32("limit_tool_calls")?,
            input_tokens: row.u64("limit_input_tokens")?,
            output_tokens: row.u64("limit_output_tokens")?,
            tool_bytes: row.u64("limit_tool_bytes")?,
        },
        ungrounded_literals: row.u32("ungrounded_literals")?,
        repaired: row.flag("repaired")?,
        cost_nano_usd: row.optional_int("cost_nano_usd")?.and_then(|cost| u64::try_from(cost).ok()),
    })
}
