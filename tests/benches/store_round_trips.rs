//! Round trips to each store on the critical path of a run, as the slope of its wall time over the delay of a proxy in front of that
//! store; and CPU of a run on real stores. Prints the figures and adds them to `target/bench.json`.

use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use domain::model::Role;
use serde_json::{Value, json};
use stores::SqlLedger;
use testkit::dynamo::DynamoDb;
use testkit::emulator::{Emulator, EmulatorConfig, function_binary};
use testkit::fault_proxy::{Fault, FaultProxy};
use testkit::local::{LocalStack, ModelAddress};
use testkit::mariadb::MariaDb;
use testkit::provider::{Call, Received, Reply, Script};
use testkit::redis::Redis;
use testkit::scenario::Scenario;
use testkit::sse;

const TOOL_ROUNDS: usize = 3;
/// What runs beside a model call is off the critical path only if the model takes its time, as models do.
const MODEL_LATENCY: Duration = Duration::from_millis(250);
const RUNS: usize = 9;
/// Added to each direction, so twice that to each round trip.
const DELAY: Duration = Duration::from_millis(25);
const TICKS: f64 = 100.0;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let (Some(redis), Some(mariadb)) = (Redis::start().await?, MariaDb::start().await?) else {
        writeln!(std::io::stdout(), "skipped: no redis-server or no mariadbd on this machine")?;
        return Ok(());
    };
    let dynamo = DynamoDb::start("superbiz-run-control").await?;
    let url = mariadb.create_schema("bench").await?;
    SqlLedger::connect_lazy(&url)?.migrate().await?;
    let port = dynamo.endpoint_url().rsplit(':').next().context("no port")?.parse()?;
    let mut proxies = Vec::new();
    for upstream in [redis.port(), mariadb.port(), port] {
        proxies.push(FaultProxy::start(upstream).await?);
    }
    let folder = tempfile::tempdir()?;
    let stack = LocalStack::start(folder.path(), &Scenario::load("payment-timeout")?).await?;
    let provider = script().start().await?;
    let model = ModelAddress { base_url: provider.base_url(), name: "bench".to_owned(), api_key: None };
    let settings = [
        ("CANONICAL_STORE", format!("redis://127.0.0.1:{}", proxies[0].port())),
        ("DATABASE_URL", format!("mysql://root@127.0.0.1:{}/bench?ssl-mode=disabled", proxies[1].port())),
        ("AWS_ENDPOINT_URL_DYNAMODB", format!("http://127.0.0.1:{}", proxies[2].port())),
        ("CALLER_RUNS_PER_MINUTE", "100000".to_owned()),
        ("LOG_LEVEL", "warn".to_owned()),
    ];
    let settings = settings.map(|(name, value)| (name.to_owned(), value));
    let function = |name: &str| anyhow::Ok(stack.function(name, function_binary(name)?, &model, &settings));
    let mut config = EmulatorConfig::new(vec![function("chat")?, function("api")?]);
    config.quick_ack = true;
    let emulator = Emulator::start(config).await?;
    run(&emulator).await?;
    let connects = proxies.iter().map(FaultProxy::accepted).collect::<Vec<_>>();

    let pid = emulator.sandboxes().first().context("no sandbox")?.pid;
    let (before, baseline) = (cpu_ms(pid)?, wall(&emulator).await?);
    let cpu = (cpu_ms(pid)? - before) / RUNS as f64;
    let mut trips = json!({});
    for (proxy, name) in proxies.iter().zip(["redis", "mysql", "dynamodb"]) {
        proxy.set(Fault::Delay(DELAY));
        let slowed = wall(&emulator).await?;
        proxy.set(Fault::None);
        let trip = 2.0 * DELAY.as_secs_f64();
        trips[name] = json!(((slowed - baseline).as_secs_f64() / trip * 10.0).round() / 10.0);
    }
    let again = proxies.iter().map(FaultProxy::accepted).zip(connects).map(|(now, then)| now - then);
    let figures = json!({
        "tool_rounds": TOOL_ROUNDS, "critical_round_trips": trips, "cpu_ms_per_run": cpu,
        "wall_ms": baseline.as_secs_f64() * 1000.0, "connects_when_warm": again.collect::<Vec<_>>(),
    });
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/bench.json");
    let mut report: Value = std::fs::read(&path)
        .ok()
        .and_then(|bytes| serde_json::from_slice(&bytes).ok())
        .unwrap_or_else(|| json!({}));
    report["store_round_trips"] = figures.clone();
    std::fs::write(&path, serde_json::to_string_pretty(&report)?)?;
    writeln!(std::io::stdout(), "{}", serde_json::to_string_pretty(&figures)?)?;
    emulator.stop();
    Ok(())
}

/// One tool a round, then the report.
fn script() -> Script {
    let later = |reply: Reply| reply.after(MODEL_LATENCY);
    let diagnose = move |request: &Received| {
        let round = request.messages.iter().filter(|message| message["role"] == "assistant").count();
        if round < TOOL_ROUNDS {
            let arguments = json!({ "service": "payment-gateway", "query": null, "level": "ERROR", "start": "-2h", "end": "now", "limit": 20 });
            return later(Reply::calls([Call::new("query_logs", arguments).id(format!("call_{round}"))]));
        }
        later(Reply::json(&json!({
            "conclusion": null,
            "analyses": [{ "analysis_id": "a1", "kind": "NORMAL", "text": "The gateway logged errors.", "tool_call_ids": ["call_0"] }],
            "actions": [], "recommendations": [], "limitations": { "missing_info": ["the rest"], "caveats": [] },
        })))
    };
    Script::new()
        .each(Role::Route, move |_| later(Reply::json(&json!({ "intent": "DIAGNOSIS" }))))
        .each(Role::Diagnose, diagnose)
        .each(Role::Review, move |_| {
            later(Reply::json(&json!({ "verdict": "SUPPORTED", "reason": "bench" })))
        })
}

async fn run(emulator: &Emulator) -> anyhow::Result<Duration> {
    let began = Instant::now();
    let body = json!({ "query": "checkout 5xx, why?" }).to_string();
    let told = sse::ask(&format!("{}/api/chat", emulator.url()), body, &[]).await?.collect().await?;
    let took = began.elapsed();
    ensure!(told.done().is_some_and(|done| done.status == "SUCCESS"), "{}", told.text());
    Ok(took)
}

/// The median of some runs.
async fn wall(emulator: &Emulator) -> anyhow::Result<Duration> {
    let mut times = Vec::new();
    for _ in 0..RUNS {
        times.push(run(emulator).await?);
    }
    times.sort();
    times.get(RUNS / 2).copied().context("no runs")
}

/// CPU time of a process so far, its kernel's included.
fn cpu_ms(pid: u32) -> anyhow::Result<f64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks = |n: usize| -> anyhow::Result<f64> { Ok(fields.get(n).context("stat")?.parse::<f64>()?) };
    Ok((ticks(11)? + ticks(12)?) * 1000.0 / TICKS)
}
