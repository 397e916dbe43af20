//! MySQL and MariaDB: one fresh, pinned and verified session per query, read-only, stopped on the server when it takes too long.
//!
//! A connection is never reused: what a session could carry over (a schema, a setting, a lock) can't reach the next query.

use std::time::Duration;

use futures_util::StreamExt;
use serde_json::Value;
use sqlx::mysql::{MySqlArguments, MySqlConnectOptions, MySqlConnection, MySqlRow};
use sqlx::{AssertSqlSafe, Column, ConnectOptions, Connection, Executor, Row};
use tokio_util::task::TaskTracker;

use super::ReadOnlySelect;
use super::cells;
use super::collect::Collected;
use super::digest::{self, Index, Table};
use super::source::{QueryFault, Rows};

/// Quotes, escapes and operators as the guard reads them; strict about everything else.
const SQL_MODE: &str =
    "ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION";
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
/// Rounds of a recursive CTE.
const MAX_RECURSION: u32 = 1000;
/// Warnings that something was left out: MariaDB ends a deep recursion with a warning only.
const CUT_GROUP_CONCAT: u32 = 1260;
const CUT_RECURSION: u32 = 1931;

#[derive(Clone)]
pub(super) struct Server {
    options: MySqlConnectOptions,
    /// Stops of statements whose callers are gone; each ends within a few connect timeouts.
    stops: TaskTracker,
}

/// The two servers spell the time limit and the recursion limit differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Flavour {
    MySql,
    MariaDb,
}

impl Server {
    pub fn new(url: &str) -> Option<Self> {
        let options: MySqlConnectOptions = url.parse().ok()?;
        // The statements that this option would send are ours to send and verify.
        let options =
            options.pipes_as_concat(false).no_engine_substitution(false).set_names(false).timezone(None);
        let options = options.statement_cache_capacity(0).disable_statement_logging();
        Some(Self { options, stops: TaskTracker::new() })
    }

    pub async fn select(
        &self,
        select: &ReadOnlySelect,
        collected: Collected,
        timeout: Duration,
    ) -> Result<Rows, QueryFault> {
        let mut connection = self.connect().await?;
        let opened =
            tokio::time::timeout(CONNECT_TIMEOUT, pin(&mut connection, collected.max_rows(), timeout)).await;
        let id = match opened {
            Ok(Ok(id)) => id,
            Ok(Err(fault)) => return discard(connection, Err(fault)).await,
            Err(_) => return discard(connection, Err(QueryFault::Unavailable)).await,
        };
        let running = Running { server: self.clone(), id, stops_when_dropped: true };
        // The server's limit comes first; ours is for a server that does not keep it.
        let ours = timeout + Duration::from_millis(500);
        let read = tokio::time::timeout(ours, read(&mut connection, select, collected)).await;
        match read {
            Ok(Ok(mut collected)) if collected.is_complete() => {
                running.ended();
                let _ =
                    tokio::time::timeout(CONNECT_TIMEOUT, warnings(&mut connection, &mut collected)).await;
                let _ = tokio::time::timeout(CONNECT_TIMEOUT, connection.execute("ROLLBACK")).await;
                let _ = tokio::time::timeout(CONNECT_TIMEOUT, connection.close()).await;
                Ok(collected.finish())
            }
            Ok(Ok(collected)) => {
                // The server may still be at work on what nobody will read.
                running.stop().await;
                discard(connection, Ok(collected.finish())).await
            }
            Ok(Err(fault @ QueryFault::Refused { .. })) => {
                running.ended();
                discard(connection, Err(fault)).await
            }
            Ok(Err(fault)) => {
                running.stop().await;
                discard(connection, Err(fault)).await
            }
            Err(_) => {
                running.stop().await;
                discard(connection, Err(QueryFault::TooSlow)).await
            }
        }
    }

    /// What the server tells of the tables of a schema, or of the connection's own.
    pub async fn schema(&self, schema: Option<&str>, tables: &[&str]) -> Result<Vec<Table>, QueryFault> {
        let mut connection = self.connect().await?;
        let told = told(&mut connection, schema, tables).await;
        discard(connection, told).await
    }

    async fn connect(&self) -> Result<MySqlConnection, QueryFault> {
        match tokio::time::timeout(CONNECT_TIMEOUT, self.options.connect()).await {
            Ok(Ok(connection)) => Ok(connection),
            Ok(Err(_)) | Err(_) => Err(QueryFault::Unavailable),
        }
    }

    /// `KILL QUERY` from a second connection; a user may always kill its own.
    async fn kill(&self, id: u64) {
        if let Ok(mut connection) = self.connect().await {
            let statement = AssertSqlSafe(format!("KILL QUERY {id}"));
            let _ = tokio::time::timeout(CONNECT_TIMEOUT, connection.execute(statement)).await;
            let _ = tokio::time::timeout(CONNECT_TIMEOUT, connection.close()).await;
        }
    }
}

/// A statement that the server works on. A server does not notice that its client went away, so a call that is cancelled or
/// dropped at its deadline stops the statement too.
struct Running {
    server: Server,
    id: u64,
    stops_when_dropped: bool,
}

impl Running {
    /// The server is done with it.
    fn ended(mut self) {
        self.stops_when_dropped = false;
    }

    /// Still armed while it waits: a drop in the middle of stopping stops it again, which is harmless.
    async fn stop(mut self) {
        self.server.kill(self.id).await;
        self.stops_when_dropped = false;
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.stops_when_dropped
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            let (server, id) = (self.server.clone(), self.id);
            self.server.stops.spawn_on(async move { server.kill(id).await }, &runtime);
        }
    }
}

/// The allow-listed tables' columns, indexes and comments, by statements of our own. Every text is cast: the flavours give these
/// columns different types.
async fn told(
    connection: &mut MySqlConnection,
    schema: Option<&str>,
    tables: &[&str],
) -> Result<Vec<Table>, QueryFault> {
    const ROWS: usize = 1000;
    let marks = vec!["?"; tables.len()].join(", ");
    let of = format!("TABLE_SCHEMA = COALESCE(?, DATABASE()) AND TABLE_NAME IN ({marks})");
    let names = format!(
        "SELECT CAST(TABLE_NAME AS CHAR), CAST(TABLE_COMMENT AS CHAR) FROM information_schema.TABLES WHERE {of}"
    );
    let columns = format!(
        "SELECT CAST(TABLE_NAME AS CHAR), CAST(COLUMN_NAME AS CHAR), CAST(COLUMN_TYPE AS CHAR), CAST(IS_NULLABLE AS CHAR), \
         CAST(COLUMN_COMMENT AS CHAR) FROM information_schema.COLUMNS WHERE {of} ORDER BY TABLE_NAME, ORDINAL_POSITION LIMIT {ROWS}"
    );
    let indexes = format!(
        "SELECT CAST(TABLE_NAME AS CHAR), CAST(INDEX_NAME AS CHAR), CAST(NON_UNIQUE AS CHAR), CAST(COLUMN_NAME AS CHAR) \
         FROM information_schema.STATISTICS WHERE {of} ORDER BY TABLE_NAME, INDEX_NAME, SEQ_IN_INDEX LIMIT {ROWS}"
    );
    let mut found: Vec<Table> = Vec::new();
    for row in rows(connection, names, schema, tables).await? {
        found.push(Table { name: text(&row, 0), comment: text(&row, 1), ..Table::default() });
    }
    for row in rows(connection, columns, schema, tables).await? {
        if let Some(table) = found.iter_mut().find(|table| table.name == text(&row, 0)) {
            let nullable = text(&row, 3) == "YES";
            table.columns.push(digest::Column {
                name: text(&row, 1),
                kind: text(&row, 2),
                nullable,
                comment: text(&row, 4),
            });
        }
    }
    for row in rows(connection, indexes, schema, tables).await? {
        let Some(table) = found.iter_mut().find(|table| table.name == text(&row, 0)) else { continue };
        let name = text(&row, 1);
        match table.indexes.last_mut().filter(|index| index.name == name) {
            Some(index) => index.columns.push(text(&row, 3)),
            None => {
                table.indexes.push(Index { name, unique: text(&row, 2) == "0", columns: vec![text(&row, 3)] })
            }
        }
    }
    Ok(found)
}

async fn rows(
    connection: &mut MySqlConnection,
    sql: String,
    schema: Option<&str>,
    tables: &[&str],
) -> Result<Vec<MySqlRow>, QueryFault> {
    let mut query = sqlx::query(AssertSqlSafe(sql)).bind(schema.map(str::to_owned));
    for table in tables {
        query = query.bind((*table).to_owned());
    }
    query.fetch_all(connection).await.map_err(|e| fault(&e))
}

fn text(row: &MySqlRow, column: usize) -> String {
    row.try_get::<Option<String>, _>(column).ok().flatten().unwrap_or_default()
}

async fn discard<T>(connection: MySqlConnection, result: T) -> T {
    let _ = tokio::time::timeout(CONNECT_TIMEOUT, connection.close_hard()).await;
    result
}

/// Sets what the guard and the limits assume, reads it back, and opens the transaction. Returns the connection's id.
async fn pin(connection: &mut MySqlConnection, max_rows: u32, timeout: Duration) -> Result<u64, QueryFault> {
    let failed = |_| QueryFault::SessionNotPinned;
    let (version, id): (String, u64) = sqlx::query_as("SELECT VERSION(), CONNECTION_ID()")
        .persistent(false)
        .fetch_one(&mut *connection)
        .await
        .map_err(failed)?;
    let flavour = if version.contains("MariaDB") { Flavour::MariaDb } else { Flavour::MySql };
    let rows = u64::from(max_rows) + 1;
    let millis = u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX).max(1);
    let (limit, recursion) = match flavour {
        Flavour::MySql => (format!("max_execution_time={millis}"), "cte_max_recursion_depth"),
        Flavour::MariaDb => {
            (format!("max_statement_time={}.{:03}", millis / 1000, millis % 1000), "max_recursive_iterations")
        }
    };
    let set = format!(
        "SET SESSION sql_mode='{SQL_MODE}', time_zone='+00:00', sql_select_limit={rows}, {limit}, {recursion}={MAX_RECURSION}, \
         group_concat_max_len=65536, character_set_client=utf8mb4, character_set_connection=utf8mb4, character_set_results=utf8mb4"
    );
    connection.execute(AssertSqlSafe(set)).await.map_err(failed)?;
    verify(connection, flavour, rows, millis).await?;
    connection.execute("START TRANSACTION READ ONLY").await.map_err(failed)?;
    Ok(id)
}

/// Fail closed: a setting that a proxy or a server swallowed would change what the guard's reading means.
async fn verify(
    connection: &mut MySqlConnection,
    flavour: Flavour,
    rows: u64,
    millis: u64,
) -> Result<(), QueryFault> {
    let limit = match flavour {
        Flavour::MySql => "@@SESSION.max_execution_time",
        Flavour::MariaDb => "CAST(ROUND(@@SESSION.max_statement_time * 1000) AS UNSIGNED)",
    };
    let read = format!(
        "SELECT CAST(@@SESSION.sql_mode AS CHAR), CAST(@@SESSION.time_zone AS CHAR), CAST(@@SESSION.character_set_client AS CHAR), \
         CAST(@@SESSION.sql_select_limit AS CHAR), CAST({limit} AS CHAR)"
    );
    let found: (String, String, String, String, String) = sqlx::query_as(AssertSqlSafe(read))
        .persistent(false)
        .fetch_one(connection)
        .await
        .map_err(|_| QueryFault::SessionNotPinned)?;
    let modes = |text: &str| text.split(',').map(str::to_owned).collect::<std::collections::BTreeSet<_>>();
    let right = modes(&found.0) == modes(SQL_MODE)
        && found.1 == "+00:00"
        && found.2 == "utf8mb4"
        && found.3 == rows.to_string()
        && found.4 == millis.to_string();
    if right { Ok(()) } else { Err(QueryFault::SessionNotPinned) }
}

/// Reads rows one by one, so that a LIMIT in the statement can't make us hold more than we show.
async fn read(
    connection: &mut MySqlConnection,
    select: &ReadOnlySelect,
    mut collected: Collected,
) -> Result<Collected, QueryFault> {
    let mut rows = bound(select).fetch(connection);
    while let Some(row) = rows.next().await {
        let row: MySqlRow = row.map_err(|e| fault(&e))?;
        collected.columns(|| row.columns().iter().map(|c| c.name().to_owned()).collect());
        let cells = (0..row.len()).map(|i| cells::read(&row, i, &mut collected)).collect();
        if !collected.push(cells) {
            break;
        }
    }
    Ok(collected)
}

/// What the server cut without an error. Only the codes are read: the texts may quote data.
async fn warnings(connection: &mut MySqlConnection, collected: &mut Collected) {
    // A prepared statement would replace the list that it asks for.
    let Ok(rows) = sqlx::raw_sql("SHOW WARNINGS").fetch_all(connection).await else { return };
    for row in rows {
        match row.try_get_unchecked::<u32, _>("Code") {
            Ok(CUT_GROUP_CONCAT) => collected.cut("the server cut a GROUP_CONCAT at its limit"),
            Ok(CUT_RECURSION) => collected.cut(&format!(
                "a recursive WITH was stopped after {MAX_RECURSION} rounds; its result is not whole"
            )),
            _ => {}
        }
    }
}

/// The original text with its parameters as values.
fn bound(select: &ReadOnlySelect) -> sqlx::query::Query<'_, sqlx::MySql, MySqlArguments> {
    let mut query = sqlx::query(AssertSqlSafe(select.sql())).persistent(false);
    for param in select.params() {
        query = match param {
            Value::Bool(value) => query.bind(*value),
            Value::Number(number) => match (number.as_i64(), number.as_u64()) {
                (Some(value), _) => query.bind(value),
                (None, Some(value)) => query.bind(value),
                (None, None) => query.bind(number.as_f64()),
            },
            Value::String(text) => query.bind(text.clone()),
            Value::Null | Value::Array(_) | Value::Object(_) => query.bind(None::<String>),
        };
    }
    query
}

fn fault(error: &sqlx::Error) -> QueryFault {
    match error {
        sqlx::Error::Database(refused) => {
            let number = refused.try_downcast_ref::<sqlx::mysql::MySqlDatabaseError>().map(|e| e.number());
            match number {
                // Time limit reached: MySQL, MariaDB, and a query killed by us.
                Some(3024 | 1969 | 1317) => QueryFault::TooSlow,
                number => QueryFault::Refused { code: number.map(|n| n.to_string()) },
            }
        }
        _ => QueryFault::Unavailable,
    }
}
