//! SQLite: the embedded demonstration database, opened read-only for each query.

use std::time::Duration;

use futures_util::StreamExt;
use serde_json::Value;
use sqlx::sqlite::{SqliteArguments, SqliteConnectOptions, SqliteConnection, SqliteRow};
use sqlx::{AssertSqlSafe, Column, ConnectOptions, Connection, Row, TypeInfo, ValueRef};
use tokio::time::Instant;

use super::ReadOnlySelect;
use super::collect::{Collected, bytes, signed};
use super::digest::{self, Index, Table};
use super::source::{NO_SUCH_COLUMN, NO_SUCH_TABLE, QueryFault, Rows};

/// Virtual machine instructions between two looks at the clock.
const PROGRESS_STEPS: i32 = 10_000;

pub(super) struct Embedded {
    options: SqliteConnectOptions,
}

impl Embedded {
    pub fn new(url: &str) -> Option<Self> {
        let options: SqliteConnectOptions = url.parse().ok()?;
        let options = options
            .read_only(true)
            .create_if_missing(false)
            .pragma("query_only", "ON")
            .disable_statement_logging();
        Some(Self { options })
    }

    /// What the file tells of its tables; SQLite keeps no comments.
    pub async fn schema(&self, tables: &[&str]) -> Result<Vec<Table>, QueryFault> {
        let mut connection = self.options.connect().await.map_err(|_| QueryFault::Unavailable)?;
        let mut found = Vec::new();
        for name in tables {
            let mut table = Table { name: (*name).to_owned(), ..Table::default() };
            let columns = "SELECT name, type, \"notnull\" = 0 FROM pragma_table_info(?)";
            let rows = sqlx::query(columns).bind((*name).to_owned()).fetch_all(&mut connection).await;
            for row in rows.map_err(|e| fault(&e))? {
                let text = |column: usize| row.try_get::<String, _>(column).unwrap_or_default();
                let nullable = row.try_get::<bool, _>(2).unwrap_or(true);
                table.columns.push(digest::Column {
                    name: text(0),
                    kind: text(1),
                    nullable,
                    comment: String::new(),
                });
            }
            let indexes = "SELECT list.name, list.\"unique\", info.name FROM pragma_index_list(?) list, \
                           pragma_index_info(list.name) info ORDER BY list.seq, info.seqno";
            let rows = sqlx::query(indexes).bind((*name).to_owned()).fetch_all(&mut connection).await;
            for row in rows.map_err(|e| fault(&e))? {
                let text = |column: usize| row.try_get::<String, _>(column).unwrap_or_default();
                match table.indexes.last_mut().filter(|index| index.name == text(0)) {
                    Some(index) => index.columns.push(text(2)),
                    None => {
                        let unique = row.try_get::<bool, _>(1).unwrap_or(false);
                        table.indexes.push(Index { name: text(0), unique, columns: vec![text(2)] });
                    }
                }
            }
            if !table.columns.is_empty() {
                found.push(table);
            }
        }
        let _ = connection.close().await;
        Ok(found)
    }

    pub async fn select(
        &self,
        select: &ReadOnlySelect,
        collected: Collected,
        timeout: Duration,
    ) -> Result<Rows, QueryFault> {
        let mut connection = self.options.connect().await.map_err(|_| QueryFault::Unavailable)?;
        let deadline = Instant::now() + timeout;
        // SQLite has no server to kill a query: it asks whether to go on.
        let mut handle = connection.lock_handle().await.map_err(|_| QueryFault::Unavailable)?;
        handle.set_progress_handler(PROGRESS_STEPS, move || Instant::now() < deadline);
        drop(handle);
        let result = read(&mut connection, select, collected).await;
        let _ = connection.close().await;
        match result {
            Err(_) if Instant::now() >= deadline => Err(QueryFault::TooSlow),
            other => other,
        }
    }
}

async fn read(
    connection: &mut SqliteConnection,
    select: &ReadOnlySelect,
    mut collected: Collected,
) -> Result<Rows, QueryFault> {
    let mut rows = bound(select).fetch(connection);
    while let Some(row) = rows.next().await {
        let row: SqliteRow = row.map_err(|e| fault(&e))?;
        collected.columns(|| row.columns().iter().map(|c| c.name().to_owned()).collect());
        if !collected.push((0..row.len()).map(|i| cell(&row, i)).collect()) {
            break;
        }
    }
    Ok(collected.finish())
}

fn cell(row: &SqliteRow, index: usize) -> Value {
    let Ok(value) = row.try_get_raw(index) else {
        return Value::Null;
    };
    // The type of this value, not of its column: SQLite's cells have their own.
    match (value.is_null(), value.type_info().name()) {
        (true, _) => Value::Null,
        (false, "INTEGER" | "BOOLEAN") => row.try_get_unchecked::<i64, _>(index).map_or(Value::Null, signed),
        (false, "REAL") => row.try_get_unchecked::<f64, _>(index).map_or(Value::Null, Value::from),
        (false, "BLOB") => row.try_get_unchecked::<Vec<u8>, _>(index).map_or(Value::Null, |b| bytes(&b)),
        (false, _) => row.try_get_unchecked::<String, _>(index).map_or(Value::Null, Value::from),
    }
}

fn bound(select: &ReadOnlySelect) -> sqlx::query::Query<'_, sqlx::Sqlite, SqliteArguments> {
    let mut query = sqlx::query(AssertSqlSafe(select.sql())).persistent(false);
    for param in select.params() {
        query = match param {
            Value::Bool(value) => query.bind(*value),
            Value::Number(number) => match number.as_i64() {
                Some(value) => query.bind(value),
                None => query.bind(number.as_f64()),
            },
            Value::String(text) => query.bind(text.clone()),
            Value::Null | Value::Array(_) | Value::Object(_) => query.bind(None::<String>),
        };
    }
    query
}

/// Only the kind of fault is taken from SQLite's message: the rest of it may quote data.
fn fault(error: &sqlx::Error) -> QueryFault {
    match error {
        sqlx::Error::Database(refused) => {
            let known =
                [NO_SUCH_COLUMN, NO_SUCH_TABLE].into_iter().find(|kind| refused.message().contains(kind));
            let code = known.map(str::to_owned).or_else(|| refused.code().map(|code| code.into_owned()));
            QueryFault::Refused { code }
        }
        _ => QueryFault::Unavailable,
    }
}

#[cfg(test)]
mod tests {
    use sqlx::Executor;

    use super::*;

    #[tokio::test]
    async fn nothing_can_be_written_even_without_the_guard() {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite://{}", folder.path().join("shop.db").display());
        let create: SqliteConnectOptions = url.parse().unwrap();
        let mut writer = create.create_if_missing(true).connect().await.unwrap();
        writer.execute("CREATE TABLE orders (id INTEGER)").await.unwrap();
        let mut reader = Embedded::new(&url).unwrap().options.connect().await.unwrap();
        for statement in ["INSERT INTO orders VALUES (1)", "DROP TABLE orders", "CREATE TEMP TABLE t (id)"] {
            assert!(reader.execute(statement).await.is_err(), "{statement}");
        }
        assert!(reader.execute("SELECT id FROM orders").await.is_ok());
    }
}
