//! Metrics as CloudWatch takes them from a log line (embedded metric format): no call, no agent, no dependency.

use std::io::Write;

use agent::ports::metrics::{Metrics, RunEnded};
use domain::release::Outcome;
use domain::tool::ToolName;
use serde_json::{Map, Value, json};

const NAMESPACE: &str = "SuperBizAgent";

/// Writes one line a metric set to standard output, where Lambda's logs are.
pub struct EmbeddedMetrics;

impl Metrics for EmbeddedMetrics {
    fn run_ended(&self, run: &RunEnded) {
        write(&lines(run, now_ms()));
    }
}

/// Stale runs that a sweep ended.
pub fn stale_runs_swept(runs: usize) {
    write(&[line(now_ms(), &[], &[("StaleRunsSwept", "Count", json!(runs))])]);
}

fn write(lines: &[Value]) {
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    // A metric that can't be written is no reason to fail what it counts.
    let _ = std::io::stdout().lock().write_all(text.as_bytes());
}

/// One line for each set of dimensions.
fn lines(run: &RunEnded, at: u64) -> Vec<Value> {
    let exhausted = run.reason == Some("BUDGET_EXHAUSTED");
    let mut all = vec![
        ("RunDurationMs", "Milliseconds", json!(run.duration_ms)),
        ("InputTokens", "Count", json!(run.input_tokens)),
        ("OutputTokens", "Count", json!(run.output_tokens)),
        ("AuditFailures", "Count", json!(run.audit_failures)),
        ("BudgetExhausted", "Count", json!(u8::from(exhausted))),
    ];
    all.extend(run.cost_nano_usd.map(|nano| ("CostUsd", "None", json!(nano as f64 / 1e9))));
    let one = json!(1);
    let mut lines = vec![line(at, &[], &all)];
    lines.push(line(at, &[("Outcome", run.outcome.as_str())], &[("RunsEnded", "Count", one.clone())]));
    if let (Outcome::Fallback, Some(reason)) = (run.outcome, run.reason) {
        lines.push(line(at, &[("Reason", reason)], &[("Fallbacks", "Count", one.clone())]));
    }
    for tool in &run.failed_tools {
        let name = tool.map_or("unknown", ToolName::as_str);
        lines.push(line(at, &[("Tool", name)], &[("ToolFailures", "Count", one.clone())]));
    }
    lines
}

fn line(at: u64, dimensions: &[(&str, &str)], metrics: &[(&str, &str, Value)]) -> Value {
    let names: Vec<&str> = dimensions.iter().map(|(name, _)| *name).collect();
    let described: Vec<Value> =
        metrics.iter().map(|(name, unit, _)| json!({ "Name": name, "Unit": unit })).collect();
    let directive = json!({ "Namespace": NAMESPACE, "Dimensions": [names], "Metrics": described });
    let mut line = Map::new();
    line.insert("_aws".to_owned(), json!({ "Timestamp": at, "CloudWatchMetrics": [directive] }));
    line.extend(dimensions.iter().map(|(name, value)| ((*name).to_owned(), json!(value))));
    line.extend(metrics.iter().map(|(name, _, value)| ((*name).to_owned(), value.clone())));
    Value::Object(line)
}

fn now_ms() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_counted_once_under_each_of_its_names() {
        let run = RunEnded {
            outcome: Outcome::Fallback,
            reason: Some("SEMANTIC_UNSUPPORTED"),
            duration_ms: 1500,
            input_tokens: 10,
            output_tokens: 2,
            cost_nano_usd: Some(1_500_000),
            failed_tools: vec![Some(ToolName::QueryLogs), None],
            audit_failures: 1,
        };
        let lines = lines(&run, 7);
        assert_eq!(lines.len(), 5);
        assert_eq!(
            lines[0],
            json!({
                "_aws": { "Timestamp": 7, "CloudWatchMetrics": [{
                    "Namespace": "SuperBizAgent", "Dimensions": [[]],
                    "Metrics": [
                        { "Name": "RunDurationMs", "Unit": "Milliseconds" }, { "Name": "InputTokens", "Unit": "Count" },
                        { "Name": "OutputTokens", "Unit": "Count" }, { "Name": "AuditFailures", "Unit": "Count" },
                        { "Name": "BudgetExhausted", "Unit": "Count" }, { "Name": "CostUsd", "Unit": "None" },
                    ],
                }] },
                "RunDurationMs": 1500, "InputTokens": 10, "OutputTokens": 2, "AuditFailures": 1, "BudgetExhausted": 0,
                "CostUsd": 0.0015,
            })
        );
        let named = |line: &Value, name: &str| line[name].as_str().map(str::to_owned);
        assert_eq!(named(&lines[1], "Outcome").as_deref(), Some("FALLBACK"));
        assert_eq!(named(&lines[2], "Reason").as_deref(), Some("SEMANTIC_UNSUPPORTED"));
        assert_eq!(named(&lines[3], "Tool").as_deref(), Some("query_logs"));
        assert_eq!(named(&lines[4], "Tool").as_deref(), Some("unknown"));
        let failed = RunEnded {
            outcome: Outcome::Failed,
            reason: Some("BUDGET_EXHAUSTED"),
            cost_nano_usd: None,
            failed_tools: vec![],
            ..run
        };
        let lines = super::lines(&failed, 7);
        assert_eq!(
            (lines.len(), &lines[0]["BudgetExhausted"], &lines[0]["CostUsd"]),
            (2, &json!(1), &Value::Null)
        );
    }
}
