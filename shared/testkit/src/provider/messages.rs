//! The Messages wire, as a server of it: its requests in the words of Chat Completions, and completions in its own.

use serde_json::{Value, json};

use super::persona::pieces;

/// A Messages request as a Chat Completions one, so that the same scripts and checks serve both wires.
pub(super) fn request(request: &Value) -> String {
    let system: String = texts(&request["system"]);
    let mut turns = vec![json!({ "role": "system", "content": system })];
    for turn in request["messages"].as_array().into_iter().flatten() {
        let blocks = turn["content"].as_array().map(Vec::as_slice).unwrap_or_default();
        if turn["role"] == "assistant" {
            let calls: Vec<Value> = blocks
                .iter()
                .filter(|block| block["type"] == "tool_use")
                .map(|block| {
                    let function = json!({ "name": block["name"], "arguments": block["input"].to_string() });
                    json!({ "id": block["id"], "type": "function", "function": function })
                })
                .collect();
            let text = texts(&turn["content"]);
            let content = if text.is_empty() { Value::Null } else { text.into() };
            let mut message = json!({ "role": "assistant", "content": content });
            if !calls.is_empty() {
                message["tool_calls"] = calls.into();
            }
            turns.push(message);
            continue;
        }
        for block in blocks {
            turns.push(match block["type"].as_str() {
                Some("tool_result") => {
                    json!({ "role": "tool", "tool_call_id": block["tool_use_id"], "content": block["content"] })
                }
                _ => json!({ "role": "user", "content": block["text"] }),
            });
        }
    }
    let tools: Vec<Value> = request["tools"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|tool| {
            let function = json!({ "name": tool["name"], "description": tool["description"], "parameters": tool["input_schema"] });
            json!({ "type": "function", "function": function })
        })
        .collect();
    // What varies from call to call stands after the messages, as on the other wire.
    let mut body = format!("{{\"model\":{}", request["model"]);
    if !tools.is_empty() {
        body += &format!(",\"tools\":{}", Value::from(tools));
    }
    let (turns, limit) = (Value::from(turns), &request["max_tokens"]);
    body += &format!(",\"stream\":{},\"messages\":{turns},\"max_tokens\":{limit}", request["stream"]);
    if request["tool_choice"]["type"] == "none" {
        body += ",\"tool_choice\":\"none\"";
    }
    body + "}"
}

fn texts(blocks: &Value) -> String {
    let blocks = blocks.as_array().into_iter().flatten();
    blocks.filter(|block| block["type"] == "text").filter_map(|block| block["text"].as_str()).collect()
}

/// A completion as a whole message.
pub(super) fn response(completion: &Value) -> Value {
    let choice = &completion["choices"][0];
    json!({
        "id": completion["id"], "type": "message", "role": "assistant", "model": completion["model"],
        "content": blocks(&choice["message"]), "stop_reason": stop(&choice["finish_reason"]), "usage": usage(&completion["usage"]),
    })
}

/// A completion as its events, texts and arguments in pieces.
pub(super) fn events(completion: &Value) -> String {
    let choice = &completion["choices"][0];
    let mut begun = response(completion);
    begun["content"] = json!([]);
    begun["stop_reason"] = Value::Null;
    let mut events = vec![json!({ "type": "message_start", "message": begun }), json!({ "type": "ping" })];
    for (index, block) in blocks(&choice["message"]).into_iter().enumerate() {
        let is_text = block["type"] == "text";
        let whole = if is_text {
            block["text"].as_str().unwrap_or_default().to_owned()
        } else {
            block["input"].to_string()
        };
        let mut start = block;
        start[if is_text { "text" } else { "input" }] = if is_text { json!("") } else { json!({}) };
        events.push(json!({ "type": "content_block_start", "index": index, "content_block": start }));
        for piece in pieces(&whole) {
            let delta = if is_text {
                json!({ "type": "text_delta", "text": piece })
            } else {
                json!({ "type": "input_json_delta", "partial_json": piece })
            };
            events.push(json!({ "type": "content_block_delta", "index": index, "delta": delta }));
        }
        events.push(json!({ "type": "content_block_stop", "index": index }));
    }
    let delta = json!({ "stop_reason": stop(&choice["finish_reason"]), "stop_sequence": null });
    events.push(json!({ "type": "message_delta", "delta": delta, "usage": usage(&completion["usage"]) }));
    events.push(json!({ "type": "message_stop" }));
    let named =
        |event: &Value| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap_or_default());
    events.iter().map(named).collect()
}

fn blocks(message: &Value) -> Vec<Value> {
    let text = message["content"].as_str().filter(|text| !text.is_empty());
    let mut blocks: Vec<Value> =
        text.map(|text| json!({ "type": "text", "text": text })).into_iter().collect();
    for call in message["tool_calls"].as_array().into_iter().flatten() {
        let arguments = call["function"]["arguments"].as_str().unwrap_or("{}");
        let input: Value = serde_json::from_str(arguments).unwrap_or_else(|_| json!({}));
        blocks.push(
            json!({ "type": "tool_use", "id": call["id"], "name": call["function"]["name"], "input": input }),
        );
    }
    blocks
}

fn stop(finish: &Value) -> Value {
    match finish.as_str() {
        Some("stop") => "end_turn".into(),
        Some("tool_calls") => "tool_use".into(),
        Some("length") => "max_tokens".into(),
        _ => finish.clone(),
    }
}

/// What the cache served is counted apart.
fn usage(usage: &Value) -> Value {
    let input = usage["prompt_tokens"].as_u64().unwrap_or_default();
    let cached = input / 2;
    json!({
        "input_tokens": input - cached, "cache_read_input_tokens": cached, "cache_creation_input_tokens": 0,
        "output_tokens": usage["completion_tokens"],
    })
}
