//! Safe fallbacks: each reason code, its exact body, and that nothing of the draft comes with it.

use domain::model::Role;
use serde_json::{Value, json};
use testkit::provider::{Reply, Script};
use testkit::sse::Transcript;

use super::{FINDING, QUESTION, diagnosis, requests, settled};
use crate::world::{Call, World, draft, gateway_errors, world};

/// Asks, and checks that the run ends in exactly this fallback; sources are compared without their times.
async fn falls_back(
    world: &World,
    query: &str,
    reason: &str,
    sources: Value,
    attempted: Value,
) -> anyhow::Result<Transcript> {
    let told = world.ask(query).await?;
    let content = told.content().unwrap_or_else(|| panic!("no content: {}", told.text()));
    assert_eq!(content.outcome, "FALLBACK");
    let mut body = content.body.clone();
    let message = body["message"].as_str().unwrap_or_default().to_owned();
    let timed = body["verified_sources"].as_array_mut().into_iter().flatten().all(|source| {
        source.as_object_mut().and_then(|fields| fields.remove("timestamp")).is_some_and(|at| at.is_string())
    });
    assert!(timed, "each source has its time: {}", content.body);
    let expected = json!({
        "kind": "SAFE_FALLBACK", "reason_code": reason, "conclusion": null, "message": message,
        "verified_sources": sources, "attempted": attempted,
    });
    assert_eq!(body, expected);
    let chinese = |text: &str| text.chars().any(|c| ('\u{4e00}'..='\u{9fff}').contains(&c));
    assert_eq!(chinese(&message), chinese(query), "the fixed text speaks the question's language: {message}");
    for secret in [FINDING, "scripted", "call_a", "status page"] {
        assert!(!told.text().contains(secret), "{secret} is not published");
    }
    let (status, evidence) = world.get(&format!("/api/runs/{}/evidence", content.run_id)).await?;
    assert_eq!((status, &evidence["analyses"]), (200, &json!([])), "evidence only of what was released");
    settled(world, &told).await?;
    Ok(told)
}

fn logs() -> Value {
    json!([{ "source_type": "LOGS", "source": "app-logs" }])
}

fn found() -> Value {
    json!([{ "tool": "query_logs", "evidence_status": "EVIDENCE_FOUND" }])
}

fn fine() -> Value {
    draft("NORMAL", FINDING, "call_a")
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unsupported_draft_is_withheld() -> anyhow::Result<()> {
    let script = diagnosis().reports(&fine()).judges("UNSUPPORTED").routes_to("DIAGNOSIS");
    let script = script.asks_for([gateway_errors().id("call_a")]).reports(&fine()).judges("UNSUPPORTED");
    let world = world(script).start().await?;
    falls_back(&world, QUESTION, "SEMANTIC_UNSUPPORTED", logs(), found()).await?;
    falls_back(&world, "支付超时是怎么回事", "SEMANTIC_UNSUPPORTED", logs(), found()).await?;
    assert_eq!(requests(&world), [2, 4, 0, 2, 0, 0], "a verdict is never asked for again");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn two_unreadable_verdicts_are_no_verdict() -> anyhow::Result<()> {
    let blank = json!({ "verdict": "SUPPORTED", "reason": " " });
    let script = diagnosis()
        .reports(&fine())
        .then(Role::Review, Reply::text("Looks fine to me."))
        .then(Role::Review, Reply::json(&blank));
    let world = world(script).start().await?;
    falls_back(&world, QUESTION, "SEMANTIC_UNAVAILABLE", logs(), found()).await?;
    let asked = world.provider.requests_of(Role::Review);
    assert_eq!(asked.len(), 2);
    assert_eq!(asked[0].body, asked[1].body, "the second attempt has the same bytes");
    assert_eq!(asked[0].messages.len(), 2);
    assert!(!String::from_utf8_lossy(&asked[0].body).contains("call_a"), "the guard sees no tool call id");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn one_unreadable_verdict_is_asked_for_again() -> anyhow::Result<()> {
    let script = diagnosis().reports(&fine()).then(Role::Review, Reply::malformed()).judges("SUPPORTED");
    let world = world(script).start().await?;
    let told = world.ask(QUESTION).await?;
    assert_eq!(told.content().expect("content").outcome, "SUCCESS");
    settled(&world, &told).await?;
    assert_eq!(requests(&world), [1, 2, 0, 2, 0, 0]);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_guard_that_can_not_be_reached_did_not_pass() -> anyhow::Result<()> {
    let broken = |_: &_| Reply::status(500, "vendor stack trace");
    let world = world(diagnosis().reports(&fine()).each(Role::Review, broken)).start().await?;
    let told = falls_back(&world, QUESTION, "SEMANTIC_UNAVAILABLE", logs(), found()).await?;
    assert!(!told.text().contains("vendor"));
    assert_eq!(
        requests(&world)[3],
        3,
        "the exchanges of one call; the guard does not ask again after a server's fault"
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_repair_publishes_nothing_but_what_was_tried() -> anyhow::Result<()> {
    let wrong = draft("NORMAL", FINDING, "call_nobody_made");
    let reworded = draft("NORMAL", "payment-gateway is down.", "call_a");
    let script = Script::new()
        .each(Role::Route, |_| Reply::json(&json!({ "intent": "DIAGNOSIS" })))
        // Still wrong; reworded although the references are right; no draft at all; no answer.
        .asks_for([gateway_errors().id("call_a")])
        .reports(&wrong)
        .repairs(&wrong)
        .asks_for([gateway_errors().id("call_a")])
        .reports(&wrong)
        .repairs(&reworded)
        .asks_for([gateway_errors().id("call_a")])
        .reports(&wrong)
        .then(Role::Repair, Reply::text("I can't."))
        .asks_for([gateway_errors().id("call_a")])
        .reports(&wrong)
        .then(Role::Repair, Reply::status(400, "vendor text"));
    let world = world(script).start().await?;
    for fault in 1..=4 {
        let told = falls_back(&world, QUESTION, "EVIDENCE_VALIDATION_FAILED", json!([]), found()).await?;
        assert!(!told.text().contains("is down") && !told.text().contains("vendor"));
        assert_eq!(
            requests(&world),
            [fault, 2 * fault, fault, 0, 0, 0],
            "one repair each, and nothing to review"
        );
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn evidence_of_the_other_kind_is_no_evidence() -> anyhow::Result<()> {
    let denies = draft("NEGATIVE_OBSERVATION", FINDING, "call_a");
    let world = world(diagnosis().reports(&denies).repairs(&denies)).start().await?;
    falls_back(&world, QUESTION, "EVIDENCE_VALIDATION_FAILED", json!([]), found()).await?;
    let violations = world.provider.requests_of(Role::Repair)[0].opening()["violations"].clone();
    assert_eq!(violations[0]["code"], "EVIDENCE_KIND_MISMATCH");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_of_another_run_prove_nothing() -> anyhow::Result<()> {
    let script = diagnosis()
        .reports(&fine())
        .judges("SUPPORTED")
        .routes_to("DIAGNOSIS")
        .reports(&fine())
        .repairs(&fine());
    let world = world(script).start().await?;
    let told = world.ask(QUESTION).await?;
    assert_eq!(told.content().expect("content").outcome, "SUCCESS");
    falls_back(&world, QUESTION, "EVIDENCE_VALIDATION_FAILED", json!([]), json!([])).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_tried_is_told_in_the_words_of_the_harness() -> anyhow::Result<()> {
    let calls = [
        Call::new(
            "query_mysql",
            json!({ "data_source": "orders", "sql": "DELETE FROM orders", "params": [] }),
        )
        .id("call_sql"),
        Call::new("run_shell", json!({ "command": "reboot" })).id("call_shell"),
        Call::new("query_logs", json!({ "service": "payment-gateway" })).id("call_half"),
        Call::new("lookup_knowledge", json!({})).raw_arguments(json!("{\"query\": ")).id("call_cut"),
        gateway_errors().id("call_a"),
    ];
    let script = Script::new().routes_to("DIAGNOSIS").asks_for(calls).reports(&fine()).judges("UNSUPPORTED");
    let world = world(script).start().await?;
    let attempted = json!([
        { "tool": "query_mysql", "error_code": "SQL_REFUSED" },
        { "error_code": "UNKNOWN_TOOL" },
        { "tool": "query_logs", "error_code": "INVALID_ARGUMENTS" },
        { "tool": "lookup_knowledge", "error_code": "INVALID_ARGUMENTS" },
        { "tool": "query_logs", "evidence_status": "EVIDENCE_FOUND" },
    ]);
    let told = falls_back(&world, QUESTION, "SEMANTIC_UNSUPPORTED", logs(), attempted).await?;
    for argument in ["DELETE", "run_shell", "reboot"] {
        assert!(!told.text().contains(argument), "{argument} is what a model wrote");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_knowledge_question_without_hits_is_not_answered() -> anyhow::Result<()> {
    let world =
        world(Script::new().routes_to("KNOWLEDGE_QUERY")).scenario("knowledge-question").start().await?;
    let attempted = json!([{ "tool": "lookup_knowledge", "evidence_status": "NO_EVIDENCE" }]);
    let told =
        falls_back(&world, "打印机墨盒没墨了找谁？", "EVIDENCE_VALIDATION_FAILED", json!([]), attempted)
            .await?;
    assert_eq!(told.content().expect("content").intent, "KNOWLEDGE_QUERY");
    assert_eq!(requests(&world), [1, 0, 0, 0, 0, 0], "no model is asked about nothing");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_knowledge_answer_passes_the_same_guards() -> anyhow::Result<()> {
    let script = Script::new()
        .each(Role::Route, |_| Reply::json(&json!({ "intent": "KNOWLEDGE_QUERY" })))
        .answers(&json!([{ "text": FINDING, "citations": [99] }]))
        .answers(&json!([{ "text": FINDING, "citations": [] }]))
        .answers(&json!([]))
        .answers(&json!([{ "text": FINDING, "citations": [1] }]))
        .judges("UNSUPPORTED");
    let world = world(script).start().await?;
    let attempted = json!([{ "tool": "lookup_knowledge", "evidence_status": "EVIDENCE_FOUND" }]);
    let query = "How do we escalate a payment incident?";
    for _ in 0..3 {
        falls_back(&world, query, "EVIDENCE_VALIDATION_FAILED", json!([]), attempted.clone()).await?;
    }
    let cited = json!([{ "source_type": "KNOWLEDGE", "source": "Payment incident escalation" }]);
    falls_back(&world, query, "SEMANTIC_UNSUPPORTED", cited, attempted).await?;
    Ok(())
}
