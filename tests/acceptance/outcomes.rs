//! Whole runs to each outcome: what is told, what is stored, and that both say the same.

mod failures;
mod fallbacks;
mod landing;
mod released;
mod stores;

use std::path::Path;

use anyhow::Context;
use domain::model::Role;
use serde_json::{Value, json};
use sqlx::sqlite::{SqliteConnectOptions, SqlitePool};
use testkit::provider::Script;
use testkit::sse::Transcript;

use crate::world::{World, gateway_errors};

const QUESTION: &str = "checkout 5xx, why?";
const FINDING: &str = "payment-gateway logged GATEWAY_TIMEOUT errors.";

/// A diagnosis whose agent reads the gateway's errors under the id `call_a`.
fn diagnosis() -> Script {
    Script::new().routes_to("DIAGNOSIS").asks_for([gateway_errors().id("call_a")])
}

/// Checks what holds for every run that told its end: the stream, `GET /api/runs/{id}` and the one row agree,
/// and the provider saw nothing that a real one would refuse. Returns the run as the API shows it.
async fn settled(world: &World, told: &Transcript) -> anyhow::Result<Value> {
    world.assert_provider_saw_a_clean_protocol();
    let metadata = told.metadata().context("no metadata")?;
    let done = told.done().context("no done")?;
    let run = world.run(&metadata.run_id).await?;
    assert_eq!((&run["run_id"], &run["session_id"]), (&json!(metadata.run_id), &json!(metadata.session_id)));
    assert_eq!((&run["status"], &run["outcome"]), (&json!(done.status), &json!(done.status)));
    assert!(run["ended_at"].is_string(), "{run}");
    match (told.content(), told.failure()) {
        (Some(content), None) => {
            assert_eq!(content.outcome, done.status);
            assert_eq!((&run["intent"], &run["body"]), (&json!(content.intent), &content.body));
            assert_eq!(run["failure"], Value::Null);
            let reason = content.body.get("reason_code").cloned().unwrap_or_default();
            assert_eq!(run["reason"], reason);
        }
        (None, Some(failure)) => {
            assert_eq!(done.status, "FAILED");
            let expected =
                json!({ "code": failure.code, "message": failure.message, "retryable": failure.retryable });
            assert_eq!((&run["failure"], &run["body"]), (&expected, &Value::Null));
            assert_eq!(run["reason"], json!(failure.code));
        }
        other => panic!("content and failure: {other:?}"),
    }
    assert_eq!(rows(&world.database(), &metadata.run_id).await?, [(done.status.clone(), true)]);
    Ok(run)
}

/// The run's rows: outcome (empty while it runs) and whether it has an end.
async fn rows(database: &Path, run_id: &str) -> anyhow::Result<Vec<(String, bool)>> {
    let pool = ledger(database).await?;
    let sql = "SELECT COALESCE(outcome, ''), ended_at IS NOT NULL FROM diagnosis_run WHERE run_id = ?";
    let rows = sqlx::query_as(sql).bind(run_id).fetch_all(&pool).await?;
    pool.close().await;
    Ok(rows)
}

/// A connection of the test's own to the functions' ledger.
async fn ledger(database: &Path) -> anyhow::Result<SqlitePool> {
    Ok(SqlitePool::connect_with(SqliteConnectOptions::new().filename(database)).await?)
}

/// Asks, and checks that the run ends with the failure `code` and its fixed text, and shows nothing else.
async fn fails(world: &World, query: &str, code: &str) -> anyhow::Result<Transcript> {
    let told = world.ask(query).await?;
    failed_with(world, &told, code).await?;
    Ok(told)
}

async fn failed_with(world: &World, told: &Transcript, code: &str) -> anyhow::Result<()> {
    let failure = told.failure().with_context(|| format!("no failure: {}", told.text()))?;
    assert_eq!(failure.code, code, "{}", told.text());
    let expected = domain::events::FailureCode::parse(code).context("no such code")?;
    assert_eq!((failure.message.as_str(), failure.retryable), (expected.message(), expected.retryable()));
    settled(world, told).await?;
    Ok(())
}

/// The stages in order, repeats of one merged; what tools did in between is left out.
fn stages(told: &Transcript) -> Vec<&str> {
    let mut stages: Vec<&str> = told.statuses().iter().map(|status| status.stage.as_str()).collect();
    stages.retain(|stage| *stage != "TOOL");
    stages.dedup();
    stages
}

/// How many requests each role got: route, diagnose, repair, review, knowledge, system.
fn requests(world: &World) -> [usize; 6] {
    [Role::Route, Role::Diagnose, Role::Repair, Role::Review, Role::Knowledge, Role::System]
        .map(|role| world.provider.requests_of(role).len())
}
