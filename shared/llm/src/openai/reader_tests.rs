//! Responses as servers really send them.

use super::*;
use serde_json::json;

fn response(message: Value, finish: Value) -> Vec<u8> {
    let choice = json!({ "index": 0, "message": message, "finish_reason": finish });
    let usage = json!({ "prompt_tokens": 100, "completion_tokens": 20 });
    serde_json::to_vec(&json!({ "choices": [choice], "usage": usage })).unwrap()
}

fn read_message(message: Value, finish: &str) -> Result<Reply, ModelFault> {
    read(&response(message, json!(finish))).reply
}

fn call(id: Value, name: Value, arguments: Value) -> Value {
    json!({ "id": id, "type": "function", "function": { "name": name, "arguments": arguments } })
}

#[test]
fn text_is_found_with_or_without_role_and_in_parts() {
    let stops = [
        (json!("stop"), Some(Finish::Stop)),
        (json!("end_turn"), Some(Finish::Stop)),
        (json!(""), None),
        (Value::Null, None),
    ];
    for message in [
        json!({ "role": "assistant", "content": "{\"a\":1}" }),
        json!({ "content": "```json\n{\"a\":1}\n```", "refusal": null, "tool_calls": [] }),
        json!({ "content": [{ "type": "thinking", "thinking": "no" }, { "type": "text", "text": "{\"a\"" }, { "type": "text", "text": ":1}" }] }),
        json!({ "content": "{\"a\":1}", "reasoning_content": "{\"a\":2}", "reasoning": "r" }),
    ] {
        for (said, finish) in stops.clone() {
            let read = read(&response(message.clone(), said.clone())).reply.unwrap();
            assert_eq!(read.text.as_deref(), Some("{\"a\":1}"), "{message}");
            assert_eq!((read.calls.len(), read.finish), (0, finish), "{message} {said}");
        }
    }
}

#[test]
fn calls_keep_their_order_and_their_ids_as_sent() {
    let message = json!({ "content": null, "tool_calls": [
        call(json!("call_1"), json!("query_logs"), json!("{\"limit\":5}")),
        call(json!(7), json!("functions.query_logs"), json!({ "limit": 5 })),
        call(Value::Null, Value::Null, json!("{\"limit\":2")),
    ]});
    let reply = read_message(message, "tool_calls").unwrap();
    let ids: Vec<Option<&str>> = reply.calls.iter().map(|c| c.id.as_deref()).collect();
    assert_eq!(ids, [Some("call_1"), Some("7"), None]);
    assert_eq!(reply.calls[0].arguments, Ok(json!({ "limit": 5 })));
    assert_eq!(reply.calls[1], RequestedCall { id: Some("7".into()), ..reply.calls[0].clone() });
    assert!(reply.calls[2].name.is_empty() && reply.calls[2].arguments.is_err());

    let legacy = json!({ "content": null, "function_call": { "name": "query_logs", "arguments": "{}" } });
    assert_eq!(read_message(legacy, "function_call").unwrap().calls.len(), 1);
}

#[test]
fn a_cut_turn_is_never_used_in_part() {
    let cut = |message| read_message(message, "length");
    let whole_call = call(json!("c"), json!("query_mysql"), json!("{\"sql\":\"SELECT * FROM orders\"}"));
    assert_eq!(cut(json!({ "content": null, "tool_calls": [whole_call] })), Err(ModelFault::Truncated));
    assert_eq!(cut(json!({ "content": "{\"conclusion\":nu" })), Err(ModelFault::Truncated));
    assert_eq!(cut(json!({ "content": "I am an assis" })), Err(ModelFault::Truncated));
    assert_eq!(cut(json!({ "content": "<think>still {\"a\":1}" })), Err(ModelFault::Truncated));
    assert_eq!(cut(json!({ "content": "{\"a\":1}   " })).unwrap().text.unwrap(), "{\"a\":1}");
}

#[test]
fn endings_without_an_answer_have_their_own_faults() {
    let text = json!({ "content": "{\"a\":1}" });
    assert_eq!(read_message(text.clone(), "content_filter"), Err(ModelFault::ContentFiltered));
    assert_eq!(read_message(text, "insufficient_system_resource"), Err(ModelFault::Overloaded));
    let refusal = json!({ "content": "", "refusal": "I cannot help" });
    assert_eq!(read_message(refusal, "stop"), Err(ModelFault::Refused));
    for empty in [
        json!({ "content": null }),
        json!({ "content": "", "tool_calls": [] }),
        json!({ "content": "", "reasoning_content": "{\"a\":1}" }),
        json!("text"),
    ] {
        assert_eq!(read_message(empty, "stop"), Err(ModelFault::SchemaInvalid));
    }
}

#[test]
fn bodies_that_are_no_completion_are_typed_faults() {
    let fault = |body: &str| read(body.as_bytes()).reply.unwrap_err();
    assert_eq!(fault("<!DOCTYPE html><title>Login</title>"), ModelFault::ParseError);
    assert_eq!(fault(r#"{"choices":[{"index":0,"message":{"content":"#), ModelFault::Transport);
    assert_eq!(fault(""), ModelFault::Transport);
    for body in ["[]", "{}", "null", r#"{"choices":null}"#, r#"{"choices":[]}"#, r#"{"choices":[7]}"#] {
        assert_eq!(fault(body), ModelFault::SchemaInvalid, "{body}");
    }
    let error = r#"{"choices":null,"error":{"message":"Rate limit exceeded","code":429}}"#;
    assert_eq!(fault(error), ModelFault::RateLimited);
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    assert_eq!(fault(&deep), ModelFault::ParseError);
}

#[test]
fn the_choice_of_index_zero_counts_wherever_it_stands() {
    let choice = |index: u8, text: &str| json!({ "index": index, "message": { "content": text }, "finish_reason": "stop" });
    let body = json!({ "choices": [choice(1, "second"), choice(0, "first")], "usage": null });
    let reading = read(body.to_string().as_bytes());
    assert_eq!(reading.reply.unwrap().text.unwrap(), "first");
    assert_eq!((reading.input_tokens, reading.output_tokens), (None, None));
}

#[test]
fn odd_token_counts_are_ignored_not_believed() {
    for (count, read) in [
        (json!(12), Some(12)),
        (json!(12.0), Some(12)),
        (json!(-1), None),
        (json!("20"), None),
        (json!(u64::MAX), None),
        (Value::Null, None),
    ] {
        assert_eq!(tokens(&count), read, "{count}");
    }
}
