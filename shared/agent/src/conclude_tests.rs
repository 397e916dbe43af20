//! The terminal commit comes first; what cannot be committed is not told.

use std::time::Duration;

use domain::events::FailureCode;
use domain::release::Outcome;

use crate::fakes::{Fault, RESERVE, RUN_LIMIT, World};

#[tokio::test(start_paused = true)]
async fn content_waits_for_its_committed_row() {
    let world = World::new();
    world.script_diagnosis();
    world.ledger.will("ledger.commit", Fault::Slow(Duration::from_secs(3)));
    let told = world.ask().await;
    assert_eq!(told.content().0, Outcome::Success);
    assert_eq!(world.diary.when("ledger.committed"), Duration::from_secs(3));
    assert_eq!(told.when("content"), Duration::from_secs(3));
}

#[tokio::test(start_paused = true)]
async fn the_last_frame_waits_for_lease_and_audit() {
    let world = World::new();
    world.script_diagnosis();
    world.control.will("control.release", Fault::Slow(Duration::from_secs(1)));
    let told = world.ask().await;
    assert_eq!((told.when("content"), told.when("done")), (Duration::ZERO, Duration::from_secs(1)));
    assert_eq!(world.ledger.steps().len(), 4);
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_committed_is_not_released() {
    for fault in [Fault::Fails, Fault::Hangs, Fault::LosesItsAnswer] {
        let world = World::new();
        world.script_diagnosis();
        world.ledger.will("ledger.commit", fault);
        let told = world.ask().await;
        assert_eq!(told.failure(), FailureCode::StoreUnavailable, "{fault:?}");
        assert!(!told.json().contains("checkout times out"));
        assert!(told.when("done") < RUN_LIMIT + RESERVE);
        assert_eq!(world.control.leases(), 0, "{fault:?}: the lease has its share of the reserve");
        assert_eq!(world.ledger.steps().len(), 4, "{fault:?}: and so has the audit");
    }
}

#[tokio::test(start_paused = true)]
async fn what_another_writer_ended_stays_as_it_is() {
    let world = World::new();
    world.script_diagnosis();
    world.ledger.will("ledger.commit", Fault::Slow(Duration::from_secs(1)));
    let handle = world.start().await;
    world.ledger.abandon();
    let told = world.listen(handle).await;
    assert_eq!(told.failure(), FailureCode::DeadlineExceeded);
    assert_eq!(world.ledger.row().reason.as_deref(), Some("ABANDONED"));
}
