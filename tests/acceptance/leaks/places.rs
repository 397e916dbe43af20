//! Where a leak would show: the stream, the log, the ledger, what the API tells of a run.

use std::collections::BTreeSet;

use anyhow::Context;
use domain::model::Role;
use sqlx::AssertSqlSafe;
use sqlx::sqlite::{SqliteConnectOptions, SqlitePool};
use testkit::sse::Transcript;

use super::{API_KEY, MARK, QUESTION, SECRET};
use crate::world::{World, files_below};

/// Looks for everything that must stay inside in every place that a run writes to.
pub async fn nothing_leaked(world: &World, told: &Transcript, case: &str) -> anyhow::Result<()> {
    let run_id = &told.metadata().context("no metadata")?.run_id;
    let log = world.emulator.logs().wait_for(run_id, std::time::Duration::from_secs(5)).await;
    log.with_context(|| format!("{case}: the log is not captured"))?;
    let log = world.emulator.logs().text();
    let mut places = vec![("the stream", told.text()), ("the log", log.clone())];
    for path in [format!("/api/runs/{run_id}"), format!("/api/runs/{run_id}/trace")] {
        let (status, shown) = world.get(&path).await?;
        assert_eq!(status, 200, "{case}: {path} {shown}");
        places.push(("the API", shown.to_string()));
    }
    let columns = columns(world).await?;
    assert!(columns.iter().any(|(column, text)| column == "diagnosis_run.query" && text.contains(QUESTION)));
    places.extend(columns.iter().map(|(column, text)| (column.as_str(), text.clone())));
    // Not even in what the database has deleted, or not yet moved from its journal.
    let files = files_below(world.stack.folder());
    let ledger = files.iter().filter(|(path, _)| path.to_string_lossy().contains("superbiz.db"));
    places
        .extend(ledger.map(|(_, bytes)| ("the ledger's file", String::from_utf8_lossy(bytes).into_owned())));

    let mut secrets = prompt_sentences(world);
    secrets.extend([MARK.to_owned(), API_KEY.to_owned()]);
    for (place, text) in &places {
        let text = text.to_ascii_lowercase();
        for secret in &secrets {
            let found = text.find(&secret.to_ascii_lowercase());
            if let Some(at) = found {
                let around = text.get(at.saturating_sub(300)..(at + 200).min(text.len())).unwrap_or_default();
                panic!("{case}: {secret:?} is in {place}: …{around}…");
            }
        }
    }
    // Neither the question nor the answer is for the log, although both are stored.
    for word in ["questionmark", "releasedmark", "GATEWAY_TIMEOUT"] {
        assert!(!log.contains(word), "{case}: {word} is in the log:\n{log}");
    }
    for (path, bytes) in files.iter().filter(|(path, _)| path.starts_with(world.canonical_folder())) {
        assert!(
            !String::from_utf8_lossy(bytes).contains(SECRET),
            "{case}: a secret is in {}",
            path.display()
        );
    }
    Ok(())
}

/// What makes the search worth something: the agent was shown marked results, and no secret or unasked line.
pub fn the_marks_were_there(world: &World) {
    let shown = world.provider.requests();
    let shown: String =
        shown.iter().map(|request| String::from_utf8_lossy(&request.body).into_owned()).collect();
    for mark in ["leakmark-matching", "leakmark-row", "leakmark-sql", "leakmark-tool"] {
        assert!(shown.contains(mark), "{mark} was never shown to the model");
    }
    for mark in [SECRET, "leakmark-unasked", "leakmark-pod"] {
        assert!(!shown.contains(mark), "{mark} was shown to the model");
    }
    let stored = files_below(&world.canonical_folder());
    assert!(stored.iter().any(|(_, bytes)| String::from_utf8_lossy(bytes).contains("leakmark-row")));
    let keys =
        world.provider.requests_of(Role::Route).into_iter().filter_map(|request| request.authorization);
    assert!(keys.into_iter().all(|key| key.ends_with(API_KEY)));
}

/// Pieces of all system prompts sent so far, long enough to be nothing else, without what an escape would change.
fn prompt_sentences(world: &World) -> Vec<String> {
    let mut pieces = BTreeSet::new();
    for request in world.provider.requests() {
        let lines = request.system.lines();
        let split = lines.flat_map(|line| line.split(['"', '\\', '`', '.']));
        pieces.extend(split.map(str::trim).filter(|piece| piece.chars().count() >= 40).map(str::to_owned));
    }
    assert!(pieces.len() > 5, "the prompts have sentences");
    pieces.into_iter().collect()
}

/// The ledger's columns as `table.column`, each with all its values.
async fn columns(world: &World) -> anyhow::Result<Vec<(String, String)>> {
    let pool = SqlitePool::connect_with(SqliteConnectOptions::new().filename(world.database())).await?;
    let tables =
        "SELECT m.name, c.name FROM sqlite_master m JOIN pragma_table_info(m.name) c WHERE m.type = 'table'";
    let mut columns = Vec::new();
    for (table, column) in sqlx::query_as::<_, (String, String)>(tables).fetch_all(&pool).await? {
        let sql = format!("SELECT quote(\"{column}\") FROM \"{table}\"");
        let values: Vec<String> = sqlx::query_scalar(AssertSqlSafe(sql)).fetch_all(&pool).await?;
        columns.push((format!("{table}.{column}"), values.join("\n")));
    }
    pool.close().await;
    Ok(columns)
}
