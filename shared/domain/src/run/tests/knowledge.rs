//! The knowledge path from retrieval to its answer or fallback.

use super::*;
use crate::specimens::{found, nothing, result_of};

/// A knowledge question whose lookup found two excerpts.
fn answering() -> Play {
    let mut play = looking_up();
    play.tools_return(vec![result_of(ToolName::LookupKnowledge, "sbz_1", EvidenceStatus::EvidenceFound)]);
    play
}

fn looking_up() -> Play {
    let mut play = asking("how do I handle payment timeouts?");
    play.route("KNOWLEDGE_QUERY");
    assert!(matches!(play.next(), Step::CallTools(calls) if calls[0].id.as_str() == "sbz_1"));
    play
}

fn store() -> Vec<CanonicalRecord> {
    vec![found(ToolName::LookupKnowledge, "sbz_1")]
}

const ANSWER: &str = r#"{"statements":[{"text":"Calls time out after 5s.","citations":[1]},{"text":"扩容前先确认慢查询。","citations":[2,1]}]}"#;

#[test]
fn an_answer_is_released_after_both_guards() {
    let mut play = answering();
    let asked = play.replies(Role::Knowledge, says(ANSWER));
    let input: Value = serde_json::from_str(&asked.user).unwrap();
    assert_eq!(input["hits"][1]["n"], 2);
    assert!(!asked.user.contains("sbz_1") && !asked.user.contains("document_id"), "no ids");
    assert_eq!(play.store_holds(&store()), ["sbz_1"]);
    let review = play.replies(Role::Review, says(SUPPORTED));
    assert!(!review.user.contains("sbz_1"));
    let (intent, released) = play.released();
    assert_eq!((intent, released.outcome()), (Intent::KnowledgeQuery, Outcome::Success));
    assert_eq!(released.conclusion(), Some("Calls time out after 5s."));
    let cites: Vec<_> =
        released.cites().iter().map(|c| (c.analysis_id.as_str(), c.hits.as_slice())).collect();
    assert_eq!(cites, [("s1", &[1][..]), ("s2", &[2, 1][..])]);
    assert!(!released.body_json().contains("sbz_1"));
}

#[test]
fn without_hits_there_is_no_answer() {
    let mut nothing_found = looking_up();
    nothing_found.tools_return(vec![result_of(
        ToolName::LookupKnowledge,
        "sbz_1",
        EvidenceStatus::NoEvidence,
    )]);
    let mut broken = looking_up();
    broken
        .run
        .apply_tools(vec![ToolResult { shown_bytes: 50, outcome: Err(ToolErrorCode::SourceUnavailable) }]);
    let mut other_tool = looking_up();
    other_tool.tools_return(vec![result_of(ToolName::QueryLogs, "sbz_1", EvidenceStatus::EvidenceFound)]);
    let mut other_call = looking_up();
    other_call.tools_return(vec![result_of(
        ToolName::LookupKnowledge,
        "sbz_2",
        EvidenceStatus::EvidenceFound,
    )]);
    for mut play in [nothing_found, broken, other_tool, other_call] {
        let body = play.body(Outcome::Fallback);
        assert_eq!(
            (&body["reason_code"], body["attempted"].as_array().unwrap().len()),
            (&json!("EVIDENCE_VALIDATION_FAILED"), 1)
        );
        assert_eq!(play.used().model_calls, 1);
    }
}

#[test]
fn a_statement_without_a_good_citation_is_not_published() {
    let bad = [
        ("no statement", r#"{"statements":[]}"#),
        ("no citation", r#"{"statements":[{"text":"MARKER","citations":[]}]}"#),
        ("hit 0", r#"{"statements":[{"text":"MARKER","citations":[0]}]}"#),
        ("hit 3 of 2", r#"{"statements":[{"text":"MARKER","citations":[1,3]}]}"#),
        ("huge", r#"{"statements":[{"text":"MARKER","citations":[4294967295]}]}"#),
        ("blank", r#"{"statements":[{"text":" ","citations":[1]}]}"#),
        ("invisible", "{\"statements\":[{\"text\":\"\u{200B}\",\"citations\":[1]}]}"),
        (
            "one of two",
            r#"{"statements":[{"text":"fine","citations":[1]},{"text":"MARKER","citations":[9]}]}"#,
        ),
    ];
    for (what, reply) in bad {
        let mut play = answering();
        play.replies(Role::Knowledge, says(reply));
        play.store_holds(&store());
        let body = play.body(Outcome::Fallback);
        assert_eq!(
            (&body["reason_code"], &body["verified_sources"]),
            (&json!("EVIDENCE_VALIDATION_FAILED"), &json!([])),
            "{what}"
        );
        assert!(!body.to_string().contains("MARKER"), "{what}");
        assert_eq!(play.used().model_calls, 2, "{what}: neither repaired nor reviewed");
    }
}

#[test]
fn the_store_decides_not_what_the_tool_said() {
    let mut foreign = store();
    foreign[0].run_id = crate::specimens::another_run();
    let stores = [
        vec![],
        foreign,
        vec![nothing(ToolName::LookupKnowledge, "sbz_1")],
        vec![found(ToolName::QueryLogs, "sbz_1")],
    ];
    for records in stores {
        let mut play = answering();
        play.replies(Role::Knowledge, says(ANSWER));
        play.store_holds(&records);
        assert_eq!(play.fallback(), "EVIDENCE_VALIDATION_FAILED");
    }
}

#[test]
fn replies_that_are_no_answer_fail_the_run() {
    let many = format!(r#"{{"statements":[{{"text":"x","citations":[{}1]}}]}}"#, "1,".repeat(64));
    let too_long = format!(
        r#"{{"statements":[{{"text":"{}","citations":[1]}}]}}"#,
        "x".repeat(DiagnosisDraft::MAX_BYTES)
    );
    let replies = [
        "",
        "The runbook says so.",
        "{}",
        r#"[[{"text":"x","citations":[1]}]]"#,
        r#"{"statements":[["x",[1]]]}"#,
        r#"{"statements":[{"text":"x"}]}"#,
        r#"{"statements":[{"text":"x","citations":[-1]}]}"#,
        r#"{"statements":[],"statements":[]}"#,
        r#"{"statements":[],"note":"x"}"#,
        &many,
        &too_long,
    ];
    for reply in replies {
        let mut play = answering();
        play.replies(Role::Knowledge, says(reply));
        assert_eq!(play.failure(), FailureCode::ModelOutputInvalid, "{}", &reply[..reply.len().min(80)]);
    }
    let mut unavailable = answering();
    unavailable.replies(Role::Knowledge, Err(ModelFault::Auth));
    assert_eq!(unavailable.failure(), FailureCode::ModelUnavailable);
}

#[test]
fn a_hit_cited_twice_is_shown_to_the_reviewer_once() {
    let mut play = answering();
    play.replies(
        Role::Knowledge,
        says(r#"{"statements":[{"text":"Calls time out after 5s.","citations":[1,1,1]}]}"#),
    );
    play.store_holds(&store());
    let input: Value = serde_json::from_str(&play.asked().user).unwrap();
    assert_eq!(input["snapshot"]["analyses"][0]["verified_evidence"].as_array().unwrap().len(), 1);
}

#[test]
fn an_unsupported_answer_lists_its_sources_instead() {
    let mut play = answering();
    play.replies(Role::Knowledge, says(ANSWER));
    play.store_holds(&store());
    play.replies(Role::Review, says(UNSUPPORTED));
    let body = play.body(Outcome::Fallback);
    assert_eq!(body["reason_code"], "SEMANTIC_UNSUPPORTED");
    let sources: Vec<_> =
        body["verified_sources"].as_array().unwrap().iter().map(|s| s["source"].as_str().unwrap()).collect();
    assert_eq!(sources, ["Payment timeouts", "连接池"]);
}

#[test]
fn a_lookup_without_tool_budget_is_planned_as_refused() {
    let mut play = with_budget("how?", BudgetLimits { tool_calls: 0, ..BudgetLimits::default() });
    play.route("KNOWLEDGE_QUERY");
    let Step::CallTools(calls) = play.next() else { panic!("no lookup") };
    assert_eq!(calls[0].admission, Admission::OverBudget);
    play.run.apply_tools(vec![ToolResult { shown_bytes: 40, outcome: Err(ToolErrorCode::BudgetExhausted) }]);
    assert_eq!(play.fallback(), "EVIDENCE_VALIDATION_FAILED");
}
