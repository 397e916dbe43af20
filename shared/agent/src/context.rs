//! `RunContext`: everything one run is, passed explicitly. There is no other run state than this and the state machine.

use std::sync::Arc;
use std::time::Duration;

use domain::events::FailureCode;
use domain::ids::{CallerId, RunId, SessionId};
use time::OffsetDateTime;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::ports::{Clock, Pseudonyms};

/// Why a wait ended before its future did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Interrupted {
    #[error("the run was cancelled")]
    Cancelled,
    #[error("the run's deadline passed")]
    DeadlinePassed,
}

impl From<Interrupted> for FailureCode {
    fn from(interrupted: Interrupted) -> Self {
        match interrupted {
            Interrupted::Cancelled => Self::RunCancelled,
            Interrupted::DeadlinePassed => Self::DeadlineExceeded,
        }
    }
}

/// How long a run may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeLimits {
    /// Work stops after this.
    pub run: Duration,
    /// After that, this long for the terminal commit and the last frames.
    pub finalise: Duration,
}

impl TimeLimits {
    /// The run's time from Lambda's own deadline and the configured cap. A deadline in the past is *unknown* (the local
    /// emulator sends a constant of 1970), so the cap alone counts. The two together never exceed what Lambda leaves.
    pub fn within(lambda_left: Option<Duration>, cap: Duration, finalise: Duration) -> Self {
        match lambda_left {
            Some(left) if !left.is_zero() => {
                Self { run: left.saturating_sub(finalise).min(cap), finalise: finalise.min(left) }
            }
            _ => Self { run: cap, finalise },
        }
    }
}

pub struct RunContext {
    pub run_id: RunId,
    pub session_id: SessionId,
    pub caller: CallerId,
    pub clock: Arc<dyn Clock>,
    pub pseudonyms: Arc<Pseudonyms>,
    started: Instant,
    limits: TimeLimits,
    cancelled: CancellationToken,
}

impl RunContext {
    pub fn new(
        run_id: RunId,
        session_id: SessionId,
        caller: CallerId,
        clock: Arc<dyn Clock>,
        limits: TimeLimits,
    ) -> Self {
        Self {
            run_id,
            session_id,
            caller,
            clock,
            pseudonyms: Arc::default(),
            started: Instant::now(),
            limits,
            cancelled: CancellationToken::new(),
        }
    }

    pub fn now(&self) -> OffsetDateTime {
        self.clock.now()
    }

    pub fn elapsed_ms(&self) -> u64 {
        millis(self.started.elapsed())
    }

    /// When work stops.
    pub fn deadline(&self) -> Instant {
        self.started + self.limits.run
    }

    /// When the stream must have ended.
    pub fn hard_deadline(&self) -> Instant {
        self.started + self.limits.run + self.limits.finalise
    }

    /// Milliseconds from the start until the run must have ended.
    pub fn time_limit_ms(&self) -> u64 {
        millis(self.limits.run + self.limits.finalise)
    }

    pub fn time_left(&self) -> Duration {
        self.deadline().saturating_duration_since(Instant::now())
    }

    pub fn cancellation(&self) -> &CancellationToken {
        &self.cancelled
    }

    /// Whether the run may go on.
    pub fn check_active(&self) -> Result<(), Interrupted> {
        if self.cancelled.is_cancelled() {
            Err(Interrupted::Cancelled)
        } else if self.time_left().is_zero() {
            Err(Interrupted::DeadlinePassed)
        } else {
            Ok(())
        }
    }

    /// Awaits `future`, but no longer than the run may go on. A result that comes after a cancellation is not used.
    pub async fn bound<F: Future>(&self, future: F) -> Result<F::Output, Interrupted> {
        tokio::select! {
            biased;
            () = self.cancelled.cancelled() => Err(Interrupted::Cancelled),
            () = tokio::time::sleep_until(self.deadline()) => Err(Interrupted::DeadlinePassed),
            output = future => Ok(output),
        }
    }

    /// Awaits `future` within the finalisation reserve less `keep`: for what must still happen after a deadline or a
    /// cancellation.
    pub async fn finalise<F: Future>(&self, keep: Duration, future: F) -> Option<F::Output> {
        tokio::time::timeout_at(self.hard_deadline() - keep, future).await.ok()
    }

    /// The part of the finalisation reserve that one of its lesser tasks may take.
    pub fn finalise_share(&self) -> Duration {
        (self.limits.finalise / 4).min(Duration::from_secs(1))
    }
}

pub(crate) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_deadline_is_lambdas_less_the_reserve_and_capped() {
        let s = Duration::from_secs;
        let run = |left| TimeLimits::within(left, s(110), s(5)).run;
        assert_eq!(run(Some(s(60))), s(55));
        assert_eq!(run(Some(s(900))), s(110));
        assert_eq!(run(Some(s(0))), s(110), "a past deadline is unknown");
        assert_eq!(run(None), s(110));
        assert_eq!(run(Some(s(3))), s(0), "too late to start: ends at once, properly");
        let late = TimeLimits::within(Some(s(3)), s(110), s(5));
        assert_eq!(late.run + late.finalise, s(3), "the reserve is no more than what is left");
    }
}
