//! The published bodies, as literal JSON: what is here is what a browser gets.

use serde_json::{Value, json};

use super::*;
use crate::draft::DiagnosisDraft;
use crate::evidence::guard;
use crate::fallback::ReasonCode;
use crate::ids::ToolCallId;
use crate::knowledge::{self, KnowledgeDraft};
use crate::question::Language;
use crate::semantic::Verdict;
use crate::specimens::*;
use crate::tool::{Attempted, ToolErrorCode, ToolName};

fn proof() -> Supported {
    match Verdict::parse(r#"{"verdict":"SUPPORTED","reason":"shown"}"#) {
        Ok(Verdict::Supported(proof)) => proof,
        other => panic!("{other:?}"),
    }
}

fn verified(draft: DiagnosisDraft) -> VerifiedDraft {
    let checked = guard::check(this_run(), &draft, &full_store()).unwrap();
    VerifiedDraft { draft, checked }
}

fn body(released: &Released) -> Value {
    serde_json::from_str(released.body_json()).unwrap()
}

fn log_scope() -> Value {
    json!({
        "service": "payment-gateway", "query": "timeout", "level": null,
        "start": "2026-03-02T14:00:00Z", "end": "2026-03-02T14:30:00Z",
    })
}

#[test]
fn a_report() {
    let draft = a_draft()
        .concluding("The pool ran out.", &["a1"])
        .finding("a1", "412 pool errors.", &["logs", "db"])
        .not_finding("a2", "No runbook covers refunds.", &["no-kb"])
        .finding("a3", "A runbook covers timeouts.", &["kb"])
        .advising("Raise the pool size.", true, &["a1"])
        .recommending("Alert on pool use.", &["a3"])
        .missing("Traces")
        .but("Half an hour was read.")
        .build();
    let released = Released::report(verified(draft), proof());
    let expected = json!({
        "kind": "DIAGNOSIS_REPORT",
        "conclusion": { "text": "The pool ran out.", "based_on_analysis_ids": ["a1"] },
        "analyses": [
            { "analysis_id": "a1", "kind": "NORMAL", "text": "412 pool errors.", "sources": [
                { "source_type": "LOGS", "source": "prod-logs", "scope": log_scope(), "timestamp": "2026-03-02T14:22:40Z" },
                { "source_type": "MYSQL", "source": "orders-db", "scope": { "sql": SQL, "params": [] },
                  "timestamp": "2026-03-02T14:31:02Z" },
            ] },
            { "analysis_id": "a2", "kind": "NEGATIVE_OBSERVATION", "text": "No runbook covers refunds.", "sources": [
                { "source_type": "KNOWLEDGE", "source": "knowledge base", "scope": { "query": "payment timeout" }, "timestamp": null },
            ] },
            { "analysis_id": "a3", "kind": "NORMAL", "text": "A runbook covers timeouts.", "sources": [
                { "source_type": "KNOWLEDGE", "source": "Payment timeouts", "timestamp": "2026-01-05T08:00:00Z", "scope": {
                    "document_id": "rb-7", "version": 3, "section": "Payment timeouts > Pool exhaustion",
                    "source": "runbooks/payment.md" } },
                { "source_type": "KNOWLEDGE", "source": "连接池", "timestamp": "2026-02-01T00:00:00Z", "scope": {
                    "document_id": "rb-9", "version": 1, "section": "连接池 > 扩容", "source": "runbooks/pool.md" } },
            ] },
        ],
        "actions": [
            { "text": "Raise the pool size.", "requires_human_confirmation": true, "based_on_analysis_ids": ["a1"] },
        ],
        "recommendations": [{ "text": "Alert on pool use.", "based_on_analysis_ids": ["a3"] }],
        "limitations": { "missing_info": ["Traces"], "caveats": ["Half an hour was read."] },
    });
    assert_eq!(body(&released), expected);
    assert!(released.body_json().starts_with(r#"{"kind":"DIAGNOSIS_REPORT","conclusion":"#), "kind first");
    for absent in ["tool_call", RAW_MARKER, "no-kb", "pool exhausted after"] {
        assert!(!released.body_json().contains(absent), "{absent}");
    }
    assert_eq!(
        serde_json::to_string(&released).unwrap(),
        released.body_json(),
        "the wire gets the same bytes"
    );
}

#[test]
fn a_report_without_findings() {
    let draft = a_draft().missing("The service's name").build();
    let expected = json!({
        "kind": "DIAGNOSIS_REPORT", "conclusion": null, "analyses": [], "actions": [], "recommendations": [],
        "limitations": { "missing_info": ["The service's name"], "caveats": [] },
    });
    let released = Released::report(verified(draft), proof());
    assert_eq!((body(&released), released.conclusion()), (expected, None));
}

#[test]
fn a_knowledge_answer() {
    let draft = KnowledgeDraft::parse(
        r#"{"statements":[{"text":"Calls time out after 5s.","citations":[1]},{"text":"先确认慢查询。","citations":[2,1]}]}"#,
    );
    let lookup = ToolCallId::parse("kb").unwrap();
    let (answer, _) = knowledge::check(this_run(), &draft.unwrap(), &lookup, &full_store()).unwrap();
    let released = Released::knowledge(&answer, "kb", proof());
    let expected = json!({
        "kind": "KNOWLEDGE_ANSWER",
        "statements": [
            { "text": "Calls time out after 5s.", "citations": [1] },
            { "text": "先确认慢查询。", "citations": [2, 1] },
        ],
        "sources": [
            { "n": 1, "document_id": "rb-7", "version": 3, "title": "Payment timeouts",
              "section": "Payment timeouts > Pool exhaustion", "source": "runbooks/payment.md" },
            { "n": 2, "document_id": "rb-9", "version": 1, "title": "连接池", "section": "连接池 > 扩容",
              "source": "runbooks/pool.md" },
        ],
    });
    assert_eq!(body(&released), expected);
    assert!(!released.body_json().contains("\"kb\""));
}

#[test]
fn only_cited_hits_are_sources() {
    let draft =
        KnowledgeDraft::parse(r#"{"statements":[{"text":"先确认慢查询。","citations":[2]}]}"#).unwrap();
    let (answer, _) =
        knowledge::check(this_run(), &draft, &ToolCallId::parse("kb").unwrap(), &full_store()).unwrap();
    assert_eq!(answer.sources().iter().map(|s| s.n).collect::<Vec<_>>(), [2]);
}

#[test]
fn a_system_reply() {
    let reply = crate::system::check("I read logs.", "It reads logs.", Language::English);
    assert_eq!(body(&Released::system(&reply)), json!({ "kind": "SYSTEM_REPLY", "text": "I read logs." }));
}

#[test]
fn a_fallback_with_sources_in_both_languages() {
    let checked = verified(full_draft()).checked;
    let attempted = vec![
        Attempted {
            tool: Some(ToolName::QueryLogs),
            evidence_status: Some(crate::evidence::EvidenceStatus::EvidenceFound),
            error_code: None,
        },
        Attempted {
            tool: Some(ToolName::QueryMysql),
            evidence_status: None,
            error_code: Some(ToolErrorCode::SqlRefused),
        },
    ];
    let sources = json!([
        { "source_type": "LOGS", "source": "prod-logs", "timestamp": "2026-03-02T14:22:40Z" },
        { "source_type": "MYSQL", "source": "orders-db", "timestamp": "2026-03-02T14:31:02Z" },
        { "source_type": "KNOWLEDGE", "source": "knowledge base", "timestamp": null },
        { "source_type": "KNOWLEDGE", "source": "Payment timeouts", "timestamp": "2026-01-05T08:00:00Z" },
        { "source_type": "KNOWLEDGE", "source": "连接池", "timestamp": "2026-02-01T00:00:00Z" },
    ]);
    let messages = [
        (
            ReasonCode::SemanticUnsupported,
            Language::Chinese,
            "报告草稿的说法超出了证据所能支持的范围，因此没有发布。下面列出的是已核实的证据来源，请据此继续排查。",
        ),
        (
            ReasonCode::SemanticUnsupported,
            Language::English,
            "The draft report said more than the evidence shows, so it was withheld. The verified sources below are what was found; please continue from them.",
        ),
        (
            ReasonCode::SemanticUnavailable,
            Language::Chinese,
            "报告未能完成证据一致性审查，因此没有发布。下面列出的是已核实的证据来源，请据此继续排查，或稍后重试。",
        ),
        (
            ReasonCode::SemanticUnavailable,
            Language::English,
            "The report could not be reviewed against its evidence, so it was withheld. The verified sources below are what was found; please continue from them or ask again.",
        ),
    ];
    for (reason, language, message) in messages {
        let fallback = SafeFallback::new(reason, language, Some(&checked.snapshot), attempted.clone());
        let expected = json!({
            "kind": "SAFE_FALLBACK", "reason_code": reason.as_str(), "conclusion": null, "message": message,
            "verified_sources": sources,
            "attempted": [
                { "tool": "query_logs", "evidence_status": "EVIDENCE_FOUND" },
                { "tool": "query_mysql", "error_code": "SQL_REFUSED" },
            ],
        });
        assert_eq!(body(&Released::fallback(&fallback)), expected);
    }
}

#[test]
fn an_evidence_failure_has_no_sources_even_if_it_is_given_some() {
    let checked = verified(full_draft()).checked;
    for language in [Language::English, Language::Chinese] {
        let fallback = SafeFallback::new(
            ReasonCode::EvidenceValidationFailed,
            language,
            Some(&checked.snapshot),
            vec![],
        );
        let body = body(&Released::fallback(&fallback));
        assert_eq!(
            (&body["reason_code"], &body["verified_sources"]),
            (&json!("EVIDENCE_VALIDATION_FAILED"), &json!([]))
        );
    }
}

#[test]
fn what_is_cited_is_kept_beside_the_body_and_survives_storage() {
    let released = Released::report(verified(full_draft()), proof());
    let stored = serde_json::to_string(released.cites()).unwrap();
    assert_eq!(serde_json::from_str::<Vec<Cited>>(&stored).unwrap(), released.cites());
    assert!(!stored.contains("hits"), "a report cites whole results");
}
