//! One run at a time in a session, many at a time in many; the same key is the same run; what a session remembers.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use domain::model::Role;
use serde_json::{Value, json};
use testkit::provider::{Reply, Script};
use testkit::sse::{Event, Transcript};
use tokio::task::JoinSet;

use super::{FINDING, QUESTION, asked, cancelled, chat_sandboxes, hanging, script};
use crate::world::{Call, World, draft, world};

#[tokio::test(flavor = "multi_thread")]
async fn a_session_has_one_run_at_a_time() -> anyhow::Result<()> {
    let world = world(script()).start().await?;
    let (run_id, stream) = hanging(&world, "mine", &[]).await?;
    let refused = world.ask_in("mine", QUESTION).await?;
    let problem = refused.problem().expect("a problem");
    assert_eq!((problem.status, problem.code.as_str()), (409, "SESSION_BUSY"));
    assert_eq!(problem.document["run_id"], json!(run_id), "it is named");
    let other = world.ask_in("other", QUESTION).await?;
    assert_eq!(other.done().expect("done").status, "SUCCESS", "other sessions do not wait");
    cancelled(&world, &run_id, stream).await?;
    // The stream's end is the lease's end: nothing is waited for in between.
    for _ in 0..3 {
        assert_eq!(world.ask_in("mine", "hello").await?.done().context("refused")?.status, "SUCCESS");
    }
    let (_, page) = world.get("/api/sessions/mine/runs").await?;
    let statuses: Vec<&Value> =
        page["runs"].as_array().expect("runs").iter().map(|run| &run["status"]).collect();
    assert_eq!(statuses, ["SUCCESS", "SUCCESS", "SUCCESS", "FAILED"], "newest first");
    Ok(())
}

/// What a stream tells without its statuses, which are not stored.
fn end_of(told: &Transcript) -> Vec<&Event> {
    let events = told.events.iter().map(|arrived| &arrived.event);
    events.filter(|event| !matches!(event, Event::Status(_))).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repeated_key_tells_the_stored_end() -> anyhow::Result<()> {
    let refused = Reply::status(401, r#"{"error":{"message":"no"}}"#);
    let world = world(script().then(Role::Diagnose, refused)).start().await?;
    for (key, status) in [("first", "FAILED"), ("second", "SUCCESS")] {
        let headers = [("Idempotency-Key", key)];
        let told = world.post(&json!({ "query": QUESTION, "session_id": "mine" }), &headers).await?;
        assert_eq!(told.done().expect("done").status, status, "{}", told.text());
        let calls = world.provider.requests().len();
        for body in [json!({ "query": QUESTION, "session_id": "mine" }), json!({ "query": QUESTION })] {
            let again = world.post(&body, &headers).await?;
            assert_eq!(end_of(&again), end_of(&told));
            assert!(again.statuses().is_empty());
        }
        assert_eq!(world.provider.requests().len(), calls, "no model is asked again");
    }
    let fresh = world.post(&json!({ "query": QUESTION }), &[("Idempotency-Key", "third")]).await?;
    assert_eq!(fresh.done().expect("done").status, "SUCCESS", "another key is another run");
    assert!(!fresh.statuses().is_empty());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repeated_key_finds_its_run_active() -> anyhow::Result<()> {
    let world = world(script()).start().await?;
    let headers = [("Idempotency-Key", "key-1")];
    let (run_id, stream) = hanging(&world, "mine", &headers).await?;
    let calls = world.provider.requests().len();
    for session in ["mine", "other"] {
        let again = world.post(&json!({ "query": "hang, why?", "session_id": session }), &headers).await?;
        let problem = again.problem().expect("a problem");
        assert_eq!((problem.status, problem.code.as_str()), (409, "RUN_IN_PROGRESS"));
        assert_eq!(problem.document["run_id"], json!(run_id));
    }
    assert_eq!(world.provider.requests().len(), calls);
    cancelled(&world, &run_id, stream).await?;
    let again = world.post(&json!({ "query": "hang, why?" }), &headers).await?;
    assert_eq!(again.failure().expect("failure").code, "RUN_CANCELLED");
    assert_eq!(again.metadata().expect("metadata").run_id, run_id);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_next_run_knows_the_previous_turn() -> anyhow::Result<()> {
    let world = world(script()).start().await?;
    for query in [QUESTION, "and since when?"] {
        assert_eq!(world.ask_in("mine", query).await?.done().expect("done").status, "SUCCESS");
    }
    assert_eq!(world.ask_in("other", "and here?").await?.done().expect("done").status, "SUCCESS");
    let turn =
        json!({ "query": QUESTION, "intent": "DIAGNOSIS", "outcome": "SUCCESS", "conclusion": FINDING });
    for role in [Role::Route, Role::Diagnose] {
        for request in world.provider.requests_of(role) {
            let expected = if asked(&request) == "and since when?" { &turn } else { &Value::Null };
            assert_eq!(&request.opening()["previous_turn"], expected, "{}", asked(&request));
        }
    }
    world.assert_provider_saw_a_clean_protocol();
    Ok(())
}

const SERVICES: [&str; 5] =
    ["api-gateway", "checkout-service", "order-service", "payment-gateway", "risk-service"];

fn service_in(query: &str) -> &'static str {
    SERVICES.into_iter().find(|service| query.contains(service)).expect("a service")
}

/// Agents that all give their call the same id, each for the service that its own question names.
fn one_agent_each() -> Script {
    script().each(Role::Diagnose, |request| {
        let query = asked(request);
        if request.messages.len() > 2 {
            return Reply::json(&draft("NORMAL", &format!("The answer to {query}"), "call_a"));
        }
        let arguments = json!({ "service": service_in(&query), "query": null, "level": null, "start": "-3h", "end": "now", "limit": 5 });
        Reply::calls([Call::new("query_logs", arguments).id("call_a")]).after(Duration::from_millis(500))
    })
}

/// Asks until it is admitted: a caller may have ten runs at once, and then hears when to try again.
async fn asked_with_patience(world: &World, session: &str, query: &str) -> anyhow::Result<Transcript> {
    for _ in 0..200 {
        let told = world.ask_in(session, query).await?;
        match told.problem() {
            None => return Ok(told),
            Some(problem) => assert_eq!(problem.code, "RATE_LIMITED", "{:?}", problem.document),
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    anyhow::bail!("{session} was never admitted")
}

#[tokio::test(flavor = "multi_thread")]
async fn many_runs_at_once_keep_apart() -> anyhow::Result<()> {
    let world = world(one_agent_each()).emulator(|config| config.max_sandboxes = 20).start().await?;
    let world = Arc::new(world);
    let mut runs = JoinSet::new();
    for n in 0..20 {
        let world = Arc::clone(&world);
        runs.spawn(async move {
            let query = format!("question {n}: what about {}?", SERVICES[n % SERVICES.len()]);
            let told = asked_with_patience(&world, &format!("session-{n}"), &query).await?;
            anyhow::Ok((query, told))
        });
    }
    let mut ids = std::collections::BTreeSet::new();
    while let Some(run) = runs.join_next().await {
        let (query, told) = run??;
        let content = told.content().with_context(|| told.text())?;
        assert_eq!(content.body["conclusion"]["text"], format!("The answer to {query}"));
        let sources = content.body["analyses"][0]["sources"].as_array().expect("sources");
        assert!(!sources.is_empty(), "{query}");
        for source in sources {
            assert_eq!(source["scope"]["service"], service_in(&query), "{query}");
        }
        let (_, trace) = world.get(&format!("/api/runs/{}/trace", content.run_id)).await?;
        assert_eq!(trace["tool_invocations"].as_array().map(Vec::len), Some(1), "{trace}");
        ids.insert(content.run_id.clone());
    }
    assert_eq!(ids.len(), 20);
    assert!(chat_sandboxes(&world).len() > 1, "they ran beside each other");
    world.assert_provider_saw_a_clean_protocol();
    Ok(())
}
