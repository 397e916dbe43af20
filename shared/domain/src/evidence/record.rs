//! The canonical record of one tool call: the single source of truth for what a tool returned in a run.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::ids::{RunId, ToolCallId};
use crate::tool::{ToolErrorCode, ToolName};

/// Where a call is in its life. Only `READY` can be cited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum InvocationStatus {
    Started,
    Projecting,
    Ready,
    Failed,
}

impl InvocationStatus {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Started => "STARTED",
            Self::Projecting => "PROJECTING",
            Self::Ready => "READY",
            Self::Failed => "FAILED",
        }
    }
}

/// Whether a completed call found anything. Zero hits are an observation, not an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum EvidenceStatus {
    EvidenceFound,
    NoEvidence,
}

impl EvidenceStatus {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::EvidenceFound => "EVIDENCE_FOUND",
            Self::NoEvidence => "NO_EVIDENCE",
        }
    }

    pub fn found(any: bool) -> Self {
        if any { Self::EvidenceFound } else { Self::NoEvidence }
    }
}

/// One stored tool call (key `run:{run_id}:call:{tool_call_id}`). Results keep their exact bytes, so that what the guard
/// parses is what the model was shown.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CanonicalRecord {
    pub run_id: RunId,
    pub tool_call_id: ToolCallId,
    pub tool: ToolName,
    pub status: InvocationStatus,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence_status: Option<EvidenceStatus>,
    /// The checked arguments.
    pub request: Value,
    /// What the source answered, bounded; never shown to anybody by this system.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw_response: Option<Box<RawValue>>,
    /// The projection, exactly as the model was shown it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_result: Option<Box<RawValue>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_code: Option<ToolErrorCode>,
    /// RFC 3339, UTC.
    pub started_at: String,
    /// RFC 3339, UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finished_at: Option<String>,
}

impl CanonicalRecord {
    pub fn started(run_id: RunId, id: ToolCallId, tool: ToolName, request: Value, at: String) -> Self {
        Self {
            run_id,
            tool_call_id: id,
            tool,
            status: InvocationStatus::Started,
            evidence_status: None,
            request,
            raw_response: None,
            agent_result: None,
            error_code: None,
            started_at: at,
            finished_at: None,
        }
    }
}
