//! One event: to a route, for a caller, to a response.

use app::connect::ApiApp;
use edge::problem::Problem;
use http::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderValue, Method, Response, StatusCode};
use lambda_http::{Body, Request, RequestExt};
use serde_json::Value;

use crate::routes::{Access, Route};
use crate::{documents, feedback, health, keys, openapi, page, quality, runs};

pub async fn handle(app: &ApiApp, request: &Request) -> Response<Body> {
    answer(app, request).await.unwrap_or_else(|problem| problem.response(Body::from))
}

async fn answer(app: &ApiApp, request: &Request) -> Result<Response<Body>, Problem> {
    if request.method() == Method::OPTIONS {
        return Ok(preflight());
    }
    let route = Route::find(request.method(), request.raw_http_path())?;
    let caller = match route.access() {
        Access::Open => None,
        Access::Caller => Some(app.authenticator.caller(request.headers()).await?),
        Access::Scope(scope) => {
            let caller = app.authenticator.caller(request.headers()).await?;
            caller.require(scope)?;
            Some(caller)
        }
    };
    let query = request.query_string_parameters_ref();
    let value = |name: &str| query.and_then(|q| q.first(name)).map(str::to_owned);
    let (headers, body) = (request.headers(), request.body().as_ref());
    match (route, caller.map(|caller| caller.id)) {
        (Route::Page(name), _) => page::asset(&name),
        (Route::OpenApi, _) => Ok(json(StatusCode::OK, openapi::document())),
        (Route::Health, _) => Ok(json(StatusCode::OK, &serde_json::json!({ "status": "ok" }))),
        (Route::Ready, _) => Ok(health::ready(app).await),
        (Route::Run(id), Some(caller)) => runs::state(app, id, &caller).await,
        (Route::CancelRun(id), Some(caller)) => runs::cancel(app, id, &caller).await,
        (Route::Trace(id), Some(caller)) => runs::trace(app, id, &caller).await,
        (Route::Evidence(id), Some(caller)) => runs::evidence(app, id, &caller).await,
        (Route::Rate(id), Some(caller)) => feedback::rate(app, id, &caller, headers, body).await,
        (Route::SessionRuns(id), Some(caller)) => {
            runs::of_session(app, &id, &caller, value("limit"), value("cursor")).await
        }
        (Route::Documents, Some(_)) => documents::list(app, value("limit"), value("cursor")).await,
        (Route::AddDocument, Some(_)) => documents::add(app, headers, body).await,
        (Route::Document(id), Some(_)) => documents::read(app, &id, headers).await,
        (Route::PutDocument(id), Some(_)) => documents::put(app, &id, headers, body).await,
        (Route::RemoveDocument(id), Some(_)) => documents::remove(app, &id, headers).await,
        (Route::Quality, Some(_)) => quality::read(app, value("from"), value("to")).await,
        (Route::Keys, Some(_)) => keys::list(app).await,
        (Route::AddKey, Some(_)) => keys::create(app, headers, body).await,
        (Route::RevokeKey(id), Some(_)) => keys::revoke(app, &id).await,
        (Route::Search, Some(_)) => documents::search(app, value("q"), value("top_k")).await,
        // The route asked for a caller and nobody was named: nobody gets in.
        (_, None) => Err(Problem::new(edge::problem::Code::Unauthenticated, "say who you are")),
    }
}

/// A whole number from 1 to `most` out of the query string.
pub fn whole(text: Option<String>, name: &str, default: u32, most: u32) -> Result<u32, Problem> {
    match text.map(|text| text.parse::<u32>()) {
        None => Ok(default),
        Some(Ok(number)) if (1..=most).contains(&number) => Ok(number),
        Some(_) => Err(Problem::invalid(format!("{name} must be a whole number from 1 to {most}"))),
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
    response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD, POST, PUT, DELETE"));
    response
}
