//! Who may call, and how much: API keys from their making to their end, scopes, quotas, and that no caller reaches another's data.

use anyhow::Context;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use testkit::emulator::RawReply;
use testkit::provider::{Reply, Script};
use testkit::sse::{Transcript, loopback_client};

use crate::contract;
use crate::world::{World, draft, gateway_errors, world};

const QUESTION: &str = "checkout 5xx, why?";

/// A model that gives every run the same supported report.
fn diagnoses() -> Script {
    use domain::model::Role;
    let next = |request: &testkit::provider::Received| {
        let has_evidence = request.messages.iter().any(|message| message["role"] == "tool");
        if has_evidence {
            let call = request.messages.iter().rev().find_map(|message| message["tool_call_id"].as_str());
            return Reply::json(&draft(
                "NORMAL",
                "payment-gateway logged GATEWAY_TIMEOUT errors.",
                call.unwrap_or(""),
            ));
        }
        Reply::calls([gateway_errors().id("call_a")])
    };
    Script::new()
        .each(Role::Route, |_| Reply::json(&json!({ "intent": "DIAGNOSIS" })))
        .each(Role::Diagnose, next)
        .each(Role::Review, |_| Reply::json(&json!({ "verdict": "SUPPORTED", "reason": "scripted" })))
}

async fn maintenance(world: &World, event: Value) -> anyhow::Result<Value> {
    match world.emulator.invoke_raw("maintenance", &event).await? {
        RawReply::Buffered(reply) => Ok(reply),
        other => anyhow::bail!("{event}: {other:?}"),
    }
}

/// A new key of `caller`: its id and the key itself.
async fn key(world: &World, caller: &str, scopes: &[&str]) -> anyhow::Result<(String, String)> {
    let made =
        maintenance(world, json!({ "task": "create_key", "caller": caller, "scopes": scopes })).await?;
    let text = |name: &str| made[name].as_str().map(str::to_owned).with_context(|| made.to_string());
    Ok((text("id")?, text("key")?))
}

async fn call(
    world: &World,
    key: Option<&str>,
    method: Method,
    path: &str,
    body: Option<&Value>,
) -> anyhow::Result<(StatusCode, Value, reqwest::header::HeaderMap)> {
    let mut request = loopback_client()?.request(method.clone(), format!("{}{path}", world.emulator.url()));
    if let Some(key) = key {
        request = request.bearer_auth(key);
    }
    if let Some(body) = body {
        request = request.json(body);
    }
    let response = request.send().await?;
    let response = contract::checked(&world.emulator.url(), method.as_str(), path, response).await?;
    let (status, headers) = (response.status(), response.headers().clone());
    let text = response.text().await?;
    Ok((status, serde_json::from_str(&text).unwrap_or(Value::Null), headers))
}

async fn ask(world: &World, key: &str, session: &str) -> anyhow::Result<Transcript> {
    let authorization = format!("Bearer {key}");
    world
        .post(&json!({ "query": QUESTION, "session_id": session }), &[("authorization", &authorization)])
        .await
}

/// Every endpoint that needs a caller, about a run, session and document.
fn endpoints(run: &str, session: &str) -> Vec<(Method, String, Option<Value>)> {
    let run = |end: &str| format!("/api/runs/{run}{end}");
    let (question, document) =
        (json!({ "query": QUESTION, "session_id": session }), json!({ "text": "# T\n\nx" }));
    vec![
        (Method::POST, "/api/chat".to_owned(), Some(question)),
        (Method::GET, run(""), None),
        (Method::POST, run("/cancel"), None),
        (Method::GET, run("/trace"), None),
        (Method::GET, run("/evidence"), None),
        (Method::POST, run("/feedback"), Some(json!({ "rating": "UP" }))),
        (Method::GET, format!("/api/sessions/{session}/runs"), None),
        (Method::GET, "/api/documents".to_owned(), None),
        (Method::GET, "/api/documents/x".to_owned(), None),
        (Method::POST, "/api/documents".to_owned(), Some(document.clone())),
        (Method::PUT, "/api/documents/x".to_owned(), Some(document)),
        (Method::DELETE, "/api/documents/x".to_owned(), None),
        (Method::GET, "/api/search?q=pool".to_owned(), None),
        (Method::GET, "/api/quality".to_owned(), None),
        (Method::GET, "/api/keys".to_owned(), None),
        (Method::POST, "/api/keys".to_owned(), Some(json!({ "caller": "eve", "scopes": ["admin"] }))),
        (Method::DELETE, "/api/keys/0123456789ab".to_owned(), None),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_key_nothing_opens_but_the_page_and_the_health_checks() -> anyhow::Result<()> {
    let world = world(Script::new()).env("AUTH_MODE", "api_key").start().await?;
    let made_up = format!("sbz_0123456789ab_{}", "0".repeat(64));
    for (method, path, body) in endpoints("0190b3c4-0000-7000-8000-000000000000", "s") {
        for key in [None, Some(made_up.as_str()), Some("Bearer"), Some("local")] {
            let (status, problem, headers) = call(&world, key, method.clone(), &path, body.as_ref()).await?;
            assert_eq!(
                (status.as_u16(), &problem["code"]),
                (401, &json!("UNAUTHENTICATED")),
                "{method} {path}"
            );
            assert_eq!(headers["www-authenticate"], "Bearer", "{method} {path}");
        }
    }
    for open in ["/", "/assets/app.js", "/api/health"] {
        assert_eq!(call(&world, None, Method::GET, open, None).await?.0, 200, "{open}");
    }
    assert!(world.provider.requests().is_empty());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_opens_what_its_scopes_say_until_it_is_revoked() -> anyhow::Result<()> {
    let world = world(diagnoses()).env("AUTH_MODE", "api_key").start().await?;
    let (_, reader) = key(&world, "alice", &["chat"]).await?;
    let (_, writer) = key(&world, "writer", &["documents:write"]).await?;
    let told = ask(&world, &reader, "s1").await?;
    assert_eq!(told.content().with_context(|| told.text().to_owned())?.outcome, "SUCCESS");
    let run = &told.metadata().context("no metadata")?.run_id;
    for (method, path, body) in endpoints(run, "s1").into_iter().skip(1) {
        let (status, problem, _) = call(&world, Some(&reader), method.clone(), &path, body.as_ref()).await?;
        let writes = path.starts_with("/api/documents") && method != Method::GET;
        let admin = path.starts_with("/api/keys") || path.starts_with("/api/quality");
        assert_eq!(status == StatusCode::FORBIDDEN, writes || admin, "{method} {path}: {status} {problem}");
    }
    let (status, refused, _) =
        call(&world, Some(&writer), Method::GET, &format!("/api/runs/{run}"), None).await?;
    assert_eq!((status.as_u16(), &refused["detail"]), (403, &json!("this needs the scope chat")));
    let document = json!({ "text": "# T\n\nx" });
    assert_eq!(call(&world, Some(&writer), Method::PUT, "/api/documents/x", Some(&document)).await?.0, 201);

    let (id, revoked) = key(&world, "alice", &["chat"]).await?;
    maintenance(&world, json!({ "task": "revoke_key", "id": id })).await?;
    assert_eq!(call(&world, Some(&revoked), Method::GET, "/api/documents", None).await?.0, 401);
    // The keys themselves are nowhere.
    for (path, bytes) in crate::world::files_below(world.stack.folder()) {
        for secret in [&reader, &writer, &revoked].map(|key| key.rsplit('_').next().unwrap_or_default()) {
            let found = bytes.windows(secret.len()).any(|window| window == secret.as_bytes());
            assert!(!found, "a key lies in {}", path.display());
        }
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn administrators_make_list_and_revoke_keys_over_http() -> anyhow::Result<()> {
    let world = world(Script::new()).env("AUTH_MODE", "api_key").start().await?;
    let (_, admin) = key(&world, "root", &["admin"]).await?;
    let wanted = json!({ "caller": "bob", "scopes": ["chat", "chat"], "expires_at": "2100-01-01T00:00:00Z", "runs_per_minute": 3 });
    let (status, made, _) = call(&world, Some(&admin), Method::POST, "/api/keys", Some(&wanted)).await?;
    assert_eq!(
        (status.as_u16(), &made["scopes"], &made["runs_per_minute"]),
        (201, &json!(["chat"]), &json!(3))
    );
    let bob = made["key"].as_str().context("no key")?;
    assert_eq!(call(&world, Some(bob), Method::GET, "/api/documents", None).await?.0, 200);
    let (_, listed, _) = call(&world, Some(&admin), Method::GET, "/api/keys", None).await?;
    assert_eq!(listed["keys"].as_array().map(Vec::len), Some(2));
    assert!(!listed.to_string().contains("sbz_"), "{listed}");
    let path = format!("/api/keys/{}", made["id"].as_str().unwrap_or_default());
    assert_eq!(call(&world, Some(&admin), Method::DELETE, &path, None).await?.0, 204);
    assert_eq!(call(&world, Some(&admin), Method::DELETE, "/api/keys/0123456789ab", None).await?.0, 404);
    for (bad, words) in [
        (json!({ "caller": "b b", "scopes": ["chat"] }), "caller id must be"),
        (json!({ "caller": "bob", "scopes": [] }), "at least one of"),
        (json!({ "caller": "bob", "scopes": ["root"] }), "one of chat, documents:write, admin"),
        (
            json!({ "caller": "bob", "scopes": ["chat"], "expires_at": "2020-01-01T00:00:00Z" }),
            "over already",
        ),
        (json!({ "caller": "bob", "scopes": ["chat"], "expires_at": "tomorrow" }), "asks for no key"),
        (json!({ "caller": "bob", "scopes": ["chat"], "key": "mine" }), "unknown field `key`"),
    ] {
        let (status, problem, _) = call(&world, Some(&admin), Method::POST, "/api/keys", Some(&bad)).await?;
        let detail = problem["detail"].as_str().unwrap_or_default();
        assert!(status == 400 && detail.contains(words), "{bad}: {status} {detail}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn no_caller_reaches_what_is_anothers() -> anyhow::Result<()> {
    let world = world(diagnoses()).env("AUTH_MODE", "api_key").start().await?;
    let (_, alice) = key(&world, "alice", &["chat"]).await?;
    let (_, eve) = key(&world, "Alice", &["chat", "documents:write", "admin"]).await?;
    let told = ask(&world, &alice, "shared").await?;
    let run = told.metadata().context("no metadata")?.run_id.clone();
    let before = call(&world, Some(&alice), Method::GET, &format!("/api/runs/{run}"), None).await?.1;
    for (method, path, body) in endpoints(&run, "shared").into_iter().take(7) {
        let (status, problem, _) = call(&world, Some(&eve), method.clone(), &path, body.as_ref()).await?;
        assert_eq!(
            (status.as_u16(), &problem["code"]),
            (404, &json!("NOT_FOUND")),
            "{method} {path}: {problem}"
        );
        assert!(!problem.to_string().contains("alice"), "{problem}");
    }
    let after = call(&world, Some(&alice), Method::GET, &format!("/api/runs/{run}"), None).await?.1;
    assert_eq!(before, after, "nothing of it changed");
    // One idempotency key of two callers names two runs.
    for key in [&alice, &eve] {
        let authorization = format!("Bearer {key}");
        let headers = [("authorization", authorization.as_str()), ("idempotency-key", "same")];
        let told = world.post(&json!({ "query": QUESTION }), &headers).await?;
        let own = &told.metadata().context("no metadata")?.run_id;
        let (status, _, _) = call(&world, Some(key), Method::GET, &format!("/api/runs/{own}"), None).await?;
        assert_eq!(status, 200);
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn used_up_tokens_close_the_door_with_the_limits_name_and_the_time() -> anyhow::Result<()> {
    let world = world(diagnoses()).env("CALLER_TOKENS_PER_DAY", "10").start().await?;
    let told = world.ask(QUESTION).await?;
    assert!(told.content().is_some(), "{}", told.text());
    let body = json!({ "query": QUESTION });
    let (status, problem, headers) = call(&world, None, Method::POST, "/api/chat", Some(&body)).await?;
    assert_eq!((status.as_u16(), &problem["code"]), (429, &json!("RATE_LIMITED")));
    assert!(problem["detail"].as_str().unwrap_or_default().contains("tokens_per_day"), "{problem}");
    let wait: u32 = headers["retry-after"].to_str()?.parse()?;
    assert!((1..=86_400).contains(&wait), "{wait}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn quality_merges_runs_feedback_and_tools() -> anyhow::Result<()> {
    let world = world(diagnoses()).start().await?;
    let mut runs = Vec::new();
    for _ in 0..3 {
        let told = world.ask(QUESTION).await?;
        runs.push(told.metadata().context("no metadata")?.run_id.clone());
    }
    let path = format!("/api/runs/{}/feedback", runs[0]);
    call(&world, None, Method::POST, &path, Some(&json!({ "rating": "UP" }))).await?;
    let (status, quality) = world.get("/api/quality").await?;
    assert_eq!((status, &quality["runs"], &quality["outcomes"]), (200, &json!(3), &json!({ "SUCCESS": 3 })));
    assert_eq!((&quality["rates"]["success"], &quality["rates"]["fallback"]), (&json!(1.0), &json!(0.0)));
    assert_eq!(quality["feedback"], json!({ "SUCCESS": { "UP": 1 } }));
    assert_eq!(quality["tools"]["query_logs"], json!({ "calls": 3, "failed": 0, "no_evidence": 0 }));
    assert_eq!((&quality["cost_usd"], &quality["priced_runs"]), (&Value::Null, &json!(0)));
    assert!(
        quality["duration_ms"]["p95"].is_u64() && quality["input_tokens"].as_u64() > Some(0),
        "{quality}"
    );
    let (_, none) = world.get("/api/quality?from=2020-01-01T00:00:00Z&to=2020-01-02T00:00:00Z").await?;
    assert_eq!((&none["runs"], &none["rates"]["success"]), (&json!(0), &Value::Null));
    for bad in
        ["from=yesterday", "from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z", "from=2020-01-01T00:00:00Z"]
    {
        assert_eq!(world.get(&format!("/api/quality?{bad}")).await?.0, 400, "{bad}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn on_lambda_each_run_writes_its_metrics_once_and_nothing_else_about_itself() -> anyhow::Result<()> {
    let world = world(diagnoses())
        .env("ALLOW_ANONYMOUS", "true")
        .emulator(|config| config.real_lambda_variables = true)
        .start()
        .await?;
    world.ask(QUESTION).await?;
    let logs = world.emulator.logs().text();
    let metrics: Vec<&str> = logs.lines().filter(|line| line.contains("CloudWatchMetrics")).collect();
    let of = |name: &str| metrics.iter().filter(|line| line.contains(name)).count();
    assert_eq!(
        (metrics.len(), of("RunsEnded"), of("RunDurationMs"), of("Fallbacks")),
        (2, 1, 1, 0),
        "{metrics:?}"
    );
    assert!(metrics.iter().all(|line| !line.contains("checkout") && !line.contains("GATEWAY_TIMEOUT")));
    Ok(())
}
