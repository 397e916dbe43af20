//! `runs`, `trace`, `evidence`, `quality`, `feedback` and `keys`.

use serde_json::{Value, json};

use crate::server::{Reply, Server, json};

fn run(id: &str) -> Value {
    json!({ "run_id": id, "session_id": "s1", "query": "why?\u{1b}[2J", "status": "FAILED", "intent": null, "reason": "INTERNAL", "started_at": "2026-12-01T01:00:00Z", "ended_at": "2026-12-01T01:00:01Z",
        "deadline": "2026-12-01T01:02:00Z", "outcome": "FAILED", "body": null, "failure": { "code": "INTERNAL", "message": "It failed.", "retryable": true }, "feedback": null })
}

#[tokio::test]
async fn runs_of_a_session_page_by_page_and_one_run_whole() {
    let page = |ids: &[&str], next: Option<&str>| {
        json(200, &json!({ "runs": ids.iter().map(|id| run(id)).collect::<Vec<_>>(), "next_cursor": next }))
    };
    let server = Server::start([
        ("GET /api/sessions/s1/runs", vec![page(&["r3", "r2"], Some("r2")), page(&["r1"], None)]),
        ("GET /api/runs/r1", vec![json(200, &run("r1"))]),
    ])
    .await;
    let told = server.run(&["runs", "--session", "s1", "--limit", "150"]).await;
    assert_eq!((told.code, told.out.lines().count()), (0, 4), "{told:?}");
    assert!(!told.out.contains('\u{1b}'));
    assert_eq!(
        server.lines(),
        ["GET /api/sessions/s1/runs?limit=100", "GET /api/sessions/s1/runs?limit=100&cursor=r2"]
    );
    let told = server.run(&["runs", "r1"]).await;
    assert_eq!(told.code, 0, "that it was shown is the success");
    assert!(
        told.out.ends_with("FAILED: INTERNAL\n  It failed.\n  Asking the same again may help.\n"),
        "{}",
        told.out
    );
    assert_eq!(server.run(&["--json", "runs", "r1"]).await.json(), run("r1"));
    assert_eq!(server.run(&["runs", "r9"]).await.code, 4);
}

#[tokio::test]
async fn trace_and_evidence_are_shown_or_handed_on() {
    let trace = json!({ "run": run("r1"), "budget": { "limits": { "model_calls": 12 }, "used": { "model_calls": 3 } }, "steps": [], "tool_invocations": [], "cost_usd": null });
    let evidence = json!({ "run_id": "r1", "analyses": [] });
    let expired =
        json(410, &json!({ "code": "EVIDENCE_EXPIRED", "detail": "it has expired", "status": 410 }));
    let server = Server::start([
        ("GET /api/runs/r1", vec![json(200, &run("r1"))]),
        ("GET /api/runs/r1/trace", vec![json(200, &trace)]),
        ("GET /api/runs/r1/evidence", vec![json(200, &evidence)]),
        ("GET /api/runs/r2/evidence", vec![expired]),
    ])
    .await;
    let told = server.run(&["trace", "r1"]).await;
    assert!(told.out.contains("model calls     3     12   25 %"), "{}", told.out);
    assert_eq!(server.run(&["trace", "r1", "--json"]).await.json(), trace);
    assert_eq!(server.run(&["evidence", "r1"]).await.out, "Nothing was released that rests on evidence.\n");
    assert_eq!(server.run(&["evidence", "r1", "--json"]).await.json(), evidence);
    let told = server.run(&["evidence", "r2"]).await;
    assert_eq!((told.code, told.err.contains("EVIDENCE_EXPIRED")), (4, true));
}

#[tokio::test]
async fn feedback_is_sent_as_the_service_wants_it() {
    let server =
        Server::start([("POST /api/runs/r1/feedback", vec![json(200, &json!({ "run_id": "r1" }))])]).await;
    let told =
        server.run(&["feedback", "r1", "down", "--reason", "wrong-cause", "--comment", "是证书过期"]).await;
    assert_eq!((told.code, told.out.as_str()), (0, "recorded: DOWN for run r1\n"));
    let sent: Value = serde_json::from_str(&server.asked()[0].body).unwrap();
    assert_eq!(sent, json!({ "rating": "DOWN", "reason": "WRONG_CAUSE", "comment": "是证书过期" }));
    server.run(&["feedback", "r1", "up"]).await;
    assert_eq!(server.asked()[1].body, r#"{"rating":"UP"}"#);
}

#[tokio::test]
async fn keys_are_made_listed_and_revoked() {
    let made = json!({ "id": "k1", "key": "sb_secret", "caller": "ci", "scopes": ["chat"], "created_at": "2026-12-01T01:00:00Z" });
    let mut listed = made.clone();
    listed.as_object_mut().unwrap().remove("key");
    let server = Server::start([
        ("POST /api/keys", vec![json(201, &made)]),
        ("GET /api/keys", vec![json(200, &json!({ "keys": [listed] }))]),
        ("DELETE /api/keys/k1", vec![Reply::Whole { status: 204, headers: Vec::new(), body: String::new() }]),
    ])
    .await;
    let told = server
        .run(&[
            "keys",
            "create",
            "--caller",
            "ci",
            "--scopes",
            "chat,documents:write",
            "--runs-per-minute",
            "9",
        ])
        .await;
    assert_eq!((told.code, told.out.as_str()), (0, "sb_secret\n"), "the key alone");
    assert_eq!(told.err, "key k1 for ci, may do chat; shown only now:\n");
    let sent: Value = serde_json::from_str(&server.asked()[0].body).unwrap();
    assert_eq!(sent, json!({ "caller": "ci", "scopes": ["chat", "documents:write"], "runs_per_minute": 9 }));
    assert_eq!(
        server.run(&["keys", "create", "--caller", "ci", "--scopes", "chat", "--json"]).await.json(),
        made
    );
    assert!(server.run(&["keys", "list"]).await.out.contains("k1  ci      chat"));
    assert_eq!(server.run(&["keys", "revoke", "k1"]).await.out, "revoked k1\n");
}

#[tokio::test]
async fn quality_is_asked_for_a_span_of_time() {
    let quality = json!({ "from": "2026-11-24T00:00:00Z", "to": "2026-12-01T00:00:00Z", "runs": 3, "outcomes": { "SUCCESS": 3 } });
    let server = Server::start([("GET /api/quality", vec![json(200, &quality)])]).await;
    let told = server.run(&["quality", "--from", "2026-11-24T00:00:00+08:00"]).await;
    assert!(
        told.code == 0 && told.out.starts_with("3 RUNS, 2026-11-24T00:00:00Z TO 2026-12-01T00:00:00Z\n"),
        "{told:?}"
    );
    assert_eq!(server.run(&["quality", "--json"]).await.json(), quality);
    assert_eq!(
        server.lines(),
        ["GET /api/quality?from=2026-11-24T00%3A00%3A00%2B08%3A00", "GET /api/quality"]
    );
}
