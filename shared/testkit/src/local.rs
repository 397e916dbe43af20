//! A whole local installation in one folder: migrated SQLite ledger with runbooks, canonical folder, a scenario's logs and
//! business database, and the embedded DynamoDB. What `make dev`, the acceptance tests and the bench all stand on.

use std::path::{Path, PathBuf};

use agent::ports::documents::{DocumentStore, Expected};
use agent::ports::{Clock, SystemClock};
use anyhow::Context;
use stores::SqlLedger;
use tools::knowledge::parse_document;

use crate::dynamo::DynamoDb;
use crate::emulator::FunctionConfig;
use crate::scenario::{Materialised, Scenario};

const TABLE: &str = "superbiz-run-control";

pub struct LocalStack {
    folder: PathBuf,
    dynamo: DynamoDb,
    pub placed: Materialised,
}

/// Which provider the functions call.
#[derive(Debug, Clone)]
pub struct ModelAddress {
    pub base_url: String,
    pub name: String,
    pub api_key: Option<String>,
}

impl LocalStack {
    /// Builds everything below `folder`, with the scenario's times moved so that it happens now.
    ///
    /// # Errors
    /// A file, a port or a migration that fails.
    pub async fn start(folder: &Path, scenario: &Scenario) -> anyhow::Result<Self> {
        std::fs::create_dir_all(folder)?;
        // Functions run in folders of their own, so every address is absolute.
        let folder = folder.canonicalize()?;
        let now = SystemClock.now();
        let placed = scenario.materialise(&folder.join("scenario"), now).await?;
        let stack = Self { dynamo: DynamoDb::start(TABLE).await?, folder, placed };
        let ledger = stack.ledger()?;
        ledger.migrate().await?;
        ledger.close().await;
        for (id, text) in runbooks(&stack.placed.runbooks)? {
            stack.add_runbook(id, text).await?;
        }
        Ok(stack)
    }

    /// Puts one more runbook into the ledger: Markdown, with or without front matter.
    pub async fn add_runbook(&self, id: String, text: String) -> anyhow::Result<()> {
        let document = parse_document(&text).with_context(|| format!("runbook {id}"))?;
        let ledger = self.ledger()?;
        ledger.put(&document.into_new_document(id, text), Expected::Anything, SystemClock.now()).await?;
        ledger.close().await;
        Ok(())
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    pub fn dynamo(&self) -> &DynamoDb {
        &self.dynamo
    }

    /// A second connection to the functions' ledger.
    pub fn ledger(&self) -> anyhow::Result<SqlLedger> {
        Ok(SqlLedger::connect_lazy(&self.database_url())?)
    }

    pub fn database_url(&self) -> String {
        format!("sqlite://{}", self.folder.join("superbiz.db").display())
    }

    pub fn canonical_folder(&self) -> PathBuf {
        self.folder.join("canonical")
    }

    /// The functions' configuration.
    pub fn environment(&self, model: &ModelAddress) -> Vec<(String, String)> {
        let mut variables = vec![
            ("AUTH_MODE", "none".to_owned()),
            ("MODEL_BASE_URL", model.base_url.clone()),
            ("MODEL_NAME", model.name.clone()),
            ("DATABASE_URL", self.database_url()),
            ("CANONICAL_STORE", format!("file://{}", self.canonical_folder().display())),
            ("RUN_CONTROL_TABLE", TABLE.to_owned()),
            ("AWS_ENDPOINT_URL_DYNAMODB", self.dynamo.endpoint_url().to_owned()),
            ("DATA_SOURCES", self.placed.data_sources.display().to_string()),
            // The emulator takes any; these are nobody's.
            ("AWS_REGION", "us-east-1".to_owned()),
            ("AWS_ACCESS_KEY_ID", "local".to_owned()),
            ("AWS_SECRET_ACCESS_KEY", "local".to_owned()),
        ];
        variables.extend(model.api_key.clone().map(|key| ("MODEL_API_KEY", key)));
        variables.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }

    /// `function` with that configuration and the given variables on top.
    pub fn function(
        &self,
        name: &str,
        binary: PathBuf,
        model: &ModelAddress,
        more: &[(String, String)],
    ) -> FunctionConfig {
        let mut function = FunctionConfig::new(name, binary);
        for (variable, value) in self.environment(model).iter().chain(more) {
            function = function.env(variable, value);
        }
        function
    }
}

/// Each runbook under its file name without the ending.
fn runbooks(folder: &Path) -> anyhow::Result<Vec<(String, String)>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).context("runbooks")? {
        let path = entry?.path();
        let id = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        found.push((id, std::fs::read_to_string(&path)?));
    }
    found.sort();
    Ok(found)
}
