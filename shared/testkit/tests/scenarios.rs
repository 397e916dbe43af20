//! Every scenario can be placed in a folder at any time, and loses nothing on the way.

#![expect(clippy::unwrap_used, reason = "the helpers of tests may fail like tests")]

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value;
use sqlx::{AssertSqlSafe, Connection as _, Row as _, SqliteConnection};
use testkit::scenario::{self, Scenario};
use time::format_description::well_known::Rfc3339;
use time::macros::datetime;
use time::{Duration, OffsetDateTime};

fn log_lines(folder: &Path) -> Vec<(String, Vec<Value>)> {
    let mut files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect::<Vec<_>>();
    files.sort();
    files
        .into_iter()
        .map(|path| {
            let text = std::fs::read_to_string(&path).unwrap();
            let lines = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
            (path.file_name().unwrap().to_string_lossy().into_owned(), lines)
        })
        .collect()
}

fn moment(line: &Value) -> OffsetDateTime {
    OffsetDateTime::parse(line["timestamp"].as_str().unwrap(), &Rfc3339).unwrap()
}

async fn open(path: &Path) -> SqliteConnection {
    SqliteConnection::connect(&format!("sqlite://{}?mode=ro", path.display())).await.unwrap()
}

async fn texts(connection: &mut SqliteConnection, sql: &str) -> Vec<String> {
    let rows = sqlx::query(AssertSqlSafe(sql.to_owned())).fetch_all(connection).await.unwrap();
    rows.iter().map(|row| row.get(0)).collect()
}

#[tokio::test]
async fn all_scenarios_are_materialised_at_another_time() {
    let names = scenario::names().unwrap();
    assert!(names.len() >= 9, "{names:?}");
    // Other day, other year, odd seconds: 41 days less 3 hours and 17 minutes later.
    let now = datetime!(2027-01-10 03:13:41.5 UTC);
    for name in names {
        let scenario = Scenario::load(&name).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let placed = scenario.materialise(&folder.path().join("case"), now).await.unwrap();
        assert_eq!(placed.scenario.clock, datetime!(2027-01-10 03:13 UTC), "{name}");
        let shift = Duration::minutes(placed.shift.minutes());
        let (before, after) = (log_lines(&scenario.folder.join("logs")), log_lines(&placed.logs));
        assert_eq!(before.len(), after.len());
        for ((file, old), (same, new)) in before.iter().zip(&after) {
            assert_eq!((file, old.len()), (same, new.len()), "{name}");
            for (old, new) in old.iter().zip(new) {
                assert_eq!(moment(new), moment(old) + shift, "{name} {file}");
                assert!(moment(new) <= now, "{name} {file}: in the future");
                assert_eq!((&new["level"], &new["trace_id"]), (&old["level"], &old["trace_id"]));
            }
        }
        assert!(placed.data_sources.is_file());
        let runbooks = |folder: &Path| std::fs::read_dir(folder).unwrap().count();
        assert_eq!(runbooks(&placed.runbooks), runbooks(&scenario.folder.join("runbooks")), "{name}");
        assert_eq!(placed.scenario.questions.len(), scenario.questions.len());
        database_is_shifted(&name, &scenario, &placed.database, shift).await;
        let again = scenario.materialise(&placed.dir, now).await;
        assert!(again.is_err(), "{name}: wrote over an existing database");
    }
}

/// Every row of the script is there, and no time of the old day is left.
async fn database_is_shifted(name: &str, scenario: &Scenario, database: &Path, shift: Duration) {
    let script = std::fs::read_to_string(scenario.folder.join("business.sql")).unwrap();
    let rows = script.lines().filter(|line| line.starts_with('(')).count();
    let mut connection = open(database).await;
    let tables =
        texts(&mut connection, "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY 1").await;
    let mut found = 0;
    for table in &tables {
        found += texts(&mut connection, &format!("SELECT CAST(id AS TEXT) FROM {table}")).await.len();
    }
    assert_eq!(found, rows, "{name}");
    let times = texts(&mut connection, "SELECT created_at FROM orders ORDER BY id").await;
    let mut source = script.lines().skip_while(|line| !line.starts_with("INSERT INTO orders "));
    let first = source.nth(1).unwrap().split('\'').nth(3).unwrap().to_owned();
    let parse =
        |text: &str| OffsetDateTime::parse(&format!("{}Z", text.replacen(' ', "T", 1)), &Rfc3339).unwrap();
    assert_eq!(parse(&times[0]), parse(&first) + shift, "{name}");
    let whole = tables.iter().map(String::as_str).collect::<BTreeSet<_>>();
    assert!(whole.contains("orders") && whole.contains("payments"), "{name}");
    assert!(times.iter().all(|time| !time.starts_with("2026-11-30")), "{name}");
    connection.close().await.unwrap();
}

#[tokio::test]
async fn times_in_questions_and_required_evidence_move_along() {
    let now = datetime!(2026-12-01 09:00 UTC);
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &'static str| {
        let dir = folder.path().join(name);
        async move { Scenario::load(name).unwrap().materialise(&dir, now).await.unwrap() }
    };
    let placed = place("red-herring").await;
    assert_eq!(placed.scenario.questions[0].query, "checkout-service answers 502 since 08:35, why?");
    let evidence = &placed.scenario.questions[0].required_evidence;
    let needle = "certificate expired, NotAfter 2026-12-01T08:35:00Z";
    assert!(
        evidence.iter().any(|required| required.contains.iter().any(|text| text == needle)),
        "{evidence:?}"
    );
    let logs = std::fs::read_to_string(placed.logs.join("inventory-service.jsonl")).unwrap()
        + &std::fs::read_to_string(placed.logs.join("checkout-service.jsonl")).unwrap();
    assert!(logs.contains("NotAfter 2026-12-01T08:35:00Z"));
    // A daily rule is no event.
    let quota = place("injected-instructions").await;
    let logs = std::fs::read_to_string(quota.logs.join("shipping-service.jsonl")).unwrap();
    assert!(logs.contains("resets at 16:00 UTC"));
    assert_eq!(quota.scenario.questions[0].query, "shipping-service 运费报价从 08:00 开始失败，什么原因？");
}

#[tokio::test]
async fn without_a_shift_logs_and_runbooks_are_the_same_bytes() {
    let scenario = Scenario::load("payment-timeout").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let placed = scenario.materialise(folder.path(), scenario.clock).await.unwrap();
    assert_eq!(placed.shift.minutes(), 0);
    for part in ["logs", "runbooks"] {
        for entry in std::fs::read_dir(scenario.folder.join(part)).unwrap() {
            let entry = entry.unwrap();
            let copy = folder.path().join(part).join(entry.file_name());
            assert!(std::fs::read(entry.path()).unwrap() == std::fs::read(copy).unwrap(), "{entry:?}");
        }
    }
}
