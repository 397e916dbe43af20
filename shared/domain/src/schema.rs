//! JSON Schemas generated from the types that parse the same JSON, in the strict form that providers accept.

use schemars::{JsonSchema, generate::SchemaSettings};
use serde_json::Value;

/// The schema of `T`: no references, no metadata keywords, every property required and no others allowed.
///
/// "Strict" structured output wants every property listed as required, and our parsers treat a missing field as an error, so
/// an optional value is one that may be `null`, never one that may be absent.
pub fn strict<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|s| {
        s.inline_subschemas = true;
        s.meta_schema = None;
    });
    let mut schema: Value = settings.into_generator().into_root_schema_for::<T>().to_value();
    tighten(&mut schema);
    schema
}

fn tighten(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            map.remove("title");
            map.remove("format");
            map.remove("default");
            // Documented words come as `oneOf`, which strict modes refuse; of distinct constants `anyOf` says the same.
            if let Some(options) = map.remove("oneOf") {
                map.insert("anyOf".to_owned(), options);
            }
            if let Some(names) = map
                .get("properties")
                .and_then(Value::as_object)
                .map(|p| p.keys().cloned().collect::<Vec<_>>())
            {
                map.insert("required".to_owned(), names.into());
                map.insert("additionalProperties".to_owned(), false.into());
            }
            // Property names are not keywords: a property called `title` must survive, so only its schema is tightened.
            for (key, value) in map.iter_mut() {
                if key == "properties" {
                    if let Some(properties) = value.as_object_mut() {
                        properties.values_mut().for_each(tighten);
                    }
                } else {
                    tighten(value);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(tighten),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
