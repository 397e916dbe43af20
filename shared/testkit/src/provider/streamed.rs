//! A completion as the event stream that a provider would send instead.

use serde_json::{Value, json};

/// Characters of one text delta: few, so that every reply is put together from several.
const DELTA_CHARS: usize = 24;

/// The events of `response`, a whole completion. `with_usage`: whether a last chunk tells the usage, as
/// `stream_options` asks for.
pub(super) fn events(response: &Value, with_usage: bool) -> String {
    let choice = &response["choices"][0];
    let message = &choice["message"];
    let mut chunks = vec![delta(json!({ "role": "assistant", "content": null }))];
    for name in ["content", "refusal"] {
        let pieces = pieces(message[name].as_str().unwrap_or_default());
        chunks.extend(pieces.into_iter().map(|piece| delta(json!({ name: piece }))));
    }
    for (index, call) in message["tool_calls"].as_array().into_iter().flatten().enumerate() {
        chunks.extend(call_deltas(index, call));
    }
    chunks
        .push(json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": choice["finish_reason"] }] }));
    if with_usage && !response["usage"].is_null() {
        chunks.push(json!({ "choices": [], "usage": response["usage"] }));
    }
    let mut events = String::new();
    for mut chunk in chunks {
        chunk["id"] = response["id"].clone();
        chunk["model"] = response["model"].clone();
        chunk["object"] = "chat.completion.chunk".into();
        events += &format!("data: {chunk}\n\n");
    }
    events + "data: [DONE]\n\n"
}

/// A call's head, then its arguments in pieces; whatever is no text goes out whole, as it is.
fn call_deltas(index: usize, call: &Value) -> Vec<Value> {
    let mut head = call.clone();
    head["index"] = index.into();
    let Some(arguments) = call["function"]["arguments"].as_str() else {
        return vec![delta(json!({ "tool_calls": [head] }))];
    };
    head["function"]["arguments"] = "".into();
    let continued = pieces(arguments).into_iter().map(|piece| {
        delta(json!({ "tool_calls": [{ "index": index, "function": { "arguments": piece } }] }))
    });
    std::iter::once(delta(json!({ "tool_calls": [head] }))).chain(continued).collect()
}

fn delta(delta: Value) -> Value {
    json!({ "choices": [{ "index": 0, "delta": delta, "finish_reason": null }] })
}

fn pieces(text: &str) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    characters.chunks(DELTA_CHARS).map(|piece| piece.iter().collect()).collect()
}
