//! RFC 9457 problem documents with a stable `code`: what was wrong, and what would be right.

use http::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER};
use http::{Response, StatusCode};
use serde_json::json;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Code {
    InvalidRequest,
    Unauthenticated,
    Forbidden,
    NotFound,
    MethodNotAllowed,
    SessionBusy,
    RunInProgress,
    EvidenceExpired,
    /// `If-Match` names another version than there is.
    PreconditionFailed,
    PayloadTooLarge,
    UnsupportedMediaType,
    RateLimited,
    StoreUnavailable,
    Internal,
}

impl Code {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::InvalidRequest => "INVALID_REQUEST",
            Self::Unauthenticated => "UNAUTHENTICATED",
            Self::Forbidden => "FORBIDDEN",
            Self::NotFound => "NOT_FOUND",
            Self::MethodNotAllowed => "METHOD_NOT_ALLOWED",
            Self::SessionBusy => "SESSION_BUSY",
            Self::RunInProgress => "RUN_IN_PROGRESS",
            Self::EvidenceExpired => "EVIDENCE_EXPIRED",
            Self::PreconditionFailed => "PRECONDITION_FAILED",
            Self::PayloadTooLarge => "PAYLOAD_TOO_LARGE",
            Self::UnsupportedMediaType => "UNSUPPORTED_MEDIA_TYPE",
            Self::RateLimited => "RATE_LIMITED",
            Self::StoreUnavailable => "STORE_UNAVAILABLE",
            Self::Internal => "INTERNAL",
        }
    }

    pub fn status(self) -> StatusCode {
        match self {
            Self::InvalidRequest => StatusCode::BAD_REQUEST,
            Self::Unauthenticated => StatusCode::UNAUTHORIZED,
            Self::Forbidden => StatusCode::FORBIDDEN,
            Self::NotFound => StatusCode::NOT_FOUND,
            Self::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
            Self::SessionBusy | Self::RunInProgress => StatusCode::CONFLICT,
            Self::EvidenceExpired => StatusCode::GONE,
            Self::PreconditionFailed => StatusCode::PRECONDITION_FAILED,
            Self::PayloadTooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::UnsupportedMediaType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::RateLimited => StatusCode::TOO_MANY_REQUESTS,
            Self::StoreUnavailable => StatusCode::SERVICE_UNAVAILABLE,
            Self::Internal => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }
}

/// A refusal. `detail` is written by us; of the request it repeats at most short, bounded pieces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    pub code: Code,
    pub detail: String,
    run_id: Option<String>,
    retry_after_seconds: Option<u32>,
    allow: Option<&'static str>,
}

/// Characters of `detail` at most.
const MAX_DETAIL_CHARS: usize = 400;

impl Problem {
    pub fn new(code: Code, detail: impl Into<String>) -> Self {
        let detail: String =
            detail.into().chars().filter(|c| !c.is_control()).take(MAX_DETAIL_CHARS).collect();
        Self { code, detail, run_id: None, retry_after_seconds: None, allow: None }
    }

    pub fn invalid(detail: impl Into<String>) -> Self {
        Self::new(Code::InvalidRequest, detail)
    }

    pub fn not_found() -> Self {
        Self::new(Code::NotFound, "there is nothing here for this caller")
    }

    pub fn method_not_allowed(allow: &'static str) -> Self {
        let mut problem = Self::new(Code::MethodNotAllowed, format!("this path answers {allow}"));
        problem.allow = Some(allow);
        problem
    }

    pub fn store_unavailable() -> Self {
        Self::new(Code::StoreUnavailable, "a store this needs is unavailable; nothing was started, try again")
            .retry_after(5)
    }

    pub fn about_run(mut self, run_id: impl ToString) -> Self {
        self.run_id = Some(run_id.to_string());
        self
    }

    pub fn retry_after(mut self, seconds: u32) -> Self {
        self.retry_after_seconds = Some(seconds);
        self
    }

    /// The document as JSON text.
    pub fn body(&self) -> String {
        let status = self.code.status();
        let mut document = json!({
            "type": "about:blank",
            "title": status.canonical_reason().unwrap_or("Error"),
            "status": status.as_u16(),
            "code": self.code.as_str(),
            "detail": self.detail,
        });
        if let (Some(run_id), Some(map)) = (&self.run_id, document.as_object_mut()) {
            map.insert("run_id".to_owned(), run_id.as_str().into());
        }
        document.to_string()
    }

    /// The response, its body made by `body`.
    pub fn response<B>(&self, body: impl FnOnce(String) -> B) -> Response<B> {
        let mut response = Response::new(body(self.body()));
        *response.status_mut() = self.code.status();
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, http::HeaderValue::from_static("application/problem+json"));
        headers.insert(CACHE_CONTROL, http::HeaderValue::from_static("no-store"));
        headers.insert("x-content-type-options", http::HeaderValue::from_static("nosniff"));
        if let Some(seconds) = self.retry_after_seconds {
            headers.insert(RETRY_AFTER, seconds.into());
        }
        if let Some(allow) = self.allow {
            headers.insert(ALLOW, http::HeaderValue::from_static(allow));
        }
        if self.code == Code::Unauthenticated {
            headers.insert(http::header::WWW_AUTHENTICATE, http::HeaderValue::from_static("Bearer"));
        }
        response
    }
}
