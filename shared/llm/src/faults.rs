//! What a provider's error means for us. Providers agree on little, so status and words are read together.

use domain::model::ModelFault;
use serde_json::Value;

/// Bytes of an error body that are looked at.
const MAX_ERROR_BYTES: usize = 8 * 1024;

/// The fault of a response that is not 200.
pub(crate) fn of_response(status: u16, body: &[u8]) -> ModelFault {
    classify(status, &error_text(body))
}

/// The fault of an error object inside a response that claimed success; its own code stands in for the
/// status.
pub(crate) fn of_error_object(error: &Value) -> ModelFault {
    let code = &error["code"];
    let stated = code.as_u64().or_else(|| code.as_str()?.parse().ok()).or_else(|| error["status"].as_u64());
    // Without any code the provider merely failed: that is a server's fault until its words say otherwise.
    let status = stated.and_then(|code| u16::try_from(code).ok()).filter(|code| (400..600).contains(code));
    let text = error.to_string().to_lowercase();
    match (status, by_words(&text)) {
        (Some(status), _) => classify(status, &text),
        (None, Some(fault)) => fault,
        (None, None) => ModelFault::ServerError,
    }
}

/// The lower-case text of an error body, for matching only: it is never logged, stored or shown.
pub(crate) fn error_text(body: &[u8]) -> String {
    String::from_utf8_lossy(&body[..body.len().min(MAX_ERROR_BYTES)]).to_lowercase()
}

fn classify(status: u16, text: &str) -> ModelFault {
    use ModelFault::{Auth, BadRequest, ContentFiltered, ContextTooLarge, Overloaded, Quota, RateLimited};
    use ModelFault::{ServerError, UnknownModel};
    let words = by_words(text);
    let said =
        |accepted: &[ModelFault], otherwise| words.filter(|f| accepted.contains(f)).unwrap_or(otherwise);
    match status {
        401 => Auth,
        402 => Quota,
        403 => said(&[Quota, ContentFiltered, UnknownModel], Auth),
        404 => said(&[UnknownModel], BadRequest),
        413 => ContextTooLarge,
        429 => said(&[Quota, ContextTooLarge], RateLimited),
        503 | 529 => Overloaded,
        408 | 500..=599 => said(&[ContextTooLarge], ServerError),
        _ => said(&[ContextTooLarge, ContentFiltered, UnknownModel, Auth, Quota], BadRequest),
    }
}

/// Phrases of provider errors in lower case, the more specific kind first.
const PHRASES: &[(ModelFault, &[&str])] = &[
    (
        ModelFault::ContextTooLarge,
        &[
            "context_length",
            "context length",
            "context window",
            "maximum context",
            "too many tokens",
            "prompt is too long",
            "prompt too long",
            "input is too long",
            "range of input length",
            "request too large",
            "request_too_large",
        ],
    ),
    (
        ModelFault::Quota,
        &[
            "insufficient_quota",
            "current quota",
            "billing",
            "arrear",
            "insufficient balance",
            "credit balance",
            "good standing",
        ],
    ),
    (
        ModelFault::ContentFiltered,
        &[
            "content_filter",
            "content filter",
            "content_policy",
            "content management policy",
            "data_inspection",
            "inappropriate content",
        ],
    ),
    (
        ModelFault::UnknownModel,
        &["model_not_found", "unknown model", "no such model", "model not found", "\"model: "],
    ),
    (
        ModelFault::Auth,
        &[
            "invalid_api_key",
            "invalid api key",
            "incorrect api key",
            "bad key",
            "authentication",
            "unauthorized",
        ],
    ),
    (ModelFault::RateLimited, &["rate limit", "rate_limit", "too many requests", "throttl"]),
    (ModelFault::Overloaded, &["overloaded", "at capacity", "server is busy", "resource_exhausted"]),
    // The least that is said: only for errors that come without a status.
    (ModelFault::BadRequest, &["badrequest", "bad_request", "bad request", "invalid_request"]),
];

fn by_words(text: &str) -> Option<ModelFault> {
    let missing_model = text.contains("model") && text.contains("does not exist");
    let listed = PHRASES.iter().find(|(_, phrases)| phrases.iter().any(|phrase| text.contains(phrase)));
    listed.map(|(fault, _)| *fault).or(missing_model.then_some(ModelFault::UnknownModel))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn status_and_words_together_name_the_fault() {
        let cases: &[(u16, &str, ModelFault)] = &[
            (401, "", ModelFault::Auth),
            (
                403,
                r#"{"error":{"code":"Arrearage","message":"account not in good standing"}}"#,
                ModelFault::Quota,
            ),
            (403, "", ModelFault::Auth),
            (404, r#"{"error":{"message":"The model `x` does not exist"}}"#, ModelFault::UnknownModel),
            (404, "<html>nginx</html>", ModelFault::BadRequest),
            (413, "", ModelFault::ContextTooLarge),
            (429, "{}", ModelFault::RateLimited),
            (429, r#"{"error":{"code":"insufficient_quota"}}"#, ModelFault::Quota),
            (400, r#"{"error":{"code":"context_length_exceeded"}}"#, ModelFault::ContextTooLarge),
            (400, r#"{"error":{"code":"data_inspection_failed"}}"#, ModelFault::ContentFiltered),
            (400, "[]", ModelFault::BadRequest),
            (422, r#"{"detail":[{"loc":["body"],"msg":"field required"}]}"#, ModelFault::BadRequest),
            (500, "\u{0}", ModelFault::ServerError),
            (502, "", ModelFault::ServerError),
            (503, "", ModelFault::Overloaded),
            (529, "", ModelFault::Overloaded),
            (302, "", ModelFault::BadRequest),
        ];
        for (status, body, fault) in cases {
            assert_eq!(of_response(*status, body.as_bytes()), *fault, "{status} {body}");
        }
    }

    #[test]
    fn an_error_inside_a_success_is_read_by_its_own_code_or_words() {
        let of = |error: Value| of_error_object(&error);
        assert_eq!(of(json!({ "message": "Rate limit exceeded", "code": 429 })), ModelFault::RateLimited);
        assert_eq!(of(json!({ "code": "401" })), ModelFault::Auth);
        assert_eq!(of(json!({ "message": "bad key sk-fake" })), ModelFault::Auth);
        assert_eq!(of(json!("something broke")), ModelFault::ServerError);
    }
}
