//! A run's end: its terminal state is committed, then told; then audit and lease are settled, and the stream is done.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use domain::events::{FailureCode, RunEvent, Stage};
use domain::ids::RunId;
use domain::release::Outcome;
use domain::run::{Run, Terminal};
use futures_util::FutureExt;

use crate::audit::Audit;
use crate::boundary::chain;
use crate::cancel;
use crate::context::RunContext;
use crate::ports::ledger::{CommitOutcome, TerminalCommit, TerminalState};
use crate::ports::metrics::RunEnded;
use crate::ports::run_control::Spent;
use crate::progress::Progress;
use crate::supervise::Chat;

impl Chat {
    /// Commit, then tell; audit and lease are done with before the last frame, because the sandbox freezes after it. Not even a
    /// store that panics keeps the stream from its last event.
    pub(crate) async fn conclude(
        &self,
        ctx: &RunContext,
        run: &Run,
        terminal: Terminal,
        progress: &Progress,
        audit: &Audit,
    ) {
        if matches!(terminal, Terminal::Released { .. }) {
            progress.stage(ctx, Stage::Releasing);
        }
        let committing = async {
            let committed = AssertUnwindSafe(self.commit(ctx, run, terminal)).catch_unwind().await;
            let (told, status) = committed.unwrap_or_else(|_| {
                tracing::error!(run.id = %ctx.run_id, "the terminal commit panicked");
                failure(ctx.run_id, FailureCode::Internal)
            });
            let reason = reason(&told);
            progress.must(told);
            (status, reason)
        };
        // The last step's rows are written beside the commit: nobody waits for them longer than for that.
        let flushing = ctx.finalise(ctx.finalise_share(), audit.flush());
        let ((status, reason), _) = tokio::join!(biased; committing, flushing);
        let budget = run.budget_used();
        let tokens = budget.input_tokens.saturating_add(budget.output_tokens);
        self.settle(ctx, Spent { at: ctx.now(), tokens }).await;
        tracing::info!(
            run.id = %ctx.run_id, run.status = status.as_str(), run.elapsed_ms = ctx.elapsed_ms(),
            budget.model_calls = budget.model_calls, budget.tool_calls = budget.tool_calls,
            budget.input_tokens = budget.input_tokens, budget.output_tokens = budget.output_tokens,
            cost.nano_usd = run.cost_nano_usd(), "run ended"
        );
        self.metrics.run_ended(&RunEnded {
            outcome: status,
            reason,
            duration_ms: ctx.elapsed_ms(),
            input_tokens: budget.input_tokens,
            output_tokens: budget.output_tokens,
            cost_nano_usd: run.cost_nano_usd(),
            failed_tools: run.failed_tools(),
            audit_failures: audit.failures(),
        });
        progress.must(RunEvent::Done { run_id: ctx.run_id, status });
    }

    /// Writes the terminal state and returns the event that may be told now. Nothing is released without its committed row.
    async fn commit(&self, ctx: &RunContext, run: &Run, terminal: Terminal) -> (RunEvent, Outcome) {
        let run_id = ctx.run_id;
        let (state, told, status) = match self.unless_cancelled(ctx, terminal).await {
            Terminal::Released { intent, released } => {
                let outcome = released.outcome();
                let told = RunEvent::Content { run_id, intent, outcome, body: released.clone() };
                (TerminalState::Released { intent, released }, told, outcome)
            }
            Terminal::Failed(code) => {
                let (told, status) = failure(run_id, code);
                (TerminalState::Failed { intent: run.intent(), code }, told, status)
            }
        };
        let commit = TerminalCommit {
            run_id,
            state,
            budget: run.budget_used(),
            ungrounded_literals: run.ungrounded_literals(),
            repaired: run.was_repaired(),
            cost_nano_usd: run.cost_nano_usd(),
            ended_at: ctx.now(),
        };
        // The lease and the last audit rows have their share of the reserve, whatever the commit does.
        match ctx.finalise(ctx.finalise_share(), self.ledger.commit(&commit)).await {
            Some(Ok(CommitOutcome::Committed)) => (told, status),
            Some(Ok(CommitOutcome::AlreadyTerminal)) => {
                tracing::error!(run.id = %run_id, "another writer ended this run first");
                failure(run_id, FailureCode::DeadlineExceeded)
            }
            Some(Err(error)) => {
                tracing::error!(run.id = %run_id, error = %chain(&error), "terminal state not committed");
                failure(run_id, FailureCode::StoreUnavailable)
            }
            None => {
                tracing::error!(run.id = %run_id, "terminal state not committed in time");
                failure(run_id, FailureCode::StoreUnavailable)
            }
        }
    }

    /// A cancelled run never releases a late result: also if it was asked to stop after the last look at its flag.
    async fn unless_cancelled(&self, ctx: &RunContext, terminal: Terminal) -> Terminal {
        if matches!(terminal, Terminal::Failed(_)) {
            return terminal;
        }
        let asked = !ctx.cancellation().is_cancelled()
            && cancel::requested(self.control.as_ref(), ctx, ctx.finalise_share()).await;
        if asked || ctx.cancellation().is_cancelled() {
            Terminal::Failed(FailureCode::RunCancelled)
        } else {
            terminal
        }
    }

    async fn settle(&self, ctx: &RunContext, spent: Spent) {
        let release = self.control.release(ctx.run_id, &ctx.session_id, &ctx.caller, spent);
        match AssertUnwindSafe(ctx.finalise(Duration::ZERO, release)).catch_unwind().await {
            Ok(Some(Ok(()))) => {}
            Ok(Some(Err(error))) => {
                tracing::warn!(run.id = %ctx.run_id, error = %chain(&error), "session lease not released; it expires by itself");
            }
            Ok(None) => {
                tracing::warn!(run.id = %ctx.run_id, "run not settled in time; its session lease expires by itself")
            }
            Err(_) => {
                tracing::error!(run.id = %ctx.run_id, "settling a run panicked; its session lease expires by itself")
            }
        }
    }
}

/// A fallback's reason code or a failure's code.
fn reason(told: &RunEvent) -> Option<&'static str> {
    match told {
        RunEvent::Content { body, .. } => body.reason(),
        RunEvent::Failure { code, .. } => Some(code.as_str()),
        _ => None,
    }
}

fn failure(run_id: RunId, code: FailureCode) -> (RunEvent, Outcome) {
    (RunEvent::failure(run_id, code), Outcome::Failed)
}

#[cfg(test)]
#[path = "conclude_tests.rs"]
mod tests;
