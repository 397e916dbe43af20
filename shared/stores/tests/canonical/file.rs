//! The folder of canonical records: expiry, files that never collide, and files that are not what they should be.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use agent::ports::canonical::MAX_RECORD_BYTES;
use agent::ports::{CanonicalStore, Clock, StoreError, SystemClock};
use domain::ids::ToolCallId;
use time::{Duration, OffsetDateTime};

use crate::{OTHER_RUN, RUN, behaviour, id, is_conflict, ready, run, started};

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

#[tokio::test]
async fn behaves_as_every_canonical_store() {
    let fixture = Fixture::new();
    behaviour::all(&|| fixture.store()).await;
    assert!(
        fixture.files().iter().all(|file| file.extension().is_some_and(|e| e == "json")),
        "no temporary files"
    );
}

#[tokio::test]
async fn ids_never_share_a_file() {
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
    let mut names: Vec<String> =
        fixture.files().iter().map(|f| f.file_name().unwrap().to_str().unwrap().to_lowercase()).collect();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), 2 * ids.len(), "one file per phase, also where case does not count");
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
