//! The standard run: a diagnosis of 8 model calls and 12 tool calls (2,2,2,2,2,1,1,0) with 1 KB of evidence each, then the
//! guards, through the real chat function with embedded stores and a provider of constant latency on loopback.
//!
//! Prints the figures and writes `target/bench.json`. Wall time is what a run takes beyond its model calls: the same exchanges
//! made directly, one after another, are measured in the same process and taken off.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Context;
use domain::model::Role;
use serde_json::{Value, json};
use testkit::emulator::{Emulator, EmulatorConfig, function_binary};
use testkit::local::{LocalStack, ModelAddress};
use testkit::provider::{Call, Received, Reply, Script, ScriptedProvider};
use testkit::scenario::Scenario;
use testkit::sse;

const LATENCY: Duration = Duration::from_millis(20);
const RUNS: usize = 40;
const STANDARD: [usize; 8] = [2, 2, 2, 2, 2, 1, 1, 0];
/// The kernel's clock ticks a second, as every Linux on Lambda and here has them.
const TICKS: f64 = 100.0;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let standard = measure("standard", &STANDARD, 1, RUNS).await?;
    let mut growth = Vec::new();
    for (name, rounds, kilobytes) in [
        ("6 tools", [1, 1, 1, 1, 1, 1, 0, 0].as_slice(), 1),
        ("24 tools", &[4, 4, 4, 4, 4, 2, 2, 0], 1),
        ("4 KB", &STANDARD, 4),
        ("16 KB", &STANDARD, 16),
    ] {
        let rounds: Vec<usize> = rounds.iter().copied().take_while(|calls| *calls > 0).chain([0]).collect();
        growth.push(measure(name, &rounds, kilobytes, RUNS / 2).await?);
    }
    let report = json!({ "standard": standard, "growth": growth, "cold_start": cold_start().await?, "sizes": sizes()? });
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/bench.json");
    std::fs::write(&path, serde_json::to_string_pretty(&report)?)?;
    writeln!(std::io::stdout(), "{}", serde_json::to_string_pretty(&report)?)?;
    Ok(())
}

/// A provider that plays the rounds for ever, each reply after the same time.
async fn provider(rounds: Vec<usize>, kilobytes: usize) -> anyhow::Result<ScriptedProvider> {
    let reply = |reply: Reply| reply.after(LATENCY).usage(1500, 60);
    let diagnose = move |request: &Received| {
        let round = request.messages.iter().filter(|m| m["role"] == "assistant").count();
        let asked: usize = rounds.iter().take(round).sum();
        let call = |n: usize| {
            let arguments = json!({ "service": format!("bench-{kilobytes}k"), "query": null, "level": null, "start": "-1h", "end": "now", "limit": 200 });
            Call::new("query_logs", arguments).id(format!("call_{}", asked + n))
        };
        match rounds.get(round) {
            Some(calls) if *calls > 0 => reply(Reply::calls((0..*calls).map(call))),
            _ => reply(Reply::json(&draft())),
        }
    };
    let script = Script::new()
        .each(Role::Route, move |_| reply(Reply::json(&json!({ "intent": "DIAGNOSIS" }))))
        .each(Role::Diagnose, diagnose)
        .each(Role::Review, move |_| {
            reply(Reply::json(&json!({ "verdict": "SUPPORTED", "reason": "bench" })))
        });
    Ok(script.start().await?)
}

fn draft() -> Value {
    json!({
        "conclusion": null,
        "analyses": [{ "analysis_id": "a1", "kind": "NORMAL", "text": "The service wrote lines.", "tool_call_ids": ["call_0"] }],
        "actions": [], "recommendations": [], "limitations": { "missing_info": ["everything else"], "caveats": [] },
    })
}

struct Bench {
    emulator: Emulator,
    provider: ScriptedProvider,
    _stack: LocalStack,
    _folder: tempfile::TempDir,
}

async fn bench(rounds: Vec<usize>, kilobytes: usize) -> anyhow::Result<Bench> {
    let folder = tempfile::tempdir()?;
    let stack = LocalStack::start(&folder.path().join("stack"), &Scenario::load("greeting")?).await?;
    let provider = provider(rounds, kilobytes).await?;
    let sources = data_sources(folder.path())?;
    let model = ModelAddress { base_url: provider.base_url(), name: "bench".to_owned(), api_key: None };
    let settings = [
        ("DATA_SOURCES", sources.display().to_string()),
        ("LOG_LEVEL", "warn".to_owned()),
        ("BUDGET_MODEL_CALLS", "40".to_owned()),
        ("BUDGET_TOOL_CALLS", "40".to_owned()),
        ("BUDGET_TOOL_BYTES", "1048576".to_owned()),
        ("BUDGET_INPUT_TOKENS", "4000000".to_owned()),
    ];
    let settings: Vec<_> = settings.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    let function = |name: &str| anyhow::Ok(stack.function(name, function_binary(name)?, &model, &settings));
    let mut config = EmulatorConfig::new(vec![function("chat")?, function("api")?]);
    // A peer that delays its ACKs would add up to 42 ms to single events; on Lambda it is the Runtime API that decides.
    config.quick_ack = true;
    Ok(Bench { emulator: Emulator::start(config).await?, provider, _stack: stack, _folder: folder })
}

/// Log files whose whole content gives about 1, 4 and 16 KB of observation.
fn data_sources(folder: &Path) -> anyhow::Result<PathBuf> {
    let logs = folder.join("logs");
    std::fs::create_dir_all(&logs)?;
    let now = time::OffsetDateTime::from(std::time::SystemTime::now()) - time::Duration::minutes(1);
    let at = now.format(&time::format_description::well_known::Rfc3339)?;
    for (kilobytes, lines) in [(1, 1), (4, 9), (16, 44)] {
        let service = format!("bench-{kilobytes}k");
        // Lines of one kind fold into one pattern: each says something else, so that evidence grows with them.
        let line = |n: usize| {
            let word = |place: usize| -> String {
                let mut seed = n * 31 + place * 7 + 1;
                let letters = std::iter::repeat_with(|| {
                    seed = (seed * 1103 + 12345) % 65521;
                    char::from(b'a' + (seed % 26) as u8)
                });
                letters.take(6).collect()
            };
            let message = (0..30).map(word).collect::<Vec<_>>().join(" ");
            format!(
                "{}\n",
                json!({ "timestamp": at, "level": "INFO", "service": service, "message": message })
            )
        };
        std::fs::write(logs.join(format!("{service}.jsonl")), (0..lines).map(line).collect::<String>())?;
    }
    let path = folder.join("data_sources.toml");
    let text = "[[logs]]\nname = \"bench\"\ndescription = \"bench\"\nkind = \"jsonl\"\npath = \"logs\"\nservices = [\"bench-1k\", \"bench-4k\", \"bench-16k\"]\n";
    std::fs::write(&path, text)?;
    Ok(path)
}

async fn measure(name: &str, rounds: &[usize], kilobytes: usize, runs: usize) -> anyhow::Result<Value> {
    let bench = bench(rounds.to_vec(), kilobytes).await?;
    let url = format!("{}/api/chat", bench.emulator.url());
    ask(&url).await?;
    let chat =
        || bench.emulator.sandboxes().into_iter().find(|s| s.function == "chat").context("the chat sandbox");
    let requests = bench.provider.requests();
    let baseline = exchanges(&bench.provider, &requests, runs).await?;
    let pid = chat()?.pid;
    let cpu_before = cpu_ms(pid)?;
    let (mut walls, mut firsts) = (Vec::new(), Vec::new());
    for _ in 0..runs {
        let (wall, first) = ask(&url).await?;
        walls.push(wall);
        firsts.push(first);
    }
    let cpu = (cpu_ms(pid)? - cpu_before) / runs as f64;
    let observation = requests
        .iter()
        .flat_map(|r| &r.messages)
        .filter(|m| m["role"] == "tool")
        .map(|m| m.to_string().len())
        .max();
    let memory = chat()?.memory.context("the sandbox's memory")?;
    Ok(json!({
        "name": name,
        "model_calls": requests.len(),
        "tool_calls": rounds.iter().sum::<usize>(),
        "observation_bytes": observation,
        "runs": runs,
        "wall_minus_model_ms": { "median": median(&walls) - baseline, "min": walls.iter().copied().fold(f64::MAX, f64::min) - baseline },
        "baseline_model_ms": baseline,
        "cpu_ms_per_run": cpu,
        "request_to_metadata_ms": median(&firsts),
        "rss_mb": memory.rss as f64 / 1e6,
        "peak_rss_mb": memory.peak_rss as f64 / 1e6,
        "prefix_share": bench.provider.prefix_share(),
        "violations": bench.provider.violations(),
    }))
}

/// One run: milliseconds to the end and to the first event.
async fn ask(url: &str) -> anyhow::Result<(f64, f64)> {
    let told = sse::ask(url, json!({ "query": "bench: what did the service write?" }).to_string(), &[])
        .await?
        .collect()
        .await?;
    let done = told.done().context("done")?;
    anyhow::ensure!(done.status == "SUCCESS", "the run ended {}: {}", done.status, told.text());
    let since =
        |i: usize| told.events.get(i).map(|e| e.at.duration_since(told.asked_at).as_secs_f64() * 1000.0);
    let (last, first) = (since(told.events.len() - 1), since(0));
    Ok((last.context("an event")?, first.context("an event")?))
}

/// The median time of the same exchanges made directly.
async fn exchanges(provider: &ScriptedProvider, requests: &[Received], runs: usize) -> anyhow::Result<f64> {
    let client = sse::loopback_client()?;
    let url = format!("{}/chat/completions", provider.base_url());
    let mut times = Vec::new();
    for _ in 0..runs.min(15) {
        let started = Instant::now();
        for request in requests {
            let sent = client
                .post(&url)
                .header("content-type", "application/json")
                .body(request.body.clone())
                .send();
            sent.await?.bytes().await?;
        }
        times.push(started.elapsed().as_secs_f64() * 1000.0);
    }
    Ok(median(&times))
}

/// Exec to first Runtime API poll, over fresh processes.
async fn cold_start() -> anyhow::Result<Value> {
    let mut times = Vec::new();
    let mut idle = Vec::new();
    for _ in 0..10 {
        let bench = bench(STANDARD.to_vec(), 1).await?;
        let event = json!({ "version": "2.0", "rawPath": "/nothing", "rawQueryString": "", "headers": {}, "isBase64Encoded": false,
            "requestContext": { "http": { "method": "GET", "path": "/nothing" } } });
        bench.emulator.invoke_raw("chat", &event).await?;
        times.extend(bench.emulator.exec_to_first_poll("chat").iter().map(|t| t.as_secs_f64() * 1000.0));
        idle.extend(
            bench.emulator.sandboxes().into_iter().filter_map(|s| s.memory).map(|m| m.rss as f64 / 1e6),
        );
    }
    Ok(
        json!({ "exec_to_first_poll_ms": { "median": median(&times), "of": times.len() }, "idle_rss_mb": median(&idle) }),
    )
}

fn sizes() -> anyhow::Result<Value> {
    let size = |path: &Path| std::fs::metadata(path).map(|m| m.len()).ok();
    let zip = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/lambda/chat/bootstrap.zip");
    Ok(json!({ "chat_binary_bytes": size(&function_binary("chat")?), "chat_zip_bytes": size(&zip) }))
}

/// User and system time of a process so far.
fn cpu_ms(pid: u32) -> anyhow::Result<f64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks = |i: usize| fields.get(i).and_then(|f| f.parse::<f64>().ok()).unwrap_or(0.0);
    Ok((ticks(11) + ticks(12)) * 1000.0 / TICKS)
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}
