//! The schema that the tests ask about, its reader, and calls of the tool.

use std::time::Duration;

use agent::ports::{EvidenceTool, ToolCallContext, ToolFailure, ToolOutput};
use anyhow::Result;
use domain::evidence::{MysqlToolResult, Projection};
use domain::ids::ToolCallId;
use domain::tool::ToolErrorCode;
use serde_json::{Value, json};
use sqlx::{AssertSqlSafe, Connection, MySqlConnection};
use testkit::mariadb::{MariaDb, NOT_INSTALLED};
use tokio_util::sync::CancellationToken;
use tools::mysql::{BusinessDatabase, Dialect, MysqlTool, Policy};

pub const READER_PASSWORD: &str = "not-a-secret";

const SCHEMA: &str = "
CREATE TABLE orders (id BIGINT PRIMARY KEY, user_id BIGINT, status VARCHAR(32), amount_cents BIGINT, created_at DATETIME);
CREATE TABLE payments (id BIGINT PRIMARY KEY, order_id BIGINT, gateway VARCHAR(32), status VARCHAR(32), error_code VARCHAR(32),
    latency_ms INT, created_at DATETIME);
CREATE TABLE order_events (id BIGINT PRIMARY KEY, order_id BIGINT, kind VARCHAR(32), payload JSON, created_at DATETIME);
INSERT INTO orders SELECT seq, seq % 7, IF(seq % 3, 'PAID', 'FAILED'), seq * 100, '2026-11-30 06:00:00' + INTERVAL seq SECOND
    FROM seq_1_to_300;
INSERT INTO payments SELECT seq, seq, 'alipay', 'FAILED', 'E504', seq, '2026-11-30 06:00:00' FROM seq_1_to_20;
INSERT INTO order_events VALUES (1, 1, 'deleted', '{\"errors\": [{\"code\": \"E1\", \"msg\": \"支付失败\"}]}', '2026-11-30 06:00:00');
CREATE USER reader@'127.0.0.1' IDENTIFIED BY 'not-a-secret';
GRANT SELECT ON shop.orders TO reader@'127.0.0.1';
GRANT SELECT ON shop.payments TO reader@'127.0.0.1';
GRANT SELECT ON shop.order_events TO reader@'127.0.0.1';
";

/// A server with the shop's tables.
pub struct Shop {
    pub server: MariaDb,
}

impl Shop {
    /// `None` (said on the output) without MariaDB.
    pub async fn open() -> Result<Option<Self>> {
        let Some(server) = MariaDb::start().await? else {
            println!("{NOT_INSTALLED}");
            return Ok(None);
        };
        server.create_schema("shop").await?;
        let shop = Self { server };
        shop.as_root(SCHEMA).await?;
        Ok(Some(shop))
    }

    pub async fn root(&self) -> Result<MySqlConnection> {
        Ok(MySqlConnection::connect(&self.server.url("shop")).await?)
    }

    pub async fn as_root(&self, sql: &str) -> Result<()> {
        let mut root = self.root().await?;
        sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut root).await?;
        Ok(root.close().await?)
    }

    /// A new table that the reader may read.
    pub async fn add_table(&self, name: &str, sql: &str) -> Result<()> {
        self.as_root(&format!("{sql}; GRANT SELECT ON shop.{name} TO reader@'127.0.0.1'")).await
    }

    /// The tool as `reader`, with 50 rows at most.
    pub fn tool(&self) -> MysqlTool {
        self.tool_with(&["orders", "payments", "order_events"], 50)
    }

    pub fn tool_with(&self, tables: &[&str], max_rows: u32) -> MysqlTool {
        tool_at(self.server.port(), READER_PASSWORD, tables, max_rows)
    }

    /// Everything that the reader sent since `log_on`, in order, as (command, text).
    pub async fn log(&self) -> Result<Vec<(String, String)>> {
        let mut root = self.root().await?;
        let sql = "SELECT CAST(command_type AS CHAR), CONVERT(argument USING utf8mb4) FROM mysql.general_log \
                   WHERE user_host LIKE '%reader%' ORDER BY event_time";
        Ok(sqlx::query_as(sql).fetch_all(&mut root).await?)
    }

    pub async fn log_on(&self) -> Result<()> {
        self.as_root("SET GLOBAL log_output = 'TABLE', GLOBAL general_log = ON").await
    }

    /// Waits until the reader has a statement on the server, or has none. False when that does not come within 4 seconds.
    pub async fn reader_becomes(&self, busy: bool) -> Result<bool> {
        let mut root = self.root().await?;
        for _ in 0..160 {
            let sql = "SELECT COUNT(*) FROM information_schema.processlist \
                       WHERE user = 'reader' AND command <> 'Sleep' AND info LIKE '%FROM orders a%'";
            let running: i64 = sqlx::query_scalar(sql).fetch_one(&mut root).await?;
            if (running > 0) == busy {
                return Ok(true);
            }
            tokio::time::sleep(Duration::from_millis(25)).await;
        }
        Ok(false)
    }
}

pub fn tool_at(port: u16, password: &str, tables: &[&str], max_rows: u32) -> MysqlTool {
    let url = format!("mysql://reader:{password}@127.0.0.1:{port}/shop?ssl-mode=disabled");
    tool_of(&url, Dialect::MySql, tables, max_rows)
}

pub fn tool_of(url: &str, dialect: Dialect, tables: &[&str], max_rows: u32) -> MysqlTool {
    let tables = tables.iter().map(|&table| table.to_owned()).collect();
    let database = (dialect == Dialect::MySql).then(|| "shop".to_owned());
    let policy = Policy { dialect, database, tables };
    let database = BusinessDatabase::new("shop", "The shop", url, policy, vec![], max_rows).unwrap();
    MysqlTool::new(vec![database])
}

pub fn call(sql: &str, params: Value) -> ToolCallContext {
    ToolCallContext {
        id: ToolCallId::parse("c1").unwrap(),
        arguments: json!({"data_source": "shop", "sql": sql, "params": params}),
        max_bytes: 128 * 1024,
        timeout: Duration::from_secs(60),
        now: ::time::macros::datetime!(2026-11-30 06:30 UTC),
        cancelled: CancellationToken::new(),
        pseudonyms: Default::default(),
    }
}

pub async fn ask(tool: &MysqlTool, sql: &str) -> MysqlToolResult {
    ask_with(tool, sql, json!([])).await
}

pub async fn ask_with(tool: &MysqlTool, sql: &str, params: Value) -> MysqlToolResult {
    match tool.run(call(sql, params)).await {
        Ok(output) => result(output),
        Err(failure) => panic!("{failure:?}\n{sql}"),
    }
}

pub async fn told(tool: &MysqlTool, call: ToolCallContext) -> (ToolErrorCode, String) {
    match tool.run(call).await {
        Err(ToolFailure::Tell { code, message }) => (code, message),
        other => panic!("{other:?}"),
    }
}

pub fn result(output: ToolOutput) -> MysqlToolResult {
    assert!(output.projection.status_fits_content());
    match output.projection {
        Projection::Mysql(result) => result,
        other => panic!("{other:?}"),
    }
}
