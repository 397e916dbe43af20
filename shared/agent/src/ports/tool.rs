//! The tool port: schema, description and code of one evidence tool are one object.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use domain::events::FailureCode;
use domain::evidence::Projection;
use domain::ids::ToolCallId;
use domain::tool::{ToolErrorCode, ToolName};
use serde_json::Value;
use serde_json::value::RawValue;
use time::OffsetDateTime;
use tokio_util::sync::CancellationToken;

use super::Pseudonyms;

/// What a tool may use for one call.
#[derive(Debug, Clone)]
pub struct ToolCallContext {
    pub id: ToolCallId,
    /// Checked by [`EvidenceTool::check`].
    pub arguments: Value,
    /// Bytes that the projection's JSON may take at most; it must shrink to fit and say so.
    pub max_bytes: usize,
    /// Time for the call; what a tool started on a server is stopped there when it is over.
    pub timeout: Duration,
    /// Wall-clock now, for relative times.
    pub now: OffsetDateTime,
    pub cancelled: CancellationToken,
    /// The run's numbers for what is masked.
    pub pseudonyms: Arc<Pseudonyms>,
}

#[derive(Debug)]
pub struct ToolOutput {
    pub projection: Projection,
    /// What the source answered, bounded and with secrets masked; kept in the canonical record only.
    pub raw_response: Option<Box<RawValue>>,
}

/// The two kinds of failure there are.
#[derive(Debug)]
pub enum ToolFailure {
    /// The model gets an error observation: `message` is short, written by us, and says what would be right. It may name the
    /// fault's place in the arguments; it never holds vendor text.
    Tell { code: ToolErrorCode, message: String },
    /// The run can't go on.
    End(FailureCode),
}

#[async_trait]
pub trait EvidenceTool: Send + Sync {
    fn name(&self) -> ToolName;

    /// Learns what its description needs from elsewhere, once and before the first run's first call; failing only leaves the
    /// description shorter. Bounded by the caller.
    async fn prepare(&self) {}

    /// For the model: what it is for, what sources there are, limits. Stable after [`Self::prepare`] for the life of the process.
    fn description(&self) -> String;

    /// JSON Schema of the arguments, generated from the type that reads them.
    fn parameters(&self) -> Value;

    /// Reads the arguments strictly without running anything; `Err` says what is wrong and what would be right.
    fn check(&self, arguments: &Value) -> Result<(), String>;

    /// Runs one call. Called only after `check` and only once per id.
    async fn run(&self, call: ToolCallContext) -> Result<ToolOutput, ToolFailure>;
}
