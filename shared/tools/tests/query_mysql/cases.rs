//! The shared SQL cases through the tool: what the guard allows runs, and what it refuses never reaches the server.

use agent::ports::{EvidenceTool, ToolFailure};
use domain::tool::ToolErrorCode;
use serde_json::{Value, json};

use super::shop::{Shop, ask, call, result};

/// Allowed, and not known to MariaDB 10.11: it has no LATERAL, and no RANGE frame over an interval.
const MYSQL_ONLY: [&str; 2] = ["allow-041", "allow-068"];

fn cases(verdict: &str) -> Vec<Value> {
    let text = include_str!("../data/sql_cases.jsonl");
    let all = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    all.filter(|case| case["verdict"] == verdict).collect()
}

/// The guard's own table: what a server of this family must never be sent.
fn own_refused_cases() -> Vec<Value> {
    let text = include_str!("../data/guard_cases.jsonl");
    let all = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    all.filter(|case| case["dialect"] == "mysql" && case["verdict"] != "allow").collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_allowed_case_runs() -> anyhow::Result<()> {
    let Some(shop) = Shop::open().await? else { return Ok(()) };
    let tool = shop.tool();
    let mut faults = Vec::new();
    for case in cases("allow") {
        let (id, sql) = (case["id"].as_str().unwrap(), case["sql"].as_str().unwrap());
        let ran = tool.run(call(sql, case["params"].clone())).await;
        match (ran, MYSQL_ONLY.contains(&id)) {
            (Ok(output), false) => drop(result(output)),
            (Err(ToolFailure::Tell { code: ToolErrorCode::QueryFailed, .. }), true) => {}
            (other, _) => faults.push(format!("{id}: {other:?}\n{sql}")),
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    let count = "SELECT 'orders' AS t, COUNT(*) AS n FROM orders";
    assert_eq!(json!(ask(&tool, count).await.rows), json!([["orders", 300]]));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn no_refused_case_reaches_the_server() -> anyhow::Result<()> {
    let Some(shop) = Shop::open().await? else { return Ok(()) };
    // The bait is readable: only the guard is in the way.
    for bait in ["users", "secrets", "customers"] {
        let sql = format!(
            "CREATE TABLE {bait} (id INT, password VARCHAR(20)); INSERT INTO {bait} VALUES (1, 'bait')"
        );
        shop.add_table(bait, &sql).await?;
    }
    shop.as_root("GRANT SELECT ON mysql.* TO reader@'127.0.0.1'").await?;
    shop.log_on().await?;
    let tool = shop.tool();
    let refused = [cases("deny"), own_refused_cases()].concat();
    assert!(refused.len() > 500);
    for case in &refused {
        let params = if case["params"].is_null() { json!([]) } else { case["params"].clone() };
        let ran = tool.run(call(case["sql"].as_str().unwrap(), params)).await;
        let Err(ToolFailure::Tell { code, message }) = ran else { panic!("{}: {ran:?}", case["id"]) };
        // Parameters that are no scalars are refused before the statement is looked at.
        let expected = [ToolErrorCode::SqlRefused, ToolErrorCode::InvalidArguments];
        assert!(expected.contains(&code), "{}: {code:?}", case["id"]);
        assert!(!message.contains("bait"), "{}: {message}", case["id"]);
    }
    let log = shop.log().await?;
    assert!(log.is_empty(), "not even a connection: {log:?}");
    // The log would have shown it.
    ask(&tool, "SELECT id FROM orders LIMIT 1").await;
    assert!(!shop.log().await?.is_empty());
    Ok(())
}
