//! Canonical records in Redis or Valkey: one key a call, all of a run in one hash slot.
//!
//! A value is one letter for its phase (`S` open, `T` terminal) and the record as JSON, which holds the run and the call it belongs
//! to; both are checked on every read, so that not even a mixed-up connection can hand one run another's evidence. A command whose
//! answer was lost is sent again: if the second one comes too late for its own first one, what is stored tells.

mod address;
mod connection;

use std::time::Duration;

use agent::ports::canonical::{MAX_RECORD_BYTES, RECORD_TTL_SECONDS};
use agent::ports::{CanonicalStore, StoreError};
use async_trait::async_trait;
use domain::evidence::{CanonicalRecord, InvocationStatus};
use domain::ids::{RunId, ToolCallId};
use redis::{Cmd, Script};

use self::connection::Connection;
use super::{RECORD, STORE};
use crate::AddressError;

/// Before every key. The number changes with the values' form, so that versions never read each other's.
const PREFIX: &str = "superbiz:1";
/// Marks of the phases, the first byte of a value.
const OPEN: u8 = b'S';
const TERMINAL: u8 = b'T';

/// Replaces an open value by a terminal one. 1: done; 0: the record is missing or has ended.
const FINISH: &str = "local value = redis.call('GET', KEYS[1]) \
    if not value or string.sub(value, 1, 1) ~= 'S' then return 0 end \
    redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2]) \
    return 1";

/// The store. All clones of the connection inside share one socket.
pub struct RedisStore {
    connection: Connection,
    finish: Script,
}

impl RedisStore {
    /// Does no IO: the first command connects.
    ///
    /// # Errors
    /// A URL that names no Redis server.
    pub fn new(url: &str) -> Result<Self, AddressError> {
        Ok(Self { connection: Connection::new(address::parse(url)?), finish: Script::new(FINISH) })
    }
}

#[async_trait]
impl CanonicalStore for RedisStore {
    async fn start(&self, record: &CanonicalRecord) -> Result<(), StoreError> {
        let (key, value) = (key(record.run_id, &record.tool_call_id), encode(record)?);
        let mut set = Cmd::new();
        set.arg("SET").arg(&key).arg(&value).arg("NX").arg("PX").arg(ttl_ms());
        let created = self.connection.run::<Option<String>>("SET", &set).await?;
        self.settle(created.value.is_some(), created.repeated, &key, &value).await
    }

    async fn finish(&self, record: &CanonicalRecord) -> Result<(), StoreError> {
        let (key, value) = (key(record.run_id, &record.tool_call_id), encode(record)?);
        let mut call = Cmd::new();
        call.arg("EVALSHA").arg(self.finish.get_hash()).arg(1).arg(&key).arg(&value).arg(ttl_ms());
        let done = match self.connection.run::<i64>("EVALSHA", &call).await {
            Err(StoreError::Unavailable { source: Some(source), .. })
                if connection::is_no_script(&*source) =>
            {
                let mut call = Cmd::new();
                call.arg("EVAL").arg(FINISH).arg(1).arg(&key).arg(&value).arg(ttl_ms());
                self.connection.run::<i64>("EVAL", &call).await?
            }
            other => other?,
        };
        self.settle(done.value == 1, done.repeated, &key, &value).await
    }

    async fn read(&self, run_id: RunId, ids: &[ToolCallId]) -> Result<Vec<CanonicalRecord>, StoreError> {
        let mut ids = ids.to_vec();
        ids.sort();
        ids.dedup();
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let mut get = Cmd::new();
        get.arg("MGET");
        for id in &ids {
            get.arg(key(run_id, id));
        }
        let values = self.connection.run::<Vec<Option<Vec<u8>>>>("MGET", &get).await?.value;
        if values.len() != ids.len() {
            return Err(corrupt());
        }
        let found = ids.iter().zip(values).filter_map(|(id, value)| value.map(|value| (id, value)));
        found.map(|(id, value)| decode(&value, run_id, id)).collect()
    }

    async fn ping(&self) -> Result<(), StoreError> {
        self.connection.run::<String>("PING", Cmd::new().arg("PING")).await.map(drop)
    }
}

impl RedisStore {
    /// Whether a write has happened: it was `done`, or it was sent twice and its value is there.
    async fn settle(&self, done: bool, repeated: bool, key: &str, value: &[u8]) -> Result<(), StoreError> {
        if done {
            return Ok(());
        }
        if repeated {
            let mut get = Cmd::new();
            get.arg("GET").arg(key);
            let stored = self.connection.run::<Option<Vec<u8>>>("GET", &get).await?.value;
            if stored.is_some_and(|stored| stored == value) {
                return Ok(());
            }
        }
        Err(conflict())
    }
}

/// The braces make all keys of a run share a slot, so that one command reads them all.
fn key(run_id: RunId, id: &ToolCallId) -> String {
    format!("{PREFIX}:run:{{{run_id}}}:call:{}", id.as_str())
}

fn ttl_ms() -> u64 {
    u64::try_from(Duration::from_secs(RECORD_TTL_SECONDS).as_millis()).unwrap_or(u64::MAX)
}

fn encode(record: &CanonicalRecord) -> Result<Vec<u8>, StoreError> {
    let mut value = vec![if is_open(record) { OPEN } else { TERMINAL }];
    serde_json::to_writer(&mut value, record).map_err(|e| StoreError::unavailable(STORE, "encoding", e))?;
    if value.len() > MAX_RECORD_BYTES {
        return Err(StoreError::TooLarge { store: STORE, what: RECORD, max_bytes: MAX_RECORD_BYTES });
    }
    Ok(value)
}

fn decode(value: &[u8], run_id: RunId, id: &ToolCallId) -> Result<CanonicalRecord, StoreError> {
    let (phase, json) = value.split_first().ok_or_else(corrupt)?;
    let record: CanonicalRecord = serde_json::from_slice(json).map_err(|_| corrupt())?;
    let right_phase = *phase == if is_open(&record) { OPEN } else { TERMINAL };
    if record.run_id != run_id || record.tool_call_id != *id || !right_phase {
        return Err(corrupt());
    }
    Ok(record)
}

fn is_open(record: &CanonicalRecord) -> bool {
    matches!(record.status, InvocationStatus::Started | InvocationStatus::Projecting)
}

fn conflict() -> StoreError {
    StoreError::Conflict { store: STORE, what: RECORD }
}

fn corrupt() -> StoreError {
    StoreError::Corrupt { store: STORE, what: RECORD }
}
