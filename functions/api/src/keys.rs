//! API keys, for administrators: made, listed, revoked. A key is shown once, in the answer that made it.

use agent::boundary::chain;
use agent::ports::keys::ApiKey;
use app::connect::ApiApp;
use app::keys::{KeyFault, KeyRequest};
use edge::problem::Problem;
use edge::request::json_text;
use http::{HeaderMap, Response, StatusCode};
use lambda_http::Body;
use serde_json::{Value, json};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::handler;

const MAX_BODY_BYTES: usize = 16 * 1024;
const RIGHT: &str = r#"send {"caller": "…", "scopes": ["chat", …], "expires_at"?: "2027-01-01T00:00:00Z", "concurrent_runs"?: 10, "runs_per_minute"?: 60, "tokens_per_day"?: 5000000}"#;

pub async fn list(app: &ApiApp) -> Result<Response<Body>, Problem> {
    let keys = app.keys.list().await.map_err(problem)?;
    let keys: Vec<Value> = keys.iter().map(shown).collect();
    Ok(handler::json(StatusCode::OK, &json!({ "keys": keys })))
}

pub async fn create(app: &ApiApp, headers: &HeaderMap, body: &[u8]) -> Result<Response<Body>, Problem> {
    let text = json_text(headers, body, MAX_BODY_BYTES, RIGHT)?;
    let request: KeyRequest = serde_json::from_str(text)
        .map_err(|fault| Problem::invalid(format!("the body asks for no key: {fault}; {RIGHT}")))?;
    let (key, secret) = app.keys.create(request).await.map_err(problem)?;
    let mut answer = shown(&key);
    answer["key"] = secret.into();
    Ok(handler::json(StatusCode::CREATED, &answer))
}

pub async fn revoke(app: &ApiApp, id: &str) -> Result<Response<Body>, Problem> {
    app.keys.revoke(id).await.map_err(problem)?;
    let mut response = Response::new(Body::Empty);
    *response.status_mut() = StatusCode::NO_CONTENT;
    Ok(response)
}

fn shown(key: &ApiKey) -> Value {
    let time = |at: OffsetDateTime| at.format(&Rfc3339).ok();
    json!({
        "id": key.id,
        "caller": key.caller,
        "scopes": key.scopes,
        "concurrent_runs": key.limits.concurrent_runs,
        "runs_per_minute": key.limits.runs_per_minute,
        "tokens_per_day": key.limits.tokens_per_day,
        "created_at": time(key.created_at),
        "expires_at": key.expires_at.and_then(time),
        "revoked_at": key.revoked_at.and_then(time),
    })
}

fn problem(fault: KeyFault) -> Problem {
    match fault {
        KeyFault::Invalid(what) => Problem::invalid(what),
        KeyFault::NotFound => Problem::not_found(),
        KeyFault::Mint(_) | KeyFault::Store(_) => {
            tracing::error!(error = %chain(&fault), "a key could not be handled");
            Problem::store_unavailable()
        }
    }
}
