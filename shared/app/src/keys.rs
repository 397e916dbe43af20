//! Making and revoking API keys: what the maintenance function and the admin endpoints share.

use std::sync::Arc;

use agent::ports::keys::{ApiKey, ApiKeys, KeyLimits};
use agent::ports::{Clock, StoreError};
use domain::ids::CallerId;
use edge::auth::{MintFault, NewKey, Scope};
use serde::Deserialize;
use time::OffsetDateTime;

/// Keys of one list at most.
const MAX_LISTED: u32 = 500;

/// A key that somebody wants.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeyRequest {
    /// Whom it speaks for. Several keys of one caller share runs, sessions and limits.
    pub caller: String,
    pub scopes: Vec<String>,
    #[serde(default, with = "time::serde::rfc3339::option")]
    pub expires_at: Option<OffsetDateTime>,
    #[serde(default)]
    pub concurrent_runs: Option<u32>,
    #[serde(default)]
    pub runs_per_minute: Option<u32>,
    #[serde(default)]
    pub tokens_per_day: Option<u64>,
}

/// Why there is no key.
#[derive(Debug, thiserror::Error)]
pub enum KeyFault {
    #[error("{0}")]
    Invalid(String),
    #[error("there is no such key")]
    NotFound,
    #[error("the key could not be made")]
    Mint(#[from] MintFault),
    #[error("the store of keys failed")]
    Store(#[from] StoreError),
}

#[derive(Clone)]
pub struct Keys {
    store: Arc<dyn ApiKeys>,
    clock: Arc<dyn Clock>,
}

impl Keys {
    pub fn new(store: Arc<dyn ApiKeys>, clock: Arc<dyn Clock>) -> Self {
        Self { store, clock }
    }

    /// The stored part, and the whole key: the only time that anybody sees it.
    pub async fn create(&self, request: KeyRequest) -> Result<(ApiKey, String), KeyFault> {
        let created_at = self.clock.now();
        let new = NewKey::mint()?;
        let key = ApiKey {
            id: new.id,
            caller: CallerId::parse(&request.caller).map_err(|fault| KeyFault::Invalid(fault.to_string()))?,
            scopes: scopes(&request.scopes)?,
            limits: KeyLimits {
                concurrent_runs: request.concurrent_runs,
                runs_per_minute: request.runs_per_minute,
                tokens_per_day: request.tokens_per_day,
            },
            created_at,
            expires_at: request.expires_at,
            revoked_at: None,
        };
        if key.expires_at.is_some_and(|at| at <= created_at) {
            return Err(KeyFault::Invalid("expires_at is over already".to_owned()));
        }
        self.store.create(&key, &new.hash).await?;
        tracing::info!(key.id = %key.id, key.caller = %key.caller, "API key created");
        Ok((key, new.key))
    }

    pub async fn list(&self) -> Result<Vec<ApiKey>, KeyFault> {
        Ok(self.store.list(MAX_LISTED).await?)
    }

    /// A process that used the key within the last minute may take it for the rest of that minute.
    pub async fn revoke(&self, id: &str) -> Result<(), KeyFault> {
        if !self.store.revoke(id, self.clock.now()).await? {
            return Err(KeyFault::NotFound);
        }
        tracing::info!(key.id = id, "API key revoked");
        Ok(())
    }
}

fn scopes(wanted: &[String]) -> Result<Vec<String>, KeyFault> {
    let known = Scope::ALL.map(Scope::as_str);
    let mut scopes: Vec<String> = Vec::new();
    for scope in wanted {
        let Some(scope) = known.iter().find(|known| *known == scope) else {
            return Err(KeyFault::Invalid(format!("a scope must be one of {}", known.join(", "))));
        };
        scopes.push((*scope).to_owned());
    }
    scopes.sort();
    scopes.dedup();
    if scopes.is_empty() {
        return Err(KeyFault::Invalid(format!("scopes must name at least one of {}", known.join(", "))));
    }
    Ok(scopes)
}
