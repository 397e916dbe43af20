//! What must hold before a stream starts: quotas, idempotency, the session lease, and a committed `RUNNING` row.

use std::time::Duration;

use domain::events::{FailureCode, RunEvent};
use domain::ids::{CallerId, RunId, SessionId};
use domain::question::Query;
use domain::release::Outcome;

use crate::context::TimeLimits;
use crate::ports::StoreError;
use crate::ports::ledger::RunRow;
use crate::ports::run_control::CallerLimits;

/// A question that may become a run.
#[derive(Debug, Clone)]
pub struct Question {
    pub query: Query,
    /// `None` starts a new session.
    pub session_id: Option<SessionId>,
    pub idempotency_key: Option<String>,
    pub caller: CallerId,
    /// What this caller may use.
    pub quota: CallerLimits,
    pub limits: TimeLimits,
}

/// Why no stream starts.
#[derive(Debug, thiserror::Error)]
pub enum Refused {
    #[error("another run of this session is active")]
    SessionBusy { run_id: RunId },
    #[error("a run with this idempotency key is still active")]
    RunInProgress { run_id: RunId },
    #[error("the caller's limit of {limit} is reached")]
    RateLimited { limit: &'static str, retry_after_seconds: u32 },
    /// Not this caller's session; it is not said whether it exists.
    #[error("no such session")]
    UnknownSession,
    #[error("a store that admission depends on is unavailable")]
    StoreUnavailable(#[source] Option<StoreError>),
}

/// Time for each of admission's store calls.
pub(crate) const ADMISSION_TIMEOUT: Duration = Duration::from_secs(5);

/// A finished run told again, from what its first stream committed.
pub(crate) fn replay(row: RunRow) -> Result<Vec<RunEvent>, Refused> {
    let run_id = row.run_id;
    let Some(outcome) = row.outcome else {
        return Err(Refused::RunInProgress { run_id });
    };
    let limit = row.deadline - row.started_at;
    let time_limit_ms = u64::try_from(limit.whole_milliseconds()).unwrap_or(0);
    let metadata = RunEvent::Metadata { session_id: row.session_id, run_id, time_limit_ms };
    let (told, status) = match (row.intent, row.body) {
        (Some(intent), Some(body)) if outcome != Outcome::Failed => {
            (RunEvent::Replayed { run_id, intent, outcome, body }, outcome)
        }
        _ => {
            // An abandoned run died with its function; to its caller that is an internal fault.
            let code = row.reason.as_deref().and_then(FailureCode::parse).unwrap_or(FailureCode::Internal);
            (RunEvent::failure(run_id, code), Outcome::Failed)
        }
    };
    Ok(vec![metadata, told, RunEvent::Done { run_id, status }])
}
