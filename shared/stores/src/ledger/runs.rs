//! Writing `chat_session` and `diagnosis_run`: admitting a run, its one terminal state, sweeping abandoned
//! ones.

use agent::ports::StoreError;
use agent::ports::ledger::{CommitOutcome, NewRun, TerminalCommit, TerminalState};
use domain::budget::BudgetUse;
use domain::ids::RunId;
use domain::question::{Intent, PreviousTurn, cut};
use domain::release::Outcome;
use time::OffsetDateTime;

use super::connection::{Connection, Statement};
use super::fault::{Fault, bounded, conflict};
use super::values::{Row, Value, stored_time};

/// Bytes of a released body; a report is bounded far below.
const MAX_BODY_BYTES: usize = 1024 * 1024;

const RUNNING: &str = "RUNNING";
const RELEASED: &str = "RELEASED";
const FAILED: &str = "FAILED";
const ABANDONED: &str = "ABANDONED";

/// Whose session it is, and what was said in it last.
pub(super) enum Session {
    Unknown,
    Foreign,
    Own(Option<PreviousTurn>),
}

pub(super) async fn session(connection: &mut Connection, run: &NewRun) -> Result<Session, Fault> {
    // The session and its latest released run in one round trip.
    let sql = "SELECT s.caller AS owner, r.query, r.intent, r.outcome, r.conclusion FROM chat_session s \
               LEFT JOIN diagnosis_run r ON r.session_id = s.session_id AND r.caller = s.caller \
               AND r.status = 'RELEASED' AND r.run_id <> ? WHERE s.session_id = ? ORDER BY r.run_id DESC LIMIT 1";
    let rows = connection.on().fetch(sql, &[run.run_id.into(), (&run.session_id).into()]).await?;
    Ok(match rows.first() {
        None => Session::Unknown,
        Some(row) if row.text("owner")? != run.caller.as_str() => Session::Foreign,
        Some(row) => Session::Own(previous_turn(row)?),
    })
}

fn previous_turn(row: &Row) -> Result<Option<PreviousTurn>, Fault> {
    let Some(query) = row.optional_text("query")? else { return Ok(None) };
    let intent = row.optional_text("intent")?.as_deref().and_then(Intent::parse).ok_or(Fault::Unreadable)?;
    let outcome =
        row.optional_text("outcome")?.as_deref().and_then(Outcome::parse).ok_or(Fault::Unreadable)?;
    let conclusion = row.optional_text("conclusion")?;
    Ok(Some(PreviousTurn::new(&query, intent, outcome, conclusion.as_deref())))
}

/// Makes the session, unless its caller has it already.
pub(super) async fn insert_session(connection: &mut Connection, run: &NewRun) -> Result<(), Fault> {
    let values: [Value; 3] = [(&run.session_id).into(), (&run.caller).into(), run.started_at.into()];
    let sql = "INSERT INTO chat_session (session_id, caller, created_at) VALUES (?, ?, ?)";
    match connection.on().execute(sql, &values).await {
        Err(fault) if fault.is_duplicate() => match session(connection, run).await? {
            Session::Own(_) => Ok(()),
            Session::Foreign | Session::Unknown => Err(conflict("session")),
        },
        done => done.map(drop),
    }
}

const RUN_COLUMNS: &str = "(run_id, session_id, caller, query, status, started_at, deadline, limit_model_calls, \
                           limit_tool_calls, limit_input_tokens, limit_output_tokens, limit_tool_bytes)";

fn run_values(run: &NewRun) -> Vec<Value> {
    let limits = run.budget_limits;
    vec![
        run.run_id.into(),
        (&run.session_id).into(),
        (&run.caller).into(),
        run.query.as_str().into(),
        RUNNING.into(),
        run.started_at.into(),
        run.deadline.into(),
        limits.model_calls.into(),
        limits.tool_calls.into(),
        limits.input_tokens.into(),
        limits.output_tokens.into(),
        limits.tool_bytes.into(),
    ]
}

/// Writes the run if its caller owns the session: one statement, so nobody can come between the look and the write. `false`
/// means that nothing was written.
pub(super) async fn insert_owned(
    connection: &mut Connection,
    run: &NewRun,
    repeated: bool,
) -> Result<bool, Fault> {
    let sql = format!(
        "INSERT INTO diagnosis_run {RUN_COLUMNS} SELECT ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ? FROM chat_session \
         WHERE session_id = ? AND caller = ?"
    );
    let mut values = run_values(run);
    values.extend([(&run.session_id).into(), (&run.caller).into()]);
    let written = connection.on().execute(Statement::kept(sql), &values).await;
    written_once(connection, run, repeated, written).await.map(|rows| rows == 1)
}

/// Writes the run of a session that was made for it.
pub(super) async fn insert_run(
    connection: &mut Connection,
    run: &NewRun,
    repeated: bool,
) -> Result<(), Fault> {
    let sql = format!("INSERT INTO diagnosis_run {RUN_COLUMNS} VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
    let written = connection.on().execute(Statement::kept(sql), &run_values(run)).await;
    written_once(connection, run, repeated, written).await.map(drop)
}

async fn written_once(
    connection: &mut Connection,
    run: &NewRun,
    repeated: bool,
    written: Result<u64, Fault>,
) -> Result<u64, Fault> {
    match written {
        // Our own row, written by an attempt whose answer was lost.
        Err(fault) if fault.is_duplicate() && repeated && is_stored(connection, run).await? => Ok(1),
        Err(fault) if fault.is_duplicate() => Err(conflict("run")),
        other => other,
    }
}

async fn is_stored(connection: &mut Connection, run: &NewRun) -> Result<bool, Fault> {
    let sql = "SELECT session_id, caller, started_at FROM diagnosis_run WHERE run_id = ?";
    let rows = connection.on().fetch(sql, &[run.run_id.into()]).await?;
    let Some(row) = rows.first() else { return Ok(false) };
    Ok(row.text("session_id")? == run.session_id.as_str()
        && row.text("caller")? == run.caller.as_str()
        && row.stored_time("started_at")? == stored_time(run.started_at))
}

/// A terminal state as its columns.
pub(super) struct Ending {
    run_id: RunId,
    status: &'static str,
    intent: Option<&'static str>,
    outcome: &'static str,
    reason: Option<&'static str>,
    conclusion: Option<String>,
    body: Option<String>,
    cites: Option<String>,
    used: BudgetUse,
    ungrounded_literals: u32,
    repaired: bool,
    cost_nano_usd: Option<u64>,
    ended_at: OffsetDateTime,
}

impl Ending {
    pub(super) fn of(terminal: &TerminalCommit) -> Result<Self, StoreError> {
        let ending = Self {
            run_id: terminal.run_id,
            status: FAILED,
            intent: None,
            outcome: Outcome::Failed.as_str(),
            reason: None,
            conclusion: None,
            body: None,
            cites: None,
            used: terminal.budget,
            ungrounded_literals: terminal.ungrounded_literals,
            repaired: terminal.repaired,
            cost_nano_usd: terminal.cost_nano_usd,
            ended_at: terminal.ended_at,
        };
        let (intent, released) = match &terminal.state {
            TerminalState::Failed { intent, code } => {
                return Ok(Self {
                    intent: intent.map(Intent::as_str),
                    reason: Some(code.as_str()),
                    ..ending
                });
            }
            TerminalState::Released { intent, released } => (intent, released),
        };
        let cites = serde_json::to_string(released.cites())
            .map_err(|fault| StoreError::unavailable(super::fault::STORE, "encoding", fault))?;
        bounded(released.body_json(), "released body", MAX_BODY_BYTES)?;
        bounded(&cites, "list of citations", MAX_BODY_BYTES)?;
        Ok(Self {
            status: RELEASED,
            intent: Some(intent.as_str()),
            outcome: released.outcome().as_str(),
            reason: released.reason(),
            // Only the next run's previous turn reads it, and that is cut to the same size.
            conclusion: released.conclusion().map(|text| cut(text, PreviousTurn::MAX_TEXT_BYTES)),
            body: Some(released.body_json().to_owned()),
            cites: Some(cites),
            ..ending
        })
    }
}

/// One statement, so one whole transaction: it finds the run `RUNNING` and ends it, or changes nothing.
pub(super) async fn commit(
    connection: &mut Connection,
    ending: &Ending,
    repeated: bool,
) -> Result<CommitOutcome, Fault> {
    let values: [Value; 18] = [
        ending.status.into(),
        ending.intent.into(),
        ending.outcome.into(),
        ending.reason.into(),
        ending.conclusion.as_deref().into(),
        ending.body.as_deref().into(),
        ending.cites.as_deref().into(),
        ending.used.model_calls.into(),
        ending.used.tool_calls.into(),
        ending.used.input_tokens.into(),
        ending.used.output_tokens.into(),
        ending.used.tool_bytes.into(),
        ending.ungrounded_literals.into(),
        ending.repaired.into(),
        ending.cost_nano_usd.into(),
        ending.ended_at.into(),
        ending.run_id.into(),
        RUNNING.into(),
    ];
    let sql = "UPDATE diagnosis_run SET status = ?, intent = ?, outcome = ?, reason = ?, conclusion = ?, \
               body = ?, cites = ?, \
               used_model_calls = ?, used_tool_calls = ?, used_input_tokens = ?, \
               used_output_tokens = ?, used_tool_bytes = ?, \
               ungrounded_literals = ?, repaired = ?, cost_nano_usd = ?, ended_at = ? WHERE run_id = ? AND status = ?";
    if connection.on().execute(sql, &values).await? == 1 {
        return Ok(CommitOutcome::Committed);
    }
    let sql = "SELECT outcome, reason, body, ended_at FROM diagnosis_run WHERE run_id = ?";
    let rows = connection.on().fetch(sql, &[ending.run_id.into()]).await?;
    let row = rows.first().ok_or_else(|| conflict("run"))?;
    // After a lost answer the terminal state that stands may be this very one.
    let ours = repeated
        && row.optional_text("outcome")?.as_deref() == Some(ending.outcome)
        && row.optional_text("reason")?.as_deref() == ending.reason
        && row.optional_text("body")? == ending.body
        && row.optional_stored_time("ended_at")? == Some(stored_time(ending.ended_at));
    Ok(if ours { CommitOutcome::Committed } else { CommitOutcome::AlreadyTerminal })
}

/// Row by row, each a compare-and-set of its own: abandoned runs are rare, and one that ends meanwhile keeps
/// its real end.
pub(super) async fn sweep(
    connection: &mut Connection,
    now: OffsetDateTime,
    limit: u32,
) -> Result<Vec<RunId>, Fault> {
    let sql = "SELECT run_id FROM diagnosis_run WHERE status = ? AND deadline < ? ORDER BY deadline LIMIT ?";
    let overdue = connection.on().fetch(sql, &[RUNNING.into(), now.into(), limit.into()]).await?;
    let mut swept = Vec::new();
    for row in &overdue {
        let run_id = RunId::parse(&row.text("run_id")?).map_err(|_| Fault::Unreadable)?;
        let sql = "UPDATE diagnosis_run SET status = ?, outcome = ?, reason = ?, ended_at = ? \
                   WHERE run_id = ? AND status = ?";
        let outcome = Outcome::Failed.as_str();
        let values =
            [FAILED.into(), outcome.into(), ABANDONED.into(), now.into(), run_id.into(), RUNNING.into()];
        if connection.on().execute(sql, &values).await? == 1 {
            swept.push(run_id);
        }
    }
    Ok(swept)
}
