//! The result of a run as a readable page: report, runbook answer, reply, fallback or failure.

use serde_json::Value;

use crate::fields::{flag, joined, list, number, short_time, shown, some_text, text};
use crate::page::Page;
use crate::plain;
use crate::withheld;

/// The released body of a run.
pub fn body(page: &mut Page, body: &Value) {
    match text(body, "kind") {
        "DIAGNOSIS_REPORT" => diagnosis(page, body),
        "KNOWLEDGE_ANSWER" => knowledge(page, body),
        "SYSTEM_REPLY" => page.item("", text(body, "text")),
        "SAFE_FALLBACK" => withheld::fallback(page, body),
        _ => {
            page.heading("RESULT (of a kind that this client does not know)");
            page.item("  ", &plain::json(body));
        }
    }
}

fn diagnosis(page: &mut Page, body: &Value) {
    page.heading("CONCLUSION");
    match body.get("conclusion").filter(|conclusion| conclusion.is_object()) {
        Some(conclusion) => page.item("  ", &with_basis(conclusion)),
        None => page.item(
            "  ",
            "None: the evidence does not prove a cause. What was found and what is missing is below.",
        ),
    }
    if !list(body, "analyses").is_empty() {
        page.heading("FINDINGS");
    }
    for analysis in list(body, "analyses") {
        let negative = text(analysis, "kind") == "NEGATIVE_OBSERVATION";
        let mark = if negative { "(looked for, not found) " } else { "" };
        let lead = format!("  [{}] ", text(analysis, "analysis_id"));
        page.item(&lead, &format!("{mark}{}", text(analysis, "text")));
        for source in list(analysis, "sources") {
            page.aside("       ", &source_line(source));
        }
    }
    numbered(page, "ACTIONS", list(body, "actions"));
    numbered(page, "RECOMMENDATIONS", list(body, "recommendations"));
    let limits = body.get("limitations").unwrap_or(&Value::Null);
    let (missing, caveats) = (list(limits, "missing_info"), list(limits, "caveats"));
    if missing.len() + caveats.len() > 0 {
        page.heading("LIMITATIONS");
    }
    missing.iter().for_each(|missing| page.item("  - missing: ", &shown(missing)));
    caveats.iter().for_each(|caveat| page.item("  - ", &shown(caveat)));
}

fn numbered(page: &mut Page, heading: &str, items: &[Value]) {
    if !items.is_empty() {
        page.heading(heading);
    }
    for (i, item) in items.iter().enumerate() {
        let confirm = flag(item, "requires_human_confirmation");
        let mark = if confirm { "[NEEDS A PERSON'S CONFIRMATION] " } else { "" };
        page.item(&format!("  {}. ", i + 1), &format!("{mark}{}", with_basis(item)));
    }
}

fn with_basis(item: &Value) -> String {
    let basis = joined(item, "based_on_analysis_ids");
    if basis.is_empty() { text(item, "text").to_owned() } else { format!("{} ({basis})", text(item, "text")) }
}

/// `LOGS app-logs: service=payment-gateway level=ERROR …, as of 2026-…`
pub fn source_line(source: &Value) -> String {
    let mut line = place(source);
    let scope = source.get("scope").map(scope_words).unwrap_or_default();
    if !scope.is_empty() {
        line.push_str(&format!(": {scope}"));
    }
    if let Some(time) = some_text(source, "timestamp") {
        line.push_str(&format!("; as of {}", short_time(time)));
    }
    line
}

pub fn place(source: &Value) -> String {
    format!("{} {}", text(source, "source_type"), text(source, "source"))
}

/// Fields in the order in which they are read; the others follow by name.
const FIRST: [&str; 11] = [
    "service",
    "level",
    "query",
    "start",
    "end",
    "sql",
    "params",
    "document_id",
    "version",
    "section",
    "count",
];

/// How the source was asked: SQL as it is, anything else as names and values.
pub fn scope_words(scope: &Value) -> String {
    let Some(fields) = scope.as_object() else { return String::new() };
    let mut told: Vec<(&String, &Value)> = fields
        .iter()
        .filter(|(_, value)| match value {
            Value::Null => false,
            Value::String(text) => !text.is_empty(),
            Value::Array(items) => !items.is_empty(),
            _ => true,
        })
        .collect();
    told.sort_by_key(|(name, _)| FIRST.iter().position(|first| first == name).unwrap_or(FIRST.len()));
    told.into_iter()
        .map(|(name, value)| if name == "sql" { shown(value) } else { format!("{name}={}", shown(value)) })
        .collect::<Vec<_>>()
        .join(" ")
}

fn knowledge(page: &mut Page, body: &Value) {
    page.heading("ANSWER");
    for statement in list(body, "statements") {
        page.item("  ", &format!("{} [{}]", text(statement, "text"), joined(statement, "citations")));
    }
    if !list(body, "sources").is_empty() {
        page.heading("SOURCES");
    }
    for source in list(body, "sources") {
        let section = some_text(source, "section").map(|section| format!(", {section}")).unwrap_or_default();
        let (id, version) = (text(source, "document_id"), number(source, "version"));
        let lead = format!("  [{}] ", number(source, "n"));
        page.item(&lead, &format!("{}{section} ({id}, version {version})", text(source, "title")));
        page.aside("      ", text(source, "source"));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::page::Paint;

    fn rendered(value: &Value) -> String {
        let mut page = Page::new(72, Paint(false));
        body(&mut page, value);
        page.into_text()
    }

    #[test]
    fn a_report() {
        let report = json!({
            "kind": "DIAGNOSIS_REPORT",
            "conclusion": { "text": "支付网关在 00:56 起出现 GATEWAY_TIMEOUT，渠道 acquirer-b 超时。", "based_on_analysis_ids": ["a1", "a2"] },
            "analyses": [
                { "analysis_id": "a1", "kind": "NORMAL", "text": "39 errors \u{1b}[2Jsaid GATEWAY_TIMEOUT.", "sources": [
                    { "source_type": "LOGS", "source": "app-logs", "scope": { "service": "payment-gateway", "level": "ERROR", "query": null, "start": "2026-11-30T23:21:32.886990031Z" }, "timestamp": "2026-12-01T01:19:56.096Z" },
                    { "source_type": "MYSQL", "source": "orders", "scope": { "sql": "SELECT COUNT(*) FROM payments WHERE state = ?", "params": ["FAILED"] }, "timestamp": null } ] },
                { "analysis_id": "a2", "kind": "NEGATIVE_OBSERVATION", "text": "No deployment.", "sources": [] } ],
            "actions": [
                { "text": "Switch acquirer-b off.", "requires_human_confirmation": true, "based_on_analysis_ids": ["a1"] },
                { "text": "Call the channel.", "requires_human_confirmation": false, "based_on_analysis_ids": [] } ],
            "recommendations": [{ "text": "Add a circuit breaker.", "based_on_analysis_ids": ["a1"] }],
            "limitations": { "missing_info": ["The channel's status page"], "caveats": ["One hour only"] } });
        assert_eq!(
            rendered(&report),
            "\
CONCLUSION
  支付网关在 00:56 起出现 GATEWAY_TIMEOUT，渠道 acquirer-b 超时。 (a1,
  a2)

FINDINGS
  [a1] 39 errors said GATEWAY_TIMEOUT.
       LOGS app-logs: service=payment-gateway level=ERROR
       start=2026-11-30T23:21:32Z; as of 2026-12-01T01:19:56Z
       MYSQL orders: SELECT COUNT(*) FROM payments WHERE state = ?
       params=[\"FAILED\"]
  [a2] (looked for, not found) No deployment.

ACTIONS
  1. [NEEDS A PERSON'S CONFIRMATION] Switch acquirer-b off. (a1)
  2. Call the channel.

RECOMMENDATIONS
  1. Add a circuit breaker. (a1)

LIMITATIONS
  - missing: The channel's status page
  - One hour only
"
        );
    }

    #[test]
    fn a_report_without_a_conclusion_says_so() {
        let report = json!({ "kind": "DIAGNOSIS_REPORT", "conclusion": null, "analyses": [], "actions": [], "recommendations": [],
            "limitations": { "missing_info": ["logs of checkout"], "caveats": [] } });
        assert_eq!(
            rendered(&report),
            "\
CONCLUSION
  None: the evidence does not prove a cause. What was found and what is
  missing is below.

LIMITATIONS
  - missing: logs of checkout
"
        );
    }

    #[test]
    fn a_runbook_answer_and_a_reply() {
        let answer = json!({ "kind": "KNOWLEDGE_ANSWER",
            "statements": [{ "text": "先联系渠道值班。", "citations": [1, 2] }],
            "sources": [{ "n": 1, "document_id": "pay", "version": 3, "title": "支付手册", "section": "升级", "source": "https://wiki/pay" },
                        { "n": 2, "document_id": "esc", "version": 1, "title": "Escalation", "section": "", "source": "" }] });
        assert_eq!(
            rendered(&answer),
            "\
ANSWER
  先联系渠道值班。 [1, 2]

SOURCES
  [1] 支付手册, 升级 (pay, version 3)
      https://wiki/pay
  [2] Escalation (esc, version 1)
"
        );
        assert_eq!(rendered(&json!({ "kind": "SYSTEM_REPLY", "text": "I diagnose." })), "I diagnose.\n");
    }

    #[test]
    fn a_kind_from_the_future_is_shown_as_it_is() {
        assert!(rendered(&json!({ "kind": "POEM", "text": "x" })).contains("POEM"));
    }
}
