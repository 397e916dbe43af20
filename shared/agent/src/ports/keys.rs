//! API keys as they are stored: who they speak for, what they may do, until when. The key itself is stored nowhere.

use async_trait::async_trait;
use domain::ids::CallerId;
use time::OffsetDateTime;

use super::StoreError;
use super::run_control::CallerLimits;

/// A key's public part and what it is worth.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiKey {
    /// Names the key in lists and logs; it opens nothing.
    pub id: String,
    pub caller: CallerId,
    /// As granted, by their names on the wire.
    pub scopes: Vec<String>,
    pub limits: KeyLimits,
    pub created_at: OffsetDateTime,
    pub expires_at: Option<OffsetDateTime>,
    pub revoked_at: Option<OffsetDateTime>,
}

/// Limits of one key's caller; what is `None` is the deployment's default.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct KeyLimits {
    pub concurrent_runs: Option<u32>,
    pub runs_per_minute: Option<u32>,
    pub tokens_per_day: Option<u64>,
}

impl KeyLimits {
    /// These limits over `defaults`.
    pub fn over(self, defaults: CallerLimits) -> CallerLimits {
        CallerLimits {
            concurrent_runs: self.concurrent_runs.unwrap_or(defaults.concurrent_runs),
            runs_per_minute: self.runs_per_minute.unwrap_or(defaults.runs_per_minute),
            tokens_per_day: self.tokens_per_day.unwrap_or(defaults.tokens_per_day),
        }
    }
}

/// SHA-256 of a whole key, hexadecimal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyHash(pub String);

#[async_trait]
pub trait ApiKeys: Send + Sync {
    /// # Errors
    /// `Conflict` if there is a key with this id.
    async fn create(&self, key: &ApiKey, hash: &KeyHash) -> Result<(), StoreError>;

    /// Revoked and expired ones too: whoever asks decides by the clock.
    async fn find(&self, id: &str) -> Result<Option<(ApiKey, KeyHash)>, StoreError>;

    /// Newest first.
    async fn list(&self, limit: u32) -> Result<Vec<ApiKey>, StoreError>;

    /// From `at` on; an earlier revocation stands. `false` if there is no such key.
    async fn revoke(&self, id: &str, at: OffsetDateTime) -> Result<bool, StoreError>;
}
