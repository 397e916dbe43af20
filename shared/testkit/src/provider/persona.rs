//! Servers that people really use, by what they refuse and by how they say things. Each is as strict as the real one is known to
//! be, and as odd.

use axum::http::HeaderMap;
use serde_json::{Value, json};

use super::messages;

/// Who answers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Persona {
    /// Takes everything and says everything plainly.
    #[default]
    Plain,
    OpenAi,
    Azure,
    DeepSeek,
    Qwen,
    Kimi,
    Glm,
    Vllm,
    Ollama,
    OpenRouter,
    LiteLlm,
    Bedrock,
    /// The Messages wire.
    Anthropic,
}

/// Characters of one text delta: few, so that every reply is put together from several.
const DELTA_CHARS: usize = 24;

impl Persona {
    /// Every one with a profile of its own, by the profile's name.
    pub const PROFILED: [(Self, &'static str); 11] = [
        (Self::OpenAi, "openai"),
        (Self::Azure, "azure"),
        (Self::DeepSeek, "deepseek"),
        (Self::Qwen, "qwen"),
        (Self::Kimi, "kimi"),
        (Self::Glm, "glm"),
        (Self::Vllm, "vllm"),
        (Self::Ollama, "ollama"),
        (Self::OpenRouter, "openrouter"),
        (Self::LiteLlm, "litellm"),
        (Self::Bedrock, "bedrock"),
    ];

    /// The request in the words of Chat Completions, if it came in others.
    pub(super) fn translated(self, request: &Value) -> Option<String> {
        (self == Self::Anthropic).then(|| messages::request(request))
    }

    /// What it has against a request: a status and a body.
    pub(super) fn refusal(self, headers: &HeaderMap, request: &Value) -> Option<(u16, String)> {
        let has = |name: &str| headers.contains_key(name);
        let keyed = match self {
            Self::Azure => has("api-key") && !has("authorization"),
            Self::Anthropic => has("x-api-key") && has("anthropic-version") && !has("authorization"),
            _ => true,
        };
        if !keyed {
            return Some((401, error("the key is missing or stands in another server's header")));
        }
        let bad = |words: &str| Some((400, error(words)));
        let format = request["response_format"]["type"].as_str().unwrap_or_default();
        match self {
            Self::OpenAi | Self::Azure if !request["max_tokens"].is_null() => bad(
                "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
            ),
            Self::DeepSeek | Self::Kimi | Self::Qwen if format == "json_schema" => {
                bad("This response_format type is unavailable now")
            }
            Self::DeepSeek | Self::Kimi if without(request, "reasoning_content") => {
                bad("thinking is enabled but reasoning_content is missing in assistant tool call message")
            }
            Self::OpenRouter if without(request, "reasoning_details") => {
                bad("reasoning_details of an earlier turn are missing")
            }
            Self::Glm | Self::Ollama if request["tool_choice"] == "none" => {
                bad("tool_choice only supports auto")
            }
            Self::LiteLlm if !request["stream_options"].is_null() => {
                bad("UnsupportedParamsError: the backend does not support parameters: ['stream_options']")
            }
            Self::Bedrock if format == "json_schema" => {
                bad("Extra inputs are not permitted: response_format.json_schema")
            }
            // Whoever is given reasoning that he never asked for refuses the field.
            Self::OpenAi | Self::Azure | Self::Qwen | Self::Glm | Self::Vllm | Self::Bedrock
                if !without(request, "reasoning_content") && asks(request).next().is_some() =>
            {
                bad("unknown field reasoning_content")
            }
            _ => None,
        }
    }

    /// The body in which it says `response`, a whole completion.
    pub(super) fn body(self, mut response: Value, stream: bool, with_usage: bool) -> String {
        self.adapt(&mut response);
        match (self, stream) {
            (Self::Anthropic, true) => messages::events(&response),
            (Self::Anthropic, false) => messages::response(&response).to_string(),
            (_, true) => self.events(&response, with_usage),
            (_, false) => response.to_string(),
        }
    }

    /// What is its own in whole completions and streams alike.
    fn adapt(self, response: &mut Value) {
        let message = &mut response["choices"][0]["message"];
        match self {
            Self::DeepSeek | Self::Kimi | Self::Glm => {
                message["reasoning_content"] = "Let me think: the logs first.".into();
            }
            Self::Vllm => {
                message["reasoning"] = "Hm.".into();
                if message["tool_calls"].is_null() {
                    message["tool_calls"] = json!([]);
                }
            }
            Self::OpenRouter => {
                message["reasoning_details"] = json!([{ "type": "reasoning.text", "text": "Hm, the logs.", "signature": "c2ln", "index": 0, "format": "x" }]);
            }
            Self::Bedrock => {
                if let Some(text) = message["content"].as_str().filter(|text| !text.is_empty()) {
                    message["content"] = format!("<reasoning>Hm, JSON.</reasoning>{text}").into();
                }
            }
            Self::Qwen if message["content"].is_null() => message["content"] = "".into(),
            _ => {}
        }
        let usage = &mut response["usage"];
        if usage.is_object() {
            match self {
                Self::OpenAi | Self::Azure | Self::OpenRouter => {
                    usage["prompt_tokens_details"] = json!({ "cached_tokens": 5 });
                    usage["completion_tokens_details"] = json!({ "reasoning_tokens": 2 });
                }
                Self::DeepSeek => usage["prompt_cache_hit_tokens"] = 5.into(),
                Self::Kimi => usage["cached_tokens"] = 5.into(),
                _ => {}
            }
        }
        if self == Self::Vllm {
            response["choices"][0]["stop_reason"] = 128_009.into();
        }
    }

    fn events(self, response: &Value, with_usage: bool) -> String {
        let choice = &response["choices"][0];
        let message = &choice["message"];
        let mut chunks = Vec::new();
        match self {
            // The filter's results come before the first choice.
            Self::Azure => {
                chunks.push(json!({ "choices": [], "prompt_filter_results": [{ "prompt_index": 0 }] }))
            }
            Self::DeepSeek => {
                chunks.push(delta(json!({ "role": "assistant", "content": null, "reasoning_content": "" })))
            }
            _ => chunks.push(delta(json!({ "role": "assistant", "content": null }))),
        }
        for name in ["reasoning_content", "reasoning", "content", "refusal"] {
            let pieces = pieces(message[name].as_str().unwrap_or_default());
            chunks.extend(pieces.into_iter().map(|piece| delta(json!({ name: piece }))));
        }
        for part in message["reasoning_details"].as_array().into_iter().flatten() {
            let (mut text, mut end) = (part.clone(), part.clone());
            text["signature"] = Value::Null;
            end["text"] = "".into();
            chunks.push(delta(json!({ "content": "", "reasoning_details": [text] })));
            chunks.push(delta(json!({ "content": "", "reasoning_details": [end] })));
        }
        for (index, call) in message["tool_calls"].as_array().into_iter().flatten().enumerate() {
            chunks.extend(self.call_deltas(index, call));
        }
        let mut last =
            json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": choice["finish_reason"] }] });
        if self == Self::Vllm {
            last["choices"][0]["stop_reason"] = choice["stop_reason"].clone();
        }
        let usage = &response["usage"];
        match self {
            _ if usage.is_null() => chunks.push(last),
            // In the choice, and asked or not.
            Self::Kimi => {
                last["choices"][0]["usage"] = usage.clone();
                chunks.push(last);
            }
            Self::DeepSeek | Self::Glm => {
                last["usage"] = usage.clone();
                chunks.push(last);
            }
            _ => {
                chunks.push(last);
                if with_usage {
                    chunks.push(json!({ "choices": [], "usage": usage }));
                }
            }
        }
        let (end, newline) = if self == Self::Ollama { ("", "\r\n") } else { ("data: [DONE]\n\n", "\n") };
        let mut events = match self {
            Self::OpenRouter => ": OPENROUTER PROCESSING\n\n: OPENROUTER PROCESSING\n\n".to_owned(),
            Self::DeepSeek => ": keep-alive\n\n".to_owned(),
            _ => String::new(),
        };
        for mut chunk in chunks {
            chunk["id"] = response["id"].clone();
            chunk["model"] = response["model"].clone();
            chunk["object"] = "chat.completion.chunk".into();
            events += &format!("data: {chunk}{newline}{newline}");
        }
        events + end
    }

    /// A call's head, then its arguments in pieces; whatever is no text goes out whole, as it is.
    fn call_deltas(self, index: usize, call: &Value) -> Vec<Value> {
        let mut head = call.clone();
        // Every call at index 0, each whole.
        head["index"] = if self == Self::Ollama { 0.into() } else { index.into() };
        let Some(arguments) = call["function"]["arguments"].as_str() else {
            return vec![delta(json!({ "tool_calls": [head] }))];
        };
        if matches!(self, Self::Ollama | Self::Glm) {
            return vec![delta(json!({ "role": "assistant", "content": "", "tool_calls": [head] }))];
        }
        head["function"]["arguments"] = "".into();
        let more = |piece: String| match self {
            Self::Qwen => {
                json!({ "index": index, "id": "", "type": "function", "function": { "name": null, "arguments": piece } })
            }
            Self::LiteLlm => {
                json!({ "index": index, "id": null, "type": "function", "function": { "name": null, "arguments": piece } })
            }
            _ => json!({ "index": index, "function": { "arguments": piece } }),
        };
        let continued = pieces(arguments).into_iter().map(|piece| match self {
            Self::Qwen => delta(json!({ "content": "", "tool_calls": [more(piece)] })),
            Self::LiteLlm => {
                delta(json!({ "content": null, "function_call": null, "tool_calls": [more(piece)] }))
            }
            _ => delta(json!({ "tool_calls": [more(piece)] })),
        });
        std::iter::once(delta(json!({ "tool_calls": [head] }))).chain(continued).collect()
    }
}

/// Assistant turns with tool calls.
fn asks(request: &Value) -> impl Iterator<Item = &Value> {
    let messages = request["messages"].as_array().into_iter().flatten();
    messages.filter(|message| message["tool_calls"].as_array().is_some_and(|calls| !calls.is_empty()))
}

/// Whether an assistant turn with calls lacks a field.
fn without(request: &Value, field: &str) -> bool {
    asks(request).any(|message| message[field].is_null())
}

fn error(message: &str) -> String {
    json!({ "error": { "message": message, "type": "invalid_request_error" } }).to_string()
}

fn delta(delta: Value) -> Value {
    json!({ "choices": [{ "index": 0, "delta": delta, "finish_reason": null }] })
}

pub(super) fn pieces(text: &str) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    characters.chunks(DELTA_CHARS).map(|piece| piece.iter().collect()).collect()
}
