//! What the scripted model says.

use std::time::Duration;

use domain::model::{ModelFault, Reply, RequestedCall};
use serde_json::{Value, json};

use super::model::Line;

/// A plain reply to the role's next call.
pub fn says(role: &'static str, text: &str) -> Line {
    Line::new(role, Ok(Reply { text: Some(text.to_owned()), calls: Vec::new(), ..Reply::default() }))
}

pub fn routed_to(intent: &str) -> Line {
    says("route", &json!({ "intent": intent }).to_string())
}

pub fn verdict(word: &str) -> Line {
    says("review", &json!({ "verdict": word, "reason": "as the evidence shows" }).to_string())
}

/// A round of tool calls: id (empty for none), name, arguments.
pub fn asks_for(calls: &[(&str, &str, Value)]) -> Line {
    let call = |(id, name, arguments): &(&str, &str, Value)| RequestedCall {
        id: (!id.is_empty()).then(|| (*id).to_owned()),
        name: (*name).to_owned(),
        arguments: Ok(arguments.clone()),
    };
    Line::new(
        "diagnose",
        Ok(Reply { text: None, calls: calls.iter().map(call).collect(), ..Reply::default() }),
    )
}

pub fn log_query() -> Value {
    json!({ "service": "checkout", "query": "timeout" })
}

/// A report whose one finding rests on these calls.
pub fn draft_citing(ids: &[&str]) -> String {
    let draft = json!({
        "conclusion": { "text": "checkout times out at the bank", "based_on_analysis_ids": ["a1"] },
        "analyses": [{ "analysis_id": "a1", "kind": "NORMAL", "text": "42 calls timed out", "tool_call_ids": ids }],
        "actions": [],
        "recommendations": [],
        "limitations": { "missing_info": [], "caveats": [] },
    });
    draft.to_string()
}

pub fn knowledge_answer(text: &str) -> Line {
    says("knowledge", &json!({ "statements": [{ "text": text, "citations": [1] }] }).to_string())
}

impl Line {
    pub fn fails(role: &'static str, fault: ModelFault) -> Self {
        Self::new(role, Err(fault))
    }

    pub fn after(self, seconds: u64) -> Self {
        Self { delay: Duration::from_secs(seconds), ..self }
    }
}
