//! The `DATA_SOURCES` file: which logs and business databases the agent may read, by name, with credentials by reference.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use tools::mysql::{Dialect, Policy};

/// The file, as written.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DataSources {
    #[serde(default)]
    pub logs: Vec<LogSource>,
    #[serde(default)]
    pub databases: Vec<Database>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogSource {
    pub name: String,
    pub description: String,
    pub kind: LogKind,
    /// Files: their folder, relative to the `DATA_SOURCES` file.
    #[serde(default)]
    pub path: PathBuf,
    /// Files: the services whose lines they hold.
    #[serde(default)]
    pub services: Vec<String>,
    /// CloudWatch: the region, if it isn't the function's own.
    #[serde(default)]
    pub region: Option<String>,
    /// CloudWatch: which group holds whose lines.
    #[serde(default)]
    pub groups: Vec<LogGroup>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogGroup {
    pub service: String,
    pub name: String,
    /// A text that the service's lines hold, for a group that several services share.
    #[serde(default)]
    pub filter: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogKind {
    /// A folder of files: JSON lines or plain text, rotated and compressed. `jsonl` says the same.
    #[serde(alias = "jsonl")]
    Files,
    /// CloudWatch Logs, by Insights queries.
    CloudWatch,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Database {
    pub name: String,
    pub description: String,
    pub kind: Dialect,
    /// A URL without credentials (SQLite); relative paths are relative to the `DATA_SOURCES` file.
    #[serde(default)]
    pub url: Option<String>,
    /// The environment variable that holds the URL with its credentials.
    #[serde(default)]
    pub url_env: Option<String>,
    /// The schema that table names may be qualified with.
    #[serde(default)]
    pub database: Option<String>,
    #[serde(default = "default_rows")]
    pub max_rows: u32,
    pub tables: Vec<Table>,
}

fn default_rows() -> u32 {
    50
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    pub name: String,
    #[serde(default)]
    pub description: String,
    #[serde(default)]
    pub columns: Vec<String>,
}

/// The file can't be used.
#[derive(Debug, thiserror::Error)]
pub enum InvalidDataSources {
    #[error("{path} can't be read", path = path.display())]
    Unreadable {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
    #[error("{path} is no data sources file: {message}", path = path.display())]
    Malformed { path: PathBuf, message: String },
}

impl DataSources {
    /// Reads and checks the file; relative paths in it become paths below its folder.
    pub fn load(path: &Path) -> Result<Self, InvalidDataSources> {
        let unreadable = |source| InvalidDataSources::Unreadable { path: path.to_owned(), source };
        let text = std::fs::read_to_string(path).map_err(unreadable)?;
        let malformed = |message: String| InvalidDataSources::Malformed { path: path.to_owned(), message };
        let mut sources: Self = toml::from_str(&text).map_err(|fault| malformed(fault.to_string()))?;
        let folder = path.parent().unwrap_or(Path::new("."));
        for database in &mut sources.databases {
            if let Some(file) = database.url.as_deref().and_then(|url| url.strip_prefix("sqlite://")) {
                database.url = Some(format!("sqlite://{}", folder.join(file).display()));
            }
        }
        sources.check().map_err(malformed)?;
        for log in sources.logs.iter_mut().filter(|log| log.kind == LogKind::Files) {
            log.path = folder.join(&log.path);
        }
        Ok(sources)
    }

    fn check(&self) -> Result<(), String> {
        let mut names = BTreeSet::new();
        for name in self.logs.iter().map(|l| &l.name).chain(self.databases.iter().map(|d| &d.name)) {
            let plain = (1..=64).contains(&name.len())
                && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-".contains(&b));
            if !plain {
                return Err(format!("source name {name:?} must be 1 to 64 characters of A-Z a-z 0-9 _ -"));
            }
            if !names.insert(name) {
                return Err(format!("source name {name:?} is used twice"));
            }
        }
        self.logs.iter().try_for_each(LogSource::check)?;
        for database in &self.databases {
            if database.url.is_some() == database.url_env.is_some() {
                return Err(format!("database {:?} needs either url or url_env", database.name));
            }
            if database.kind == Dialect::MySql && database.url.is_some() {
                return Err(format!(
                    "database {:?} must take its URL by url_env: it holds credentials",
                    database.name
                ));
            }
            if database.tables.is_empty() {
                return Err(format!("database {:?} allows no tables", database.name));
            }
        }
        Ok(())
    }

    /// The database named `name`, or the only one.
    pub fn database(&self, name: Option<&str>) -> Option<&Database> {
        match (name, self.databases.as_slice()) {
            (Some(name), all) => all.iter().find(|database| database.name == name),
            (None, [only]) => Some(only),
            (None, _) => None,
        }
    }
}

impl LogSource {
    fn check(&self) -> Result<(), String> {
        let name = &self.name;
        let of_files = !self.path.as_os_str().is_empty() && !self.services.is_empty();
        match self.kind {
            LogKind::Files if !self.groups.is_empty() || self.region.is_some() => Err(format!(
                "log source {name:?} is of files: region and groups belong to kind = \"cloudwatch\""
            )),
            LogKind::Files if !of_files => Err(format!("log source {name:?} needs path and services")),
            LogKind::CloudWatch if !self.services.is_empty() => {
                Err(format!("log source {name:?} names its services in [[logs.groups]], not in services"))
            }
            LogKind::CloudWatch if self.groups.is_empty() => {
                Err(format!("log source {name:?} needs at least one [[logs.groups]] with service and name"))
            }
            _ => Ok(()),
        }
    }
}

impl Database {
    /// The URL, from the file or from the variable it names.
    #[expect(
        clippy::disallowed_methods,
        reason = "a credential by reference; app is the one reader of the environment"
    )]
    pub fn address(&self) -> Option<String> {
        match (&self.url, &self.url_env) {
            (Some(url), _) => Some(url.clone()),
            (None, Some(variable)) => std::env::var(variable).ok(),
            (None, None) => None,
        }
    }

    /// What the SQL guard allows here.
    pub fn policy(&self) -> Policy {
        let tables = self.tables.iter().map(|table| table.name.clone()).collect();
        Policy { dialect: self.kind, database: self.database.clone(), tables }
    }
}
