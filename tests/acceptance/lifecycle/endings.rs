//! How runs end that nobody waits for, that somebody stops, that run out of time, and that die with their process.

use std::time::Duration;

use domain::model::Role;
use serde_json::{Value, json};
use testkit::emulator::DeadlineHeader;
use testkit::provider::{Reply, Script};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::{FINDING, QUESTION, chat_sandboxes, hanging, read_until, script};
use crate::world::{World, world};

#[tokio::test(flavor = "multi_thread")]
async fn a_cancel_ends_the_model_call_in_flight() -> anyhow::Result<()> {
    let world = world(script()).start().await?;
    let (run_id, stream) = hanging(&world, "mine", &[]).await?;
    assert_eq!(world.cancel(&run_id).await?, 202);
    let told = stream.collect().await?;
    assert_eq!(told.failure().expect("failure").code, "RUN_CANCELLED");
    assert_eq!(told.done().expect("done").status, "FAILED");
    let run = world.run(&run_id).await?;
    assert_eq!((&run["status"], &run["reason"]), (&json!("FAILED"), &json!("RUN_CANCELLED")));
    assert_eq!(run["failure"]["code"], "RUN_CANCELLED");
    let (_, trace) = world.get(&format!("/api/runs/{run_id}/trace")).await?;
    assert_eq!(trace["steps"][1]["error_code"], "RUN_CANCELLED", "{trace}");
    assert_eq!(world.cancel("0190b3c4-0000-7000-8000-000000000000").await?, 404, "nobody's run");
    Ok(())
}

/// Asks, and leaves while the router thinks. Returns the run's id.
async fn leave_early(world: &World) -> anyhow::Result<String> {
    let mut stream = world.open(&json!({ "query": QUESTION }), &[]).await?;
    read_until(&mut stream, "ROUTING").await
}

fn slow_router() -> Reply {
    Reply::json(&json!({ "intent": "DIAGNOSIS" })).after(Duration::from_secs(2))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_whose_client_left_finishes() -> anyhow::Result<()> {
    for told_to_the_function in [true, false] {
        let world = world(script().then(Role::Route, slow_router()))
            .env("ON_DISCONNECT", "finish")
            .emulator(move |config| config.propagate_disconnect = told_to_the_function)
            .start()
            .await?;
        let run = world.terminal(&leave_early(&world).await?).await?;
        assert_eq!(run["status"], "SUCCESS", "{run}");
        assert_eq!(run["body"]["conclusion"]["text"], FINDING, "nothing is lost");
        assert_eq!(world.ask(QUESTION).await?.done().expect("done").status, "SUCCESS", "the process lives");
        assert_eq!(chat_sandboxes(&world).len(), 1);
        world.assert_provider_saw_a_clean_protocol();
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_whose_client_left_is_cancelled_where_that_is_the_policy() -> anyhow::Result<()> {
    // The first call never answers, so that the run is still there when its client has left, however slow the machine is.
    let world = world(script().then(Role::Route, Reply::stall()))
        .env("ON_DISCONNECT", "cancel")
        .emulator(|config| config.propagate_disconnect = true)
        .start()
        .await?;
    let run = world.terminal(&leave_early(&world).await?).await?;
    assert_eq!((&run["status"], &run["reason"]), (&json!("FAILED"), &json!("RUN_CANCELLED")), "{run}");
    assert_eq!(run["body"], Value::Null);
    assert_eq!(world.ask(QUESTION).await?.done().expect("done").status, "SUCCESS", "the process lives");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_earlier_of_two_deadlines_ends_a_run() -> anyhow::Result<()> {
    let s = Duration::from_secs;
    // The emulator kills a function that outlives its timeout: then the stream breaks, and there is no `done`.
    let cases = [
        ("Lambda's, less the reserve", DeadlineHeader::Real, s(8), "110", "5", 5_000..=8_000),
        ("Lambda's, too late to start", DeadlineHeader::Real, s(4), "110", "5", 1..=4_000),
        ("the configured one", DeadlineHeader::Real, s(120), "1", "2", 3_000..=3_000),
        ("unknown, as in the past", DeadlineHeader::Constant(600_000), s(120), "1", "2", 3_000..=3_000),
    ];
    for (which, header, timeout, run, reserve, limit) in cases {
        let script = Script::new().each(Role::Route, |_| Reply::stall());
        let world = world(script)
            .lambda_timeout(timeout)
            .env("RUN_TIMEOUT_SECONDS", run)
            .env("FINALISE_RESERVE_SECONDS", reserve)
            .emulator(move |config| config.deadline = header)
            .start()
            .await?;
        let told = world.ask(QUESTION).await?;
        assert_eq!(told.failure().expect("failure").code, "DEADLINE_EXCEEDED", "{which}");
        let metadata = told.metadata().expect("metadata");
        assert!(limit.contains(&metadata.time_limit_ms), "{which}: {}", metadata.time_limit_ms);
        let run = world.run(&metadata.run_id).await?;
        assert_eq!(
            (&run["status"], &run["reason"]),
            (&json!("FAILED"), &json!("DEADLINE_EXCEEDED")),
            "{which}"
        );
    }
    Ok(())
}

/// Whether the deadline that the API shows for the run is still to come.
fn is_before_deadline(run: &Value) -> anyhow::Result<bool> {
    let deadline = OffsetDateTime::parse(run["deadline"].as_str().unwrap_or_default(), &Rfc3339)?;
    Ok(OffsetDateTime::from(std::time::SystemTime::now()) < deadline)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_died_with_its_process_is_ended_once_by_the_sweeper() -> anyhow::Result<()> {
    let world =
        world(script()).env("RUN_TIMEOUT_SECONDS", "3").env("FINALISE_RESERVE_SECONDS", "1").start().await?;
    let (run_id, stream) = hanging(&world, "mine", &[("idempotency-key", "only-once")]).await?;
    let [pid] = chat_sandboxes(&world)[..] else { panic!("one chat sandbox") };
    world.emulator.kill9(pid).await?;
    assert!(stream.collect().await.is_err(), "the stream broke");
    let run = world.run(&run_id).await?;
    assert_eq!(run["status"], "RUNNING");

    let mut swept = 0;
    for _ in 0..100 {
        let now = world.sweep().await?;
        assert!(now == 0 || !is_before_deadline(&run)?, "it might still live");
        swept += now;
        if swept > 0 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    assert_eq!((swept, world.sweep().await?), (1, 0), "once");
    let run = world.run(&run_id).await?;
    assert_eq!((&run["status"], &run["reason"]), (&json!("FAILED"), &json!("ABANDONED")));
    assert_eq!(run["failure"]["code"], "INTERNAL", "to its caller it is a fault of ours");
    assert!(run["ended_at"].is_string());

    let again = world.post(&json!({ "query": "hello" }), &[("idempotency-key", "only-once")]).await?;
    assert_eq!(again.metadata().expect("metadata").run_id, run_id, "its key tells its end");
    assert_eq!(again.failure().expect("failure").code, "INTERNAL");

    // The dead run's lease ends by itself some seconds after its deadline.
    for _ in 0..100 {
        let told = world.ask_in("mine", "hello").await?;
        let Some(problem) = told.problem() else {
            assert_eq!(told.done().expect("done").status, "SUCCESS");
            return Ok(());
        };
        assert_eq!((problem.code.as_str(), &problem.document["run_id"]), ("SESSION_BUSY", &json!(run_id)));
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
    anyhow::bail!("the session stayed busy")
}
