//! Repair, review, and what each of their answers leads to.

use super::*;
use crate::specimens::{RAW_MARKER, a_draft, full_draft};

/// A valid draft but for its first citation, which no record answers.
fn with_a_wrong_citation() -> DiagnosisDraft {
    let mut draft = full_draft();
    draft.analyses[0].tool_call_ids[0] = "call_404".into();
    draft
}

/// A play whose draft failed the evidence check, so that a repair is wanted.
fn repairing() -> Play {
    let mut play = diagnosing();
    play.drafts(&with_a_wrong_citation());
    play.evidence_is_there();
    play
}

fn reviewing() -> Play {
    let mut play = diagnosing();
    play.drafts(&full_draft());
    play.evidence_is_there();
    play
}

#[test]
fn a_repair_gets_the_violations_and_may_fix_references() {
    let mut play = repairing();
    let asked = play.replies(Role::Repair, says(&json_of(&full_draft())));
    let input: Value = serde_json::from_str(&asked.user).unwrap();
    assert_eq!(
        input["violations"],
        json!([{ "code": "TOOL_CALL_NOT_FOUND", "target": "analyses[0].tool_call_ids[0]" }])
    );
    assert_eq!(input["draft"], json!(with_a_wrong_citation()));
    assert_eq!((asked.call.attempt, asked.call.tools), (1, ToolOffer::None));
    assert!(
        !asked.user.contains(RAW_MARKER) && !asked.user.contains("pool exhausted"),
        "nothing of the store"
    );
    play.evidence_is_there();
    play.replies(Role::Review, says(SUPPORTED));
    assert_eq!(play.body(Outcome::Success)["analyses"][0]["text"], full_draft().analyses[0].text.as_str());
    assert!(play.run.was_repaired());
    assert_eq!(play.used().model_calls, 4);
}

#[test]
fn a_repair_that_is_refused_or_fails_becomes_a_fallback_without_sources() {
    let changed = |change: fn(&mut DiagnosisDraft)| {
        let mut draft = full_draft();
        change(&mut draft);
        says(&json_of(&draft))
    };
    let replies = [
        ("text changed", changed(|d| d.analyses[0].text.push('!'))),
        ("kind changed", changed(|d| d.analyses[0].kind = crate::draft::AnalysisKind::NegativeObservation)),
        ("analysis dropped", changed(|d| drop(d.analyses.remove(0)))),
        ("conclusion dropped", changed(|d| d.conclusion = None)),
        ("order changed", changed(|d| d.analyses.swap(0, 1))),
        ("confirmation changed", changed(|d| d.actions[0].requires_human_confirmation = false)),
        ("caveat dropped", changed(|d| d.limitations.caveats.clear())),
        ("note moved", changed(|d| d.limitations.caveats.insert(0, d.limitations.missing_info[0].clone()))),
        ("no draft", says("I can't.")),
        ("nothing", Ok(Reply::default())),
        ("a tool call", Ok(Reply { text: None, calls: vec![wants(None, "query_logs")], ..Reply::default() })),
        ("timeout", Err(ModelFault::Timeout)),
        ("refusal", Err(ModelFault::Refused)),
    ];
    for (what, reply) in replies {
        let mut play = repairing();
        play.replies(Role::Repair, reply);
        let body = play.body(Outcome::Fallback);
        assert_eq!(
            (&body["reason_code"], &body["verified_sources"]),
            (&json!("EVIDENCE_VALIDATION_FAILED"), &json!([])),
            "{what}"
        );
    }
}

#[test]
fn there_is_one_repair_and_no_second() {
    let mut play = repairing();
    play.replies(Role::Repair, says(&json_of(&with_a_wrong_citation())));
    play.evidence_is_there();
    let body = play.body(Outcome::Fallback);
    assert_eq!(
        (&body["reason_code"], &body["verified_sources"]),
        (&json!("EVIDENCE_VALIDATION_FAILED"), &json!([]))
    );
    assert_eq!(play.used().model_calls, 3, "route, draft, repair; no review");
}

#[test]
fn unsupported_is_a_result_and_not_retried() {
    let mut play = reviewing();
    play.replies(Role::Review, says(UNSUPPORTED));
    let body = play.body(Outcome::Fallback);
    assert_eq!(body["reason_code"], "SEMANTIC_UNSUPPORTED");
    assert_eq!(body["verified_sources"].as_array().unwrap().len(), 5);
    assert!(!body.to_string().contains("REASON-MARKER"));
}

#[test]
fn a_review_is_asked_again_only_after_passing_faults_with_the_same_bytes() {
    use ModelFault as F;
    let not_verdicts = ["", "SUPPORTED", r#"{"verdict":"SUPPORTED"}"#, r#"["SUPPORTED","x"]"#];
    let passing = [F::Timeout, F::Transport, F::ParseError, F::SchemaInvalid].map(Err);
    for reply in passing.into_iter().chain(not_verdicts.map(says)) {
        let mut play = reviewing();
        let first = play.replies(Role::Review, reply.clone()).user;
        let second = play.replies(Role::Review, says(SUPPORTED));
        assert_eq!((second.call.attempt, second.user), (2, first.clone()), "{reply:?}");
        play.body(Outcome::Success);

        let mut play = reviewing();
        play.replies(Role::Review, reply.clone());
        play.replies(Role::Review, reply.clone());
        assert_eq!(play.fallback(), "SEMANTIC_UNAVAILABLE", "{reply:?}: at most two");
        assert_eq!(play.used().model_calls, 4);
    }
    let lasting = [
        F::Truncated,
        F::RateLimited,
        F::Overloaded,
        F::ServerError,
        F::ContextTooLarge,
        F::ContentFiltered,
        F::Refused,
        F::Auth,
        F::Quota,
        F::UnknownModel,
        F::BadRequest,
    ];
    for fault in lasting {
        let mut play = reviewing();
        play.replies(Role::Review, Err(fault));
        let body = play.body(Outcome::Fallback);
        assert_eq!(body["reason_code"], "SEMANTIC_UNAVAILABLE", "{fault:?}");
        assert_ne!(body["verified_sources"], json!([]), "{fault:?}");
    }
}

#[test]
fn an_unsupported_second_attempt_counts() {
    let mut play = reviewing();
    play.replies(Role::Review, Err(ModelFault::Timeout));
    play.replies(Role::Review, says(UNSUPPORTED));
    assert_eq!(play.fallback(), "SEMANTIC_UNSUPPORTED");
}

#[test]
fn the_reviewer_sees_no_ids_no_raw_response_and_only_what_is_cited() {
    let mut play = diagnosing();
    let draft = a_draft().finding("a1", "412 pool errors, 9911 fatal.", &["logs"]).build();
    play.drafts(&draft);
    play.evidence_is_there();
    assert_eq!(play.run.ungrounded_literals(), 1);
    let input: Value = serde_json::from_str(&play.asked().user).unwrap();
    let keys: Vec<_> = input.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(keys, ["draft", "query", "snapshot", "ungrounded_literals"]);
    assert_eq!(input["ungrounded_literals"], json!({ "a1": ["9911"] }));
    assert_eq!(
        input["draft"]["analyses"],
        json!([{ "kind": "NORMAL", "text": "412 pool errors, 9911 fatal." }])
    );
    assert_eq!(input["snapshot"]["analyses"][0]["verified_evidence"][0]["source"], "prod-logs");
    let text = input.to_string();
    for absent in ["tool_call_id", RAW_MARKER, "orders-db", "Payment timeouts", "\"logs\""] {
        assert!(!text.contains(absent), "{absent}");
    }
}

#[test]
fn an_input_too_large_for_review_is_unavailable_and_never_passed() {
    let long = "The pool was exhausted again. ".repeat(60);
    let mut draft = a_draft();
    for n in 0..32 {
        draft = draft.finding(&format!("a{n}"), &long, &["kb"]);
    }
    let mut play = diagnosing();
    play.drafts(&draft.build());
    play.evidence_is_there();
    let body = play.body(Outcome::Fallback);
    assert_eq!(body["reason_code"], "SEMANTIC_UNAVAILABLE");
    assert_eq!(body["verified_sources"].as_array().unwrap().len(), 2);
    assert_eq!(play.used().model_calls, 2, "no review was tried");
}

#[test]
fn a_fallback_lists_what_was_attempted_by_harness_facts_only() {
    let mut play = diagnosing();
    let round = play.wants_tools(vec![wants(Some("logs"), "query_logs"), wants(Some("x"), "TOOL-MARKER")]);
    let found = crate::specimens::result_of(ToolName::QueryLogs, "logs", EvidenceStatus::EvidenceFound);
    play.run.apply_tools(vec![
        ToolResult { shown_bytes: 300, outcome: Ok(found) },
        ToolResult { shown_bytes: 60, outcome: Err(ToolErrorCode::UnknownTool) },
    ]);
    assert_eq!(round.len(), 2);
    play.drafts(&full_draft());
    play.evidence_is_there();
    play.replies(Role::Review, says(UNSUPPORTED));
    let attempted = json!([
        { "tool": "query_logs", "evidence_status": "EVIDENCE_FOUND" },
        { "error_code": "UNKNOWN_TOOL" },
    ]);
    assert_eq!(play.body(Outcome::Fallback)["attempted"], attempted);
}

#[test]
fn no_fallback_has_a_word_of_the_draft_in_either_language() {
    const MARKER: &str = "DRAFT-MARKER";
    let draft = a_draft()
        .concluding(&format!("{MARKER} c"), &["DRAFT-MARKER-1"])
        .finding("DRAFT-MARKER-1", &format!("{MARKER} a"), &["logs", "db", "kb"])
        .advising(&format!("{MARKER} b"), false, &[])
        .recommending(&format!("{MARKER} r"), &[])
        .missing(&format!("{MARKER} m"))
        .but(&format!("{MARKER} l"))
        .build();
    for (query, opening) in [("why MARKER?", ["The ", "No "]), ("为什么 MARKER 超时？", ["报告", "没有"])]
    {
        let start = || {
            let mut play = asking(query);
            play.route("DIAGNOSIS");
            play.drafts(&draft);
            play
        };
        let mut unsupported = start();
        unsupported.evidence_is_there();
        unsupported.replies(Role::Review, says(UNSUPPORTED));
        let mut unavailable = start();
        unavailable.evidence_is_there();
        unavailable.replies(Role::Review, Err(ModelFault::Refused));
        let mut unverified = start();
        unverified.store_holds(&[]);
        unverified.replies(Role::Repair, says(&json_of(&draft)));
        unverified.store_holds(&[]);
        for mut play in [unsupported, unavailable, unverified] {
            let (_, released) = play.released();
            assert!(!released.body_json().contains("MARKER"), "{}", released.body_json());
            assert!(!released.body_json().contains("SELECT"), "no SQL");
            let body: Value = serde_json::from_str(released.body_json()).unwrap();
            assert!(opening.iter().any(|o| body["message"].as_str().unwrap().starts_with(o)), "{body}");
            assert_eq!((released.conclusion(), released.cites().len()), (None, 0));
            assert_eq!(released.reason(), body["reason_code"].as_str());
        }
    }
}
