//! A Chat Completions request as bytes.
//!
//! Field order is part of the contract: everything constant comes first, the growing `messages` after it, and
//! scalars that vary from call to call last. So the bytes of one conversation's calls share the longest
//! possible prefix, which is what providers cache.

use agent::ports::{Message, ModelRequest, ToolChoice, ToolSpec};
use bytes::Bytes;
use serde::Serialize;
use serde_json::Value;

use crate::dialect::{Dialect, OutputLimit, Reasoning, Streaming, Structured};

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<Vec<Tool<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_format: Option<ResponseFormat<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_options: Option<StreamOptions>,
    messages: Vec<Entry<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<&'static str>,
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

#[derive(Serialize)]
#[serde(tag = "type", content = "function", rename_all = "snake_case")]
enum Tool<'a> {
    Function { name: &'a str, description: &'a str, parameters: &'a Value },
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum ResponseFormat<'a> {
    JsonSchema { json_schema: NamedSchema<'a> },
    JsonObject,
}

#[derive(Serialize)]
struct NamedSchema<'a> {
    name: &'a str,
    strict: bool,
    schema: &'a Value,
}

#[derive(Serialize)]
#[serde(tag = "role", rename_all = "snake_case")]
enum Entry<'a> {
    System {
        content: &'a str,
    },
    User {
        content: &'a str,
    },
    Assistant {
        /// `null` beside tool calls; some servers refuse its absence.
        content: Option<&'a str>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<Call<'a>>,
        /// The provider's own fields, as they came.
        #[serde(flatten)]
        reasoning: Option<&'a Value>,
    },
    Tool {
        tool_call_id: &'a str,
        content: &'a str,
    },
}

#[derive(Serialize)]
struct Call<'a> {
    id: &'a str,
    #[serde(rename = "type")]
    kind: &'static str,
    function: CalledFunction<'a>,
}

#[derive(Serialize)]
struct CalledFunction<'a> {
    name: &'a str,
    arguments: &'a str,
}

/// The request's body in the words this server understands; `None` only if a tool's schema is no JSON.
pub(crate) fn body(model: &str, request: &ModelRequest, dialect: Dialect) -> Option<Bytes> {
    let limit = Some(request.max_output_tokens);
    let (max_tokens, max_completion_tokens) = match dialect.output_limit {
        OutputLimit::MaxTokens => (limit, None),
        OutputLimit::MaxCompletionTokens => (None, limit),
    };
    let body = Body {
        model,
        tools: (!request.tools.is_empty()).then(|| request.tools.iter().map(tool).collect()),
        response_format: response_format(request, dialect),
        messages: messages(request, dialect.reasoning == Reasoning::SentBack),
        max_tokens,
        max_completion_tokens,
        tool_choice: match request.tool_choice {
            ToolChoice::Forbidden if dialect.tool_choice && !request.tools.is_empty() => Some("none"),
            ToolChoice::Forbidden | ToolChoice::Auto => None,
        },
        stream: (dialect.streaming != Streaming::Buffered).then_some(true),
        stream_options: (dialect.streaming == Streaming::WithUsage)
            .then_some(StreamOptions { include_usage: true }),
    };
    serde_json::to_vec(&body).ok().map(Bytes::from)
}

fn tool(spec: &ToolSpec) -> Tool<'_> {
    Tool::Function { name: spec.name, description: &spec.description, parameters: &spec.parameters }
}

fn response_format(request: &ModelRequest, dialect: Dialect) -> Option<ResponseFormat<'_>> {
    let named = request.response_schema.as_ref()?;
    match dialect.structured {
        Structured::JsonSchema => Some(ResponseFormat::JsonSchema {
            json_schema: NamedSchema { name: &named.name, strict: true, schema: &named.schema },
        }),
        Structured::JsonObject => Some(ResponseFormat::JsonObject),
        Structured::Unsupported => None,
    }
}

fn messages(request: &ModelRequest, with_reasoning: bool) -> Vec<Entry<'_>> {
    let mut entries = vec![Entry::System { content: &request.system }];
    entries.extend(request.messages.iter().map(|message| {
        match message {
            Message::User { text } => Entry::User { content: text },
            Message::Assistant { text, calls, reasoning } => Entry::Assistant {
                content: text.as_deref().or(calls.is_empty().then_some("")),
                tool_calls: calls
                    .iter()
                    .map(|call| Call {
                        id: call.id.as_str(),
                        kind: "function",
                        function: CalledFunction { name: &call.name, arguments: &call.arguments },
                    })
                    .collect(),
                reasoning: reasoning.as_ref().filter(|_| with_reasoning),
            },
            Message::Tool { id, name: _, content } => Entry::Tool { tool_call_id: id.as_str(), content },
        }
    }));
    entries
}
