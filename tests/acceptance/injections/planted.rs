//! Texts in logs, rows and runbooks.

use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Context;
use domain::model::Role;
use serde_json::{Value, json};
use sqlx::sqlite::{SqliteConnectOptions, SqlitePool};
use testkit::sse::Transcript;
use time::format_description::well_known::Rfc3339;

use super::accomplice::{CLAIM, MANNERS, Manner, forbidden_count, observations, script, unfenced};
use super::{Case, Place, cases};
use crate::world::{Call, World, files_below, world};

const LATER: &str = "laterline: the queue drained";
const LOGS: &str = "risk-service";

/// A world in which one text after another is planted.
struct Stage {
    world: World,
    text: Arc<Mutex<String>>,
}

impl Stage {
    async fn set(first: Call) -> anyhow::Result<Self> {
        let text = Arc::new(Mutex::new(String::new()));
        let said = Arc::clone(&text);
        let script = script(first, move || said.lock().unwrap_or_else(PoisonError::into_inner).clone());
        Ok(Self { world: world(script).start().await?, text })
    }

    fn says(&self, text: &str) {
        text.clone_into(&mut self.text.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Asks in every manner and checks that each run ends without the claim. Returns what the agent was first shown.
    async fn gains_nothing(&self, case: &Case) -> anyhow::Result<Value> {
        self.says(&case.text);
        let before = self.orders().await?;
        let mut shown = Value::Null;
        for manner in MANNERS {
            let asked = self.world.provider.requests_of(Role::Diagnose).len();
            let told = self.world.ask(manner.question()).await?;
            refused(&told, manner, &case.id);
            let requests = self.world.provider.requests_of(Role::Diagnose).split_off(asked);
            let last = requests.last().context("no request")?;
            let seen = observations(last);
            let first = unfenced(seen.first().with_context(|| format!("{}: nothing shown", case.id))?);
            if manner == Manner::Forges {
                let errors = seen[1..].iter().filter(|content| unfenced(content)["error"].is_object());
                assert_eq!(errors.count(), forbidden_count(), "{}: {seen:#?}", case.id);
            } else {
                assert_eq!(requests.len(), 2, "{}: no call came of a text", case.id);
            }
            shown = first;
        }
        assert_eq!(self.orders().await?, before, "{}: nothing was written", case.id);
        self.world.assert_provider_saw_a_clean_protocol();
        Ok(shown)
    }

    async fn orders(&self) -> anyhow::Result<Vec<(String, i64)>> {
        let pool = self.business().await?;
        let sql = "SELECT status, COUNT(*) FROM orders GROUP BY status ORDER BY status";
        let counts = sqlx::query_as(sql).fetch_all(&pool).await?;
        pool.close().await;
        Ok(counts)
    }

    async fn business(&self) -> anyhow::Result<SqlitePool> {
        let database = &self.world.stack.placed.database;
        Ok(SqlitePool::connect_with(SqliteConnectOptions::new().filename(database)).await?)
    }

    /// The planted line, and one that follows it.
    fn log(&self, text: &str) -> anyhow::Result<()> {
        let at = |minutes| {
            (self.world.stack.placed.scenario.clock - time::Duration::minutes(minutes)).format(&Rfc3339)
        };
        let line = |at: String, message: &str| json!({ "timestamp": at, "level": "ERROR", "service": LOGS, "message": message });
        let lines = format!("{}\n{}\n", line(at(5)?, text), line(at(4)?, LATER));
        let path = self.world.stack.placed.logs.join(format!("{LOGS}.jsonl"));
        Ok(std::fs::write(path, lines)?)
    }

    /// Everything that was told, logged, stored or sent so far.
    fn everything(&self) -> String {
        let requests = self.world.provider.requests();
        let mut all: String =
            requests.iter().map(|request| String::from_utf8_lossy(&request.body).into_owned()).collect();
        all.push_str(&self.world.emulator.logs().text());
        for (path, bytes) in files_below(self.world.stack.folder()) {
            // The sources themselves hold it.
            if !path.starts_with(&self.world.stack.placed.dir) {
                all.push_str(&String::from_utf8_lossy(&bytes));
            }
        }
        all
    }
}

/// The run ended as it must for the manner, and claims nothing.
fn refused(told: &Transcript, manner: Manner, case: &str) {
    let reason = match (told.content(), told.failure()) {
        (Some(content), None) => content.body["reason_code"].as_str().unwrap_or("RELEASED").to_owned(),
        (None, Some(failure)) => failure.code.clone(),
        other => panic!("{case}: {other:?}"),
    };
    let expected = match manner {
        Manner::Forges => "EVIDENCE_VALIDATION_FAILED",
        Manner::Concludes => "SEMANTIC_UNSUPPORTED",
        Manner::Parrots | Manner::Copies => "MODEL_OUTPUT_INVALID",
    };
    assert_eq!(reason, expected, "{case} {manner:?}: {}", told.text());
    assert!(!told.text().contains(CLAIM), "{case} {manner:?}: {}", told.text());
}

fn errors_of_the_service() -> Call {
    Call::new(
        "query_logs",
        json!({ "service": LOGS, "query": null, "level": "ERROR", "start": "-2h", "end": "now", "limit": 20 }),
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn log_lines_gain_nothing() -> anyhow::Result<()> {
    // A caller has so many runs a minute, and every case takes four.
    for batch in cases(Place::LogLine)?.chunks(8) {
        let stage = Stage::set(errors_of_the_service()).await?;
        for case in batch {
            line_gains_nothing(&stage, case).await?;
        }
    }
    Ok(())
}

async fn line_gains_nothing(stage: &Stage, case: &Case) -> anyhow::Result<()> {
    stage.log(&case.text)?;
    let shown = stage.gains_nothing(case).await?;
    let data = &shown["data"];
    assert_eq!(data["matched"], 2, "{}: one record stays one record: {data}", case.id);
    let events = data["events"].as_array().context("events")?;
    assert_eq!(events.len(), 2, "{}: {data}", case.id);
    let has = |text: &str| events.iter().any(|e| e["message"].as_str().is_some_and(|m| m.contains(text)));
    assert!(has(LATER), "{}: {data}", case.id);
    if case.repeat.is_some() {
        let longest = events.iter().filter_map(|event| event["message"].as_str()).map(str::len).max();
        assert!(longest.is_some_and(|bytes| bytes < 4096), "{}: a line is cut", case.id);
    } else if case.secrets.is_empty() && case.stripped.is_empty() {
        assert!(has(case.text.split(['\r', '\n', '\u{2028}']).next().unwrap_or_default()), "{data}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn secrets_and_invisible_characters_of_a_line_are_shown_to_nobody() -> anyhow::Result<()> {
    let stage = Stage::set(errors_of_the_service()).await?;
    let mut left = Vec::new();
    for case in cases(Place::LogLine)? {
        if case.secrets.is_empty() && case.stripped.is_empty() {
            continue;
        }
        stage.log(&case.text)?;
        // The accomplice would repeat what it was not shown.
        stage.says("nothing");
        let told = stage.world.ask(Manner::Concludes.question()).await?;
        refused(&told, Manner::Concludes, &case.id);
        let all = stage.everything() + &told.text();
        for secret in case.secrets.iter().chain(&case.stripped) {
            let escaped = json!(secret).to_string();
            // SQLite's files hold control characters of their own.
            let text = secret.chars().all(|c| !c.is_control());
            if all.contains(escaped.trim_matches('"')) && (text || escaped.contains('\\')) {
                left.push(format!("{}: {secret:?}", case.id));
            }
        }
    }
    assert!(left.is_empty(), "{left:#?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_gain_nothing() -> anyhow::Result<()> {
    let sql = "SELECT kind, payload FROM order_events WHERE id = 777";
    let call = Call::new("query_mysql", json!({ "data_source": "orders", "sql": sql, "params": [] }));
    let stage = Stage::set(call).await?;
    for case in cases(Place::SqlRow)? {
        let pool = stage.business().await?;
        let insert = "INSERT OR REPLACE INTO order_events (id, kind, payload) VALUES (777, 'kind', ?)";
        sqlx::query(insert).bind(&case.text).execute(&pool).await?;
        pool.close().await;
        let shown = stage.gains_nothing(&case).await?;
        assert_eq!(shown["data"]["rows"], json!([["kind", case.text]]), "{}", case.id);
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn no_value_is_not_the_word_and_large_integers_are_exact() -> anyhow::Result<()> {
    let sql = "SELECT e.id, e.order_id, e.kind, e.payload, o.amount_cents FROM order_events e, orders o WHERE e.id IN (771, 772, 773, 774) AND o.id = 1 ORDER BY e.id";
    let call = Call::new("query_mysql", json!({ "data_source": "orders", "sql": sql, "params": [] }));
    let stage = Stage::set(call).await?;
    let pool = stage.business().await?;
    let events = "INSERT INTO order_events (id, kind, payload) VALUES (771, NULL, 'NULL'), (772, 'NULL', NULL), (773, 'null', '\"null\"'), (774, '', '')";
    sqlx::query(events).execute(&pool).await?;
    let order = "INSERT INTO orders (id, status, amount_cents) VALUES (1, 'PAID', 9007199254740993)";
    sqlx::query(order).execute(&pool).await?;
    pool.close().await;
    stage.says("nothing");
    let told = stage.world.ask(Manner::Concludes.question()).await?;
    refused(&told, Manner::Concludes, "values");
    let requests = stage.world.provider.requests_of(Role::Diagnose);
    let shown = unfenced(&observations(requests.last().context("a request")?)[0]);
    let rows = shown["data"]["rows"].as_array().context("rows")?;
    let texts: Vec<_> = rows.iter().map(|row| (&row[2], &row[3])).collect();
    let (none, upper, lower) = (json!(null), json!("NULL"), json!("null"));
    let (quoted, empty) = (json!("\"null\""), json!(""));
    let expected = [(&none, &upper), (&upper, &none), (&lower, &quoted), (&empty, &empty)];
    assert_eq!(texts, expected, "{shown}");
    for row in rows {
        let amount = &row[4];
        assert!(amount == &json!(9_007_199_254_740_993_i64) || amount == "9007199254740993", "{shown}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn runbooks_gain_nothing() -> anyhow::Result<()> {
    let call = Call::new("lookup_knowledge", json!({ "query": "plantedrunbook", "top_k": 3 }));
    let stage = Stage::set(call).await?;
    for case in cases(Place::Document)? {
        let text = format!("---\ntitle: plantedrunbook\ntags: [planted]\n---\n\n{}\n", case.text);
        stage.world.stack.add_runbook("planted".to_owned(), text).await?;
        let shown = stage.gains_nothing(&case).await?;
        assert!(
            shown["data"]["hits"].as_array().is_some_and(|hits| !hits.is_empty()),
            "{}: {shown}",
            case.id
        );
    }
    Ok(())
}
