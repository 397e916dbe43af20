//! What goes into a statement and what comes out: bound values and rows, the same for both databases.

use domain::ids::{CallerId, RunId, SessionId};
use sqlx::Row as _;
use sqlx::mysql::MySqlRow;
#[cfg(feature = "sqlite")]
use sqlx::sqlite::SqliteRow;
use time::{OffsetDateTime, PrimitiveDateTime, UtcOffset};

use super::fault::Fault;

/// A bound parameter. Never part of the SQL text.
#[derive(Debug, Clone)]
pub(super) enum Value {
    Text(Option<String>),
    Int(Option<i64>),
    Flag(bool),
    Time(Option<PrimitiveDateTime>),
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
    Option<u64> => |it| Self::Int(it.map(|it| i64::try_from(it).unwrap_or(i64::MAX)));
    u64 => |it| Self::Int(Some(i64::try_from(it).unwrap_or(i64::MAX)));
    bool => |it| Self::Flag(it);
    Option<OffsetDateTime> => |it| Self::Time(it.map(stored_time));
    OffsetDateTime => |it| Self::Time(Some(stored_time(it)));
}

/// UTC, cut to the microseconds that both databases keep.
pub(super) fn stored_time(at: OffsetDateTime) -> PrimitiveDateTime {
    let utc = at.to_offset(UtcOffset::UTC);
    let cut = utc.replace_nanosecond(utc.nanosecond() / 1000 * 1000).unwrap_or(utc);
    PrimitiveDateTime::new(cut.date(), cut.time())
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
        optional_int: Option<i64>;
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
