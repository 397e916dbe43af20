//! Writing `agent_step` and `tool_invocation`: one multi-row insert per table, harmless when repeated.

use agent::ports::ledger::{InvocationRow, StepRow};
use domain::evidence::EvidenceStatus;
use domain::question::cut;
use domain::tool::{ToolErrorCode, ToolName};

use super::connection::{Connection, Statement};
use super::fault::Fault;
use super::values::Value;

/// Rows of one statement: far above a run's budget, far below any limit of placeholders or packets.
const MAX_ROWS: usize = 200;
/// Rows that one step of a run writes at most, as a rule: texts for so many stay prepared.
const USUAL_ROWS: usize = 8;
const MAX_MODEL_BYTES: usize = 128;
const MAX_LIST_BYTES: usize = 512;

const STEP_COLUMNS: [&str; 18] = [
    "run_id",
    "sequence",
    "kind",
    "model",
    "message_count",
    "message_roles",
    "has_text",
    "tool_names",
    "input_tokens",
    "output_tokens",
    "cached_tokens",
    "reasoning_tokens",
    "cost_nano_usd",
    "usage_estimated",
    "duration_ms",
    "attempt",
    "error_code",
    "started_at",
];
const INVOCATION_COLUMNS: [&str; 11] = [
    "run_id",
    "sequence",
    "tool_call_id",
    "tool",
    "status",
    "evidence_status",
    "error_code",
    "duration_ms",
    "request_bytes",
    "result_bytes",
    "started_at",
];

pub(super) async fn steps(connection: &mut Connection, rows: &[StepRow]) -> Result<(), Fault> {
    for rows in rows.chunks(MAX_ROWS) {
        insert(connection, "agent_step", &STEP_COLUMNS, rows.iter().map(step)).await?;
    }
    Ok(())
}

pub(super) async fn invocations(connection: &mut Connection, rows: &[InvocationRow]) -> Result<(), Fault> {
    for rows in rows.chunks(MAX_ROWS) {
        insert(connection, "tool_invocation", &INVOCATION_COLUMNS, rows.iter().map(invocation)).await?;
    }
    Ok(())
}

async fn insert<const N: usize>(
    connection: &mut Connection,
    table: &str,
    columns: &[&str; N],
    rows: impl ExactSizeIterator<Item = [Value; N]>,
) -> Result<(), Fault> {
    let sql = format!("{}{}", insert_rows(table, columns, rows.len()), connection.dialect().keep_existing());
    let statement = if rows.len() <= USUAL_ROWS { Statement::kept(sql) } else { Statement::composed(sql) };
    let values: Vec<Value> = rows.flatten().collect();
    connection.on().execute(statement, &values).await.map(drop)
}

/// `INSERT INTO table (a, b) VALUES (?, ?), (?, ?)`.
pub(super) fn insert_rows(table: &str, columns: &[&str], rows: usize) -> String {
    let row = format!("({})", vec!["?"; columns.len()].join(", "));
    format!("INSERT INTO {table} ({}) VALUES {}", columns.join(", "), vec![row; rows].join(", "))
}

fn step(row: &StepRow) -> [Value; STEP_COLUMNS.len()] {
    [
        row.run_id.into(),
        row.sequence.into(),
        row.kind.into(),
        cut(&row.model, MAX_MODEL_BYTES).into(),
        row.message_count.into(),
        cut(&row.message_roles, MAX_LIST_BYTES).into(),
        row.has_text.into(),
        cut(&row.tool_names, MAX_LIST_BYTES).into(),
        row.input_tokens.into(),
        row.output_tokens.into(),
        row.cached_tokens.into(),
        row.reasoning_tokens.into(),
        row.cost_nano_usd.into(),
        row.usage_estimated.into(),
        row.duration_ms.into(),
        row.attempt.into(),
        row.error_code.into(),
        row.started_at.into(),
    ]
}

fn invocation(row: &InvocationRow) -> [Value; INVOCATION_COLUMNS.len()] {
    [
        row.run_id.into(),
        row.sequence.into(),
        row.tool_call_id.as_str().into(),
        row.tool.map(ToolName::as_str).into(),
        row.status.as_str().into(),
        row.evidence_status.map(EvidenceStatus::as_str).into(),
        row.error_code.map(ToolErrorCode::as_str).into(),
        row.duration_ms.into(),
        row.request_bytes.into(),
        row.result_bytes.into(),
        row.started_at.into(),
    ]
}
