//! How much is shown: rows, characters, bytes, rounds of a recursion; every cut is said. Secrets are masked first.

use domain::evidence::EvidenceStatus;
use serde_json::{Value, json};

use super::shop::{Shop, ask};

#[tokio::test(flavor = "multi_thread")]
async fn rows_are_bounded_whatever_the_statement_asks() -> anyhow::Result<()> {
    let Some(shop) = Shop::open().await? else { return Ok(()) };
    let tool = shop.tool();
    for sql in [
        "SELECT id FROM orders ORDER BY id",
        "SELECT id FROM orders ORDER BY id LIMIT 100000",
        "(SELECT id FROM orders ORDER BY id LIMIT 200) UNION ALL (SELECT id FROM payments LIMIT 100) LIMIT 250",
        "SELECT a.id FROM orders a, orders b, orders c LIMIT 1000000",
    ] {
        let result = ask(&tool, sql).await;
        assert_eq!((result.row_count, result.rows.len(), result.truncated), (50, 50, true), "{sql}");
        assert_eq!(result.notes, ["more rows exist; only the first 50 are shown"], "{sql}");
    }
    assert!(shop.reader_becomes(false).await?, "a remainder that nobody reads is stopped");
    // Exactly as many as are shown is not a cut, and the limit does not reach inside: 300 rows are counted.
    let whole = ask(&tool, "SELECT id FROM orders ORDER BY id LIMIT 50").await;
    assert_eq!((whole.row_count, whole.truncated, whole.notes.len()), (50, false, 0));
    let inner = "WITH o AS (SELECT id FROM orders) SELECT COUNT(*), (SELECT COUNT(*) FROM (SELECT id FROM orders) t) FROM o";
    assert_eq!(json!(ask(&tool, inner).await.rows), json!([[300, 300]]));
    let none = ask(&tool, "SELECT id FROM orders WHERE status = 'NEVER'").await;
    assert_eq!(
        (none.evidence_status, none.row_count, none.truncated),
        (EvidenceStatus::NoEvidence, 0, false)
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn cells_and_results_are_bounded_and_secrets_masked() -> anyhow::Result<()> {
    let Some(shop) = Shop::open().await? else { return Ok(()) };
    let token =
        format!("eyJhbGciOiJIUzI1NiJ9.{}.{}", "eyJzdWIiOiJmYWtlIn0".repeat(4), "c2lnbmF0dXJl".repeat(4));
    let columns: Vec<String> = (0..80).map(|n| format!("c{n}")).collect();
    let notes = format!(
        "CREATE TABLE notes (id INT, body MEDIUMTEXT, password VARCHAR(40));
         INSERT INTO notes VALUES (1, REPEAT('退', 5000), NULL), (2, CONCAT(REPEAT('ab ', 325), '{token}'), 'fake-pass-1'),
             (3, 'mail someone@example.com, password=fake-pass-2', 'fake-pass-1')"
    );
    shop.add_table("notes", &notes).await?;
    let wide = format!(
        "CREATE TABLE wide ({} TEXT); INSERT INTO wide VALUES ({})",
        columns.join(" TEXT, "),
        vec!["REPEAT('退', 1000)"; 80].join(", ")
    );
    shop.add_table("wide", &wide).await?;
    let tool = shop.tool_with(&["notes", "wide", "orders"], 200);

    let result = ask(&tool, "SELECT id, body, password FROM notes ORDER BY id").await;
    assert!(result.truncated);
    assert!(result.notes.iter().any(|note| note.starts_with("1 cell(s) cut at 1000")), "{:?}", result.notes);
    assert!(result.notes.iter().any(|note| note.contains("secret value(s) masked")), "{:?}", result.notes);
    assert_eq!(result.rows[0][1].as_str().map(|text| text.chars().count()), Some(1001));
    assert_eq!(result.rows[0][2], Value::Null);
    let all = json!(result.rows).to_string();
    for secret in ["fake-pass", "eyJ", "someone@example.com"] {
        assert!(!all.contains(secret), "{secret} in {all}");
    }
    assert_eq!(result.rows[1][2], result.rows[2][2], "the same secret is seen to be the same");

    let many = ask(&tool, "SELECT o.id, n.body FROM orders o, notes n WHERE n.id = 1 ORDER BY o.id").await;
    assert!(many.truncated && (10..30).contains(&many.row_count), "{}", many.row_count);
    assert!(many.notes.iter().any(|note| note.contains("cut at 65536 bytes")), "{:?}", many.notes);

    // One row that is too wide alone is narrowed: none would read as "nothing found".
    let one = ask(&tool, "SELECT * FROM wide").await;
    assert_eq!((one.evidence_status, one.row_count, one.truncated), (EvidenceStatus::EvidenceFound, 1, true));
    assert!(json!(one.rows).to_string().len() <= 66 * 1024);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_server_cuts_silently_is_said() -> anyhow::Result<()> {
    let Some(shop) = Shop::open().await? else { return Ok(()) };
    let tool = shop.tool();
    let concat = "SELECT LENGTH(GROUP_CONCAT(REPEAT(o.status, 200))) FROM orders o";
    let result = ask(&tool, concat).await;
    assert!(result.truncated && result.notes[0].contains("GROUP_CONCAT"), "{result:?}");
    let count = |bound: &str| {
        format!(
            "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < {bound}) SELECT COUNT(*) FROM r"
        )
    };
    let short = ask(&tool, &count("900")).await;
    assert_eq!((json!(short.rows), short.truncated), (json!([[900]]), false));
    // A bound that is only known on the server.
    let hours = "WITH RECURSIVE r(t) AS (SELECT TIMESTAMP('2000-01-01 00:00:00') UNION ALL \
                 SELECT t + INTERVAL 1 HOUR FROM r WHERE t < NOW()) SELECT COUNT(*) FROM r";
    let far = ask(&tool, hours).await;
    assert!(far.truncated && far.notes[0].contains("recursive WITH"), "{far:?}");
    Ok(())
}
