//! Events leave when they happen, and silence is filled.

use std::time::Duration;

use domain::model::Role;
use serde_json::json;
use testkit::provider::{Reply, Script};
use testkit::sse::{Event, Transcript};

use super::{FINDING, QUESTION, cancelled, script};
use crate::world::{draft, gateway_errors, world};

/// Far longer than anything but the model takes, and far shorter than the run.
const THINKING: Duration = Duration::from_millis(2500);
const NOTICEABLE: Duration = Duration::from_millis(1000);

#[tokio::test(flavor = "multi_thread")]
async fn metadata_is_there_before_a_model_answers() -> anyhow::Result<()> {
    let world = world(Script::new().each(Role::Route, |_| Reply::stall())).start().await?;
    let mut stream = world.open(&json!({ "query": QUESTION, "session_id": "mine" }), &[]).await?;
    let first = stream.next().await?.expect("an event").event;
    let Event::Metadata(metadata) = &first else { panic!("{first:?}") };
    assert_eq!(metadata.session_id, "mine");
    assert_eq!(metadata.time_limit_ms, 115_000, "the run and its reserve");
    let run = world.run(&metadata.run_id).await?;
    assert_eq!(run["status"], "RUNNING", "committed before it is told");
    let second = stream.next().await?.expect("an event").event;
    assert!(matches!(&second, Event::Status(status) if status.stage == "ROUTING"), "{second:?}");
    cancelled(&world, &metadata.run_id, stream).await
}

/// From the arrival of the first event that `is` to that of the next one of another kind.
fn waited_after(told: &Transcript, is: impl Fn(&Event) -> bool) -> Duration {
    let at = told.events.iter().position(|arrived| is(&arrived.event)).expect("the event");
    let next = told.events.get(at + 1).expect("a next event");
    next.at.duration_since(told.events[at].at)
}

#[tokio::test(flavor = "multi_thread")]
async fn stages_are_told_when_they_begin() -> anyhow::Result<()> {
    let verdict = json!({ "verdict": "SUPPORTED", "reason": "scripted" });
    let script = Script::new()
        .then(Role::Route, Reply::json(&json!({ "intent": "DIAGNOSIS" })).after(THINKING))
        .then(Role::Diagnose, Reply::calls([gateway_errors().id("call_a")]).after(THINKING))
        .reports(&draft("NORMAL", FINDING, "call_a"))
        .then(Role::Review, Reply::json(&verdict).after(THINKING));
    let world = world(script).start().await?;
    let told = world.ask(QUESTION).await?;
    assert_eq!(told.content().expect("content").outcome, "SUCCESS");
    for stage in ["ROUTING", "DIAGNOSING", "REVIEWING"] {
        let waited =
            waited_after(&told, |event| matches!(event, Event::Status(status) if status.stage == stage));
        assert!(waited > NOTICEABLE, "{stage} was told only {waited:?} before what came after it");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn silence_is_filled_with_a_comment() -> anyhow::Result<()> {
    let slow = Reply::json(&json!({ "intent": "SYSTEM_CHAT" })).after(Duration::from_millis(11_500));
    let world = world(script().then(Role::Route, slow)).start().await?;
    let told = world.ask("hello").await?;
    assert!((1..=2).contains(&told.keep_alives), "{} comments", told.keep_alives);
    assert_eq!(told.content().expect("content").outcome, "SUCCESS");
    Ok(())
}
