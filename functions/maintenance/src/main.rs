//! The maintenance function: migrations (a deploy step), the stale-run sweep and retention (schedules), and API keys. The only role
//! with DDL rights.
//!
//! Its event names the task: `{"task":"migrate"}`, `{"task":"sweep"}`, `{"task":"retain"}`, `{"task":"create_key","caller":"alice","scopes":["chat"]}`,
//! `{"task":"list_keys"}`, `{"task":"revoke_key","id":"…"}`.

use app::connect::MaintenanceApp;
use app::keys::KeyRequest;
use app::{App, Config, Needs};
use lambda_http::lambda_runtime::{Error, LambdaEvent, run, service_fn};
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize)]
#[serde(tag = "task", rename_all = "snake_case", deny_unknown_fields)]
enum Task {
    Migrate,
    Sweep,
    Retain,
    CreateKey(KeyRequest),
    ListKeys,
    RevokeKey { id: String },
}

const RIGHT: &str = r#"the event must be {"task":"migrate"}, {"task":"sweep"}, {"task":"retain"}, {"task":"create_key","caller":"…","scopes":["chat"]}, {"task":"list_keys"} or {"task":"revoke_key","id":"…"}"#;

/// Runs ended in one sweep at most; the next schedule takes the rest.
const SWEEP_LIMIT: u32 = 500;
/// Runs deleted in one go at most, for the same reason.
const RETAIN_LIMIT: u32 = 10_000;

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    app::telemetry::init();
    let config = app::secrets::resolve(Config::from_env(Needs::MAINTENANCE)?).await?;
    let app = App::maintenance(&config)?;
    let app = &app;
    let handle = move |event: LambdaEvent<Value>| async move { perform(app, event.payload).await };
    run(service_fn(handle)).await.map_err(anyhow::Error::from_boxed)
}

async fn perform(app: &MaintenanceApp, event: Value) -> Result<Value, Error> {
    let task = serde_json::from_value(event).map_err(|fault| format!("{RIGHT}: {fault}"))?;
    Ok(match task {
        Task::Migrate => json!({ "applied": app.migrate().await? }),
        Task::Sweep => json!({ "abandoned": app.sweep(SWEEP_LIMIT).await? }),
        Task::Retain => {
            let deleted = app.retain(RETAIN_LIMIT).await?;
            json!({ "deleted": deleted, "more": deleted >= RETAIN_LIMIT })
        }
        // The answer is the one place where the key is shown; nothing of it is logged.
        Task::CreateKey(request) => {
            let (key, secret) = app.keys.create(request).await?;
            json!({ "id": key.id, "key": secret, "caller": key.caller, "scopes": key.scopes })
        }
        Task::ListKeys => {
            let keys = app.keys.list().await?;
            let keys: Vec<Value> = keys
                .iter()
                .map(|key| json!({ "id": key.id, "caller": key.caller, "scopes": key.scopes, "revoked": key.revoked_at.is_some() }))
                .collect();
            json!({ "keys": keys })
        }
        Task::RevokeKey { id } => {
            app.keys.revoke(&id).await?;
            json!({ "revoked": id })
        }
    })
}
