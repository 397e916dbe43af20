//! What is shown where nothing was released: a safe fallback with what was tried, or a failure.

use serde_json::Value;

use crate::fields::{flag, list, some_text, text};
use crate::page::Page;
use crate::report::source_line;

pub fn failure(page: &mut Page, failure: &Value) {
    page.heading(&format!("FAILED: {}", text(failure, "code")));
    page.item("  ", text(failure, "message"));
    let again = if flag(failure, "retryable") { "may help" } else { "will not help" };
    page.item("  ", &format!("Asking the same again {again}."));
}

pub fn fallback(page: &mut Page, body: &Value) {
    page.heading(&format!("NO VERIFIED ANSWER: {}", text(body, "reason_code")));
    page.item("  ", text(body, "message"));
    if !list(body, "verified_sources").is_empty() {
        page.heading("VERIFIED SOURCES");
    }
    for source in list(body, "verified_sources") {
        page.item("  - ", &source_line(source));
    }
    page.heading("WHAT WAS TRIED");
    for attempt in list(body, "attempted") {
        page.item("  - ", &attempt_line(attempt));
    }
    if list(body, "attempted").is_empty() {
        page.item("  ", "No tool was called.");
    }
}

fn attempt_line(attempt: &Value) -> String {
    let tool = some_text(attempt, "tool").unwrap_or("a tool that does not exist");
    let result = match (some_text(attempt, "evidence_status"), some_text(attempt, "error_code")) {
        (Some("EVIDENCE_FOUND"), _) => "evidence found".to_owned(),
        (Some("NO_EVIDENCE"), _) => "nothing found".to_owned(),
        (Some(other), _) => other.to_owned(),
        (None, Some(code)) => format!("failed, {code}"),
        (None, None) => "no result".to_owned(),
    };
    format!("{tool}: {result}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::page::Paint;
    use crate::report::body;

    fn rendered(value: &Value) -> String {
        let mut page = Page::new(72, Paint(false));
        body(&mut page, value);
        page.into_text()
    }

    #[test]
    fn a_fallback_says_what_was_tried() {
        let fallback = json!({ "kind": "SAFE_FALLBACK", "reason_code": "SEMANTIC_UNSUPPORTED", "conclusion": null, "message": "Withheld.",
            "verified_sources": [{ "source_type": "LOGS", "source": "app-logs", "timestamp": "2026-12-01T01:19:56.096Z" }],
            "attempted": [{ "tool": "query_logs", "evidence_status": "EVIDENCE_FOUND" }, { "tool": "query_mysql", "error_code": "SQL_REFUSED" }, { "error_code": "UNKNOWN_TOOL" }] });
        assert_eq!(
            rendered(&fallback),
            "\
NO VERIFIED ANSWER: SEMANTIC_UNSUPPORTED
  Withheld.

VERIFIED SOURCES
  - LOGS app-logs; as of 2026-12-01T01:19:56Z

WHAT WAS TRIED
  - query_logs: evidence found
  - query_mysql: failed, SQL_REFUSED
  - a tool that does not exist: failed, UNKNOWN_TOOL
"
        );
    }

    #[test]
    fn a_failure() {
        let mut page = Page::new(72, Paint(false));
        failure(&mut page, &json!({ "code": "BUDGET_EXHAUSTED", "message": "Used up.", "retryable": false }));
        assert_eq!(
            page.into_text(),
            "FAILED: BUDGET_EXHAUSTED\n  Used up.\n  Asking the same again will not help.\n"
        );
    }
}
