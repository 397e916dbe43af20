//! The front door of `POST /api/chat`: what is refused and how, and which spellings are the same request.

use anyhow::Context;
use domain::model::Role;
use reqwest::{Method, Response};
use serde_json::{Value, json};
use testkit::emulator::{BodyEncoding, EmulatorConfig, EventShape, HeaderCase, RawReply};
use testkit::provider::{Reply, Script};
use testkit::sse;

use crate::world::{World, world};

const JSON: (&str, &str) = ("content-type", "application/json");

/// Every question is about the assistant, as often as it is asked.
fn about_itself() -> Script {
    Script::new()
        .each(Role::Route, |_| Reply::json(&json!({ "intent": "SYSTEM_CHAT" })))
        .each(Role::System, |_| Reply::text("I diagnose incidents."))
}

async fn send(
    world: &World,
    method: Method,
    path: &str,
    headers: &[(&str, &str)],
    body: Vec<u8>,
) -> anyhow::Result<Response> {
    let url = format!("{}{path}", world.emulator.url());
    let mut request = sse::loopback_client()?.request(method, url).body(body);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    Ok(request.send().await?)
}

fn header<'a>(response: &'a Response, name: &str) -> &'a str {
    response.headers().get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

/// Checks the whole refusal: status, code, headers, and that its sentence says what would be right.
async fn refused(response: Response, status: u16, code: &str, right: &str) -> anyhow::Result<()> {
    assert_eq!(header(&response, "x-content-type-options"), "nosniff", "{right}");
    assert_eq!(header(&response, "cache-control"), "no-store", "{right}");
    let (found, headers) = (response.status().as_u16(), response.headers().clone());
    let problem = sse::Problem::parse(found, &headers, &response.bytes().await?)?;
    assert_eq!((problem.status, problem.code.as_str()), (status, code), "{right}: {problem:?}");
    let detail = problem.detail.context("no detail")?;
    assert!(detail.contains(right), "{right:?} is not in {detail:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn each_bad_body_is_refused_with_what_would_be_right() -> anyhow::Result<()> {
    let world = world(Script::new()).start().await?;
    let query = |text: &str| json!({ "query": text }).to_string().into_bytes();
    let session = |id: &str| json!({ "query": "a", "session_id": id }).to_string().into_bytes();
    let raw = |text: &str| text.as_bytes().to_vec();
    let shape = r#"send {"query": "…""#;
    let rows: Vec<(Vec<u8>, &str)> = vec![
        (raw(""), shape),
        (raw(" \n"), shape),
        (raw("{"), shape),
        (raw("[]"), shape),
        (raw("{}"), shape),
        (raw(r#"{"query":1}"#), shape),
        (raw(r#"{"query":null}"#), shape),
        (raw(r#"{"query":["a"]}"#), shape),
        (raw(r#"{"query":"a","session_id":7}"#), shape),
        (raw(r#"{"query":"a","temperature":1}"#), "unknown field `temperature`"),
        (raw(r#"{"query":"a","query":"b"}"#), "duplicate field `query`"),
        (raw(r#"{"query":"\ud800"}"#), shape),
        (raw(r#"{"query":"a \udc00 b"}"#), shape),
        (raw(r#"{"query":"a"} and more"#), shape),
        (b"{\"query\":\"\xff\xfe\"}".to_vec(), "not UTF-8; send"),
        (query(""), "write the alert or question"),
        (query(" \t\n\u{3000}"), "write the alert or question"),
        (query("😀!"), "in words"),
        (query("a\0b"), "only tab, line feed and carriage return"),
        (query("a\u{1b}[31m"), "only tab, line feed and carriage return"),
        (query(&"x".repeat(8193)), "at most 8192 are accepted"),
        (query(&"支".repeat(2731)), "at most 8192 are accepted"),
        (session(""), "1 to 64 characters of A-Z a-z 0-9 _ -"),
        (session("a b"), "1 to 64 characters"),
        (session("a/../b"), "1 to 64 characters"),
        (session("支付"), "1 to 64 characters"),
        (session(&"s".repeat(65)), "1 to 64 characters"),
    ];
    for (body, right) in rows {
        let response = send(&world, Method::POST, "/api/chat", &[JSON], body).await?;
        refused(response, 400, "INVALID_REQUEST", right).await?;
    }
    assert!(world.provider.requests().is_empty(), "nothing refused reaches the model");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn each_bad_header_size_method_and_path_is_refused() -> anyhow::Result<()> {
    let other = |config: &mut EmulatorConfig| config.routes.push(("/api/other".into(), "chat".into()));
    let world = world(Script::new()).emulator(other).start().await?;
    let body = || br#"{"query":"why?"}"#.to_vec();
    let long = "k".repeat(129);
    for key in ["", "a b", long.as_str()] {
        let headers = [JSON, ("idempotency-key", key)];
        let response = send(&world, Method::POST, "/api/chat", &headers, body()).await?;
        refused(response, 400, "INVALID_REQUEST", "1 to 128 visible ASCII characters").await?;
    }
    for kind in ["text/plain", "application/x-www-form-urlencoded", "application/jsonx"] {
        let response = send(&world, Method::POST, "/api/chat", &[("content-type", kind)], body()).await?;
        refused(response, 415, "UNSUPPORTED_MEDIA_TYPE", "set content-type: application/json").await?;
    }
    let response = send(&world, Method::POST, "/api/chat", &[], body()).await?;
    refused(response, 415, "UNSUPPORTED_MEDIA_TYPE", "set content-type: application/json").await?;
    let gzip = [JSON, ("content-encoding", "gzip")];
    let response = send(&world, Method::POST, "/api/chat", &gzip, body()).await?;
    refused(response, 415, "UNSUPPORTED_MEDIA_TYPE", "send plain application/json").await?;
    let response = send(&world, Method::POST, "/api/chat", &[JSON], vec![b' '; 64 * 1024 + 1]).await?;
    refused(response, 413, "PAYLOAD_TOO_LARGE", "at most 65536").await?;
    for method in [Method::GET, Method::PUT, Method::DELETE, Method::PATCH] {
        let response = send(&world, method, "/api/chat", &[JSON], body()).await?;
        assert_eq!(header(&response, "allow"), "POST");
        refused(response, 405, "METHOD_NOT_ALLOWED", "POST").await?;
    }
    let response = send(&world, Method::HEAD, "/api/chat", &[], Vec::new()).await?;
    assert_eq!((response.status().as_u16(), header(&response, "allow")), (405, "POST"));
    let response = send(&world, Method::OPTIONS, "/api/chat", &[], Vec::new()).await?;
    assert_eq!((response.status().as_u16(), header(&response, "allow")), (204, "POST"));
    assert!(response.bytes().await?.is_empty());
    let response = send(&world, Method::POST, "/api/other", &[JSON], body()).await?;
    refused(response, 404, "NOT_FOUND", "nothing here").await?;
    assert!(world.provider.requests().is_empty(), "nothing refused reaches the model");
    Ok(())
}

/// Asks and returns what the stream is: its stages, the kind of body, its end.
async fn kind_of_stream(world: &World, content_type: &str) -> anyhow::Result<Value> {
    let told =
        world.post(&json!({ "query": "你是谁, what are you?" }), &[("content-type", content_type)]).await?;
    let content = told.content().with_context(|| format!("{content_type}: {}", told.text()))?;
    assert_eq!(told.headers["cache-control"], "no-cache, no-transform");
    assert_eq!(told.headers["content-type"], "text/event-stream");
    assert_eq!(told.headers["x-content-type-options"], "nosniff");
    let stages: Vec<&str> = told.statuses().iter().map(|status| status.stage.as_str()).collect();
    Ok(json!([stages, content.intent, content.body, told.done().context("no done")?.status]))
}

#[tokio::test(flavor = "multi_thread")]
async fn both_event_shapes_header_cases_and_encodings_are_the_same_request() -> anyhow::Result<()> {
    let mut first: Option<Value> = None;
    for (shape, case, encoding) in [
        (EventShape::FunctionUrlV2, HeaderCase::AsGateway, BodyEncoding::AsGateway),
        (EventShape::FunctionUrlV2, HeaderCase::Upper, BodyEncoding::AlwaysBase64),
        (EventShape::RestProxyV1, HeaderCase::Title, BodyEncoding::AlwaysBase64),
        (EventShape::RestProxyV1, HeaderCase::Lower, BodyEncoding::AsGateway),
        (EventShape::RestProxyV1, HeaderCase::Upper, BodyEncoding::AsGateway),
    ] {
        let configure = move |config: &mut EmulatorConfig| {
            (config.shape, config.header_case, config.body_encoding) = (shape, case, encoding);
        };
        let world = world(about_itself()).emulator(configure).start().await?;
        for content_type in
            ["application/json", "Application/JSON; charset=utf-8", "application/json;charset=UTF-8"]
        {
            let kind = kind_of_stream(&world, content_type).await?;
            assert_eq!(&kind, first.get_or_insert_with(|| kind.clone()), "{shape:?} {case:?} {encoding:?}");
        }
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn every_script_survives_to_the_ledger_and_back() -> anyhow::Result<()> {
    let world = world(about_itself()).start().await?;
    let longest = "支".repeat(2730) + "ab";
    for query in [
        "支付超时 🔥 is it down? 👩‍💻",
        "𠮷野家 の 注文 失敗",
        "مهلة الدفع checkout Zahlung fällt aus e\u{301}",
        "line one\r\nline\ttwo \\ \"quoted\" \u{2028} end",
        longest.as_str(),
    ] {
        let told = world.ask(query).await?;
        let metadata = told.metadata().with_context(|| format!("{query}: {}", told.text()))?;
        assert_eq!(world.run(&metadata.run_id).await?["query"], query);
    }
    let told = world.ask(" \n trimmed \u{3000}").await?;
    assert_eq!(world.run(&told.metadata().context("no metadata")?.run_id).await?["query"], "trimmed");
    world.assert_provider_saw_a_clean_protocol();
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_sample_events_reach_their_functions() -> anyhow::Result<()> {
    let world = world(about_itself()).start().await?;
    let event = |name: &str| -> anyhow::Result<Value> {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../events/").to_owned() + name;
        Ok(serde_json::from_str(&std::fs::read_to_string(path)?)?)
    };
    for name in ["chat-url-v2.json", "chat-rest-v1.json"] {
        let reply = world.emulator.invoke_raw("chat", &event(name)?).await?;
        let (status, body) = reply.http().with_context(|| format!("{name}: {reply:?}"))?;
        let text = String::from_utf8(body)?;
        assert_eq!(status, 200, "{name}: {text}");
        assert!(text.starts_with("id: 1\nevent: metadata\n") && text.contains("\nevent: done\n"), "{text}");
    }
    let (status, run) = world.get("/api/sessions/sample-session/runs").await?;
    assert_eq!((status, &run["runs"][0]["query"]), (200, &json!("checkout 5xx since 06:05, why?")));
    let reply = world.emulator.invoke_raw("api", &event("api-health-v2.json")?).await?;
    let (status, body) = reply.http().context("health")?;
    assert_eq!((status, serde_json::from_slice::<Value>(&body)?), (200, json!({ "status": "ok" })));
    for name in ["maintenance-migrate.json", "maintenance-sweep.json"] {
        let reply = world.emulator.invoke_raw("maintenance", &event(name)?).await?;
        assert!(matches!(reply, RawReply::Buffered(_)), "{name}: {reply:?}");
    }
    Ok(())
}
