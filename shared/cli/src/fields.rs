//! Reading the service's JSON tolerantly: a field that a newer or older service leaves out is shown as nothing.

use serde_json::Value;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// The text at a name, or nothing.
pub fn text<'v>(value: &'v Value, name: &str) -> &'v str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

pub fn some_text<'v>(value: &'v Value, name: &str) -> Option<&'v str> {
    value.get(name).and_then(Value::as_str).filter(|text| !text.is_empty())
}

pub fn number(value: &Value, name: &str) -> u64 {
    value.get(name).and_then(Value::as_u64).unwrap_or(0)
}

pub fn flag(value: &Value, name: &str) -> bool {
    value.get(name).and_then(Value::as_bool).unwrap_or(false)
}

pub fn list<'v>(value: &'v Value, name: &str) -> &'v [Value] {
    value.get(name).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// The texts and numbers of a list, joined by commas.
pub fn joined(value: &Value, name: &str) -> String {
    list(value, name).iter().map(shown).collect::<Vec<_>>().join(", ")
}

/// A scalar as a person reads it; anything else as JSON.
pub fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => short_time(text),
        Value::Null => "-".to_owned(),
        other => other.to_string(),
    }
}

/// A time to the second, `2026-12-01T00:56:10Z`; any other text as it is.
pub fn short_time(text: &str) -> String {
    let fraction = text.find('.').filter(|at| *at == 19 && text.ends_with('Z') && text.starts_with("20"));
    fraction.and_then(|at| text.get(..at)).map_or_else(|| text.to_owned(), |whole| format!("{whole}Z"))
}

/// Milliseconds as a person reads them.
pub fn duration(ms: u64) -> String {
    match ms {
        0..1000 => format!("{ms} ms"),
        1000..60_000 => format!("{}.{} s", ms / 1000, ms % 1000 / 100),
        _ => format!("{} min {:02} s", ms / 60_000, ms % 60_000 / 1000),
    }
}

/// The time between two fields that hold RFC 3339 times.
pub fn between(value: &Value, start: &str, end: &str) -> Option<String> {
    let at = |name| OffsetDateTime::parse(value.get(name)?.as_str()?, &Rfc3339).ok();
    let took = (at(end)? - at(start)?).whole_milliseconds();
    Some(duration(u64::try_from(took).ok()?))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn times_and_durations_are_short() {
        assert_eq!(short_time("2026-11-30T23:21:32.886990031Z"), "2026-11-30T23:21:32Z");
        assert_eq!(short_time("2026-11-30T23:21:32Z"), "2026-11-30T23:21:32Z");
        assert_eq!(short_time("version 1.2"), "version 1.2");
        assert_eq!([7, 1250, 61_000].map(duration), ["7 ms", "1.2 s", "1 min 01 s"]);
        let run = json!({ "a": "2026-12-01T00:00:00Z", "b": "2026-12-01T00:00:02.5Z", "c": null });
        assert_eq!(between(&run, "a", "b").as_deref(), Some("2.5 s"));
        assert_eq!((between(&run, "b", "a"), between(&run, "a", "c")), (None, None));
    }

    #[test]
    fn absent_fields_are_nothing() {
        let value = json!({ "a": ["x", 2], "n": "not a number" });
        assert_eq!((text(&value, "z"), number(&value, "n"), flag(&value, "z")), ("", 0, false));
        assert_eq!((joined(&value, "a").as_str(), list(&value, "n").len()), ("x, 2", 0));
    }
}
