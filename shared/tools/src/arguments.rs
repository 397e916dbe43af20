//! Reading of tool arguments: one schema for the model and the reader, and refusals that a model can act on.
//!
//! The schema is the strict form of the type that reads the arguments. Every fault names its field, what is
//! wrong there and what would be right. One leniency: providers often leave out what may be `null`, so an
//! absent nullable field reads as `null`.

use domain::schema;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// Faults named at once; more are counted.
const MAX_FAULTS: usize = 5;
/// Characters of a wrong value that a fault shows.
const MAX_SHOWN_CHARS: usize = 40;

/// The JSON Schema of `T` that the model is given: strict, inlined, every property required (optional ones
/// nullable).
pub fn parameters<T: JsonSchema>() -> Value {
    schema::strict::<T>()
}

/// Reads `arguments` as `T`.
///
/// `Err` is one text that names up to five faults, for example "`limit` is 500, but must be a whole number
/// from 1 to 200, or null". It quotes the model's own values, shortened.
pub fn read<T: JsonSchema + DeserializeOwned>(arguments: &Value) -> Result<T, String> {
    let schema = parameters::<T>();
    let properties = schema.get("properties").and_then(Value::as_object).cloned().unwrap_or_default();
    let Value::Object(given) = arguments else {
        let names = names(properties.keys());
        return Err(format!(
            "the arguments are {}, but must be one JSON object with the fields {names}",
            kind(arguments)
        ));
    };
    let mut faults = Vec::new();
    for name in given.keys().filter(|name| !properties.contains_key(*name)) {
        let known = names(properties.keys());
        faults.push(format!("`{}` is no field of this tool; its fields are {known}", shortened(name)));
    }
    let complete = complete(given, &properties, &mut faults);
    if !faults.is_empty() {
        return Err(joined(faults));
    }
    serde_json::from_value(Value::Object(complete))
        .map_err(|error| format!("the arguments can't be read: {error}"))
}

/// Checks each property and fills in absent nullable ones.
fn complete(
    given: &Map<String, Value>,
    properties: &Map<String, Value>,
    faults: &mut Vec<String>,
) -> Map<String, Value> {
    let mut complete = Map::new();
    for (name, schema) in properties {
        match given.get(name) {
            Some(value) => {
                check(name, value, schema, faults);
                complete.insert(name.clone(), value.clone());
            }
            None if accepts_null(schema) => {
                complete.insert(name.clone(), Value::Null);
            }
            None => faults.push(format!("`{name}` is missing; it must be {}", wanted(schema))),
        }
    }
    complete
}

fn check(place: &str, value: &Value, schema: &Value, faults: &mut Vec<String>) {
    if !fits_here(value, schema) {
        faults.push(format!("`{place}` is {}, but must be {}", shown(value), wanted(schema)));
        return;
    }
    if let (Value::Array(entries), Some(entry_schema)) = (value, schema.get("items")) {
        for (i, entry) in entries.iter().enumerate() {
            check(&format!("{place}[{i}]"), entry, entry_schema, faults);
        }
    }
}

/// Whether `value` fits the keywords of `schema` itself; the entries of a list are checked by their own
/// places.
fn fits_here(value: &Value, schema: &Value) -> bool {
    if let Some(branches) = alternatives(schema) {
        return branches.iter().any(|branch| fits_here(value, branch));
    }
    let types = types(schema);
    let typed = types.is_empty() || types.iter().any(|name| is_type(value, name));
    let listed = schema.get("enum").and_then(Value::as_array).is_none_or(|values| values.contains(value));
    let constant = schema.get("const").is_none_or(|constant| constant == value);
    typed && listed && constant && in_range(value, schema) && long_enough(value, schema)
}

fn in_range(value: &Value, schema: &Value) -> bool {
    let Some(number) = value.as_f64() else { return true };
    let bound = |name: &str| schema.get(name).and_then(Value::as_f64);
    bound("minimum").is_none_or(|min| number >= min) && bound("maximum").is_none_or(|max| number <= max)
}

fn long_enough(value: &Value, schema: &Value) -> bool {
    let (length, least, most) = match value {
        Value::String(text) => (text.chars().count(), "minLength", "maxLength"),
        Value::Array(entries) => (entries.len(), "minItems", "maxItems"),
        _ => return true,
    };
    let bound = |name: &str| schema.get(name).and_then(Value::as_u64);
    bound(least).is_none_or(|min| length as u64 >= min) && bound(most).is_none_or(|max| length as u64 <= max)
}

fn is_type(value: &Value, name: &str) -> bool {
    match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => false,
    }
}

fn types(schema: &Value) -> Vec<&str> {
    match schema.get("type") {
        Some(Value::String(name)) => vec![name],
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

fn alternatives(schema: &Value) -> Option<&Vec<Value>> {
    schema.get("anyOf").or_else(|| schema.get("oneOf")).and_then(Value::as_array)
}

fn accepts_null(schema: &Value) -> bool {
    fits_here(&Value::Null, schema) && schema.as_object().is_some_and(|keywords| !keywords.is_empty())
}

/// What would be right, in words.
fn wanted(schema: &Value) -> String {
    if let Some(branches) = alternatives(schema) {
        let mut texts: Vec<String> = branches.iter().map(wanted).collect();
        texts.dedup();
        return texts.join(", or ");
    }
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        return format!("one of {}", values.iter().map(Value::to_string).collect::<Vec<_>>().join(", "));
    }
    if let Some(constant) = schema.get("const") {
        return constant.to_string();
    }
    let texts: Vec<String> = types(schema).into_iter().map(|name| wanted_type(name, schema)).collect();
    if texts.is_empty() { "a JSON value".to_owned() } else { texts.join(", or ") }
}

fn wanted_type(name: &str, schema: &Value) -> String {
    match name {
        "integer" => format!("a whole number{}", span(schema, "minimum", "maximum", "")),
        "number" => format!("a number{}", span(schema, "minimum", "maximum", "")),
        "string" => format!("text{}", span(schema, "minLength", "maxLength", " characters")),
        "array" => format!("a list{}", span(schema, "minItems", "maxItems", " entries")),
        "boolean" => "true or false".to_owned(),
        "object" => "an object".to_owned(),
        other => other.to_owned(),
    }
}

fn span(schema: &Value, least: &str, most: &str, unit: &str) -> String {
    match (schema.get(least), schema.get(most)) {
        (Some(min), Some(max)) => format!(" from {min} to {max}{unit}"),
        (None, Some(max)) => format!(" of at most {max}{unit}"),
        (Some(min), None) => format!(" of at least {min}{unit}"),
        (None, None) => String::new(),
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a truth value",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::Array(entries) => format!("a list of {} entries", entries.len()),
        Value::Object(_) => "an object".to_owned(),
        Value::String(text) if text.chars().count() > MAX_SHOWN_CHARS => {
            format!("text of {} characters", text.chars().count())
        }
        other => other.to_string(),
    }
}

fn shortened(text: &str) -> String {
    text.chars().take(MAX_SHOWN_CHARS).collect()
}

fn names<'a>(names: impl Iterator<Item = &'a String>) -> String {
    names.map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

fn joined(mut faults: Vec<String>) -> String {
    let more = faults.len().saturating_sub(MAX_FAULTS);
    faults.truncate(MAX_FAULTS);
    let mut text = faults.join("; ");
    if more > 0 {
        text.push_str(&format!("; and {more} more faults"));
    }
    text
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    #[derive(Debug, PartialEq, Deserialize, JsonSchema)]
    #[serde(untagged)]
    enum Parameter {
        Text(String),
        Whole(i64),
    }

    #[derive(Debug, PartialEq, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    struct Arguments {
        #[schemars(length(min = 1, max = 64))]
        service: String,
        #[schemars(range(min = 1, max = 200))]
        limit: Option<u32>,
        params: Option<Vec<Parameter>>,
    }

    #[test]
    fn absent_and_null_are_the_same_for_what_is_nullable() {
        let wanted = Arguments { service: "a".into(), limit: None, params: None };
        for arguments in [json!({"service": "a"}), json!({"service": "a", "limit": null, "params": null})] {
            assert_eq!(read::<Arguments>(&arguments).as_ref(), Ok(&wanted));
        }
        let full = json!({"service": "支付", "limit": 200, "params": ["x", 1]});
        assert_eq!(read::<Arguments>(&full).unwrap().params.unwrap().len(), 2);
    }

    #[test]
    fn each_fault_names_its_field_what_is_wrong_and_what_would_be_right() {
        let table = [
            (
                json!("x"),
                "the arguments are text, but must be one JSON object with the fields `limit`, `params`, `service`",
            ),
            (json!({}), "`service` is missing; it must be text from 1 to 64 characters"),
            (json!({"service": ""}), "`service` is \"\", but must be text from 1 to 64 characters"),
            (json!({"service": 7}), "`service` is 7, but must be text from 1 to 64 characters"),
            (
                json!({"service": "a", "limit": 500}),
                "`limit` is 500, but must be a whole number from 1 to 200, or null",
            ),
            (
                json!({"service": "a", "limit": "5"}),
                "`limit` is \"5\", but must be a whole number from 1 to 200, or null",
            ),
            (
                json!({"service": "a", "limit": 1.5}),
                "`limit` is 1.5, but must be a whole number from 1 to 200, or null",
            ),
            (
                json!({"service": "a", "params": [1, {}]}),
                "`params[1]` is an object, but must be text, or a whole number",
            ),
            (
                json!({"service": "a", "sevice": 1}),
                "`sevice` is no field of this tool; its fields are `limit`, `params`, `service`",
            ),
        ];
        for (arguments, text) in table {
            assert_eq!(read::<Arguments>(&arguments).unwrap_err(), text, "{arguments}");
        }
    }

    #[test]
    fn faults_are_bounded() {
        let many: Map<String, Value> = (0..20).map(|i| (format!("f{i:02}"), Value::Null)).collect();
        let text = read::<Arguments>(&Value::Object(many)).unwrap_err();
        assert!(text.ends_with("and 16 more faults"), "{text}");
        let long = read::<Arguments>(&json!({"service": "x".repeat(500)})).unwrap_err();
        assert_eq!(long, "`service` is text of 500 characters, but must be text from 1 to 64 characters");
    }

    #[test]
    fn the_schema_is_strict() {
        let schema = parameters::<Arguments>();
        assert_eq!(schema["required"], json!(["limit", "params", "service"]));
        assert_eq!(schema["additionalProperties"], json!(false));
    }
}
