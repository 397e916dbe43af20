//! Puts the deltas of a streamed reply together into the response that the server would have sent in one piece, so that one
//! reader judges both.

use serde_json::{Value, json};

use super::partial_call::PartialCalls;
use super::partial_reasoning::PartialReasoning;
use crate::anthropic;
use crate::sse::Event;

/// What the deltas have said so far.
#[derive(Debug, Default)]
pub(super) struct Assembly {
    text: String,
    refusal: String,
    reasoning: PartialReasoning,
    calls: PartialCalls,
    finish: Option<String>,
    usage: Value,
    error: Option<Value>,
    /// Whether any event was a chunk or an error that could be read.
    understood: bool,
    /// Whether an event was no JSON.
    broken: bool,
    /// Whether an event was no JSON and not merely the beginning of some.
    foreign: bool,
    done: bool,
}

/// How a stream ended.
#[derive(Debug)]
pub(super) enum Assembled {
    /// A whole response, or an error object in the place of one.
    Response(Value),
    /// It ended before it was complete; the response is what had come.
    Cut(Value),
    /// There was no chunk in it at all.
    Foreign,
}

impl Assembly {
    /// Whether nothing of use can follow.
    pub(super) fn is_done(&self) -> bool {
        self.done || self.error.is_some()
    }

    /// Whether the model has begun to answer.
    pub(super) fn has_begun(&self) -> bool {
        self.understood
    }

    /// Whether the reply has more calls than any turn may.
    pub(super) fn has_too_many_calls(&self) -> bool {
        self.calls.too_many()
    }

    /// Bytes that are kept of what was said.
    pub(super) fn kept_bytes(&self) -> usize {
        self.text.len() + self.refusal.len() + self.reasoning.kept_bytes() + self.calls.kept_bytes()
    }

    pub(super) fn take(&mut self, event: &Event) {
        if self.is_done() {
            return;
        }
        let data = event.data.trim_ascii();
        if data.is_empty() {
            return;
        }
        match serde_json::from_slice::<Value>(data) {
            Ok(chunk) => self.chunk(chunk, event.is_error),
            _ if data == b"[DONE]" => self.done = true,
            // Servers that forget the blank line between events: each line is one.
            Err(_) if data.contains(&b'\n') => {
                for line in data.split(|byte| *byte == b'\n') {
                    self.take(&Event { is_error: event.is_error, data: line.to_vec() });
                }
            }
            Err(_) if event.is_error => {
                self.error = Some(String::from_utf8_lossy(data).into_owned().into());
            }
            Err(fault) => {
                self.broken = true;
                self.foreign |= !fault.is_eof();
            }
        }
    }

    /// `clean` is whether the server itself ended the body.
    pub(super) fn finish(mut self, clean: bool) -> Assembled {
        if let Some(error) = self.error.take() {
            return Assembled::Response(json!({ "error": error, "usage": self.usage }));
        }
        if !self.understood {
            let foreign = self.done || self.foreign;
            return if foreign { Assembled::Foreign } else { Assembled::Cut(Value::Null) };
        }
        let complete = !self.broken && (self.done || (clean && self.finish.is_some()));
        let mut message = json!({ "role": "assistant", "content": self.text });
        if !self.refusal.is_empty() {
            message["refusal"] = self.refusal.into();
        }
        self.reasoning.put_into(&mut message);
        let calls = self.calls.into_values();
        if !calls.is_empty() {
            message["tool_calls"] = calls.into();
        }
        let choice = json!({ "index": 0, "message": message, "finish_reason": self.finish });
        let response = json!({ "choices": [choice], "usage": self.usage });
        if complete { Assembled::Response(response) } else { Assembled::Cut(response) }
    }

    fn chunk(&mut self, mut chunk: Value, is_error: bool) {
        self.understood = true;
        if let Some(error) = error_in(&mut chunk, is_error) {
            self.error = Some(error);
            return;
        }
        if let Some(translated) = anthropic::chunk(&chunk) {
            self.done = translated["done"] == true;
            chunk = translated;
        }
        // Usage comes last, never, in parts, in the choice, or grows with each chunk: the latest count of each kind is the one.
        for counts in
            [&chunk["usage"], &chunk["choices"][0]["usage"]].into_iter().filter_map(Value::as_object)
        {
            let counted = counts.iter().filter(|(_, count)| !count.is_null());
            counted.for_each(|(name, count)| self.usage[name.as_str()] = count.clone());
        }
        let Some(choices) = chunk["choices"].as_array() else { return };
        for choice in choices.iter().filter(|choice| is_first(&choice["index"])) {
            self.delta(if choice["delta"].is_object() { &choice["delta"] } else { &choice["message"] });
            if let Some(finish) = choice["finish_reason"].as_str().filter(|reason| !reason.is_empty()) {
                self.finish = Some(finish.to_owned());
            }
        }
    }

    fn delta(&mut self, delta: &Value) {
        match &delta["content"] {
            Value::String(text) => self.text.push_str(text),
            Value::Array(parts) => {
                let is_text = |part: &&Value| matches!(part["type"].as_str(), Some("text" | "output_text"));
                let texts = parts.iter().filter(is_text).filter_map(|part| part["text"].as_str());
                self.text.extend(texts);
            }
            _ => {}
        }
        self.refusal.push_str(delta["refusal"].as_str().unwrap_or_default());
        self.reasoning.take(delta);
        match delta["tool_calls"].as_array() {
            Some(calls) => calls.iter().for_each(|call| self.calls.take(call)),
            None if delta["function_call"].is_object() => {
                self.calls.take(&json!({ "index": 0, "function": delta["function_call"] }));
            }
            None => {}
        }
    }
}

/// A choice without an index is the only one.
fn is_first(index: &Value) -> bool {
    index.is_null() || index == 0 || index == "0"
}

/// The error that a chunk is about: in its own field, or the whole chunk where a server has its own idea of one.
fn error_in(chunk: &mut Value, is_error: bool) -> Option<Value> {
    let is_set = |value: &Value| !matches!(value, Value::Null | Value::Bool(false));
    if is_set(&chunk["error"]) {
        return Some(chunk["error"].take());
    }
    let by_itself = !chunk["choices"].is_array()
        && (["error_type", "error_message", "message"].iter().any(|name| chunk[*name].is_string())
            || chunk["object"] == "error");
    (is_error || by_itself).then(|| chunk.take())
}
