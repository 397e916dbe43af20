//! Asks a question over HTTP and reads the answer event by event.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use reqwest::header::HeaderMap;

use super::{Arrived, Checker, Fault, Problem, Transcript};

#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// No connection, or it broke in the middle.
    #[error("the connection failed")]
    Transport(#[from] reqwest::Error),
    #[error("protocol fault: {0}")]
    Protocol(#[from] Fault),
    #[error("the HTTP client could not be built: {0}")]
    Client(String),
}

/// An HTTP client for loopback servers: no proxy, no roots, no redirects, no total timeout.
///
/// # Errors
/// When TLS can't be set up; it is never used.
pub fn loopback_client() -> Result<reqwest::Client, AskError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|fault| AskError::Client(fault.to_string()))?
        .with_root_certificates(rustls::RootCertStore::empty())
        .with_no_client_auth();
    let client = reqwest::Client::builder()
        .no_proxy()
        .redirect(reqwest::redirect::Policy::none())
        .connect_timeout(Duration::from_secs(10))
        .tls_backend_preconfigured(tls);
    Ok(client.build()?)
}

/// Posts `body` as JSON (unless `headers` say otherwise) and returns once the response's head is there. A
/// refusal is an answer too: its stream has no events, and [`Stream::collect`] has the problem document.
///
/// # Errors
/// No connection, or a head that the contract doesn't allow.
pub async fn ask(
    url: &str,
    body: impl Into<reqwest::Body>,
    headers: &[(&str, &str)],
) -> Result<Stream, AskError> {
    let mut request = loopback_client()?.post(url).body(body);
    if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type")) {
        request = request.header("content-type", "application/json");
    }
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let asked_at = Instant::now();
    let response = request.send().await?;
    let status = response.status().as_u16();
    check_encoding(response.headers())?;
    if status == 200 {
        check_head(response.headers())?;
    }
    let transcript = Transcript {
        status,
        headers: response.headers().clone(),
        asked_at,
        events: Vec::new(),
        raw_bytes: Vec::new(),
        keep_alives: 0,
        problem: None,
    };
    Ok(Stream { response, checker: Checker::default(), waiting: VecDeque::new(), transcript })
}

/// An answer that is being read. Dropping it closes the connection.
#[derive(Debug)]
pub struct Stream {
    response: reqwest::Response,
    checker: Checker,
    waiting: VecDeque<Arrived>,
    transcript: Transcript,
}

impl Stream {
    pub fn status(&self) -> u16 {
        self.transcript.status
    }

    pub fn headers(&self) -> &HeaderMap {
        &self.transcript.headers
    }

    /// The next event as it arrives; `None` when the stream ended as it should. Without events for a refusal.
    ///
    /// # Errors
    /// A broken connection or the first protocol fault.
    pub async fn next(&mut self) -> Result<Option<Arrived>, AskError> {
        if self.transcript.status != 200 {
            return Ok(None);
        }
        loop {
            if let Some(arrived) = self.waiting.pop_front() {
                self.transcript.events.push(arrived.clone());
                return Ok(Some(arrived));
            }
            let Some(bytes) = self.response.chunk().await? else {
                self.checker.finish()?;
                return Ok(None);
            };
            let at = Instant::now();
            self.transcript.raw_bytes.extend_from_slice(&bytes);
            let events = self.checker.push(&bytes)?;
            self.waiting.extend(events.into_iter().map(|event| Arrived { at, event }));
            self.transcript.keep_alives = self.checker.keep_alives();
        }
    }

    /// Reads to the end; holds the events that [`Stream::next`] already returned, too.
    ///
    /// # Errors
    /// A broken connection, the first protocol fault, or a refusal that is no problem document.
    pub async fn collect(mut self) -> Result<Transcript, AskError> {
        while self.next().await?.is_some() {}
        let mut transcript = self.transcript;
        if transcript.status != 200 {
            transcript.raw_bytes = self.response.bytes().await?.to_vec();
            let problem = Problem::parse(transcript.status, &transcript.headers, &transcript.raw_bytes)?;
            transcript.problem = Some(problem);
        }
        Ok(transcript)
    }
}

fn check_encoding(headers: &HeaderMap) -> Result<(), Fault> {
    match header(headers, "content-encoding") {
        None => Ok(()),
        Some(found) => Err(Fault::Header { name: "content-encoding", expected: "none", found }),
    }
}

fn check_head(headers: &HeaderMap) -> Result<(), Fault> {
    let found = header(headers, "content-type").unwrap_or_default();
    let plain = found.to_ascii_lowercase().replace(' ', "");
    if !["text/event-stream", "text/event-stream;charset=utf-8"].contains(&plain.as_str()) {
        return Err(Fault::Header { name: "content-type", expected: "text/event-stream", found });
    }
    let found = header(headers, "cache-control").unwrap_or_default();
    let words = found.split(',').map(str::trim).collect::<Vec<_>>();
    if !["no-cache", "no-transform"].iter().all(|word| words.contains(word)) {
        return Err(Fault::Header { name: "cache-control", expected: "no-cache, no-transform", found });
    }
    match header(headers, "content-length") {
        None => Ok(()),
        Some(found) => Err(Fault::Header { name: "content-length", expected: "none", found }),
    }
}

fn header(headers: &HeaderMap, name: &str) -> Option<String> {
    headers.get(name).map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned())
}
