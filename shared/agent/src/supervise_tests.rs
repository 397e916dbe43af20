//! What must hold however a run is disturbed: panics, cancellation, readers that are slow or gone, and refusals.

use std::time::Duration;

use domain::events::{FailureCode, RunEvent};
use domain::ids::RunId;
use domain::question::{Intent, PreviousTurn};
use domain::release::Outcome;

use crate::admission::{Question, Refused};
use crate::fakes::{
    Fault, Line, RESERVE, RUN_LIMIT, Will, World, asks_for, caller, draft_citing, log_query, routed_to, says,
    session, verdict,
};
use crate::ports::RunControl;
use crate::ports::ledger::TerminalState;
use crate::progress::CHANNEL_CAPACITY;
use crate::supervise::Started;

#[track_caller]
fn stored_failure(world: &World) -> FailureCode {
    match world.ledger.only_commit().state {
        TerminalState::Failed { code, .. } => code,
        TerminalState::Released { .. } => panic!("released"),
    }
}

#[tokio::test(start_paused = true)]
async fn a_panic_of_the_model_ends_the_run_properly() {
    let world = World::new();
    world.model.will(routed_to("DIAGNOSIS"));
    world.model.will(Line::panics("diagnose"));
    assert_eq!(world.ask().await.failure(), FailureCode::Internal);
    assert_eq!(stored_failure(&world), FailureCode::Internal);
    assert_eq!(world.ledger.steps()[1].error_code, Some("INTERNAL"));
    assert_eq!(world.ledger.only_commit().budget.output_tokens, 100, "the reservation is settled");
    assert_eq!(world.control.leases(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_panic_of_a_tool_or_of_a_store_ends_the_run_properly() {
    for panics in ["tool", "canonical.start", "canonical.finish", "canonical.read"] {
        let world = World::new();
        world.script_diagnosis();
        match panics {
            "tool" => world.logs.will(Will::Panic),
            store => world.canonical.will(store, Fault::Panics),
        }
        assert_eq!(world.ask().await.failure(), FailureCode::Internal, "{panics}");
        assert_eq!(stored_failure(&world), FailureCode::Internal);
        assert_eq!(world.ledger.invocations().len(), 1, "{panics}: the call is audited");
        assert_eq!(world.control.leases(), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn a_panic_at_the_very_end_still_ends_the_stream() {
    let world = World::new();
    world.script_diagnosis();
    world.ledger.will("ledger.commit", Fault::Panics);
    assert_eq!(world.ask().await.failure(), FailureCode::Internal);
    assert_eq!(world.control.leases(), 0);

    for operation in ["ledger.audit", "control.release"] {
        let world = World::new();
        world.script_diagnosis();
        world.ledger.will(operation, Fault::Panics);
        world.control.will(operation, Fault::Panics);
        assert_eq!(world.ask().await.content().0, Outcome::Success, "{operation}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_cancel_request_is_seen_within_seconds_and_settles_what_it_interrupts() {
    let world = World::new();
    world.model.will(routed_to("DIAGNOSIS"));
    world.model.will(Line::hangs("diagnose"));
    let handle = world.start().await;
    tokio::time::sleep(Duration::from_millis(2500)).await;
    world.control.request_cancel(handle.run_id, world.clock.now()).await.unwrap();
    let told = world.listen(handle).await;
    assert_eq!(told.failure(), FailureCode::RunCancelled);
    assert_eq!(told.when("failure"), Duration::from_secs(3));
    assert_eq!(world.ledger.steps()[1].error_code, Some("RUN_CANCELLED"), "the interrupted call is audited");
    assert_eq!(world.ledger.only_commit().budget.output_tokens, 100);
}

#[tokio::test(start_paused = true)]
async fn a_flag_that_cannot_be_read_is_no_request() {
    for fault in [Fault::Fails, Fault::Hangs] {
        let world = World::new();
        world.model.will(routed_to("DIAGNOSIS").after(5));
        world.script_diagnosis();
        world.control.will("control.is_cancelled", fault);
        assert_eq!(world.ask().await.content().0, Outcome::Success, "{fault:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn cancelling_by_token_interrupts_a_tool() {
    let world = World::new();
    world.script_diagnosis();
    world.logs.will(Will::Hang);
    let handle = world.start().await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    handle.cancel.cancel();
    assert_eq!(world.listen(handle).await.failure(), FailureCode::RunCancelled);
    assert_eq!(world.ledger.invocations()[0].status.as_str(), "STARTED", "it never came to its end");
    assert_eq!(stored_failure(&world), FailureCode::RunCancelled);
}

#[tokio::test(start_paused = true)]
async fn a_request_after_the_verdict_and_before_the_release_releases_nothing() {
    let world = World::new();
    world.script_diagnosis();
    // The last look itself takes a moment, and the flag is set before it.
    world.control.will("control.is_cancelled", Fault::Slow(Duration::from_millis(500)));
    let handle = world.start().await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(world.model.requests(domain::model::Role::Review).len(), 1, "the verdict is there");
    assert_eq!(world.diary.count("ledger.commit"), 0);
    world.control.request_cancel(handle.run_id, world.clock.now()).await.unwrap();
    let told = world.listen(handle).await;
    assert_eq!(told.failure(), FailureCode::RunCancelled);
    assert!(!told.json().contains("checkout times out"));
    assert_eq!(stored_failure(&world), FailureCode::RunCancelled);

    let world = World::new();
    world.script_diagnosis();
    world.control.will("control.is_cancelled", Fault::Slow(Duration::from_millis(500)));
    let handle = world.start().await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    handle.cancel.cancel();
    assert_eq!(world.listen(handle).await.failure(), FailureCode::RunCancelled, "by token too");
}

#[tokio::test(start_paused = true)]
async fn a_run_that_is_committed_is_told_even_if_it_is_cancelled_then() {
    let world = World::new();
    world.script_diagnosis();
    world.control.will("control.release", Fault::Slow(Duration::from_secs(1)));
    let handle = world.start().await;
    tokio::time::sleep(Duration::from_millis(500)).await;
    handle.cancel.cancel();
    assert_eq!(world.listen(handle).await.content().0, Outcome::Success);
}

/// More statuses than the channel holds: rounds of calls that are all over budget.
fn chatter(world: &World) {
    world.model.will(routed_to("DIAGNOSIS"));
    let calls: Vec<_> = (0..CHANNEL_CAPACITY).map(|_| ("", "query_logs", log_query())).collect();
    world.model.will(asks_for(&calls));
    world.model.will(says("diagnose", &draft_citing(&["sbz_1"])));
    world.model.will(verdict("SUPPORTED"));
}

#[tokio::test(start_paused = true)]
async fn a_reader_that_does_not_read_stalls_nothing_and_loses_only_progress() {
    let world = World::new();
    chatter(&world);
    let handle = world.start().await;
    world.settled().await;
    assert_eq!(world.ledger.row().outcome, Some(Outcome::Success));
    assert_eq!(world.diary.when("control.release"), Duration::ZERO, "the run waited for nobody");
    let told = world.listen(handle).await;
    assert_eq!(told.content().0, Outcome::Success);
    assert_eq!(told.events.len(), CHANNEL_CAPACITY - 1);
}

#[tokio::test(start_paused = true)]
async fn a_reader_that_left_changes_nothing() {
    let world = World::new();
    world.script_diagnosis();
    drop(world.start().await);
    world.settled().await;
    assert_eq!(world.ledger.row().outcome, Some(Outcome::Success));
    assert_eq!(world.control.leases(), 0);
}

#[tokio::test(start_paused = true)]
async fn the_previous_turn_reaches_the_model() {
    let world = World::new();
    let previous = PreviousTurn::new("earlier", Intent::Diagnosis, Outcome::Success, Some("it was the bank"));
    *world.ledger.previous.lock().unwrap() = Some(previous);
    world.script_diagnosis();
    world.ask().await.content();
    for request in world.model.requests(domain::model::Role::Diagnose) {
        assert!(format!("{:?}", request.messages[0]).contains("it was the bank"));
    }
}

#[tokio::test(start_paused = true)]
async fn an_admission_that_fails_leaves_nothing_behind() {
    for (operation, fault) in [
        ("ledger.admit", Fault::Fails),
        ("ledger.admit", Fault::Hangs),
        ("control.admit", Fault::LosesItsAnswer),
        ("control.admit", Fault::Fails),
    ] {
        let world = World::new();
        world.ledger.will(operation, fault);
        world.control.will(operation, fault);
        let question = Question { idempotency_key: Some("k1".into()), ..world.question() };
        let refused = world.refused(question).await;
        assert!(matches!(refused, Refused::StoreUnavailable(_)), "{operation} {fault:?}: {refused}");
        assert_eq!((world.control.leases(), world.control.keys()), (0, 0), "{operation} {fault:?}");
        assert_eq!(world.diary.of("control.withdraw"), ["control.withdraw k1"]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_session_of_another_caller_is_no_session() {
    let world = World::new();
    world.script_diagnosis();
    let mine = Question { session_id: Some(session("s1")), ..world.question() };
    let Started::Live(handle) = world.chat().start(mine).await.unwrap() else {
        panic!("a new run was expected")
    };
    world.listen(handle).await.content();
    let theirs = Question { session_id: Some(session("s1")), caller: caller("mallory"), ..world.question() };
    assert!(matches!(world.refused(theirs).await, Refused::UnknownSession));
    assert_eq!(world.control.leases(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_busy_session_names_its_run() {
    let world = World::new();
    world.script_diagnosis();
    let asked = || Question { session_id: Some(session("s1")), ..world.question() };
    let Started::Live(handle) = world.chat().start(asked()).await.unwrap() else {
        panic!("a new run was expected")
    };
    match world.refused(asked()).await {
        Refused::SessionBusy { run_id } => assert_eq!(run_id, handle.run_id),
        other => panic!("{other}"),
    }
}

fn keyed(world: &World) -> Question {
    Question { idempotency_key: Some("k1".into()), ..world.question() }
}

async fn replayed(world: &World) -> Vec<RunEvent> {
    match world.chat().start(keyed(world)).await.unwrap() {
        Started::Replay(events) => events,
        Started::Live(_) => panic!("a second run was started"),
    }
}

#[tokio::test(start_paused = true)]
async fn the_same_key_tells_a_finished_run_again() {
    let world = World::new();
    world.script_diagnosis();
    let Started::Live(handle) = world.chat().start(keyed(&world)).await.unwrap() else {
        panic!("a new run was expected")
    };
    let first = world.listen(handle).await;
    first.content();
    let again: String =
        replayed(&world).await.iter().map(|e| serde_json::to_string(e).unwrap() + "\n").collect();
    let without_progress =
        |text: String| text.lines().filter(|l| !l.contains("sequence")).collect::<Vec<_>>().join("\n");
    assert_eq!(without_progress(again), without_progress(first.json()), "byte for byte");
    assert_eq!(world.diary.count("model route"), 1);
}

#[tokio::test(start_paused = true)]
async fn the_same_key_tells_a_failed_run_again() {
    let world = World::new();
    world.model.will(routed_to("DIAGNOSIS"));
    world.model.will(says("diagnose", "no draft"));
    let Started::Live(handle) = world.chat().start(keyed(&world)).await.unwrap() else {
        panic!("a new run was expected")
    };
    world.listen(handle).await.failure();
    let events = replayed(&world).await;
    assert!(matches!(events[1], RunEvent::Failure { code: FailureCode::ModelOutputInvalid, .. }));
    assert!(matches!(events[2], RunEvent::Done { status: Outcome::Failed, .. }));
}

#[tokio::test(start_paused = true)]
async fn the_same_key_of_a_running_run_is_a_conflict_and_of_an_abandoned_one_a_failure() {
    let world = World::new();
    world.model.will(Line::hangs("route"));
    let Started::Live(handle) = world.chat().start(keyed(&world)).await.unwrap() else {
        panic!("a new run was expected")
    };
    match world.refused(keyed(&world)).await {
        Refused::RunInProgress { run_id } => assert_eq!(run_id, handle.run_id),
        other => panic!("{other}"),
    }
    world.ledger.abandon();
    let events = replayed(&world).await;
    assert!(matches!(events[1], RunEvent::Failure { code: FailureCode::Internal, .. }));
    handle.cancel.cancel();
    let told = world.listen(handle).await;
    assert_eq!(told.failure(), FailureCode::DeadlineExceeded, "another writer was first: its state stands");
    assert!(world.ledger.commits.lock().unwrap().is_empty());
}

/// A run of this age, as its id tells it.
fn run_made(world: &World, seconds_ago: u64) -> RunId {
    let now = u64::try_from(world.clock.now().unix_timestamp()).unwrap();
    let made = uuid::Timestamp::from_unix(uuid::NoContext, now - seconds_ago, 0);
    RunId::new(uuid::Uuid::new_v7(made))
}

#[tokio::test(start_paused = true)]
async fn a_key_whose_run_was_never_recorded_starts_a_run_once_nobody_can_record_it_any_more() {
    let world = World::new();
    world.script_diagnosis();
    let fresh = run_made(&world, 5);
    world.control.holds_key("k1", fresh);
    match world.refused(keyed(&world)).await {
        Refused::RunInProgress { run_id } => assert_eq!(run_id, fresh),
        other => panic!("{other}"),
    }
    world.control.holds_key("k1", run_made(&world, 60));
    let Started::Live(handle) = world.chat().start(keyed(&world)).await.unwrap() else {
        panic!("a new run was expected")
    };
    world.listen(handle).await.content();
}

#[tokio::test(start_paused = true)]
async fn every_wait_of_a_run_ends_at_its_hard_deadline() {
    let world = World::new();
    world.model.will(Line::hangs("route"));
    world.model.will(Line::hangs("route"));
    world.ledger.will("ledger.commit", Fault::Hangs);
    world.ledger.will("ledger.audit", Fault::Hangs);
    world.control.will("control.release", Fault::Hangs);
    world.control.will("control.is_cancelled", Fault::Hangs);
    let told = world.ask().await;
    assert_eq!(told.failure(), FailureCode::StoreUnavailable);
    assert_eq!(told.when("done"), RUN_LIMIT + RESERVE);
}
