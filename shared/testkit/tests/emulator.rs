//! The emulator against a real function binary: events, streaming, sandboxes, timeouts, crashes, hang-ups.

#![expect(clippy::unwrap_used, reason = "the helpers of tests may fail like tests")]

use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use reqwest::Response;
use serde_json::{Value, json};
use testkit::emulator::{
    BodyEncoding, DeadlineHeader, Emulator, EmulatorConfig, EventShape, Failure, FunctionConfig, HeaderCase,
    LogStream, RawReply, function_binary,
};
use testkit::sse::loopback_client;

/// Long enough for a loaded machine; no test waits for it to pass.
const PATIENCE: Duration = Duration::from_secs(30);

fn function(name: &str) -> FunctionConfig {
    FunctionConfig::new(name, env!("CARGO_BIN_EXE_echo_function"))
}

fn config() -> EmulatorConfig {
    EmulatorConfig::new(vec![function("chat"), function("api")])
}

async fn start(config: EmulatorConfig) -> Emulator {
    Emulator::start(config).await.unwrap()
}

async fn get(emulator: &Emulator, path: &str) -> Response {
    loopback_client().unwrap().get(format!("{}{path}", emulator.url())).send().await.unwrap()
}

async fn get_json(emulator: &Emulator, path: &str) -> Value {
    get(emulator, path).await.json().await.unwrap()
}

fn has_header(echo: &Value, name: &str, value: &str) -> bool {
    echo["headers"].as_array().unwrap().contains(&json!([name, value]))
}

fn open(gate: &Path, number: usize) {
    std::fs::write(gate.with_extension(number.to_string()), "").unwrap();
}

/// Whether a process still exists, also as a zombie.
fn exists(pid: u32) -> bool {
    Path::new(&format!("/proc/{pid}")).exists()
}

#[tokio::test]
async fn routes_and_requests_arrive_in_both_event_shapes() {
    for (shape, name) in [(EventShape::FunctionUrlV2, "v2"), (EventShape::RestProxyV1, "v1")] {
        let emulator = start(EmulatorConfig { shape, ..config() }).await;
        let request = loopback_client().unwrap().post(format!("{}/api/chat?a=1&b=x%20y&a=2", emulator.url()));
        let request = request
            .header("content-type", "application/json")
            .header("x-custom", "kept")
            .header("cookie", "s=1; t=2")
            .body("{\"query\":\"支付超时\"}");
        let echo: Value = request.send().await.unwrap().json().await.unwrap();
        assert_eq!(echo["shape"], name);
        assert_eq!(echo["function"], "chat");
        assert_eq!(echo["method"], "POST");
        assert_eq!(echo["path"], "/api/chat");
        assert_eq!(echo["body"], "{\"query\":\"支付超时\"}");
        let mut query = echo["query"].as_array().unwrap().clone();
        query.sort_by_key(Value::to_string);
        assert_eq!(json!(query), json!([["a", "1"], ["a", "2"], ["b", "x y"]]));
        assert!(has_header(&echo, "x-custom", "kept"), "{echo}");
        assert!(has_header(&echo, "content-type", "application/json"), "{echo}");
        assert!(has_header(&echo, "x-forwarded-proto", "https"), "{echo}");
        assert!(has_header(&echo, "cookie", "s=1; t=2"), "{echo}");
        let other = get_json(&emulator, "/api/health").await;
        assert_eq!((&other["function"], &other["method"]), (&json!("api"), &json!("GET")));
        assert_eq!(other["body"], "");
    }
}

#[tokio::test]
async fn base64_bodies_and_header_cases_are_the_same_request() {
    for shape in [EventShape::FunctionUrlV2, EventShape::RestProxyV1] {
        for header_case in [HeaderCase::Lower, HeaderCase::Title, HeaderCase::Upper] {
            let body_encoding = BodyEncoding::AlwaysBase64;
            let emulator = start(EmulatorConfig { shape, header_case, body_encoding, ..config() }).await;
            let request = loopback_client().unwrap().post(format!("{}/api/chat", emulator.url()));
            let request = request.header("content-type", "application/json").body("{\"a\":\"é\"}");
            let echo: Value = request.send().await.unwrap().json().await.unwrap();
            assert_eq!(echo["body"], "{\"a\":\"é\"}");
            assert!(has_header(&echo, "content-type", "application/json"), "{echo}");
        }
    }
}

#[tokio::test]
async fn the_environment_is_lambdas_and_ours_only_where_asked() {
    let plain =
        start(EmulatorConfig::new(vec![function("chat"), function("api").env("ECHO_OWN", "1")])).await;
    // Of: a variable of real Lambda, one of this test process, one that was given.
    assert_eq!(get_json(&plain, "/").await["variables"], json!([false, false, true]));
    let real = start(EmulatorConfig { real_lambda_variables: true, ..config() }).await;
    assert_eq!(get_json(&real, "/").await["variables"], json!([true, false, false]));
}

#[tokio::test]
async fn deadlines_are_real_or_the_constant_that_was_asked_for() {
    let now = || u64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis()).unwrap();
    let hour = Duration::from_secs(3600);
    let functions = vec![function("chat"), function("api").timeout(hour)];
    let real = start(EmulatorConfig::new(functions)).await;
    let before = now();
    let deadline = get_json(&real, "/").await["deadline_ms"].as_u64().unwrap();
    assert!((before + 3_600_000..=now() + 3_600_000).contains(&deadline), "{deadline}");
    let unknown = start(EmulatorConfig { deadline: DeadlineHeader::Constant(600), ..config() }).await;
    assert_eq!(get_json(&unknown, "/").await["deadline_ms"], 600);
}

#[tokio::test]
async fn status_headers_and_cookies_of_a_stream_are_applied() {
    let emulator = start(config()).await;
    let response = get(&emulator, "/cookies").await;
    assert_eq!(response.status(), 201);
    let all = |name: &str| {
        response.headers().get_all(name).iter().map(|v| v.to_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(all("set-cookie"), ["a=1; Path=/", "b=2"]);
    assert_eq!(all("x-many"), ["one", "two"]);
    assert_eq!(response.text().await.unwrap(), "baked");
}

#[tokio::test]
async fn buffered_replies_work_in_both_shapes_binary_too() {
    for shape in [EventShape::FunctionUrlV2, EventShape::RestProxyV1] {
        let functions = vec![function("chat"), function("api").env("ECHO_BUFFERED", "1")];
        let emulator = start(EmulatorConfig { shape, ..EmulatorConfig::new(functions) }).await;
        let response = get(&emulator, "/api/runs/1").await;
        assert_eq!(response.headers()["content-type"], "application/json");
        assert_eq!(response.headers().get_all("set-cookie").iter().count(), 1);
        assert_eq!(response.json::<Value>().await.unwrap()["path"], "/api/runs/1");
        let binary = get(&emulator, "/binary").await;
        assert_eq!(binary.bytes().await.unwrap().as_ref(), [0, 159, 146, 150]);
    }
}

#[tokio::test]
async fn each_chunk_arrives_before_the_next_is_made() {
    let folder = tempfile::tempdir().unwrap();
    for quick_ack in [false, true] {
        let gate = folder.path().join(format!("gate-{quick_ack}"));
        let emulator = start(EmulatorConfig { quick_ack, ..config() }).await;
        let path = format!("/api/chat/stream?chunks=3&gate={}", gate.display());
        open(&gate, 0);
        let mut response = get(&emulator, &path).await;
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        for number in 0..3 {
            let mut line = Vec::new();
            while !line.ends_with(b"\n") {
                line.extend_from_slice(&response.chunk().await.unwrap().expect("the stream goes on"));
            }
            assert_eq!(String::from_utf8(line).unwrap(), format!("chunk {number} 一二三\n"));
            // The function makes the next chunk only now.
            open(&gate, number + 1);
        }
        assert_eq!(response.chunk().await.unwrap(), None);
    }
}

#[tokio::test]
async fn busy_sandboxes_are_joined_by_others_and_idle_ones_used_again() {
    let folder = tempfile::tempdir().unwrap();
    let gate = folder.path().join("gate");
    let emulator = start(EmulatorConfig { max_sandboxes: 2, ..config() }).await;
    let path = format!("/stream?chunks=2&gate={}", gate.display());
    open(&gate, 0);
    let (mut one, mut two) = tokio::join!(get(&emulator, &path), get(&emulator, &path));
    assert!(one.chunk().await.unwrap().is_some() && two.chunk().await.unwrap().is_some());
    let busy = emulator.sandboxes();
    assert_eq!(busy.len(), 2);
    assert!(busy.iter().all(|sandbox| sandbox.busy && sandbox.function == "api"));
    assert_ne!(busy[0].pid, busy[1].pid);
    let throttled = get(&emulator, "/").await;
    assert_eq!(throttled.status(), 429);
    assert_eq!(throttled.json::<Value>().await.unwrap()["emulator_fault"], "THROTTLED");
    open(&gate, 1);
    assert!(one.text().await.unwrap().contains("chunk 1") && two.text().await.unwrap().contains("chunk 1"));
    emulator.logs().wait_for("stream finished", PATIENCE).await.unwrap();
    let echo = reuse(&emulator).await;
    let pids = busy.iter().map(|sandbox| json!(sandbox.pid)).collect::<Vec<_>>();
    assert!(pids.contains(&echo["pid"]), "{echo}");
    assert_eq!(echo["invocation"], 2);
    let memory = emulator.sandboxes()[0].memory.unwrap();
    assert!(memory.rss > 1024 * 1024 && memory.peak_rss >= memory.rss, "{memory:?}");
    assert!(emulator.sandboxes().iter().all(|sandbox| sandbox.exec_to_first_poll.is_some()));
}

/// A response is complete for its client an instant before its sandbox is free again.
async fn reuse(emulator: &Emulator) -> Value {
    loop {
        let response = get(emulator, "/").await;
        if response.status() != 429 {
            return response.json().await.unwrap();
        }
    }
}

#[tokio::test]
async fn a_function_that_takes_too_long_is_killed() {
    let functions = vec![function("chat"), function("api").timeout(Duration::from_millis(300))];
    let emulator = start(EmulatorConfig::new(functions)).await;
    let response = get(&emulator, "/hang").await;
    assert_eq!(response.status(), 502);
    assert_eq!(response.json::<Value>().await.unwrap()["emulator_fault"], "FUNCTION_TIMED_OUT");
    assert!(emulator.sandboxes().is_empty());
    // In the middle of a stream the client's connection breaks: no clean end is invented.
    let streaming = get(&emulator, "/stream?chunks=1&then=hang").await;
    assert_eq!(streaming.status(), 200);
    assert!(streaming.bytes().await.is_err());
}

#[tokio::test]
async fn without_enforcement_a_timeout_kills_nothing() {
    let functions = vec![function("chat"), function("api").timeout(Duration::ZERO)];
    let emulator = start(EmulatorConfig { enforce_timeout: false, ..EmulatorConfig::new(functions) }).await;
    assert_eq!(get(&emulator, "/").await.status(), 200);
    assert_eq!(emulator.exec_to_first_poll("api").len(), 1);
}

#[tokio::test]
async fn panics_errors_and_exits_are_502_and_the_next_request_works() {
    let emulator = start(config()).await;
    let cases = [("/panic", "FUNCTION_ERROR"), ("/fail", "FUNCTION_ERROR"), ("/exit", "FUNCTION_CRASHED")];
    for (path, fault) in cases {
        let response = get(&emulator, path).await;
        assert_eq!(response.status(), 502, "{path}");
        let body = response.json::<Value>().await.unwrap();
        assert_eq!(body["emulator_fault"], fault, "{path}: {body}");
        assert_eq!(get(&emulator, "/").await.status(), 200, "after {path}");
    }
    let broken = get(&emulator, "/stream?chunks=1&then=exit").await;
    assert!(broken.bytes().await.is_err(), "a crash in mid-stream looked like a clean end");
    assert_eq!(get(&emulator, "/").await.status(), 200);
}

#[tokio::test]
async fn a_function_that_dies_before_its_first_poll_is_reported() {
    let functions = vec![function("chat"), function("api").env("ECHO_INIT_EXIT", "1")];
    let emulator = start(EmulatorConfig::new(functions)).await;
    let body = get_json(&emulator, "/").await;
    assert_eq!(body["emulator_fault"], "FUNCTION_CRASHED");
}

#[tokio::test]
async fn by_default_a_function_is_not_told_that_its_client_left() {
    let folder = tempfile::tempdir().unwrap();
    let gate = folder.path().join("gate");
    let emulator = start(config()).await;
    open(&gate, 0);
    let mut response = get(&emulator, &format!("/stream?chunks=3&gate={}", gate.display())).await;
    assert!(response.chunk().await.unwrap().is_some());
    drop(response);
    open(&gate, 1);
    open(&gate, 2);
    emulator.logs().wait_for("stream finished", PATIENCE).await.unwrap();
    assert!(!emulator.logs().text().contains("stream dropped"));
}

#[tokio::test]
async fn on_request_a_clients_leaving_reaches_the_function() {
    let emulator = start(EmulatorConfig { propagate_disconnect: true, ..config() }).await;
    // Far more than all buffers on the way hold: it can't finish before it notices.
    let mut response = get(&emulator, "/stream?chunks=100000000").await;
    assert!(response.chunk().await.unwrap().is_some());
    let pid = emulator.sandboxes()[0].pid;
    drop(response);
    emulator.logs().wait_for("stream dropped", PATIENCE).await.unwrap();
    // The sandbox itself lives on.
    assert_eq!(reuse(&emulator).await["pid"], pid);
}

#[tokio::test]
async fn kill_9_breaks_the_stream_and_leaves_no_zombie() {
    let emulator = start(config()).await;
    let mut response = get(&emulator, "/stream?chunks=1&then=hang").await;
    assert!(response.chunk().await.unwrap().is_some());
    let pid = emulator.sandboxes()[0].pid;
    emulator.kill9(pid).await.unwrap();
    assert!(!exists(pid));
    assert!(response.chunk().await.is_err());
    assert!(emulator.kill9(1).await.is_err(), "only its own sandboxes");
    assert_eq!(get(&emulator, "/").await.status(), 200);
}

#[tokio::test]
async fn output_is_captured_line_by_line_and_processes_end_with_the_emulator() {
    let emulator = start(config()).await;
    assert_eq!(get(&emulator, "/print").await.text().await.unwrap(), "printed");
    let pid = emulator.sandboxes()[0].pid;
    let logs = emulator.stop();
    assert!(!exists(pid));
    let lines = logs.lines();
    let find = |stream, text: &str| {
        lines.iter().any(|line| {
            (line.stream, line.text.as_str(), line.pid, line.function.as_str()) == (stream, text, pid, "api")
        })
    };
    assert!(find(LogStream::Stdout, "a line on stdout"), "{lines:?}");
    assert!(find(LogStream::Stderr, "eine Zeile auf stderr: 错误"), "{lines:?}");
}

#[tokio::test]
async fn a_frozen_sandbox_stands_still_between_invocations_and_still_ends() {
    let emulator = start(EmulatorConfig { freeze_idle: true, ..config() }).await;
    assert_eq!(get(&emulator, "/tick").await.text().await.unwrap(), "ticking");
    let pid = emulator.sandboxes()[0].pid;
    let state = || {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        status.lines().find(|line| line.starts_with("State:")).unwrap().contains("stopped")
    };
    while !state() {
        tokio::task::yield_now().await;
    }
    assert_eq!(reuse(&emulator).await["pid"], pid);
    drop(emulator);
    assert!(!exists(pid));
}

#[tokio::test]
async fn raw_events_are_handed_over_as_they_are() {
    let emulator = start(config()).await;
    let context = json!({ "http": { "method": "GET", "path": "/x" }, "stage": "$default" });
    let event = json!({ "version": "2.0", "rawPath": "/cookies", "requestContext": context, "headers": {} });
    let reply = emulator.invoke_raw("chat", &event).await.unwrap();
    assert_eq!(reply.http(), Some((201, b"baked".to_vec())));
    let RawReply::Streamed { prelude, complete: true, .. } = reply else { panic!("{reply:?}") };
    assert_eq!(prelude["cookies"], json!(["a=1; Path=/", "b=2"]));
    let refused = emulator.invoke_raw("chat", &json!({ "no": "event" })).await.unwrap();
    assert!(matches!(refused, RawReply::Failed(Failure::FunctionError(_))), "{refused:?}");
    assert!(emulator.invoke_raw("none", &event).await.is_err());
}

#[tokio::test]
async fn wrong_settings_are_refused_at_the_start() {
    let unknown = EmulatorConfig { default_function: "web".to_owned(), ..config() };
    assert!(Emulator::start(unknown).await.is_err());
    let missing = EmulatorConfig::new(vec![FunctionConfig::new("chat", "/nowhere/chat"), function("api")]);
    assert!(Emulator::start(missing).await.is_err());
    assert!(function_binary("echo_function").unwrap().is_file());
}
