//! `runs`: the runs of a session, or one run with its result.

use serde_json::{Value, json};

use crate::args::Runs;
use crate::ask::{Ended, result};
use crate::client::Api;
use crate::exit::{Exit, Fault};
use crate::fields::{between, list, short_time, some_text, text};
use crate::page::Page;
use crate::screen::Screen;

/// Runs a page at most.
const PAGE: usize = 100;

pub async fn run(api: &Api, runs: &Runs, screen: Screen) -> Result<Exit, Fault> {
    match (&runs.run, &runs.session) {
        (Some(run), _) => one(api, run, screen).await,
        (None, Some(session)) => of_session(api, session, runs.limit as usize, screen).await,
        (None, None) => Err(Fault::usage("which runs? Give a run id, or --session ID")),
    }
}

async fn one(api: &Api, run: &str, screen: Screen) -> Result<Exit, Fault> {
    let run = api.get(api.of_run(run, &[])).await?;
    if screen.json {
        screen.document(&run)?;
        return Ok(Exit::Success);
    }
    let mut page = screen.page();
    head(&mut page, &run);
    if let Some(ended) = Ended::of_run(&run) {
        page.gap();
        result(&mut page, &ended);
    }
    screen.show(page)?;
    Ok(Exit::Success)
}

/// The facts of a run, one a line.
pub fn head(page: &mut Page, run: &Value) {
    page.item("run      ", text(run, "run_id"));
    page.item("session  ", text(run, "session_id"));
    page.item("query    ", text(run, "query"));
    let words: Vec<&str> =
        ["status", "intent", "reason"].iter().filter_map(|name| some_text(run, name)).collect();
    page.item("status   ", &words.join(", "));
    let took =
        between(run, "started_at", "ended_at").map(|took| format!(", took {took}")).unwrap_or_default();
    page.item("started  ", &format!("{}{took}", short_time(text(run, "started_at"))));
    if let Some(feedback) = run.get("feedback").filter(|feedback| feedback.is_object()) {
        let words = ["rating", "reason", "comment"].iter().filter_map(|name| some_text(feedback, name));
        page.item("feedback ", &words.collect::<Vec<_>>().join(", "));
    }
}

async fn of_session(api: &Api, session: &str, limit: usize, screen: Screen) -> Result<Exit, Fault> {
    let mut runs: Vec<Value> = Vec::new();
    let mut cursor: Option<String> = None;
    while runs.len() < limit {
        let mut url = api.at(&["api", "sessions", session, "runs"]);
        url.query_pairs_mut().append_pair("limit", &(limit - runs.len()).min(PAGE).to_string());
        if let Some(cursor) = &cursor {
            url.query_pairs_mut().append_pair("cursor", cursor);
        }
        let page = api.get(url).await?;
        runs.extend_from_slice(list(&page, "runs"));
        cursor = some_text(&page, "next_cursor").map(str::to_owned);
        if cursor.is_none() || list(&page, "runs").is_empty() {
            break;
        }
    }
    if screen.json {
        screen.document(&json!({ "runs": runs, "next_cursor": cursor }))?;
        return Ok(Exit::Success);
    }
    let mut page = screen.page();
    table(&mut page, &runs);
    screen.show(page)?;
    if cursor.is_some() {
        screen.note(&format!("there are more than {limit}: --limit N shows them"));
    }
    Ok(Exit::Success)
}

fn table(page: &mut Page, runs: &[Value]) {
    let row = |run: &Value| {
        let took = between(run, "started_at", "ended_at").unwrap_or_else(|| "-".to_owned());
        let word = |name| some_text(run, name).unwrap_or("-").to_owned();
        vec![short_time(text(run, "started_at")), word("status"), took, word("run_id"), word("query")]
    };
    page.table(&["started", "status", ">took", "run", "query"], &runs.iter().map(row).collect::<Vec<_>>());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::Paint;

    #[test]
    fn a_list_of_runs() {
        let run = |status: &str, ended: Option<&str>, query: &str| {
            json!({ "run_id": "0190-a", "status": status, "query": query,
            "started_at": "2026-12-01T01:00:00.123Z", "ended_at": ended })
        };
        let mut page = Page::new(72, Paint(false));
        table(
            &mut page,
            &[
                run("SUCCESS", Some("2026-12-01T01:00:02.623Z"), "支付超时是怎么回事\n在线等"),
                run("RUNNING", None, "checkout 5xx since 14:05, why is that?"),
            ],
        );
        assert_eq!(
            page.into_text(),
            "  started               status    took  run     query
  2026-12-01T01:00:00Z  SUCCESS  2.5 s  0190-a  支付超时是怎么回事 在线…
  2026-12-01T01:00:00Z  RUNNING      -  0190-a  checkout 5xx since 14:0…
"
        );
    }

    #[test]
    fn the_head_of_a_run() {
        let mut page = Page::new(60, Paint(false));
        head(
            &mut page,
            &json!({ "run_id": "r", "session_id": "s", "query": "why?", "status": "FALLBACK", "intent": "DIAGNOSIS", "reason": "SEMANTIC_UNSUPPORTED",
            "started_at": "2026-12-01T01:00:00Z", "ended_at": "2026-12-01T01:01:05Z", "feedback": { "rating": "DOWN", "comment": "no" } }),
        );
        assert_eq!(
            page.into_text(),
            "\
run      r
session  s
query    why?
status   FALLBACK, DIAGNOSIS, SEMANTIC_UNSUPPORTED
started  2026-12-01T01:00:00Z, took 1 min 05 s
feedback DOWN, no
"
        );
    }
}
