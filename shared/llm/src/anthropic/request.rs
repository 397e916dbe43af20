//! A Messages request as bytes: constant parts first, as on the other wire.

use agent::ports::{Message, ModelRequest, ToolChoice};
use bytes::Bytes;
use serde::Serialize;
use serde_json::{Value, json};

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Value>,
    system: [Value; 1],
    stream: bool,
    messages: Vec<Turn>,
    max_tokens: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<Value>,
}

#[derive(Serialize)]
struct Turn {
    role: &'static str,
    content: Vec<Value>,
}

/// The request's body; `None` only if it is no JSON.
pub(crate) fn body(model: &str, request: &ModelRequest, stream: bool) -> Option<Bytes> {
    let tools = request.tools.iter().map(
        |tool| json!({ "name": tool.name, "description": tool.description, "input_schema": tool.parameters }),
    );
    let forbidden = request.tool_choice == ToolChoice::Forbidden && !request.tools.is_empty();
    // The mark lets the provider keep what all calls of a role share: the tools, which it reads first, and this.
    let cached = json!({ "type": "ephemeral" });
    let body = Body {
        model,
        tools: tools.collect(),
        system: [json!({ "type": "text", "text": &*request.system, "cache_control": cached })],
        messages: turns(&request.messages)?,
        max_tokens: request.max_output_tokens,
        tool_choice: forbidden.then(|| json!({ "type": "none" })),
        stream,
    };
    serde_json::to_vec(&body).ok().map(Bytes::from)
}

/// Turns alternate on this wire: all answers to one turn's calls, and what the user adds, are one user turn.
fn turns(messages: &[Message]) -> Option<Vec<Turn>> {
    let mut turns: Vec<Turn> = Vec::new();
    for message in messages {
        let (role, blocks) = match message {
            Message::User { text } => ("user", vec![text_block(text)]),
            Message::Tool { id, name: _, content } => (
                "user",
                vec![json!({ "type": "tool_result", "tool_use_id": id.as_str(), "content": content })],
            ),
            Message::Assistant { text, calls, reasoning: _ } => {
                // An empty text block is refused.
                let text = text.as_deref().filter(|text| !text.trim().is_empty()).map(text_block);
                let mut blocks: Vec<Value> = text.into_iter().collect();
                for call in calls {
                    let input: Value = serde_json::from_str(&call.arguments).ok()?;
                    blocks.push(json!({ "type": "tool_use", "id": call.id.as_str(), "name": call.name, "input": input }));
                }
                ("assistant", blocks)
            }
        };
        match turns.last_mut() {
            Some(last) if last.role == role => last.content.extend(blocks),
            _ => turns.push(Turn { role, content: blocks }),
        }
    }
    Some(turns)
}

fn text_block(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use agent::ports::ToolSpec;
    use agent::ports::model::AssistantCall;
    use domain::ids::ToolCallId;
    use domain::model::Role;

    use super::*;

    #[test]
    fn all_answers_to_one_turn_are_one_user_turn_and_the_last_note_joins_them() {
        let id = |text: &str| ToolCallId::parse(text).unwrap();
        let call =
            |text: &str| AssistantCall { id: id(text), name: "query_logs".into(), arguments: "{}".into() };
        let answer =
            |text: &str| Message::Tool { id: id(text), name: "query_logs".into(), content: "[]".into() };
        let spec = ToolSpec {
            name: "query_logs",
            description: "Reads logs.".into(),
            parameters: json!({ "type": "object" }),
        };
        let request = ModelRequest {
            role: Role::Diagnose,
            system: "superbiz/diagnose".into(),
            messages: vec![
                Message::User { text: "why?".into() },
                Message::Assistant {
                    text: Some(" ".into()),
                    calls: vec![call("a"), call("b")],
                    reasoning: None,
                },
                answer("a"),
                answer("b"),
                Message::User { text: "now".into() },
            ],
            tools: Arc::from([spec]),
            tool_choice: ToolChoice::Forbidden,
            response_schema: None,
            max_output_tokens: 9,
            timeout: Duration::from_secs(1),
            provider: None,
        };
        let sent: Value = serde_json::from_slice(&body("m", &request, true).unwrap()).unwrap();
        let used = |id: &str| json!({ "type": "tool_use", "id": id, "name": "query_logs", "input": {} });
        let told = |id: &str| json!({ "type": "tool_result", "tool_use_id": id, "content": "[]" });
        let system =
            json!({ "type": "text", "text": "superbiz/diagnose", "cache_control": { "type": "ephemeral" } });
        let tool = json!({ "name": "query_logs", "description": "Reads logs.", "input_schema": { "type": "object" } });
        let expected = json!({
            "model": "m",
            "tools": [tool],
            "system": [system],
            "stream": true,
            "messages": [
                { "role": "user", "content": [{ "type": "text", "text": "why?" }] },
                { "role": "assistant", "content": [used("a"), used("b")] },
                { "role": "user", "content": [told("a"), told("b"), { "type": "text", "text": "now" }] },
            ],
            "max_tokens": 9,
            "tool_choice": { "type": "none" },
        });
        assert_eq!(sent, expected);
    }
}
