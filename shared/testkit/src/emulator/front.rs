//! The HTTP front door: request → event → function → response.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::{Response, StatusCode};
use serde_json::json;
use tokio::net::TcpListener;

use super::config::EmulatorConfig;
use super::event::event;
use super::function::Function;
use super::quick_ack::QuickAckListener;
use super::reply::{Failure, failed, into_http, json_response};

/// The gateways' limit for a request body, in bytes.
const MAX_REQUEST: usize = 6 * 1024 * 1024;

type Functions = Arc<BTreeMap<String, Arc<Function>>>;

pub(super) async fn serve(listener: TcpListener, config: Arc<EmulatorConfig>, functions: Functions) {
    let router = Router::new().fallback(handle).with_state((config, functions));
    let listener = QuickAckListener { inner: listener, quick_ack: false };
    drop(axum::serve(listener, router).await);
}

async fn handle(
    State((config, functions)): State<(Arc<EmulatorConfig>, Functions)>,
    request: Request,
) -> Response<Body> {
    let (parts, body) = request.into_parts();
    let Ok(body) = to_bytes(body, MAX_REQUEST).await else {
        return json_response(StatusCode::PAYLOAD_TOO_LARGE, &json!({ "message": "Request Too Long" }));
    };
    let Some(function) = functions.get(config.function_for(parts.uri.path())) else {
        return failed(&Failure::NotStarted("no such function".to_owned()));
    };
    let request_id = uuid::Uuid::new_v4().to_string();
    let event = event(&config, &parts, &body, &request_id).to_string();
    let reply = function.invoke(request_id, event.into()).await;
    into_http(reply, config.shape).await
}
