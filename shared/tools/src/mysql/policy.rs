//! What one data source allows: plain data, read from the operator's configuration.

use std::collections::BTreeSet;

use serde::Deserialize;

/// Which server reads the statement; it decides the lexical rules and the functions that exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Dialect {
    /// MySQL 8 and MariaDB 10.6 or later, under the default `sql_mode`.
    MySql,
    /// SQLite 3.38 or later: the embedded demonstration database.
    Sqlite,
}

/// The tables a data source shows to the agent.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Policy {
    /// Lexical rules and functions.
    pub dialect: Dialect,
    /// The schema the connection is opened in. When given, `schema.table` may be written; every other
    /// qualified table name is refused.
    #[serde(default)]
    pub database: Option<String>,
    /// Allow-listed tables. Names are compared byte for byte: table names are case-sensitive on the
    /// servers this runs against, and a folding that differs from the server's would let a table in.
    pub tables: BTreeSet<String>,
}
