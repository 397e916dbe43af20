//! Stores that fail under a run: no record, no observation; no committed row, no report.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use domain::model::Role;
use serde_json::{Value, json};
use testkit::provider::{Reply, Script};

use super::{FINDING, QUESTION, diagnosis, fails, ledger, requests, rows, settled};
use crate::world::{draft, gateway_errors, world};

#[tokio::test(flavor = "multi_thread")]
async fn without_a_canonical_store_no_tool_runs() -> anyhow::Result<()> {
    let world = world(diagnosis()).start().await?;
    tokio::fs::write(world.canonical_folder(), "a file where the folder should be").await?;
    let told = fails(&world, QUESTION, "STORE_UNAVAILABLE").await?;
    assert!(!told.text().contains("GATEWAY_TIMEOUT"));
    assert_eq!(requests(&world), [1, 1, 0, 0, 0, 0], "no observation reached the model");
    Ok(())
}

/// A script whose agent finds its canonical folder changed by `spoil` just before it reports.
fn spoiled_before_the_report(
    spoil: impl Fn(&PathBuf) + Send + Sync + 'static,
) -> (Script, Arc<OnceLock<PathBuf>>) {
    let folder = Arc::new(OnceLock::new());
    let seen = Arc::clone(&folder);
    let script = Script::new().routes_to("DIAGNOSIS").each(Role::Diagnose, move |request| {
        if request.messages.len() == 2 {
            return Reply::calls([gateway_errors().id("call_a")]);
        }
        spoil(seen.get().expect("the world's folder"));
        Reply::json(&draft("NORMAL", FINDING, "call_a"))
    });
    (script, folder)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_canonical_store_that_fails_before_the_check_ends_the_run() -> anyhow::Result<()> {
    let (script, folder) = spoiled_before_the_report(|folder| {
        std::fs::remove_dir_all(folder).expect("removed");
        std::fs::write(folder, "a file").expect("replaced");
    });
    let world = world(script).start().await?;
    folder.set(world.canonical_folder()).expect("set once");
    let told = fails(&world, QUESTION, "STORE_UNAVAILABLE").await?;
    assert!(!told.text().contains(FINDING));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_record_that_was_tampered_with_ends_the_run() -> anyhow::Result<()> {
    let (script, folder) = spoiled_before_the_report(|folder| {
        for (path, _) in crate::world::files_below(folder) {
            std::fs::write(path, "{\"expires_at\":").expect("overwritten");
        }
    });
    let world = world(script).start().await?;
    folder.set(world.canonical_folder()).expect("set once");
    fails(&world, QUESTION, "STORE_UNAVAILABLE").await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_record_that_is_gone_proves_nothing() -> anyhow::Result<()> {
    let (script, folder) =
        spoiled_before_the_report(|folder| std::fs::remove_dir_all(folder).expect("removed"));
    let world = world(script.repairs(&draft("NORMAL", FINDING, "call_a"))).start().await?;
    folder.set(world.canonical_folder()).expect("set once");
    let told = world.ask(QUESTION).await?;
    assert_eq!(told.content().expect("content").body["reason_code"], "EVIDENCE_VALIDATION_FAILED");
    settled(&world, &told).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_committed_is_not_told() -> anyhow::Result<()> {
    let world =
        world(diagnosis().reports(&draft("NORMAL", FINDING, "call_a")).judges("SUPPORTED")).start().await?;
    let pool = ledger(&world.database()).await?;
    // Admission inserts and works; the terminal state is an update and does not.
    sqlx::query(
        "CREATE TRIGGER broken BEFORE UPDATE ON diagnosis_run BEGIN SELECT RAISE(ABORT, 'disk is gone'); END",
    )
    .execute(&pool)
    .await?;
    let told = world.ask(QUESTION).await?;
    assert_eq!(told.failure().expect("failure").code, "STORE_UNAVAILABLE");
    assert_eq!(told.done().expect("done").status, "FAILED");
    assert!(!told.text().contains(FINDING) && !told.text().contains("disk is gone"), "{}", told.text());
    let run_id = &told.metadata().expect("metadata").run_id;
    let run = world.run(run_id).await?;
    assert_eq!((&run["status"], &run["body"]), (&json!("RUNNING"), &Value::Null));
    world.assert_provider_saw_a_clean_protocol();

    // The sweeper ends it once its deadline is over, and only once.
    sqlx::query("DROP TRIGGER broken").execute(&pool).await?;
    sqlx::query("UPDATE diagnosis_run SET deadline = '2000-01-01 00:00:00.0'").execute(&pool).await?;
    pool.close().await;
    assert_eq!((world.sweep().await?, world.sweep().await?), (1, 0));
    let run = world.run(run_id).await?;
    assert_eq!(
        (&run["status"], &run["reason"], &run["body"]),
        (&json!("FAILED"), &json!("ABANDONED"), &Value::Null)
    );
    assert_eq!(rows(&world.database(), run_id).await?, [("FAILED".to_owned(), true)]);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_audit_that_fails_costs_no_report() -> anyhow::Result<()> {
    let world =
        world(diagnosis().reports(&draft("NORMAL", FINDING, "call_a")).judges("SUPPORTED")).start().await?;
    let pool = ledger(&world.database()).await?;
    sqlx::query(
        "CREATE TRIGGER broken BEFORE INSERT ON tool_invocation BEGIN SELECT RAISE(ABORT, 'full'); END",
    )
    .execute(&pool)
    .await?;
    pool.close().await;
    let told = world.ask(QUESTION).await?;
    assert_eq!(told.content().expect("content").outcome, "SUCCESS");
    settled(&world, &told).await?;
    Ok(())
}
