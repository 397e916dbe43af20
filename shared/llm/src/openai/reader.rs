//! Reads a Chat Completions response: tolerant of shapes, strict about results. A turn that was cut is never
//! used in part.

use domain::model::{Finish, ModelFault, Reply, RequestedCall};
use serde_json::{Value, json};

use super::{arguments, text};
use crate::{anthropic, faults};

/// What a response says. Token counts are the provider's, where it gave usable ones.
#[derive(Debug)]
pub(crate) struct Reading {
    pub input_tokens: Option<u64>,
    pub output_tokens: Option<u64>,
    pub cached_tokens: Option<u64>,
    pub reasoning_tokens: Option<u64>,
    pub reply: Result<Reply, ModelFault>,
}

/// Reads the body of a response with status 200.
pub(super) fn read(body: &[u8]) -> Reading {
    let body = body.strip_prefix("\u{feff}".as_bytes()).unwrap_or(body);
    match serde_json::from_slice::<Value>(body) {
        Ok(response) => read_response(&anthropic::response(&response).unwrap_or(response)),
        Err(fault) => {
            // A body that ends too early was cut on its way; one that is no JSON (a login page) will be none
            // next time either.
            let cut = fault.is_eof();
            Reading::failed(if cut { ModelFault::Transport } else { ModelFault::ParseError })
        }
    }
}

impl Reading {
    /// Nothing but a fault, and no word about its cost.
    pub(super) fn failed(fault: ModelFault) -> Self {
        Self {
            input_tokens: None,
            output_tokens: None,
            cached_tokens: None,
            reasoning_tokens: None,
            reply: Err(fault),
        }
    }
}

/// Reads a whole response.
pub(super) fn read_response(response: &Value) -> Reading {
    let usage = &response["usage"];
    // The first is what nearly all say; then DeepSeek's word, then Kimi's.
    let cached = [
        &usage["prompt_tokens_details"]["cached_tokens"],
        &usage["prompt_cache_hit_tokens"],
        &usage["cached_tokens"],
    ];
    Reading {
        input_tokens: tokens(&usage["prompt_tokens"]),
        output_tokens: tokens(&usage["completion_tokens"]),
        cached_tokens: cached.into_iter().find_map(tokens),
        reasoning_tokens: tokens(&usage["completion_tokens_details"]["reasoning_tokens"]),
        reply: reply(response),
    }
}

/// Reads a response that lacks its end. A whole JSON object can lack nothing but padding; all else is lost.
pub(super) fn read_cut(response: &Value) -> Reading {
    let mut reading = read_response(response);
    let whole =
        |reply: &Reply| reply.calls.is_empty() && reply.text.as_deref().is_some_and(text::is_json_object);
    if !reading.reply.as_ref().is_ok_and(whole) {
        reading.reply = Err(ModelFault::Transport);
    }
    reading
}

/// A count, if it is one: some servers send floats, strings or -1.
fn tokens(count: &Value) -> Option<u64> {
    let float = || count.as_f64().filter(|n| (0.0..1e12).contains(n)).map(|n| n as u64);
    count.as_u64().filter(|n| *n < 1_000_000_000_000).or_else(float)
}

fn reply(response: &Value) -> Result<Reply, ModelFault> {
    if let Some(error) = response.get("error").filter(|error| !error.is_null()) {
        return Err(faults::of_error_object(error));
    }
    let choices = response["choices"].as_array().ok_or(ModelFault::SchemaInvalid)?;
    let first = choices.iter().find(|choice| choice["index"] == 0).or(choices.first());
    let choice = first.ok_or(ModelFault::SchemaInvalid)?;
    let message = &choice["message"];
    if !message.is_object() {
        return Err(ModelFault::SchemaInvalid);
    }
    let text = content(&message["content"]);
    let calls = calls(message);
    judge(choice["finish_reason"].as_str().unwrap_or_default(), message, text, calls)
}

fn judge(
    finish: &str,
    message: &Value,
    text: Option<String>,
    calls: Vec<RequestedCall>,
) -> Result<Reply, ModelFault> {
    match finish {
        // Calls of a cut turn may lack their end even when they parse. A whole JSON object can lack nothing
        // but padding.
        "length" | "max_tokens" => match text {
            Some(whole) if calls.is_empty() && text::is_json_object(&whole) => {
                Ok(Reply { text: Some(whole), calls, finish: Some(Finish::Length), reasoning: None })
            }
            _ => Err(ModelFault::Truncated),
        },
        "content_filter" | "sensitive" | "safety" => Err(ModelFault::ContentFiltered),
        "insufficient_system_resource" => Err(ModelFault::Overloaded),
        _ if message["refusal"].as_str().is_some_and(|words| !words.trim().is_empty()) => {
            Err(ModelFault::Refused)
        }
        "refusal" => Err(ModelFault::Refused),
        "model_context_window_exceeded" => Err(ModelFault::ContextTooLarge),
        _ if text.is_none() && calls.is_empty() => Err(ModelFault::SchemaInvalid),
        _ => {
            let finish = match finish {
                "stop" | "end_turn" | "stop_sequence" | "eos" => Some(Finish::Stop),
                "tool_calls" | "tool_use" | "function_call" => Some(Finish::ToolCalls),
                _ => None,
            };
            Ok(Reply { text, calls, finish, reasoning: reasoning(message) })
        }
    }
}

/// The fields of a message's reasoning, as they would go back with it: the structured one where there is one, since it may be
/// signed.
fn reasoning(message: &Value) -> Option<Value> {
    let is_said = |field: &&'static str| match &message[*field] {
        Value::String(text) => !text.is_empty(),
        Value::Array(parts) => !parts.is_empty(),
        _ => false,
    };
    let field = ["reasoning_details", "reasoning_content", "reasoning"].into_iter().find(|f| is_said(f))?;
    Some(json!({ field: message[field] }))
}

/// The answer in a message's content: a string, or a list of parts of which only the texts are the answer.
fn content(content: &Value) -> Option<String> {
    let joined: String;
    let raw = match content {
        Value::String(text) => text,
        Value::Array(parts) => {
            let texts =
                parts.iter().filter(|part| matches!(part["type"].as_str(), Some("text" | "output_text")));
            joined = texts.filter_map(|part| part["text"].as_str()).collect();
            &joined
        }
        _ => return None,
    };
    text::answer(raw).map(str::to_owned)
}

/// The calls in the order asked, from `tool_calls` or from the older `function_call`.
fn calls(message: &Value) -> Vec<RequestedCall> {
    match message["tool_calls"].as_array() {
        Some(listed) if !listed.is_empty() => {
            listed.iter().map(|call| requested(&call["id"], &call["function"])).collect()
        }
        _ if message["function_call"].is_object() => {
            vec![requested(&Value::Null, &message["function_call"])]
        }
        _ => Vec::new(),
    }
}

fn requested(id: &Value, function: &Value) -> RequestedCall {
    let id = match id {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    };
    // An absent name stays empty: no tool has it, and the model is told so.
    let name = function["name"].as_str().unwrap_or_default();
    // One known prefix of some chat templates; anything else must match exactly.
    let name = name.strip_prefix("functions.").unwrap_or(name).to_owned();
    RequestedCall { id, name, arguments: arguments::read(&function["arguments"]) }
}

#[cfg(test)]
#[path = "reader_tests.rs"]
mod tests;
