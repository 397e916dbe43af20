//! Deleting old runs with everything that belongs to them, a bounded batch at a time.

use domain::ids::RunId;
use time::OffsetDateTime;

use super::connection::{Connection, Statement, Transaction};
use super::fault::Fault;
use super::quality::first_id;
use super::values::Value;

/// Rows of one transaction at most: few enough to hold no locks for long.
const MAX_BATCH: u32 = 200;

/// What belongs to a run, the run itself last.
const TABLES: [&str; 4] = ["agent_step", "tool_invocation", "feedback", "diagnosis_run"];

/// Ended runs that started before `before`, oldest first; returns how many are gone now.
pub(super) async fn retain(
    connection: &mut Connection,
    before: OffsetDateTime,
    limit: u32,
) -> Result<u32, Fault> {
    // By the primary key's own order: no index is needed for it.
    let sql = "SELECT run_id, session_id FROM diagnosis_run WHERE run_id < ? AND ended_at IS NOT NULL \
               ORDER BY run_id LIMIT ?";
    let values = [Value::from(first_id(before)), limit.min(MAX_BATCH).into()];
    let rows = connection.on().fetch(sql, &values).await?;
    let (mut runs, mut sessions) = (Vec::new(), Vec::new());
    for row in &rows {
        runs.push(RunId::parse(&row.text("run_id")?).map_err(|_| Fault::Unreadable)?);
        sessions.push(row.text("session_id")?);
    }
    if runs.is_empty() {
        return Ok(0);
    }
    sessions.sort();
    sessions.dedup();
    let mut transaction = connection.begin().await?;
    let done = delete(&mut transaction, &runs, sessions).await;
    transaction.end(done).await?;
    Ok(u32::try_from(runs.len()).unwrap_or(u32::MAX))
}

async fn delete(
    transaction: &mut Transaction<'_>,
    runs: &[RunId],
    sessions: Vec<String>,
) -> Result<(), Fault> {
    let ids: Vec<Value> = runs.iter().map(|run| Value::from(*run)).collect();
    for table in TABLES {
        let sql = format!("DELETE FROM {table} WHERE run_id IN ({})", placeholders(ids.len()));
        transaction.on().execute(Statement::composed(sql), &ids).await?;
    }
    // A session goes with its last run.
    let sql = format!(
        "DELETE FROM chat_session WHERE session_id IN ({}) AND NOT EXISTS \
         (SELECT 1 FROM diagnosis_run WHERE diagnosis_run.session_id = chat_session.session_id)",
        placeholders(sessions.len())
    );
    let ids: Vec<Value> = sessions.into_iter().map(Value::from).collect();
    transaction.on().execute(Statement::composed(sql), &ids).await.map(drop)
}

fn placeholders(n: usize) -> String {
    vec!["?"; n].join(", ")
}
