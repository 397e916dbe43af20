//! Strict reading of drafts, and the schemas that ask for them.

use serde_json::{Value, json};

use super::*;
use crate::knowledge::KnowledgeDraft;
use crate::run::RouteReply;
use crate::schema::strict;
use crate::semantic::VerdictReply;
use crate::specimens::{a_draft, full_draft};

fn full() -> Value {
    json!(full_draft())
}

fn parse(value: &Value) -> Result<DiagnosisDraft, InvalidDraft> {
    DiagnosisDraft::parse(&value.to_string())
}

#[test]
fn a_full_draft_and_a_null_conclusion_are_read() {
    assert_eq!(parse(&full()), Ok(full_draft()));
    let empty = r#" {"conclusion":null,"analyses":[],"actions":[],"recommendations":[],"limitations":{"missing_info":[],"caveats":[]}} "#;
    assert_eq!(DiagnosisDraft::parse(empty), Ok(a_draft().build()));
}

#[test]
fn every_field_at_every_level_is_required_and_no_other_is_known() {
    let objects = ["", "/conclusion", "/analyses/0", "/actions/0", "/recommendations/0", "/limitations"];
    let mut fields = 0;
    for path in objects {
        let names: Vec<String> = full().pointer(path).unwrap().as_object().unwrap().keys().cloned().collect();
        for name in &names {
            let mut missing = full();
            missing.pointer_mut(path).unwrap().as_object_mut().unwrap().remove(name);
            assert!(
                matches!(parse(&missing), Err(InvalidDraft::NotTheSchema { .. })),
                "without {path}/{name}"
            );
            if (path, name.as_str()) != ("", "conclusion") {
                let mut null = full();
                null.pointer_mut(path).unwrap()[name] = Value::Null;
                assert!(parse(&null).is_err(), "null {path}/{name}");
            }
            fields += 1;
        }
        let mut more = full();
        more.pointer_mut(path).unwrap()["confidence"] = json!(1);
        assert!(parse(&more).is_err(), "unknown field in {path}");
        let mut listed = full();
        let at = listed.pointer_mut(path).unwrap();
        *at = at.as_object().unwrap().values().cloned().collect();
        assert!(parse(&listed).is_err(), "a list for {path}");
    }
    assert_eq!(fields, 18);
}

#[test]
fn nothing_but_one_object_is_read() {
    let text = full().to_string();
    let empty = json!(a_draft().build()).to_string();
    let repeated = empty.replacen('{', r#"{"conclusion":null,"#, 1);
    let by_position = r#"[null,[],[],[],{"missing_info":[],"caveats":[]}]"#;
    let word_as_object = text.replace(r#""kind":"NORMAL""#, r#""kind":{"NORMAL":null}"#);
    let lower_case = text.replace("NORMAL", "normal");
    let fenced = format!("```json\n{text}\n```");
    let trailing = format!("{text} I hope this helps.");
    for bad in [
        "",
        "null",
        "{}",
        "[]",
        by_position,
        &repeated,
        &word_as_object,
        &lower_case,
        &fenced,
        &trailing,
        &format!("{text}{text}"),
    ] {
        assert!(matches!(DiagnosisDraft::parse(bad), Err(InvalidDraft::NotTheSchema { .. })), "{bad}");
    }
}

#[test]
fn sizes_are_bounded() {
    let long = "x".repeat(DiagnosisDraft::MAX_BYTES);
    let bytes = a_draft().missing(&long).build();
    assert!(
        matches!(parse(&json!(bytes)), Err(InvalidDraft::TooLong { bytes }) if bytes > DiagnosisDraft::MAX_BYTES)
    );
    let lists = [
        "/analyses",
        "/actions",
        "/recommendations",
        "/limitations/missing_info",
        "/limitations/caveats",
        "/analyses/0/tool_call_ids",
        "/conclusion/based_on_analysis_ids",
        "/actions/0/based_on_analysis_ids",
        "/recommendations/0/based_on_analysis_ids",
    ];
    for path in lists {
        for (length, expected) in [(DiagnosisDraft::MAX_ITEMS, true), (DiagnosisDraft::MAX_ITEMS + 1, false)]
        {
            let mut draft = full();
            let list = draft.pointer_mut(path).unwrap();
            *list = vec![list[0].clone(); length].into();
            assert_eq!(parse(&draft).is_ok(), expected, "{length} of {path}");
        }
    }
}

#[test]
fn a_fault_carries_no_text_of_the_reply() {
    let fault = DiagnosisDraft::parse(r#"{"conclusion":null,"MARKER":"MARKER"}"#).unwrap_err();
    assert!(!format!("{fault} {fault:?}").contains("MARKER"));
}

#[test]
fn cited_calls_are_each_named_once_in_order_and_bad_ones_never_reach_the_store() {
    let draft = a_draft()
        .finding("a", "x", &["c2", "c1", "no id"])
        .finding("b", "y", &["c1", "../c3", "c4", ""])
        .build();
    let ids: Vec<String> = draft.cited_calls().iter().map(ToString::to_string).collect();
    assert_eq!(ids, ["c2", "c1", "c4"]);
}

/// `type` is one word, or a list of them for a value that may be null.
fn has_type(schema: &Value, word: &str) -> bool {
    schema["type"] == word || schema["type"].as_array().is_some_and(|words| words.contains(&json!(word)))
}

/// Walks a schema: every object closed with all its properties required, and only keywords that providers take.
fn assert_strict(schema: &Value, path: &str) {
    let Some(map) = schema.as_object() else { return };
    for banned in ["$ref", "$defs", "$schema", "oneOf", "allOf", "title", "format", "default"] {
        assert!(!map.contains_key(banned), "{banned} at {path}");
    }
    if let Some(properties) = map.get("properties").and_then(Value::as_object) {
        let names: Vec<&String> = properties.keys().collect();
        assert!(has_type(schema, "object"), "{path}");
        assert_eq!(map["required"], json!(names), "{path}");
        assert_eq!(map["additionalProperties"], json!(false), "{path}");
        for (name, property) in properties {
            assert_strict(property, &format!("{path}.{name}"));
        }
    }
    if has_type(schema, "array") {
        assert_strict(&map["items"], &format!("{path}[]"));
    }
    for option in map.get("anyOf").and_then(Value::as_array).into_iter().flatten() {
        assert_strict(option, path);
    }
}

#[test]
fn the_schemas_are_strict() {
    for schema in [
        strict::<DiagnosisDraft>(),
        strict::<KnowledgeDraft>(),
        strict::<VerdictReply>(),
        strict::<RouteReply>(),
    ] {
        assert_eq!(schema["type"], "object");
        assert_strict(&schema, "$");
    }
}

/// The structural part of validation that the draft's schema uses.
fn fits(schema: &Value, value: &Value) -> bool {
    if let Some(options) = schema["anyOf"].as_array() {
        return options.iter().any(|option| fits(option, value));
    }
    if let Some(words) = schema["enum"].as_array() {
        return words.contains(value);
    }
    if let Some(word) = schema.get("const") {
        return word == value;
    }
    match value {
        Value::Object(map) if has_type(schema, "object") => {
            let properties = schema["properties"].as_object().unwrap();
            map.len() == properties.len()
                && properties.iter().all(|(name, s)| map.get(name).is_some_and(|v| fits(s, v)))
        }
        Value::Array(items) if has_type(schema, "array") => {
            items.iter().all(|item| fits(&schema["items"], item))
        }
        Value::String(_) => has_type(schema, "string"),
        Value::Bool(_) => has_type(schema, "boolean"),
        Value::Null => has_type(schema, "null"),
        _ => false,
    }
}

#[test]
fn the_schema_and_the_parser_agree() {
    let schema = strict::<DiagnosisDraft>();
    let mut drafts = vec![full(), json!(a_draft().build()), json!({}), json!([]), Value::Null];
    let edits: [(&str, Value); 9] = [
        ("/conclusion", Value::Null),
        ("/conclusion", json!("text")),
        ("/conclusion/text", Value::Null),
        ("/analyses/1/kind", json!("NORMAL")),
        ("/analyses/1/kind", json!("OTHER")),
        ("/analyses/0/tool_call_ids", json!([1])),
        ("/actions/0/requires_human_confirmation", json!("yes")),
        ("/limitations", json!({ "missing_info": [] })),
        ("/recommendations", json!({})),
    ];
    for (path, value) in edits {
        let mut draft = full();
        *draft.pointer_mut(path).unwrap() = value;
        drafts.push(draft);
    }
    for draft in drafts {
        assert_eq!(fits(&schema, &draft), parse(&draft).is_ok(), "{draft}");
    }
}

#[test]
fn a_view_has_everything_a_user_reads_and_no_ids() {
    let draft = full_draft();
    let view = json!(SemanticDraftView::of(&draft));
    assert!(!view.to_string().contains("_id"));
    let mut other = full_draft();
    other.analyses[0].analysis_id = "other".into();
    other.analyses[1].tool_call_ids.clear();
    other.actions[0].based_on_analysis_ids.clear();
    other.conclusion.as_mut().unwrap().based_on_analysis_ids.clear();
    assert_eq!(view, json!(SemanticDraftView::of(&other)));
    other.recommendations[0].text.push('.');
    assert_ne!(view, json!(SemanticDraftView::of(&other)));
}
