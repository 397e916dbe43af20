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
    /// Of the input, what the provider's cache served.
    pub cached_tokens: u64,
    /// Of the output, what was thought and not said.
    pub reasoning_tokens: u64,
    pub estimated: bool,
}

impl Usage {
    pub const fn counted(input_tokens: u64, output_tokens: u64) -> Self {
        Self { input_tokens, output_tokens, cached_tokens: 0, reasoning_tokens: 0, estimated: false }
    }

    pub const fn estimated(input_tokens: u64, output_tokens: u64) -> Self {
        Self { estimated: true, ..Self::counted(input_tokens, output_tokens) }
    }

    /// Adds what another exchange of the same call took.
    pub fn add(&mut self, more: Self) {
        self.input_tokens = self.input_tokens.saturating_add(more.input_tokens);
        self.output_tokens = self.output_tokens.saturating_add(more.output_tokens);
        self.cached_tokens = self.cached_tokens.saturating_add(more.cached_tokens);
        self.reasoning_tokens = self.reasoning_tokens.saturating_add(more.reasoning_tokens);
        self.estimated |= more.estimated;
    }
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

/// Why a model stopped, where its provider said so in words that we know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finish {
    Stop,
    ToolCalls,
    /// At its limit; what it said is whole all the same.
    Length,
}

impl Finish {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Stop => "stop",
            Self::ToolCalls => "tool_calls",
            Self::Length => "length",
        }
    }
}

/// A model's reply: text, tool calls, or both.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reply {
    pub text: Option<String>,
    pub calls: Vec<RequestedCall>,
    pub finish: Option<Finish>,
    /// What the provider wants to get back with this turn: carried in the run's transcript as it is; never read, shown or stored.
    pub reasoning: Option<Value>,
}

/// A model call that ended, well or not. Usage is settled either way.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelResult {
    pub usage: Usage,
    /// In billionths of a dollar; `None` where no price is known.
    pub cost_nano_usd: Option<u64>,
    pub duration_ms: u64,
    /// Which of several providers answered last, from 0.
    pub provider: usize,
    pub reply: Result<Reply, ModelFault>,
}

impl ModelResult {
    /// Of the first provider, at no known price.
    pub fn new(usage: Usage, duration_ms: u64, reply: Result<Reply, ModelFault>) -> Self {
        Self { usage, cost_nano_usd: None, duration_ms, provider: 0, reply }
    }

    /// A call that cost nothing because it never left.
    pub fn failed(fault: ModelFault) -> Self {
        Self::new(Usage::default(), 0, Err(fault))
    }

    /// Adds what was spent on the same call before.
    pub fn follow(&mut self, before: Self) {
        self.usage.add(before.usage);
        self.duration_ms = self.duration_ms.saturating_add(before.duration_ms);
        self.cost_nano_usd = match (self.cost_nano_usd, before.cost_nano_usd) {
            (Some(cost), Some(more)) => Some(cost.saturating_add(more)),
            _ => None,
        };
    }
}
