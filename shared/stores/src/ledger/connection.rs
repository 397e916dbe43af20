//! The one place that knows there are two databases: pooled connections, transactions and statements on MySQL
//! and SQLite.
//!
//! Everything else writes SQL of their common subset with `?` placeholders, and asks [`Dialect`] for the
//! words that differ.

use sqlx::mysql::MySqlConnection;
#[cfg(feature = "sqlite")]
use sqlx::pool::PoolConnection;
#[cfg(feature = "sqlite")]
use sqlx::sqlite::{Sqlite, SqliteConnection};
use sqlx::{AssertSqlSafe, Connection as _, MySql, SqlSafeStr, SqlStr};

use super::fault::Fault;
use super::slots::Lent;
use super::values::{Row, Value};

/// One statement: its text, and whether it is worth keeping prepared.
pub(super) struct Statement {
    sql: SqlStr,
    reusable: bool,
}

impl From<&'static str> for Statement {
    fn from(sql: &'static str) -> Self {
        Self { sql: sql.into_sql_str(), reusable: true }
    }
}

impl Statement {
    /// A text put together from our own literals and placeholders, never from data.
    pub(super) fn composed(sql: String) -> Self {
        Self { sql: AssertSqlSafe(sql).into_sql_str(), reusable: false }
    }

    /// Such a text that is sent often: prepared once a connection, then one round trip each.
    pub(super) fn kept(sql: String) -> Self {
        Self { reusable: true, ..Self::composed(sql) }
    }
}

/// Where the databases' words differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    MySql,
    #[cfg(feature = "sqlite")]
    Sqlite,
}

impl Dialect {
    /// After an INSERT: rows whose primary key exists stay as they are. Unlike MySQL's INSERT IGNORE this
    /// hides no other error.
    pub(super) fn keep_existing(self) -> &'static str {
        match self {
            Self::MySql => " ON DUPLICATE KEY UPDATE run_id = run_id",
            #[cfg(feature = "sqlite")]
            Self::Sqlite => " ON CONFLICT DO NOTHING",
        }
    }

    /// Whole milliseconds of an ended run.
    pub(super) fn elapsed_ms(self) -> &'static str {
        match self {
            Self::MySql => "CAST(TIMESTAMPDIFF(MICROSECOND, started_at, ended_at) DIV 1000 AS SIGNED)",
            #[cfg(feature = "sqlite")]
            Self::Sqlite => {
                "CAST(ROUND((julianday(ended_at) - julianday(started_at)) * 86400000) AS INTEGER)"
            }
        }
    }

    /// After a SELECT: locks the rows until the transaction ends. SQLite's transactions lock the whole file
    /// already.
    pub(super) fn for_update(self) -> &'static str {
        match self {
            Self::MySql => " FOR UPDATE",
            #[cfg(feature = "sqlite")]
            Self::Sqlite => "",
        }
    }
}

/// A pooled connection.
pub(super) enum Connection {
    MySql(Lent),
    #[cfg(feature = "sqlite")]
    Sqlite(PoolConnection<Sqlite>),
}

/// A connection while work is done on it. Unless it is given back it leaves the pool at once: when the work's future is dropped, an
/// answer may still be on its way, and the next statement would read it.
pub(super) struct Held(Option<Connection>);

impl Held {
    pub(super) fn new(connection: Connection) -> Self {
        Self(Some(connection))
    }

    /// There until it is given back.
    pub(super) fn connection(&mut self) -> Option<&mut Connection> {
        self.0.as_mut()
    }

    /// The work is done, and nothing of it is on its way any more.
    pub(super) fn give_back(mut self) {
        if let Some(connection) = self.0.take() {
            connection.give_back();
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if let Some(connection) = self.0.take() {
            connection.discard();
        }
    }
}

/// A connection or an open transaction, for one statement.
pub(super) enum Link<'c> {
    MySql(&'c mut MySqlConnection),
    #[cfg(feature = "sqlite")]
    Sqlite(&'c mut SqliteConnection),
}

/// Rolled back unless [`Transaction::end`] commits it.
pub(super) enum Transaction<'c> {
    MySql(sqlx::Transaction<'c, MySql>),
    #[cfg(feature = "sqlite")]
    Sqlite(sqlx::Transaction<'c, Sqlite>),
}

impl Connection {
    pub(super) fn on(&mut self) -> Link<'_> {
        match self {
            Self::MySql(lent) => Link::MySql(&mut lent.connection),
            #[cfg(feature = "sqlite")]
            Self::Sqlite(connection) => Link::Sqlite(connection),
        }
    }

    pub(super) fn dialect(&self) -> Dialect {
        match self {
            Self::MySql(_) => Dialect::MySql,
            #[cfg(feature = "sqlite")]
            Self::Sqlite(_) => Dialect::Sqlite,
        }
    }

    /// SQLite takes its write lock at once: upgrading a read lock later can fail without waiting.
    pub(super) async fn begin(&mut self) -> Result<Transaction<'_>, Fault> {
        Ok(match self {
            Self::MySql(lent) => Transaction::MySql(lent.connection.begin().await?),
            #[cfg(feature = "sqlite")]
            Self::Sqlite(connection) => Transaction::Sqlite(connection.begin_with("BEGIN IMMEDIATE").await?),
        })
    }

    pub(super) async fn ping(&mut self) -> Result<(), Fault> {
        match self {
            Self::MySql(lent) => lent.connection.ping().await?,
            #[cfg(feature = "sqlite")]
            Self::Sqlite(connection) => connection.ping().await?,
        }
        Ok(())
    }

    /// Ends a connection in doubt without saying good-bye: to a server that doesn't answer that takes seconds, and its place is
    /// needed.
    fn discard(self) {
        match self {
            Self::MySql(lent) => drop(lent),
            #[cfg(feature = "sqlite")]
            Self::Sqlite(connection) => drop(connection.detach()),
        }
    }

    fn give_back(self) {
        match self {
            Self::MySql(lent) => lent.give_back(),
            #[cfg(feature = "sqlite")]
            Self::Sqlite(connection) => drop(connection),
        }
    }
}

impl Transaction<'_> {
    pub(super) fn on(&mut self) -> Link<'_> {
        match self {
            Self::MySql(transaction) => Link::MySql(transaction),
            #[cfg(feature = "sqlite")]
            Self::Sqlite(transaction) => Link::Sqlite(transaction),
        }
    }

    pub(super) fn dialect(&self) -> Dialect {
        match self {
            Self::MySql(_) => Dialect::MySql,
            #[cfg(feature = "sqlite")]
            Self::Sqlite(_) => Dialect::Sqlite,
        }
    }

    /// Commits what succeeded and rolls back what did not: MySQL's own roll-back on a lock timeout undoes one
    /// statement only.
    pub(super) async fn end<T>(self, done: Result<T, Fault>) -> Result<T, Fault> {
        match (self, &done) {
            (Self::MySql(transaction), Ok(_)) => transaction.commit().await?,
            (Self::MySql(transaction), Err(_)) => drop(transaction.rollback().await),
            #[cfg(feature = "sqlite")]
            (Self::Sqlite(transaction), Ok(_)) => transaction.commit().await?,
            #[cfg(feature = "sqlite")]
            (Self::Sqlite(transaction), Err(_)) => drop(transaction.rollback().await),
        }
        done
    }
}

/// A prepared query with its values bound, for either database.
macro_rules! bound {
    ($database:ty, $statement:expr, $values:expr) => {{
        let mut query = sqlx::query::<$database>($statement.sql).persistent($statement.reusable);
        for value in $values {
            query = match value {
                Value::Text(text) => query.bind(text.as_deref()),
                Value::Int(number) => query.bind(*number),
                Value::Flag(flag) => query.bind(*flag),
                Value::Time(time) => query.bind(*time),
            };
        }
        query
    }};
}

impl Link<'_> {
    /// Runs a statement; returns the rows it matched.
    pub(super) async fn execute(
        self,
        statement: impl Into<Statement>,
        values: &[Value],
    ) -> Result<u64, Fault> {
        let statement = statement.into();
        Ok(match self {
            Self::MySql(link) => bound!(MySql, statement, values).execute(link).await?.rows_affected(),
            #[cfg(feature = "sqlite")]
            Self::Sqlite(link) => bound!(Sqlite, statement, values).execute(link).await?.rows_affected(),
        })
    }

    pub(super) async fn fetch(
        self,
        statement: impl Into<Statement>,
        values: &[Value],
    ) -> Result<Vec<Row>, Fault> {
        let statement = statement.into();
        Ok(match self {
            Self::MySql(link) => {
                bound!(MySql, statement, values).fetch_all(link).await?.into_iter().map(Row::MySql).collect()
            }
            #[cfg(feature = "sqlite")]
            Self::Sqlite(link) => bound!(Sqlite, statement, values)
                .fetch_all(link)
                .await?
                .into_iter()
                .map(Row::Sqlite)
                .collect(),
        })
    }
}
