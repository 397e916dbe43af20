//! Readiness: each dependency with its latency, all asked at the same time.

use std::time::Duration;

use agent::boundary::chain;
use agent::ports::StoreError;
use app::connect::ApiApp;
use app::model_check::ModelState;
use http::{Response, StatusCode};
use lambda_http::Body;
use serde_json::{Value, json};
use tokio::time::{Instant, timeout};

use crate::handler;

/// A dependency that takes longer is down for the purpose of serving.
const PING_TIMEOUT: Duration = Duration::from_secs(3);

pub async fn ready(app: &ApiApp) -> Response<Body> {
    let runs = &app.runs;
    let (ledger, canonical, control, models) = tokio::join!(
        ping("ledger", runs.ledger.ping()),
        ping("canonical_store", runs.canonical.ping()),
        ping("run_control", runs.control.ping()),
        app.model.states(),
    );
    let mut dependencies = vec![ledger, canonical, control];
    dependencies.extend(models.into_iter().map(model));
    let ok = dependencies.iter().all(|d| d["status"] == "ok");
    let status = if ok { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    handler::json(
        status,
        &json!({ "status": if ok { "ok" } else { "unavailable" }, "dependencies": dependencies }),
    )
}

async fn ping(name: &str, ping: impl Future<Output = Result<(), StoreError>>) -> Value {
    let started = Instant::now();
    let answered = match timeout(PING_TIMEOUT, ping).await {
        Ok(Ok(())) => true,
        Ok(Err(error)) => {
            tracing::warn!(dependency = name, error = %chain(&error), "not ready");
            false
        }
        Err(_) => {
            tracing::warn!(dependency = name, "not ready in time");
            false
        }
    };
    entry(name, answered, started.elapsed())
}

/// A provider that can't be used is told with the reason: an operator's configuration is the likely one.
fn model(state: ModelState) -> Value {
    let mut told = entry(state.name, state.trouble.is_none(), state.latency);
    if let Some(trouble) = state.trouble {
        told["detail"] = trouble.into();
    }
    told
}

fn entry(name: &str, ok: bool, latency: Duration) -> Value {
    let latency_ms = u64::try_from(latency.as_millis()).unwrap_or(u64::MAX);
    json!({ "name": name, "status": if ok { "ok" } else { "unavailable" }, "latency_ms": latency_ms })
}
