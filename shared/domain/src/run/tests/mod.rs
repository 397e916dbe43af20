//! Table tests of the state machine: a play in which the test has every part but the run's.

mod budget;
mod diagnosis;
mod guards;
mod knowledge;
mod must_release;
mod random;
mod routing;

use crate::evidence::EvidenceStatus;
use crate::model::{ModelFault, Reply, RequestedCall};
use crate::tool::ToolName;
use serde_json::Value;

use super::*;
use crate::evidence::Projection;
use crate::release::Outcome;
use crate::specimens::{full_store, this_run};
use crate::tool::ToolErrorCode;

pub(super) const SUPPORTED: &str = r#"{"verdict":"SUPPORTED","reason":"all shown"}"#;
pub(super) const UNSUPPORTED: &str = r#"{"verdict":"UNSUPPORTED","reason":"REASON-MARKER says too much"}"#;
/// What each model call of a play uses.
pub(super) const USAGE: Usage = Usage::counted(900, 200);

/// The world around the run: fixed sizes, and a clock that only the test moves.
#[derive(Clone, Copy)]
pub(super) struct Around {
    pub prompt: u64,
    pub time_left_ms: u64,
}

impl Surroundings for Around {
    fn prompt_tokens(&self, _: Role) -> u64 {
        self.prompt
    }

    fn time_left_ms(&self) -> u64 {
        self.time_left_ms
    }
}

/// What a step asks of a model, whichever kind of step it is.
pub(super) struct Asked {
    pub call: ModelCall,
    pub user: String,
}

pub(super) struct Play {
    pub run: Run,
    pub around: Around,
    pub usage: Usage,
    pub duration_ms: u64,
}

pub(super) fn asking(query: &str) -> Play {
    with_budget(query, BudgetLimits::default())
}

pub(super) fn with_budget(query: &str, budget: BudgetLimits) -> Play {
    let run = Run::new(this_run(), Query::parse(query).unwrap(), None, budget, Limits::default());
    Play { run, around: Around { prompt: 800, time_left_ms: 100_000 }, usage: USAGE, duration_ms: 1000 }
}

/// A play whose question was routed to the diagnosis agent.
pub(super) fn diagnosing() -> Play {
    let mut play = asking("checkout 5xx since 14:05, why?");
    play.route("DIAGNOSIS");
    play
}

pub(super) fn json_of<T: serde::Serialize>(value: &T) -> String {
    serde_json::to_string(value).unwrap()
}

pub(super) fn wants(id: Option<&str>, tool: &str) -> RequestedCall {
    RequestedCall { id: id.map(str::to_owned), name: tool.to_owned(), arguments: Ok(json!({})) }
}

pub(super) fn says(text: &str) -> Result<Reply, ModelFault> {
    Ok(Reply { text: Some(text.to_owned()), calls: vec![], ..Reply::default() })
}

impl Play {
    pub fn next(&mut self) -> Step {
        let around = self.around;
        self.run.next(&around)
    }

    /// The model call that the run wants now.
    pub fn asked(&mut self) -> Asked {
        match self.next() {
            Step::Route { call, user }
            | Step::CallModel { call, user }
            | Step::Repair { call, user }
            | Step::Review { call, user } => Asked { call, user },
            other => panic!("no model call: {other:?}"),
        }
    }

    /// The wanted model call gets this reply.
    pub fn replies(&mut self, role: Role, reply: Result<Reply, ModelFault>) -> Asked {
        let asked = self.asked();
        assert_eq!(asked.call.role, role);
        self.run.apply_model(ModelResult::new(self.usage, self.duration_ms, reply));
        asked
    }

    pub fn route(&mut self, intent: &str) -> Asked {
        self.replies(Role::Route, says(&json!({ "intent": intent }).to_string()))
    }

    /// The agent asks for tools; what was planned.
    pub fn wants_tools(&mut self, calls: Vec<RequestedCall>) -> Vec<PlannedCall> {
        self.replies(Role::Diagnose, Ok(Reply { calls, ..Reply::default() }));
        match self.next() {
            Step::CallTools(planned) => planned,
            other => panic!("no tool round: {other:?}"),
        }
    }

    /// Every tool of the round fails, with an observation of `shown_bytes`.
    pub fn tools_fail(&mut self, round: &[PlannedCall], shown_bytes: u64) {
        let failed = |_| ToolResult { shown_bytes, outcome: Err(ToolErrorCode::UnknownTool) };
        self.run.apply_tools(round.iter().map(failed).collect());
    }

    pub fn tools_return(&mut self, results: Vec<Projection>) {
        let shown = |p: Projection| ToolResult { shown_bytes: json_of(&p).len() as u64, outcome: Ok(p) };
        self.run.apply_tools(results.into_iter().map(shown).collect());
    }

    pub fn drafts(&mut self, draft: &DiagnosisDraft) -> Asked {
        self.replies(Role::Diagnose, says(&json_of(draft)))
    }

    /// The store answers with these records; which ids were asked for.
    pub fn store_holds(&mut self, records: &[CanonicalRecord]) -> Vec<String> {
        let Step::CheckEvidence(ids) = self.next() else { panic!("no evidence is wanted") };
        self.run.apply_evidence(records);
        ids.iter().map(ToString::to_string).collect()
    }

    pub fn evidence_is_there(&mut self) {
        self.store_holds(&full_store());
    }

    pub fn end(&mut self) -> Terminal {
        match self.next() {
            Step::Done(terminal) => terminal,
            other => panic!("not done: {other:?}"),
        }
    }

    pub fn failure(&mut self) -> FailureCode {
        match self.end() {
            Terminal::Failed(code) => code,
            Terminal::Released { released, .. } => panic!("released {}", released.body_json()),
        }
    }

    pub fn released(&mut self) -> (Intent, Released) {
        match self.end() {
            Terminal::Released { intent, released } => (intent, released),
            Terminal::Failed(code) => panic!("failed: {code:?}"),
        }
    }

    /// The released body, which must be of this outcome.
    pub fn body(&mut self, outcome: Outcome) -> Value {
        let (_, released) = self.released();
        assert_eq!(released.outcome(), outcome, "{}", released.body_json());
        serde_json::from_str(released.body_json()).unwrap()
    }

    /// The fallback's reason, as published.
    pub fn fallback(&mut self) -> String {
        let body = self.body(Outcome::Fallback);
        assert_eq!((&body["kind"], &body["conclusion"]), (&json!("SAFE_FALLBACK"), &Value::Null));
        body["reason_code"].as_str().unwrap().to_owned()
    }

    pub fn used(&self) -> BudgetUse {
        self.run.budget_used()
    }
}
