//! The run's metadata audit: buffered rows, flushed beside the next model call and before the last event. Fail-open and loud.

use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::FutureExt;
use tokio::time::Instant;

use crate::context::millis;
use crate::ports::Ledger;
use crate::ports::ledger::{AuditBatch, InvocationRow, StepRow};

/// Time for one write: a ledger that hangs must not hold up the model's answer beside it.
const AUDIT_TIMEOUT: Duration = Duration::from_secs(2);

pub struct Audit {
    ledger: Arc<dyn Ledger>,
    waiting: Mutex<AuditBatch>,
    failures: AtomicU32,
}

/// Something that is going on and its row, which is buffered when this is dropped: also when a panic, a sibling's failure or
/// the end of the run ended it. Its duration is filled in then.
pub struct Open<'a, R: Row> {
    pub row: R,
    audit: &'a Audit,
    started: Instant,
}

pub trait Row: Clone {
    fn buffer(self, duration_ms: u64, batch: &mut AuditBatch);
}

impl Row for StepRow {
    fn buffer(self, duration_ms: u64, batch: &mut AuditBatch) {
        batch.steps.push(Self { duration_ms, ..self });
    }
}

impl Row for InvocationRow {
    fn buffer(self, duration_ms: u64, batch: &mut AuditBatch) {
        batch.invocations.push(Self { duration_ms, ..self });
    }
}

impl<R: Row> Drop for Open<'_, R> {
    fn drop(&mut self) {
        let (row, duration_ms) = (self.row.clone(), millis(self.started.elapsed()));
        self.audit.with(|batch| row.buffer(duration_ms, batch));
    }
}

/// A batch on its way to the ledger; what was not written when this is dropped waits for the next flush.
struct Taken<'a> {
    audit: &'a Audit,
    batch: AuditBatch,
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        let batch = std::mem::take(&mut self.batch);
        self.audit.with(|waiting| {
            let later = std::mem::replace(waiting, batch);
            waiting.steps.extend(later.steps);
            waiting.invocations.extend(later.invocations);
        });
    }
}

impl Audit {
    pub fn new(ledger: Arc<dyn Ledger>) -> Self {
        Self { ledger, waiting: Mutex::default(), failures: AtomicU32::new(0) }
    }

    /// Opens `row` for something that starts now.
    pub fn open<R: Row>(&self, row: R) -> Open<'_, R> {
        Open { row, audit: self, started: Instant::now() }
    }

    /// Writes what has been buffered. A failed batch is kept for the next flush; repeating it adds nothing twice.
    pub async fn flush(&self) {
        let mut taken = Taken { audit: self, batch: self.with(std::mem::take) };
        if taken.batch.is_empty() {
            return;
        }
        let write = tokio::time::timeout(AUDIT_TIMEOUT, self.ledger.audit(&taken.batch));
        let rows = taken.batch.steps.len() + taken.batch.invocations.len();
        let written = AssertUnwindSafe(write).catch_unwind().await;
        if !matches!(written, Ok(Ok(Ok(())))) {
            self.failures.fetch_add(1, Ordering::Relaxed);
        }
        match written {
            Ok(Ok(Ok(()))) => taken.batch = AuditBatch::default(),
            Ok(Ok(Err(error))) => tracing::warn!(audit.rows = rows, error = %error, "audit write failed"),
            Ok(Err(_)) => tracing::warn!(audit.rows = rows, "audit not written in time"),
            Err(_) => tracing::error!(audit.rows = rows, "audit write panicked"),
        }
    }

    /// Writes that failed so far.
    pub fn failures(&self) -> u32 {
        self.failures.load(Ordering::Relaxed)
    }

    fn with<T>(&self, change: impl FnOnce(&mut AuditBatch) -> T) -> T {
        change(&mut self.waiting.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
#[path = "audit_tests.rs"]
mod tests;
