//! The session is pinned whatever the server's settings are, read-only, and fails closed.

use domain::tool::ToolErrorCode;
use serde_json::json;

use super::relay::Relay;
use super::shop::{READER_PASSWORD, Shop, ask, call, told, tool_at};

const HOSTILE: &str = "
SET GLOBAL sql_mode = 'ANSI_QUOTES,NO_BACKSLASH_ESCAPES,PIPES_AS_CONCAT,HIGH_NOT_PRECEDENCE', GLOBAL time_zone = '+09:00',
    GLOBAL sql_select_limit = 1, GLOBAL max_statement_time = 0.001, GLOBAL autocommit = 0, GLOBAL max_recursive_iterations = 2,
    GLOBAL init_connect = 'SET SESSION time_zone = ''-05:00'', character_set_results = latin1, character_set_client = gbk,
        character_set_connection = gbk, sql_mode = ''ANSI_QUOTES,NO_BACKSLASH_ESCAPES'', group_concat_max_len = 4'";

#[tokio::test(flavor = "multi_thread")]
async fn hostile_server_settings_change_nothing() -> anyhow::Result<()> {
    let Some(shop) = Shop::open().await? else { return Ok(()) };
    let stamps = "SET SESSION time_zone = '+00:00'; CREATE TABLE stamps (id INT, at TIMESTAMP NULL, name VARCHAR(20));
                  INSERT INTO stamps VALUES (1, '2026-11-30 06:05:00', '退款 🙂'), (2, '2026-11-30 07:05:00', 'it''s')";
    shop.add_table("stamps", stamps).await?;
    shop.as_root(HOSTILE).await?;
    let tool = shop.tool_with(&["stamps"], 50);
    let cases = [
        ("SELECT \"text\" AS q, 'it\\'s' AS e, NOT 1 BETWEEN -5 AND 5 AS n", json!([["text", "it's", 0]])),
        ("SELECT id FROM stamps WHERE name = \"it\\'s\"", json!([[2]])),
        ("SELECT at, name FROM stamps WHERE name LIKE '退款%'", json!([["2026-11-30 06:05:00", "退款 🙂"]])),
        ("SELECT id FROM stamps WHERE at < '2026-11-30 07:00:00'", json!([[1]])),
        ("SELECT id FROM stamps ORDER BY id", json!([[1], [2]])),
        ("SELECT GROUP_CONCAT(name ORDER BY id) FROM stamps", json!([["退款 🙂,it's"]])),
        (
            "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 9) SELECT COUNT(*) FROM r",
            json!([[9]]),
        ),
    ];
    for (sql, rows) in cases {
        let result = ask(&tool, sql).await;
        assert_eq!(json!(result.rows), rows, "{sql}");
        assert!(!result.truncated, "{sql}: {:?}", result.notes);
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_original_text_runs_alone_in_a_read_only_transaction() -> anyhow::Result<()> {
    let Some(shop) = Shop::open().await? else { return Ok(()) };
    shop.log_on().await?;
    // The server's log leaves out the closing semicolon.
    let sql = "SELECT  id /* as it was */ FROM orders\n WHERE status = '\\\\' OR id = 7;";
    assert_eq!(json!(ask(&shop.tool(), sql).await.rows), json!([[7]]));
    let log = shop.log().await?;
    let at = |wanted: &str| log.iter().position(|(_, text)| text.starts_with(wanted));
    let (pinned, begun, ended) =
        (at("SET SESSION sql_mode="), at("START TRANSACTION READ ONLY"), at("ROLLBACK"));
    assert!(pinned.is_some() && pinned < begun && begun < ended, "{log:?}");
    let inside: Vec<&(String, String)> = log
        .iter()
        .take(ended.unwrap())
        .skip(begun.unwrap() + 1)
        .filter(|(command, _)| command != "Close stmt")
        .collect();
    assert!(
        inside.iter().any(|(command, text)| command == "Prepare" && text == sql.trim_end_matches(';')),
        "{log:?}"
    );
    let ours = |text: &str| text.contains("as it was") || text == "SHOW WARNINGS";
    assert!(inside.iter().all(|(_, text)| ours(text)), "{log:?}");
    assert_eq!(log.iter().filter(|(command, _)| command == "Connect").count(), 1, "{log:?}");
    Ok(())
}

/// Each change is one that a proxy makes behind the client's back; the query must not run.
#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_is_not_pinned_is_not_used() -> anyhow::Result<()> {
    let Some(shop) = Shop::open().await? else { return Ok(()) };
    let changes: [&'static [(&'static str, &'static str)]; 5] = [
        &[("'ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES", "'ANSI_QUOTES,       STRICT_ALL_TABLES  ")],
        &[("time_zone='+00:00'", "time_zone='+08:00'")],
        &[("sql_select_limit=51", "sql_select_limit=99")],
        &[("max_statement_time=10.000", "max_statement_time=90.000")],
        &[("character_set_client=utf8mb4", "character_set_client=latin1 ")],
    ];
    for change in changes {
        shop.as_root("TRUNCATE mysql.general_log").await?;
        shop.log_on().await?;
        let relay = Relay::start(shop.server.port(), change).await?;
        let tool = tool_at(relay.port, READER_PASSWORD, &["orders"], 50);
        let (code, message) = told(&tool, call("SELECT id FROM orders", json!([]))).await;
        assert_eq!(code, ToolErrorCode::SourceUnavailable, "{change:?}");
        assert!(message.contains("session settings"), "{change:?}: {message}");
        let log = shop.log().await?;
        assert!(log.iter().any(|(_, text)| text.starts_with("SET SESSION")), "{change:?}: {log:?}");
        assert!(log.iter().all(|(_, text)| !text.contains("FROM orders")), "{change:?}: {log:?}");
    }
    Ok(())
}
