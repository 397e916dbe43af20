//! What a run tells its reader, in order: metadata, status*, content or failure, done.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::evidence::EvidenceStatus;
use crate::ids::{RunId, SessionId};
use crate::question::Intent;
use crate::release::{Outcome, Released};
use crate::tool::ToolName;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Stage {
    Routing,
    Retrieving,
    Answering,
    Diagnosing,
    Tool,
    ValidatingEvidence,
    RepairingEvidence,
    Reviewing,
    Releasing,
}

/// Why a run ended without content. Texts are fixed: no vendor text, no stack, no draft, no SQL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum FailureCode {
    ModelUnavailable,
    ModelOutputInvalid,
    StoreUnavailable,
    BudgetExhausted,
    DeadlineExceeded,
    RunCancelled,
    ContextTooLarge,
    Internal,
}

impl FailureCode {
    pub const ALL: [Self; 8] = [
        Self::ModelUnavailable,
        Self::ModelOutputInvalid,
        Self::StoreUnavailable,
        Self::BudgetExhausted,
        Self::DeadlineExceeded,
        Self::RunCancelled,
        Self::ContextTooLarge,
        Self::Internal,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::ModelUnavailable => "MODEL_UNAVAILABLE",
            Self::ModelOutputInvalid => "MODEL_OUTPUT_INVALID",
            Self::StoreUnavailable => "STORE_UNAVAILABLE",
            Self::BudgetExhausted => "BUDGET_EXHAUSTED",
            Self::DeadlineExceeded => "DEADLINE_EXCEEDED",
            Self::RunCancelled => "RUN_CANCELLED",
            Self::ContextTooLarge => "CONTEXT_TOO_LARGE",
            Self::Internal => "INTERNAL",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|code| code.as_str() == text)
    }

    pub fn message(self) -> &'static str {
        match self {
            Self::ModelUnavailable => {
                "The model provider could not be reached or refused the request. Nothing was published."
            }
            Self::ModelOutputInvalid => {
                "The model's answer did not have the required form. Nothing was published."
            }
            Self::StoreUnavailable => {
                "A store that a verified answer depends on is unavailable. Nothing was published."
            }
            Self::BudgetExhausted => "The run used up its budget before a verified answer was ready.",
            Self::DeadlineExceeded => "The run ran out of time before a verified answer was ready.",
            Self::RunCancelled => "The run was cancelled.",
            Self::ContextTooLarge => "The question and its evidence are too large for the model.",
            Self::Internal => "The run failed because of an internal fault. Nothing was published.",
        }
    }

    /// Whether asking the same again may help.
    pub fn retryable(self) -> bool {
        match self {
            Self::ModelUnavailable
            | Self::ModelOutputInvalid
            | Self::StoreUnavailable
            | Self::DeadlineExceeded
            | Self::Internal => true,
            Self::BudgetExhausted | Self::RunCancelled | Self::ContextTooLarge => false,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ToolState {
    Started,
    Ready,
    Failed,
}

/// Progress of one tool call; `index` counts the run's calls from 1.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ToolProgress {
    pub index: u32,
    pub state: ToolState,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evidence_status: Option<EvidenceStatus>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Status {
    pub run_id: RunId,
    /// Counts from 1; a reader that was too slow sees a gap, never a reordering.
    pub sequence: u32,
    pub stage: Stage,
    pub elapsed_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<ToolName>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_call: Option<ToolProgress>,
}

/// One event of a run's stream, as its `data` object.
#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
pub enum RunEvent {
    Metadata {
        session_id: SessionId,
        run_id: RunId,
        time_limit_ms: u64,
    },
    Status(Status),
    /// Only the release policy can make its body.
    Content {
        run_id: RunId,
        intent: Intent,
        outcome: Outcome,
        body: Released,
    },
    /// A body that an earlier stream of the same run already committed to the ledger.
    Replayed {
        run_id: RunId,
        intent: Intent,
        outcome: Outcome,
        body: Box<RawValue>,
    },
    Failure {
        run_id: RunId,
        code: FailureCode,
        message: &'static str,
        retryable: bool,
    },
    Done {
        run_id: RunId,
        status: Outcome,
    },
}

impl RunEvent {
    pub fn failure(run_id: RunId, code: FailureCode) -> Self {
        Self::Failure { run_id, code, message: code.message(), retryable: code.retryable() }
    }

    /// The `event:` name.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Metadata { .. } => "metadata",
            Self::Status(_) => "status",
            Self::Content { .. } | Self::Replayed { .. } => "content",
            Self::Failure { .. } => "failure",
            Self::Done { .. } => "done",
        }
    }
}
