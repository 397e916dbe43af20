//! What every canonical store does, whatever it stands on. Each function takes a way to open the store, as each process does.

use std::sync::Arc;

use agent::ports::canonical::MAX_RECORD_BYTES;
use agent::ports::{CanonicalStore, StoreError};
use domain::evidence::InvocationStatus;
use domain::ids::ToolCallId;

use crate::{OTHER_RUN, RUN, id, is_conflict, ready, run, started};

const THIRD_RUN: &str = "0197a000-0000-7000-8000-000000000003";

pub type Open<'a> = &'a dyn Fn() -> Arc<dyn CanonicalStore>;

/// All of it; the store must be empty.
pub async fn all(open: Open<'_>) {
    a_record_is_created_once_and_ended_once_and_keeps_its_bytes(open).await;
    a_write_that_is_sent_again_has_succeeded(open).await;
    ids_that_differ_in_case_or_punctuation_are_different(open).await;
    of_many_writers_one_wins_and_readers_see_whole_records_only(open).await;
    oversized_records_are_refused_before_they_are_written(open).await;
}

async fn a_record_is_created_once_and_ended_once_and_keeps_its_bytes(open: Open<'_>) {
    let (store, other_process) = (open(), open());
    let result = r#"{"b": 1.50,  "a": "é\u0001"}"#;

    assert!(is_conflict(&store.finish(&ready(RUN, "call_1", result)).await), "nothing to end");
    store.start(&started(RUN, "call_1")).await.unwrap();
    assert!(is_conflict(&other_process.start(&started(RUN, "call_1")).await));
    let read = other_process.read(run(RUN), &[id("call_1"), id("call_1"), id("absent")]).await.unwrap();
    assert_eq!(read.iter().map(|r| r.status).collect::<Vec<_>>(), [InvocationStatus::Started]);

    other_process.finish(&ready(RUN, "call_1", result)).await.unwrap();
    assert!(is_conflict(&store.finish(&ready(RUN, "call_1", "{}")).await), "terminal records stay");
    assert!(is_conflict(&store.start(&started(RUN, "call_1")).await));
    let read = store.read(run(RUN), &[id("call_1")]).await.unwrap();
    assert_eq!(read[0].agent_result.as_ref().unwrap().get(), result);
    assert!(
        store.read(run(OTHER_RUN), &[id("call_1")]).await.unwrap().is_empty(),
        "another run has its own ids"
    );
    store.ping().await.unwrap();
}

/// The answer to a write may get lost on the way, and the client may send it again.
async fn a_write_that_is_sent_again_has_succeeded(open: Open<'_>) {
    let store = open();
    store.start(&started(RUN, "again")).await.unwrap();
    let mut other = started(RUN, "again");
    other.started_at = "2026-01-01T00:00:09Z".to_owned();
    assert!(is_conflict(&store.start(&other).await), "another writer's record is no success");
    store.finish(&ready(RUN, "again", "1")).await.unwrap();
    assert!(is_conflict(&store.finish(&ready(RUN, "again", "2")).await));
}

async fn of_many_writers_one_wins_and_readers_see_whole_records_only(open: Open<'_>) {
    let big = format!("\"{}\"", "x".repeat(200_000));
    open().start(&started(RUN, "race")).await.unwrap();
    let mut work = tokio::task::JoinSet::new();
    for writer in 0..8 {
        let (store, big) = (open(), big.clone());
        work.spawn(async move {
            let created = store.start(&started_by(writer)).await.is_ok();
            let ended = store.finish(&ready(RUN, "race", &big)).await.is_ok();
            for _ in 0..20 {
                let read = store.read(run(RUN), &[id("race")]).await.unwrap();
                assert_eq!(read.len(), 1, "writer {writer}");
            }
            (created, ended)
        });
    }
    let outcomes = work.join_all().await;
    assert_eq!(outcomes.iter().filter(|(created, _)| *created).count(), 1);
    assert_eq!(outcomes.iter().filter(|(_, ended)| *ended).count(), 1);
}

/// A record that only one writer would write.
fn started_by(writer: u8) -> domain::evidence::CanonicalRecord {
    let mut record = started(RUN, "contended");
    record.started_at = format!("2026-01-01T00:00:0{writer}Z");
    record
}

async fn ids_that_differ_in_case_or_punctuation_are_different(open: Open<'_>) {
    let store = open();
    let long = "X".repeat(ToolCallId::MAX_CHARS);
    let ids = [
        "call_1", "Call_1", "CALL_1", "a:b", "a|b", "a=b", "a+b", "a@b", "a#b", "a.b", ".", "..", "con", "-",
        &long,
    ];
    for call in ids {
        store.start(&started(THIRD_RUN, call)).await.unwrap();
        store.finish(&ready(THIRD_RUN, call, &format!("{call:?}"))).await.unwrap();
    }
    let read = store.read(run(THIRD_RUN), &ids.map(id)).await.unwrap();
    assert_eq!(read.len(), ids.len());
    for record in read {
        assert_eq!(record.agent_result.unwrap().get(), format!("{:?}", record.tool_call_id.as_str()));
    }
}

async fn oversized_records_are_refused_before_they_are_written(open: Open<'_>) {
    let store = open();
    store.start(&started(RUN, "big")).await.unwrap();
    let huge = format!("\"{}\"", "x".repeat(MAX_RECORD_BYTES));
    let refused = store.finish(&ready(RUN, "big", &huge)).await;
    assert!(matches!(refused, Err(StoreError::TooLarge { max_bytes: MAX_RECORD_BYTES, .. })));
    let read = store.read(run(RUN), &[id("big")]).await.unwrap();
    assert_eq!(read[0].status, InvocationStatus::Started);
    store.finish(&ready(RUN, "big", "{}")).await.unwrap();
}
