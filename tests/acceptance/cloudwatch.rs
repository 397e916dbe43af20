//! `query_logs` on CloudWatch Logs: whole runs of the real function, its real SDK, and a fake of the service.

use anyhow::Context;
use domain::model::Role;
use serde_json::{Value, json};
use testkit::cloudwatch::{CloudWatch, Manner};
use testkit::provider::{Call, Reply, Script};
use time::{Duration, OffsetDateTime};

use crate::world::{World, world};

const SOURCES: &str = r#"
[[logs]]
name = "aws"
description = "CloudWatch"
kind = "cloudwatch"
region = "eu-west-1"
groups = [
    { service = "checkout", name = "/aws/lambda/checkout" },
    { service = "pay", name = "/ecs/shop", filter = "pay-container" },
]
"#;

struct Fixture {
    fake: CloudWatch,
    world: World,
    _folder: tempfile::TempDir,
}

fn now() -> OffsetDateTime {
    OffsetDateTime::from(std::time::SystemTime::now())
}

async fn fixture(arguments: Value) -> anyhow::Result<Fixture> {
    let fake = CloudWatch::start().await?;
    let folder = tempfile::tempdir()?;
    let sources = folder.path().join("sources.toml");
    std::fs::write(&sources, SOURCES)?;
    let script = Script::new()
        .routes_to("DIAGNOSIS")
        .asks_for([Call::new("query_logs", arguments).id("call_a")])
        .then(Role::Diagnose, Reply::text("no draft"));
    let world = world(script)
        .scenario("greeting")
        .env("DATA_SOURCES", &sources.display().to_string())
        .env("AWS_ENDPOINT_URL_CLOUDWATCH_LOGS", &fake.url())
        .start()
        .await?;
    Ok(Fixture { fake, world, _folder: folder })
}

fn about(service: &str, query: Option<&str>, level: Option<&str>) -> Value {
    json!({ "service": service, "query": query, "level": level, "start": "-1h", "end": "now", "limit": 20 })
}

impl Fixture {
    /// What the model was shown of its call.
    async fn observation(&self) -> anyhow::Result<Value> {
        self.world.ask("why?").await?;
        let requests = self.world.provider.requests();
        let message = requests
            .iter()
            .flat_map(|r| &r.messages)
            .find(|m| m["role"] == "tool")
            .context("an observation")?;
        let content = message["content"].as_str().context("content")?;
        let inside = domain::fence::inside(content).context("a fence")?;
        Ok(serde_json::from_str(inside)?)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn json_and_plain_lines_become_patterns_with_what_is_new() -> anyhow::Result<()> {
    let f = fixture(about("checkout", Some("GATEWAY_TIMEOUT"), Some("ERROR"))).await?;
    for n in 0..30 {
        let at = now() - Duration::minutes(20) + Duration::seconds(n);
        f.fake.add("/aws/lambda/checkout", at, format!(r#"{{"level":"ERROR","message":"charge {n} failed: GATEWAY_TIMEOUT for bob@example.com","trace_id":"t{n}"}}"#));
        f.fake.add(
            "/aws/lambda/checkout",
            at,
            format!("2026-11-30T06:05:00Z INFO GATEWAY_TIMEOUT noted {n}"),
        );
    }
    f.fake.add(
        "/aws/lambda/checkout",
        now() - Duration::minutes(10),
        "[ERROR] GATEWAY_TIMEOUT while closing",
    );
    f.fake.add(
        "/ecs/shop",
        now() - Duration::minutes(10),
        r#"{"level":"ERROR","message":"GATEWAY_TIMEOUT elsewhere"}"#,
    );
    let seen = f.observation().await?;
    let data = &seen["data"];
    assert_eq!(
        (&data["evidence_status"], &data["matched"], &data["truncated"]),
        (&json!("EVIDENCE_FOUND"), &json!(31), &json!(true)),
        "{seen}"
    );
    let first = &data["patterns"][0];
    assert_eq!((&first["count"], &first["count_before"]), (&json!(30), &json!(0)), "{seen}");
    assert!(!seen.to_string().contains("bob@example.com"), "masked");
    let queries = f.fake.queries();
    assert_eq!(queries.len(), 2, "the window, and the one before");
    assert!(queries[0].text.contains("(?i)gateway_timeout") && queries[0].groups == ["/aws/lambda/checkout"]);
    assert!(
        queries[1].to <= queries[0].from
            && queries[0].to - queries[0].from == queries[1].to - queries[1].from
    );
    assert!(f.fake.stopped().is_empty());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_found_is_said_only_of_a_complete_answer() -> anyhow::Result<()> {
    let f = fixture(about("pay", None, None)).await?;
    let seen = f.observation().await?;
    assert_eq!(
        (&seen["data"]["evidence_status"], &seen["data"]["matched"]),
        (&json!("NO_EVIDENCE"), &json!(0)),
        "{seen}"
    );
    assert!(f.fake.queries()[0].text.contains(r#"strcontains(@message, "pay-container")"#));
    Ok(())
}

/// A query that failed in any way is an error observation without the service's words, never "no results".
#[tokio::test(flavor = "multi_thread")]
async fn whatever_is_no_complete_answer_is_a_failure() -> anyhow::Result<()> {
    for manner in [
        Manner::Throttled,
        Manner::Ends("Failed"),
        Manner::Ends("Cancelled"),
        Manner::Ends("Timeout"),
        Manner::Ends("Unknown"),
        Manner::Refuses("ResourceNotFoundException"),
        Manner::Refuses("AccessDeniedException"),
        Manner::Refuses("MalformedQueryException"),
        Manner::Refuses("ExpiredTokenException"),
        Manner::Babbles,
    ] {
        let f = fixture(about("checkout", None, None)).await?;
        f.fake.add("/aws/lambda/checkout", now() - Duration::minutes(5), "ERROR partial");
        f.fake.set(manner);
        let seen = f.observation().await?;
        let code = &seen["error"]["code"];
        assert!(*code == json!("SOURCE_UNAVAILABLE"), "{manner:?}: {seen}");
        assert!(!seen.to_string().contains("planted vendor text"), "{manner:?}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn too_many_queries_at_once_are_waited_out() -> anyhow::Result<()> {
    let f = fixture(about("checkout", None, None)).await?;
    f.fake.add("/aws/lambda/checkout", now() - Duration::minutes(5), "ERROR late but there");
    f.fake.set(Manner::BusyAtFirst(4));
    assert_eq!(f.observation().await?["data"]["matched"], json!(1));
    Ok(())
}

/// More lines than one query gives: older pages are read, and what is still missing is said.
#[tokio::test(flavor = "multi_thread")]
async fn pages_beyond_the_limit_are_read_and_what_is_missing_is_said() -> anyhow::Result<()> {
    for (lines, whole) in [(25_000_i64, true), (70_000, false)] {
        let f = fixture(about("checkout", None, None)).await?;
        for n in 0..lines {
            let at = now() - Duration::minutes(50) + Duration::milliseconds(n * 40);
            f.fake.add("/aws/lambda/checkout", at, format!("INFO tick {n}"));
        }
        let seen = f.observation().await?;
        let matched = seen["data"]["matched"].as_i64().context("matched")?;
        let notes = seen["data"]["notes"].to_string();
        assert_eq!(notes.contains("counts are lower bounds"), !whole, "{notes}");
        assert!(
            if whole {
                matched == lines
            } else {
                matched >= 45_000 && seen["data"]["truncated"] == json!(true)
            },
            "{matched}"
        );
    }
    Ok(())
}

/// A query that nobody waits for any more is stopped on the server.
#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_run_stops_its_query() -> anyhow::Result<()> {
    let f = fixture(about("checkout", None, None)).await?;
    f.fake.set(Manner::NeverEnds);
    let mut stream = f.world.open(&json!({ "query": "why?" }), &[]).await?;
    let run_id = stream.next().await?.context("metadata")?.event.run_id().to_owned();
    while f.fake.queries().is_empty() {
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    assert_eq!(f.world.cancel(&run_id).await?, 202);
    stream.collect().await?;
    for _ in 0..100 {
        if f.fake.stopped() == ["0"] {
            return Ok(());
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    anyhow::bail!("the query was not stopped: {:?}", f.fake.stopped())
}
