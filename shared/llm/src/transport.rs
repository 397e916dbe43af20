//! The one HTTP client of this crate: built lazily and once, bounded in every direction, and read as the bytes come.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use reqwest::header::{CONTENT_TYPE, DATE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};
use reqwest::{Client, Response, redirect};
use url::Url;

use crate::probe::{self, Trouble};
use crate::retry;

/// Bytes of one stream that are read at most, envelopes included.
const MAX_STREAM_BYTES: usize = 64 * 1024 * 1024;
const RETRY_AFTER_MS: HeaderName = HeaderName::from_static("retry-after-ms");
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);
/// Shorter than the idle cut of common load balancers, so that a frozen sandbox rarely wakes up with a dead
/// connection.
const POOL_IDLE_TIMEOUT: Duration = Duration::from_secs(45);
/// A run makes one model call at a time; a few spare connections serve overlapping runs of one process.
const POOL_IDLE_PER_HOST: usize = 4;
/// Bytes of one response that are read at most.
const MAX_BODY_BYTES: usize = 4 * 1024 * 1024;

/// POSTs JSON to one URL.
pub(crate) struct Transport {
    url: Url,
    headers: HeaderMap,
    client: OnceLock<Option<Client>>,
}

/// A response whose head has arrived.
pub(crate) struct Opened {
    pub status: u16,
    /// What the server asked us to wait, if it said so in a way we understand.
    pub retry_after: Option<Duration>,
    response: Response,
    read: usize,
}

/// Why there is no response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoReply {
    /// No connection: the request was certainly not processed.
    NotSent(Trouble),
    /// The connection broke after that; the provider may have done the work.
    Lost,
    /// More bytes than any reply may have.
    TooLarge,
    /// This process can't speak HTTP at all.
    NoClient,
}

impl Transport {
    /// `own` are the headers of the wire format, the credential among them.
    pub(crate) fn new(url: Url, own: impl IntoIterator<Item = (HeaderName, HeaderValue)>) -> Self {
        let mut headers = HeaderMap::from_iter(own);
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        Self { url, headers, client: OnceLock::new() }
    }

    /// Sends a request and waits for the head of its response. The caller bounds the time by dropping the future, which also
    /// drops the connection.
    pub(crate) async fn post(&self, body: Bytes) -> Result<Opened, NoReply> {
        let client = self.client.get_or_init(|| build(self.url.scheme() == "https"));
        let Some(client) = client else { return Err(NoReply::NoClient) };
        let request = client.post(self.url.clone()).headers(self.headers.clone()).body(body);
        let response = request.send().await.map_err(no_reply)?;
        let status = response.status().as_u16();
        let retry_after = retry_after(response.headers());
        Ok(Opened { status, retry_after, response, read: 0 })
    }
}

impl Opened {
    /// The next bytes as they came; `None` after the last ones.
    pub(crate) async fn chunk(&mut self) -> Result<Option<Bytes>, NoReply> {
        let chunk = self.response.chunk().await.map_err(|_| NoReply::Lost)?;
        self.read += chunk.as_ref().map_or(0, Bytes::len);
        if self.read > MAX_STREAM_BYTES { Err(NoReply::TooLarge) } else { Ok(chunk) }
    }

    /// The whole body of a response that is short by nature: an error's.
    pub(crate) async fn whole(self) -> Result<Bytes, NoReply> {
        bounded_body(self.response).await
    }
}

/// The client. Over plain HTTP it gets an empty root store, so that nothing is read or parsed for a
/// certificate it never sees.
fn build(https: bool) -> Option<Client> {
    let mut roots = rustls::RootCertStore::empty();
    if https {
        roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    }
    let tls = rustls::ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map(|builder| builder.with_root_certificates(roots).with_no_client_auth());
    let built = tls.map_err(|_| "tls").and_then(|tls| {
        Client::builder()
            .tls_backend_preconfigured(tls)
            .redirect(redirect::Policy::none())
            // The proxy variables are environment, and only app::config reads that.
            .no_proxy()
            .referer(false)
            .connect_timeout(CONNECT_TIMEOUT)
            .pool_idle_timeout(POOL_IDLE_TIMEOUT)
            .pool_max_idle_per_host(POOL_IDLE_PER_HOST)
            .tcp_nodelay(true)
            .build()
            .map_err(|_| "client")
    });
    built.inspect_err(|part| tracing::error!(http.part = part, "the HTTP client could not be built")).ok()
}

fn no_reply(error: reqwest::Error) -> NoReply {
    if error.is_connect() { NoReply::NotSent(probe::of_connection(&error)) } else { NoReply::Lost }
}

async fn bounded_body(mut response: Response) -> Result<Bytes, NoReply> {
    if response.content_length().is_some_and(|declared| declared > MAX_BODY_BYTES as u64) {
        return Err(NoReply::TooLarge);
    }
    let mut body = BytesMut::new();
    while let Some(chunk) = response.chunk().await.map_err(|_| NoReply::Lost)? {
        if body.len() + chunk.len() > MAX_BODY_BYTES {
            return Err(NoReply::TooLarge);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body.freeze())
}

fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = |name| headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok());
    // Milliseconds, of the vendors whose own clients prefer them.
    let exact = text(RETRY_AFTER_MS).and_then(|text| text.trim().parse::<u64>().ok());
    match exact {
        Some(millis) => Some(Duration::from_millis(millis).min(retry::LONGEST_ASKED)),
        None => retry::retry_after(text(RETRY_AFTER)?, text(DATE)),
    }
}
