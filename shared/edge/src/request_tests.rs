//! A row per refusal, and per spelling that must be accepted.

use super::*;

fn headers(pairs: &[(&str, &str)]) -> HeaderMap {
    let mut map = HeaderMap::new();
    for (name, value) in pairs {
        map.append(http::HeaderName::try_from(*name).unwrap(), http::HeaderValue::try_from(*value).unwrap());
    }
    map
}

fn ask(body: &str) -> Result<Ask, Problem> {
    read_ask(&Method::POST, &headers(&[("content-type", "application/json")]), body.as_bytes())
}

#[test]
fn good_requests_in_every_spelling() {
    for content_type in ["application/json", "Application/JSON; charset=utf-8", "application/vnd.api+json"] {
        let headers = headers(&[("content-type", content_type), ("idempotency-key", "k-1")]);
        let asked = read_ask(&Method::POST, &headers, br#"{"query":" hi ","session_id":"s_1"}"#).unwrap();
        assert_eq!((asked.query.as_str(), asked.idempotency_key.as_deref()), ("hi", Some("k-1")));
    }
    assert_eq!(ask(r#"{"query":"a"}"#).unwrap().session_id, None);
    assert_eq!(ask(r#"{"query":"a","session_id":null}"#).unwrap().session_id, None);
    assert!(ask(&format!(r#"{{"query":"{}"}}"#, r"\u0041".repeat(8192))).is_ok(), "escaped 8 KiB fits");
}

#[test]
fn each_bad_body_is_refused_with_a_sentence() {
    let long = format!(r#"{{"query":"{}"}}"#, "x".repeat(8193));
    let rows = [
        ("", "empty"),
        ("[]", "not a chat request"),
        ("{", "not a chat request"),
        ("{}", "missing field `query`"),
        (r#"{"query":1}"#, "expected a string"),
        (r#"{"query":null}"#, "expected a string"),
        (r#"{"query":"a","extra":1}"#, "unknown field `extra`"),
        (r#"{"query":"a","query":"b"}"#, "duplicate field `query`"),
        (r#"{"query":"\ud800"}"#, "not a chat request"),
        (r#"{"query":"a"} x"#, "trailing"),
        (r#"{"query":"  "}"#, "empty"),
        (r#"{"query":"a\u0000b"}"#, "control character"),
        (r#"{"query":"😀"}"#, "no letter or digit"),
        (r#"{"query":"a","session_id":""}"#, "session_id must be"),
        (r#"{"query":"a","session_id":"a b"}"#, "session_id must be"),
        (long.as_str(), "8 KiB"),
    ];
    for (body, part) in rows {
        let problem = ask(body).unwrap_err();
        assert_eq!(problem.code, Code::InvalidRequest, "{body}");
        assert!(problem.detail.contains(part), "{body}: {}", problem.detail);
    }
    assert_eq!(ask(&"[".repeat(1000)).unwrap_err().code, Code::InvalidRequest);
    assert_eq!(ask(&" ".repeat(MAX_BODY_BYTES + 1)).unwrap_err().code, Code::PayloadTooLarge);
}

#[test]
fn media_method_and_key_rules() {
    let body = br#"{"query":"a"}"#;
    let json = ("content-type", "application/json");
    let code = |method: &Method, pairs: &[(&str, &str)]| {
        read_ask(method, &headers(pairs), body).map(|_| ()).map_err(|p| p.code)
    };
    assert_eq!(code(&Method::GET, &[json]), Err(Code::MethodNotAllowed));
    assert_eq!(code(&Method::POST, &[]), Err(Code::UnsupportedMediaType));
    assert_eq!(code(&Method::POST, &[("content-type", "text/plain")]), Err(Code::UnsupportedMediaType));
    assert_eq!(code(&Method::POST, &[json, ("content-encoding", "gzip")]), Err(Code::UnsupportedMediaType));
    assert_eq!(code(&Method::POST, &[json, ("idempotency-key", "")]), Err(Code::InvalidRequest));
    assert_eq!(code(&Method::POST, &[json, ("idempotency-key", "a b")]), Err(Code::InvalidRequest));
    assert_eq!(
        code(&Method::POST, &[json, ("idempotency-key", "a"), ("idempotency-key", "b")]),
        Err(Code::InvalidRequest)
    );
    assert_eq!(
        code(&Method::POST, &[json, ("idempotency-key", &"k".repeat(129))]),
        Err(Code::InvalidRequest)
    );
}
