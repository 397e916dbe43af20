//! `quality`: how well runs went in a span of time, in numbers.

use serde_json::Value;

use crate::args::Quality;
use crate::client::Api;
use crate::exit::{Exit, Fault};
use crate::fields::{duration, number, short_time, text};
use crate::page::Page;
use crate::screen::Screen;

pub async fn run(api: &Api, wanted: &Quality, screen: Screen) -> Result<Exit, Fault> {
    let mut url = api.at(&["api", "quality"]);
    for (name, value) in [("from", &wanted.from), ("to", &wanted.to)] {
        if let Some(value) = value {
            url.query_pairs_mut().append_pair(name, value);
        }
    }
    let told = api.get(url).await?;
    if screen.json {
        screen.document(&told)?;
        return Ok(Exit::Success);
    }
    let mut page = screen.page();
    render(&mut page, &told);
    screen.show(page)?;
    Ok(Exit::Success)
}

fn render(page: &mut Page, told: &Value) {
    let (from, to) = (short_time(text(told, "from")), short_time(text(told, "to")));
    page.heading(&format!("{} RUNS, {from} TO {to}", number(told, "runs")));
    let rates = at(told, "rates");
    let rate =
        |name: &str| at(rates, name).as_f64().map_or("-".to_owned(), |rate| format!("{:.1} %", rate * 100.0));
    let outcomes = at(told, "outcomes").as_object().into_iter().flatten();
    let outcome = |(name, count): (&String, &Value)| {
        vec![name.clone(), count.to_string(), rate(&name.to_ascii_lowercase())]
    };
    let mut rows: Vec<Vec<String>> = outcomes.map(outcome).collect();
    rows.push(vec!["repaired".to_owned(), number(told, "repaired").to_string(), rate("repaired")]);
    page.table(&["outcome", ">runs", ">of ended"], &rows);
    counts(page, "FALLBACKS", "reason", at(told, "fallback_reasons"));
    counts(page, "FAILURES", "code", at(told, "failure_codes"));
    tools(page, at(told, "tools"));
    feedback(page, at(told, "feedback"));
    page.heading("TIME AND COST");
    let took = |name: &str| at(at(told, "duration_ms"), name).as_u64().map_or("-".to_owned(), duration);
    page.item("  half of the runs within  ", &took("p50"));
    page.item("  95 % of them within      ", &took("p95"));
    page.item("  input tokens             ", &number(told, "input_tokens").to_string());
    page.item("  output tokens            ", &number(told, "output_tokens").to_string());
    let cost = at(told, "cost_usd").as_f64();
    let priced = number(told, "priced_runs");
    let words = cost
        .map_or("no price is known".to_owned(), |usd| format!("${usd:.4} for {priced} runs with a price"));
    page.item("  cost                     ", &words);
}

/// The value at a name, or null.
fn at<'v>(value: &'v Value, name: &str) -> &'v Value {
    value.get(name).unwrap_or(&Value::Null)
}

fn counts(page: &mut Page, heading: &str, name: &str, counts: &Value) {
    let Some(counts) = counts.as_object().filter(|counts| !counts.is_empty()) else { return };
    page.heading(heading);
    let row = |(name, count): (&String, &Value)| vec![name.clone(), count.to_string()];
    page.table(&[name, ">runs"], &counts.iter().map(row).collect::<Vec<_>>());
}

fn tools(page: &mut Page, tools: &Value) {
    let Some(tools) = tools.as_object().filter(|tools| !tools.is_empty()) else { return };
    page.heading("TOOLS");
    let row = |(name, tool): (&String, &Value)| {
        let numbers = ["calls", "failed", "no_evidence"].map(|field| number(tool, field).to_string());
        std::iter::once(name.clone()).chain(numbers).collect::<Vec<_>>()
    };
    page.table(&["tool", ">calls", ">failed", ">nothing found"], &tools.iter().map(row).collect::<Vec<_>>());
}

fn feedback(page: &mut Page, feedback: &Value) {
    let Some(feedback) = feedback.as_object().filter(|feedback| !feedback.is_empty()) else { return };
    page.heading("FEEDBACK");
    let row = |(outcome, said): (&String, &Value)| {
        vec![outcome.clone(), number(said, "UP").to_string(), number(said, "DOWN").to_string()]
    };
    page.table(&["on", ">up", ">down"], &feedback.iter().map(row).collect::<Vec<_>>());
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::page::Paint;

    fn rendered(told: &Value) -> String {
        let mut page = Page::new(80, Paint(false));
        render(&mut page, told);
        page.into_text()
    }

    #[test]
    fn a_week() {
        let told = json!({
            "from": "2026-11-24T00:00:00Z", "to": "2026-12-01T00:00:00.5Z", "runs": 10,
            "outcomes": { "FAILED": 1, "FALLBACK": 1, "RUNNING": 2, "SUCCESS": 6 },
            "rates": { "success": 0.75, "fallback": 0.125, "failed": 0.125, "repaired": 0.25 }, "repaired": 2,
            "fallback_reasons": { "SEMANTIC_UNSUPPORTED": 1 }, "failure_codes": { "MODEL_UNAVAILABLE": 1 },
            "tools": { "query_logs": { "calls": 9, "failed": 1, "no_evidence": 2 } },
            "feedback": { "SUCCESS": { "UP": 3, "DOWN": 1 } },
            "duration_ms": { "p50": 4200, "p95": 61000 }, "input_tokens": 1000, "output_tokens": 90,
            "priced_runs": 8, "cost_usd": 0.25 });
        assert_eq!(
            rendered(&told),
            "\
10 RUNS, 2026-11-24T00:00:00Z TO 2026-12-01T00:00:00Z
  outcome   runs  of ended
  FAILED       1    12.5 %
  FALLBACK     1    12.5 %
  RUNNING      2         -
  SUCCESS      6    75.0 %
  repaired     2    25.0 %

FALLBACKS
  reason                runs
  SEMANTIC_UNSUPPORTED     1

FAILURES
  code               runs
  MODEL_UNAVAILABLE     1

TOOLS
  tool        calls  failed  nothing found
  query_logs      9       1              2

FEEDBACK
  on       up  down
  SUCCESS   3     1

TIME AND COST
  half of the runs within  4.2 s
  95 % of them within      1 min 01 s
  input tokens             1000
  output tokens            90
  cost                     $0.2500 for 8 runs with a price
"
        );
    }

    #[test]
    fn nothing_ran() {
        let told = json!({ "runs": 0, "outcomes": {}, "rates": { "repaired": null }, "duration_ms": { "p50": null }, "cost_usd": null });
        let text = rendered(&told);
        assert!(text.contains("repaired     0         -") && text.contains("no price is known"), "{text}");
    }
}
