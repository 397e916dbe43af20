//! One question from admission to its last event. Whatever happens inside a run, its stream ends properly and its terminal
//! state is written at most once, before the event that tells it.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use domain::budget::BudgetLimits;
use domain::events::{FailureCode, RunEvent, Stage};
use domain::ids::{RunId, SessionId};
use domain::question::PreviousTurn;
use domain::release::Outcome;
use domain::run::{Limits, Run, Terminal};
use futures_util::FutureExt;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use uuid::Uuid;

use crate::admission::{ADMISSION_TIMEOUT, Question, Refused, replay};
use crate::audit::Audit;
use crate::boundary::chain;
use crate::context::RunContext;
use crate::ports::ledger::{CommitOutcome, NewRun, TerminalCommit, TerminalState};
use crate::ports::run_control::{Admission, AdmissionRequest, CallerLimits};
use crate::ports::{Clock, Ledger, RunControl, StoreError};
use crate::progress::Progress;
use crate::run::{Drive, Engine};

/// Lease time beyond the run's hard deadline: clocks differ a little.
const LEASE_SLACK: Duration = Duration::from_secs(10);

/// The chat use case.
pub struct Chat {
    pub engine: Engine,
    pub ledger: Arc<dyn Ledger>,
    pub control: Arc<dyn RunControl>,
    pub clock: Arc<dyn Clock>,
    pub budget: BudgetLimits,
    pub caller_limits: CallerLimits,
    /// Owns each run's task: a run whose stream was dropped finishes (or is cancelled) under it, and a process that ends
    /// awaits it.
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
            None => SessionId::parse(&Uuid::now_v7().to_string()).map_err(|_| Refused::StoreUnavailable(None))?,
        };
        let ctx = RunContext::new(run_id, session_id, question.caller.clone(), self.clock.clone(), question.limits);
        match self.admit(&ctx, &question).await? {
            Admission::Admitted => {}
            Admission::Replay { run_id } => return self.replay(&question, run_id).await.map(Started::Replay),
            Admission::SessionBusy { run_id } => return Err(Refused::SessionBusy { run_id }),
            Admission::RateLimited { limit, retry_after_seconds } => return Err(Refused::RateLimited { limit, retry_after_seconds }),
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
            limits: self.caller_limits,
        };
        in_time(self.control.admit(&request)).await
    }

    async fn record(&self, ctx: &RunContext, question: &Question) -> Result<Option<PreviousTurn>, Refused> {
        let run = NewRun {
            run_id: ctx.run_id,
            session_id: ctx.session_id.clone(),
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

    async fn replay(&self, question: &Question, run_id: RunId) -> Result<Vec<RunEvent>, Refused> {
        match in_time(self.ledger.run(run_id, &question.caller)).await? {
            Some(row) => replay(row),
            // Admitted a moment ago, its row not written yet.
            None => Err(Refused::RunInProgress { run_id }),
        }
    }

    /// Undoes an admission whose run never started, so that the caller may try again with the same key.
    async fn withdraw(&self, ctx: &RunContext, idempotency_key: Option<&str>) {
        let withdraw = self.control.withdraw(ctx.run_id, &ctx.session_id, &ctx.caller, idempotency_key);
        if let Err(refused) = in_time(withdraw).await {
            tracing::warn!(run.id = %ctx.run_id, error = %chain(&refused), "an admission could not be withdrawn; it expires by itself");
        }
    }

    fn launch(self: &Arc<Self>, ctx: RunContext, question: Question, previous: Option<PreviousTurn>) -> RunHandle {
        let (progress, events) = Progress::channel();
        let handle = RunHandle { run_id: ctx.run_id, events, cancel: ctx.cancellation().clone() };
        let chat = self.clone();
        self.tasks.spawn(async move { chat.supervise(ctx, question, previous, progress).await });
        handle
    }

    async fn supervise(&self, ctx: RunContext, question: Question, previous: Option<PreviousTurn>, progress: Progress) {
        let metadata = RunEvent::Metadata {
            session_id: ctx.session_id.clone(),
            run_id: ctx.run_id,
            time_limit_ms: ctx.time_limit_ms(),
        };
        progress.must(&ctx, metadata).await;
        let audit = Audit::new(self.ledger.clone());
        let mut run = Run::new(ctx.run_id, question.query, previous, self.budget, Limits::default());
        let terminal = {
            let drive = Drive { engine: &self.engine, ctx: &ctx, progress: &progress, audit: &audit };
            AssertUnwindSafe(drive.to_terminal(&mut run)).catch_unwind().await
        };
        let terminal = terminal.unwrap_or_else(|_| {
            tracing::error!(run.id = %ctx.run_id, "a run panicked");
            Terminal::Failed(FailureCode::Internal)
        });
        self.conclude(&ctx, &run, terminal, &progress, &audit).await;
    }

    /// Commit, then tell; audit and lease are settled before the last frame, because the sandbox freezes after it.
    async fn conclude(&self, ctx: &RunContext, run: &Run, terminal: Terminal, progress: &Progress, audit: &Audit) {
        progress.stage(ctx, Stage::Releasing);
        let (told, status) = self.commit(ctx, run, terminal).await;
        progress.must(ctx, told).await;
        let release = self.control.release(ctx.run_id, &ctx.session_id, &ctx.caller, ctx.now());
        if let Some(((), Err(error))) = ctx.finalise(async { tokio::join!(audit.flush(), release) }).await {
            tracing::warn!(run.id = %ctx.run_id, error = %chain(&error), "session lease not released; it expires by itself");
        }
        let budget = run.budget_used();
        tracing::info!(
            run.id = %ctx.run_id, run.status = status.as_str(), run.elapsed_ms = ctx.elapsed_ms(),
            budget.model_calls = budget.model_calls, budget.tool_calls = budget.tool_calls,
            budget.input_tokens = budget.input_tokens, budget.output_tokens = budget.output_tokens, "run ended"
        );
        progress.must(ctx, RunEvent::Done { run_id: ctx.run_id, status }).await;
    }

    /// Writes the terminal state and returns the event that may be told now. Nothing is released without its committed row.
    async fn commit(&self, ctx: &RunContext, run: &Run, terminal: Terminal) -> (RunEvent, Outcome) {
        let run_id = ctx.run_id;
        // A cancelled run never releases a late result.
        let terminal = match terminal {
            Terminal::Released { .. } if ctx.cancellation().is_cancelled() => Terminal::Failed(FailureCode::RunCancelled),
            other => other,
        };
        let (state, told, status) = match terminal {
            Terminal::Released { intent, released } => {
                let outcome = released.outcome();
                let told = RunEvent::Content { run_id, intent, outcome, body: released.clone() };
                (TerminalState::Released { intent, released }, told, outcome)
            }
            Terminal::Failed(code) => {
                (TerminalState::Failed { intent: run.intent(), code }, RunEvent::failure(run_id, code), Outcome::Failed)
            }
        };
        let commit = TerminalCommit {
            run_id,
            state,
            budget: run.budget_used(),
            ungrounded_literals: run.ungrounded_literals(),
            repaired: run.was_repaired(),
            ended_at: ctx.now(),
        };
        match ctx.finalise(self.ledger.commit(&commit)).await {
            Some(Ok(CommitOutcome::Committed)) => (told, status),
            Some(Ok(CommitOutcome::AlreadyTerminal)) => {
                tracing::error!(run.id = %run_id, "another writer ended this run first");
                (RunEvent::failure(run_id, FailureCode::DeadlineExceeded), Outcome::Failed)
            }
            Some(Err(error)) => {
                tracing::error!(run.id = %run_id, error = %chain(&error), "terminal state not committed");
                (RunEvent::failure(run_id, FailureCode::StoreUnavailable), Outcome::Failed)
            }
            None => {
                tracing::error!(run.id = %run_id, "terminal state not committed in time");
                (RunEvent::failure(run_id, FailureCode::StoreUnavailable), Outcome::Failed)
            }
        }
    }
}

/// Admission's store calls are bounded before the run's own clock matters.
async fn in_time<T>(call: impl Future<Output = Result<T, StoreError>>) -> Result<T, Refused> {
    match tokio::time::timeout(ADMISSION_TIMEOUT, call).await {
        Ok(Ok(done)) => Ok(done),
        Ok(Err(error)) => Err(Refused::StoreUnavailable(Some(error))),
        Err(_) => Err(Refused::StoreUnavailable(None)),
    }
}
