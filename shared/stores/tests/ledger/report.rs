//! Bodies as only a real run releases them.

use domain::budget::BudgetLimits;
use domain::evidence::projection::MysqlToolResult;
use domain::evidence::{CanonicalRecord, EvidenceStatus, InvocationStatus, Projection};
use domain::ids::{RunId, ToolCallId};
use domain::model::{ModelResult, Reply, RequestedCall, Role, Usage};
use domain::question::Query;
use domain::release::Released;
use domain::run::{Limits, Run, Step, Surroundings, Terminal, ToolResult};
use domain::tool::ToolName;
use serde_json::json;

/// A driver without a model, tools or a window.
struct Plenty;

impl Surroundings for Plenty {
    fn prompt_tokens(&self, _role: Role) -> u64 {
        100
    }

    fn time_left_ms(&self) -> u64 {
        60_000
    }
}

fn reply(text: serde_json::Value) -> ModelResult {
    let reply = Reply { text: Some(text.to_string()), calls: Vec::new(), ..Reply::default() };
    ModelResult::new(Usage::default(), 1, Ok(reply))
}

/// What the one tool call of the run below returned.
fn record(run_id: RunId) -> (CanonicalRecord, MysqlToolResult) {
    let id = ToolCallId::parse("Call_1").unwrap();
    let result = MysqlToolResult {
        tool_call_id: id.clone(),
        evidence_status: EvidenceStatus::EvidenceFound,
        data_source: "orders".to_owned(),
        columns: vec!["n".to_owned()],
        rows: vec![vec![json!(1)]],
        row_count: 1,
        truncated: false,
        notes: Vec::new(),
    };
    let request = json!({ "data_source": "orders", "sql": "SELECT 1", "params": [] });
    let started = CanonicalRecord::started(
        run_id,
        id,
        ToolName::QueryMysql,
        request,
        "2026-01-01T00:00:00Z".to_owned(),
    );
    let record = CanonicalRecord {
        status: InvocationStatus::Ready,
        evidence_status: Some(EvidenceStatus::EvidenceFound),
        agent_result: Some(serde_json::value::to_raw_value(&result).unwrap()),
        finished_at: Some("2026-01-01T00:00:01Z".to_owned()),
        ..started
    };
    (record, result)
}

/// A body that a real run released: a report with this conclusion, or without one an introduction.
pub fn body(run_id: RunId, conclusion: Option<&str>) -> Released {
    let draft = json!({
        "conclusion": { "text": conclusion, "based_on_analysis_ids": ["a1"] },
        "analyses": [{ "analysis_id": "a1", "kind": "NORMAL", "text": "订单 😀", "tool_call_ids": ["Call_1"] }],
        "actions": [], "recommendations": [],
        "limitations": { "missing_info": [], "caveats": [] },
    });
    let mut asks = vec![RequestedCall {
        id: Some("Call_1".to_owned()),
        name: "query_mysql".to_owned(),
        arguments: Ok(json!({})),
    }];
    let (record, result) = record(run_id);
    let query = Query::parse("why?").unwrap();
    let mut run = Run::new(run_id, query, None, BudgetLimits::default(), Limits::default());
    loop {
        match run.next(&Plenty) {
            Step::Route { .. } if conclusion.is_some() => {
                run.apply_model(reply(json!({ "intent": "DIAGNOSIS" })))
            }
            Step::Route { .. } => run.apply_model(reply(json!({ "intent": "SYSTEM_CHAT" }))),
            Step::CallModel { .. } if conclusion.is_none() => {
                run.apply_model(reply(json!("I look into runbooks.")))
            }
            Step::CallModel { .. } if !asks.is_empty() => {
                let asking = Reply { text: None, calls: std::mem::take(&mut asks), ..Reply::default() };
                run.apply_model(ModelResult { reply: Ok(asking), ..reply(json!(null)) });
            }
            Step::CallModel { .. } => run.apply_model(reply(draft.clone())),
            Step::CallTools(_) => {
                let outcome = Ok(Projection::Mysql(result.clone()));
                run.apply_tools(vec![ToolResult { shown_bytes: 100, outcome }]);
            }
            Step::CheckEvidence(_) => run.apply_evidence(std::slice::from_ref(&record)),
            Step::Review { .. } => {
                run.apply_model(reply(json!({ "verdict": "SUPPORTED", "reason": "it is" })))
            }
            Step::Done(Terminal::Released { released, .. }) => return released,
            other => panic!("{other:?}"),
        }
    }
}
