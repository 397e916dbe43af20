//! Failures of the model, of time, and of the client's patience.
//!
//! INTERNAL is a panic inside a run. Nothing sent over HTTP makes one, so it is tested with fakes,
//! where runs are supervised.

use std::time::Duration;

use domain::model::Role;
use serde_json::json;
use testkit::provider::{Reply, Script};
use testkit::sse::Event;

use super::{FINDING, QUESTION, diagnosis, failed_with, fails, requests, settled};
use crate::world::{World, draft, world};

const VENDOR: &str = "vendor words sk-live-leak";

/// A world whose agent gets `reply` for every call.
async fn agent_gets(reply: Reply) -> anyhow::Result<World> {
    world(Script::new().routes_to("DIAGNOSIS").each(Role::Diagnose, move |_| reply.clone())).start().await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_provider_that_fails_makes_no_report() -> anyhow::Result<()> {
    // Requests: a server's fault and a broken connection are worth two more exchanges, a refusal is final.
    let cases = [
        (Reply::status(500, VENDOR), 3),
        (
            Reply::status(
                401,
                json!({ "error": { "message": VENDOR, "code": "invalid_api_key" } }).to_string(),
            ),
            1,
        ),
        (Reply::reset(), 3),
        (
            Reply::status(
                404,
                json!({ "error": { "message": VENDOR, "code": "model_not_found" } }).to_string(),
            ),
            1,
        ),
    ];
    for (reply, expected) in cases {
        let world = agent_gets(reply).await?;
        let told = fails(&world, QUESTION, "MODEL_UNAVAILABLE").await?;
        assert!(!told.text().contains("vendor"), "{}", told.text());
        assert_eq!(requests(&world), [1, expected, 0, 0, 0, 0]);
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_provider_that_recovers_within_the_call_is_no_failure() -> anyhow::Result<()> {
    let script = Script::new()
        .routes_to("DIAGNOSIS")
        .then(Role::Diagnose, Reply::status(429, VENDOR).header("retry-after", "0"));
    let script =
        script.then(Role::Diagnose, Reply::reset()).asks_for([crate::world::gateway_errors().id("call_a")]);
    let world =
        world(script.reports(&draft("NORMAL", FINDING, "call_a")).judges("SUPPORTED")).start().await?;
    let told = world.ask(QUESTION).await?;
    assert_eq!(told.content().expect("content").outcome, "SUCCESS");
    settled(&world, &told).await?;
    let (_, trace) =
        world.get(&format!("/api/runs/{}/trace", told.content().expect("content").run_id)).await?;
    assert_eq!(trace["budget"]["used"]["model_calls"], 4, "retries are part of their call");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reply_that_is_no_draft_is_not_published() -> anyhow::Result<()> {
    let mut more = draft("NORMAL", FINDING, "call_a");
    more["severity"] = json!("high");
    let mut less = draft("NORMAL", FINDING, "call_a");
    less.as_object_mut().expect("an object").remove("conclusion");
    let cases = [
        Reply::text("The cause is GATEWAY_TIMEOUT."),
        Reply::text("{\"conclusion\": {\"text\": \"GATEWAY_TIMEOUT").finishing("length"),
        Reply::json(&more),
        Reply::json(&less),
        Reply::text("").finishing("content_filter"),
        Reply::refusal("GATEWAY_TIMEOUT is not my subject."),
        Reply::html(),
        Reply::malformed(),
    ];
    let script = Script::new().each(Role::Route, |_| Reply::json(&json!({ "intent": "DIAGNOSIS" })));
    let world = world(cases.iter().fold(script, |script, reply| script.then(Role::Diagnose, reply.clone())))
        .start()
        .await?;
    for (i, _) in cases.iter().enumerate() {
        let told = fails(&world, QUESTION, "MODEL_OUTPUT_INVALID").await?;
        assert!(!told.text().contains("GATEWAY_TIMEOUT"), "{}", told.text());
        assert_eq!(requests(&world)[1], i + 1, "the agent is asked once");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_knowledge_reply_without_its_form_is_not_published() -> anyhow::Result<()> {
    let script = Script::new()
        .routes_to("KNOWLEDGE_QUERY")
        .then(Role::Knowledge, Reply::text("Call the duty manager."));
    let world = world(script).start().await?;
    let told = fails(&world, "How do we escalate a payment incident?", "MODEL_OUTPUT_INVALID").await?;
    assert!(!told.text().contains("duty manager"));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_context_that_is_too_large_is_said_so() -> anyhow::Result<()> {
    let error = json!({ "error": {
        "message": format!("This model's maximum context length is 8192 tokens. {VENDOR}"),
        "type": "invalid_request_error",
        "code": "context_length_exceeded",
    } });
    let world = agent_gets(Reply::status(400, error.to_string())).await?;
    let told = fails(&world, QUESTION, "CONTEXT_TOO_LARGE").await?;
    assert!(!told.text().contains("8192") && !told.text().contains("vendor"));
    assert_eq!(requests(&world)[1], 1);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_never_outlives_its_deadline() -> anyhow::Result<()> {
    for slow in [Role::Route, Role::Diagnose] {
        let script = Script::new().each(Role::Route, move |_| {
            if slow == Role::Route { Reply::stall() } else { Reply::json(&json!({ "intent": "DIAGNOSIS" })) }
        });
        let late = Reply::json(&draft("NORMAL", FINDING, "call_a")).after(Duration::from_secs(30));
        let script = script.each(Role::Diagnose, move |_| late.clone());
        let world = world(script).env("RUN_TIMEOUT_SECONDS", "1").start().await?;
        let told = fails(&world, QUESTION, "DEADLINE_EXCEEDED").await?;
        assert_eq!(told.metadata().expect("metadata").time_limit_ms, 6000, "the run and its reserve");
        let (_, trace) =
            world.get(&format!("/api/runs/{}/trace", told.metadata().expect("metadata").run_id)).await?;
        let steps = trace["steps"].as_array().expect("steps");
        assert!(!steps.is_empty(), "the interrupted step is in the trace: {trace}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_run_releases_nothing() -> anyhow::Result<()> {
    let script = diagnosis().reports(&draft("NORMAL", FINDING, "call_a")).then(Role::Review, Reply::stall());
    let world = world(script).start().await?;
    let mut stream = world.open(&json!({ "query": QUESTION }), &[]).await?;
    while let Some(arrived) = stream.next().await? {
        if matches!(&arrived.event, Event::Status(status) if status.stage == "REVIEWING") {
            assert_eq!(world.cancel(arrived.event.run_id()).await?, 202);
            break;
        }
    }
    let told = stream.collect().await?;
    failed_with(&world, &told, "RUN_CANCELLED").await?;
    assert!(!told.text().contains(FINDING));
    let run_id = &told.metadata().expect("metadata").run_id;
    assert_eq!(world.cancel(run_id).await?, 202, "again, and too late");
    settled(&world, &told).await?;
    assert_eq!(world.get(&format!("/api/runs/{run_id}/evidence")).await?.1["analyses"], json!([]));
    Ok(())
}
