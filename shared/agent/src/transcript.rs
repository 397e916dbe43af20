//! The diagnosis agent's conversation: append-only, so that each request repeats the one before it byte for byte.

use domain::budget::estimate_tokens;
use domain::ids::ToolCallId;
use domain::run::PlannedCall;
use serde_json::Value;

use crate::ports::Message;
use crate::ports::model::AssistantCall;

pub struct Transcript {
    messages: Vec<Message>,
    tokens: u64,
    told_final: bool,
}

/// What the agent is told when its tools are withheld.
const FINAL_ANSWER_ONLY: &str = r#"{"harness":"FINAL_ANSWER_ONLY","note":"The run's budget or time leaves only your final answer. No further tool call will be run. Return the report now, from the evidence you have; put what is missing into limitations.missing_info."}"#;

/// Tokens that a message's envelope takes.
const ENVELOPE_TOKENS: u64 = 8;

impl Transcript {
    pub fn new(opening: String) -> Self {
        let mut transcript = Self { messages: Vec::new(), tokens: 0, told_final: false };
        transcript.push(Message::User { text: opening });
        transcript
    }

    pub fn messages(&self) -> &[Message] {
        &self.messages
    }

    pub fn tokens(&self) -> u64 {
        self.tokens
    }

    /// The model's turn, under the ids that its calls have from now on. Unreadable arguments are repeated as an empty object:
    /// providers refuse a history that is not JSON, and the error observation says what was wrong.
    pub fn asked(&mut self, text: Option<String>, reasoning: Option<Value>, calls: &[PlannedCall]) {
        let call = |c: &PlannedCall| AssistantCall {
            id: c.id.clone(),
            name: repeatable(&c.name),
            arguments: c.arguments.as_ref().map_or_else(|_| "{}".to_owned(), ToString::to_string),
        };
        self.push(Message::Assistant { text, calls: calls.iter().map(call).collect(), reasoning });
    }

    pub fn observed(&mut self, id: ToolCallId, name: String, content: String) {
        self.push(Message::Tool { id, name: repeatable(&name), content });
    }

    /// Says once that only the final answer is left.
    pub fn only_the_final_answer_is_left(&mut self) {
        if !self.told_final {
            self.told_final = true;
            self.push(Message::User { text: FINAL_ANSWER_ONLY.to_owned() });
        }
    }

    fn push(&mut self, message: Message) {
        self.tokens += tokens(&message);
        self.messages.push(message);
    }
}

/// Tokens that one message probably takes.
pub fn tokens(message: &Message) -> u64 {
    let content = match message {
        Message::User { text } => estimate_tokens(text),
        Message::Assistant { text, calls, reasoning } => {
            let thought = reasoning.as_ref().map_or(0, |reasoning| estimate_tokens(&reasoning.to_string()));
            let calls = calls.iter().map(|c| estimate_tokens(&c.arguments) + ENVELOPE_TOKENS).sum::<u64>();
            text.as_deref().map_or(0, estimate_tokens) + thought + calls
        }
        Message::Tool { content, .. } => estimate_tokens(content),
    };
    content + ENVELOPE_TOKENS
}

/// A tool's name as it can be told to a provider again: they refuse a history with a name that no tool could have.
fn repeatable(name: &str) -> String {
    let valid = (1..=64).contains(&name.len())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
    if valid { name.to_owned() } else { "unknown_tool".to_owned() }
}

/// The roles in order, repeats counted: `system user assistant toolx2`. Metadata for the audit.
pub fn roles(messages: &[Message]) -> String {
    let mut runs: Vec<(&str, u32)> = vec![("system", 1)];
    for message in messages {
        let role = match message {
            Message::User { .. } => "user",
            Message::Assistant { .. } => "assistant",
            Message::Tool { .. } => "tool",
        };
        match runs.last_mut() {
            Some((last, count)) if *last == role => *count += 1,
            _ => runs.push((role, 1)),
        }
    }
    let run = |(role, count): &(&str, u32)| {
        if *count == 1 { (*role).to_owned() } else { format!("{role}x{count}") }
    };
    runs.iter().map(run).collect::<Vec<_>>().join(" ")
}
