//! Reading the metadata audit of one run back, in order.

use agent::ports::ledger::TraceRows;
use domain::ids::RunId;
use serde_json::{Value as Json, json};
use time::format_description::well_known::Rfc3339;

use super::connection::Connection;
use super::fault::Fault;
use super::values::Row;

pub(super) async fn read(connection: &mut Connection, run_id: RunId) -> Result<TraceRows, Fault> {
    let sql = "SELECT * FROM agent_step WHERE run_id = ? ORDER BY sequence";
    let steps = connection.on().fetch(sql, &[run_id.into()]).await?;
    let sql = "SELECT * FROM tool_invocation WHERE run_id = ? ORDER BY sequence";
    let invocations = connection.on().fetch(sql, &[run_id.into()]).await?;
    Ok(TraceRows {
        steps: steps.iter().map(step).collect::<Result<_, _>>()?,
        invocations: invocations.iter().map(invocation).collect::<Result<_, _>>()?,
    })
}

fn step(row: &Row) -> Result<Json, Fault> {
    Ok(json!({
        "sequence": row.int("sequence")?,
        "kind": row.text("kind")?,
        "model": row.text("model")?,
        "message_count": row.int("message_count")?,
        "message_roles": row.text("message_roles")?,
        "has_text": row.flag("has_text")?,
        "tool_names": row.text("tool_names")?,
        "input_tokens": row.int("input_tokens")?,
        "output_tokens": row.int("output_tokens")?,
        "cached_tokens": row.int("cached_tokens")?,
        "reasoning_tokens": row.int("reasoning_tokens")?,
        "cost_usd": row.optional_int("cost_nano_usd")?.map(dollars),
        "usage_estimated": row.flag("usage_estimated")?,
        "duration_ms": row.int("duration_ms")?,
        "attempt": row.int("attempt")?,
        "error_code": row.optional_text("error_code")?,
        "started_at": started_at(row)?,
    }))
}

fn invocation(row: &Row) -> Result<Json, Fault> {
    Ok(json!({
        "sequence": row.int("sequence")?,
        "tool_call_id": row.text("tool_call_id")?,
        "tool": row.optional_text("tool")?,
        "status": row.text("status")?,
        "evidence_status": row.optional_text("evidence_status")?,
        "error_code": row.optional_text("error_code")?,
        "duration_ms": row.int("duration_ms")?,
        "request_bytes": row.int("request_bytes")?,
        "result_bytes": row.int("result_bytes")?,
        "started_at": started_at(row)?,
    }))
}

/// Dollars from the billionths that are stored.
fn dollars(nano: i64) -> f64 {
    nano as f64 / 1e9
}

fn started_at(row: &Row) -> Result<String, Fault> {
    row.time("started_at")?.format(&Rfc3339).map_err(|_| Fault::Unreadable)
}
