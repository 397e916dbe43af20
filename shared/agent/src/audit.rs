//! The run's metadata audit: buffered rows, flushed beside the next model call and before the last event. Fail-open and loud.

use std::sync::{Arc, Mutex, PoisonError};

use crate::ports::Ledger;
use crate::ports::ledger::{AuditBatch, InvocationRow, StepRow};

pub struct Audit {
    ledger: Arc<dyn Ledger>,
    waiting: Mutex<AuditBatch>,
}

impl Audit {
    pub fn new(ledger: Arc<dyn Ledger>) -> Self {
        Self { ledger, waiting: Mutex::default() }
    }

    pub fn step(&self, row: StepRow) {
        self.with(|batch| batch.steps.push(row));
    }

    pub fn invocation(&self, row: InvocationRow) {
        self.with(|batch| batch.invocations.push(row));
    }

    /// Writes what has been buffered. A failed batch is kept for the next flush; repeating it adds nothing twice.
    pub async fn flush(&self) {
        let batch = self.with(std::mem::take);
        if batch.is_empty() {
            return;
        }
        if let Err(error) = self.ledger.audit(&batch).await {
            tracing::warn!(audit.rows = batch.steps.len() + batch.invocations.len(), error = %error, "audit write failed");
            self.with(|waiting| {
                let later = std::mem::replace(waiting, batch);
                waiting.steps.extend(later.steps);
                waiting.invocations.extend(later.invocations);
            });
        }
    }

    fn with<T>(&self, change: impl FnOnce(&mut AuditBatch) -> T) -> T {
        change(&mut self.waiting.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
