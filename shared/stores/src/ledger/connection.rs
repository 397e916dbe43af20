//! The one place that knows there are two databases: pooled connections, transactions, values and rows over MySQL and SQLite.
//!
//! Everything else writes SQL of their common subset with `?` placeholders, and asks [`Dialect`] for the three words that differ.

use domain::ids::{CallerId, RunId, SessionId};
use sqlx::mysql::{MySqlConnection, MySqlRow};
use sqlx::pool::PoolConnection;
#[cfg(feature = "sqlite")]
use sqlx::sqlite::{Sqlite, SqliteConnection, SqliteRow};
use sqlx::{AssertSqlSafe, Connection as _, MySql, Row as _, SqlSafeStr, SqlStr};
use time::{OffsetDateTime, PrimitiveDateTime, UtcOffset};

use super::fault::Fault;

/// A bound parameter. Never part of the SQL text.
#[derive(Debug, Clone)]
pub(super) enum Value {
    Text(Option<String>),
    Int(Option<i64>),
    Flag(bool),
    Time(PrimitiveDateTime),
}

macro_rules! value_from {
    ($($from:ty => |$it:ident| $value:expr;)*) => {$(
        impl From<$from> for Value {
            fn from($it: $from) -> Self {
                $value
            }
        }
    )*};
}

value_from! {
    &str => |it| Self::Text(Some(it.to_owned()));
    String => |it| Self::Text(Some(it));
    Option<&str> => |it| Self::Text(it.map(str::to_owned));
    Option<String> => |it| Self::Text(it);
    RunId => |it| Self::Text(Some(it.to_string()));
    &SessionId => |it| Self::Text(Some(it.as_str().to_owned()));
    &CallerId => |it| Self::Text(Some(it.as_str().to_owned()));
    i64 => |it| Self::Int(Some(it));
    u32 => |it| Self::Int(Some(it.into()));
    u64 => |it| Self::Int(Some(i64::try_from(it).unwrap_or(i64::MAX)));
    bool => |it| Self::Flag(it);
    OffsetDateTime => |it| Self::Time(stored_time(it));
}

/// UTC, cut to the microseconds that both databases keep.
pub(super) fn stored_time(at: OffsetDateTime) -> PrimitiveDateTime {
    let utc = at.to_offset(UtcOffset::UTC);
    let cut = utc.replace_nanosecond(utc.nanosecond() / 1000 * 1000).unwrap_or(utc);
    PrimitiveDateTime::new(cut.date(), cut.time())
}

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
}

/// Where the databases' words differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    MySql,
    #[cfg(feature = "sqlite")]
    Sqlite,
}

impl Dialect {
    /// After an INSERT: rows whose primary key exists stay as they are. Unlike MySQL's INSERT IGNORE this hides no other error.
    pub(super) fn keep_existing(self) -> &'static str {
        match self {
            Self::MySql => " ON DUPLICATE KEY UPDATE run_id = run_id",
            #[cfg(feature = "sqlite")]
            Self::Sqlite => " ON CONFLICT DO NOTHING",
        }
    }

    /// After a SELECT: locks the rows until the transaction ends. SQLite's transactions lock the whole file already.
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
    MySql(PoolConnection<MySql>),
    #[cfg(feature = "sqlite")]
    Sqlite(PoolConnection<Sqlite>),
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
            Self::MySql(connection) => Link::MySql(connection),
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
            Self::MySql(connection) => Transaction::MySql(connection.begin().await?),
            #[cfg(feature = "sqlite")]
            Self::Sqlite(connection) => Transaction::Sqlite(connection.begin_with("BEGIN IMMEDIATE").await?),
        })
    }

    pub(super) async fn ping(&mut self) -> Result<(), Fault> {
        match self {
            Self::MySql(connection) => connection.ping().await?,
            #[cfg(feature = "sqlite")]
            Self::Sqlite(connection) => connection.ping().await?,
        }
        Ok(())
    }

    /// Keeps a connection in doubt from going back to the pool.
    pub(super) fn discard(&mut self) {
        match self {
            Self::MySql(connection) => connection.close_on_drop(),
            #[cfg(feature = "sqlite")]
            Self::Sqlite(connection) => connection.close_on_drop(),
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

    /// Commits what succeeded and rolls back what did not: MySQL's own roll-back on a lock timeout undoes one statement only.
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

pub(super) enum Row {
    MySql(MySqlRow),
    #[cfg(feature = "sqlite")]
    Sqlite(SqliteRow),
}

macro_rules! getters {
    ($($name:ident: $type:ty;)*) => {$(
        pub(super) fn $name(&self, column: &str) -> Result<$type, Fault> {
            Ok(match self {
                Self::MySql(row) => row.try_get(column)?,
                #[cfg(feature = "sqlite")]
                Self::Sqlite(row) => row.try_get(column)?,
            })
        }
    )*};
}

impl Row {
    getters! {
        text: String;
        optional_text: Option<String>;
        flag: bool;
        int: i64;
        stored_time: PrimitiveDateTime;
        optional_stored_time: Option<PrimitiveDateTime>;
    }

    pub(super) fn time(&self, column: &str) -> Result<OffsetDateTime, Fault> {
        Ok(self.stored_time(column)?.assume_utc())
    }

    pub(super) fn optional_time(&self, column: &str) -> Result<Option<OffsetDateTime>, Fault> {
        Ok(self.optional_stored_time(column)?.map(PrimitiveDateTime::assume_utc))
    }

    pub(super) fn u32(&self, column: &str) -> Result<u32, Fault> {
        u32::try_from(self.int(column)?).map_err(|_| Fault::Unreadable)
    }

    pub(super) fn u64(&self, column: &str) -> Result<u64, Fault> {
        u64::try_from(self.int(column)?).map_err(|_| Fault::Unreadable)
    }
}
