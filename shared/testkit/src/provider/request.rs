//! A received Chat Completions request, read into what answers and checks need.

use bytes::Bytes;
use domain::model::Role;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// One request as it came.
#[derive(Debug, Clone)]
pub struct Received {
    pub body: Bytes,
    pub model: String,
    /// From the first line of the system prompt.
    pub role: Option<Role>,
    pub system: String,
    /// All messages, the system prompt included.
    pub messages: Vec<Value>,
    pub tools: Vec<OfferedTool>,
    pub tool_choice: Option<String>,
    /// The name of the reply's JSON schema.
    pub schema_name: Option<String>,
    pub max_tokens: Option<u64>,
    /// Whether the reply is to be an event stream.
    pub stream: bool,
    /// Whether that stream is to tell the usage at its end.
    pub stream_usage: bool,
    /// The `authorization` header.
    pub authorization: Option<String>,
    /// Bytes of `body` up to the end of the last message: what the next call of the conversation must begin
    /// with.
    prefix_bytes: usize,
}

#[derive(Debug, Clone)]
pub struct OfferedTool {
    pub name: String,
    pub description: String,
    /// JSON Schema of the arguments.
    pub parameters: Value,
}

/// The fields that every request has; everything else is looked up loosely.
#[derive(Deserialize)]
struct Outline<'a> {
    model: String,
    #[serde(borrow)]
    messages: &'a RawValue,
}

impl Received {
    pub(super) fn parse(body: Bytes, authorization: Option<String>) -> Result<Self, serde_json::Error> {
        let outline: Outline<'_> = serde_json::from_slice(&body)?;
        let messages: Vec<Value> = serde_json::from_str(outline.messages.get())?;
        // The raw value is a slice of the body, so its address tells where it stands there.
        let start = (outline.messages.get().as_ptr() as usize).saturating_sub(body.as_ptr() as usize);
        let prefix_bytes = start + outline.messages.get().trim_end_matches(']').len();
        let loose: Value = serde_json::from_slice(&body)?;
        let system = messages.first().map(text_of).unwrap_or_default().to_owned();
        let limit = |name: &str| loose[name].as_u64();
        Ok(Self {
            model: outline.model,
            role: role_of(&system),
            system,
            tools: loose["tools"]
                .as_array()
                .map(|list| list.iter().map(offered).collect())
                .unwrap_or_default(),
            tool_choice: loose["tool_choice"].as_str().map(str::to_owned),
            schema_name: loose["response_format"]["json_schema"]["name"].as_str().map(str::to_owned),
            max_tokens: limit("max_tokens").or_else(|| limit("max_completion_tokens")),
            stream: loose["stream"] == true,
            stream_usage: loose["stream_options"]["include_usage"] == true,
            authorization,
            prefix_bytes,
            messages,
            body,
        })
    }

    /// The bytes that the conversation's next request must begin with.
    pub fn prefix(&self) -> &[u8] {
        &self.body[..self.prefix_bytes.min(self.body.len())]
    }

    /// Whether calls are forbidden: the reply must be the final answer.
    pub fn tools_withheld(&self) -> bool {
        // Where a server knows no such choice, the last message alone says so.
        let told = self.messages.last().is_some_and(|last| text_of(last).contains("FINAL_ANSWER_ONLY"));
        self.tools.is_empty() || self.tool_choice.as_deref() == Some("none") || told
    }

    /// The first user message as JSON; `Null` if it is none.
    pub fn opening(&self) -> Value {
        let first = self.messages.iter().find(|message| message["role"] == "user");
        first.and_then(|message| serde_json::from_str(text_of(message)).ok()).unwrap_or_default()
    }
}

fn text_of(message: &Value) -> &str {
    message["content"].as_str().unwrap_or_default()
}

fn role_of(system: &str) -> Option<Role> {
    let name = system.lines().next()?.trim().strip_prefix("superbiz/")?;
    let roles = [Role::Route, Role::Diagnose, Role::Repair, Role::Review, Role::Knowledge, Role::System];
    roles.into_iter().find(|role| role.as_str() == name)
}

fn offered(tool: &Value) -> OfferedTool {
    let text = |name: &str| tool["function"][name].as_str().unwrap_or_default().to_owned();
    OfferedTool {
        name: text("name"),
        description: text("description"),
        parameters: tool["function"]["parameters"].clone(),
    }
}
