//! Wall-clock time. Waiting and elapsed time use tokio's clock, which tests can pause.

use time::OffsetDateTime;

pub trait Clock: Send + Sync {
    /// Now, UTC.
    fn now(&self) -> OffsetDateTime;
}

/// The machine's clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the one clock that everything else is given")]
    fn now(&self) -> OffsetDateTime {
        OffsetDateTime::now_utc()
    }
}
