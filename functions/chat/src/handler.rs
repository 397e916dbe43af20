//! One event: to a question, to a run, to a body; or to a problem document.

use std::time::Duration;

use agent::admission::Question;
use agent::context::TimeLimits;
use agent::supervise::Started;
use app::connect::ChatApp;
use edge::auth::Scope;
use edge::problem::Problem;
use edge::request::read_ask;
use http::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderValue, Method, Response, StatusCode};
use lambda_http::{Request, RequestExt};

use crate::body::StreamBody;

pub async fn handle(app: &ChatApp, request: Request) -> Response<StreamBody> {
    match answer(app, request).await {
        Ok(response) => response,
        Err(problem) => {
            tracing::info!(problem.code = problem.code.as_str(), "request refused");
            problem.response(StreamBody::whole)
        }
    }
}

async fn answer(app: &ChatApp, request: Request) -> Result<Response<StreamBody>, Problem> {
    if request.raw_http_path().trim_end_matches('/') != "/api/chat" {
        return Err(Problem::not_found());
    }
    // Preflight is no request yet: no caller, no body, no run.
    if request.method() == Method::OPTIONS {
        return Ok(preflight());
    }
    let caller = app.authenticator.caller(request.headers()).await?;
    caller.require(Scope::Chat)?;
    let ask = read_ask(request.method(), request.headers(), request.body())?;
    let limits =
        TimeLimits::within(lambda_time_left(app, &request), app.run.timeout, app.run.finalise_reserve);
    let question = Question {
        query: ask.query,
        session_id: ask.session_id,
        idempotency_key: ask.idempotency_key,
        caller: caller.id,
        quota: caller.quota,
        limits,
    };
    let started = app.chat.start(question).await.map_err(|refused| {
        tracing::warn!(error = %agent::boundary::chain(&refused), "run not admitted");
        Problem::from(refused)
    })?;
    Ok(event_stream(match started {
        Started::Live(handle) => StreamBody::live(handle, app.run.on_disconnect),
        Started::Replay(events) => StreamBody::replay(&events),
    }))
}

/// Lambda's own deadline; the local emulator sends a constant of the past, which means that it is unknown.
fn lambda_time_left(app: &ChatApp, request: &Request) -> Option<Duration> {
    let now = app.clock.now().unix_timestamp_nanos() / 1_000_000;
    let left = i128::from(request.lambda_context_ref()?.deadline) - now;
    u64::try_from(left).ok().filter(|left| *left > 0).map(Duration::from_millis)
}

fn event_stream(body: StreamBody) -> Response<StreamBody> {
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache, no-transform"));
    headers.insert("x-content-type-options", HeaderValue::from_static("nosniff"));
    response
}

fn preflight() -> Response<StreamBody> {
    let mut response = Response::new(StreamBody::whole(String::new()));
    *response.status_mut() = StatusCode::NO_CONTENT;
    response.headers_mut().insert(ALLOW, HeaderValue::from_static("POST"));
    response
}
