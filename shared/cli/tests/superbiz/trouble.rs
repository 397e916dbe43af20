//! What the client says when a model, the service, or the address is at fault.

use serde_json::{Value, json};

use crate::ask::{CHAT, RUN, failed};
use crate::server::{Reply, Server, command, json, stream, told};

const READY: &str = "GET /api/health/ready";

fn not_ready() -> Reply {
    let entry = |name: &str, status: &str, detail: Value| json!({ "name": name, "status": status, "latency_ms": 3, "detail": detail });
    let dependencies = [
        entry("ledger", "ok", Value::Null),
        entry("run_control", "unavailable", Value::Null),
        entry("model", "unavailable", json!("MODEL_API_KEY is\u{1b}[2J refused")),
    ];
    json(503, &json!({ "status": "unavailable", "dependencies": dependencies }))
}

const EXPLAINED: &str = "run_control is unavailable\nmodel is unavailable: MODEL_API_KEY is refused\n";

#[tokio::test]
async fn an_unavailable_model_is_explained() {
    for arguments in [["ask", "why"].as_slice(), &["ask", "--raw", "why"], &["ask", "--json", "why"]] {
        let script = [(CHAT, vec![stream(&failed("MODEL_UNAVAILABLE"))]), (READY, vec![not_ready()])];
        let server = Server::start(script).await;
        let told = server.run(arguments).await;
        assert_eq!((told.code, told.err.ends_with(EXPLAINED)), (1, true), "{told:?}");
        assert!(told.out.contains("MODEL_UNAVAILABLE"), "{told:?}");
        assert_eq!(server.lines(), [CHAT, READY]);
    }
}

#[tokio::test]
async fn a_server_error_without_a_reason_is_explained() {
    let gateway = || Reply::Whole { status: 502, headers: Vec::new(), body: "<html>".to_owned() };
    for (arguments, times) in [
        (["ask", "why"].as_slice(), 4),
        (&["ask", "--raw", "why"], 1),
        (&["ask", "--no-retry", "why"], 1),
        (&["docs", "list"], 1),
    ] {
        let script =
            [(CHAT, vec![gateway()]), ("GET /api/documents", vec![gateway()]), (READY, vec![not_ready()])];
        let server = Server::start(script).await;
        let told = server.run(arguments).await;
        assert_eq!((told.code, told.out.as_str()), (5, ""), "{told:?}");
        assert!(told.err.contains("502") && told.err.ends_with(EXPLAINED), "{told:?}");
        assert_eq!(
            server.lines().len(),
            times + 1,
            "sent again three times, then explained: {:?}",
            server.lines()
        );
    }
}

#[tokio::test]
async fn a_service_that_can_not_say_what_ails_it_is_no_second_fault() {
    let server =
        Server::start([(CHAT, vec![stream(&failed("MODEL_UNAVAILABLE"))]), (READY, vec![Reply::HangsUp])])
            .await;
    let told = server.run(&["ask", "--raw", "why"]).await;
    assert_eq!((told.code, told.err.as_str()), (1, ""), "{told:?}");
}

#[tokio::test]
async fn what_is_no_service_is_told_in_clear_words() {
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let html = Reply::Whole {
        status: 200,
        headers: vec![("content-type", "text/html".to_owned())],
        body: "<html>".to_owned(),
    };
    let moved = Reply::Whole {
        status: 301,
        headers: vec![("location", "https://elsewhere/".to_owned())],
        body: String::new(),
    };
    let server = Server::start([(CHAT, vec![html.clone(), moved]), (RUN, vec![html])]).await;
    let https = server.url.replace("http://", "https://");
    let (nobody, own) = (format!("http://{nobody}"), server.url.clone());
    for (url, arguments, words) in [
        (nobody.as_str(), ["ask", "why"], "is `make dev` running?"),
        (&own, ["ask", "why"], "no event stream (text/html)"),
        (&own, ["ask", "why"], "https://elsewhere/"),
        (&own, ["runs", "r1"], "not JSON (text/html)"),
        (&https, ["runs", "r1"], "try http://"),
    ] {
        let told = told(command(&arguments).args(["--url", url]).output().await.unwrap());
        assert_eq!((told.code, told.out.as_str()), (5, ""), "{told:?}");
        assert!(told.err.contains(words), "{words}: {}", told.err);
    }
}
