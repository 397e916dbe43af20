//! API keys: `sbz_ID_SECRET`. The id finds the row, the whole key's SHA-256 must be the stored one.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, PoisonError};

use agent::boundary::chain;
use agent::ports::keys::{ApiKey, ApiKeys, KeyHash};
use agent::ports::run_control::CallerLimits;
use agent::ports::{Clock, StoreError};
use ring::rand::{SecureRandom, SystemRandom};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;
use time::{Duration, OffsetDateTime};

use super::{Caller, Scope, unauthenticated};
use crate::problem::Problem;

const PREFIX: &str = "sbz_";
const ID_BYTES: usize = 6;
const SECRET_BYTES: usize = 32;
/// How long a process trusts what it read of a key: a revoked one works at most so much longer.
const TRUSTED_FOR: Duration = Duration::seconds(60);
/// Keys remembered by one process at most.
const REMEMBERED: usize = 1000;

/// A key that nobody has seen yet.
pub struct NewKey {
    pub id: String,
    /// The whole key: to be shown once.
    pub key: String,
    pub hash: KeyHash,
}

/// The system gave no random bytes.
#[derive(Debug, thiserror::Error)]
#[error("the system has no random bytes to make a key of")]
pub struct MintFault;

impl NewKey {
    pub fn mint() -> Result<Self, MintFault> {
        let (mut id, mut secret) = ([0; ID_BYTES], [0; SECRET_BYTES]);
        let random = SystemRandom::new();
        random.fill(&mut id).and_then(|()| random.fill(&mut secret)).map_err(|_| MintFault)?;
        let id = hex(&id);
        let key = format!("{PREFIX}{id}_{}", hex(&secret));
        let hash = KeyHash(hex(&digest(&key)));
        Ok(Self { id, key, hash })
    }
}

/// Checks keys against the store, and remembers for a while what it said.
pub struct KeyRing {
    store: Arc<dyn ApiKeys>,
    clock: Arc<dyn Clock>,
    defaults: CallerLimits,
    /// By the key's digest: no key stays in memory.
    known: Mutex<HashMap<[u8; 32], Known>>,
}

#[derive(Clone)]
struct Known {
    caller: Caller,
    until: OffsetDateTime,
}

impl KeyRing {
    /// `defaults` hold where a key says nothing else.
    pub fn new(store: Arc<dyn ApiKeys>, clock: Arc<dyn Clock>, defaults: CallerLimits) -> Self {
        Self { store, clock, defaults, known: Mutex::default() }
    }

    pub(super) async fn caller(&self, key: &str) -> Result<Caller, Problem> {
        let Some(id) = id_of(key) else {
            return Err(unauthenticated("the credential is no API key; one looks like sbz_0123456789ab_…"));
        };
        let (digest, now) = (digest(key), self.clock.now());
        let known = self.known().get(&digest).filter(|known| now < known.until).cloned();
        if let Some(known) = known {
            return Ok(known.caller);
        }
        let found = self.store.find(id).await.map_err(|error: StoreError| {
            tracing::error!(error = %chain(&error), "API keys can't be checked");
            Problem::store_unavailable()
        })?;
        // One answer for all: whoever tries keys learns nothing of them.
        let stored = found.filter(|(stored, hash)| {
            let is_same: bool = hash.0.as_bytes().ct_eq(hex(&digest).as_bytes()).into();
            is_same && is_valid(stored, now)
        });
        let Some((stored, _)) = stored else {
            return Err(unauthenticated("the API key is unknown, expired or revoked"));
        };
        let until = (now + TRUSTED_FOR).min(stored.expires_at.unwrap_or(now + TRUSTED_FOR));
        let scopes = stored.scopes.iter().filter_map(|scope| Scope::parse(scope)).collect();
        let caller = Caller { id: stored.caller, scopes, quota: stored.limits.over(self.defaults) };
        self.remember(digest, Known { caller: caller.clone(), until }, now);
        Ok(caller)
    }

    fn remember(&self, digest: [u8; 32], known: Known, now: OffsetDateTime) {
        let mut all = self.known();
        if all.len() >= REMEMBERED {
            all.retain(|_, known| now < known.until);
        }
        if all.len() < REMEMBERED {
            all.insert(digest, known);
        }
    }

    /// What was remembered is true whoever panicked meanwhile.
    fn known(&self) -> std::sync::MutexGuard<'_, HashMap<[u8; 32], Known>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_valid(key: &ApiKey, now: OffsetDateTime) -> bool {
    key.revoked_at.is_none_or(|at| now < at) && key.expires_at.is_none_or(|at| now < at)
}

/// The id of what has the form of a key.
fn id_of(key: &str) -> Option<&str> {
    let (id, secret) = key.strip_prefix(PREFIX)?.split_once('_')?;
    let is_hex = |text: &str, bytes: usize| {
        text.len() == 2 * bytes && text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
    };
    (is_hex(id, ID_BYTES) && is_hex(secret, SECRET_BYTES)).then_some(id)
}

pub(super) fn digest(text: &str) -> [u8; 32] {
    Sha256::digest(text).into()
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string can't fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
#[path = "api_key_tests.rs"]
mod tests;
