//! Without its stores no run begins, no stream starts, and nothing is held.

use serde_json::json;
use sqlx::sqlite::{SqliteConnectOptions, SqlitePool};

use super::{QUESTION, script};
use crate::world::{World, world};

/// Asks in a session and under a key, and is refused because of a store.
async fn is_refused(world: &World) -> anyhow::Result<()> {
    let body = json!({ "query": QUESTION, "session_id": "mine" });
    let told = world.post(&body, &[("idempotency-key", "key")]).await?;
    let problem = told.problem().expect("a problem");
    assert_eq!((problem.status, problem.code.as_str()), (503, "STORE_UNAVAILABLE"), "{:?}", problem.document);
    assert!(problem.retry_after.is_some_and(|seconds| seconds > 0));
    assert!(told.events.is_empty() && !told.text().contains("sqlite") && !told.text().contains("127.0.0.1"));
    assert_eq!(world.provider.requests().len(), 0, "no model is asked");
    Ok(())
}

async fn ledger(world: &World) -> anyhow::Result<SqlitePool> {
    Ok(SqlitePool::connect_with(SqliteConnectOptions::new().filename(world.database())).await?)
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_ledger_no_run_begins() -> anyhow::Result<()> {
    let world = world(script()).env("DATABASE_URL", "sqlite:///proc/nowhere/superbiz.db").start().await?;
    for _ in 0..3 {
        // A lease, a key or a slot that stayed would answer otherwise.
        is_refused(&world).await?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_ledger_that_comes_back_finds_nothing_held() -> anyhow::Result<()> {
    let world = world(script()).start().await?;
    let pool = ledger(&world).await?;
    sqlx::query("ALTER TABLE diagnosis_run RENAME TO elsewhere").execute(&pool).await?;
    for _ in 0..2 {
        is_refused(&world).await?;
    }
    sqlx::query("ALTER TABLE elsewhere RENAME TO diagnosis_run").execute(&pool).await?;
    let runs: i64 = sqlx::query_scalar("SELECT COUNT(*) FROM diagnosis_run").fetch_one(&pool).await?;
    assert_eq!(runs, 0);
    pool.close().await;
    let body = json!({ "query": QUESTION, "session_id": "mine" });
    let told = world.post(&body, &[("idempotency-key", "key")]).await?;
    assert_eq!(told.done().expect("a stream").status, "SUCCESS", "the same key and session, at once");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn without_run_control_no_run_begins() -> anyhow::Result<()> {
    // A port that was free a moment ago: nobody listens.
    let port = std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
    let closed = format!("http://127.0.0.1:{port}");
    let world = world(script()).env("AWS_ENDPOINT_URL_DYNAMODB", &closed).start().await?;
    is_refused(&world).await?;
    let pool = ledger(&world).await?;
    let runs: i64 = sqlx::query_scalar("SELECT COUNT(*) FROM diagnosis_run").fetch_one(&pool).await?;
    assert_eq!(runs, 0, "no row that nobody would end");
    pool.close().await;
    Ok(())
}
