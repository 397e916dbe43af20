//! `cases alert`: bodies of `POST /api/chat`, chat requests and alerts alike, through the reading of the chat function.

use anyhow::Context;
use edge::request::read_ask;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderValue, Method};
use serde_json::{Value, json};

pub fn judge(case: &Value) -> anyhow::Result<Value> {
    let body = case.get("body").and_then(Value::as_str).context("body must be a string")?;
    let headers = HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static("application/json"))]);
    Ok(match read_ask(&Method::POST, &headers, body.as_bytes()) {
        Ok(ask) => json!({ "query": ask.query.as_str() }),
        Err(problem) => json!({ "code": problem.code.as_str(), "message": problem.detail }),
    })
}
