//! `docs`: what a push sends and leaves alone, and the other commands on runbooks.

use std::path::Path;

use serde_json::{Value, json};

use crate::server::{Reply, Server, json};

fn document(id: &str, version: u32, text: &str) -> Value {
    json!({ "id": id, "version": version, "title": "T", "tags": ["pay"], "source": "", "updated_at": "2026-12-01T01:00:00Z", "bytes": text.len(), "text": text })
}

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in
        [("new.md", "# New"), ("same.md", "# Same"), ("changed.txt", "# After"), ("bad.md", "---\ntitle: x")]
    {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

async fn server() -> Server {
    let listed = |cursor: Option<&str>, ids: &[(&str, u32)]| {
        let documents: Vec<Value> = ids.iter().map(|(id, version)| document(id, *version, "x")).collect();
        json(200, &json!({ "documents": documents, "next_cursor": cursor }))
    };
    let empty = Reply::Whole { status: 204, headers: Vec::new(), body: String::new() };
    let refused =
        json(400, &json!({ "code": "INVALID_REQUEST", "detail": "front matter must end", "status": 400 }));
    let changed =
        json(412, &json!({ "code": "PRECONDITION_FAILED", "detail": "read it again", "status": 412 }));
    Server::start([
        (
            "GET /api/documents",
            vec![
                listed(Some("p-old"), &[("p-changed", 4), ("p-old", 7)]),
                listed(None, &[("p-same", 2), ("zz", 1)]),
            ],
        ),
        ("GET /api/documents/p-changed", vec![json(200, &document("p-changed", 5, "# Before"))]),
        ("GET /api/documents/p-same", vec![json(200, &document("p-same", 2, "# Same"))]),
        ("PUT /api/documents/p-changed", vec![json(200, &document("p-changed", 6, "# After")), changed]),
        ("PUT /api/documents/p-new", vec![json(201, &document("p-new", 1, "# New"))]),
        ("PUT /api/documents/p-bad", vec![refused]),
        ("DELETE /api/documents/p-old", vec![empty.clone()]),
        ("DELETE /api/documents/zz", vec![empty]),
    ])
    .await
}

fn push<'a>(folder: &'a Path, more: &[&'a str]) -> Vec<&'a str> {
    [&["docs", "push", folder.to_str().unwrap(), "--prefix", "p-"], more].concat()
}

#[tokio::test]
async fn a_push_stores_what_differs_over_the_version_it_saw() {
    let (server, folder) = (server().await, folder());
    let told = server.run(&push(folder.path(), &["--delete-missing"])).await;
    assert_eq!(
        told.out,
        "refused  p-bad: front matter must end (INVALID_REQUEST)\nchanged  p-changed\nadded    p-new\nsame     p-same\n"
    );
    assert_eq!(
        (told.code, told.err.as_str()),
        (
            4,
            "nothing was removed, because not every file was stored\n1 added, 1 changed, 1 same, 1 refused\n"
        )
    );
    let puts: Vec<_> = server.asked().into_iter().filter(|asked| asked.line.starts_with("PUT")).collect();
    let (bad, changed, new) = (&puts[0], &puts[1], &puts[2]);
    assert_eq!(bad.headers["if-none-match"], "*");
    assert_eq!(
        (changed.headers["if-match"].as_str(), changed.body.as_str()),
        ("\"5\"", r##"{"text":"# After"}"##)
    );
    assert_eq!((new.headers["if-none-match"].as_str(), puts.len()), ("*", 3));
}

#[tokio::test]
async fn missing_ones_are_removed_only_below_the_prefix_and_when_all_is_stored() {
    let (server, folder) = (server().await, folder());
    std::fs::remove_file(folder.path().join("bad.md")).unwrap();
    let told = server.run(&push(folder.path(), &["--delete-missing", "--json"])).await;
    assert_eq!(told.code, 0, "{told:?}");
    let results = told.json()["documents"].clone();
    assert_eq!(results.as_array().unwrap().last().unwrap(), &json!({ "id": "p-old", "result": "removed" }));
    let deletes: Vec<_> =
        server.asked().into_iter().filter(|asked| asked.line.starts_with("DELETE")).collect();
    assert_eq!((deletes.len(), deletes[0].line.as_str()), (1, "DELETE /api/documents/p-old"));
    assert_eq!(deletes[0].headers["if-match"], "\"7\"");
}

#[tokio::test]
async fn a_runbook_that_changed_meanwhile_is_not_overwritten() {
    let (server, folder) = (server().await, folder());
    server.run(&push(folder.path(), &[])).await;
    // The list's first page now is its second one: the runbook counts as new, and the service knows better.
    let told = server.run(&push(folder.path(), &[])).await;
    assert!(told.out.contains("refused  p-changed: read it again (PRECONDITION_FAILED)"), "{told:?}");
    assert_eq!(told.code, 4);
}

#[tokio::test]
async fn an_empty_folder_removes_nothing() {
    let (server, folder) = (server().await, tempfile::tempdir().unwrap());
    assert_eq!(server.run(&push(folder.path(), &["--delete-missing"])).await.code, 2);
    let whole = ["docs", "push", folder.path().to_str().unwrap(), "--prefix", "", "--delete-missing"];
    assert_eq!(server.run(&whole).await.code, 2);
    assert!(server.lines().is_empty());
}

#[tokio::test]
async fn runbooks_are_listed_read_removed_and_searched() {
    let hit = json!({ "document_id": "pay", "title": "Pay", "version": 3, "section_path": "Timeouts", "source": "", "updated_at": "", "score": 2.5, "excerpt": "Retry\u{1b}[5m once." });
    let server = Server::start([
        (
            "GET /api/documents",
            vec![json(200, &json!({ "documents": [document("pay", 3, "# Pay")], "next_cursor": null }))],
        ),
        (
            "GET /api/documents/pay",
            vec![json(200, &document("pay", 3, "# Pay\n\tindented\r\nred\u{1b}[31m\n"))],
        ),
        (
            "DELETE /api/documents/pay",
            vec![Reply::Whole { status: 204, headers: Vec::new(), body: String::new() }],
        ),
        ("GET /api/search", vec![json(200, &json!({ "query": "q", "hits": [hit], "duplicates": 0 }))]),
    ])
    .await;
    let told = server.run(&["docs", "list"]).await;
    assert_eq!(
        told.out,
        "  id   version  size  updated               title  tags\n  pay        3   5 B  2026-12-01T01:00:00Z  T      pay\n"
    );
    assert_eq!(server.run(&["docs", "get", "pay"]).await.out, "# Pay\n\tindented\r\nred\n");
    assert_eq!(server.run(&["docs", "rm", "pay"]).await.out, "removed pay\n");
    let told = server.run(&["docs", "search", "支付", "retry?", "--top-k", "3"]).await;
    assert_eq!(told.out, "1. Pay > Timeouts\n   pay, version 3, score 2.50\n   | Retry once.\n");
    assert_eq!(server.lines().last().unwrap(), "GET /api/search?q=%E6%94%AF%E4%BB%98+retry%3F&top_k=3");
    let missing = server.run(&["docs", "get", "none"]).await;
    assert_eq!((missing.code, missing.out.as_str()), (4, ""));
}
