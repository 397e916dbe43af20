//! The buffered endpoints: runs, history, trace, evidence, health, the page; and what they refuse.

use anyhow::Context;
use domain::model::Role;
use reqwest::{Method, Response};
use serde_json::{Value, json};
use testkit::provider::{Reply, Script};
use testkit::sse;

use crate::world::{World, draft, gateway_errors, world};

const NOBODY: &str = "0190b3c4-0000-7000-8000-000000000000";
const FINDING: &str = "payment-gateway logged GATEWAY_TIMEOUT errors.";

fn supported() -> Script {
    Script::new()
        .routes_to("DIAGNOSIS")
        .asks_for([gateway_errors().id("call_a")])
        .reports(&draft("NORMAL", FINDING, "call_a"))
        .judges("SUPPORTED")
}

async fn fetch(world: &World, method: Method, path: &str) -> anyhow::Result<Response> {
    let url = format!("{}{path}", world.emulator.url());
    Ok(sse::loopback_client()?.request(method, url).send().await?)
}

fn header<'a>(response: &'a Response, name: &str) -> &'a str {
    response.headers().get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

fn keys(value: &Value) -> Vec<&str> {
    let mut keys: Vec<&str> = value.as_object().into_iter().flatten().map(|(key, _)| key.as_str()).collect();
    keys.sort_unstable();
    keys
}

#[tokio::test(flavor = "multi_thread")]
async fn a_released_run_can_be_read_in_every_way_until_its_evidence_expires() -> anyhow::Result<()> {
    let world = world(supported()).start().await?;
    let told = world.ask("checkout 5xx, why?").await?;
    let content = told.content().with_context(|| told.text())?;
    let at = |what: &str| format!("/api/runs/{}{what}", content.run_id);
    let run = world.run(&content.run_id).await?;
    let expected = [
        "body",
        "deadline",
        "ended_at",
        "failure",
        "feedback",
        "intent",
        "outcome",
        "query",
        "reason",
        "run_id",
        "session_id",
        "started_at",
        "status",
    ];
    assert_eq!(keys(&run), expected);
    assert_eq!((&run["body"], &run["status"]), (&content.body, &json!("SUCCESS")));
    let (status, cancelled) = world.call(Method::POST, &at("/cancel")).await?;
    assert_eq!((status, &cancelled["status"]), (202, &json!("SUCCESS")), "an ended run stays as it is");
    assert_eq!(world.run(&content.run_id).await?, run);

    let (status, trace) = world.get(&at("/trace")).await?;
    let expected =
        ["budget", "cost_usd", "repaired", "run", "steps", "tool_invocations", "ungrounded_literals"];
    assert_eq!((status, keys(&trace)), (200, expected.to_vec()));
    assert_eq!(
        (&trace["budget"]["used"]["tool_calls"], trace["steps"].as_array().map(Vec::len)),
        (&json!(1), Some(4))
    );
    assert_eq!(trace["tool_invocations"][0]["tool"], "query_logs");
    let rows = format!("{}{}", trace["steps"], trace["tool_invocations"]);
    for private in ["superbiz/", "GATEWAY_TIMEOUT", "payment-gateway", "checkout 5xx", "\"-2h\""] {
        assert!(!rows.contains(private), "{private} in {rows}");
    }

    let (status, evidence) = world.get(&at("/evidence")).await?;
    assert_eq!((status, keys(&evidence)), (200, vec!["analyses", "run_id"]));
    assert_eq!(evidence["analyses"][0]["analysis_id"], "a1");
    assert!(evidence["analyses"][0]["evidence"].to_string().contains("GATEWAY_TIMEOUT"), "{evidence}");
    assert!(!evidence.to_string().contains("call_a"), "no tool call id: {evidence}");
    std::fs::remove_dir_all(world.canonical_folder())?;
    let (status, expired) = world.get(&at("/evidence")).await?;
    assert_eq!((status, &expired["code"]), (410, &json!("EVIDENCE_EXPIRED")));
    assert_eq!(world.run(&content.run_id).await?, run, "the report outlives its evidence");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_not_released_has_no_evidence() -> anyhow::Result<()> {
    let fallback = Script::new()
        .routes_to("DIAGNOSIS")
        .asks_for([gateway_errors().id("call_a")])
        .reports(&draft("NORMAL", FINDING, "call_nobody_made"))
        .repairs(&draft("NORMAL", FINDING, "call_nobody_made"))
        .then(Role::Route, Reply::json(&json!({ "intent": "SYSTEM_CHAT" })))
        .then(Role::System, Reply::status(400, r#"{"error":{"message":"no"}}"#));
    let world = world(fallback).start().await?;
    for status in ["FALLBACK", "FAILED"] {
        let told = world.ask("checkout 5xx, why?").await?;
        let done = told.done().context("no done")?;
        assert_eq!(done.status, status, "{}", told.text());
        let (code, evidence) = world.get(&format!("/api/runs/{}/evidence", done.run_id)).await?;
        assert_eq!((code, &evidence), (200, &json!({ "run_id": done.run_id, "analyses": [] })));
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_is_paged_newest_first() -> anyhow::Result<()> {
    let script = Script::new()
        .each(Role::Route, |_| Reply::json(&json!({ "intent": "SYSTEM_CHAT" })))
        .each(Role::System, |_| Reply::text("I diagnose incidents."));
    let world = world(script).start().await?;
    for number in 1..=5 {
        let told = world.ask_in("paged", &format!("question {number}")).await?;
        told.content().with_context(|| told.text())?;
    }
    let (mut queries, mut sizes, mut cursor) = (Vec::new(), Vec::new(), String::new());
    loop {
        let (status, page) = world.get(&format!("/api/sessions/paged/runs?limit=2{cursor}")).await?;
        assert_eq!((status, keys(&page)), (200, vec!["next_cursor", "runs"]));
        let runs = page["runs"].as_array().context("runs")?;
        sizes.push(runs.len());
        queries.extend(runs.iter().map(|run| run["query"].as_str().unwrap_or_default().to_owned()));
        assert!(runs.iter().all(|run| run.get("body").is_none()), "a list has no bodies");
        let Some(next) = page["next_cursor"].as_str() else { break };
        cursor = format!("&cursor={next}");
    }
    assert_eq!(queries, ["question 5", "question 4", "question 3", "question 2", "question 1"]);
    assert_eq!(sizes, [2, 2, 1]);
    for (query, status) in [
        ("", 200),
        ("?limit=1", 200),
        ("?limit=100", 200),
        ("?limit=0", 400),
        ("?limit=101", 400),
        ("?limit=-1", 400),
        ("?limit=two", 400),
        ("?limit=", 400),
        ("?cursor=x", 400),
    ] {
        let (found, document) = world.get(&format!("/api/sessions/paged/runs{query}")).await?;
        assert_eq!(found, status, "{query}: {document}");
        if status == 400 {
            assert_eq!(document["code"], "INVALID_REQUEST");
        }
    }
    assert_eq!(world.get("/api/sessions/never-used/runs").await?.0, 404);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_ids_are_not_found_and_wrong_methods_say_which_is_right() -> anyhow::Result<()> {
    let world = world(Script::new()).start().await?;
    let upper = NOBODY.to_uppercase();
    for id in [NOBODY, upper.as_str(), "1", "%2e%2e", "0190b3c4000070008000000000000000"] {
        for (method, what) in [
            (Method::GET, ""),
            (Method::GET, "/trace"),
            (Method::GET, "/evidence"),
            (Method::POST, "/cancel"),
        ] {
            let (status, problem) = world.call(method, &format!("/api/runs/{id}{what}")).await?;
            assert_eq!((status, &problem["code"]), (404, &json!("NOT_FOUND")), "{id}{what}");
        }
    }
    let run = format!("/api/runs/{NOBODY}");
    for path in
        ["/api", "/api/nothing", "/api/sessions/a%20b/runs", "/assets/none.js", "/assets/..%2fCargo.toml"]
    {
        assert_eq!(world.get(path).await?.0, 404, "{path}");
    }
    let (cancel, trace) = (format!("{run}/cancel"), format!("{run}/trace"));
    for (method, path, allow) in [
        (Method::POST, "/", "GET, HEAD"),
        (Method::POST, "/api/health", "GET, HEAD"),
        (Method::DELETE, run.as_str(), "GET, HEAD"),
        (Method::PUT, trace.as_str(), "GET, HEAD"),
        (Method::GET, cancel.as_str(), "POST"),
        (Method::POST, "/api/sessions/s/runs", "GET, HEAD"),
    ] {
        let response = fetch(&world, method, path).await?;
        assert_eq!((response.status().as_u16(), header(&response, "allow")), (405, allow), "{path}");
        assert_eq!(header(&response, "content-type"), "application/problem+json");
        assert_eq!(header(&response, "x-content-type-options"), "nosniff");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn health_needs_nothing_and_readiness_names_what_is_broken() -> anyhow::Result<()> {
    let answers = || Script::new().says("Pong.");
    let healthy = world(answers()).start().await?;
    assert_eq!(healthy.get("/api/health").await?, (200, json!({ "status": "ok" })));
    let (status, ready) = healthy.get("/api/health/ready").await?;
    assert_eq!((status, &ready["status"]), (200, &json!("ok")));
    let broken = world(answers()).env("DATABASE_URL", "sqlite:///nowhere/at/all.db").start().await?;
    assert_eq!(broken.get("/api/health").await?, (200, json!({ "status": "ok" })));
    let (status, unready) = broken.get("/api/health/ready").await?;
    assert_eq!((status, &unready["status"]), (503, &json!("unavailable")));
    for (document, ledger) in [(&ready, "ok"), (&unready, "unavailable")] {
        let dependencies = document["dependencies"].as_array().context("dependencies")?;
        let told: Vec<(&Value, &Value)> = dependencies.iter().map(|d| (&d["name"], &d["status"])).collect();
        let (name, status) = (json!("ledger"), json!(ledger));
        assert_eq!(told[0], (&name, &status));
        assert!(told[1..].iter().all(|(_, status)| **status == "ok"), "{document}");
        assert!(dependencies.iter().all(|d| d["latency_ms"].is_u64()), "{document}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_and_its_assets_run_nothing_from_elsewhere() -> anyhow::Result<()> {
    let world = world(Script::new()).start().await?;
    let web = concat!(env!("CARGO_MANIFEST_DIR"), "/../functions/api/web");
    let mut files = vec![("/".to_owned(), "index.html".to_owned())];
    for entry in std::fs::read_dir(web)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        files.push((format!("/assets/{name}"), name));
    }
    for (path, name) in files {
        let response = fetch(&world, Method::GET, &path).await?;
        let media = match name.rsplit('.').next() {
            Some("html") => "text/html; charset=utf-8",
            Some("css") => "text/css; charset=utf-8",
            _ => "text/javascript; charset=utf-8",
        };
        assert_eq!((response.status().as_u16(), header(&response, "content-type")), (200, media), "{path}");
        assert_eq!(header(&response, "x-content-type-options"), "nosniff");
        let policy = header(&response, "content-security-policy").to_owned();
        assert!(policy.starts_with("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
        assert_eq!(response.text().await?, std::fs::read_to_string(format!("{web}/{name}"))?);
        assert_eq!(fetch(&world, Method::HEAD, &path).await?.status().as_u16(), 200);
    }
    let page = fetch(&world, Method::GET, "/").await?.text().await?;
    for tag in page.split("<script").skip(1) {
        assert!(tag.contains(r#" src="/assets/"#) && tag.contains("></script>"), "inline script: {tag}");
    }
    assert!(!page.contains("<style") && !page.contains(" style=") && !page.contains(" onclick="));
    Ok(())
}
