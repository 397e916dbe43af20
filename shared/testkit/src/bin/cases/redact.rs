//! `cases redact`: texts through the cleaning and masking that every tool result passes. `found` counts occurrences by kind.

use std::collections::BTreeMap;

use anyhow::Context;
use serde_json::{Value, json};
use tools::redaction::Redactor;

pub fn judge(case: &Value) -> anyhow::Result<Value> {
    let text = case.get("text").and_then(Value::as_str).context("text must be a string")?;
    let mut redactor = Redactor::new();
    let masked = redactor.text(text).into_owned();
    let found: BTreeMap<&str, usize> =
        redactor.occurrences().iter().map(|(kind, count)| (kind.as_str(), *count)).collect();
    Ok(json!({ "text": masked, "found": found }))
}
