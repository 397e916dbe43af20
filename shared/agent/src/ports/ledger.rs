//! The ledger: the truth of a run's state, intent, outcome and released body, and the metadata audit. Never holds prompts, messages,
//! thoughts, arguments, SQL, log text or results.

use async_trait::async_trait;
use domain::budget::BudgetUse;
use domain::events::FailureCode;
use domain::evidence::{EvidenceStatus, InvocationStatus};
use domain::ids::{CallerId, RunId, SessionId, ToolCallId};
use domain::question::{Intent, PreviousTurn, Query};
use domain::release::{Cited, Outcome, Released};
use domain::tool::{ToolErrorCode, ToolName};
use serde_json::value::RawValue;
use time::OffsetDateTime;

use super::StoreError;

/// A run that was admitted and starts now.
#[derive(Debug, Clone)]
pub struct NewRun {
    pub run_id: RunId,
    pub session_id: SessionId,
    /// The session's id was made for this run: nobody can have it yet.
    pub new_session: bool,
    pub caller: CallerId,
    pub query: Query,
    pub started_at: OffsetDateTime,
    /// When the run must have ended; the sweeper acts after it.
    pub deadline: OffsetDateTime,
    pub budget_limits: domain::budget::BudgetLimits,
}

/// How a run ended.
#[derive(Debug, Clone)]
pub enum TerminalState {
    Released { intent: Intent, released: Released },
    Failed { intent: Option<Intent>, code: FailureCode },
}

#[derive(Debug, Clone)]
pub struct TerminalCommit {
    pub run_id: RunId,
    pub state: TerminalState,
    pub budget: BudgetUse,
    pub ungrounded_literals: u32,
    pub repaired: bool,
    /// Of all model calls, in billionths of a dollar; `None` if the price of one is not known.
    pub cost_nano_usd: Option<u64>,
    pub ended_at: OffsetDateTime,
}

/// What the compare-and-set on `RUNNING` did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommitOutcome {
    Committed,
    /// The run is terminal already, by another writer; what that one wrote stands.
    AlreadyTerminal,
}

/// One model call, metadata only.
#[derive(Debug, Clone)]
pub struct StepRow {
    pub run_id: RunId,
    /// Counts the run's model calls from 1.
    pub sequence: u32,
    pub kind: &'static str,
    pub model: String,
    pub message_count: u32,
    /// Message roles in order, run-length encoded (`system user assistant toolx2`).
    pub message_roles: String,
    pub has_text: bool,
    /// Known tools asked for, joined by commas.
    pub tool_names: String,
    pub input_tokens: u64,
    pub output_tokens: u64,
    /// Of the input, what the provider's cache served.
    pub cached_tokens: u64,
    /// Of the output, what was thought and not said.
    pub reasoning_tokens: u64,
    pub usage_estimated: bool,
    /// Billionths of a dollar; `None` where no price is known.
    pub cost_nano_usd: Option<u64>,
    pub duration_ms: u64,
    pub attempt: u32,
    pub error_code: Option<&'static str>,
    pub started_at: OffsetDateTime,
}

/// One tool call, metadata only.
#[derive(Debug, Clone)]
pub struct InvocationRow {
    pub run_id: RunId,
    pub tool_call_id: ToolCallId,
    /// Counts the run's tool calls from 1.
    pub sequence: u32,
    /// `None` when the model named no known tool.
    pub tool: Option<ToolName>,
    pub status: InvocationStatus,
    pub evidence_status: Option<EvidenceStatus>,
    pub error_code: Option<ToolErrorCode>,
    pub duration_ms: u64,
    pub request_bytes: u64,
    pub result_bytes: u64,
    pub started_at: OffsetDateTime,
}

#[derive(Debug, Clone, Default)]
pub struct AuditBatch {
    pub steps: Vec<StepRow>,
    pub invocations: Vec<InvocationRow>,
}

impl AuditBatch {
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty() && self.invocations.is_empty()
    }
}

/// A run as read back.
#[derive(Debug, Clone)]
pub struct RunRow {
    pub run_id: RunId,
    pub session_id: SessionId,
    pub query: String,
    pub started_at: OffsetDateTime,
    pub deadline: OffsetDateTime,
    pub ended_at: Option<OffsetDateTime>,
    pub intent: Option<Intent>,
    /// `None` while the run is `RUNNING`.
    pub outcome: Option<Outcome>,
    /// The fallback's reason code, a [`FailureCode`], or `ABANDONED` (a swept run).
    pub reason: Option<String>,
    /// The released body, exactly as it was published.
    pub body: Option<Box<RawValue>>,
    pub cites: Vec<Cited>,
    pub budget_used: BudgetUse,
    pub budget_limits: domain::budget::BudgetLimits,
    pub ungrounded_literals: u32,
    pub repaired: bool,
    /// Of all model calls, in billionths of a dollar.
    pub cost_nano_usd: Option<u64>,
}

/// A trace row as read back: the same metadata, in order.
#[derive(Debug, Clone)]
pub struct TraceRows {
    pub steps: Vec<serde_json::Value>,
    pub invocations: Vec<serde_json::Value>,
}

/// A page of a session's runs, newest first.
#[derive(Debug, Clone)]
pub struct RunPage {
    pub runs: Vec<RunRow>,
    /// Pass to the next call as `before`; `None` on the last page.
    pub next: Option<RunId>,
}

#[async_trait]
pub trait Ledger: Send + Sync {
    /// Inserts the run as `RUNNING` and its session if new, in one transaction, and returns the session's previous turn (the
    /// caller's own latest terminal run with a released body).
    ///
    /// # Errors
    /// `Conflict` if the session belongs to another caller or the run id exists.
    async fn admit(&self, run: &NewRun) -> Result<Option<PreviousTurn>, StoreError>;

    /// Writes the terminal state exactly once (compare-and-set on `RUNNING`).
    async fn commit(&self, terminal: &TerminalCommit) -> Result<CommitOutcome, StoreError>;

    /// Appends audit rows in as few statements as possible; repeating a batch after an error adds nothing twice.
    async fn audit(&self, batch: &AuditBatch) -> Result<(), StoreError>;

    /// `None` if there is no such run or it is another caller's.
    async fn run(&self, run_id: RunId, caller: &CallerId) -> Result<Option<RunRow>, StoreError>;

    /// `None` if there is no such session or it is another caller's. `before` is a run id of an earlier page.
    async fn session_runs(
        &self,
        session: &SessionId,
        caller: &CallerId,
        limit: u32,
        before: Option<RunId>,
    ) -> Result<Option<RunPage>, StoreError>;

    /// The audit rows of a run that the caller may see (checked by [`Ledger::run`] before).
    async fn trace(&self, run_id: RunId) -> Result<TraceRows, StoreError>;

    /// Turns runs that are still `RUNNING` after their deadline into `FAILED`/`ABANDONED`, at most `limit`; returns their ids.
    async fn sweep(&self, now: OffsetDateTime, limit: u32) -> Result<Vec<RunId>, StoreError>;

    /// Deletes ended runs that started before `before`, oldest first and at most `limit` (fewer if the store takes smaller batches),
    /// with all that belongs to them; returns how many. Zero means that none is left.
    async fn retain(&self, before: OffsetDateTime, limit: u32) -> Result<u32, StoreError>;

    /// Whether the ledger answers.
    async fn ping(&self) -> Result<(), StoreError>;
}
