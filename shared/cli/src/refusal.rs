//! What a refused request was answered, read as a reason.

use reqwest::StatusCode;
use serde_json::Value;

use crate::exit::Problem;
use crate::plain::one_line;

/// A problem document, or what a gateway said instead. A server error without a code is none: nobody decided it.
pub fn refusal(status: StatusCode, bytes: &[u8], retry_after: Option<u64>) -> Option<Problem> {
    let document: Value = serde_json::from_slice(bytes).unwrap_or_default();
    let text =
        |name: &str| document.get(name).and_then(Value::as_str).map(one_line).filter(|text| !text.is_empty());
    let code = text("code");
    if code.is_none() && status.is_server_error() {
        return None;
    }
    let reason = || format!("the service answered {status}");
    Some(Problem {
        status: status.as_u16(),
        code: code.unwrap_or_else(|| format!("HTTP_{}", status.as_u16())),
        detail: text("detail").or_else(|| text("message")).or_else(|| text("title")).unwrap_or_else(reason),
        run_id: text("run_id"),
        retry_after,
        document,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_are_problem_documents_or_a_gateways_words() {
        let read = |status: u16, body: &str| {
            refusal(StatusCode::from_u16(status).unwrap(), body.as_bytes(), None).map(|p| (p.code, p.detail))
        };
        let told = |code: &str, detail: &str| Some((code.to_owned(), detail.to_owned()));
        assert_eq!(read(409, r#"{"code":"SESSION_BUSY","detail":"wait"}"#), told("SESSION_BUSY", "wait"));
        assert_eq!(
            read(503, r#"{"code":"STORE_UNAVAILABLE","detail":"x\u001b[31m"}"#),
            told("STORE_UNAVAILABLE", "x")
        );
        assert_eq!(read(403, r#"{"message":"Forbidden"}"#), told("HTTP_403", "Forbidden"));
        assert_eq!(read(404, "<html>"), told("HTTP_404", "the service answered 404 Not Found"));
        assert_eq!(read(502, r#"{"message":"Internal server error"}"#), None);
    }
}
