//! The log tool from arguments to projection, over folders of files.

use std::io::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};

use agent::ports::{EvidenceTool, ToolFailure};
use domain::events::FailureCode;
use domain::evidence::EvidenceStatus;
use domain::tool::ToolErrorCode;
use serde_json::{Value, json};

use super::scenario_tests::{call, run, tool};
use super::*;

fn folder(files: &[(&str, &str)]) -> (tempfile::TempDir, LogsTool) {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    let services = vec!["shop".to_owned(), "Mailer".to_owned()];
    let source = FolderSource::new("files".into(), "test".into(), folder.path().into(), services);
    (folder, LogsTool::new(vec![Arc::new(source)]))
}

fn all_of(service: &str) -> Value {
    json!({"service": service, "start": "06:00", "end": "06:30"})
}

async fn told(tool: &LogsTool, arguments: Value) -> (ToolErrorCode, String) {
    match tool.run(call(arguments, 8_192)).await {
        Err(ToolFailure::Tell { code, message }) => (code, message),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn plain_broken_and_continued_lines_are_kept_counted_and_placed() {
    let (_folder, tool) = folder(&[
        (
            "shop.log",
            "lost in time\n2026-11-30T06:05:00Z ERROR boom\n\tat shop.Checkout(Checkout.java:1)\r\n\n2026-11-30T05:00:00Z INFO too early\n",
        ),
        (
            "mixed.jsonl",
            concat!(
                "{\"timestamp\":\"2026-11-30T06:06:00Z\",\"service\":\"shop\",\"level\":\"warning\",\"message\":\"slow\"}\n",
                "{\"timestamp\":\"2026-11-30T06:0\n",
                "{\"timestamp\":\"2026-11-30T06:07:00Z\",\"service\":\"secret-service\",\"message\":\"not configured\"}\n",
            ),
        ),
        ("notes.md", "2026-11-30T06:05:00Z ERROR not a log file\n"),
    ]);
    let result = run(&tool, all_of("shop"), 8_192).await;
    let mut lines: Vec<(&str, Option<&str>, &str)> =
        result.events.iter().map(|e| (e.timestamp.as_str(), e.level.as_deref(), e.message.trim())).collect();
    lines.sort_unstable();
    assert_eq!(
        lines,
        [
            (
                "2026-11-30T06:05:00Z",
                Some("ERROR"),
                "2026-11-30T06:05:00Z ERROR boom\n\tat shop.Checkout(Checkout.java:1)"
            ),
            ("2026-11-30T06:06:00Z", Some("WARN"), "slow"),
        ]
    );
    assert_eq!(
        result.notes,
        ["1 broken lines were left out", "1 lines without a time could not be placed and were left out"]
    );
    assert!(!result.truncated);
    let all = run(&tool, all_of("*"), 8_192).await;
    assert_eq!(all.matched, 2, "services that aren't configured stay out");
}

#[tokio::test]
async fn unknown_services_and_windows_are_refused_with_what_would_be_right() {
    let tool = tool("greeting");
    let (code, message) = told(&tool, all_of("paymentgateway")).await;
    assert_eq!(code, ToolErrorCode::UnknownSource);
    assert!(message.contains("checkout-service, order-service, payment-gateway; * means all"), "{message}");
    let (code, message) = told(&tool, json!({"service": "*", "start": "-8d", "end": "now"})).await;
    assert_eq!((code, message.contains("longer than 7 days")), (ToolErrorCode::InvalidArguments, true));
    assert!(run(&tool, all_of("PAYMENT-GATEWAY"), 8_192).await.scope.service == "payment-gateway");
}

#[tokio::test]
async fn a_cancelled_call_ends_the_run_and_a_late_one_is_a_timeout() {
    let tool = tool("payment-timeout");
    let cancelled = call(all_of("*"), 8_192);
    cancelled.cancelled.cancel();
    assert!(matches!(tool.run(cancelled).await, Err(ToolFailure::End(FailureCode::RunCancelled))));
    let mut late = call(all_of("*"), 8_192);
    late.timeout = Duration::ZERO;
    assert!(matches!(tool.run(late).await, Err(ToolFailure::Tell { code: ToolErrorCode::Timeout, .. })));
}

#[tokio::test]
async fn a_folder_that_is_gone_is_told_without_its_path() {
    let (folder, tool) = folder(&[]);
    assert_eq!(run(&tool, all_of("shop"), 8_192).await.evidence_status, EvidenceStatus::NoEvidence);
    drop(folder);
    let (code, message) = told(&tool, all_of("shop")).await;
    assert_eq!(
        (code, message.as_str()),
        (ToolErrorCode::SourceUnavailable, "the log source files can't be read now; use other evidence")
    );
}

#[tokio::test]
async fn small_limits_shorten_texts_before_they_lose_patterns() {
    let tool = tool("injected-instructions");
    let arguments = json!({"service": "*", "level": "WARN", "start": "-2h", "end": "now", "limit": 200});
    let whole = run(&tool, arguments.clone(), 1 << 20).await;
    let small = run(&tool, arguments.clone(), 8_192).await;
    assert_eq!(small.patterns.len(), whole.patterns.len());
    assert!(small.truncated && small.events.len() < whole.events.len());
    assert!(matches!(
        tool.run(call(arguments, 64)).await,
        Err(ToolFailure::Tell { code: ToolErrorCode::ResultUnusable, .. })
    ));
}

#[tokio::test]
async fn secrets_in_messages_never_leave() {
    let line = |message: &str| {
        json!({"timestamp": "2026-11-30T06:10:00Z", "service": "shop", "message": message}).to_string()
    };
    let text = [
        line("login password=hunter2secret of tom@example.org"),
        line("login password=hunter3secret of ana@example.org"),
        // What a source calls a trace id is its text like any other.
        json!({"timestamp": "2026-11-30T06:11:00Z", "service": "shop", "message": "m", "trace_id": "eve@example.org\u{202e}"}).to_string(),
        // A secret that lies across the cut.
        line(&format!("{} AKIAFAKEFAKEFAKEFAKE {}", "word ".repeat(407), "word ".repeat(300))),
    ]
    .join("\n");
    let (_folder, tool) = folder(&[("shop.jsonl", &text)]);
    let output = tool.run(call(all_of("shop"), 8_192)).await.unwrap();
    let shown = serde_json::to_string(&output.projection).unwrap() + output.raw_response.unwrap().get();
    for secret in ["hunter2", "hunter3", "tom@", "ana@", "eve@", "\u{202e}", "AKIA"] {
        assert!(!shown.contains(secret), "{secret}: {shown}");
    }
}

#[tokio::test]
async fn nothing_found_in_a_part_is_no_absence() {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    for n in 0..5000 {
        writeln!(encoder, "2026-11-30T06:05:00Z ERROR event {n} {:x}", n * 7919).unwrap();
    }
    let bytes = encoder.finish().unwrap();
    let (folder, tool) = folder(&[]);
    std::fs::write(folder.path().join("shop.log.gz"), &bytes[..bytes.len() / 2]).unwrap();
    let found = run(&tool, all_of("shop"), 8_192).await;
    assert!(found.truncated && found.matched > 0);
    let (code, message) =
        told(&tool, json!({"service": "shop", "query": "deadlock", "start": "06:00", "end": "06:30"})).await;
    assert_eq!(code, ToolErrorCode::SourceUnavailable);
    assert!(message.contains("nothing can be said"), "{message}");
}

/// Run with `--release -- --ignored --nocapture`: prints what a query over 200,000 lines costs.
#[tokio::test]
#[ignore = "a measurement"]
async fn two_hundred_thousand_lines() {
    let mut text = String::new();
    for i in 0..200_000u64 {
        let at = super::instant::show(
            super::scenario_tests::NOW - time::Duration::milliseconds((200_000 - i) as i64 * 30),
        );
        let level = if i % 50 == 0 { "ERROR" } else { "INFO" };
        let message = format!(
            "Charge order={} channel=acquirer-{} step{} took {} ms, {} of 支付渠道",
            88_000_000 + i,
            i % 3,
            i % 90,
            i % 977,
            i % 7
        );
        let line = json!({"timestamp": at, "level": level, "service": "shop", "message": message, "trace_id": format!("{:016x}", i * 7919), "pod": "shop-k7xqp", "thread": "http-nio-8080-exec-3"});
        text.push_str(&format!("{line}\n"));
    }
    let (_folder, tool) = folder(&[("shop.jsonl", &text)]);
    let bytes = text.len();
    drop(text);
    for arguments in [
        json!({"service": "*", "start": "-1d", "end": "now", "limit": 200}),
        json!({"service": "shop", "query": "支付渠道 took", "level": "ERROR", "start": "-1d", "end": "now"}),
    ] {
        let started = Instant::now();
        let result = run(&tool, arguments, 65_536).await;
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let peak = status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or_default().to_owned();
        println!(
            "{bytes} bytes, {} matched, {} patterns: {:?}, {peak}",
            result.matched,
            result.patterns.len(),
            started.elapsed()
        );
    }
}
