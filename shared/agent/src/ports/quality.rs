//! What the ledger knows of how well runs went, in numbers only.

use std::collections::BTreeMap;

use async_trait::async_trait;
use serde::Serialize;
use time::OffsetDateTime;

use super::StoreError;

/// Runs that started in a span of time, merged with what their callers said of them.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Quality {
    pub runs: u64,
    /// By `SUCCESS`, `FALLBACK`, `FAILED` and `RUNNING`.
    pub outcomes: BTreeMap<String, u64>,
    /// Of fallbacks, by reason code.
    pub fallback_reasons: BTreeMap<String, u64>,
    /// Of failures, by code.
    pub failure_codes: BTreeMap<String, u64>,
    pub repaired: u64,
    pub input_tokens: u64,
    pub output_tokens: u64,
    pub cost_nano_usd: u64,
    /// Runs whose cost is known.
    pub priced_runs: u64,
    /// By outcome, then by `UP` and `DOWN`.
    pub feedback: BTreeMap<String, BTreeMap<String, u64>>,
    pub tools: BTreeMap<String, ToolQuality>,
    /// Of ended runs.
    pub duration_ms: Durations,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct ToolQuality {
    pub calls: u64,
    pub failed: u64,
    /// Answered that there is nothing.
    pub no_evidence: u64,
}

/// `None` where no run ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Durations {
    pub p50: Option<u64>,
    pub p95: Option<u64>,
}

#[async_trait]
pub trait QualityStore: Send + Sync {
    /// Runs that started from `from` (inclusive) to `to` (exclusive), all callers'.
    async fn quality(&self, from: OffsetDateTime, to: OffsetDateTime) -> Result<Quality, StoreError>;
}
