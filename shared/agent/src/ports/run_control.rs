//! Run control: who may start a run now, and which runs were asked to stop.

use async_trait::async_trait;
use domain::ids::{CallerId, RunId, SessionId};
use time::OffsetDateTime;

use super::StoreError;

/// Everything that must hold before a run starts, decided in one transaction.
#[derive(Debug, Clone)]
pub struct AdmissionRequest {
    pub run_id: RunId,
    pub session_id: SessionId,
    pub caller: CallerId,
    /// The caller's own key; kept 24 hours.
    pub idempotency_key: Option<String>,
    pub now: OffsetDateTime,
    /// When the session lease ends by itself: after the run's deadline.
    pub lease_until: OffsetDateTime,
    pub limits: CallerLimits,
}

/// Per caller; `u32::MAX` means no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallerLimits {
    pub concurrent_runs: u32,
    pub runs_per_minute: u32,
    /// Input and output tokens of runs that ended on this day (UTC); once they are used up no further run starts. `u64::MAX` means
    /// no limit.
    pub tokens_per_day: u64,
}

impl Default for CallerLimits {
    fn default() -> Self {
        Self { concurrent_runs: 10, runs_per_minute: 60, tokens_per_day: 5_000_000 }
    }
}

/// What a run used by the time it is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spent {
    pub at: OffsetDateTime,
    pub tokens: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Admission {
    Admitted,
    /// The same key by the same caller within 24 hours already started this run.
    Replay {
        run_id: RunId,
    },
    /// Another run of the session is active.
    SessionBusy {
        run_id: RunId,
    },
    RateLimited {
        limit: &'static str,
        retry_after_seconds: u32,
    },
}

#[async_trait]
pub trait RunControl: Send + Sync {
    async fn admit(&self, request: &AdmissionRequest) -> Result<Admission, StoreError>;

    /// Frees the session lease and the caller's concurrency slot, if this run still owns them, and counts the tokens it used.
    /// Idempotent: a run that owns nothing any more is not counted again.
    async fn release(
        &self,
        run_id: RunId,
        session: &SessionId,
        caller: &CallerId,
        spent: Spent,
    ) -> Result<(), StoreError>;

    /// Undoes an admission whose run never started: lease, slot and idempotency key, each only if this run still owns it.
    async fn withdraw(
        &self,
        run_id: RunId,
        session: &SessionId,
        caller: &CallerId,
        idempotency_key: Option<&str>,
    ) -> Result<(), StoreError>;

    /// Asks a run to stop; the flag lives until `until`. Who may ask is checked before.
    async fn request_cancel(&self, run_id: RunId, until: OffsetDateTime) -> Result<(), StoreError>;

    async fn is_cancelled(&self, run_id: RunId, now: OffsetDateTime) -> Result<bool, StoreError>;

    /// Whether the table answers.
    async fn ping(&self) -> Result<(), StoreError>;
}
