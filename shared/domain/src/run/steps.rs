//! The vocabulary between a run and its driver: steps, what they need, and what is reported back.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::events::FailureCode;
use crate::evidence::{Projection, RagToolResult};
use crate::ids::ToolCallId;
use crate::model::{ModelFault, Reply, Role};
use crate::question::Intent;
use crate::release::Released;
use crate::tool::ToolErrorCode;

/// What the run must know of the world to decide: sizes and time, both as plain numbers.
pub trait Surroundings {
    /// Tokens of everything a call of this role sends besides the user message that the step carries: system prompt, tool and
    /// reply schemas, and for [`Role::Diagnose`] the transcript so far.
    fn prompt_tokens(&self, role: Role) -> u64;
    fn time_left_ms(&self) -> u64;
}

/// Typed retry policies: how often the run asks the same thing, first time included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attempts {
    pub router: u32,
    pub semantic_guard: u32,
}

impl Default for Attempts {
    fn default() -> Self {
        Self { router: 2, semantic_guard: 2 }
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Limits {
    pub attempts: Attempts,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolOffer {
    /// This role has no tools.
    None,
    Offered,
    /// Only the final answer is affordable: the driver says so and forbids calls.
    Withheld,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ModelCall {
    pub role: Role,
    /// From 1.
    pub attempt: u32,
    pub tools: ToolOffer,
    pub max_output_tokens: u64,
    /// A second attempt is for the provider that answered the first.
    pub provider: Option<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    /// May run; its observation may take this many bytes.
    Admitted { max_bytes: u64 },
    /// Must be answered with an error observation.
    OverBudget,
}

/// One asked tool call with its id for good and its admission.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedCall {
    pub id: ToolCallId,
    /// Counts the run's calls from 1.
    pub index: u32,
    /// As the model wrote it; may name no tool.
    pub name: String,
    pub arguments: Result<Value, String>,
    pub admission: Admission,
}

/// What the driver must do next.
#[derive(Debug, Clone)]
pub enum Step {
    Route {
        call: ModelCall,
        user: String,
    },
    /// The agent's, the knowledge answer's or the system chat's model call. For the agent the transcript is the driver's and
    /// `user` is empty.
    CallModel {
        call: ModelCall,
        user: String,
    },
    CallTools(Vec<PlannedCall>),
    /// Read these calls' records in one round trip.
    CheckEvidence(Vec<ToolCallId>),
    Repair {
        call: ModelCall,
        user: String,
    },
    Review {
        call: ModelCall,
        user: String,
    },
    Done(Terminal),
}

/// How a run ended.
#[derive(Debug, Clone)]
pub enum Terminal {
    Released { intent: Intent, released: Released },
    Failed(FailureCode),
}

/// One tool call that ended. `shown_bytes` is its observation's size, error texts included.
#[derive(Debug, Clone)]
pub struct ToolResult {
    pub shown_bytes: u64,
    pub outcome: Result<Projection, ToolErrorCode>,
}

/// The assistant's fact sheet: the system chat's prompt quotes it, and a reply may name nothing else.
pub const ABOUT: &str = include_str!("../../../../prompts/about.md");

/// The router's reply.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RouteReply {
    pub intent: IntentWord,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[schemars(inline)]
pub enum IntentWord {
    SystemChat,
    KnowledgeQuery,
    Diagnosis,
}

pub(super) fn parse_route(reply: &Reply) -> Result<Intent, ModelFault> {
    let text = reply.text.as_deref().unwrap_or_default();
    let reply: RouteReply = crate::strict::from_str(text).map_err(|_| ModelFault::SchemaInvalid)?;
    Ok(match reply.intent {
        IntentWord::SystemChat => Intent::SystemChat,
        IntentWord::KnowledgeQuery => Intent::KnowledgeQuery,
        IntentWord::Diagnosis => Intent::Diagnosis,
    })
}

/// What a model fault means for a run whose path can't go on without that call.
pub(super) fn failure_of(fault: ModelFault) -> FailureCode {
    match fault {
        ModelFault::ContextTooLarge => FailureCode::ContextTooLarge,
        ModelFault::ParseError
        | ModelFault::SchemaInvalid
        | ModelFault::Truncated
        | ModelFault::ContentFiltered
        | ModelFault::Refused => FailureCode::ModelOutputInvalid,
        ModelFault::Transport
        | ModelFault::Timeout
        | ModelFault::RateLimited
        | ModelFault::Overloaded
        | ModelFault::ServerError
        | ModelFault::Auth
        | ModelFault::Quota
        | ModelFault::UnknownModel
        | ModelFault::BadRequest => FailureCode::ModelUnavailable,
    }
}

/// The hits as a knowledge question's model sees them: numbered for citing, without ids.
pub(super) fn numbered_hits(found: &RagToolResult) -> Value {
    let hit = |(i, h): (usize, &crate::evidence::projection::KnowledgeHit)| json!({ "n": i + 1, "title": h.title, "section": h.section_path, "updated_at": h.updated_at, "excerpt": h.excerpt });
    found.hits.iter().enumerate().map(hit).collect()
}
