//! An installation on real servers — Redis, MariaDB, and the embedded DynamoDB — each seen through a proxy of its own.

use std::io::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context;
use domain::model::Role;
use serde_json::json;
use stores::SqlLedger;
use testkit::dynamo::DynamoDb;
use testkit::fault_proxy::{Fault, FaultProxy};
use testkit::mariadb::MariaDb;
use testkit::provider::{Received, Reply, Script};
use testkit::redis::Redis;
use testkit::sse::Transcript;

use crate::world::{World, draft, gateway_errors, world};

pub const QUESTION: &str = "checkout 5xx, why?";
pub const FINDING: &str = "payment-gateway logged GATEWAY_TIMEOUT errors.";
const RUN_SECONDS: u64 = 12;
/// Longer than any run may take: its time, its reserve, and both of admission's calls.
pub const HANGS: Duration = Duration::from_secs(RUN_SECONDS + 5 + 12);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Store {
    Canonical,
    Ledger,
    Control,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// Before the request.
    Start,
    /// While the model decides on its report: the tool has run.
    Between,
    /// While the last guard answers: the commit is next.
    Commit,
    /// Not by itself.
    Never,
}

/// The real servers, shared by many worlds, each of which sees them through proxies of its own.
pub struct Servers {
    pub redis: Redis,
    pub mariadb: MariaDb,
    pub dynamo: DynamoDb,
}

impl Servers {
    pub async fn start() -> anyhow::Result<Option<Self>> {
        let (Some(redis), Some(mariadb)) = (Redis::start().await?, MariaDb::start().await?) else {
            writeln!(std::io::stdout(), "skipped: no redis-server or no mariadbd on this machine")?;
            return Ok(None);
        };
        Ok(Some(Self { redis, mariadb, dynamo: DynamoDb::start("superbiz-run-control").await? }))
    }
}

/// One installation on the shared servers.
pub struct Site {
    pub world: World,
    /// A connection that no proxy breaks, to a schema of its own: a sweep must not end the runs of other sites.
    pub ledger: SqlLedger,
    pub proxies: [Arc<FaultProxy>; 3],
}

impl Site {
    /// `break_it` is called with the proxies at its moment, once.
    pub async fn start(
        servers: &Servers,
        name: &str,
        user: &str,
        moment: Moment,
        break_it: impl Fn(&[Arc<FaultProxy>; 3]) + Send + Sync + 'static,
    ) -> anyhow::Result<Self> {
        let schema: String = name.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
        let ledger = SqlLedger::connect_lazy(&servers.mariadb.create_schema(&schema).await?)?;
        ledger.migrate().await?;
        let port = |url: &str| url.rsplit(':').next().and_then(|port| port.parse::<u16>().ok());
        let dynamo = port(servers.dynamo.endpoint_url()).context("no port")?;
        let mut proxies = Vec::new();
        for upstream in [servers.redis.port(), servers.mariadb.port(), dynamo] {
            proxies.push(Arc::new(FaultProxy::start(upstream).await?));
        }
        let proxies: [Arc<FaultProxy>; 3] = proxies.try_into().ok().context("three proxies")?;
        if moment == Moment::Start {
            break_it(&proxies);
        }
        let (broken, once) = (proxies.clone(), std::sync::Once::new());
        let reached = Arc::new(move |at: Moment| {
            if at == moment {
                once.call_once(|| break_it(&broken));
            }
        });
        let (between, commit) = (reached.clone(), reached);
        let diagnose = move |request: &Received| {
            let tool = request.messages.iter().rev().find(|message| message["role"] == "tool");
            let Some(call) = tool.and_then(|tool| tool["tool_call_id"].as_str()) else {
                return Reply::calls([gateway_errors().id("call_a")]);
            };
            between(Moment::Between);
            Reply::json(&draft("NORMAL", &finding(request), call))
        };
        // Repair changes no meaning and finds no other evidence.
        let repair = |request: &Received| Reply::json(&draft("NORMAL", &finding(request), "call_a"));
        let review = move |_: &Received| {
            commit(Moment::Commit);
            Reply::json(&json!({ "verdict": "SUPPORTED", "reason": "scripted" }))
        };
        let script = Script::new()
            .each(Role::Route, |_| Reply::json(&json!({ "intent": "DIAGNOSIS" })))
            .each(Role::Diagnose, diagnose)
            .each(Role::Repair, repair)
            .each(Role::Review, review);
        let url = |n: usize| proxies[n].port();
        let world = world(script)
            .env("CANONICAL_STORE", &format!("redis://127.0.0.1:{}", url(0)))
            .env("DATABASE_URL", &format!("mysql://{user}@127.0.0.1:{}/{schema}?ssl-mode=disabled", url(1)))
            .env("AWS_ENDPOINT_URL_DYNAMODB", &format!("http://127.0.0.1:{}", url(2)))
            // All sites share one caller and one table.
            .env("CALLER_RUNS_PER_MINUTE", "100000")
            .env("CALLER_CONCURRENT_RUNS", "1000")
            .env("CALLER_TOKENS_PER_DAY", "1000000000")
            .env("RUN_TIMEOUT_SECONDS", &RUN_SECONDS.to_string())
            .emulator(|config| config.max_sandboxes = 64)
            .start()
            .await?;
        Ok(Self { world, ledger, proxies })
    }

    pub fn heal(&self) {
        self.proxies.iter().for_each(|proxy| proxy.set(Fault::None));
    }

    pub async fn ask(&self) -> anyhow::Result<(Transcript, Duration)> {
        let began = Instant::now();
        let told =
            tokio::time::timeout(HANGS, self.world.ask(QUESTION)).await.context("the stream hangs")??;
        Ok((told, began.elapsed()))
    }
}

/// What the report of a question says: each run's own words.
fn finding(request: &Received) -> String {
    let query = request.opening()["query"].as_str().unwrap_or_default().to_owned();
    format!("{FINDING} Asked was: {query}")
}
