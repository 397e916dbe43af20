//! What the model is told when a query gives nothing.

use std::net::TcpListener;

use domain::tool::ToolErrorCode::{QueryFailed, SourceUnavailable, UnknownSource};
use serde_json::json;

use super::shop::{READER_PASSWORD, Shop, call, told, tool_at};

#[tokio::test(flavor = "multi_thread")]
async fn errors_of_the_server_become_hints_without_its_words() -> anyhow::Result<()> {
    let Some(shop) = Shop::open().await? else { return Ok(()) };
    shop.add_table("ghosts", "CREATE TABLE ghosts (id INT)").await?;
    shop.as_root("DROP TABLE ghosts; CREATE TABLE vault (id INT)").await?;
    let tool = shop.tool_with(&["orders", "ghosts", "vault"], 50);
    let cases = [
        ("SELECT nope FROM orders", "a column does not exist", "1054"),
        ("SELECT id FROM ghosts", "a table does not exist", "1146"),
        ("SELECT id FROM vault", "may not read", "1142"),
        ("SELECT status, id FROM orders GROUP BY status", "grouped or aggregated", "1055"),
        ("SELECT id FROM orders WHERE status REGEXP '('", "refused", "1139"),
    ];
    for (sql, hint, number) in cases {
        let (code, message) = told(&tool, call(sql, json!([]))).await;
        assert_eq!(code, QueryFailed, "{sql}: {message}");
        assert!(message.contains(hint) && message.contains(number), "{sql}: {message}");
        assert!(!message.contains("nope") && !message.contains("reader"), "{message}");
    }
    let wrong = tool_at(shop.server.port(), "wrong", &["orders"], 50);
    let (code, message) = told(&wrong, call("SELECT id FROM orders", json!([]))).await;
    assert_eq!(code, SourceUnavailable);
    assert!(!message.contains("reader") && !message.contains("wrong"), "{message}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_away_or_silent_is_unavailable() -> anyhow::Result<()> {
    let silent = TcpListener::bind("127.0.0.1:0")?;
    let away = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
    for port in [away, silent.local_addr()?.port()] {
        let tool = tool_at(port, READER_PASSWORD, &["orders"], 50);
        let (code, _) = told(&tool, call("SELECT id FROM orders", json!([]))).await;
        assert_eq!(code, SourceUnavailable);
    }
    let tool = tool_at(away, READER_PASSWORD, &["orders"], 50);
    let mut other = call("SELECT id FROM orders", json!([]));
    other.arguments["data_source"] = json!("elsewhere");
    let (code, message) = told(&tool, other).await;
    assert_eq!(code, UnknownSource);
    assert!(message.contains("shop"), "{message}");
    Ok(())
}
