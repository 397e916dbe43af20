//! Runbooks over HTTP: versions, entity tags, paging, refusals, atomic re-indexing, search; and feedback on runs.

use anyhow::Context;
use reqwest::{Method, Response, StatusCode};
use serde_json::{Value, json};
use testkit::provider::Script;
use testkit::sse;

use crate::contract;
use crate::world::{World, draft, gateway_errors, world};

async fn send(
    world: &World,
    method: Method,
    path: &str,
    headers: &[(&str, &str)],
    body: Option<&Value>,
) -> anyhow::Result<Response> {
    let mut request =
        sse::loopback_client()?.request(method.clone(), format!("{}{path}", world.emulator.url()));
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    if let Some(body) = body {
        request = request.header("content-type", "application/json").body(body.to_string());
    }
    contract::checked(&world.emulator.url(), method.as_str(), path, request.send().await?).await
}

async fn read(response: Response) -> anyhow::Result<(u16, String, Value)> {
    let tag = response.headers().get("etag").and_then(|tag| tag.to_str().ok()).unwrap_or_default().to_owned();
    let (status, text) = (response.status().as_u16(), response.text().await?);
    Ok((status, tag, serde_json::from_str(&text).unwrap_or(Value::Null)))
}

fn runbook(text: &str) -> Value {
    json!({ "text": text, "tags": ["pay"], "source": "https://wiki.example/pay" })
}

async fn quiet() -> anyhow::Result<World> {
    world(Script::new()).scenario("greeting").start().await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_document_is_added_read_replaced_and_removed() -> anyhow::Result<()> {
    let world = quiet().await?;
    let body = json!({ "id": "pay-quokka", "text": "# Quokka timeouts\n支付超时时重试一次 quokka." });
    let added = send(&world, Method::POST, "/api/documents", &[], Some(&body)).await?;
    assert_eq!(added.headers()["location"], "/api/documents/pay-quokka");
    let (status, tag, summary) = read(added).await?;
    assert_eq!((status, tag.as_str(), &summary["title"]), (201, "\"1\"", &json!("Quokka timeouts")));

    let at = "/api/documents/pay-quokka";
    let (status, tag, stored) = read(send(&world, Method::GET, at, &[], None).await?).await?;
    assert_eq!((status, tag.as_str(), &stored["text"]), (200, "\"1\"", &body["text"]));
    let unchanged = send(&world, Method::GET, at, &[("if-none-match", "\"1\"")], None).await?;
    assert_eq!(unchanged.status(), StatusCode::NOT_MODIFIED);

    let again = read(send(&world, Method::POST, "/api/documents", &[], Some(&body)).await?).await?;
    assert_eq!((again.0, &again.2["code"]), (412, &json!("PRECONDITION_FAILED")));
    let changed = runbook("# Quokka timeouts\nCall the bank. quokka");
    let stale = read(send(&world, Method::PUT, at, &[("if-match", "\"7\"")], Some(&changed)).await?).await?;
    assert_eq!((stale.0, &stale.2["code"]), (412, &json!("PRECONDITION_FAILED")));
    let (status, tag, _) =
        read(send(&world, Method::PUT, at, &[("if-match", "\"1\"")], Some(&changed)).await?).await?;
    assert_eq!((status, tag.as_str()), (200, "\"2\""));
    let same = read(send(&world, Method::PUT, at, &[], Some(&changed)).await?).await?;
    assert_eq!(same.1, "\"2\"", "the same content is no new version");

    let (status, found) = world.get("/api/search?q=quokka&top_k=3").await?;
    assert_eq!(
        (status, &found["hits"][0]["document_id"], &found["hits"][0]["version"]),
        (200, &json!("pay-quokka"), &json!(2))
    );
    assert!(found["hits"][0]["excerpt"].as_str().context("excerpt")?.contains("Call the bank"));

    let removed = send(&world, Method::DELETE, at, &[("if-match", "\"2\"")], None).await?;
    assert_eq!(removed.status(), StatusCode::NO_CONTENT);
    assert_eq!(send(&world, Method::DELETE, at, &[], None).await?.status(), StatusCode::NOT_FOUND);
    assert_eq!(send(&world, Method::GET, at, &[], None).await?.status(), StatusCode::NOT_FOUND);
    assert_eq!(world.get("/api/search?q=quokka").await?.1["hits"], json!([]));
    let (status, tag, _) = read(send(&world, Method::PUT, at, &[], Some(&changed)).await?).await?;
    assert_eq!((status, tag.as_str()), (201, "\"3\""), "created anew; versions never repeat");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn documents_are_listed_page_by_page_without_their_texts() -> anyhow::Result<()> {
    let world = quiet().await?;
    for n in 0..5 {
        let body = runbook(&format!("# Runbook {n}\nText {n}."));
        let put = send(&world, Method::PUT, &format!("/api/documents/zz-{n}"), &[], Some(&body)).await?;
        assert_eq!(put.status(), StatusCode::CREATED);
    }
    let (mut seen, mut cursor) = (Vec::new(), String::new());
    for _ in 0..20 {
        let (status, page) = world.get(&format!("/api/documents?limit=2{cursor}")).await?;
        assert_eq!(status, 200);
        for document in page["documents"].as_array().context("documents")? {
            assert!(document.get("text").is_none());
            seen.push(document["id"].as_str().context("id")?.to_owned());
        }
        match page["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    assert!(
        seen.is_sorted() && seen.len() >= 5 && seen.windows(2).all(|pair| pair[0] != pair[1]),
        "{seen:?}"
    );
    for query in ["limit=0", "limit=101", "limit=x", "cursor=a%20b"] {
        assert_eq!(world.get(&format!("/api/documents?{query}")).await?.0, 400, "{query}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_documents_and_searches_are_refused_with_what_would_be_right() -> anyhow::Result<()> {
    let world = quiet().await?;
    let long = "x".repeat(3 * 1024 * 1024 + 1);
    let table = [
        (json!({ "text": "" }), 400, "no text"),
        (json!({ "text": "a", "colour": "red" }), 400, "colour"),
        (json!({ "title": "a" }), 400, "text"),
        (json!({ "id": "a b", "text": "a" }), 400, "id must be"),
        (json!({ "text": "a", "source": "javascript:alert(1)" }), 400, "http or https"),
        (json!({ "text": "a", "tags": vec!["t"; 33] }), 400, "at most 32"),
        (json!({ "text": "---\ntitle: a" }), 400, "three dashes"),
        (json!({ "text": long }), 413, "at most"),
    ];
    for (body, status, hint) in table {
        let refused = read(send(&world, Method::POST, "/api/documents", &[], Some(&body)).await?).await?;
        let detail = refused.2["detail"].as_str().unwrap_or_default();
        assert_eq!(refused.0, status, "{hint}: {detail}");
        assert!(detail.contains(hint), "{hint}: {detail}");
    }
    let plain = send(&world, Method::POST, "/api/documents", &[("content-type", "text/plain")], None).await?;
    assert_eq!(plain.status(), StatusCode::UNSUPPORTED_MEDIA_TYPE);
    let allowed = send(&world, Method::PATCH, "/api/documents/a", &[], None).await?;
    assert_eq!(
        (allowed.status().as_u16(), &allowed.headers()["allow"]),
        (405, &"GET, HEAD, PUT, DELETE".parse()?)
    );
    for query in ["", "q=", "q=%20", "q=a&top_k=0", "q=a&top_k=51"] {
        assert_eq!(world.get(&format!("/api/search?{query}")).await?.0, 400, "{query}");
    }
    Ok(())
}

/// Every search sees one version whole: its two chunks always say the same number.
#[tokio::test(flavor = "multi_thread")]
async fn a_search_sees_the_old_or_the_new_version_never_half() -> anyhow::Result<()> {
    let world = quiet().await?;
    let text = |n: usize| {
        format!("# Wombat\n## First\nwombat alpha edition {n}\n## Second\nwombat beta edition {n}")
    };
    let put = async |n: usize| {
        let response =
            send(&world, Method::PUT, "/api/documents/wombat", &[], Some(&runbook(&text(n)))).await?;
        anyhow::ensure!(response.status().is_success(), "{}", response.status());
        anyhow::Ok(())
    };
    put(0).await?;
    let writing = async {
        for n in 1..15 {
            put(n).await?;
        }
        anyhow::Ok(())
    };
    let searching = async {
        for _ in 0..30 {
            let (_, found) = world.get("/api/search?q=wombat%20edition&top_k=8").await?;
            let hits = found["hits"].as_array().context("hits")?;
            let versions: Vec<&Value> =
                hits.iter().filter(|hit| hit["document_id"] == "wombat").map(|hit| &hit["version"]).collect();
            assert!(!versions.is_empty() && versions.windows(2).all(|pair| pair[0] == pair[1]), "{found}");
        }
        anyhow::Ok(())
    };
    tokio::try_join!(writing, searching)?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_ended_can_be_rated_and_the_latest_rating_counts() -> anyhow::Result<()> {
    let script = Script::new()
        .routes_to("DIAGNOSIS")
        .asks_for([gateway_errors().id("call_a")])
        .reports(&draft("NORMAL", "payment-gateway logged GATEWAY_TIMEOUT errors.", "call_a"))
        .judges("SUPPORTED");
    let world = world(script).start().await?;
    let told = world.ask("checkout 5xx, why?").await?;
    let run_id = told.content().context("content")?.run_id.clone();
    let at = format!("/api/runs/{run_id}/feedback");
    assert_eq!(world.run(&run_id).await?["feedback"], Value::Null);
    for body in [
        json!({ "rating": "DOWN", "reason": "WRONG_CAUSE", "comment": "其实是证书过期\u{7}" }),
        json!({ "rating": "UP" }),
    ] {
        let (status, _, said) = read(send(&world, Method::POST, &at, &[], Some(&body)).await?).await?;
        assert_eq!((status, &said["feedback"]["rating"]), (200, &body["rating"]));
        assert_eq!(world.run(&run_id).await?["feedback"], said["feedback"]);
    }
    for (body, hint) in [
        (json!({ "rating": "up" }), "UP or DOWN"),
        (json!({}), "rating"),
        (json!({ "rating": "UP", "stars": 5 }), "stars"),
        (json!({ "rating": "UP", "reason": "bad word" }), "reason must be"),
        (json!({ "rating": "UP", "comment": "x".repeat(2001) }), "at most 2000"),
    ] {
        let (status, _, refused) = read(send(&world, Method::POST, &at, &[], Some(&body)).await?).await?;
        assert_eq!(status, 400);
        assert!(refused["detail"].as_str().unwrap_or_default().contains(hint), "{refused}");
    }
    let nobody = "/api/runs/0190b3c4-0000-7000-8000-000000000000/feedback";
    let unknown = send(&world, Method::POST, nobody, &[], Some(&json!({ "rating": "UP" }))).await?;
    assert_eq!(unknown.status(), StatusCode::NOT_FOUND);
    Ok(())
}
