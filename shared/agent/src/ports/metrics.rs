//! What is counted of runs: one typed event a run, so that every number on a dashboard has one origin.

use domain::release::Outcome;
use domain::tool::ToolName;

/// A run that is over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunEnded {
    pub outcome: Outcome,
    /// A fallback's reason code or a failure's code.
    pub reason: Option<&'static str>,
    pub duration_ms: u64,
    pub input_tokens: u64,
    pub output_tokens: u64,
    /// `None` if a price isn't known.
    pub cost_nano_usd: Option<u64>,
    /// The tool of each call that failed; `None` for one that doesn't exist.
    pub failed_tools: Vec<Option<ToolName>>,
    /// Writes of audit rows that failed.
    pub audit_failures: u32,
}

pub trait Metrics: Send + Sync {
    fn run_ended(&self, run: &RunEnded);
}

/// Counts nothing.
pub struct NoMetrics;

impl Metrics for NoMetrics {
    fn run_ended(&self, _: &RunEnded) {}
}
