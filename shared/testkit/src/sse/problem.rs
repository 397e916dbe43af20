//! The problem document (RFC 9457) of a request that was refused before its stream started.

use reqwest::header::HeaderMap;
use serde_json::{Map, Value};

use super::Fault;

#[derive(Debug, Clone, PartialEq)]
pub struct Problem {
    pub status: u16,
    /// The stable code.
    pub code: String,
    pub title: String,
    pub detail: Option<String>,
    /// Seconds, from the header.
    pub retry_after: Option<u64>,
    /// The whole document.
    pub document: Map<String, Value>,
}

/// Which codes go with which status.
const CODES: &[(u16, &[&str])] = &[
    (400, &["INVALID_REQUEST"]),
    (401, &["UNAUTHENTICATED"]),
    (403, &["FORBIDDEN"]),
    (404, &["NOT_FOUND"]),
    (405, &["METHOD_NOT_ALLOWED"]),
    (409, &["SESSION_BUSY", "RUN_IN_PROGRESS"]),
    (410, &["EVIDENCE_EXPIRED"]),
    (413, &["PAYLOAD_TOO_LARGE"]),
    (415, &["UNSUPPORTED_MEDIA_TYPE"]),
    (429, &["RATE_LIMITED"]),
    (503, &["STORE_UNAVAILABLE"]),
];

impl Problem {
    /// # Errors
    /// [`Fault::Problem`] when media type, members, code or `Retry-After` are not what the contract says.
    pub fn parse(status: u16, headers: &HeaderMap, body: &[u8]) -> Result<Self, Fault> {
        let fault = |text: String| Fault::Problem(format!("{text} (status {status})"));
        let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        let media = header("content-type").and_then(|value| value.split(';').next()).unwrap_or_default();
        if media.trim() != "application/problem+json" {
            let body = String::from_utf8_lossy(body);
            return Err(fault(format!("media type {media:?}, body {body:?}")));
        }
        let document =
            serde_json::from_slice::<Map<String, Value>>(body).map_err(|error| fault(error.to_string()))?;
        let member = |name: &str| document.get(name).and_then(Value::as_str).map(str::to_owned);
        let required = |name: &str| {
            member(name).filter(|text| !text.is_empty()).ok_or_else(|| fault(format!("no {name:?}")))
        };
        let (code, title) = (required("code")?, required("title")?);
        if document.get("status").and_then(Value::as_u64) != Some(status.into()) {
            return Err(fault("another status in the document".to_owned()));
        }
        if !CODES.iter().any(|(known, codes)| *known == status && codes.contains(&code.as_str())) {
            return Err(fault(format!("the code {code} doesn't belong to the status")));
        }
        let retry_after = header("retry-after").and_then(|value| value.parse().ok());
        if matches!(status, 429 | 503) && retry_after.is_none() {
            return Err(fault("no Retry-After in seconds".to_owned()));
        }
        Ok(Self { status, code, title, detail: member("detail"), retry_after, document })
    }
}
