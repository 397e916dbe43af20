//! The arguments of `query_logs`, as the model sees and writes them.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde_json::Value;

use super::level::Level;
use super::terms::Terms;
use super::window::TimeExpression;
use crate::arguments;

/// Events shown when `limit` is null.
pub const DEFAULT_LIMIT: u32 = 50;

#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QueryLogsArguments {
    /// One service by its listed name, or * for all services.
    #[schemars(length(min = 1, max = 128))]
    pub service: String,
    /// Plain text that lines must contain, any case; all words must occur in the line, "quoted words" as one
    /// phrase. No regular expressions, no OR. Null for all lines.
    #[schemars(length(max = 512))]
    pub query: Option<String>,
    /// Minimum severity; null for all lines.
    #[schemars(schema_with = "levels")]
    pub level: Option<String>,
    /// Start of the window, inclusive: RFC 3339 (2026-11-30T06:05:00Z), UTC time of day (06:05), or relative
    /// (-2h, -15m).
    #[schemars(length(min = 1, max = 64))]
    pub start: String,
    /// End of the window, exclusive: as start, or now. At most 7 days after start.
    #[schemars(length(min = 1, max = 64))]
    pub end: String,
    /// Events to show, at most 200; null for 50. Patterns and counts always cover all matching lines.
    #[schemars(range(min = 1, max = 200))]
    pub limit: Option<u32>,
}

fn levels(_: &mut SchemaGenerator) -> Schema {
    let mut names: Vec<Value> = Level::ALL.iter().map(|level| Value::from(level.as_str())).collect();
    names.push(Value::Null);
    json_schema!({ "type": ["string", "null"], "enum": names })
}

/// The arguments with each text understood, as far as that needs no clock.
#[derive(Debug, Clone, PartialEq)]
pub struct Understood {
    pub service: String,
    pub query: Option<String>,
    pub terms: Option<Terms>,
    pub level: Option<Level>,
    pub start: TimeExpression,
    pub end: TimeExpression,
    pub limit: usize,
}

/// Reads and understands the arguments; `Err` names the field, what is wrong and what would be right.
pub fn understand(arguments: &Value) -> Result<Understood, String> {
    let read: QueryLogsArguments = arguments::read(&with_known_level(arguments))?;
    let in_field = |field: &'static str| move |fault: String| format!("`{field}`: {fault}");
    // An empty text is how many models write "no filter".
    let query = read.query.map(|query| query.trim().to_owned()).filter(|query| !query.is_empty());
    Ok(Understood {
        service: read.service.trim().to_owned(),
        terms: query.as_deref().map(Terms::parse).transpose().map_err(in_field("query"))?,
        query,
        level: read.level.as_deref().and_then(Level::parse),
        start: TimeExpression::parse(&read.start).map_err(in_field("start"))?,
        end: TimeExpression::parse(&read.end).map_err(in_field("end"))?,
        limit: read.limit.unwrap_or(DEFAULT_LIMIT) as usize,
    })
}

/// Loggers' other words for a level (`warning`, `ERR`) are taken as the level they mean.
fn with_known_level(arguments: &Value) -> Value {
    let mut arguments = arguments.clone();
    if let Some(level) = arguments.get_mut("level")
        && let Some(known) = level.as_str().and_then(Level::parse)
    {
        *level = Value::from(known.as_str());
    }
    arguments
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn synonyms_and_absent_fields_are_understood() {
        let understood = understand(
            &json!({"service": " a ", "query": " ", "level": "warning", "start": "-1h", "end": "now"}),
        )
        .unwrap();
        assert_eq!(
            (understood.service.as_str(), understood.query, understood.level, understood.limit),
            ("a", None, Some(Level::Warn), 50)
        );
    }

    #[test]
    fn refusals_name_the_field() {
        let table = [
            (
                json!({"service": "a", "start": "yesterday", "end": "now"}),
                "`start`: \"yesterday\" is no time",
            ),
            (json!({"service": "a", "start": "-1h"}), "`end` is missing"),
            (
                json!({"service": "a", "start": "-1h", "end": "now", "level": "loud"}),
                "`level` is \"loud\", but must be one of \"TRACE\"",
            ),
            (json!({"service": "a", "start": "-1h", "end": "now", "limit": 201}), "`limit` is 201"),
            (
                json!({"service": "a", "start": "-1h", "end": "now", "query": "\"\""}),
                "`query`: query holds no word",
            ),
        ];
        for (arguments, text) in table {
            let refusal = understand(&arguments).unwrap_err();
            assert!(refusal.starts_with(text), "{refusal}");
        }
    }
}
