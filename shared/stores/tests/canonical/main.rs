//! Canonical stores: what every one of them must do, and what only one of them can get wrong.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking, in its helpers, too")]

mod behaviour;
mod file;
mod redis;
mod redis_faults;

use std::sync::Arc;

use agent::ports::{Clock, StoreError, SystemClock};
use domain::evidence::{CanonicalRecord, EvidenceStatus, InvocationStatus};
use domain::ids::{RunId, ToolCallId};
use domain::tool::ToolName;
use serde_json::value::RawValue;

const RUN: &str = "0197a000-0000-7000-8000-000000000001";
const OTHER_RUN: &str = "0197a000-0000-7000-8000-000000000002";

pub fn run(text: &str) -> RunId {
    RunId::parse(text).unwrap()
}

pub fn id(text: &str) -> ToolCallId {
    ToolCallId::parse(text).unwrap()
}

pub fn started(run_id: &str, call: &str) -> CanonicalRecord {
    let request = serde_json::json!({ "query": "支付超时" });
    CanonicalRecord::started(
        run(run_id),
        id(call),
        ToolName::QueryLogs,
        request,
        "2026-01-01T00:00:00Z".to_owned(),
    )
}

pub fn ready(run_id: &str, call: &str, result: &str) -> CanonicalRecord {
    CanonicalRecord {
        status: InvocationStatus::Ready,
        evidence_status: Some(EvidenceStatus::EvidenceFound),
        agent_result: Some(RawValue::from_string(result.to_owned()).unwrap()),
        finished_at: Some("2026-01-01T00:00:01Z".to_owned()),
        ..started(run_id, call)
    }
}

pub fn is_conflict<T: std::fmt::Debug>(result: &Result<T, StoreError>) -> bool {
    matches!(result, Err(StoreError::Conflict { .. }))
}

#[test]
fn addresses_of_other_kinds_are_refused_without_repeating_them() {
    for url in ["redis://:secret@h:port", "rediss://u:secret@", "secret", "s3://secret", "file://"] {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let Err(error) = stores::canonical::open(url, clock) else { panic!("{url}") };
        assert!(error.to_string().starts_with("CANONICAL_STORE"), "{error}");
        assert!(!error.to_string().contains("secret"), "{error}");
    }
}
