//! Messages replies and stream events in the words of Chat Completions, so that one reader judges both wires. Translation
//! only: what is missing stays missing.

use serde_json::{Map, Value, json};

/// A whole message as a response; `None` if `message` is none of this wire's.
pub(crate) fn response(message: &Value) -> Option<Value> {
    if message["type"] != "message" || message.get("choices").is_some() {
        return None;
    }
    let blocks = message["content"].as_array().map(Vec::as_slice).unwrap_or_default();
    let text: String =
        blocks.iter().filter(|b| b["type"] == "text").filter_map(|b| b["text"].as_str()).collect();
    let calls: Vec<Value> = blocks
        .iter()
        .filter(|b| b["type"] == "tool_use")
        .map(|b| json!({ "id": b["id"], "function": { "name": b["name"], "arguments": b["input"] } }))
        .collect();
    let content = json!({ "content": text, "tool_calls": calls });
    let choice = json!({ "index": 0, "message": content, "finish_reason": message["stop_reason"] });
    Some(json!({ "choices": [choice], "usage": usage(&message["usage"]) }))
}

/// A stream event as a chunk; `None` if `event` is none of this wire's. The last event becomes an empty chunk with
/// `"done": true`.
pub(crate) fn chunk(event: &Value) -> Option<Value> {
    let index = &event["index"];
    let delta = match event["type"].as_str()? {
        "message_start" => {
            return Some(json!({ "choices": [], "usage": usage(&event["message"]["usage"]) }));
        }
        "content_block_start" => started(index, &event["content_block"]),
        "content_block_delta" => match event["delta"]["type"].as_str() {
            Some("text_delta") => json!({ "content": event["delta"]["text"] }),
            Some("input_json_delta") => {
                let function = json!({ "arguments": event["delta"]["partial_json"] });
                json!({ "tool_calls": [{ "index": index, "function": function }] })
            }
            _ => json!({}),
        },
        "message_delta" => {
            let finish = &event["delta"]["stop_reason"];
            let choice = json!({ "index": 0, "delta": {}, "finish_reason": finish });
            return Some(json!({ "choices": [choice], "usage": usage(&event["usage"]) }));
        }
        "message_stop" => return Some(json!({ "choices": [], "done": true })),
        "content_block_stop" | "ping" => json!({}),
        _ => return None,
    };
    Some(json!({ "choices": [{ "index": 0, "delta": delta }] }))
}

fn started(index: &Value, block: &Value) -> Value {
    match block["type"].as_str() {
        Some("text") => json!({ "content": block["text"] }),
        Some("tool_use") => {
            // Normally an empty object whose real content follows; some gateways send it whole.
            let whole = block["input"].as_object().filter(|input| !input.is_empty());
            let function = json!({ "name": block["name"], "arguments": whole });
            json!({ "tool_calls": [{ "index": index, "id": block["id"], "function": function }] })
        }
        _ => json!({}),
    }
}

/// This wire counts what the cache served or took apart from the rest of the input.
fn usage(usage: &Value) -> Value {
    let mut counted = Map::new();
    if let Some(served) = usage["cache_read_input_tokens"].as_u64() {
        counted.insert("prompt_tokens_details".to_owned(), json!({ "cached_tokens": served }));
    }
    if let Some(fresh) = usage["input_tokens"].as_u64() {
        let cached = ["cache_creation_input_tokens", "cache_read_input_tokens"];
        let cached = cached.iter().filter_map(|name| usage[*name].as_u64());
        counted.insert("prompt_tokens".to_owned(), cached.fold(fresh, u64::saturating_add).into());
    }
    if let Some(written) = usage["output_tokens"].as_u64() {
        counted.insert("completion_tokens".to_owned(), written.into());
    }
    Value::Object(counted)
}
