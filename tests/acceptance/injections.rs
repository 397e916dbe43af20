//! Hostile texts in every source, through whole runs whose model obeys them. `tests/cases/injections.jsonl` holds the texts.
//!
//! The model is the attacker's accomplice; what is proved is that the harness gives it nothing to work with.

mod accomplice;
mod planted;
mod questions;

use serde::Deserialize;

/// One hostile text and where it lies.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    id: String,
    #[serde(rename = "where")]
    place: Place,
    text: String,
    /// What the text goes on with, and how often.
    repeat: Option<(String, usize)>,
    /// Parts that nobody may be shown.
    #[serde(default)]
    secrets: Vec<String>,
    /// Characters that are not shown as they are.
    #[serde(default)]
    stripped: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Place {
    LogLine,
    Document,
    SqlRow,
    UserQuery,
}

fn cases(place: Place) -> anyhow::Result<Vec<Case>> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/cases/injections.jsonl");
    let mut found = Vec::new();
    for line in std::fs::read_to_string(path)?.lines() {
        let mut case: Case = serde_json::from_str(line)?;
        if let Some((more, times)) = &case.repeat {
            case.text.push_str(&more.repeat(*times));
        }
        found.push(case);
    }
    found.retain(|case| case.place == place);
    anyhow::ensure!(found.len() > 3, "hardly any cases of {place:?}");
    Ok(found)
}
