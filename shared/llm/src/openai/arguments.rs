//! A tool call's arguments, which providers send in more shapes than one.

use serde_json::{Map, Value};

/// Bytes of arguments text that are read; the largest legitimate argument is 16 KiB of SQL.
const MAX_BYTES: usize = 32 * 1024;

/// The arguments object, or what made it unreadable in words for the model. Broken JSON is never completed: a
/// repaired number or a missing `WHERE` would be ours, not the model's.
pub(super) fn read(arguments: &Value) -> Result<Value, String> {
    match arguments {
        Value::Null => Ok(empty()),
        Value::Object(_) => Ok(arguments.clone()),
        Value::String(text) => read_text(text, true),
        _ => Err(NO_OBJECT.to_owned()),
    }
}

const NO_OBJECT: &str = "the arguments must be one JSON object";

fn empty() -> Value {
    Value::Object(Map::new())
}

/// `may_unwrap`: exactly one extra layer of string encoding is accepted.
fn read_text(text: &str, may_unwrap: bool) -> Result<Value, String> {
    if text.len() > MAX_BYTES {
        return Err(format!("the arguments have {} bytes, at most {MAX_BYTES} are read", text.len()));
    }
    let text = unfenced(text.trim());
    if text.is_empty() {
        return Ok(empty());
    }
    match serde_json::from_str(text) {
        Ok(Value::Null) => Ok(empty()),
        Ok(object @ Value::Object(_)) => Ok(object),
        Ok(Value::String(inner)) if may_unwrap => read_text(&inner, false),
        Ok(_) => Err(NO_OBJECT.to_owned()),
        Err(fault) => {
            Err(format!("the arguments are no valid JSON (line {}, column {})", fault.line(), fault.column()))
        }
    }
}

/// Without a Markdown fence around the whole text.
fn unfenced(text: &str) -> &str {
    let inside = text.strip_prefix("```").and_then(|rest| rest.strip_suffix("```"));
    inside.and_then(|block| block.split_once('\n')).map_or(text, |(_, body)| body.trim())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn objects_come_in_several_wrappings() {
        let object = json!({ "limit": 5 });
        for wrapped in [
            object.clone(),
            json!("{\"limit\":5}"),
            json!("\"{\\\"limit\\\":5}\""),
            json!("```json\n{\"limit\":5}\n```"),
        ] {
            assert_eq!(read(&wrapped), Ok(object.clone()), "{wrapped}");
        }
        for nothing in [Value::Null, json!(""), json!(" \n"), json!("null")] {
            assert_eq!(read(&nothing), Ok(json!({})), "{nothing}");
        }
    }

    #[test]
    fn broken_or_foreign_shapes_are_told_to_the_model() {
        let deep = format!("{{\"x\":{}{}}}", "[".repeat(500), "]".repeat(500));
        let long = format!("{{\"q\":\"{}\"}}", "A".repeat(MAX_BYTES));
        for bad in [
            json!("{\"limit\":2"),
            json!("[1]"),
            json!([1]),
            json!(7),
            json!("\"\\\"{}\\\"\""),
            json!(deep),
            json!(long),
        ] {
            let told = read(&bad).unwrap_err();
            assert!(told.starts_with("the arguments") && told.len() < 100, "{told}");
        }
    }
}
