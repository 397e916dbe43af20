//! The maintenance function: migrations (a deploy step) and the stale-run sweep (a schedule). The only role with DDL rights.
//!
//! Its event names the task: `{"task":"migrate"}` or `{"task":"sweep"}`.

use app::connect::MaintenanceApp;
use app::{App, Config, Needs};
use lambda_http::lambda_runtime::{Error, LambdaEvent, run, service_fn};
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize)]
#[serde(tag = "task", rename_all = "snake_case", deny_unknown_fields)]
enum Task {
    Migrate,
    Sweep,
}

/// Runs ended in one sweep at most; the next schedule takes the rest.
const SWEEP_LIMIT: u32 = 500;

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    app::telemetry::init();
    let config = Config::from_env(Needs::MAINTENANCE)?;
    let app = App::maintenance(&config)?;
    let app = &app;
    let handle = move |event: LambdaEvent<Value>| async move { perform(app, event.payload).await };
    run(service_fn(handle)).await.map_err(anyhow::Error::from_boxed)
}

async fn perform(app: &MaintenanceApp, event: Value) -> Result<Value, Error> {
    let task = serde_json::from_value(event)
        .map_err(|_| r#"the event must be {"task":"migrate"} or {"task":"sweep"}"#)?;
    Ok(match task {
        Task::Migrate => json!({ "applied": app.migrate().await? }),
        Task::Sweep => json!({ "abandoned": app.sweep(SWEEP_LIMIT).await? }),
    })
}
