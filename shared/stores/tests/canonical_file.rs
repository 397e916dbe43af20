//! The folder of canonical records: create-only, compare-and-set, expiry, bounds, ids, several writers.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking, in its helpers, too")]

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use agent::ports::canonical::MAX_RECORD_BYTES;
use agent::ports::{CanonicalStore, Clock, StoreError, SystemClock};
use domain::evidence::{CanonicalRecord, EvidenceStatus, InvocationStatus};
use domain::ids::{RunId, ToolCallId};
use domain::tool::ToolName;
use serde_json::value::RawValue;
use time::{Duration, OffsetDateTime};

const RUN: &str = "0197a000-0000-7000-8000-000000000001";
const OTHER_RUN: &str = "0197a000-0000-7000-8000-000000000002";

/// The machine's time, moved on by hand.
#[derive(Default)]
struct ShiftedClock(AtomicI64);

impl Clock for ShiftedClock {
    fn now(&self) -> OffsetDateTime {
        SystemClock.now() + Duration::seconds(self.0.load(Ordering::SeqCst))
    }
}

struct Fixture {
    folder: tempfile::TempDir,
    clock: Arc<ShiftedClock>,
}

impl Fixture {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), clock: Arc::default() }
    }

    /// A store of its own, as another process has one.
    fn store(&self) -> Arc<dyn CanonicalStore> {
        let url = format!("file://{}", self.folder.path().join("records").display());
        stores::canonical::open(&url, self.clock.clone()).unwrap()
    }

    fn files(&self) -> Vec<std::path::PathBuf> {
        let runs = std::fs::read_dir(self.folder.path().join("records")).unwrap();
        let files = runs.flat_map(|run| std::fs::read_dir(run.unwrap().path()).unwrap());
        files.map(|file| file.unwrap().path()).collect()
    }
}

fn run(text: &str) -> RunId {
    RunId::parse(text).unwrap()
}

fn id(text: &str) -> ToolCallId {
    ToolCallId::parse(text).unwrap()
}

fn started(run_id: &str, call: &str) -> CanonicalRecord {
    let request = serde_json::json!({ "query": "支付超时" });
    CanonicalRecord::started(
        run(run_id),
        id(call),
        ToolName::QueryLogs,
        request,
        "2026-01-01T00:00:00Z".to_owned(),
    )
}

fn ready(run_id: &str, call: &str, result: &str) -> CanonicalRecord {
    CanonicalRecord {
        status: InvocationStatus::Ready,
        evidence_status: Some(EvidenceStatus::EvidenceFound),
        agent_result: Some(RawValue::from_string(result.to_owned()).unwrap()),
        finished_at: Some("2026-01-01T00:00:01Z".to_owned()),
        ..started(run_id, call)
    }
}

fn is_conflict<T: std::fmt::Debug>(result: &Result<T, StoreError>) -> bool {
    matches!(result, Err(StoreError::Conflict { .. }))
}

#[tokio::test]
async fn a_record_is_created_once_and_ended_once_and_keeps_its_bytes() {
    let fixture = Fixture::new();
    let (store, other_process) = (fixture.store(), fixture.store());
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

#[tokio::test]
async fn ids_that_differ_in_case_or_punctuation_never_share_a_file() {
    let fixture = Fixture::new();
    let store = fixture.store();
    let long = "X".repeat(ToolCallId::MAX_CHARS);
    let ids = [
        "call_1", "Call_1", "CALL_1", "a:b", "a|b", "a=b", "a+b", "a@b", "a#b", "a.b", ".", "..", "con", "-",
        &long,
    ];
    for call in ids {
        store.start(&started(RUN, call)).await.unwrap();
        store.finish(&ready(RUN, call, &format!("{call:?}"))).await.unwrap();
    }
    let read = store.read(run(RUN), &ids.map(id)).await.unwrap();
    assert_eq!(read.len(), ids.len());
    for record in read {
        assert_eq!(record.agent_result.unwrap().get(), format!("{:?}", record.tool_call_id.as_str()));
    }
    let mut names: Vec<String> =
        fixture.files().iter().map(|f| f.file_name().unwrap().to_str().unwrap().to_lowercase()).collect();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), 2 * ids.len(), "one file per phase, also where case does not count");
}

#[tokio::test]
async fn of_many_writers_one_wins_and_readers_see_whole_records_only() {
    let fixture = Fixture::new();
    let big = format!("\"{}\"", "x".repeat(200_000));
    fixture.store().start(&started(RUN, "call_1")).await.unwrap();
    let mut work = tokio::task::JoinSet::new();
    for writer in 0..8 {
        let (store, big) = (fixture.store(), big.clone());
        work.spawn(async move {
            let created = store.start(&started(RUN, "contended")).await.is_ok();
            let ended = store.finish(&ready(RUN, "call_1", &big)).await.is_ok();
            for _ in 0..20 {
                let read = store.read(run(RUN), &[id("call_1")]).await.unwrap();
                assert_eq!(read.len(), 1, "writer {writer}");
            }
            (created, ended)
        });
    }
    let outcomes = work.join_all().await;
    assert_eq!(outcomes.iter().filter(|(created, _)| *created).count(), 1);
    assert_eq!(outcomes.iter().filter(|(_, ended)| *ended).count(), 1);
    assert!(
        fixture.files().iter().all(|file| file.extension().is_some_and(|e| e == "json")),
        "no temporary files"
    );
}

#[tokio::test]
async fn records_expire_and_their_files_go_with_a_later_run() {
    let fixture = Fixture::new();
    let store = fixture.store();
    store.start(&started(RUN, "call_1")).await.unwrap();
    fixture.clock.0.store(24 * 3600 - 5, Ordering::SeqCst);
    assert_eq!(store.read(run(RUN), &[id("call_1")]).await.unwrap().len(), 1);
    fixture.clock.0.store(24 * 3600 + 5, Ordering::SeqCst);
    assert!(store.read(run(RUN), &[id("call_1")]).await.unwrap().is_empty());
    assert!(is_conflict(&store.finish(&ready(RUN, "call_1", "{}")).await));

    let kept = fixture.folder.path().join("records").join("not-a-run");
    std::fs::create_dir(&kept).unwrap();
    store.start(&started(OTHER_RUN, "call_1")).await.unwrap();
    assert!(!fixture.folder.path().join("records").join(RUN).exists(), "swept");
    assert!(kept.exists(), "only runs are swept");
}

#[tokio::test]
async fn oversized_records_are_refused_before_they_are_written() {
    let fixture = Fixture::new();
    let store = fixture.store();
    store.start(&started(RUN, "call_1")).await.unwrap();
    let huge = format!("\"{}\"", "x".repeat(MAX_RECORD_BYTES));
    let refused = store.finish(&ready(RUN, "call_1", &huge)).await;
    assert!(matches!(refused, Err(StoreError::TooLarge { max_bytes: MAX_RECORD_BYTES, .. })));
    assert_eq!(fixture.files().len(), 1);
    store.finish(&ready(RUN, "call_1", "{}")).await.unwrap();
}

#[tokio::test]
async fn what_is_not_this_records_file_is_corrupt_never_absent_or_believed() {
    let fixture = Fixture::new();
    let store = fixture.store();
    store.start(&started(RUN, "call_1")).await.unwrap();
    let file = fixture.files().remove(0);
    let good = std::fs::read_to_string(&file).unwrap();
    let too_big = " ".repeat(MAX_RECORD_BYTES + 1000);
    let wrong = [
        String::new(),
        good[..good.len() / 2].to_owned(),
        good.replace(RUN, OTHER_RUN),
        good.replace("call_1", "call_2"),
        good.replace("\"record\"", "\"extra\":1,\"record\""),
        good.replace("STARTED", "READY"),
        too_big,
    ];
    for content in wrong {
        std::fs::write(&file, &content).unwrap();
        let read = store.read(run(RUN), &[id("call_1")]).await;
        assert!(matches!(read, Err(StoreError::Corrupt { .. })), "{:.80}", content);
        assert!(store.finish(&ready(RUN, "call_1", "{}")).await.is_err());
    }
    std::fs::write(&file, good).unwrap();
    store.finish(&ready(RUN, "call_1", "{}")).await.unwrap();
}

#[test]
fn addresses_of_other_kinds_are_refused_without_repeating_them() {
    for url in ["redis://:secret@h:1", "rediss://u:secret@h", "secret", "s3://secret", "file://"] {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let Err(error) = stores::canonical::open(url, clock) else { panic!("{url}") };
        assert!(error.to_string().starts_with("CANONICAL_STORE"), "{error}");
        assert!(!error.to_string().contains("secret"), "{error}");
    }
}
