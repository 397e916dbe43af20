//! Wall-clock time. Waiting and elapsed time use tokio's clock, which tests can pause.

use time::OffsetDateTime;

pub trait Clock: Send + Sync {
    /// Now, UTC, in whole milliseconds.
    fn now(&self) -> OffsetDateTime;
}

/// The machine's clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the one clock that everything else is given")]
    fn now(&self) -> OffsetDateTime {
        let now = OffsetDateTime::now_utc();
        // Milliseconds are what every store keeps and every reader sees.
        now - time::Duration::nanoseconds(i64::from(now.nanosecond() % 1_000_000))
    }
}
