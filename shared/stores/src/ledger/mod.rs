//! The ledger over sqlx: one implementation for MySQL (and MariaDB) and SQLite.

mod audit;
mod connection;
mod documents;
mod fault;
mod feedback;
mod keys;
mod migrations;
mod quality;
mod reads;
mod retention;
mod runs;
mod slots;
mod trace;
mod values;

use std::time::Duration;

use agent::ports::documents::{
    Chunk, CorpusRevision, DocumentSource, DocumentStore, DocumentSummary, Expected, NewDocument,
    SavedDocument, StoredDocument,
};
use agent::ports::keys::{ApiKey, ApiKeys, KeyHash};
use agent::ports::ledger::{
    AuditBatch, CommitOutcome, Ledger, NewRun, RunPage, RunRow, TerminalCommit, TraceRows,
};
use agent::ports::quality::{Quality, QualityStore};
use agent::ports::{Feedback, FeedbackStore, StoreError};
use async_trait::async_trait;
use domain::ids::{CallerId, RunId, SessionId};
use domain::question::PreviousTurn;
use sqlx::ConnectOptions as _;
use sqlx::mysql::MySqlConnectOptions;
#[cfg(feature = "sqlite")]
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};
use time::OffsetDateTime;

use crate::AddressError;
use connection::Connection;
use fault::Fault;
use runs::Session;
use slots::Slots;

/// One sandbox serves one run at a time: a second connection is for what overlaps with it.
const MAX_CONNECTIONS: u32 = 2;
const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(3);
/// One statement or short transaction.
const WORK_TIMEOUT: Duration = Duration::from_secs(5);
/// Servers and proxies drop older connections; checked when one is taken, because timers stand still in a
/// frozen sandbox.
const MAX_LIFETIME: Duration = Duration::from_secs(15 * 60);
const MAX_IDLE: Duration = Duration::from_secs(5 * 60);
/// Every pooled connection may have died while the sandbox was frozen; the attempt after them gets a fresh
/// one.
const MAX_ATTEMPTS: u32 = MAX_CONNECTIONS + 1;

/// The ledger, its documents included. Cheap to clone.
#[derive(Clone)]
pub struct SqlLedger {
    pools: Pools,
}

#[derive(Clone)]
enum Pools {
    MySql(Slots),
    #[cfg(feature = "sqlite")]
    Sqlite(sqlx::SqlitePool),
}

/// Runs `$work` on a pooled connection within its time, again on another one after a transient fault.
/// `$repeated` says that an earlier attempt may have been carried out although its answer was lost.
macro_rules! on_connection {
    ($ledger:expr, $what:literal, |$connection:ident, $repeated:ident| $work:expr) => {{
        let mut attempt = 1;
        loop {
            let $repeated = attempt > 1;
            let fault = match $ledger.acquire().await {
                Ok(connection) => {
                    let mut held = $crate::ledger::connection::Held::new(connection);
                    let done = match held.connection() {
                        Some($connection) => tokio::time::timeout($crate::ledger::WORK_TIMEOUT, $work).await,
                        None => Ok(Err($crate::ledger::fault::Fault::Timeout)),
                    };
                    match done.unwrap_or(Err($crate::ledger::fault::Fault::Timeout)) {
                        Ok(value) => {
                            held.give_back();
                            break Ok(value);
                        }
                        Err(fault) => {
                            if !fault.breaks_connection() {
                                held.give_back();
                            }
                            fault
                        }
                    }
                }
                Err(fault) => fault,
            };
            if attempt >= $crate::ledger::MAX_ATTEMPTS || !fault.is_transient() {
                break Err(fault.into_store_error($what));
            }
            attempt += 1;
        }
    }};
}

impl SqlLedger {
    /// `mysql://user:password@host/schema?ssl-mode=…` or `sqlite://path`. Connects at the first use; call it
    /// within a runtime.
    ///
    /// # Errors
    /// An address that is neither, or that can't be read.
    pub fn connect_lazy(url: &str) -> Result<Self, AddressError> {
        const VARIABLE: &str = "DATABASE_URL";
        let pools = match url.split_once("://").map(|(scheme, _)| scheme) {
            Some("mysql" | "mariadb") => {
                Pools::MySql(mysql_slots(url).map_err(|_| AddressError::Invalid {
                    variable: VARIABLE,
                    why: "expected mysql://user:password@host:port/schema?ssl-mode=…",
                })?)
            }
            #[cfg(feature = "sqlite")]
            Some("sqlite") => Pools::Sqlite(sqlite_pool(url).map_err(|_| AddressError::Invalid {
                variable: VARIABLE,
                why: "expected sqlite://path/to/file",
            })?),
            _ => {
                return Err(AddressError::Scheme {
                    variable: VARIABLE, expected: "mysql://… or sqlite://…"
                });
            }
        };
        Ok(Self { pools })
    }

    /// Applies the embedded migrations that are missing, and returns their versions. Safe when two processes
    /// do it at once.
    ///
    /// # Errors
    /// `Unavailable`; `Conflict` when an applied migration was changed or an earlier one failed half-way.
    pub async fn migrate(&self) -> Result<Vec<i64>, StoreError> {
        migrations::run(&self.pools).await
    }

    /// Closes all connections; for an orderly end of tests and the maintenance function.
    pub async fn close(&self) {
        match &self.pools {
            Pools::MySql(slots) => slots.close(),
            #[cfg(feature = "sqlite")]
            Pools::Sqlite(pool) => pool.close().await,
        }
    }

    async fn acquire(&self) -> Result<Connection, Fault> {
        Ok(match &self.pools {
            Pools::MySql(slots) => Connection::MySql(slots.lend().await?),
            #[cfg(feature = "sqlite")]
            Pools::Sqlite(pool) => Connection::Sqlite(pool.acquire().await?),
        })
    }
}

/// The parts of admitting a run.
impl SqlLedger {
    async fn session(&self, run: &NewRun) -> Result<Session, StoreError> {
        on_connection!(self, "session", |connection, _repeated| runs::session(connection, run))
    }

    async fn insert_session(&self, run: &NewRun) -> Result<(), StoreError> {
        on_connection!(self, "session", |connection, _repeated| runs::insert_session(connection, run))
    }

    async fn insert_run(&self, run: &NewRun) -> Result<(), StoreError> {
        on_connection!(self, "run", |connection, repeated| runs::insert_run(connection, run, repeated))
    }

    async fn insert_owned(&self, run: &NewRun) -> Result<bool, StoreError> {
        on_connection!(self, "run", |connection, repeated| runs::insert_owned(connection, run, repeated))
    }
}

/// The handshake says utf8mb4, and times are bound in UTC into DATETIME columns: the session needs no SET,
/// which would cost a round trip and pin a proxied connection.
fn mysql_slots(url: &str) -> Result<Slots, sqlx::Error> {
    let url = url.replacen("mariadb://", "mysql://", 1);
    let options = url
        .parse::<MySqlConnectOptions>()?
        .charset("utf8mb4")
        .pipes_as_concat(false)
        .no_engine_substitution(false)
        .timezone(None)
        .set_names(false)
        .disable_statement_logging();
    Ok(Slots::new(options))
}

#[cfg(feature = "sqlite")]
fn sqlite_pool(url: &str) -> Result<sqlx::SqlitePool, sqlx::Error> {
    let options = url
        .parse::<SqliteConnectOptions>()?
        .create_if_missing(true)
        .busy_timeout(WORK_TIMEOUT)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Normal)
        .foreign_keys(true)
        .disable_statement_logging();
    Ok(SqlitePoolOptions::new()
        .max_connections(MAX_CONNECTIONS)
        .acquire_timeout(WORK_TIMEOUT)
        .test_before_acquire(false)
        .connect_lazy_with(options))
}

#[async_trait]
impl Ledger for SqlLedger {
    async fn admit(&self, run: &NewRun) -> Result<Option<PreviousTurn>, StoreError> {
        // The pool's two connections at the same time: what a run waits for is one round trip.
        if run.new_session {
            let (made, written) = tokio::join!(self.insert_session(run), self.insert_run(run));
            return made.and(written).map(|()| None);
        }
        let (session, written) = tokio::join!(self.session(run), self.insert_owned(run));
        let foreign = || StoreError::Conflict { store: fault::STORE, what: "session" };
        let previous = match session? {
            Session::Foreign => return Err(foreign()),
            Session::Own(previous) => previous,
            Session::Unknown => None,
        };
        if written? {
            return Ok(previous);
        }
        // New, or made by another run between the look and the write.
        self.insert_session(run).await?;
        if self.insert_owned(run).await? { Ok(previous) } else { Err(foreign()) }
    }

    async fn commit(&self, terminal: &TerminalCommit) -> Result<CommitOutcome, StoreError> {
        let ending = runs::Ending::of(terminal)?;
        on_connection!(self, "terminal state", |connection, repeated| runs::commit(
            connection, &ending, repeated
        ))
    }

    async fn audit(&self, batch: &AuditBatch) -> Result<(), StoreError> {
        let AuditBatch { steps, invocations } = batch;
        let written = tokio::join!(
            async { on_connection!(self, "audit", |connection, _repeated| audit::steps(connection, steps)) },
            async {
                on_connection!(self, "audit", |connection, _repeated| audit::invocations(
                    connection,
                    invocations
                ))
            },
        );
        written.0.and(written.1)
    }

    async fn run(&self, run_id: RunId, caller: &CallerId) -> Result<Option<RunRow>, StoreError> {
        on_connection!(self, "run", |connection, _repeated| reads::one(connection, run_id, caller))
    }

    async fn session_runs(
        &self,
        session: &SessionId,
        caller: &CallerId,
        limit: u32,
        before: Option<RunId>,
    ) -> Result<Option<RunPage>, StoreError> {
        on_connection!(self, "session", |connection, _repeated| {
            reads::page(connection, session, caller, limit, before)
        })
    }

    async fn trace(&self, run_id: RunId) -> Result<TraceRows, StoreError> {
        on_connection!(self, "audit", |connection, _repeated| trace::read(connection, run_id))
    }

    async fn sweep(&self, now: OffsetDateTime, limit: u32) -> Result<Vec<RunId>, StoreError> {
        on_connection!(self, "sweep", |connection, _repeated| runs::sweep(connection, now, limit))
    }

    async fn retain(&self, before: OffsetDateTime, limit: u32) -> Result<u32, StoreError> {
        on_connection!(self, "retention", |connection, _repeated| retention::retain(
            connection, before, limit
        ))
    }

    async fn ping(&self) -> Result<(), StoreError> {
        on_connection!(self, "ping", |connection, _repeated| connection.ping())
    }
}

#[async_trait]
impl DocumentSource for SqlLedger {
    async fn revision(&self) -> Result<CorpusRevision, StoreError> {
        on_connection!(self, "documents", |connection, _repeated| documents::revision(connection))
    }

    async fn chunks(&self) -> Result<(CorpusRevision, Vec<Chunk>), StoreError> {
        on_connection!(self, "documents", |connection, _repeated| documents::chunks(connection))
    }
}

#[async_trait]
impl DocumentStore for SqlLedger {
    async fn put(
        &self,
        document: &NewDocument,
        expected: Expected,
        at: OffsetDateTime,
    ) -> Result<SavedDocument, StoreError> {
        documents::check_sizes(document)?;
        on_connection!(self, "document", |connection, _repeated| documents::put(
            connection, document, expected, at
        ))
    }

    async fn remove(
        &self,
        document_id: &str,
        expected: Expected,
        at: OffsetDateTime,
    ) -> Result<bool, StoreError> {
        on_connection!(self, "document", |connection, _repeated| documents::remove(
            connection,
            document_id,
            expected,
            at
        ))
    }

    async fn get(&self, document_id: &str) -> Result<Option<StoredDocument>, StoreError> {
        on_connection!(self, "document", |connection, _repeated| documents::get(connection, document_id))
    }

    async fn list(&self, limit: u32, after: Option<&str>) -> Result<Vec<DocumentSummary>, StoreError> {
        on_connection!(self, "documents", |connection, _repeated| documents::list(connection, limit, after))
    }
}

#[async_trait]
impl FeedbackStore for SqlLedger {
    async fn rate(
        &self,
        run_id: RunId,
        caller: &CallerId,
        feedback: &Feedback,
        at: OffsetDateTime,
    ) -> Result<(), StoreError> {
        on_connection!(self, "feedback", |connection, _repeated| feedback::rate(
            connection, run_id, caller, feedback, at
        ))
    }

    async fn rating(&self, run_id: RunId, caller: &CallerId) -> Result<Option<Feedback>, StoreError> {
        on_connection!(self, "feedback", |connection, _repeated| feedback::rating(connection, run_id, caller))
    }
}

#[async_trait]
impl ApiKeys for SqlLedger {
    async fn create(&self, key: &ApiKey, hash: &KeyHash) -> Result<(), StoreError> {
        on_connection!(self, "API key", |connection, repeated| keys::create(connection, key, hash, repeated))
    }

    async fn find(&self, id: &str) -> Result<Option<(ApiKey, KeyHash)>, StoreError> {
        on_connection!(self, "API key", |connection, _repeated| keys::find(connection, id))
    }

    async fn list(&self, limit: u32) -> Result<Vec<ApiKey>, StoreError> {
        on_connection!(self, "API keys", |connection, _repeated| keys::list(connection, limit))
    }

    async fn revoke(&self, id: &str, at: OffsetDateTime) -> Result<bool, StoreError> {
        on_connection!(self, "API key", |connection, _repeated| keys::revoke(connection, id, at))
    }
}

#[async_trait]
impl QualityStore for SqlLedger {
    async fn quality(&self, from: OffsetDateTime, to: OffsetDateTime) -> Result<Quality, StoreError> {
        on_connection!(self, "quality", |connection, _repeated| quality::read(connection, from, to))
    }
}
