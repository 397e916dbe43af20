//! The embedded database: cells, limits, and that it is only read.

use std::time::Duration;

use agent::ports::EvidenceTool;
use domain::evidence::EvidenceStatus;
use domain::tool::ToolErrorCode;
use serde_json::{Value, json};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions, Connection};
use tempfile::TempDir;
use tools::mysql::{Dialect, MysqlTool};

use super::shop::{ask, ask_with, call, told, tool_of};

const SCHEMA: &str = "
CREATE TABLE orders (id INTEGER PRIMARY KEY, amount REAL, status TEXT, paid BOOLEAN, at DATETIME, raw BLOB, password TEXT);
INSERT INTO orders VALUES (1, 0.1, '支付失败 🙂', 1, '2026-11-30 06:05:00', X'00FF', 'fake-pass'),
    (9223372036854775807, -1e300, 'OK', 0, NULL, X'6869', NULL), (-9007199254740993, NULL, NULL, NULL, NULL, NULL, NULL);
CREATE TABLE numbers (n INTEGER);
WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < 300) INSERT INTO numbers SELECT n FROM s;
CREATE TABLE notes (body TEXT);
INSERT INTO notes VALUES (replace(hex(zeroblob(2000000)), '00', 'x')), ('short');
";

async fn shop() -> (TempDir, MysqlTool) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("shop.db");
    let options = SqliteConnectOptions::new().filename(&path).create_if_missing(true);
    let mut connection = options.connect().await.unwrap();
    sqlx::raw_sql(AssertSqlSafe(SCHEMA)).execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();
    let tool = at(&path);
    (folder, tool)
}

fn at(path: &std::path::Path) -> MysqlTool {
    tool_of(
        &format!("sqlite://{}", path.display()),
        Dialect::Sqlite,
        &["orders", "numbers", "notes", "ghosts"],
        50,
    )
}

#[tokio::test]
async fn cells_have_their_own_types() {
    let (_folder, tool) = shop().await;
    let result =
        ask(&tool, "SELECT id, amount, status, paid, at, raw, password FROM orders ORDER BY abs(id / 2)")
            .await;
    let expected = json!([
        [1, 0.1, "支付失败 🙂", 1, "2026-11-30 06:05:00", "0x00ff", "[credential:1]"],
        ["-9007199254740993", null, null, null, null, null, null],
        ["9223372036854775807", -1e300, "OK", 0, null, "hi", null],
    ]);
    assert_eq!(json!(result.rows), expected);
    let cases = [
        ("SELECT id FROM orders WHERE id = ?", json!([i64::MAX]), json!([["9223372036854775807"]])),
        ("SELECT id FROM orders WHERE amount = ?", json!([0.1]), json!([[1]])),
        ("SELECT id FROM orders WHERE status = ? AND paid = ?", json!(["支付失败 🙂", true]), json!([[1]])),
        ("SELECT n FROM numbers WHERE n IS ?", json!([null]), json!([])),
        ("SELECT n FROM numbers ORDER BY n LIMIT ?", json!([2]), json!([[1], [2]])),
    ];
    for (sql, params, rows) in cases {
        let result = ask_with(&tool, sql, params).await;
        assert_eq!(json!(result.rows), rows, "{sql}");
        assert_eq!(result.evidence_status == EvidenceStatus::NoEvidence, rows == json!([]), "{sql}");
    }
}

#[tokio::test]
async fn rows_texts_and_recursion_are_bounded() {
    let (_folder, tool) = shop().await;
    for sql in ["SELECT n FROM numbers", "SELECT n FROM numbers LIMIT 100000"] {
        let result = ask(&tool, sql).await;
        assert_eq!((result.row_count, result.truncated), (50, true), "{sql}");
        assert_eq!(result.notes, ["more rows exist; only the first 50 are shown"], "{sql}");
    }
    let notes = ask(&tool, "SELECT body FROM notes").await;
    assert!(notes.truncated && notes.notes[0].contains("1 cell(s) cut"), "{:?}", notes.notes);
    assert_eq!(notes.rows[0][0].as_str().map(|text| text.chars().count()), Some(1001));
    assert_eq!(notes.rows[1][0], Value::from("short"));
    let bounded = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 100) SELECT COUNT(*) FROM r";
    assert_eq!(json!(ask(&tool, bounded).await.rows), json!([[100]]));
    let endless = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT COUNT(*) FROM r";
    assert_eq!(told(&tool, call(endless, json!([]))).await.0, ToolErrorCode::SqlRefused);
}

#[tokio::test]
async fn a_slow_query_is_interrupted() {
    let (_folder, tool) = shop().await;
    let heavy =
        "SELECT COUNT(*) FROM numbers a, numbers b, numbers c, numbers d WHERE a.n + b.n + c.n + d.n = -1";
    let mut call = call(heavy, json!([]));
    call.timeout = Duration::from_millis(2500);
    let (code, message) = told(&tool, call).await;
    assert_eq!(code, ToolErrorCode::Timeout, "{message}");
}

#[tokio::test]
async fn faults_are_told_and_nothing_is_created() {
    let (folder, tool) = shop().await;
    let cases = [
        ("SELECT nope FROM orders", "a column does not exist"),
        ("SELECT id FROM ghosts", "a table does not exist"),
    ];
    for (sql, hint) in cases {
        let (code, message) = told(&tool, call(sql, json!([]))).await;
        assert_eq!(code, ToolErrorCode::QueryFailed, "{sql}: {message}");
        assert!(
            message.contains(hint) && !message.contains("nope") && !message.contains("ghosts"),
            "{message}"
        );
    }
    let missing = folder.path().join("missing.db");
    let (code, _) = told(&at(&missing), call("SELECT id FROM orders", json!([]))).await;
    assert_eq!(code, ToolErrorCode::SourceUnavailable);
    assert!(!missing.exists());
    let files = std::fs::read_dir(folder.path()).unwrap().count();
    assert_eq!(files, 1, "no journal is left beside the database");
}

#[tokio::test]
async fn the_file_tells_its_columns_and_a_table_that_is_missing_is_left_out() {
    let (_folder, tool) = shop().await;
    tool.prepare().await;
    let told = tool.description();
    assert!(told.contains("schema: notes: body TEXT null\nschema: numbers: n INTEGER null"), "{told}");
    assert!(!told.contains("schema: ghosts"), "{told}");
}
