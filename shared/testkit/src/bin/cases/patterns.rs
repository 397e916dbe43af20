//! `cases patterns`: log lines through the reading and template mining of `query_logs`. All lines are one corpus; a template may
//! still become more general after a line was answered.

use std::cell::RefCell;

use anyhow::Context;
use serde_json::{Value, json};
use tools::logs::LogLine;
use tools::logs::patterns::Miner;

use super::Judge;

/// As many as a corpus may have; a search keeps fewer.
const MAX_PATTERNS: usize = 5000;

pub fn judge() -> Judge {
    let miner = RefCell::new(Miner::new(MAX_PATTERNS));
    Box::new(move |case| {
        let text = case.get("line").and_then(Value::as_str).context("line must be a string")?;
        // What looks like JSON and isn't is a line like any other.
        let line = LogLine::parse(text.as_bytes());
        let body = line.as_ref().map_or(text, LogLine::body);
        let mut miner = miner.borrow_mut();
        let pattern = miner.assign("", body);
        Ok(json!({ "pattern": pattern, "template": miner.text(pattern) }))
    })
}
