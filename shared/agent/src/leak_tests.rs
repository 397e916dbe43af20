//! Nothing of a draft, a reason, an answer of a vendor, a raw response or an argument gets out of a run.

use domain::model::ModelFault;
use serde_json::json;

use crate::fakes::{
    CapturedLog, Fault, Line, Told, Will, World, asks_for, draft_citing, log_query, routed_to, says, verdict,
};
use crate::ports::RunControl;

const MARK: &str = "canary-7f3a";

/// A report that says more than its evidence, with a mark in each of its texts.
fn marked_draft(id: &str) -> String {
    draft_citing(&[id]).replace("checkout times out at the bank", MARK).replace("42 calls timed out", MARK)
}

#[track_caller]
fn nothing_leaked(world: &World, told: &Told, log: &CapturedLog) {
    assert!(!told.json().contains(MARK), "told: {}", told.json());
    assert!(!world.ledger.dump().contains(MARK), "ledger: {}", world.ledger.dump());
    let state = format!("{:?}", world.ledger.commits.lock().unwrap());
    assert!(!state.contains(MARK), "terminal state: {state}");
    assert!(!log.text().contains(MARK), "log: {}", log.text());
    assert!(log.text().contains("run ended"), "the log was captured");
}

fn marked_world() -> World {
    let world = World::new();
    *world.logs.raw.lock().unwrap() = MARK.to_owned();
    world.model.will(routed_to("DIAGNOSIS"));
    let arguments = json!({ "service": MARK });
    world.model.will(asks_for(&[("call_1", "query_logs", arguments), ("call_2", MARK, log_query())]));
    world
}

#[tokio::test(start_paused = true)]
async fn a_report_that_a_guard_refused_stays_inside() {
    let log = CapturedLog::start();
    let world = marked_world();
    world.model.will(says("diagnose", &marked_draft("call_1")));
    world.model.will(says("review", &json!({ "verdict": "UNSUPPORTED", "reason": MARK }).to_string()));
    let told = world.ask().await;
    assert_eq!(told.content().1["reason_code"], "SEMANTIC_UNSUPPORTED");
    nothing_leaked(&world, &told, &log);
    let stored = world.canonical.record("call_1").raw_response.unwrap();
    assert!(stored.get().contains(MARK), "the mark really was there");
}

#[tokio::test(start_paused = true)]
async fn a_report_that_could_not_be_repaired_stays_inside() {
    let log = CapturedLog::start();
    let world = marked_world();
    world.model.will(says("diagnose", &marked_draft(MARK)));
    world.model.will(says("repair", &marked_draft(MARK)));
    let told = world.ask().await;
    assert_eq!(told.content().1["reason_code"], "EVIDENCE_VALIDATION_FAILED");
    nothing_leaked(&world, &told, &log);
}

#[tokio::test(start_paused = true)]
async fn answers_that_are_no_answers_stay_inside() {
    let log = CapturedLog::start();
    let world = marked_world();
    world.model.will(says("diagnose", &format!("no draft: {MARK}")));
    let told = world.ask().await;
    told.failure();
    nothing_leaked(&world, &told, &log);

    let world = marked_world();
    world.model.will(says("diagnose", &marked_draft("call_1")));
    world.model.will(says("review", MARK));
    world.model.will(Line::fails("review", ModelFault::ContentFiltered));
    let told = world.ask().await;
    assert_eq!(told.content().1["reason_code"], "SEMANTIC_UNAVAILABLE");
    nothing_leaked(&world, &told, &log);
}

#[tokio::test(start_paused = true)]
async fn disturbed_runs_leak_nothing_either() {
    for (store, fault) in [
        ("canonical.finish", Fault::Fails),
        ("canonical.read", Fault::Panics),
        ("canonical.start", Fault::Hangs),
    ] {
        let log = CapturedLog::start();
        let world = marked_world();
        world.model.will(says("diagnose", &marked_draft("call_1")));
        world.canonical.will(store, fault);
        let told = world.ask().await;
        told.failure();
        nothing_leaked(&world, &told, &log);
    }
    let log = CapturedLog::start();
    let world = marked_world();
    world.logs.will(Will::Refuse(domain::tool::ToolErrorCode::QueryFailed, MARK));
    world.model.will(says("diagnose", &marked_draft("call_1")));
    world.model.will(says("repair", &marked_draft("call_1")));
    let told = world.ask().await;
    told.content();
    nothing_leaked(&world, &told, &log);
}

#[tokio::test(start_paused = true)]
async fn what_was_not_committed_or_was_cancelled_stays_inside() {
    let log = CapturedLog::start();
    let world = marked_world();
    world.model.will(says("diagnose", &marked_draft("call_1")));
    world.model.will(verdict("SUPPORTED"));
    world.ledger.will("ledger.commit", Fault::Fails);
    let told = world.ask().await;
    told.failure();
    nothing_leaked(&world, &told, &log);

    let world = marked_world();
    world.model.will(says("diagnose", &marked_draft("call_1")));
    world.model.will(verdict("SUPPORTED").after(30));
    let handle = world.start().await;
    world.control.request_cancel(handle.run_id, world.clock.now()).await.unwrap();
    let told = world.listen(handle).await;
    told.failure();
    nothing_leaked(&world, &told, &log);
}
