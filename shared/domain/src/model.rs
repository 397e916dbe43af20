//! What the run needs to know of a model call: its role, its usage, its typed faults. How to speak to one is not our business.

use serde::Serialize;
use serde_json::Value;

/// What a model call is for. The first line of each system prompt is `superbiz/` and this name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    Route,
    Diagnose,
    Repair,
    Review,
    Knowledge,
    System,
}

impl Role {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Route => "route",
            Self::Diagnose => "diagnose",
            Self::Repair => "repair",
            Self::Review => "review",
            Self::Knowledge => "knowledge",
            Self::System => "system",
        }
    }

    /// The name of the structured reply's JSON schema.
    pub fn schema_name(self) -> String {
        format!("superbiz_{}", self.as_str())
    }
}

/// Tokens of one model call. `estimated` when the provider did not say.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Usage {
    pub input_tokens: u64,
    pub output_tokens: u64,
    pub estimated: bool,
}

/// Why a model call gave no usable reply, by what the harness does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ModelFault {
    Transport,
    Timeout,
    ParseError,
    SchemaInvalid,
    Truncated,
    RateLimited,
    Overloaded,
    ServerError,
    ContextTooLarge,
    ContentFiltered,
    Refused,
    Auth,
    Quota,
    UnknownModel,
    BadRequest,
}

impl ModelFault {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Transport => "TRANSPORT",
            Self::Timeout => "TIMEOUT",
            Self::ParseError => "PARSE_ERROR",
            Self::SchemaInvalid => "SCHEMA_INVALID",
            Self::Truncated => "TRUNCATED",
            Self::RateLimited => "RATE_LIMITED",
            Self::Overloaded => "OVERLOADED",
            Self::ServerError => "SERVER_ERROR",
            Self::ContextTooLarge => "CONTEXT_TOO_LARGE",
            Self::ContentFiltered => "CONTENT_FILTERED",
            Self::Refused => "REFUSED",
            Self::Auth => "AUTH",
            Self::Quota => "QUOTA",
            Self::UnknownModel => "UNKNOWN_MODEL",
            Self::BadRequest => "BAD_REQUEST",
        }
    }

    /// The only faults after which the router or the semantic guard asks once more, with the same bytes.
    pub fn asks_again(self) -> bool {
        matches!(self, Self::Timeout | Self::Transport | Self::ParseError | Self::SchemaInvalid)
    }
}

/// One tool call as the model asked for it, before anything was checked.
#[derive(Debug, Clone, PartialEq)]
pub struct RequestedCall {
    /// The provider's id, exactly; `None` when it sent none.
    pub id: Option<String>,
    pub name: String,
    /// The arguments object; `Err` names what made them unreadable, in words for the model.
    pub arguments: Result<Value, String>,
}

/// A model's reply: text, tool calls, or both.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reply {
    pub text: Option<String>,
    pub calls: Vec<RequestedCall>,
}

/// A model call that ended, well or not. Usage is settled either way.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelResult {
    pub usage: Usage,
    pub duration_ms: u64,
    pub reply: Result<Reply, ModelFault>,
}
