//! Any driver, any model, any store: whatever is thrown at a run, it ends in bounded steps and publishes nothing unproven.

use proptest::prelude::*;

use super::*;
use crate::specimens::{full_draft, result_of};

/// One thing done to a run. `next` is asked in between when the driver behaves.
#[derive(Debug, Clone)]
enum Act {
    Reply(usize, u32),
    Tools(usize),
    Evidence(usize),
    Ask,
    Fail,
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let act = prop_oneof![
        8 => (0..12_usize, 0..40_000_u32).prop_map(|(reply, tokens)| Act::Reply(reply, tokens)),
        3 => (0..4_usize).prop_map(Act::Tools),
        3 => (0..3_usize).prop_map(Act::Evidence),
        1 => Just(Act::Ask),
        1 => Just(Act::Fail),
    ];
    prop::collection::vec(act, 0..30)
}

fn reply(n: usize) -> Result<Reply, ModelFault> {
    let call = |id| {
        Ok(Reply {
            text: None,
            calls: vec![wants(id, "query_logs"), wants(Some("logs"), "nonsense")],
            ..Reply::default()
        })
    };
    match n {
        0 => says(r#"{"intent":"DIAGNOSIS"}"#),
        1 => says(r#"{"intent":"KNOWLEDGE_QUERY"}"#),
        2 => says(r#"{"intent":"SYSTEM_CHAT"}"#),
        3 | 4 => says(&json_of(&full_draft())),
        5 => says(SUPPORTED),
        6 => says(UNSUPPORTED),
        7 => says(r#"{"statements":[{"text":"Calls time out after 5s.","citations":[1]}]}"#),
        8 => call(None),
        9 => call(Some("logs")),
        10 => Err(ModelFault::Timeout),
        _ => says("{"),
    }
}

fn store(n: usize) -> Vec<CanonicalRecord> {
    match n {
        0 => vec![],
        1 => full_store().into_iter().take(3).collect(),
        _ => {
            let lookup = crate::specimens::found(ToolName::LookupKnowledge, "sbz_1");
            full_store().into_iter().chain([lookup]).collect()
        }
    }
}

/// What the test itself saw happen: the proof that a release needs.
#[derive(Default)]
struct Seen {
    evidence_passed: bool,
    supported: bool,
}

fn act_on(play: &mut Play, act: &Act, step: Option<&Step>, seen: &mut Seen) {
    match act {
        Act::Reply(n, tokens) => {
            seen.supported |= matches!(step, Some(Step::Review { .. })) && *n == 5;
            let usage = Usage::counted(u64::from(*tokens), u64::from(*tokens) / 8);
            play.run.apply_model(ModelResult::new(usage, 1, reply(*n)));
        }
        Act::Tools(n) => {
            let result = |id: &str| match n {
                0 => Err(ToolErrorCode::Timeout),
                1 => Ok(result_of(ToolName::LookupKnowledge, id, EvidenceStatus::NoEvidence)),
                _ => Ok(result_of(ToolName::LookupKnowledge, id, EvidenceStatus::EvidenceFound)),
            };
            let planned = play.run.planned_calls().unwrap_or_default().to_vec();
            let results =
                planned.iter().map(|c| ToolResult { shown_bytes: 700, outcome: result(c.id.as_str()) });
            play.run.apply_tools(results.skip(usize::from(*n == 3)).collect());
        }
        Act::Evidence(n) => {
            seen.evidence_passed |= matches!(step, Some(Step::CheckEvidence(_))) && *n == 2;
            play.run.apply_evidence(&store(*n));
        }
        Act::Ask => {}
        Act::Fail => play.run.fail(FailureCode::RunCancelled),
    }
}

/// No more than the limits and one call's excess: here a reply of 40 000 and 5 000 tokens. Of bytes, the error texts of refused
/// calls come on top: one round for each model call.
fn within_budget(play: &Play) {
    let (used, limits) = (play.used(), play.run.budget_limits());
    let error_texts = 2 * 700 * u64::from(used.model_calls);
    assert!(used.model_calls <= limits.model_calls && used.tool_calls <= limits.tool_calls, "{used:?}");
    assert!(used.input_tokens <= limits.input_tokens + 40_000, "{used:?}");
    assert!(used.output_tokens <= limits.output_tokens + 5000, "{used:?}");
    assert!(used.tool_bytes <= limits.tool_bytes + error_texts, "{used:?}");
}

fn check_terminal(terminal: &Terminal, seen: &Seen) {
    let Terminal::Released { released, .. } = terminal else { return };
    let body: Value = serde_json::from_str(released.body_json()).unwrap();
    match body["kind"].as_str().unwrap() {
        "SYSTEM_REPLY" => {}
        "SAFE_FALLBACK" => assert!(!released.body_json().contains("connection pool"), "{body}"),
        _ => assert!(seen.evidence_passed && seen.supported, "released without proof: {body}"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_order_of_results_is_survived(acts in acts(), careless in any::<bool>(), tiny in any::<bool>()) {
        let tiny_limits = BudgetLimits { model_calls: 6, tool_calls: 3, input_tokens: 9000, output_tokens: 4000, tool_bytes: 4096 };
        let mut play = with_budget("why?", if tiny { tiny_limits } else { BudgetLimits::default() });
        let mut seen = Seen::default();
        for act in &acts {
            // A careless driver reports results without having asked what is wanted.
            let step = if careless && matches!(act, Act::Tools(_)) { None } else { Some(play.next()) };
            if let Some(Step::Done(terminal)) = &step {
                check_terminal(terminal, &seen);
            }
            act_on(&mut play, act, step.as_ref(), &mut seen);
            within_budget(&play);
        }
        if let Step::Done(terminal) = play.next() {
            check_terminal(&terminal, &seen);
        }
    }

    #[test]
    fn a_faithful_driver_always_reaches_an_end(replies in prop::collection::vec((0..12_usize, 0..9000_u32), 40), tools in 0..3_usize, records in 0..3_usize) {
        let mut play = asking("why?");
        let mut seen = Seen::default();
        let mut replies = replies.into_iter();
        for _ in 0..40 {
            let step = play.next();
            let act = match &step {
                Step::Done(terminal) => return { check_terminal(terminal, &seen); Ok(()) },
                Step::CallTools(_) => Act::Tools(tools),
                Step::CheckEvidence(_) => Act::Evidence(records),
                _ => replies.next().map(|(n, tokens)| Act::Reply(n, tokens)).unwrap(),
            };
            act_on(&mut play, &act, Some(&step), &mut seen);
            within_budget(&play);
        }
        prop_assert!(false, "no end after 40 steps");
    }
}
