//! Responses as providers really send them, against the table of what must become of each.

#![expect(clippy::unwrap_used, reason = "the helpers of tests may fail like tests")]

use std::fs::File;
use std::process::Command;

use serde_json::{Value, json};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/cases/provider");

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// What the table records of a verdict: estimates depend on our own request, and long texts only have a length.
fn recorded(mut verdict: Value) -> Value {
    let map = verdict.as_object_mut().unwrap();
    if map["usage"]["estimated"] == true {
        map.insert("usage".into(), json!({ "estimated": true }));
    }
    let text = map.get("text").and_then(Value::as_str).map(str::len);
    if text.is_none() || text > Some(2000) {
        map.remove("text");
        map.extend(text.map(|bytes| ("text_bytes".to_owned(), bytes.into())));
    }
    if map["calls"] == json!([]) {
        map.remove("calls");
    }
    verdict
}

#[test]
fn every_response_becomes_what_the_table_says() {
    let output = Command::new(env!("CARGO_BIN_EXE_cases"))
        .arg("provider")
        .stdin(File::open(format!("{FOLDER}/responses.jsonl")).unwrap())
        .output()
        .unwrap();
    assert!(output.status.success());
    let told = lines(&String::from_utf8(output.stdout).unwrap());
    let expected = lines(&std::fs::read_to_string(format!("{FOLDER}/expected.jsonl")).unwrap());
    assert_eq!(told.len(), expected.len());
    let wrong: Vec<(Value, Value)> =
        told.into_iter().map(recorded).zip(expected).filter(|(told, expected)| told != expected).collect();
    assert!(wrong.is_empty(), "(told, expected): {wrong:#?}");
}
