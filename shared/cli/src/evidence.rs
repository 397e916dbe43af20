//! `evidence`: what each statement of a released report rests on, as the sources returned it.

use serde_json::Value;

use crate::client::Api;
use crate::exit::{Exit, Fault};
use crate::fields::{flag, list, number, short_time, shown, some_text, text};
use crate::page::Page;
use crate::report::{place, scope_words};
use crate::screen::Screen;

pub async fn run(api: &Api, run: &str, screen: Screen) -> Result<Exit, Fault> {
    let evidence = api.get(api.of_run(run, &["evidence"])).await?;
    if screen.json {
        screen.document(&evidence)?;
        return Ok(Exit::Success);
    }
    // The evidence names its analyses only; what they say is in the run.
    let run = api.get(api.of_run(run, &[])).await?;
    let mut page = screen.page();
    render(&mut page, &evidence, run.get("body").unwrap_or(&Value::Null));
    screen.show(page)?;
    Ok(Exit::Success)
}

fn render(page: &mut Page, evidence: &Value, body: &Value) {
    for analysis in list(evidence, "analyses") {
        let id = text(analysis, "analysis_id");
        page.gap();
        page.item(&format!("[{id}] "), claim(body, id).unwrap_or("(its text is not known)"));
        for piece in list(analysis, "evidence") {
            one(page, piece);
        }
        if list(analysis, "evidence").is_empty() {
            page.item("  - ", "no evidence is recorded for this");
        }
    }
    if list(evidence, "analyses").is_empty() {
        page.item("", "Nothing was released that rests on evidence.");
    }
}

/// What an analysis says, or a runbook answer's statement: `s2` is the second one.
fn claim<'b>(body: &'b Value, id: &str) -> Option<&'b str> {
    let analysis = list(body, "analyses").iter().find(|analysis| text(analysis, "analysis_id") == id);
    let statement = || {
        let n: usize = id.strip_prefix('s')?.parse().ok()?;
        list(body, "statements").get(n.checked_sub(1)?)
    };
    analysis.or_else(statement).and_then(|said| some_text(said, "text"))
}

fn one(page: &mut Page, piece: &Value) {
    let time =
        some_text(piece, "timestamp").map(|time| format!(", {}", short_time(time))).unwrap_or_default();
    page.item("  - ", &format!("{}{time}", place(piece)));
    page.aside("    ", &piece.get("scope").map(scope_words).unwrap_or_default());
    if let Some(excerpt) = some_text(piece, "excerpt") {
        page.item("    | ", excerpt);
    }
    match piece.get("values") {
        Some(values) if values.get("rows").is_some_and(Value::is_array) => rows(page, values),
        Some(values) => page.item("    ", &scope_words(values)),
        None => {}
    }
}

/// What a database returned.
fn rows(page: &mut Page, values: &Value) {
    let columns: Vec<String> = list(values, "columns").iter().map(shown).collect();
    let names: Vec<&str> = columns.iter().map(String::as_str).collect();
    let cells = |row: &Value| row.as_array().into_iter().flatten().map(shown).collect::<Vec<_>>();
    let rows: Vec<Vec<String>> = list(values, "rows").iter().map(cells).collect();
    if !rows.is_empty() {
        page.table(&names, &rows);
    }
    let cut = if flag(values, "truncated") { ", cut: there are more" } else { "" };
    page.aside("    ", &format!("rows: {}{cut}", number(values, "row_count")));
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::page::Paint;

    #[test]
    fn evidence_below_its_claim() {
        let evidence = json!({ "analyses": [
            { "analysis_id": "a1", "evidence": [
                { "source_type": "LOGS", "source": "app-logs", "scope": { "service": "pay", "query": null }, "timestamp": "2026-12-01T01:19:56.096Z", "excerpt": "Charge failed\u{1b}[31m: TIMEOUT",
                  "values": { "template": "Charge failed: <*>", "count": 39, "count_before": 0 } },
                { "source_type": "MYSQL", "source": "orders", "scope": { "sql": "SELECT state, n FROM t", "params": [] }, "timestamp": null, "excerpt": null,
                  "values": { "columns": ["state", "n"], "rows": [["失败", 39], ["OK", null]], "row_count": 2, "truncated": true } } ] },
            { "analysis_id": "s2", "evidence": [] } ] });
        let body = json!({ "analyses": [{ "analysis_id": "a1", "text": "39 charges failed." }], "statements": [{ "text": "x" }, { "text": "Call them." }] });
        let mut page = Page::new(60, Paint(false));
        render(&mut page, &evidence, &body);
        assert_eq!(
            page.into_text(),
            "\
[a1] 39 charges failed.
  - LOGS app-logs, 2026-12-01T01:19:56Z
    service=pay
    | Charge failed: TIMEOUT
    count=39 count_before=0 template=Charge failed: <*>
  - MYSQL orders
    SELECT state, n FROM t
  state  n
  失败   39
  OK     -
    rows: 2, cut: there are more

[s2] Call them.
  - no evidence is recorded for this
"
        );
    }
}
