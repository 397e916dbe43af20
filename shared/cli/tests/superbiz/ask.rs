//! `ask`: streams whole, cut, broken and silent; refusals; alerts; interrupts.

use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};

use crate::server::{Reply, Server, json, stream, told};

pub const CHAT: &str = "POST /api/chat";
pub const RUN: &str = "GET /api/runs/r1";
const METADATA: &str =
    "id: 1\nevent: metadata\ndata: {\"session_id\":\"s1\",\"run_id\":\"r1\",\"time_limit_ms\":115000}\n\n";
const STATUSES: &str = "event: status\ndata: {\"run_id\":\"r1\",\"sequence\":1,\"stage\":\"ROUTING\",\"elapsed_ms\":22}\n\n: keep-alive\n\nevent: status\ndata: {\"run_id\":\"r1\",\"sequence\":2,\"stage\":\"TOOL\",\"elapsed_ms\":604,\"tool\":\"query_logs\",\"tool_call\":{\"index\":1,\"state\":\"READY\",\"evidence_status\":\"EVIDENCE_FOUND\"}}\n\n";

fn report() -> Value {
    json!({ "kind": "DIAGNOSIS_REPORT", "conclusion": { "text": "渠道超时\u{1b}]0;owned\u{7}。", "based_on_analysis_ids": ["a1"] },
        "analyses": [{ "analysis_id": "a1", "kind": "NORMAL", "text": "39 errors\u{1b}[2J.", "sources": [{ "source_type": "LOGS", "source": "app-logs", "scope": {}, "timestamp": null }] }],
        "actions": [{ "text": "Switch it off.", "requires_human_confirmation": true, "based_on_analysis_ids": ["a1"] }],
        "recommendations": [], "limitations": { "missing_info": [], "caveats": [] } })
}

fn content(outcome: &str, body: &Value) -> String {
    let data = json!({ "run_id": "r1", "intent": "DIAGNOSIS", "outcome": outcome, "body": body });
    format!("event: content\ndata: {data}\n\n{}", done(outcome))
}

fn done(status: &str) -> String {
    format!("event: done\ndata: {{\"run_id\":\"r1\",\"status\":\"{status}\"}}\n\n")
}

pub fn failed(code: &str) -> String {
    let data =
        json!({ "run_id": "r1", "code": code, "message": "Nothing was published.", "retryable": true });
    format!("{METADATA}event: failure\ndata: {data}\n\n{}", done("FAILED"))
}

pub fn success() -> String {
    format!("{METADATA}{STATUSES}{}", content("SUCCESS", &report()))
}

fn stored(status: &str) -> Value {
    let body = if status == "RUNNING" { Value::Null } else { report() };
    json!({ "run_id": "r1", "session_id": "s1", "query": "why", "status": status, "intent": "DIAGNOSIS", "outcome": status, "body": body, "failure": null,
        "started_at": "2026-12-01T01:00:00Z", "ended_at": "2026-12-01T01:00:04Z" })
}

fn problem(status: u16, code: &str, more: Value) -> Reply {
    let mut document = json!({ "type": "about:blank", "title": "No", "status": status, "code": code, "detail": "it can't be\u{1b}[31m" });
    document.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap_or_default());
    let headers =
        vec![("content-type", "application/problem+json".to_owned()), ("retry-after", "7".to_owned())];
    Reply::Whole { status, headers, body: document.to_string() }
}

const REPORT: &str = "\
CONCLUSION
  渠道超时。 (a1)

FINDINGS
  [a1] 39 errors.
       LOGS app-logs

ACTIONS
  1. [NEEDS A PERSON'S CONFIRMATION] Switch it off. (a1)
";

#[tokio::test]
async fn progress_goes_to_stderr_and_the_report_to_stdout() {
    for piece in [1, 7, usize::MAX] {
        let server = Server::start([(CHAT, vec![Reply::Stream { text: success(), piece }])]).await;
        let told = server.run(&["ask", "why", "so", "slow?", "--session", "s1"]).await;
        assert_eq!((told.code, told.out.as_str()), (0, REPORT), "{told:?}");
        assert_eq!(
            told.err,
            "run r1, session s1, at most 1 min 55 s\n   0.0 s  Understanding what kind of question this is\n   0.6 s  Logs, call 1: evidence found\n\n"
        );
        let asked = server.asked();
        assert_eq!(asked[0].body, r#"{"query":"why so slow?","session_id":"s1"}"#);
        assert_eq!(asked[0].headers["content-type"], "application/json");
        assert_eq!(asked[0].headers["idempotency-key"].len(), 36);
        assert!(!asked[0].headers.contains_key("authorization"));
    }
}

#[tokio::test]
async fn json_is_one_object_and_nothing_else() {
    let server = Server::start([(CHAT, vec![stream(&success()), stream(&failed("INTERNAL"))])]).await;
    let told = server.run(&["--json", "ask", "why"]).await;
    let content = json!({ "intent": "DIAGNOSIS", "outcome": "SUCCESS", "body": report() });
    assert_eq!(
        told.json(),
        json!({ "run_id": "r1", "session_id": "s1", "status": "SUCCESS", "content": content })
    );
    assert_eq!((told.code, told.err.as_str()), (0, ""));
    assert!(!told.out.contains('\u{1b}'));
    let told = server.run(&["ask", "why", "--json"]).await;
    assert_eq!((told.code, &told.json()["failure"]["code"]), (1, &json!("INTERNAL")));
}

#[tokio::test]
async fn outcomes_are_exit_codes() {
    let fallback = json!({ "kind": "SAFE_FALLBACK", "reason_code": "SEMANTIC_UNAVAILABLE", "conclusion": null, "message": "Withheld.", "verified_sources": [], "attempted": [] });
    let fallback = format!("{METADATA}{}", content("FALLBACK", &fallback));
    let ready = json!({ "status": "unavailable", "dependencies": [{ "name": "model", "status": "unavailable", "detail": "the provider answers 401" }] });
    for (text, code, out, err) in [
        (success(), 0, "CONCLUSION", ""),
        (fallback, 3, "NO VERIFIED ANSWER: SEMANTIC_UNAVAILABLE", ""),
        (failed("DEADLINE_EXCEEDED"), 1, "FAILED: DEADLINE_EXCEEDED", ""),
        (
            failed("MODEL_UNAVAILABLE"),
            1,
            "Nothing was published.",
            "model is unavailable: the provider answers 401",
        ),
    ] {
        let script = [(CHAT, vec![stream(&text)]), ("GET /api/health/ready", vec![json(503, &ready)])];
        let server = Server::start(script).await;
        let told = server.run(&["ask", "why"]).await;
        assert_eq!(told.code, code, "{told:?}");
        assert!(told.out.contains(out) && told.err.contains(err), "{told:?}");
        assert_eq!(server.lines().len() == 2, text.contains("MODEL_UNAVAILABLE"));
    }
}

#[tokio::test]
async fn a_stream_that_breaks_off_is_followed_by_asking() {
    let script = [
        (CHAT, vec![Reply::BreaksOff(format!("{METADATA}{STATUSES}event: content\ndata: {{\"run"))]),
        (RUN, vec![Reply::HangsUp, json(200, &stored("RUNNING")), json(200, &stored("SUCCESS"))]),
    ];
    let server = Server::start(script).await;
    let told = server.run(&["ask", "why"]).await;
    assert_eq!((told.code, told.out.as_str()), (0, REPORT), "{told:?}");
    assert!(told.err.contains("the run goes on"), "{}", told.err);
    assert_eq!(server.lines(), [CHAT, RUN, RUN, RUN]);
}

#[tokio::test]
async fn a_question_whose_answer_was_lost_is_sent_again_under_the_same_key() {
    let gateway = Reply::Whole { status: 502, headers: Vec::new(), body: "<html>".to_owned() };
    let script = [
        (CHAT, vec![Reply::HangsUp, gateway, problem(409, "RUN_IN_PROGRESS", json!({ "run_id": "r1" }))]),
        (RUN, vec![json(200, &stored("FALLBACK"))]),
    ];
    let server = Server::start(script).await;
    let told = server.run(&["ask", "why"]).await;
    assert_eq!((told.code, told.out.as_str()), (3, REPORT), "{told:?}");
    assert_eq!(server.lines(), [CHAT, CHAT, CHAT, RUN]);
    let keys: Vec<String> =
        server.asked().iter().filter_map(|a| a.headers.get("idempotency-key").cloned()).collect();
    assert!(keys.len() == 3 && keys.iter().all(|key| *key == keys[0]), "{keys:?}");
}

#[tokio::test]
async fn without_retries_a_broken_stream_is_a_fault() {
    let server = Server::start([(CHAT, vec![Reply::BreaksOff(METADATA.to_owned()), Reply::HangsUp])]).await;
    let told = server.run(&["ask", "--no-retry", "why"]).await;
    assert_eq!((told.code, told.out.as_str()), (5, ""), "{told:?}");
    assert!(told.err.contains("superbiz runs r1"), "{}", told.err);
    assert_eq!(server.run(&["ask", "--no-retry", "why"]).await.code, 5);
    assert_eq!(server.lines(), [CHAT, CHAT]);
}

#[tokio::test]
async fn a_result_without_its_farewell_is_a_result() {
    let text = success().replace(&done("SUCCESS"), "");
    let server = Server::start([(CHAT, vec![Reply::BreaksOff(text)])]).await;
    let told = server.run(&["ask", "why"]).await;
    assert_eq!((told.code, told.out.as_str()), (0, REPORT), "{told:?}");
    assert_eq!(server.lines(), [CHAT]);
}

#[tokio::test]
async fn a_refusal_is_told_with_its_code() {
    let refusal = problem(429, "RATE_LIMITED", json!({}));
    let server = Server::start([(CHAT, vec![refusal])]).await;
    let told = server.run(&["ask", "why"]).await;
    assert_eq!((told.code, told.out.as_str()), (4, ""));
    assert_eq!(told.err, "superbiz: refused: it can't be (RATE_LIMITED, HTTP 429)\n  try again in 7 s\n");
    let told = server.run(&["ask", "--json", "why"]).await;
    assert_eq!((told.code, &told.json()["problem"]["code"]), (4, &json!("RATE_LIMITED")));
    assert_eq!(server.run(&["ask", "--raw", "why"]).await.code, 4);
}

#[tokio::test]
async fn raw_is_the_stream_as_it_comes() {
    let server = Server::start([(
        CHAT,
        vec![Reply::Stream { text: success(), piece: 5 }, stream(&failed("INTERNAL"))],
    )])
    .await;
    let told = server.run(&["ask", "--raw", "--", "-why"]).await;
    assert_eq!((told.code, told.out, told.err.as_str()), (0, success(), ""));
    assert_eq!(server.asked()[0].body, r#"{"query":"-why"}"#);
    assert_eq!(server.run(&["ask", "--raw", "why"]).await.code, 1);
    assert_eq!(server.run(&["ask", "--raw", "--json", "why"]).await.code, 2);
}

#[tokio::test]
async fn questions_and_alerts_come_from_files_and_standard_input() {
    let server = Server::start([(CHAT, vec![stream(&success())])]).await;
    let folder = tempfile::tempdir().unwrap();
    let alert = "{ \"status\": \"firing\",\n  \"alerts\": [] }";
    let file = folder.path().join("alert.json");
    std::fs::write(&file, format!("{alert}\n")).unwrap();
    for (arguments, input, body) in [
        (vec!["ask", "--file", file.to_str().unwrap()], "", alert),
        (vec!["ask"], alert, alert),
        (vec!["ask", "-"], "为什么？\n", r#"{"query":"为什么？"}"#),
        (vec!["ask", "--file", "-", "--session", "s1"], "why?", r#"{"query":"why?","session_id":"s1"}"#),
    ] {
        assert_eq!(server.run_with(&arguments, input).await.code, 0, "{arguments:?}");
        assert_eq!(server.asked().last().unwrap().body, body);
    }
    let before = server.lines().len();
    for arguments in
        [vec!["ask"], vec!["ask", "--file", "/nowhere"], vec!["ask", ""], vec!["ask", "--key", "k", "why"]]
    {
        let told = server.run(&arguments).await;
        assert_eq!((told.code, told.out.as_str()), (2, ""), "{told:?}");
    }
    assert_eq!(server.lines().len(), before, "nothing was sent");
}

#[tokio::test]
async fn ctrl_c_cancels_the_run() {
    for arguments in [["ask", "why", "--no-retry"], ["ask", "why", "--raw"]] {
        let script = [
            (CHAT, vec![Reply::GoesSilent(METADATA.to_owned())]),
            ("POST /api/runs/r1/cancel", vec![json(202, &stored("RUNNING"))]),
        ];
        let server = Server::start(script).await;
        let mut command = server.command(&arguments);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        // The first line, wherever it is printed, says that the stream has begun.
        let (mut out, mut err) =
            (BufReader::new(child.stdout.take().unwrap()), BufReader::new(child.stderr.take().unwrap()));
        let (mut one, mut two) = (String::new(), String::new());
        tokio::select! { _ = out.read_line(&mut one) => {}, _ = err.read_line(&mut two) => {} }
        let id = i32::try_from(child.id().unwrap()).unwrap();
        rustix::process::kill_process(
            rustix::process::Pid::from_raw(id).unwrap(),
            rustix::process::Signal::INT,
        )
        .unwrap();
        let status = tokio::time::timeout(Duration::from_secs(10), child.wait()).await.unwrap().unwrap();
        assert_eq!(status.code(), Some(130));
        assert_eq!(server.lines(), [CHAT, "POST /api/runs/r1/cancel"]);
    }
}

#[tokio::test]
async fn the_key_comes_from_the_environment_or_a_file() {
    let server = Server::start([(CHAT, vec![stream(&success())])]).await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("key");
    std::fs::write(&file, "from-file\n").unwrap();
    let file = file.to_str().unwrap();
    for (arguments, sent) in [
        (vec!["ask", "why"], "Bearer from-env"),
        (vec!["ask", "why", "--key-file", file], "Bearer from-file"),
    ] {
        let told =
            told(server.command(&arguments).env("SUPERBIZ_API_KEY", "from-env").output().await.unwrap());
        assert_eq!(told.code, 0, "{told:?}");
        assert_eq!(server.asked().last().unwrap().headers["authorization"], sent);
        assert!(!told.err.contains("from-"), "{}", told.err);
    }
    assert_eq!(server.run(&["ask", "why", "--key-file", "/nowhere"]).await.code, 2);
}
