//! The model port: one request, one reply, whatever the wire.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use domain::ids::ToolCallId;
use domain::model::{ModelResult, Role};
use serde_json::Value;

/// One call. Built fresh each time from shared, immutable parts, so that the prefix is byte-identical from call to call.
#[derive(Debug, Clone)]
pub struct ModelRequest {
    pub role: Role,
    /// The system prompt; its first line names the role.
    pub system: Arc<str>,
    pub messages: Vec<Message>,
    /// Tool definitions; empty for roles without tools.
    pub tools: Arc<[ToolSpec]>,
    pub tool_choice: ToolChoice,
    pub response_schema: Option<Arc<ResponseSchema>>,
    pub max_output_tokens: u64,
    /// Time for the whole call, retries included.
    pub timeout: Duration,
    /// Of several providers the one to ask: a second attempt's first was answered by it.
    pub provider: Option<usize>,
}

#[derive(Debug, Clone)]
pub enum Message {
    User {
        text: String,
    },
    /// The model's own turn, with the ids that we use for its calls from now on.
    Assistant {
        text: Option<String>,
        calls: Vec<AssistantCall>,
        /// What the provider wants back with this turn, as it came ([`domain::model::Reply::reasoning`]).
        reasoning: Option<Value>,
    },
    /// The answer to one of those calls.
    Tool {
        id: ToolCallId,
        name: String,
        content: String,
    },
}

#[derive(Debug, Clone)]
pub struct AssistantCall {
    pub id: ToolCallId,
    pub name: String,
    /// The arguments as JSON text.
    pub arguments: String,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ToolSpec {
    pub name: &'static str,
    pub description: String,
    /// JSON Schema of the arguments object.
    pub parameters: Value,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolChoice {
    Auto,
    /// The tools stay listed (the prefix must not change) but may not be called.
    Forbidden,
}

/// The schema of a structured reply, named `superbiz_<role>`.
#[derive(Debug, Clone, PartialEq)]
pub struct ResponseSchema {
    pub name: String,
    pub schema: Value,
}

#[async_trait]
pub trait Model: Send + Sync {
    /// The name of a provider's model, for the ledger. The first provider is 0, and mostly the only one.
    fn name(&self, provider: usize) -> &str;

    /// One exchange. Retries of 429/5xx/transport happen inside, within `request.timeout`. Never fails as a future: faults are
    /// in the result, together with the usage that was spent.
    async fn call(&self, request: ModelRequest) -> ModelResult;
}
