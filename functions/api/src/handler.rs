//! One event: to a route, for a caller, to a response.

use app::connect::ApiApp;
use edge::problem::Problem;
use http::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderValue, Method, Response, StatusCode};
use lambda_http::{Body, Request, RequestExt};
use serde_json::Value;

use crate::routes::Route;
use crate::{health, page, runs};

pub async fn handle(app: &ApiApp, request: &Request) -> Response<Body> {
    answer(app, request).await.unwrap_or_else(|problem| problem.response(Body::from))
}

async fn answer(app: &ApiApp, request: &Request) -> Result<Response<Body>, Problem> {
    if request.method() == Method::OPTIONS {
        return Ok(preflight());
    }
    let route = Route::find(request.method(), request.raw_http_path())?;
    let caller = if route.needs_caller() { Some(app.authenticator.caller(request.headers())?) } else { None };
    match (route, caller) {
        (Route::Page(name), _) => page::asset(&name),
        (Route::Health, _) => Ok(json(StatusCode::OK, &serde_json::json!({ "status": "ok" }))),
        (Route::Ready, _) => Ok(health::ready(app).await),
        (Route::Run(id), Some(caller)) => runs::state(app, id, &caller).await,
        (Route::CancelRun(id), Some(caller)) => runs::cancel(app, id, &caller).await,
        (Route::Trace(id), Some(caller)) => runs::trace(app, id, &caller).await,
        (Route::Evidence(id), Some(caller)) => runs::evidence(app, id, &caller).await,
        (Route::SessionRuns(id), Some(caller)) => {
            let query = request.query_string_parameters_ref();
            let value = |name: &str| query.and_then(|q| q.first(name)).map(str::to_owned);
            runs::of_session(app, &id, &caller, value("limit"), value("cursor")).await
        }
        // `needs_caller` said yes and nobody was named: nobody gets in.
        (_, None) => Err(Problem::new(edge::problem::Code::Unauthenticated, "say who you are")),
    }
}

/// A JSON response that no cache keeps: it belongs to one caller.
pub fn json(status: StatusCode, body: &Value) -> Response<Body> {
    let mut response = Response::new(Body::from(body.to_string()));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert("x-content-type-options", HeaderValue::from_static("nosniff"));
    response
}

fn preflight() -> Response<Body> {
    let mut response = Response::new(Body::Empty);
    *response.status_mut() = StatusCode::NO_CONTENT;
    response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD, POST"));
    response
}
