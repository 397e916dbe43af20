//! The strict client: a good stream passes, each single fault is refused.

#![expect(clippy::unwrap_used, reason = "the helpers of tests may fail like tests")]

use std::convert::Infallible;

use axum::Router;
use axum::body::Body;
use axum::http::Response;
use axum::routing::post;
use testkit::sse::{AskError, Checker, Event, Fault, ask};

type Headers = &'static [(&'static str, &'static str)];

const RUN: &str = "01939d1c-0000-7000-8000-0123456789ab";

fn frame(id: u64, name: &str, data: &str) -> String {
    format!("id: {id}\nevent: {name}\ndata: {data}\n\n")
}

fn metadata() -> String {
    frame(1, "metadata", &format!(r#"{{"session_id":"s-1","run_id":"{RUN}","time_limit_ms":110000}}"#))
}

fn status(id: u64, sequence: u64, elapsed: u64) -> String {
    let data =
        format!(r#"{{"run_id":"{RUN}","sequence":{sequence},"stage":"ROUTING","elapsed_ms":{elapsed}}}"#);
    frame(id, "status", &data)
}

fn tool(id: u64, sequence: u64, call: &str) -> String {
    let data = format!(
        r#"{{"run_id":"{RUN}","sequence":{sequence},"stage":"TOOL","elapsed_ms":9,"tool":"query_logs","tool_call":{call}}}"#
    );
    frame(id, "status", &data)
}

fn content(id: u64) -> String {
    let data = format!(
        r#"{{"run_id":"{RUN}","intent":"DIAGNOSIS","outcome":"SUCCESS","body":{{"kind":"DIAGNOSIS_REPORT","text":"支付超时：通道 b"}}}}"#
    );
    frame(id, "content", &data)
}

fn failure(id: u64) -> String {
    let data = format!(r#"{{"run_id":"{RUN}","code":"INTERNAL","message":"fixed","retryable":true}}"#);
    frame(id, "failure", &data)
}

fn done(id: u64, status: &str) -> String {
    frame(id, "done", &format!(r#"{{"run_id":"{RUN}","status":"{status}"}}"#))
}

fn good() -> String {
    let keep_alive = ": keep-alive\n\n";
    let started = tool(3, 2, r#"{"index":1,"state":"STARTED"}"#);
    let ready = tool(4, 4, r#"{"index":1,"state":"READY","evidence_status":"NO_EVIDENCE"}"#);
    [
        &metadata(),
        keep_alive,
        &status(2, 1, 3),
        &started,
        &ready,
        keep_alive,
        &content(5),
        &done(6, "SUCCESS"),
    ]
    .concat()
}

fn check(stream: &[u8]) -> Result<Vec<Event>, Fault> {
    let mut checker = Checker::default();
    let events = checker.push(stream)?;
    checker.finish()?;
    Ok(events)
}

#[test]
fn a_good_stream_passes_however_it_is_cut() {
    let stream = good();
    let whole = check(stream.as_bytes()).unwrap();
    assert_eq!(
        whole.iter().map(Event::name).collect::<Vec<_>>().join(" "),
        "metadata status status status content done"
    );
    for size in 1..40 {
        let mut checker = Checker::default();
        let mut events = Vec::new();
        for piece in stream.as_bytes().chunks(size) {
            events.extend(checker.push(piece).unwrap());
        }
        checker.finish().unwrap();
        assert_eq!(events, whole, "pieces of {size}");
        assert_eq!(checker.keep_alives(), 2);
    }
    let failed = [metadata(), failure(2), done(3, "FAILED")].concat();
    assert_eq!(check(failed.as_bytes()).unwrap().len(), 3);
}

#[test]
fn every_fault_is_refused() {
    let swap = |from: &str, to: &str| {
        let good = good();
        assert!(good.contains(from), "{from}");
        good.replacen(from, to, 1)
    };
    let m = metadata();
    let cases: Vec<(&str, String)> = vec![
        ("CR LF line ends", swap("\n", "\r\n")),
        ("raw CR in data", swap("通道 b", "通道\rb")),
        ("raw LF in data", swap("通道 b", "通道\nb")),
        ("NUL", swap("通道 b", "通道\0b")),
        ("byte order mark", format!("\u{feff}{}", good())),
        ("no id", swap("id: 1\n", "")),
        ("id from 0", swap("id: 1\n", "id: 0\n")),
        ("id skipped", swap("id: 3\n", "id: 4\n")),
        ("id with a zero in front", swap("id: 1\n", "id: 01\n")),
        ("two data lines", swap("data: {", "data: {\ndata: {")),
        ("two event lines", swap("event: metadata\n", "event: metadata\nevent: metadata\n")),
        ("no event line", swap("event: metadata\n", "")),
        ("no data line", swap("\n\n", "\n\nid: 2\nevent: status\n\n")),
        ("retry line", swap("id: 1\n", "retry: 5\nid: 1\n")),
        ("line without colon", swap("id: 1\n", "hello\nid: 1\n")),
        ("other comment", swap(": keep-alive", ": ping")),
        ("keep-alive without space", swap(": keep-alive", ":keep-alive")),
        ("comment inside an event", swap("event: metadata\n", "event: metadata\n: keep-alive\n")),
        ("event right after a comment", swap(": keep-alive\n\n", ": keep-alive\n")),
        ("extra empty line", swap(": keep-alive\n\n", ": keep-alive\n\n\n")),
        ("unknown event", swap("event: status", "event: token")),
        ("spaces in JSON", swap("\"time_limit_ms\":", "\"time_limit_ms\": ")),
        ("no JSON", swap("data: {\"session_id\"", "data: \"session_id\"")),
        ("unknown field", swap("\"time_limit_ms\"", "\"model\":\"x\",\"time_limit_ms\"")),
        ("missing field", swap(",\"time_limit_ms\":110000", "")),
        ("repeated field", swap("\"time_limit_ms\"", "\"run_id\":\"x\",\"time_limit_ms\"")),
        ("null instead of absent", swap("\"elapsed_ms\":3", "\"elapsed_ms\":3,\"tool\":null")),
        ("negative time", swap("\"elapsed_ms\":3", "\"elapsed_ms\":-3")),
        ("unknown stage", swap("\"stage\":\"ROUTING\"", "\"stage\":\"THINKING\"")),
        ("unknown tool", swap("query_logs", "shell")),
        ("unknown tool state", swap("\"STARTED\"", "\"RUNNING\"")),
        ("READY without evidence status", swap(",\"evidence_status\":\"NO_EVIDENCE\"", "")),
        ("evidence status too early", swap("\"STARTED\"", "\"STARTED\",\"evidence_status\":\"NO_EVIDENCE\"")),
        ("tool call in another stage", swap("\"stage\":\"TOOL\"", "\"stage\":\"ROUTING\"")),
        ("run id is no UUIDv7", good().replace(RUN, "01939d1c-0000-4000-8000-0123456789ab")),
        ("session id with a space", swap("\"s-1\"", "\"s 1\"")),
        (
            "another run id",
            swap(&format!("{RUN}\",\"status\""), "01939d1c-0000-7000-8000-ffffffffffff\",\"status\""),
        ),
        ("sequence back", swap("\"sequence\":4", "\"sequence\":1")),
        ("sequence repeated", swap("\"sequence\":4", "\"sequence\":2")),
        ("sequence from 0", swap("\"sequence\":1", "\"sequence\":0")),
        ("elapsed goes back", swap("\"elapsed_ms\":3", "\"elapsed_ms\":12")),
        ("unknown outcome", swap("\"outcome\":\"SUCCESS\"", "\"outcome\":\"PARTIAL\"")),
        ("unknown intent", swap("\"DIAGNOSIS\"", "\"CHAT\"")),
        ("fallback with a report", swap("\"outcome\":\"SUCCESS\"", "\"outcome\":\"FALLBACK\"")),
        ("success with a fallback body", swap("DIAGNOSIS_REPORT", "SAFE_FALLBACK")),
        ("done contradicts content", swap("\"status\":\"SUCCESS\"", "\"status\":\"FALLBACK\"")),
        ("done contradicts failure", [m.clone(), failure(2), done(3, "SUCCESS")].concat()),
        (
            "unknown failure code",
            [m.clone(), failure(2), done(3, "FAILED")].concat().replace("INTERNAL", "OOPS"),
        ),
        ("nothing", String::new()),
        ("no metadata", [failure(1), done(2, "FAILED")].concat()),
        ("metadata twice", [m.clone(), m.replace("id: 1", "id: 2"), content(3), done(4, "SUCCESS")].concat()),
        ("status after content", [m.clone(), content(2), status(3, 1, 1), done(4, "SUCCESS")].concat()),
        ("content twice", [m.clone(), content(2), content(3), done(4, "SUCCESS")].concat()),
        ("content and failure", [m.clone(), content(2), failure(3), done(4, "FAILED")].concat()),
        ("done without content", [m.clone(), done(2, "SUCCESS")].concat()),
        ("no done", [m.clone(), content(2)].concat()),
        ("cut inside the last event", good().trim_end().to_owned()),
        ("comment after done", good() + ": keep-alive\n\n"),
        ("byte after done", good() + "\n"),
        ("event after done", good() + &done(7, "SUCCESS")),
    ];
    for (name, stream) in &cases {
        assert!(check(stream.as_bytes()).is_err(), "accepted: {name}\n{stream}");
    }
    let mut invalid = good().into_bytes();
    let at = invalid.iter().position(|byte| *byte > 0x7f).unwrap();
    invalid[at] = b'x';
    assert_eq!(check(&invalid), Err(Fault::NotUtf8));
}

#[test]
fn faults_say_what_was_wrong() {
    let bad_id = good().replacen("id: 3\n", "id: 4\n", 1);
    assert_eq!(check(bad_id.as_bytes()), Err(Fault::Id { found: "4".to_owned(), expected: 3 }));
    let late = good() + &done(7, "SUCCESS");
    assert_eq!(check(late.as_bytes()), Err(Fault::AfterDone));
    let mut checker = Checker::default();
    checker.push(good().as_bytes()).unwrap();
    assert_eq!(checker.push(b"\n").unwrap_err(), Fault::AfterDone);
    let two = [metadata(), content(2), failure(3)].concat();
    assert_eq!(check(two.as_bytes()), Err(Fault::Order { found: "failure", after: "content" }));
}

/// Serves one fixed response on loopback.
async fn serve(status: u16, headers: Headers, chunks: Vec<String>) -> String {
    let answer = move || {
        let chunks = chunks.clone().into_iter().map(Ok::<_, Infallible>);
        let mut response = Response::builder().status(status);
        for (name, value) in headers {
            response = response.header(*name, *value);
        }
        let response = response.body(Body::from_stream(futures_util::stream::iter(chunks))).unwrap();
        std::future::ready(response)
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/api/chat", listener.local_addr().unwrap());
    #[expect(clippy::disallowed_methods, reason = "ends with the test's runtime")]
    tokio::spawn(async move { axum::serve(listener, Router::new().route("/api/chat", post(answer))).await });
    url
}

const STREAM: Headers =
    &[("content-type", "text/event-stream; charset=utf-8"), ("cache-control", "no-cache, no-transform")];

#[tokio::test]
async fn a_stream_over_http_becomes_a_transcript() {
    let stream = good();
    let cut = stream.find("支付").unwrap() + 3;
    let url = serve(200, STREAM, vec![stream[..cut].to_owned(), stream[cut..].to_owned()]).await;
    let mut answer = ask(&url, r#"{"query":"x"}"#, &[]).await.unwrap();
    assert!(matches!(answer.next().await.unwrap().unwrap().event, Event::Metadata(_)));
    let transcript = answer.collect().await.unwrap();
    assert_eq!(transcript.events.len(), 6);
    assert_eq!(transcript.gaps().len(), 6);
    assert_eq!(transcript.text(), stream);
    assert_eq!(transcript.keep_alives, 2);
    assert_eq!(transcript.metadata().unwrap().run_id, RUN);
    assert_eq!(transcript.statuses().len(), 3);
    assert_eq!(transcript.content().unwrap().body["kind"], "DIAGNOSIS_REPORT");
    assert_eq!(transcript.done().unwrap().status, "SUCCESS");
    assert!(transcript.failure().is_none() && transcript.problem().is_none());
}

#[tokio::test]
async fn wrong_heads_are_refused() {
    let cases: [Headers; 5] = [
        &[("content-type", "text/plain"), ("cache-control", "no-cache, no-transform")],
        &[("content-type", "text/event-stream")],
        &[("content-type", "text/event-stream"), ("cache-control", "no-cache")],
        &[("content-type", "text/event-stream; charset=gbk"), ("cache-control", "no-cache, no-transform")],
        &[
            ("content-type", "text/event-stream"),
            ("cache-control", "no-cache, no-transform"),
            ("content-encoding", "gzip"),
        ],
    ];
    for headers in cases {
        let url = serve(200, headers, vec![good()]).await;
        let fault = ask(&url, "{}", &[]).await.unwrap_err();
        assert!(matches!(fault, AskError::Protocol(Fault::Header { .. })), "{headers:?}: {fault:?}");
    }
}

#[tokio::test]
async fn refusals_are_problem_documents_or_faults() {
    const PROBLEM: Headers = &[("content-type", "application/problem+json"), ("retry-after", "7")];
    let document =
        r#"{"type":"about:blank","title":"Too many","status":429,"code":"RATE_LIMITED","detail":"wait"}"#;
    let url = serve(429, PROBLEM, vec![document.to_owned()]).await;
    let transcript = ask(&url, "{}", &[("idempotency-key", "k")]).await.unwrap().collect().await.unwrap();
    let problem = transcript.problem().unwrap();
    assert_eq!((problem.status, problem.code.as_str(), problem.retry_after), (429, "RATE_LIMITED", Some(7)));
    assert!(transcript.events.is_empty());
    let wrong: [(u16, Headers, &str); 5] = [
        (429, &[("content-type", "application/problem+json")], document),
        (429, &[("content-type", "application/json"), ("retry-after", "7")], document),
        (503, PROBLEM, document),
        (429, PROBLEM, r#"{"title":"x","status":429,"code":"SLOW_DOWN"}"#),
        (502, &[("content-type", "application/json")], r#"{"message":"Internal server error"}"#),
    ];
    for (status, headers, body) in wrong {
        let url = serve(status, headers, vec![body.to_owned()]).await;
        let fault = ask(&url, "{}", &[]).await.unwrap().collect().await.unwrap_err();
        assert!(matches!(fault, AskError::Protocol(Fault::Problem(_))), "{status} {body}: {fault:?}");
    }
}
