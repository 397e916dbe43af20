//! Log search on the scenarios' own files.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use agent::ports::{EvidenceTool, ToolCallContext};
use domain::evidence::{EvidenceStatus, Projection, QueryLogsToolResult};
use domain::ids::ToolCallId;
use domain::tool::ToolName;
use serde_json::{Value, json};
use time::macros::datetime;

use super::*;

pub const NOW: time::OffsetDateTime = datetime!(2026-11-30 06:30 UTC);

pub fn call(arguments: Value, max_bytes: usize) -> ToolCallContext {
    ToolCallContext {
        id: ToolCallId::parse("c1").unwrap(),
        arguments,
        max_bytes,
        timeout: Duration::from_secs(60),
        now: NOW,
        cancelled: tokio_util::sync::CancellationToken::new(),
        pseudonyms: Default::default(),
    }
}

/// The scenario's log source, with the services its files are named after.
pub fn tool(scenario: &str) -> LogsTool {
    let folder =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/scenarios").join(scenario).join("logs");
    let mut services: Vec<String> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path().file_stem().unwrap().to_string_lossy().into_owned())
        .collect();
    services.sort();
    let source =
        FolderSource::new("app-logs".into(), "Application logs\nof the shop".into(), folder, services);
    LogsTool::new(vec![Arc::new(source)])
}

pub async fn run(tool: &LogsTool, arguments: Value, max_bytes: usize) -> QueryLogsToolResult {
    tool.check(&arguments).unwrap();
    let output = tool.run(call(arguments, max_bytes)).await.unwrap();
    assert!(output.projection.status_fits_content());
    assert!(output.raw_response.unwrap().get().len() <= 64 * 1024);
    let (projection, json) = output.projection.to_bounded_json(max_bytes).unwrap();
    assert_eq!(Projection::parse(ToolName::QueryLogs, &json).unwrap(), projection);
    let Projection::Logs(result) = projection else { panic!("wrong kind") };
    result
}

/// Scenario, service, level, and what the result must contain.
const FINDS: [(&str, &str, &str, &[&str]); 10] = [
    ("payment-timeout", "payment-gateway", "WARN", &["acquirer-b", "GATEWAY_TIMEOUT"]),
    ("payment-timeout", "checkout-service", "ERROR", &["payment-gateway answered 504 PAYMENT_TIMEOUT"]),
    (
        "payment-timeout",
        "*",
        "ERROR",
        &["acquirer-b", "GATEWAY_TIMEOUT", "payment-gateway answered 504 PAYMENT_TIMEOUT"],
    ),
    ("pool-exhaustion", "order-service", "WARN", &["HikariPool-1 - Connection is not available"]),
    ("config-rollout", "pricing-service", "WARN", &["context deadline exceeded after 8ms"]),
    ("config-rollout", "config-agent", "INFO", &["pricing.promotion_client.timeout_ms 800 -> 8"]),
    ("config-rollout", "checkout-service", "WARN", &["PRICE_UNAVAILABLE"]),
    ("red-herring", "checkout-service", "ERROR", &["certificate expired, NotAfter 2026-11-30T06:05:00Z"]),
    ("red-herring", "*", "WARN", &["certificate expired, NotAfter 2026-11-30T06:05:00Z"]),
    ("injected-instructions", "shipping-service", "ERROR", &["QUOTA_EXCEEDED", "carrier-k"]),
];

#[tokio::test]
async fn the_evidence_of_each_incident_is_found_within_8_kib() {
    for (scenario, service, level, wanted) in FINDS {
        let arguments = json!({"service": service, "level": level, "start": "-2h", "end": "now"});
        let result = run(&tool(scenario), arguments, 8_192).await;
        let text = serde_json::to_string(&result).unwrap();
        for word in wanted {
            assert!(text.contains(word), "{scenario} {service} {level}: {word} is not in {text}");
        }
        assert_eq!(result.evidence_status, EvidenceStatus::EvidenceFound);
    }
}

#[tokio::test]
async fn counts_are_exact_and_the_failing_pattern_leads() {
    let arguments =
        json!({"service": "payment-gateway", "query": "GATEWAY_TIMEOUT", "start": "06:00", "end": "06:30"});
    let result = run(&tool("payment-timeout"), arguments, 8_192).await;
    assert_eq!((result.matched, result.patterns.len()), (39, 1), "{result:#?}");
    let pattern = &result.patterns[0];
    assert_eq!(pattern.count, 39);
    assert_eq!(
        pattern.template,
        "Charge order=<*> channel=acquirer-b failed: GATEWAY_TIMEOUT after <*> ms, attempt <*> of <*>"
    );
    assert!(pattern.first_seen.starts_with("2026-11-30T06:05:") && pattern.sample.contains("order=88041305"));
    assert_eq!(
        (result.scope.start.as_str(), result.scope.end.as_str()),
        ("2026-11-30T06:00:00Z", "2026-11-30T06:30:00Z")
    );
    assert!(result.truncated && result.events[0].timestamp > result.events[1].timestamp);
    assert!(result.events[0].trace_id.is_some());
}

#[tokio::test]
async fn a_trace_id_is_found_across_services() {
    let arguments = json!({"service": "*", "query": "5add253187a012d0", "start": "-2h", "end": "now"});
    let result = run(&tool("payment-timeout"), arguments, 8_192).await;
    let services: std::collections::BTreeSet<_> =
        result.events.iter().map(|event| event.service.as_str()).collect();
    assert!(services.contains("checkout-service") && services.contains("payment-gateway"), "{services:?}");
    assert_eq!(result.scope.service, "*");
    assert!(
        result
            .patterns
            .iter()
            .any(|pattern| pattern.template.starts_with("payment-gateway: Charge order=<*>"))
    );
}

#[tokio::test]
async fn rising_errors_come_before_the_noise_of_the_whole_morning() {
    let arguments = json!({"service": "*", "level": "ERROR", "start": "-2h", "end": "now"});
    let result = run(&tool("red-herring"), arguments, 16_384).await;
    let place =
        |text: &str| result.patterns.iter().position(|pattern| pattern.template.contains(text)).unwrap();
    assert!(place("certificate expired") < place("feature store lookup failed"), "{:#?}", result.patterns);
}

#[tokio::test]
async fn silence_and_filtered_out_are_told_apart() {
    let silent =
        run(&tool("missing-log"), json!({"service": "refund-service", "start": "-2h", "end": "now"}), 8_192)
            .await;
    assert_eq!((silent.evidence_status, silent.matched), (EvidenceStatus::NoEvidence, 0));
    assert_eq!(silent.scope.service, "refund-service");
    assert_eq!(silent.notes[0], "there is no line at all within the window");
    assert!(
        silent.notes[1]
            .starts_with("the last line of refund-service before the window is from 2026-11-30T04:2"),
        "{:?}",
        silent.notes
    );
    let healthy = json!({"service": "checkout-service", "level": "ERROR", "start": "-2h", "end": "now"});
    let healthy = run(&tool("healthy-system"), healthy, 8_192).await;
    assert_eq!(healthy.evidence_status, EvidenceStatus::NoEvidence);
    assert!(
        healthy.notes[0].ends_with("lines lie within the window, but none of them passes level and query")
    );
}

#[tokio::test]
async fn mail_addresses_of_customers_are_masked_everywhere() {
    let tool = tool("payment-timeout");
    let arguments = json!({"service": "notification-service", "query": "mailbox", "start": "-2h", "end": "now", "limit": 200});
    let output = tool.run(call(arguments, 65_536)).await.unwrap();
    let text = serde_json::to_string(&output.projection).unwrap() + output.raw_response.unwrap().get();
    assert!(text.contains("[email:1]") && !text.contains("@example"), "{text}");
}

#[test]
fn the_description_lists_sources_and_services_line_by_line() {
    let text = tool("greeting").description();
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines.contains(&"source: app-logs — Application logs of the shop"));
    for service in ["checkout-service", "order-service", "payment-gateway"] {
        assert!(lines.contains(&format!("service: {service}").as_str()), "{text}");
    }
}
