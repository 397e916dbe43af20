//! OpenID Connect: callers with access tokens of one issuer, checked against its published keys.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use agent::ports::Clock;
use agent::ports::run_control::CallerLimits;
use domain::ids::CallerId;
use reqwest::{Client, Url, redirect};
use serde::Deserialize;
use tokio::sync::Mutex;
use tokio::time::Instant;

use super::api_key::{digest, hex};
use super::token::{BadToken, Key, PublishedKey, Token, check};
use super::{Caller, Scope, unauthenticated};
use crate::problem::Problem;

const FETCH_TIMEOUT: Duration = Duration::from_secs(3);
const MAX_DOCUMENT_BYTES: usize = 256 * 1024;
/// Providers rotate their keys over days; a new key's first token fetches at once.
const FRESH_FOR: Duration = Duration::from_secs(60 * 60);
/// Longer than this no key is believed without asking.
const USABLE_FOR: Duration = Duration::from_secs(24 * 60 * 60);
/// Tokens with made-up key ids must not make us hammer the provider.
const LEAST_PAUSE: Duration = Duration::from_secs(30);

/// Whose tokens count, and which of them are for us.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Provider {
    /// As tokens name it, to the character.
    issuer: String,
    audience: String,
}

/// Why an issuer or audience can't be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidProvider {
    #[error(
        "OIDC_ISSUER must be an https:// URL (http:// only on this machine), as the tokens' `iss` has it"
    )]
    Issuer,
    #[error("OIDC_AUDIENCE must be set to the tokens' `aud` for this service")]
    Audience,
}

impl Provider {
    pub fn new(issuer: &str, audience: &str) -> Result<Self, InvalidProvider> {
        let url = Url::parse(issuer).map_err(|_| InvalidProvider::Issuer)?;
        if !is_safe(&url) || url.query().is_some() || url.fragment().is_some() {
            return Err(InvalidProvider::Issuer);
        }
        if audience.is_empty() {
            return Err(InvalidProvider::Audience);
        }
        Ok(Self { issuer: issuer.to_owned(), audience: audience.to_owned() })
    }
}

/// Keys are believed because of where they come from: nobody may be able to answer in that place.
fn is_safe(url: &Url) -> bool {
    let is_loopback = matches!(url.host_str(), Some("127.0.0.1" | "localhost" | "[::1]"));
    url.has_host() && (url.scheme() == "https" || (url.scheme() == "http" && is_loopback))
}

/// Checks tokens; fetches keys at the first one.
pub struct Oidc {
    provider: Provider,
    clock: Arc<dyn Clock>,
    quota: CallerLimits,
    client: OnceLock<Option<Client>>,
    keys: Mutex<KeySet>,
}

#[derive(Default)]
struct KeySet {
    keys: HashMap<Option<String>, Key>,
    fetched: Option<Instant>,
    tried: Option<Instant>,
}

#[derive(Deserialize)]
struct Discovery {
    issuer: String,
    jwks_uri: String,
}

#[derive(Deserialize)]
struct Published {
    keys: Vec<serde_json::Value>,
}

impl Oidc {
    /// Does no IO.
    pub fn new(provider: Provider, clock: Arc<dyn Clock>, quota: CallerLimits) -> Self {
        Self { provider, clock, quota, client: OnceLock::new(), keys: Mutex::default() }
    }

    pub(super) async fn caller(&self, text: &str) -> Result<Caller, Problem> {
        let refused = |bad: BadToken| unauthenticated(bad.as_str());
        let token = Token::parse(text).map_err(refused)?;
        let key = self.key(token.kid.as_ref()).await?.ok_or_else(|| refused(BadToken::UnknownKey))?;
        let claims = token.verified(&key).map_err(refused)?;
        let Provider { issuer, audience } = &self.provider;
        check(&claims, issuer, audience, self.clock.now()).map_err(refused)?;
        let id = caller_id(issuer, &claims.sub).ok_or_else(|| refused(BadToken::Claims))?;
        let scopes = claims.scopes(audience).iter().filter_map(|scope| Scope::parse(scope)).collect();
        Ok(Caller { id, scopes, quota: self.quota })
    }

    /// The key of that id, fetched anew where that may help; `None` if the provider has no such key.
    ///
    /// Holding the lock while fetching makes everybody who needs the keys meanwhile wait for the same answer.
    async fn key(&self, kid: Option<&String>) -> Result<Option<Key>, Problem> {
        let mut set = self.keys.lock().await;
        let age = |at: Option<Instant>| at.map(|at| at.elapsed());
        let known = set.find(kid);
        let is_fresh = age(set.fetched).is_some_and(|age| age < FRESH_FOR);
        let may_ask = age(set.tried).is_none_or(|age| age >= LEAST_PAUSE);
        if may_ask && (known.is_none() || !is_fresh) {
            set.tried = Some(Instant::now());
            match self.fetch().await {
                Ok(keys) => (set.keys, set.fetched) = (keys, Some(Instant::now())),
                Err(fault) => tracing::error!(fault, "the identity provider's keys can't be read"),
            }
        }
        if age(set.fetched).is_some_and(|age| age < USABLE_FOR) {
            return Ok(set.find(kid));
        }
        Err(Problem::store_unavailable())
    }

    async fn fetch(&self) -> Result<HashMap<Option<String>, Key>, &'static str> {
        let issuer = &self.provider.issuer;
        let at = format!("{}/.well-known/openid-configuration", issuer.trim_end_matches('/'));
        let discovery: Discovery = self.get(&at).await?;
        if discovery.issuer != *issuer {
            return Err("the discovery document is of another issuer");
        }
        let keys_at = Url::parse(&discovery.jwks_uri).ok().filter(is_safe);
        let published: Published =
            self.get(keys_at.ok_or("the key set's address is not safe")?.as_str()).await?;
        // Kinds of keys that we don't know are not ours to refuse.
        let read = |key| serde_json::from_value::<PublishedKey>(key).ok();
        let usable = |key: PublishedKey| key.usable().map(|usable| (key.kid, usable));
        let keys: HashMap<_, _> = published.keys.into_iter().filter_map(read).filter_map(usable).collect();
        if keys.is_empty() { Err("the key set has no key for RS256 or ES256") } else { Ok(keys) }
    }

    async fn get<T: for<'de> Deserialize<'de>>(&self, url: &str) -> Result<T, &'static str> {
        let client = self.client.get_or_init(build).as_ref().ok_or("there is no HTTP client")?;
        let answer = async {
            let mut response = client.get(url).send().await.map_err(|_| "the provider doesn't answer")?;
            if !response.status().is_success() {
                return Err("the provider answered with an error");
            }
            let mut body = Vec::new();
            while let Some(chunk) = response.chunk().await.map_err(|_| "the provider's answer broke off")? {
                body.extend_from_slice(&chunk);
                if body.len() > MAX_DOCUMENT_BYTES {
                    return Err("the provider's answer is too long");
                }
            }
            serde_json::from_slice(&body).map_err(|_| "the provider's answer is not what the standard says")
        };
        tokio::time::timeout(FETCH_TIMEOUT, answer)
            .await
            .unwrap_or(Err("the provider doesn't answer in time"))
    }
}

impl KeySet {
    /// A token without a key id means the only key.
    fn find(&self, kid: Option<&String>) -> Option<Key> {
        match kid {
            Some(kid) => self.keys.get(&Some(kid.clone())).cloned(),
            None if self.keys.len() == 1 => self.keys.values().next().cloned(),
            None => None,
        }
    }
}

/// The caller that a subject is: by its name, or by its digest where that has characters of no caller id.
fn caller_id(issuer: &str, subject: &str) -> Option<CallerId> {
    let digested = || {
        let digest = hex(&digest(&format!("{issuer}\n{subject}")));
        CallerId::parse(&format!("oidc-{}", digest.get(..40)?)).ok()
    };
    CallerId::parse(subject).ok().or_else(digested)
}

fn build() -> Option<Client> {
    let roots = rustls::RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls =
        rustls::ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().ok()?;
    Client::builder()
        .tls_backend_preconfigured(tls.with_root_certificates(roots).with_no_client_auth())
        .redirect(redirect::Policy::none())
        .no_proxy()
        .connect_timeout(FETCH_TIMEOUT)
        .build()
        .ok()
}

#[cfg(test)]
#[path = "oidc_tests.rs"]
mod tests;
