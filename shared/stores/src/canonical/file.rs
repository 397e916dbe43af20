//! Canonical records as files, for development: one folder per run, written by several processes at once
//! without locks.
//!
//! A record is two files that are each created once and never changed: `KEY.started.json` and
//! `KEY.terminal.json`. Both appear whole, by hard-linking a finished temporary file to a name that must not
//! exist. So a reader never sees half a record, `start` is create-only, and `finish` is a compare-and-set:
//! the file system lets exactly one terminal file come into being. KEY is a digest of the tool call id,
//! because ids may differ only in case and may hold characters that some file systems refuse; the id inside
//! the value is verified on every read.

use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use agent::ports::canonical::{MAX_RECORD_BYTES, RECORD_TTL_SECONDS};
use agent::ports::{CanonicalStore, Clock, StoreError};
use async_trait::async_trait;
use domain::evidence::{CanonicalRecord, InvocationStatus};
use domain::ids::{RunId, ToolCallId};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{RECORD, STORE, sweep};

/// What the envelope adds to a record's own bytes, generously.
const ENVELOPE_BYTES: usize = 256;
/// A process looks for expired runs at most this often, in seconds.
const SWEEP_EVERY_SECONDS: i64 = 600;

/// What a file holds.
#[derive(Serialize)]
struct Written<'a> {
    /// Unix seconds.
    expires_at: i64,
    record: &'a CanonicalRecord,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    expires_at: i64,
    record: CanonicalRecord,
}

#[derive(Clone, Copy)]
enum Phase {
    Started,
    Terminal,
}

/// The folder. Cheap to clone; all clones share the sweep's pace.
#[derive(Clone)]
pub struct FileStore {
    inner: Arc<Inner>,
}

struct Inner {
    folder: PathBuf,
    clock: Arc<dyn Clock>,
    next_sweep: AtomicI64,
    temporary: AtomicU64,
}

impl FileStore {
    /// Does no IO.
    pub fn new(folder: impl Into<PathBuf>, clock: Arc<dyn Clock>) -> Self {
        let inner = Inner {
            folder: folder.into(),
            clock,
            next_sweep: AtomicI64::new(0),
            temporary: AtomicU64::new(0),
        };
        Self { inner: Arc::new(inner) }
    }

    /// File calls block, so they run on tokio's blocking threads. A caller that gives up leaves a whole
    /// operation behind.
    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Inner) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let inner = Arc::clone(&self.inner);
        let done = tokio::task::spawn_blocking(move || work(&inner)).await;
        done.unwrap_or_else(|fault| Err(StoreError::unavailable(STORE, "file operation", fault)))
    }
}

#[async_trait]
impl CanonicalStore for FileStore {
    async fn start(&self, record: &CanonicalRecord) -> Result<(), StoreError> {
        let (run_id, id, json) = (record.run_id, record.tool_call_id.clone(), self.inner.encode(record)?);
        self.blocking(move |inner| {
            inner.sweep();
            inner.publish(run_id, &id, Phase::Started, &json)
        })
        .await
    }

    async fn finish(&self, record: &CanonicalRecord) -> Result<(), StoreError> {
        let (run_id, id, json) = (record.run_id, record.tool_call_id.clone(), self.inner.encode(record)?);
        self.blocking(move |inner| match inner.record(run_id, &id)? {
            Some(current) if is_open(current.status) => inner.publish(run_id, &id, Phase::Terminal, &json),
            _ => Err(StoreError::Conflict { store: STORE, what: RECORD }),
        })
        .await
    }

    async fn read(&self, run_id: RunId, ids: &[ToolCallId]) -> Result<Vec<CanonicalRecord>, StoreError> {
        let mut ids = ids.to_vec();
        ids.sort();
        ids.dedup();
        self.blocking(move |inner| ids.iter().filter_map(|id| inner.record(run_id, id).transpose()).collect())
            .await
    }

    async fn ping(&self) -> Result<(), StoreError> {
        self.blocking(|inner| inner.make_folder(&inner.folder)).await
    }
}

fn is_open(status: InvocationStatus) -> bool {
    matches!(status, InvocationStatus::Started | InvocationStatus::Projecting)
}

impl Inner {
    fn now(&self) -> i64 {
        self.clock.now().unix_timestamp()
    }

    fn encode(&self, record: &CanonicalRecord) -> Result<Vec<u8>, StoreError> {
        let ttl = i64::try_from(RECORD_TTL_SECONDS).unwrap_or(i64::MAX);
        let written = Written { expires_at: self.now().saturating_add(ttl), record };
        let json = serde_json::to_vec(&written).map_err(|e| StoreError::unavailable(STORE, "encoding", e))?;
        if json.len() > MAX_RECORD_BYTES {
            return Err(StoreError::TooLarge { store: STORE, what: RECORD, max_bytes: MAX_RECORD_BYTES });
        }
        Ok(json)
    }

    fn run_folder(&self, run_id: RunId) -> PathBuf {
        self.folder.join(run_id.to_string())
    }

    fn path(&self, run_id: RunId, id: &ToolCallId, phase: Phase) -> PathBuf {
        let name = match phase {
            Phase::Started => "started",
            Phase::Terminal => "terminal",
        };
        let key: String = Sha256::digest(id.as_str()).iter().map(|byte| format!("{byte:02x}")).collect();
        self.run_folder(run_id).join(format!("{key}.{name}.json"))
    }

    /// Makes the file appear whole under a name that must be free.
    fn publish(&self, run_id: RunId, id: &ToolCallId, phase: Phase, json: &[u8]) -> Result<(), StoreError> {
        let folder = self.run_folder(run_id);
        self.make_folder(&folder)?;
        let unique = self.temporary.fetch_add(1, Ordering::Relaxed);
        let moment = self.clock.now().unix_timestamp_nanos();
        let temporary = folder.join(format!("{}-{unique}-{moment}.tmp", std::process::id()));
        let linked = write_new(&temporary, json)
            .and_then(|()| fs::hard_link(&temporary, self.path(run_id, id, phase)));
        // Left behind only by a killed process; the sweep takes it with the run.
        let _ = fs::remove_file(&temporary);
        linked.map_err(|fault| match fault.kind() {
            io::ErrorKind::AlreadyExists => StoreError::Conflict { store: STORE, what: RECORD },
            _ => StoreError::unavailable(STORE, "write", fault),
        })
    }

    /// The record in its latest phase; `None` if there is none or its time is over.
    fn record(&self, run_id: RunId, id: &ToolCallId) -> Result<Option<CanonicalRecord>, StoreError> {
        for phase in [Phase::Terminal, Phase::Started] {
            if let Some(json) = read_bounded(&self.path(run_id, id, phase))? {
                return self.decode(&json, run_id, id, phase);
            }
        }
        Ok(None)
    }

    fn decode(
        &self,
        json: &[u8],
        run_id: RunId,
        id: &ToolCallId,
        phase: Phase,
    ) -> Result<Option<CanonicalRecord>, StoreError> {
        let corrupt = StoreError::Corrupt { store: STORE, what: RECORD };
        let Ok(stored) = serde_json::from_slice::<Stored>(json) else { return Err(corrupt) };
        let record = stored.record;
        let right_phase = matches!(phase, Phase::Started) == is_open(record.status);
        if record.run_id != run_id || record.tool_call_id != *id || !right_phase {
            return Err(corrupt);
        }
        Ok((stored.expires_at > self.now()).then_some(record))
    }

    /// Only its owner may look inside: records hold what the sources answered.
    fn make_folder(&self, folder: &Path) -> Result<(), StoreError> {
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(folder).map_err(|fault| StoreError::unavailable(STORE, "folder", fault))
    }

    /// Every now and then, with some write.
    fn sweep(&self) {
        let now = self.now();
        let due = self.next_sweep.load(Ordering::Relaxed);
        let next = now.saturating_add(SWEEP_EVERY_SECONDS);
        if now < due
            || self.next_sweep.compare_exchange(due, next, Ordering::Relaxed, Ordering::Relaxed).is_err()
        {
            return;
        }
        sweep::remove_expired(&self.folder, now);
    }
}

fn write_new(path: &Path, json: &[u8]) -> io::Result<()> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)?.write_all(json)
}

/// `None` if there is no such file; an oversized one is not what this store writes.
fn read_bounded(path: &Path) -> Result<Option<Vec<u8>>, StoreError> {
    let limit = MAX_RECORD_BYTES + ENVELOPE_BYTES;
    let file = match fs::File::open(path) {
        Ok(file) => file,
        Err(fault) if fault.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(fault) => return Err(StoreError::unavailable(STORE, "read", fault)),
    };
    let mut json = Vec::new();
    let over = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
    file.take(over).read_to_end(&mut json).map_err(|fault| StoreError::unavailable(STORE, "read", fault))?;
    if json.len() > limit { Err(StoreError::Corrupt { store: STORE, what: RECORD }) } else { Ok(Some(json)) }
}
