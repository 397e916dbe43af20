//! One question from admission to its last event. Whatever happens inside a run, its stream ends properly and its terminal
//! state is written at most once, before the event that tells it.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use domain::budget::BudgetLimits;
use domain::events::{FailureCode, RunEvent};
use domain::ids::{RunId, SessionId};
use domain::question::PreviousTurn;
use domain::run::{Limits, Run, Terminal};
use futures_util::FutureExt;
use time::OffsetDateTime;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use uuid::Uuid;

use crate::admission::{ADMISSION_TIMEOUT, Question, Refused, replay};
use crate::audit::Audit;
use crate::boundary::chain;
use crate::context::RunContext;
use crate::ports::ledger::NewRun;
use crate::ports::run_control::{Admission, AdmissionRequest};
use crate::ports::{Clock, Ledger, Metrics, RunControl, StoreError};
use crate::progress::Progress;
use crate::run::{Drive, Engine};

/// Lease time beyond the run's hard deadline: clocks differ a little.
const LEASE_SLACK: Duration = Duration::from_secs(10);

/// From a run's id to its row, at the most: both of admission's store calls, and clocks that differ a little.
const RECORD_TIME: Duration = Duration::from_secs(3 * ADMISSION_TIMEOUT.as_secs() + LEASE_SLACK.as_secs());

/// The chat use case.
pub struct Chat {
    pub engine: Engine,
    pub ledger: Arc<dyn Ledger>,
    pub control: Arc<dyn RunControl>,
    pub metrics: Arc<dyn Metrics>,
    pub clock: Arc<dyn Clock>,
    pub budget: BudgetLimits,
    /// Owns each run's task: a run whose stream was dropped finishes (or is cancelled) under it. A process that is ended
    /// takes its runs along; the sweep ends them.
    pub tasks: TaskTracker,
}

/// A stream that starts.
pub enum Started {
    Live(RunHandle),
    /// The stored events of a finished run.
    Replay(Vec<RunEvent>),
}

/// A running run's events, and the means to stop it. Whoever reads the events owns the run.
pub struct RunHandle {
    pub run_id: RunId,
    pub events: mpsc::Receiver<RunEvent>,
    pub cancel: CancellationToken,
}

impl Chat {
    /// Admits a question and starts its run.
    ///
    /// # Errors
    /// [`Refused`]: nothing was started, and nothing is held.
    pub async fn start(self: &Arc<Self>, question: Question) -> Result<Started, Refused> {
        let run_id = RunId::new(Uuid::now_v7());
        let session_id = match question.session_id.clone() {
            Some(id) => id,
            None => {
                SessionId::parse(&Uuid::now_v7().to_string()).map_err(|_| Refused::StoreUnavailable(None))?
            }
        };
        let ctx =
            RunContext::new(run_id, session_id, question.caller.clone(), self.clock.clone(), question.limits);
        let mut admission = self.admit(&ctx, &question).await?;
        if let Admission::Replay { run_id } = admission {
            if let Some(events) = self.replay(&ctx, &question, run_id).await? {
                return Ok(Started::Replay(events));
            }
            admission = self.admit(&ctx, &question).await?;
        }
        match admission {
            Admission::Admitted => {}
            Admission::Replay { run_id } => return Err(Refused::RunInProgress { run_id }),
            Admission::SessionBusy { run_id } => return Err(Refused::SessionBusy { run_id }),
            Admission::RateLimited { limit, retry_after_seconds } => {
                return Err(Refused::RateLimited { limit, retry_after_seconds });
            }
        }
        let previous = match self.record(&ctx, &question).await {
            Ok(previous) => previous,
            Err(refused) => {
                self.withdraw(&ctx, question.idempotency_key.as_deref()).await;
                return Err(refused);
            }
        };
        Ok(Started::Live(self.launch(ctx, question, previous)))
    }

    async fn admit(&self, ctx: &RunContext, question: &Question) -> Result<Admission, Refused> {
        let request = AdmissionRequest {
            run_id: ctx.run_id,
            session_id: ctx.session_id.clone(),
            caller: ctx.caller.clone(),
            idempotency_key: question.idempotency_key.clone(),
            now: ctx.now(),
            lease_until: ctx.now() + Duration::from_millis(ctx.time_limit_ms()) + LEASE_SLACK,
            limits: question.quota,
        };
        let admitted = in_time(self.control.admit(&request)).await;
        if admitted.is_err() {
            // It may have been written before its answer was lost; a kept key would refuse the caller's retries for a day.
            self.withdraw(ctx, question.idempotency_key.as_deref()).await;
        }
        admitted
    }

    async fn record(&self, ctx: &RunContext, question: &Question) -> Result<Option<PreviousTurn>, Refused> {
        let run = NewRun {
            run_id: ctx.run_id,
            session_id: ctx.session_id.clone(),
            new_session: question.session_id.is_none(),
            caller: ctx.caller.clone(),
            query: question.query.clone(),
            started_at: ctx.now(),
            deadline: ctx.now() + Duration::from_millis(ctx.time_limit_ms()),
            budget_limits: self.budget,
        };
        match in_time(self.ledger.admit(&run)).await {
            Err(Refused::StoreUnavailable(Some(StoreError::Conflict { .. }))) => Err(Refused::UnknownSession),
            other => other,
        }
    }

    /// The stored events of the key's run; `None` if its function died before it wrote the run's row: the key is free then.
    async fn replay(
        &self,
        ctx: &RunContext,
        question: &Question,
        run_id: RunId,
    ) -> Result<Option<Vec<RunEvent>>, Refused> {
        if let Some(row) = in_time(self.ledger.run(run_id, &question.caller)).await? {
            return replay(row).map(Some);
        }
        if !never_recorded(run_id, ctx.now()) {
            return Err(Refused::RunInProgress { run_id });
        }
        tracing::warn!(run.id = %run_id, "an admission without a run gave its key back");
        let key = question.idempotency_key.as_deref();
        in_time(self.control.withdraw(run_id, &ctx.session_id, &ctx.caller, key)).await?;
        Ok(None)
    }

    /// Undoes an admission whose run never started, so that the caller may try again with the same key.
    async fn withdraw(&self, ctx: &RunContext, idempotency_key: Option<&str>) {
        let withdraw = self.control.withdraw(ctx.run_id, &ctx.session_id, &ctx.caller, idempotency_key);
        if let Err(refused) = in_time(withdraw).await {
            tracing::warn!(run.id = %ctx.run_id, error = %chain(&refused), "an admission could not be withdrawn; it expires by itself");
        }
    }

    fn launch(
        self: &Arc<Self>,
        ctx: RunContext,
        question: Question,
        previous: Option<PreviousTurn>,
    ) -> RunHandle {
        let (progress, events) = Progress::channel();
        let handle = RunHandle { run_id: ctx.run_id, events, cancel: ctx.cancellation().clone() };
        let chat = self.clone();
        self.tasks.spawn(async move { chat.supervise(ctx, question, previous, progress).await });
        handle
    }

    async fn supervise(
        &self,
        ctx: RunContext,
        question: Question,
        previous: Option<PreviousTurn>,
        progress: Progress,
    ) {
        let metadata = RunEvent::Metadata {
            session_id: ctx.session_id.clone(),
            run_id: ctx.run_id,
            time_limit_ms: ctx.time_limit_ms(),
        };
        progress.must(metadata);
        let audit = Audit::new(self.ledger.clone());
        let mut run = Run::new(ctx.run_id, question.query, previous, self.budget, Limits::default());
        let terminal = {
            let drive = Drive { engine: &self.engine, ctx: &ctx, progress: &progress, audit: &audit };
            AssertUnwindSafe(drive.to_terminal(&mut run)).catch_unwind().await
        };
        let terminal = terminal.unwrap_or_else(|_| {
            tracing::error!(run.id = %ctx.run_id, "a run panicked");
            run.fail(FailureCode::Internal);
            Terminal::Failed(FailureCode::Internal)
        });
        self.conclude(&ctx, &run, terminal, &progress, &audit).await;
    }
}

/// Whether a run without a row is past the time in which its function could still have written one.
fn never_recorded(run_id: RunId, now: OffsetDateTime) -> bool {
    let made = run_id.made_at_seconds().and_then(|seconds| i64::try_from(seconds).ok());
    made.is_some_and(|made| now.unix_timestamp() - made > RECORD_TIME.as_secs() as i64)
}

/// Admission's store calls are bounded before the run's own clock matters.
async fn in_time<T>(call: impl Future<Output = Result<T, StoreError>>) -> Result<T, Refused> {
    match tokio::time::timeout(ADMISSION_TIMEOUT, call).await {
        Ok(Ok(done)) => Ok(done),
        Ok(Err(error)) => Err(Refused::StoreUnavailable(Some(error))),
        Err(_) => Err(Refused::StoreUnavailable(None)),
    }
}

#[cfg(test)]
#[path = "supervise_tests.rs"]
mod tests;
