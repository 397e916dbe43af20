//! `trace`: what a run did, what it took and what it cost. Metadata only; the service keeps nothing else.

use serde_json::Value;

use crate::client::Api;
use crate::exit::{Exit, Fault};
use crate::fields::{duration, flag, list, number, shown, some_text, text};
use crate::page::Page;
use crate::runs;
use crate::screen::Screen;

pub async fn run(api: &Api, run: &str, screen: Screen) -> Result<Exit, Fault> {
    let trace = api.get(api.of_run(run, &["trace"])).await?;
    if screen.json {
        screen.document(&trace)?;
        return Ok(Exit::Success);
    }
    let mut page = screen.page();
    render(&mut page, &trace);
    screen.show(page)?;
    Ok(Exit::Success)
}

fn render(page: &mut Page, trace: &Value) {
    runs::head(page, trace.get("run").unwrap_or(&Value::Null));
    page.heading("MODEL CALLS");
    let steps: Vec<Vec<String>> = list(trace, "steps").iter().map(step).collect();
    page.table(
        &[">#", "kind", ">took", ">in", ">cached", ">out", ">reasoning", ">usd", "model", "result"],
        &steps,
    );
    page.heading("TOOL CALLS");
    let calls: Vec<Vec<String>> = list(trace, "tool_invocations").iter().map(call).collect();
    page.table(&[">#", "tool", "status", ">took", ">request", ">result", "evidence"], &calls);
    page.heading("BUDGET");
    budget(page, trace.get("budget").unwrap_or(&Value::Null));
    page.heading("THE REST");
    let cost = trace.get("cost_usd").and_then(Value::as_f64);
    page.item(
        "  cost                 ",
        &cost.map_or("no price is known".to_owned(), |usd| format!("${usd:.6}")),
    );
    if let Some(count) = trace.get("ungrounded_literals").filter(|count| !count.is_null()) {
        page.item("  ungrounded literals  ", &shown(count));
    }
    page.item("  citations repaired   ", if flag(trace, "repaired") { "yes" } else { "no" });
}

fn step(step: &Value) -> Vec<String> {
    let tools = some_text(step, "tool_names").map(|tools| format!("asks for {tools}"));
    let result =
        some_text(step, "error_code").map(str::to_owned).or(tools).unwrap_or_else(|| "text".to_owned());
    let attempt = number(step, "attempt");
    let again = if attempt > 1 { format!(" (attempt {attempt})") } else { String::new() };
    let estimated = if flag(step, "usage_estimated") { "~" } else { "" };
    let usd = step.get("cost_usd").and_then(Value::as_f64).map_or("-".to_owned(), |usd| format!("{usd:.6}"));
    vec![
        number(step, "sequence").to_string(),
        text(step, "kind").to_owned(),
        duration(number(step, "duration_ms")),
        format!("{estimated}{}", number(step, "input_tokens")),
        number(step, "cached_tokens").to_string(),
        format!("{estimated}{}", number(step, "output_tokens")),
        number(step, "reasoning_tokens").to_string(),
        usd,
        text(step, "model").to_owned(),
        format!("{result}{again}"),
    ]
}

fn call(call: &Value) -> Vec<String> {
    let result = some_text(call, "error_code").or_else(|| some_text(call, "evidence_status")).unwrap_or("-");
    vec![
        number(call, "sequence").to_string(),
        some_text(call, "tool").unwrap_or("unknown").to_owned(),
        text(call, "status").to_owned(),
        duration(number(call, "duration_ms")),
        format!("{} B", number(call, "request_bytes")),
        format!("{} B", number(call, "result_bytes")),
        result.to_owned(),
    ]
}

fn budget(page: &mut Page, budget: &Value) {
    let (limits, used) =
        (budget.get("limits").unwrap_or(&Value::Null), budget.get("used").unwrap_or(&Value::Null));
    let names = limits.as_object().into_iter().flatten().map(|(name, _)| name);
    let row = |name: &String| {
        let (used, limit) = (number(used, name), number(limits, name));
        let share = used.saturating_mul(100).checked_div(limit).unwrap_or(0);
        vec![name.replace('_', " "), used.to_string(), limit.to_string(), format!("{share} %")]
    };
    page.table(&["", ">used", ">limit", ">share"], &names.map(row).collect::<Vec<_>>());
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::page::Paint;

    #[test]
    fn a_trace() {
        let trace = json!({
            "run": { "run_id": "r", "session_id": "s", "query": "why?", "status": "SUCCESS", "intent": "DIAGNOSIS", "started_at": "2026-12-01T01:00:00Z", "ended_at": "2026-12-01T01:00:04Z" },
            "budget": { "limits": { "input_tokens": 120000, "model_calls": 12 }, "used": { "input_tokens": 4200, "model_calls": 3 } },
            "ungrounded_literals": 2, "repaired": false, "cost_usd": 0.0123,
            "steps": [
                { "sequence": 1, "kind": "ROUTE", "model": "m-1", "tool_names": "", "input_tokens": 900, "output_tokens": 12, "cached_tokens": 0, "reasoning_tokens": 0, "cost_usd": 0.0003, "usage_estimated": false, "duration_ms": 410, "attempt": 1, "error_code": null },
                { "sequence": 2, "kind": "DIAGNOSE", "model": "m-1", "tool_names": "query_logs,query_mysql", "input_tokens": 3300, "output_tokens": 240, "cached_tokens": 800, "reasoning_tokens": 100, "cost_usd": 0.012, "usage_estimated": true, "duration_ms": 2310, "attempt": 2, "error_code": null } ],
            "tool_invocations": [
                { "sequence": 1, "tool": "query_logs", "status": "READY", "evidence_status": "EVIDENCE_FOUND", "error_code": null, "duration_ms": 120, "request_bytes": 140, "result_bytes": 5300 },
                { "sequence": 2, "tool": null, "status": "FAILED", "evidence_status": null, "error_code": "UNKNOWN_TOOL", "duration_ms": 0, "request_bytes": 12, "result_bytes": 0 } ] });
        let mut page = Page::new(120, Paint(false));
        render(&mut page, &trace);
        assert_eq!(
            page.into_text(),
            "\
run      r
session  s
query    why?
status   SUCCESS, DIAGNOSIS
started  2026-12-01T01:00:00Z, took 4.0 s

MODEL CALLS
  #  kind        took     in  cached   out  reasoning       usd  model  result
  1  ROUTE     410 ms    900       0    12          0  0.000300  m-1    text
  2  DIAGNOSE   2.3 s  ~3300     800  ~240        100  0.012000  m-1    asks for query_logs,query_mysql (attempt 2)

TOOL CALLS
  #  tool        status    took  request  result  evidence
  1  query_logs  READY   120 ms    140 B  5300 B  EVIDENCE_FOUND
  2  unknown     FAILED    0 ms     12 B     0 B  UNKNOWN_TOOL

BUDGET
                used   limit  share
  input tokens  4200  120000    3 %
  model calls      3      12   25 %

THE REST
  cost                 $0.012300
  ungrounded literals  2
  citations repaired   no
"
        );
    }
}
