//! What the server answers: a completion, or one of the ways in which HTTP goes wrong.

use std::time::Duration;

use domain::budget::estimate_tokens;
use serde_json::{Value, json};

use super::persona::Persona;
use super::request::Received;

/// One tool call of a reply.
#[derive(Debug, Clone)]
pub struct Call {
    name: String,
    arguments: Value,
    id: CallId,
}

#[derive(Debug, Clone)]
enum CallId {
    /// A fresh, well-formed one.
    Fresh,
    Missing,
    Given(Value),
}

impl Call {
    /// A call with a fresh id. `arguments` is sent as JSON text, as providers do.
    pub fn new(name: &str, arguments: Value) -> Self {
        Self { name: name.to_owned(), arguments: Value::String(arguments.to_string()), id: CallId::Fresh }
    }

    /// Sends the arguments exactly so: an object, broken text, anything.
    pub fn raw_arguments(mut self, arguments: Value) -> Self {
        self.arguments = arguments;
        self
    }

    pub fn id(mut self, id: impl Into<Value>) -> Self {
        self.id = CallId::Given(id.into());
        self
    }

    pub fn without_id(mut self) -> Self {
        self.id = CallId::Missing;
        self
    }

    pub fn with_over_long_id(self) -> Self {
        self.id("call_".to_owned() + &"x".repeat(200))
    }

    fn to_json(&self, fresh: &str) -> Value {
        let function = json!({ "name": self.name, "arguments": self.arguments });
        match &self.id {
            CallId::Fresh => json!({ "id": fresh, "type": "function", "function": function }),
            CallId::Given(id) => json!({ "id": id, "type": "function", "function": function }),
            CallId::Missing => json!({ "type": "function", "function": function }),
        }
    }
}

/// How the bytes of a reply reach the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Delivery {
    Whole,
    /// A few bytes at a time, with this pause between them.
    Drip(Duration),
    /// The declared length is never reached: the connection breaks halfway.
    Truncated,
    /// The status line and half of the body arrive, then nothing more does.
    StallHalfway,
    /// Nothing arrives, ever.
    Stall,
    /// The connection is reset instead of answered.
    Reset,
}

#[derive(Debug, Clone)]
enum Content {
    Completion { text: Option<String>, calls: Vec<Call>, finish: Option<String>, refusal: Option<String> },
    Raw(String),
}

#[derive(Debug, Clone, Copy)]
enum UsageReport {
    Estimated,
    Given { input: u64, output: u64 },
    Missing,
}

/// One answer of the server.
#[derive(Debug, Clone)]
pub struct Reply {
    content: Content,
    usage: UsageReport,
    model: Option<String>,
    pub(super) status: u16,
    pub(super) headers: Vec<(String, String)>,
    pub(super) latency: Duration,
    pub(super) delivery: Delivery,
}

impl Reply {
    fn new(content: Content) -> Self {
        Self {
            content,
            usage: UsageReport::Estimated,
            model: None,
            status: 200,
            headers: vec![("content-type".into(), "application/json".into())],
            latency: Duration::ZERO,
            delivery: Delivery::Whole,
        }
    }

    fn completion(text: Option<String>, calls: Vec<Call>) -> Self {
        Self::new(Content::Completion { text, calls, finish: None, refusal: None })
    }

    pub fn text(text: impl Into<String>) -> Self {
        Self::completion(Some(text.into()), Vec::new())
    }

    /// A structured reply.
    pub fn json(value: &Value) -> Self {
        Self::text(value.to_string())
    }

    pub fn calls(calls: impl IntoIterator<Item = Call>) -> Self {
        Self::completion(None, calls.into_iter().collect())
    }

    /// A refusal in the field that providers have for it.
    pub fn refusal(words: &str) -> Self {
        let refusal = Some(words.to_owned());
        Self::new(Content::Completion { text: None, calls: Vec::new(), finish: None, refusal })
    }

    /// Any status with any body, JSON or not.
    pub fn status(status: u16, body: impl Into<String>) -> Self {
        Self { status, ..Self::new(Content::Raw(body.into())) }
    }

    /// A login page where an API was expected.
    pub fn html() -> Self {
        Self::status(200, "<!DOCTYPE html><html><title>Sign in</title></html>")
            .header("content-type", "text/html")
    }

    /// A complete response that is not JSON throughout.
    pub fn malformed() -> Self {
        Self::status(200, r#"{"choices": [{"index": 0, "message": nothing}]}"#)
    }

    pub fn reset() -> Self {
        Self { delivery: Delivery::Reset, ..Self::status(200, "") }
    }

    pub fn stall() -> Self {
        Self { delivery: Delivery::Stall, ..Self::status(200, "") }
    }

    pub fn stalling_halfway(self) -> Self {
        Self { delivery: Delivery::StallHalfway, ..self }
    }

    pub fn truncated(self) -> Self {
        Self { delivery: Delivery::Truncated, ..self }
    }

    pub fn dripping(self, pause: Duration) -> Self {
        Self { delivery: Delivery::Drip(pause), ..self }
    }

    pub fn after(self, latency: Duration) -> Self {
        Self { latency, ..self }
    }

    /// Adds a header, or replaces the one of that name.
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.retain(|(known, _)| known != name);
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub fn usage(self, input: u64, output: u64) -> Self {
        Self { usage: UsageReport::Given { input, output }, ..self }
    }

    pub fn without_usage(self) -> Self {
        Self { usage: UsageReport::Missing, ..self }
    }

    /// The model name that the reply claims; the asked one otherwise.
    pub fn from_model(self, name: &str) -> Self {
        Self { model: Some(name.to_owned()), ..self }
    }

    /// Ends with this `finish_reason` instead of the fitting one.
    pub fn finishing(mut self, reason: &str) -> Self {
        if let Content::Completion { finish, .. } = &mut self.content {
            *finish = Some(reason.to_owned());
        }
        self
    }

    /// The response's body. `serial` makes fresh ids unique over the server's life.
    pub(super) fn body(&self, request: &Received, serial: u64, persona: Persona) -> String {
        let (text, calls, finish, refusal) = match &self.content {
            Content::Raw(body) => return body.clone(),
            Content::Completion { text, calls, finish, refusal } => (text, calls, finish, refusal),
        };
        let asked: Vec<Value> =
            calls.iter().enumerate().map(|(i, call)| call.to_json(&format!("call_{serial}_{i}"))).collect();
        let fitting = if asked.is_empty() { "stop" } else { "tool_calls" };
        let mut message = json!({ "role": "assistant", "content": text });
        if !asked.is_empty() {
            message["tool_calls"] = Value::Array(asked);
        }
        if let Some(words) = refusal {
            message["refusal"] = words.clone().into();
        }
        let mut response = json!({
            "id": format!("chatcmpl-{serial}"),
            "object": "chat.completion",
            "model": self.model.as_ref().unwrap_or(&request.model),
            "choices": [{ "index": 0, "message": message, "finish_reason": finish.as_deref().unwrap_or(fitting) }],
        });
        let counted = match self.usage {
            UsageReport::Missing => None,
            UsageReport::Given { input, output } => Some((input, output)),
            UsageReport::Estimated => Some((
                estimate_tokens(&String::from_utf8_lossy(&request.body)),
                estimate_tokens(&message.to_string()),
            )),
        };
        if let Some((input, output)) = counted {
            response["usage"] = json!({ "prompt_tokens": input, "completion_tokens": output, "total_tokens": input.saturating_add(output) });
        }
        persona.body(response, self.is_stream_for(request), request.stream_usage)
    }

    /// Whether the body is an event stream: only completions are, errors never.
    pub(super) fn is_stream_for(&self, request: &Received) -> bool {
        request.stream && matches!(self.content, Content::Completion { .. })
    }
}
