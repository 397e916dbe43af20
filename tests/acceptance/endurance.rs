//! Many runs while things break: processes that are killed at any point, and stores that fail at random.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use agent::ports::{Clock, Ledger, SystemClock};
use anyhow::{Context, ensure};
use domain::ids::{CallerId, RunId};
use domain::model::Role;
use serde_json::{Value, json};
use testkit::fault_proxy::Fault;
use testkit::provider::{Received, Reply, Script};
use testkit::sse::loopback_client;

use crate::site::{Moment, QUESTION, Servers, Site};
use crate::world::{World, draft, gateway_errors, world};

/// A small generator: the seed is printed, so that a failure can be played again.
struct Random(u64);

impl Random {
    #[expect(clippy::disallowed_methods, reason = "a test's own switch")]
    fn seeded(name: &str) -> anyhow::Result<Self> {
        let given = std::env::var(name).ok().and_then(|text| text.parse().ok());
        let now = u64::try_from(SystemClock.now().unix_timestamp_nanos() / 1000).unwrap_or(1);
        let seed = given.unwrap_or(now) | 1;
        writeln!(std::io::stdout(), "{name}={seed}")?;
        Ok(Self(seed))
    }

    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % n
    }
}

#[expect(clippy::disallowed_methods, reason = "a test's own switch")]
fn number(name: &str, default: usize) -> usize {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// Every reply takes a while, so that a kill finds the run in any of its steps.
fn unhurried() -> Script {
    let later = |reply: Reply| reply.after(Duration::from_millis(12));
    Script::new()
        .each(Role::Route, move |_| later(Reply::json(&json!({ "intent": "DIAGNOSIS" }))))
        .each(Role::Diagnose, move |request: &Received| {
            later(match request.messages.len() {
                2 => Reply::calls([gateway_errors().id("call_a")]),
                _ => {
                    Reply::json(&draft("NORMAL", "payment-gateway logged GATEWAY_TIMEOUT errors.", "call_a"))
                }
            })
        })
        .each(Role::Review, move |_| {
            later(Reply::json(&json!({ "verdict": "SUPPORTED", "reason": "scripted" })))
        })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_killed_at_fifty_points_leaves_no_run_without_one_end() -> anyhow::Result<()> {
    let mut random = Random::seeded("KILL_SEED")?;
    let world = world(unhurried())
        .env("RUN_TIMEOUT_SECONDS", "3")
        .env("FINALISE_RESERVE_SECONDS", "1")
        .env("CALLER_CONCURRENT_RUNS", "1000")
        .env("CALLER_RUNS_PER_MINUTE", "100000")
        .start()
        .await?;
    let began = SystemClock.now();
    let (mut told, mut broken) = (BTreeSet::new(), 0);
    for n in 0..50 {
        let session = format!("s{n}");
        let body = json!({ "query": QUESTION, "session_id": session });
        let key = format!("key-{n}");
        let headers = [("idempotency-key", key.as_str())];
        let asking =
            async { world.open(&body, &headers).await?.collect().await.map_err(anyhow::Error::from) };
        let after = Duration::from_millis(random.below(140));
        let killing = async {
            tokio::time::sleep(after).await;
            for sandbox in world.emulator.sandboxes().iter().filter(|sandbox| sandbox.function == "chat") {
                world.emulator.kill9(sandbox.pid).await?;
            }
            anyhow::Ok(())
        };
        let (stream, killed) = tokio::join!(asking, killing);
        killed?;
        match stream {
            Ok(stream) => drop(stream.metadata().map(|metadata| told.insert(metadata.run_id.clone()))),
            Err(_) => broken += 1,
        }
    }
    ensure!(broken >= 5, "only {broken} streams broke: the kills came too late");
    let ledger = world.stack.ledger()?;
    ledger.sweep(SystemClock.now() + Duration::from_secs(3600), 1000).await?;
    ensure!(
        ledger.sweep(SystemClock.now() + Duration::from_secs(3600), 1000).await?.is_empty(),
        "swept twice"
    );
    let runs = all_runs(&world).await?;
    ensure!(runs.iter().all(|(_, outcome, ends)| !outcome.is_empty() && *ends), "{runs:?}");
    let known: BTreeSet<String> = runs.iter().map(|(run_id, ..)| run_id.clone()).collect();
    ensure!(told.is_subset(&known), "a run was told that is not recorded");
    // Whatever a dead run held ends by itself.
    let latest = |key: &str| {
        // The day's tokens are forgotten after the next day.
        let days = if key.starts_with("tokens#") { 2 } else { 1 };
        (began + Duration::from_secs(days * 24 * 3600 + 300)).unix_timestamp()
    };
    for item in items(&world).await? {
        let expires: i64 = item["expires_at"]["N"].as_str().context("no expires_at")?.parse()?;
        let key = item["pk"]["S"].as_str().unwrap_or_default();
        ensure!(expires <= latest(key), "{item}");
        let is_lease = key.starts_with("lease#");
        let soon = (SystemClock.now() + Duration::from_secs(3 + 1 + 30)).unix_timestamp();
        ensure!(!is_lease || expires <= soon, "a lease outlives its run by far: {item}");
    }
    Ok(())
}

/// Run id, outcome, and whether it has an end.
async fn all_runs(world: &World) -> anyhow::Result<Vec<(String, String, bool)>> {
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(world.database());
    let pool = sqlx::SqlitePool::connect_with(options).await?;
    let sql = "SELECT run_id, COALESCE(outcome, ''), ended_at IS NOT NULL FROM diagnosis_run";
    let rows = sqlx::query_as(sql).fetch_all(&pool).await?;
    pool.close().await;
    Ok(rows)
}

/// Everything in the run-control table.
async fn items(world: &World) -> anyhow::Result<Vec<Value>> {
    let request = loopback_client()?
        .post(world.stack.dynamo().endpoint_url())
        .header("x-amz-target", "DynamoDB_20120810.Scan")
        .header("content-type", "application/x-amz-json-1.0")
        .header("x-amz-date", "20260101T000000Z")
        .header("authorization", "AWS4-HMAC-SHA256 Credential=local/20260101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=0")
        .body(json!({ "TableName": "superbiz-run-control" }).to_string());
    let scanned: Value = serde_json::from_str(&request.send().await?.text().await?)?;
    scanned["Items"].as_array().cloned().with_context(|| scanned.to_string())
}

/// `SOAK_RUNS` and `SOAK_AT_ONCE` make it longer, `SOAK_SEED` plays one again.
#[tokio::test(flavor = "multi_thread")]
async fn many_runs_on_stores_that_fail_at_random_end_once_each_with_their_own_evidence() -> anyhow::Result<()>
{
    let Some(servers) = Servers::start().await? else { return Ok(()) };
    let site = Arc::new(Site::start(&servers, "soak", "root", Moment::Never, |_| {}).await?);
    let (runs, at_once) = (number("SOAK_RUNS", 150), number("SOAK_AT_ONCE", 12));
    let over = Arc::new(AtomicBool::new(false));
    let breaking = breaks(&site, Random::seeded("SOAK_SEED")?, &over);
    let asking = async {
        let next = Arc::new(std::sync::atomic::AtomicUsize::new(0));
        let worker = |_| {
            let (site, next) = (&site, Arc::clone(&next));
            async move {
                let mut ended = Vec::new();
                loop {
                    let n = next.fetch_add(1, Ordering::Relaxed);
                    if n >= runs {
                        return anyhow::Ok(ended);
                    }
                    ended.extend(one(site, n).await.with_context(|| format!("run {n}"))?);
                }
            }
        };
        let done = futures_util::future::join_all((0..at_once).map(worker)).await;
        over.store(true, Ordering::Relaxed);
        done.into_iter().collect::<anyhow::Result<Vec<_>>>()
    };
    let ((), ended) = tokio::join!(breaking, asking);
    site.heal();
    let ended = ended?.concat();
    // Told and stored agree for every run; what could not be committed is the sweep's.
    site.ledger.sweep(SystemClock.now() + Duration::from_secs(3600), 10_000).await?;
    let caller = CallerId::parse("local")?;
    let mut succeeded = 0;
    for (run_id, told) in &ended {
        let row = site.ledger.run(RunId::parse(run_id)?, &caller).await?.context("no row")?;
        let stored = row.outcome.context("no end")?.as_str();
        ensure!(told == "FAILED" || told == stored, "{run_id}: told {told}, stored {stored}");
        succeeded += usize::from(told == "SUCCESS");
    }
    writeln!(std::io::stdout(), "{} of {runs} runs began, {succeeded} succeeded", ended.len())?;
    ensure!(succeeded * 2 > runs, "most runs succeed in spite of the faults");
    let (told, _) = site.ask().await?;
    ensure!(
        told.content().is_some_and(|content| content.outcome == "SUCCESS"),
        "afterwards: {}",
        told.text()
    );
    Ok(())
}

/// One run with a question of its own; its id and how it ended, unless it was refused before it began.
async fn one(site: &Site, n: usize) -> anyhow::Result<Option<(String, String)>> {
    let query = format!("checkout 5xx, question {n} of many, why?");
    let asked = tokio::time::timeout(crate::site::HANGS, site.world.ask(&query)).await;
    // A protocol fault is an error of the reader.
    let told = asked.context("the stream hangs")??;
    if let Some(problem) = told.problem() {
        ensure!(problem.code == "STORE_UNAVAILABLE", "{problem:?}");
        return Ok(None);
    }
    if let Some(content) = told.content() {
        let body = content.body.to_string();
        let own = content.outcome != "SUCCESS" || body.contains(&format!("question {n} of many"));
        ensure!(own, "another run's report: {body}");
    }
    let metadata = told.metadata().context("no metadata")?;
    Ok(Some((metadata.run_id.clone(), told.done().context("no done")?.status.clone())))
}

/// About a twentieth of the time one of the stores is broken, each time in another way.
async fn breaks(site: &Site, mut random: Random, over: &AtomicBool) {
    let faults = [
        Fault::Reset,
        Fault::Cut,
        Fault::BlackHole,
        Fault::LostAnswers,
        Fault::Delay(Duration::from_millis(40)),
    ];
    while !over.load(Ordering::Relaxed) {
        let proxy = &site.proxies[usize::try_from(random.below(3)).unwrap_or(0)];
        proxy.set(faults[usize::try_from(random.below(5)).unwrap_or(0)]);
        tokio::time::sleep(Duration::from_millis(30 + random.below(60))).await;
        proxy.set(Fault::None);
        tokio::time::sleep(Duration::from_millis(600 + random.below(1200))).await;
    }
}
