//! Streams that are cut, broken, or no streams.

use super::*;
use serde_json::json;

const RESPONSES: &str =
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/cases/provider/responses.jsonl"));

fn read(pieces: &[&[u8]], clean: bool) -> Reading {
    let mut intake = Intake::new(true);
    pieces.iter().for_each(|piece| intake.push(piece));
    intake.finish(clean)
}

fn streamed(chunks: &[Value]) -> Vec<u8> {
    let events: String = chunks.iter().map(|chunk| format!("data: {chunk}\n\n")).collect();
    events.into_bytes()
}

fn delta(delta: Value, finish: Value) -> Value {
    json!({ "choices": [{ "index": 0, "delta": delta, "finish_reason": finish }] })
}

fn call(index: Value, id: Value, name: Value, arguments: Value) -> Value {
    let function = json!({ "name": name, "arguments": arguments });
    json!({ "tool_calls": [{ "index": index, "id": id, "function": function }] })
}

fn calls_of(deltas: Vec<Value>) -> Vec<(Option<String>, String, Result<Value, String>)> {
    let mut chunks: Vec<Value> = deltas.into_iter().map(|d| delta(d, Value::Null)).collect();
    chunks.push(delta(json!({}), json!("tool_calls")));
    let reply = read(&[&streamed(&chunks)], true).reply.unwrap();
    reply.calls.into_iter().map(|call| (call.id, call.name, call.arguments)).collect()
}

#[test]
fn a_body_is_the_same_wherever_it_is_cut() {
    let mut streams = 0;
    for line in RESPONSES.lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let Some(body) = case["body"].as_str().map(str::as_bytes) else { continue };
        streams += usize::from(body.starts_with(b"data:") || body.starts_with(b":"));
        let whole = format!("{:?}", read(&[body], true));
        // The few huge bodies are cut at fewer places; their time would grow with the square.
        let step = if body.len() > 20_000 { body.len() / 50 } else { 1 };
        for cut in (0..=body.len()).step_by(step) {
            let cut_reading = format!("{:?}", read(&[&body[..cut], &body[cut..]], true));
            assert_eq!(cut_reading, whole, "{} cut at {cut}", case["id"]);
        }
        let bytes: Vec<&[u8]> = body.chunks(1).collect();
        assert_eq!(format!("{:?}", read(&bytes, true)), whole, "{} byte by byte", case["id"]);
    }
    assert!(streams > 25, "{streams}");
}

#[test]
fn a_stream_with_more_calls_than_any_turn_has_is_refused_whole() {
    let stream = |calls: usize| {
        let deltas = (0..calls)
            .map(|n| call(json!(n), json!(format!("call_{n}")), json!("query_logs"), json!("{}")))
            .map(|d| delta(d, Value::Null));
        let chunks: Vec<Value> = deltas.chain([delta(json!({}), json!("tool_calls"))]).collect();
        read(&[&streamed(&chunks)], true).reply
    };
    assert_eq!(stream(256).unwrap().calls.len(), 256);
    assert!(stream(257).is_err());
}

#[test]
fn calls_without_ids_at_one_index_stay_apart_and_repeated_names_do_not() {
    let two = calls_of(vec![
        call(json!(0), Value::Null, json!("query_logs"), json!("{\"limit\":1}")),
        call(json!(0), json!(""), json!("query_logs"), json!("{\"limit\":2}")),
    ]);
    assert_eq!(two.len(), 2);
    let repeated = calls_of(vec![
        call(json!(0), json!("a"), json!("query_logs"), json!("{\"limit\"")),
        call(json!(0), json!("a"), json!("query_logs"), json!(":1}")),
    ]);
    assert_eq!(repeated, [(Some("a".into()), "query_logs".into(), Ok(json!({ "limit": 1 })))]);
    let object = calls_of(vec![call(json!(0), json!(3), json!("query_logs"), json!({ "limit": 1 }))]);
    assert_eq!(object, [(Some("3".into()), "query_logs".into(), Ok(json!({ "limit": 1 })))]);
}

#[test]
fn a_second_call_never_completes_the_first_one() {
    let calls = calls_of(vec![
        call(json!(0), json!("a"), json!("query_mysql"), json!("{\"sql\":\"SELECT")),
        call(json!(0), json!("b"), json!("query_logs"), json!("{}")),
    ]);
    assert_eq!(calls.len(), 2);
    assert!(calls[0].2.is_err(), "{calls:?}");
    assert_eq!(calls[1].2, Ok(json!({})));
}

#[test]
fn arguments_that_nest_their_own_beginning_are_not_taken_for_repetition() {
    let nested = calls_of(vec![
        call(json!(0), json!("a"), json!("query_logs"), json!("{\"a\":")),
        call(json!(0), Value::Null, Value::Null, json!("{\"a\":1}}")),
    ]);
    assert_eq!(nested[0].2, Ok(json!({ "a": { "a": 1 } })));
}

#[test]
fn what_a_broken_connection_leaves_is_used_only_if_it_is_whole() {
    let text = |text: &str| streamed(&[delta(json!({ "content": text }), Value::Null)]);
    for clean in [true, false] {
        assert_eq!(read(&[&text("{\"a\":")], clean).reply, Err(ModelFault::Transport));
        assert_eq!(read(&[&text("{\"a\":1}")], clean).reply.unwrap().text.unwrap(), "{\"a\":1}");
        let whole_call = delta(call(json!(0), json!("a"), json!("query_logs"), json!("{}")), Value::Null);
        assert_eq!(read(&[&streamed(&[whole_call])], clean).reply, Err(ModelFault::Transport));
        assert_eq!(read(&[b"data: {\"choices\":[{\"ind"], clean).reply, Err(ModelFault::Transport));
        assert_eq!(read(&[], clean).reply, Err(ModelFault::Transport));
    }
    let prose = streamed(&[delta(json!({ "content": "Hello" }), json!("stop"))]);
    assert_eq!(read(&[&prose], true).reply.unwrap().text.unwrap(), "Hello");
    assert_eq!(read(&[&prose], false).reply, Err(ModelFault::Transport));
}

#[test]
fn usage_comes_last_or_grows_and_the_latest_counts() {
    let counted = |count: u64| json!({ "prompt_tokens": 100, "completion_tokens": count });
    let mut first = delta(json!({ "content": "{}" }), json!("stop"));
    first["usage"] = counted(1);
    let last = json!({ "choices": [], "usage": counted(7) });
    let reading = read(&[&streamed(&[first, last])], true);
    assert_eq!((reading.input_tokens, reading.output_tokens), (Some(100), Some(7)));
}

#[test]
fn errors_in_the_middle_of_a_stream_are_typed() {
    let begun = streamed(&[delta(json!({ "content": "{\"a\":1}" }), Value::Null)]);
    for (event, fault) in [
        ("data: {\"error\":{\"message\":\"busy\",\"code\":503}}\n\n", ModelFault::Overloaded),
        ("event: error\ndata: {\"code\":\"Throttling\",\"message\":\"x\"}\n\n", ModelFault::RateLimited),
        ("event: error\ndata: upstream broke\n\n", ModelFault::ServerError),
        ("data: {\"object\":\"error\",\"message\":\"no\",\"code\":400}\n\n", ModelFault::BadRequest),
    ] {
        assert_eq!(read(&[&begun, event.as_bytes()], true).reply, Err(fault), "{event}");
    }
    assert_eq!(read(&[b"data: hello\n\n"], true).reply, Err(ModelFault::ParseError));
}

#[test]
fn messages_are_read_alike_in_one_piece_and_streamed() {
    let block = json!([
        { "type": "text", "text": "Looking. " },
        { "type": "tool_use", "id": "toolu_1", "name": "query_logs", "input": { "limit": 5 } },
        { "type": "tool_use", "id": "toolu_2", "name": "query_logs", "input": {} },
    ]);
    let usage = json!({ "input_tokens": 10, "cache_read_input_tokens": 90, "output_tokens": 20 });
    let whole = json!({ "type": "message", "role": "assistant", "content": block, "stop_reason": "tool_use", "usage": usage });
    let start = json!({ "input_tokens": 10, "cache_read_input_tokens": 90, "output_tokens": 1 });
    let tool = |id: &str| json!({ "type": "tool_use", "id": id, "name": "query_logs", "input": {} });
    let events = [
        json!({ "type": "message_start", "message": { "type": "message", "content": [], "usage": start } }),
        json!({ "type": "ping" }),
        json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "text", "text": "" } }),
        json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "text_delta", "text": "Looking. " } }),
        json!({ "type": "content_block_stop", "index": 0 }),
        json!({ "type": "content_block_start", "index": 1, "content_block": tool("toolu_1") }),
        json!({ "type": "content_block_delta", "index": 1, "delta": { "type": "input_json_delta", "partial_json": "{\"limit\"" } }),
        json!({ "type": "content_block_delta", "index": 1, "delta": { "type": "input_json_delta", "partial_json": ":5}" } }),
        json!({ "type": "content_block_start", "index": 2, "content_block": tool("toolu_2") }),
        json!({ "type": "message_delta", "delta": { "stop_reason": "tool_use" }, "usage": { "output_tokens": 20 } }),
        json!({ "type": "message_stop" }),
    ];
    let read_whole = read(&[whole.to_string().as_bytes()], true);
    assert_eq!(format!("{:?}", read(&[&streamed(&events)], true)), format!("{read_whole:?}"));
    assert_eq!((read_whole.input_tokens, read_whole.output_tokens), (Some(100), Some(20)));
    let ids: Vec<_> = read_whole.reply.unwrap().calls.into_iter().map(|call| call.id.unwrap()).collect();
    assert_eq!(ids, ["toolu_1", "toolu_2"]);

    assert_eq!(read(&[&streamed(&events[..9])], true).reply, Err(ModelFault::Transport), "no end");
    let overloaded =
        json!({ "type": "error", "error": { "type": "overloaded_error", "message": "Overloaded" } });
    assert_eq!(read(&[&streamed(&[events[0].clone(), overloaded])], true).reply, Err(ModelFault::Overloaded));
    let refused = json!({ "type": "message", "content": [], "stop_reason": "refusal" });
    assert_eq!(read(&[refused.to_string().as_bytes()], true).reply, Err(ModelFault::Refused));
}

#[test]
fn two_ids_at_one_index_are_two_calls_even_of_the_same_tool() {
    let calls = calls_of(vec![
        call(json!(0), json!("a"), json!("query_logs"), json!("{\"limit\":1}")),
        call(json!(0), json!("b"), json!("query_logs"), json!("{\"limit\":2}")),
    ]);
    let ids: Vec<Option<String>> = calls.into_iter().map(|(id, _, _)| id).collect();
    assert_eq!(ids, [Some("a".to_owned()), Some("b".to_owned())]);
}
