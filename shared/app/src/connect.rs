//! The one place where ports meet their implementations. It reads the `DATA_SOURCES` file and does no other IO: clients connect
//! at their first use, so that a cold start costs what its first event needs.

use std::sync::Arc;
use std::time::Duration;

use agent::boundary::ToolBoundary;
use agent::ports::metrics::NoMetrics;
use agent::ports::{
    CanonicalStore, Clock, EvidenceTool, FeedbackStore, Ledger, Model, QualityStore, RunControl, SystemClock,
};
use agent::prompts::Prompts;
use agent::run::Engine;
use agent::runs::Runs;
use agent::supervise::Chat;
use anyhow::Context;
use edge::auth::{Authenticator, KeyRing, Oidc};
use tokio_util::task::TaskTracker;
use tools::knowledge::{KnowledgeTool, Searcher};
use tools::logs::cloudwatch::{CloudWatchSource, LogGroup};
use tools::logs::{FolderSource, LogSource, LogsTool};
use tools::mysql::{BusinessDatabase, MysqlTool, TableNote};

use crate::config::{AuthMode, Config, ModelConfig, Provider, RunConfig, StoresConfig};
use crate::data_sources::{self, DataSources, Database, LogKind};
use crate::keys::Keys;
use crate::library::Library;
use crate::metrics::{self, EmbeddedMetrics};
use crate::model_check::ModelCheck;

/// Assembles what each function needs.
pub struct App;

/// The chat function's parts.
pub struct ChatApp {
    pub chat: Arc<Chat>,
    pub authenticator: Authenticator,
    pub run: RunConfig,
    pub clock: Arc<dyn Clock>,
}

/// The api function's parts.
pub struct ApiApp {
    pub runs: Runs,
    pub library: Library,
    pub feedback: Arc<dyn FeedbackStore>,
    pub keys: Keys,
    pub quality: Arc<dyn QualityStore>,
    pub authenticator: Authenticator,
    pub model: ModelCheck,
}

/// The maintenance function's parts.
pub struct MaintenanceApp {
    pub keys: Keys,
    ledger: stores::SqlLedger,
    clock: Arc<dyn Clock>,
    retention: Duration,
    on_lambda: bool,
}

struct Stores {
    ledger: stores::SqlLedger,
    canonical: Arc<dyn CanonicalStore>,
    control: Arc<dyn RunControl>,
    clock: Arc<dyn Clock>,
}

/// The model, behind a chain where there is a second provider.
fn providers(config: &ModelConfig) -> anyhow::Result<Arc<dyn Model>> {
    let connect = |provider: &Provider| -> anyhow::Result<Arc<dyn Model>> {
        let policy = llm::RetryPolicy::default();
        Ok(Arc::new(llm::HttpModel::on_wire(provider.wire, &provider.endpoint, policy)?))
    };
    let first = connect(&config.first)?;
    Ok(match &config.fallback {
        Some(fallback) => Arc::new(llm::Chain::new(first, [connect(fallback)?], config.fallback_in_guards)),
        None => first,
    })
}

impl App {
    pub fn chat(config: &Config) -> anyhow::Result<ChatApp> {
        let Stores { ledger, canonical, control, clock } = stores(&config.stores)?;
        let model = config.model.as_ref().context("the chat function needs a model")?;
        let tools = evidence_tools(config, &ledger)?;
        let engine = Engine {
            model: providers(model)?,
            prompts: Prompts::new(&tools),
            boundary: ToolBoundary::new(tools, canonical),
            control: control.clone(),
            model_timeout: model.timeout,
        };
        let authenticator = authenticator(config, &ledger, &clock)?;
        let chat = Chat {
            engine,
            ledger: Arc::new(ledger),
            control,
            metrics: if config.on_lambda { Arc::new(EmbeddedMetrics) } else { Arc::new(NoMetrics) },
            clock: clock.clone(),
            budget: config.run.budget,
            tasks: TaskTracker::new(),
        };
        Ok(ChatApp { chat: Arc::new(chat), authenticator, run: config.run.clone(), clock })
    }

    pub fn api(config: &Config) -> anyhow::Result<ApiApp> {
        let Stores { ledger, canonical, control, clock } = stores(&config.stores)?;
        let documents = Arc::new(ledger.clone());
        let library = Library::new(documents.clone(), Searcher::new(documents), clock.clone());
        let authenticator = authenticator(config, &ledger, &clock)?;
        let keys = Keys::new(Arc::new(ledger.clone()), clock.clone());
        let (feedback, quality) = (Arc::new(ledger.clone()), Arc::new(ledger.clone()));
        let runs = Runs { ledger: Arc::new(ledger), canonical, control, clock };
        let model = ModelCheck::new(config);
        Ok(ApiApp { runs, library, feedback, keys, quality, authenticator, model })
    }

    pub fn maintenance(config: &Config) -> anyhow::Result<MaintenanceApp> {
        let ledger = stores::SqlLedger::connect_lazy(&config.stores.database_url)?;
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let keys = Keys::new(Arc::new(ledger.clone()), clock.clone());
        Ok(MaintenanceApp { keys, ledger, clock, retention: config.retention, on_lambda: config.on_lambda })
    }
}

impl MaintenanceApp {
    /// Applies missing migrations; returns their versions.
    pub async fn migrate(&self) -> anyhow::Result<Vec<i64>> {
        self.ledger.migrate().await.context("migrations were not applied")
    }

    /// Ends runs whose function died; returns how many.
    pub async fn sweep(&self, limit: u32) -> anyhow::Result<usize> {
        let swept = self.ledger.sweep(self.clock.now(), limit).await.context("stale runs were not swept")?;
        for run_id in &swept {
            tracing::warn!(run.id = %run_id, "a run was abandoned by its function");
        }
        if self.on_lambda {
            metrics::stale_runs_swept(swept.len());
        }
        Ok(swept.len())
    }

    /// Deletes runs older than the retention, in batches until `enough` are gone; returns how many. More may be left if it is that
    /// many.
    pub async fn retain(&self, enough: u32) -> anyhow::Result<u32> {
        let before = self.clock.now() - self.retention;
        let mut deleted = 0;
        while deleted < enough {
            let batch =
                self.ledger.retain(before, enough - deleted).await.context("old runs were not deleted")?;
            if batch == 0 {
                break;
            }
            deleted += batch;
        }
        Ok(deleted)
    }
}

fn stores(config: &StoresConfig) -> anyhow::Result<Stores> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let endpoint = stores::run_control::Endpoint::Aws { endpoint_url: config.dynamodb_endpoint.clone() };
    let control = stores::DynamoRunControl::connect_lazy(&config.run_control_table, endpoint);
    Ok(Stores {
        ledger: stores::SqlLedger::connect_lazy(&config.database_url)?,
        canonical: stores::canonical::open(&config.canonical_store, clock.clone())?,
        control: Arc::new(control),
        clock,
    })
}

fn authenticator(
    config: &Config,
    ledger: &stores::SqlLedger,
    clock: &Arc<dyn Clock>,
) -> anyhow::Result<Authenticator> {
    let callers = config.callers.as_ref().context("no way to tell callers apart is configured")?;
    Ok(match &callers.mode {
        AuthMode::Anonymous => Authenticator::anonymous(callers.quota)?,
        AuthMode::ApiKey => {
            Authenticator::ApiKey(KeyRing::new(Arc::new(ledger.clone()), clock.clone(), callers.quota))
        }
        AuthMode::Oidc(provider) => {
            Authenticator::Oidc(Oidc::new(provider.clone(), clock.clone(), callers.quota))
        }
    })
}

/// The tools that have something to read: runbooks always, logs and databases as configured.
fn evidence_tools(config: &Config, ledger: &stores::SqlLedger) -> anyhow::Result<Vec<Arc<dyn EvidenceTool>>> {
    let mut tools: Vec<Arc<dyn EvidenceTool>> =
        vec![Arc::new(KnowledgeTool::new(Arc::new(Searcher::new(Arc::new(ledger.clone())))))];
    let Some(path) = &config.data_sources else {
        return Ok(tools);
    };
    let sources = DataSources::load(path)?;
    let logs: Vec<Arc<dyn LogSource>> = sources.logs.into_iter().map(log_source).collect();
    if !logs.is_empty() {
        tools.push(Arc::new(LogsTool::new(logs)));
    }
    let databases = sources.databases.iter().map(business_database).collect::<anyhow::Result<Vec<_>>>()?;
    if !databases.is_empty() {
        tools.push(Arc::new(MysqlTool::new(databases)));
    }
    Ok(tools)
}

fn log_source(log: data_sources::LogSource) -> Arc<dyn LogSource> {
    match log.kind {
        LogKind::Files => Arc::new(FolderSource::new(log.name, log.description, log.path, log.services)),
        LogKind::CloudWatch => {
            let groups = log.groups.into_iter();
            let groups = groups.map(|g| LogGroup { service: g.service, name: g.name, filter: g.filter });
            Arc::new(CloudWatchSource::new(log.name, log.description, log.region, groups.collect()))
        }
    }
}

fn business_database(database: &Database) -> anyhow::Result<BusinessDatabase> {
    let url = database.address().with_context(|| format!("database {:?} has no address", database.name))?;
    let tables = database.tables.iter().map(|table| TableNote {
        name: table.name.clone(),
        description: table.description.clone(),
        columns: table.columns.clone(),
    });
    let (name, description) = (&database.name, &database.description);
    BusinessDatabase::new(name, description, &url, database.policy(), tables.collect(), database.max_rows)
        .with_context(|| format!("database {name:?}"))
}
