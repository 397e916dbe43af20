//! 200,000 log lines in one query: JSON lines and plain text. Prints time, lines a second and the peak of memory, and adds them to
//! `target/bench.json`.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use agent::ports::Clock;
use agent::ports::{EvidenceTool, SystemClock, ToolCallContext};
use anyhow::Context;
use domain::ids::ToolCallId;
use serde_json::{Value, json};
use time::format_description::well_known::Rfc3339;
use tools::logs::{FolderSource, LogSource, LogsTool};

const LINES: usize = 200_000;
const RUNS: usize = 5;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let mut figures = Vec::new();
    for form in ["json", "plain"] {
        let folder = tempfile::tempdir()?;
        let bytes = write(folder.path(), form)?;
        let services = vec!["shop".to_owned()];
        let source = FolderSource::new("bench".into(), "bench".into(), folder.path().to_owned(), services);
        let tool = LogsTool::new(vec![Arc::new(source) as Arc<dyn LogSource>]);
        let mut times = Vec::new();
        let mut patterns = 0;
        for _ in 0..RUNS {
            let started = Instant::now();
            patterns = search(&tool).await?;
            times.push(started.elapsed().as_secs_f64());
        }
        times.sort_by(f64::total_cmp);
        let median = times.get(RUNS / 2).copied().context("a median")?;
        figures.push(json!({
            "form": form, "lines": LINES, "bytes": bytes, "patterns": patterns, "seconds": median,
            "lines_per_second": (LINES as f64 / median).round(), "peak_rss_mb": peak_rss_mb()?,
        }));
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/bench.json");
    let mut report: Value = std::fs::read(&path)
        .ok()
        .and_then(|bytes| serde_json::from_slice(&bytes).ok())
        .unwrap_or_else(|| json!({}));
    if let Some(report) = report.as_object_mut() {
        report.insert("log_search".to_owned(), Value::from(figures.clone()));
    }
    std::fs::write(&path, serde_json::to_string_pretty(&report)?)?;
    writeln!(std::io::stdout(), "{}", serde_json::to_string_pretty(&figures)?)?;
    Ok(())
}

/// Half of the lines lie in the searched window, half in the one before.
fn write(folder: &Path, form: &str) -> anyhow::Result<usize> {
    let now = SystemClock.now();
    let mut text = String::new();
    for n in 0..LINES {
        let at = now - time::Duration::milliseconds(((LINES - n) as i64) * 35);
        let at = at.format(&Rfc3339)?;
        let level = ["INFO", "INFO", "INFO", "WARN", "ERROR"][n % 5];
        let message = match n % 7 {
            0 => format!("order {} created for customer {} in {} ms", n * 31, n % 4093, n % 700),
            1 => format!(
                "payment of order {} through acquirer-{} failed: GATEWAY_TIMEOUT after {} ms",
                n * 17,
                n % 3,
                n % 9000
            ),
            2 => format!("GET /api/orders/{} 200 {}ms trace={:032x}", n, n % 90, n * 7919),
            3 => format!("cache miss key=sku:{} ttl={}s", n % 5000, n % 60),
            4 => format!("user u{} logged in from 10.1.{}.{}", n % 999_983, n % 256, n % 251),
            5 => format!(
                "HikariPool-1 - Connection is not available, request timed out after {}ms",
                30_000 + n % 50
            ),
            _ => format!("consumer lag {} on partition {} of topic orders-v2", n % 1000, n % 12),
        };
        if form == "json" {
            let line = json!({ "timestamp": at, "level": level, "service": "shop", "message": message, "thread": "http-7" });
            writeln!(text, "{line}")?;
        } else {
            writeln!(text, "{at} {level} [http-7] com.shop.Service : {message}")?;
        }
    }
    let name = if form == "json" { "shop.jsonl" } else { "shop.log" };
    std::fs::write(folder.join(name), &text)?;
    Ok(text.len())
}

async fn search(tool: &LogsTool) -> anyhow::Result<usize> {
    let call = ToolCallContext {
        id: ToolCallId::parse("call_1")?,
        arguments: json!({ "service": "shop", "query": null, "level": null, "start": "-1h", "end": "now", "limit": 200 }),
        max_bytes: 16_384,
        timeout: std::time::Duration::from_secs(60),
        now: SystemClock.now(),
        cancelled: Default::default(),
        pseudonyms: Default::default(),
    };
    let output = tool.run(call).await.map_err(|fault| anyhow::anyhow!("{fault:?}"))?;
    let domain::evidence::Projection::Logs(result) = output.projection else {
        anyhow::bail!("another projection")
    };
    anyhow::ensure!(result.matched > LINES as u64 / 3, "{} lines matched", result.matched);
    Ok(result.patterns.len())
}

fn peak_rss_mb() -> anyhow::Result<f64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).context("VmHWM")?;
    let kilobytes: f64 = line.trim().trim_end_matches("kB").trim().parse()?;
    Ok(kilobytes / 1000.0)
}
