//! What can go wrong on a database connection, what of it is worth a second attempt, and what a log may say
//! about it.

use agent::ports::StoreError;
use sqlx::mysql::MySqlDatabaseError;

pub(super) const STORE: &str = "ledger";

#[derive(Debug)]
pub(super) enum Fault {
    Database(sqlx::Error),
    /// No answer within the statement's own time.
    Timeout,
    /// Another transaction created the same session first: look again.
    Raced,
    /// A column holds what this system does not write.
    Unreadable,
    Store(StoreError),
}

impl From<sqlx::Error> for Fault {
    fn from(error: sqlx::Error) -> Self {
        Self::Database(error)
    }
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// A database's complaint by its number only: the text may quote a value, a user or a host.
#[derive(Debug, thiserror::Error)]
enum Complaint {
    #[error("database error {0}")]
    Number(String),
    #[error("no free connection in time")]
    NoConnection,
    #[error("no answer in time")]
    Timeout,
    #[error("connection lost")]
    Lost(#[source] std::io::Error),
    #[error("concurrent writers")]
    Raced,
    #[error("driver error")]
    Driver,
}

/// The server is going away, the session was killed or timed out, or a failover made this connection
/// read-only.
const DEAD_CONNECTION: [u32; 6] = [1053, 1290, 1792, 1836, 1927, 4031];
/// A deadlock's victim was rolled back whole.
const DEADLOCK: u32 = 1213;
/// SQLITE_BUSY and its variants: another process holds the file.
const SQLITE_BUSY: [u32; 4] = [5, 261, 517, 773];

impl Fault {
    fn number(&self) -> Option<u32> {
        let Self::Database(sqlx::Error::Database(error)) = self else { return None };
        match error.try_downcast_ref::<MySqlDatabaseError>() {
            Some(error) => Some(error.number().into()),
            None => error.code()?.parse().ok(),
        }
    }

    /// Whether the connection must not be used again.
    pub(super) fn breaks_connection(&self) -> bool {
        match self {
            Self::Database(sqlx::Error::Io(_) | sqlx::Error::Protocol(_) | sqlx::Error::Tls(_)) => true,
            Self::Database(sqlx::Error::WorkerCrashed) | Self::Timeout => true,
            _ => self.number().is_some_and(|number| DEAD_CONNECTION.contains(&number)),
        }
    }

    /// Whether the same work may succeed on another connection. Time that ran out is not tried again.
    pub(super) fn is_transient(&self) -> bool {
        match self {
            Self::Raced => true,
            Self::Timeout => false,
            _ if self.breaks_connection() => true,
            _ => self.number().is_some_and(|n| n == DEADLOCK || SQLITE_BUSY.contains(&n)),
        }
    }

    /// A primary or unique key exists already.
    pub(super) fn is_duplicate(&self) -> bool {
        matches!(self, Self::Database(sqlx::Error::Database(error)) if error.is_unique_violation())
    }

    pub(super) fn into_store_error(self, what: &'static str) -> StoreError {
        let number = self.number();
        let complaint = match self {
            Self::Store(error) => return error,
            Self::Unreadable
            | Self::Database(
                sqlx::Error::ColumnDecode { .. } | sqlx::Error::Decode(_) | sqlx::Error::ColumnNotFound(_),
            ) => {
                return StoreError::Corrupt { store: STORE, what };
            }
            Self::Timeout => Complaint::Timeout,
            Self::Raced => Complaint::Raced,
            Self::Database(sqlx::Error::PoolTimedOut) => Complaint::NoConnection,
            Self::Database(sqlx::Error::Io(error)) => Complaint::Lost(error),
            Self::Database(_) => {
                number.map_or(Complaint::Driver, |number| Complaint::Number(number.to_string()))
            }
        };
        StoreError::unavailable(STORE, what, complaint)
    }
}

pub(super) fn conflict(what: &'static str) -> Fault {
    Fault::Store(StoreError::Conflict { store: STORE, what })
}

/// Refuses a value over its column's size before anything is sent: an oversized packet looks like a lost
/// connection.
pub(super) fn bounded(text: &str, what: &'static str, max_bytes: usize) -> Result<(), StoreError> {
    if text.len() > max_bytes { Err(StoreError::TooLarge { store: STORE, what, max_bytes }) } else { Ok(()) }
}
