//! A run's life over HTTP: its stream, its ends, its session, and what it takes to begin.

mod admission;
mod endings;
mod sessions;
mod stream;

use anyhow::Context;
use domain::model::Role;
use serde_json::json;
use testkit::provider::{Received, Reply, Script};
use testkit::sse::{Event, Stream};

use crate::world::{World, draft, gateway_errors};

const QUESTION: &str = "checkout 5xx, why?";
const FINDING: &str = "payment-gateway logged GATEWAY_TIMEOUT errors.";

/// A script for any number of diagnoses at once, each of which succeeds. A question with the word `hang` waits for ever for
/// its first diagnosis call, one with the word `hello` is answered by the system chat.
fn script() -> Script {
    Script::new()
        .each(Role::Route, |request| {
            let intent = if asked(request).contains("hello") { "SYSTEM_CHAT" } else { "DIAGNOSIS" };
            Reply::json(&json!({ "intent": intent }))
        })
        .each(Role::System, |_| Reply::text("Hello."))
        .each(Role::Diagnose, |request| match request.messages.len() {
            2 if asked(request).contains("hang") => Reply::stall(),
            2 => Reply::calls([gateway_errors().id("call_a")]),
            _ => Reply::json(&draft("NORMAL", FINDING, "call_a")),
        })
        .each(Role::Review, |_| Reply::json(&json!({ "verdict": "SUPPORTED", "reason": "scripted" })))
}

/// The question of the run that a request belongs to.
fn asked(request: &Received) -> String {
    request.opening()["query"].as_str().unwrap_or_default().to_owned()
}

/// Reads up to the first status of `stage`; returns the run's id.
async fn read_until(stream: &mut Stream, stage: &str) -> anyhow::Result<String> {
    while let Some(arrived) = stream.next().await? {
        if matches!(&arrived.event, Event::Status(status) if status.stage == stage) {
            return Ok(arrived.event.run_id().to_owned());
        }
    }
    anyhow::bail!("the stream ended before {stage}")
}

/// Asks in `session`, and reads until the run waits for a model that never answers.
async fn hanging(world: &World, session: &str, headers: &[(&str, &str)]) -> anyhow::Result<(String, Stream)> {
    let mut stream = world.open(&json!({ "query": "hang, why?", "session_id": session }), headers).await?;
    anyhow::ensure!(stream.status() == 200, "{:?}", stream.collect().await?.problem());
    let run_id = read_until(&mut stream, "DIAGNOSING").await?;
    Ok((run_id, stream))
}

/// Cancels the run and reads its stream to the end.
async fn cancelled(world: &World, run_id: &str, stream: Stream) -> anyhow::Result<()> {
    assert_eq!(world.cancel(run_id).await?, 202);
    let told = stream.collect().await?;
    let failure = told.failure().with_context(|| told.text())?;
    assert_eq!(failure.code, "RUN_CANCELLED");
    Ok(())
}

/// Processes of the chat function.
fn chat_sandboxes(world: &World) -> Vec<u32> {
    let sandboxes = world.emulator.sandboxes();
    sandboxes.iter().filter(|sandbox| sandbox.function == "chat").map(|sandbox| sandbox.pid).collect()
}
