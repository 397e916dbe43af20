//! A configured business database: what the model is told of it, what the guard allows, and where its queries go.

use std::sync::OnceLock;
use std::time::Duration;

use serde_json::Value;

use super::collect::Collected;
use super::{Dialect, Policy, ReadOnlySelect, digest, server};
use crate::redaction::Redactor;

/// Time for a database to tell its schema.
const LEARN_TIME: Duration = Duration::from_secs(2);

/// One allow-listed table, as the model is told about it.
#[derive(Debug, Clone)]
pub struct TableNote {
    pub name: String,
    pub description: String,
    pub columns: Vec<String>,
}

pub struct BusinessDatabase {
    pub name: String,
    pub description: String,
    pub policy: Policy,
    pub tables: Vec<TableNote>,
    /// Rows shown at most, never none; one more is read to know that there are more.
    pub max_rows: u32,
    /// What the database told of its tables; nothing if it couldn't be asked.
    schema: OnceLock<String>,
    backend: Backend,
}

enum Backend {
    Server(server::Server),
    #[cfg(feature = "sqlite")]
    Embedded(super::embedded::Embedded),
}

/// What a SELECT gave, bounded.
#[derive(Debug, Default, PartialEq)]
pub struct Rows {
    pub columns: Vec<String>,
    pub rows: Vec<Vec<Value>>,
    pub truncated: bool,
    pub notes: Vec<String>,
}

/// SQLite has one code for both, so these stand for a code.
pub(super) const NO_SUCH_COLUMN: &str = "no such column";
pub(super) const NO_SUCH_TABLE: &str = "no such table";

/// Why a SELECT gave nothing. No vendor text: it may quote data.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum QueryFault {
    #[error("the database can't be reached")]
    Unavailable,
    #[error("the session settings were not accepted")]
    SessionNotPinned,
    #[error("the query was stopped at its time limit")]
    TooSlow,
    #[error("the server refused the query")]
    Refused { code: Option<String> },
}

/// A database's address can't be used. It is not repeated: it may hold a password.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the database URL must be {0}")]
pub struct InvalidAddress(&'static str);

impl BusinessDatabase {
    /// Connects at the first query.
    pub fn new(
        name: &str,
        description: &str,
        url: &str,
        policy: Policy,
        tables: Vec<TableNote>,
        max_rows: u32,
    ) -> Result<Self, InvalidAddress> {
        let backend = match policy.dialect {
            Dialect::MySql => {
                let server = server::Server::new(url)
                    .ok_or(InvalidAddress("mysql://user:password@host:port/schema"))?;
                Backend::Server(server)
            }
            #[cfg(feature = "sqlite")]
            Dialect::Sqlite => {
                let embedded =
                    super::embedded::Embedded::new(url).ok_or(InvalidAddress("sqlite://path/to/file"))?;
                Backend::Embedded(embedded)
            }
            #[cfg(not(feature = "sqlite"))]
            Dialect::Sqlite => return Err(InvalidAddress("a mysql:// URL: this build has no SQLite")),
        };
        Ok(Self {
            name: name.to_owned(),
            description: description.to_owned(),
            policy,
            tables,
            max_rows: max_rows.max(1),
            schema: OnceLock::new(),
            backend,
        })
    }

    /// Lines of the tool's description: one for the source, one for each table.
    pub fn describe(&self) -> String {
        let dialect = match self.policy.dialect {
            Dialect::MySql => "mysql",
            Dialect::Sqlite => "sqlite",
        };
        let mut text = format!(
            "\ndata source: {} ({dialect}) — {}; at most {} rows",
            self.name, self.description, self.max_rows
        );
        for table in &self.tables {
            text.push_str(&format!("\ntable: {}({})", table.name, table.columns.join(", ")));
            if !table.description.is_empty() {
                text.push_str(&format!(" — {}", table.description));
            }
        }
        text.push_str(self.schema.get().map_or("", String::as_str));
        text
    }

    /// Asks the database for the columns, types, comments and indexes of its allow-listed tables; once.
    pub async fn learn(&self) {
        let names: Vec<&str> = self.policy.tables.iter().map(String::as_str).collect();
        let asked = async {
            match &self.backend {
                Backend::Server(server) => server.schema(self.policy.database.as_deref(), &names).await,
                #[cfg(feature = "sqlite")]
                Backend::Embedded(embedded) => embedded.schema(&names).await,
            }
        };
        match tokio::time::timeout(LEARN_TIME, asked).await {
            Ok(Ok(tables)) => {
                let shown = |name: &str| {
                    let note = self.tables.iter().find(|table| table.name.eq_ignore_ascii_case(name));
                    note.map(|note| note.columns.clone()).unwrap_or_default()
                };
                let _ = self.schema.set(digest::text(&tables, shown));
            }
            Ok(Err(fault)) => {
                tracing::warn!(source.name = self.name, error = %fault, "the schema of a business database is not known");
            }
            Err(_) => tracing::warn!(
                source.name = self.name,
                "the schema of a business database was not told in time"
            ),
        }
    }

    pub async fn select(
        &self,
        select: &ReadOnlySelect,
        redactor: Redactor,
        timeout: Duration,
    ) -> Result<Rows, QueryFault> {
        let collected = Collected::new(self.max_rows, redactor);
        match &self.backend {
            Backend::Server(server) => server.select(select, collected, timeout).await,
            #[cfg(feature = "sqlite")]
            Backend::Embedded(embedded) => embedded.select(select, collected, timeout).await,
        }
    }
}
