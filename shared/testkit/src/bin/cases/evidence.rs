//! `cases evidence`: drafts against canonical records, through the evidence guard.

use std::collections::BTreeMap;

use anyhow::Context;
use domain::draft::DiagnosisDraft;
use domain::evidence::{CanonicalRecord, check};
use domain::ids::RunId;
use serde_json::{Value, json};

pub fn judge(case: &Value) -> anyhow::Result<Value> {
    let run_id = case.get("run_id").and_then(Value::as_str).context("run_id must be a string")?;
    let run_id = RunId::parse(run_id)?;
    let draft = case.get("draft").context("draft is missing")?;
    let draft = DiagnosisDraft::parse(&draft.to_string())?;
    let records = case.get("records").and_then(Value::as_array).context("records must be a list")?;
    // A record that this system could not have written is one that its store does not hold.
    let read = |record: &Value| serde_json::from_str::<CanonicalRecord>(&record.to_string()).ok();
    let records: Vec<CanonicalRecord> = records.iter().filter_map(read).collect();
    Ok(match check(run_id, &draft, &records) {
        Ok(checked) => {
            json!({ "violations": [], "snapshot": checked.snapshot, "ungrounded": checked.ungrounded })
        }
        Err(violations) => {
            json!({ "violations": violations, "snapshot": null, "ungrounded": BTreeMap::<String, Vec<String>>::new() })
        }
    })
}
