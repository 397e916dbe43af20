//! Time: nothing goes on on the server after its call is over, however the call ended.

use std::time::Duration;

use domain::tool::ToolErrorCode;
use serde_json::json;
use tokio::task::JoinSet;

use super::relay::Relay;
use super::shop::{READER_PASSWORD, Shop, call, told, tool_at};

/// Eight thousand million combinations, allowed by the guard.
const HEAVY: &str = "SELECT COUNT(*) FROM orders a, orders b, orders c, orders d \
                     WHERE a.amount_cents + b.amount_cents + c.amount_cents + d.amount_cents = ?";

#[tokio::test(flavor = "multi_thread")]
async fn the_server_stops_a_slow_query_at_its_limit() -> anyhow::Result<()> {
    let Some(shop) = Shop::open().await? else { return Ok(()) };
    let mut call = call(HEAVY, json!([-1]));
    call.timeout = Duration::from_secs(3);
    let (code, message) = told(&shop.tool(), call).await;
    assert_eq!(code, ToolErrorCode::Timeout, "{message}");
    assert!(message.contains("narrow"), "{message}");
    assert!(shop.reader_becomes(false).await?);
    Ok(())
}

/// The server's own limit is ten seconds here, so it is not what ends the query.
#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_or_dropped_call_stops_its_query() -> anyhow::Result<()> {
    let Some(shop) = Shop::open().await? else { return Ok(()) };
    let tool = std::sync::Arc::new(shop.tool());

    let asked = call(HEAVY, json!([-1]));
    let cancelled = asked.cancelled.clone();
    let mut tasks = JoinSet::new();
    tasks.spawn({
        let tool = tool.clone();
        async move { told(&tool, asked).await.0 }
    });
    assert!(shop.reader_becomes(true).await?, "it runs");
    cancelled.cancel();
    assert_eq!(tasks.join_next().await.transpose()?, Some(ToolErrorCode::Timeout));
    assert!(shop.reader_becomes(false).await?, "cancelled");

    tasks.spawn(async move { told(&tool, call(HEAVY, json!([-1]))).await.0 });
    assert!(shop.reader_becomes(true).await?, "it runs");
    tasks.shutdown().await;
    assert!(shop.reader_becomes(false).await?, "dropped");
    Ok(())
}

/// The relay turns a limit of one second into eight, and hides it.
#[tokio::test(flavor = "multi_thread")]
async fn a_query_is_killed_when_the_server_does_not_keep_the_limit() -> anyhow::Result<()> {
    let Some(shop) = Shop::open().await? else { return Ok(()) };
    let relay = Relay::start(
        shop.server.port(),
        &[
            ("max_statement_time=1.000", "max_statement_time=8.000"),
            ("statement_time * 1000", "statement_time * 0125"),
        ],
    )
    .await?;
    let tool = tool_at(relay.port, READER_PASSWORD, &["orders"], 50);
    let mut call = call(HEAVY, json!([-1]));
    call.timeout = Duration::from_secs(3);
    assert_eq!(told(&tool, call).await.0, ToolErrorCode::Timeout);
    assert!(shop.reader_becomes(false).await?);
    Ok(())
}
