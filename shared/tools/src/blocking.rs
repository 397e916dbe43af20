//! Work that would block the runtime: run on the blocking pool, awaited by its owner, and told to stop when
//! the owner is gone.

use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// Tells a piece of blocking work whether it should go on.
#[derive(Debug, Clone)]
pub struct Stop {
    cancelled: CancellationToken,
    deadline: Option<Instant>,
}

/// Why work stopped early.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Stopped {
    #[error("cancelled")]
    Cancelled,
    #[error("out of time")]
    OutOfTime,
}

impl Stop {
    /// Stops at cancellation or when `timeout` is over.
    pub fn new(cancelled: CancellationToken, timeout: Duration) -> Self {
        // A timeout beyond what an instant can hold is no limit.
        Self { cancelled, deadline: Instant::now().checked_add(timeout) }
    }

    /// Stops only when its owner is dropped.
    pub fn never() -> Self {
        Self { cancelled: CancellationToken::new(), deadline: None }
    }

    /// Waits this long, or until the work should end.
    pub async fn sleep(&self, time: Duration) -> Result<(), Stopped> {
        self.bound(tokio::time::sleep(time)).await
    }

    /// Waits for `work`, or until it should end.
    pub async fn bound<T>(&self, work: impl Future<Output = T>) -> Result<T, Stopped> {
        let out_of_time = async {
            match self.deadline {
                Some(deadline) => tokio::time::sleep_until(deadline).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = self.cancelled.cancelled() => Err(Stopped::Cancelled),
            () = out_of_time => Err(Stopped::OutOfTime),
            done = work => Ok(done),
        }
    }

    /// `Err` when the work should end now. Cheap enough to be asked every few hundred lines.
    pub fn check(&self) -> Result<(), Stopped> {
        if self.cancelled.is_cancelled() {
            Err(Stopped::Cancelled)
        } else if self.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            Err(Stopped::OutOfTime)
        } else {
            Ok(())
        }
    }
}

/// The blocking work panicked or the runtime is shutting down.
#[derive(Debug, thiserror::Error)]
#[error("the blocking work ended abnormally")]
pub struct Lost(#[source] tokio::task::JoinError);

/// Runs `work` on the blocking pool and waits for it. Dropping the returned future stops the work at its next
/// [`Stop::check`]; nothing outlives its owner by more than that.
pub async fn run<T: Send + 'static>(
    stop: &Stop,
    work: impl FnOnce(&Stop) -> T + Send + 'static,
) -> Result<T, Lost> {
    let child = Stop { cancelled: stop.cancelled.child_token(), deadline: stop.deadline };
    let _stops_on_drop = child.cancelled.clone().drop_guard();
    tokio::task::spawn_blocking(move || work(&child)).await.map_err(Lost)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn dropping_the_owner_stops_the_work() {
        let (started, has_started) = tokio::sync::oneshot::channel();
        let (ended, has_ended) = tokio::sync::oneshot::channel();
        let stop = Stop::never();
        let work = run(&stop, move |stop| {
            let _ = started.send(());
            let reason = loop {
                match stop.check() {
                    Ok(()) => std::thread::yield_now(),
                    Err(reason) => break reason,
                }
            };
            let _ = ended.send(reason);
        });
        tokio::select! {
            biased;
            _ = work => panic!("the work only ends when stopped"),
            _ = has_started => {}
        }
        assert_eq!(has_ended.await, Ok(Stopped::Cancelled));
        assert_eq!(stop.check(), Ok(()), "the owner's own token is untouched");
    }

    #[tokio::test]
    async fn a_deadline_stops_too_and_a_panic_is_an_error() {
        let stop = Stop::new(CancellationToken::new(), Duration::ZERO);
        assert_eq!(run(&stop, Stop::check).await.unwrap(), Err(Stopped::OutOfTime));
        assert!(run(&Stop::never(), |_| panic!("planted")).await.is_err());
        assert_eq!(Stop::new(CancellationToken::new(), Duration::MAX).check(), Ok(()));
    }
}
