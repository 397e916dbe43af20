//! Replies that a provider streams in many small deltas: CPU of the reading thread per delta, deltas per second, and the memory that
//! stays. Prints the figures and adds them to `target/bench.json`.

use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use agent::ports::{Message, Model, ModelRequest, ToolChoice};
use anyhow::Context;
use domain::model::Role;
use llm::{Endpoint, HttpModel, Secret};
use serde_json::{Value, json};

const REPLIES: usize = 12;
/// Replies before memory is looked at for the first time: buffers and the allocator have grown by then.
const WARM: usize = 3;

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let mut figures = json!({});
    for deltas in [1_000, 10_000, 20_000] {
        figures[deltas.to_string()] = measure(deltas).await?;
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/bench.json");
    let mut report: Value = std::fs::read(&path)
        .ok()
        .and_then(|bytes| serde_json::from_slice(&bytes).ok())
        .unwrap_or_else(|| json!({}));
    report["provider_stream"] = figures.clone();
    std::fs::write(&path, serde_json::to_string_pretty(&report)?)?;
    writeln!(std::io::stdout(), "{}", serde_json::to_string_pretty(&figures)?)?;
    Ok(())
}

async fn measure(deltas: usize) -> anyhow::Result<Value> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let base_url = format!("http://{}/v1", listener.local_addr()?);
    let body = Arc::new(streamed(deltas)?);
    let bytes = body.len();
    // A thread of its own, so that the reader's CPU is the reader's alone.
    std::thread::spawn(move || {
        for connection in listener.incoming().flatten() {
            let body = Arc::clone(&body);
            std::thread::spawn(move || serve(connection, &body));
        }
    });
    let model = HttpModel::new(&Endpoint::new(base_url, "m", Secret::default()))?;
    let (mut cpu, mut wall, mut resident) = (Vec::new(), Vec::new(), 0);
    for n in 0..REPLIES {
        let (began, before) = (Instant::now(), reader_cpu()?);
        let reply = model.call(request()).await.reply.ok().context("no reply")?;
        let text = reply.text.context("no text")?;
        anyhow::ensure!(text.len() == deltas * 6 - 1, "{} bytes of text", text.len());
        cpu.push((reader_cpu()? - before).as_secs_f64() * 1e6 / deltas as f64);
        wall.push(began.elapsed().as_secs_f64());
        if n + 1 == WARM {
            resident = resident_kib()?;
        }
    }
    cpu.sort_by(f64::total_cmp);
    wall.sort_by(f64::total_cmp);
    let median = wall.get(REPLIES / 2).copied().unwrap_or(f64::INFINITY);
    Ok(json!({
        "bytes": bytes,
        "cpu_us_per_delta": cpu.get(REPLIES / 2),
        "deltas_per_second": (deltas as f64 / median).round(),
        "resident_growth_kib": resident_kib()?.saturating_sub(resident),
    }))
}

fn request() -> ModelRequest {
    ModelRequest {
        role: Role::System,
        system: Arc::from("superbiz/system"),
        messages: vec![Message::User { text: "q".to_owned() }],
        tools: Arc::from([]),
        tool_choice: ToolChoice::Auto,
        response_schema: None,
        max_output_tokens: 1_000_000,
        timeout: Duration::from_secs(60),
        provider: None,
    }
}

fn streamed(deltas: usize) -> anyhow::Result<String> {
    let mut body = String::new();
    for n in 0..deltas {
        let delta = json!({
            "id": "chatcmpl-0123456789", "object": "chat.completion.chunk", "created": 1_764_500_000, "model": "m",
            "choices": [{ "index": 0, "delta": { "content": format!("{n:05} ") }, "finish_reason": null }],
        });
        write!(body, "data: {delta}\n\n")?;
    }
    let end = json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "stop" }], "usage": { "prompt_tokens": 9, "completion_tokens": deltas } });
    write!(body, "data: {end}\n\ndata: [DONE]\n\n")?;
    Ok(body)
}

/// Answers every request of one connection with the same stream.
fn serve(connection: TcpStream, body: &str) {
    let mut reader = BufReader::new(&connection);
    loop {
        let (mut length, mut line) = (0, String::new());
        while reader.read_line(&mut line).is_ok_and(|n| n > 2) {
            if let Some(("content-length", value)) = line.to_lowercase().split_once(": ") {
                length = value.trim().parse().unwrap_or(0);
            }
            line.clear();
        }
        if length == 0 || reader.read_exact(&mut vec![0; length]).is_err() {
            return;
        }
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        if (&connection)
            .write_all(head.as_bytes())
            .and_then(|()| (&connection).write_all(body.as_bytes()))
            .is_err()
        {
            return;
        }
    }
}

/// Time on a CPU of the main thread, where the runtime reads.
fn reader_cpu() -> anyhow::Result<Duration> {
    let stat = std::fs::read_to_string(format!("/proc/self/task/{}/schedstat", std::process::id()))?;
    Ok(Duration::from_nanos(stat.split(' ').next().context("no schedstat")?.parse()?))
}

fn resident_kib() -> anyhow::Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).context("no VmRSS")?;
    line.split_whitespace().nth(1).context("no number")?.parse().context("VmRSS")
}
