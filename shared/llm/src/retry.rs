//! When a failed exchange is tried again, and how long to wait before it.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::Duration;

use domain::model::{ModelFault, ModelResult, Reply, Usage};
use time::{OffsetDateTime, format_description::well_known::Rfc2822};
use tokio::time::Instant;

use crate::probe::Trouble;

/// A day is more than any call has; it keeps sums in range.
pub(crate) const LONGEST_ASKED: Duration = Duration::from_secs(86_400);

/// How often one model call is tried, and the pauses in between.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Exchanges at most, first one included.
    pub attempts: u32,
    /// The pause after the first failure; each further one doubles.
    pub first_wait: Duration,
    /// The longest pause that we choose ourselves. A server's `Retry-After` may be longer.
    pub longest_wait: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self { attempts: 3, first_wait: Duration::from_millis(400), longest_wait: Duration::from_secs(8) }
    }
}

impl RetryPolicy {
    /// The pause after the `failed`-th failure (from 1): between half and all of the doubled pause, so that
    /// many callers do not come back together, and never less than the server asked for. `random` is any
    /// number.
    fn wait(&self, failed: u32, retry_after: Option<Duration>, random: u64) -> Duration {
        let doubled = self.first_wait.saturating_mul(1 << failed.saturating_sub(1).min(16));
        let whole = doubled.min(self.longest_wait);
        let half = whole / 2;
        let spread = half.mul_f64((random % 1024) as f64 / 1024.0);
        match retry_after {
            Some(asked) => asked.saturating_add(spread),
            None => half + spread,
        }
    }
}

/// One exchange that ended.
pub(crate) struct Exchange {
    pub reply: Result<Reply, ModelFault>,
    /// What it cost; nothing when the provider refused the request.
    pub usage: Usage,
    pub retry_after: Option<Duration>,
    /// Why there was no connection, if there was none.
    pub not_sent: Option<Trouble>,
}

/// Whether the same request may well succeed a moment later.
pub fn is_temporary(fault: ModelFault) -> bool {
    matches!(
        fault,
        ModelFault::RateLimited | ModelFault::Overloaded | ModelFault::ServerError | ModelFault::Transport
    )
}

/// Runs `exchange` until it succeeds, fails for good, or `timeout` leaves no room for another try. `lost` is
/// what an exchange that ran out of time has probably cost.
pub(crate) async fn exchanges<F>(
    policy: RetryPolicy,
    timeout: Duration,
    lost: Usage,
    mut exchange: impl FnMut() -> F,
) -> ModelResult
where
    F: Future<Output = Exchange>,
{
    let started = Instant::now();
    let deadline = started + timeout;
    let mut spent = Usage::default();
    let mut attempt = 1;
    let reply = loop {
        let Ok(ended) = tokio::time::timeout_at(deadline, exchange()).await else {
            spent.add(lost);
            tracing::warn!(model.attempt = attempt, model.fault = "TIMEOUT", "model exchange failed");
            break Err(ModelFault::Timeout);
        };
        spent.add(ended.usage);
        let fault = match ended.reply {
            Ok(reply) => break Ok(reply),
            Err(fault) => fault,
        };
        tracing::warn!(model.attempt = attempt, model.fault = fault.as_str(), "model exchange failed");
        let pause = policy.wait(attempt, ended.retry_after, RandomState::new().build_hasher().finish());
        // A pause that ends with the deadline leaves no time for the answer: report the real fault now, not a
        // timeout later.
        if !is_temporary(fault) || attempt >= policy.attempts || Instant::now() + pause >= deadline {
            break Err(fault);
        }
        tokio::time::sleep(pause).await;
        attempt += 1;
    };
    let duration_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
    tracing::debug!(model.attempts = attempt, model.duration_ms = duration_ms, "model call ended");
    ModelResult::new(spent, duration_ms, reply)
}

/// Reads a `Retry-After`: seconds (fractions are rounded up) or an HTTP date, which is compared with the
/// response's own `Date` so that no two clocks have to agree. Past dates mean "now"; anything else means
/// nothing.
pub(crate) fn retry_after(text: &str, date: Option<&str>) -> Option<Duration> {
    let text = text.trim();
    if let Ok(seconds) = text.parse::<f64>() {
        return (seconds.is_finite() && seconds >= 0.0)
            .then(|| Duration::from_secs(seconds.ceil().min(LONGEST_ASKED.as_secs_f64()) as u64));
    }
    let until = http_date(text)? - http_date(date?.trim())?;
    Some(Duration::from_secs(u64::try_from(until.whole_seconds()).unwrap_or(0)).min(LONGEST_ASKED))
}

/// `Wed, 21 Oct 2026 07:28:00 GMT`, the one form of HTTP dates that is still written.
fn http_date(text: &str) -> Option<OffsetDateTime> {
    let numeric_zone = format!("{}+0000", text.strip_suffix("GMT")?);
    OffsetDateTime::parse(&numeric_zone, &Rfc2822).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retry_after_is_seconds_or_a_date_relative_to_the_response() {
        let date = Some("Wed, 21 Oct 2026 07:28:00 GMT");
        let seconds = |text| retry_after(text, date).map(|wait| wait.as_secs());
        assert_eq!(seconds("2"), Some(2));
        assert_eq!(seconds(" 0 "), Some(0));
        assert_eq!(seconds("1.5"), Some(2));
        assert_eq!(seconds("1e300"), Some(86_400));
        assert_eq!(seconds("Wed, 21 Oct 2026 07:28:09 GMT"), Some(9));
        assert_eq!(seconds("Tue, 20 Oct 2026 07:28:09 GMT"), Some(0));
        for nothing in ["", "-3, soon", "-3", "NaN", "inf", "tomorrow", "Wed, 99 Oct 2026 07:28:09 GMT"] {
            assert_eq!(seconds(nothing), None, "{nothing}");
        }
        assert_eq!(retry_after("Wed, 21 Oct 2026 07:28:09 GMT", None), None);
    }

    #[test]
    fn pauses_double_up_to_a_limit_spread_out_and_respect_the_server() {
        let policy = RetryPolicy {
            attempts: 9,
            first_wait: Duration::from_millis(100),
            longest_wait: Duration::from_secs(1),
        };
        let millis = |failed, random| policy.wait(failed, None, random).as_millis();
        assert_eq!((millis(1, 0), millis(2, 0), millis(3, 0), millis(9, 0)), (50, 100, 200, 500));
        assert!((50..100).contains(&millis(1, 1023)));
        let asked = policy.wait(1, Some(Duration::from_secs(7)), 512);
        assert!(asked >= Duration::from_secs(7) && asked < Duration::from_secs(8));
    }

    fn failing(fault: ModelFault, retry_after: Option<Duration>) -> Exchange {
        let usage = Usage::estimated(10, 0);
        Exchange { reply: Err(fault), usage, retry_after, not_sent: None }
    }

    #[tokio::test(start_paused = true)]
    async fn temporary_faults_are_tried_three_times_and_every_try_is_paid_for() {
        let mut calls = 0;
        let ended = exchanges(RetryPolicy::default(), Duration::from_secs(60), Usage::default(), || {
            calls += 1;
            async { failing(ModelFault::ServerError, None) }
        })
        .await;
        assert_eq!((calls, ended.reply, ended.usage.input_tokens), (3, Err(ModelFault::ServerError), 30));
    }

    #[tokio::test(start_paused = true)]
    async fn final_faults_are_not_tried_again() {
        for fault in
            [ModelFault::Auth, ModelFault::Quota, ModelFault::BadRequest, ModelFault::ContextTooLarge]
        {
            let mut calls = 0;
            let ended = exchanges(RetryPolicy::default(), Duration::from_secs(60), Usage::default(), || {
                calls += 1;
                async move { failing(fault, None) }
            })
            .await;
            assert_eq!((calls, ended.reply), (1, Err(fault)));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn nothing_waits_beyond_the_time_of_the_call() {
        let started = Instant::now();
        let long = Some(Duration::from_secs(30));
        let ended =
            exchanges(RetryPolicy::default(), Duration::from_secs(20), Usage::default(), || async move {
                failing(ModelFault::RateLimited, long)
            })
            .await;
        assert_eq!(ended.reply, Err(ModelFault::RateLimited));
        assert_eq!(started.elapsed(), Duration::ZERO, "no pause that can't be followed by a try");

        let lost = Usage::estimated(7, 0);
        let stuck = exchanges(RetryPolicy::default(), Duration::from_secs(20), lost, || async {
            std::future::pending::<Exchange>().await
        })
        .await;
        assert_eq!((stuck.reply, stuck.usage, stuck.duration_ms), (Err(ModelFault::Timeout), lost, 20_000));
    }
}
