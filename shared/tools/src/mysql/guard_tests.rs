//! Table tests of the guard: the shared cases, and other members of each kind.

use serde_json::{Value, json};

use super::{Dialect, Policy, ReadOnlySelect, Refusal};

pub(super) fn policy(dialect: Dialect) -> Policy {
    let tables = ["orders", "payments", "order_events"].map(str::to_owned).into();
    Policy { dialect, database: Some("shop".to_owned()), tables }
}

fn check(sql: &str, dialect: Dialect) -> Result<ReadOnlySelect, Refusal> {
    ReadOnlySelect::check(sql, &[], &policy(dialect))
}

fn all_allowed(sqls: &[&str], dialect: Dialect) {
    for sql in sqls {
        let checked = check(sql, dialect);
        assert!(checked.is_ok(), "{sql}\n{checked:?}");
    }
}

fn all_refused(code: &str, sqls: &[&str], dialect: Dialect) {
    for sql in sqls {
        let refusal = check(sql, dialect).expect_err(sql);
        assert_eq!(refusal.rule.code(), code, "{sql}\n{refusal}");
    }
}

#[test]
fn every_shared_case_gets_its_verdict() {
    let text = include_str!("../../tests/data/sql_cases.jsonl");
    let mut seen = 0;
    for line in text.lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let sql = case["sql"].as_str().unwrap();
        let params = case["params"].as_array().unwrap();
        let checked = ReadOnlySelect::check(sql, params, &policy(Dialect::MySql));
        assert_eq!(checked.is_ok(), case["verdict"] == "allow", "{}: {checked:?}", case["id"]);
        if let Ok(select) = checked {
            assert_eq!(select.sql(), sql, "{}: the original text is kept", case["id"]);
        }
        seen += 1;
    }
    assert!(seen > 100);
}

#[test]
fn every_own_case_breaks_the_rule_it_names() {
    let text = include_str!("../../tests/data/guard_cases.jsonl");
    for line in text.lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let dialect = if case["dialect"] == "sqlite" { Dialect::Sqlite } else { Dialect::MySql };
        let verdict = match check(case["sql"].as_str().unwrap(), dialect) {
            Ok(_) => "allow",
            Err(_) if case["verdict"] == "refuse" => "refuse",
            Err(refusal) => refusal.rule.code(),
        };
        assert_eq!(verdict, case["verdict"], "{line}");
    }
}

#[test]
fn a_condition_of_hundreds_of_terms_is_no_bomb() {
    let many = vec!["id = 1234"; 600].join(" OR ");
    all_allowed(&[&format!("SELECT id FROM orders WHERE {many}")], Dialect::MySql);
    let columns = vec!["SUM(amount_cents + 1) / COUNT(*)"; 200].join(", ");
    all_allowed(&[&format!("SELECT {columns} FROM orders")], Dialect::MySql);
}

#[test]
fn characters_that_readers_disagree_about() {
    for c in [
        '\u{B}', '\u{C}', '\u{85}', '\u{A0}', '\u{2028}', '\u{2029}', '\u{FEFF}', '\u{200B}', '\u{202E}',
        '\u{3000}', '\u{1}', '\u{7F}', '\u{1A}', '；', '，', '＝', '’', '“', '—', '😀', '＠', '／',
    ] {
        all_refused("character", &[&format!("SELECT{c}1"), &format!("SELECT 1 {c}")], Dialect::MySql);
    }
    all_refused(
        "character",
        &[
            "\u{FEFF}SELECT 1",
            "SELECT 1\r, 2",
            "SELECT 1 -- x\rFROM secrets",
            "SELECT '\0'",
            "SELECT 1 /* \r */",
        ],
        Dialect::MySql,
    );
    all_refused("statement_too_long", &[&format!("SELECT '{}'", "x".repeat(17_000))], Dialect::MySql);
}

#[test]
fn bombs() {
    let nested = |open: &str, close: &str, n: usize| format!("SELECT {}1{}", open.repeat(n), close.repeat(n));
    let mut bombs = vec![
        nested("(", ")", 3_000),
        nested("ABS(", ")", 500),
        nested("(SELECT ", ")", 300),
        nested("CASE WHEN ", " THEN 1 END", 300),
        nested("CASE WHEN 1 THEN ", " END", 300),
        nested("EXISTS (SELECT ", ")", 300),
        nested("1 IN (SELECT ", ")", 300),
        nested("IF(1,", ",2)", 300),
        nested("NOT ", "", 2_000),
        nested("!", "", 8_000),
        nested("~", "", 8_000),
        nested("-~", "", 4_000),
        nested("BINARY ", "", 1_000),
        nested("+ ", "", 4_000),
        nested("", "+1", 4_000),
        nested("", "||1", 4_000),
        nested("", " AND 1", 2_500),
        nested("", " OR 1", 3_000),
        nested("", " XOR 1", 2_000),
        nested("", " DIV 1", 2_000),
        nested("", " MOD 1", 2_000),
        nested("", " IS NULL", 1_500),
        nested("", " IN (1)", 1_500),
        nested("", " LIKE 1", 1_500),
        nested("", " BETWEEN 1 AND 1", 800),
        nested("", "->'$'", 2_000),
        nested("", " COLLATE utf8mb4_bin", 700),
        nested("", " UNION SELECT 1", 900),
        nested("", " UNION ALL (SELECT 1)", 700),
        nested("", " REGEXP 'a'", 1_200),
        nested("NOW() + INTERVAL ", " DAY", 500),
        nested("", " + INTERVAL 1 DAY", 800),
        nested("CAST(", " AS CHAR)", 500),
        nested("TRIM(", ")", 500),
        nested("(", ",1)", 800),
        nested("_utf8mb4 ", "", 1_500),
        format!("SELECT * FROM {}orders{}", "(".repeat(2_000), ")".repeat(2_000)),
        format!("SELECT 1 FROM orders{}", " JOIN orders".repeat(500)),
        format!("SELECT 1 FROM orders{}", ", orders".repeat(1_000)),
        format!("SELECT 1 FROM orders{}", " NATURAL JOIN orders".repeat(500)),
        format!("{}SELECT 1{}", "WITH a AS (".repeat(300), ") SELECT 1".repeat(300)),
        format!("{}SELECT 1{}", "(".repeat(400), ")".repeat(400)),
        format!("SELECT {}", "(".repeat(10_000)),
        format!("SELECT {}", "CASE ".repeat(3_000)),
        format!("SELECT {}", "[".repeat(10_000)),
        format!("SELECT * FROM {}orders{}", "((SELECT 1 FROM ".repeat(100), ") x JOIN orders)".repeat(100)),
        format!(
            "WITH {} SELECT 1",
            (0..900).map(|i| format!("c{i} AS (SELECT 1)")).collect::<Vec<_>>().join(",")
        ),
        format!(
            "SELECT * FROM JSON_TABLE('', '$' COLUMNS ({}a INT PATH '$'{})) t",
            "NESTED PATH '$' COLUMNS (".repeat(200),
            ")".repeat(200)
        ),
    ];
    bombs.extend(
        [
            "SELECT REPEAT('a', 1000000000)",
            "SELECT SPACE(1e9)",
            "SELECT LPAD('a', 999999999, 'b')",
            "SELECT RPAD('a', id, 'b') FROM orders",
            "SELECT REPEAT('a', 9999 * 9999)",
            "SELECT CAST('a' AS BINARY(1000000000))",
            "SELECT CAST('a' AS CHAR(99999999))",
        ]
        .map(str::to_owned),
    );
    for bomb in bombs {
        let refusal = check(&bomb, Dialect::MySql).expect_err(&bomb[..bomb.len().min(60)]);
        assert!(refusal.to_string().len() < 700);
    }
}

#[test]
fn the_deepest_statements_let_through_fit_the_stack() {
    for (open, close, times) in [
        ("(", ")", 30),
        ("ABS(", ")", 30),
        ("(SELECT ", ")", 30),
        ("CASE WHEN ", " THEN 1 END", 30),
        ("", "+1", 290),
        ("", " OR 1", 790),
        ("EXISTS (SELECT ", ")", 30),
        ("NOT ", "", 100),
        ("", " IS NULL", 290),
        ("", " DIV 2", 290),
        ("IF(1,", ",2)", 30),
        ("", " UNION SELECT 1", 60),
    ] {
        let sql = format!("SELECT {}1{}", open.repeat(times), close.repeat(times));
        // Either verdict is fine; what matters is that one comes back, on a stack of the usual size.
        let _ = check(&sql, Dialect::MySql);
    }
    let exponential =
        format!("SELECT * FROM {}orders{}", "((SELECT 1 FROM ".repeat(15), ") x JOIN orders)".repeat(15));
    let _ = check(&exponential, Dialect::MySql);
}

#[test]
fn parameters_fit_their_placeholders() {
    let sql = "SELECT '支付?', LPAD(id, ?, '0') FROM orders -- ?\nWHERE status = ? AND `a?` = \"?\" LIMIT ?";
    let policy = policy(Dialect::MySql);
    let good = [json!(8), json!("x"), json!(5)];
    assert_eq!(ReadOnlySelect::check(sql, &good, &policy).unwrap().params(), good);
    let too_long =
        ReadOnlySelect::check(sql, &[json!(1_000_000), json!("x"), json!(5)], &policy).unwrap_err();
    assert_eq!(too_long.rule.code(), "resource");
    for params in [
        vec![],
        vec![json!(1)],
        vec![json!(1), json!([1]), json!(2)],
        vec![json!(1), json!({}), json!(2)],
        vec![json!(1); 4],
    ] {
        assert_eq!(
            ReadOnlySelect::check(sql, &params, &policy).unwrap_err().rule.code(),
            "parameters",
            "{params:?}"
        );
    }
    let bound = "WITH RECURSIVE r(n) AS (SELECT ? UNION ALL SELECT n + 1 FROM r WHERE n < ?) SELECT n FROM r";
    assert!(ReadOnlySelect::check(bound, &[json!(1), json!(24)], &policy).is_ok());
    assert!(ReadOnlySelect::check(bound, &[json!(1), json!(1_000_000_000)], &policy).is_err());
}

#[test]
fn refusals_name_rule_and_remedy_and_echo_little() {
    let refusal = check("SHOW CREATE TABLE orders", Dialect::MySql).unwrap_err();
    assert!(refusal.message.contains("tool's description"), "{refusal}");
    let refusal = check("SELECT @r := @r + 1", Dialect::MySql).unwrap_err();
    assert!(refusal.message.contains("ROW_NUMBER()"), "{refusal}");
    let refusal = check("SELECT * FROM Orders", Dialect::MySql).unwrap_err();
    assert!(refusal.message.contains("write orders"), "{refusal}");
    for sql in [
        format!("SELECT * FROM {}", "s".repeat(9_000)),
        format!("{} 1", "Q".repeat(9_000)),
        format!("SELECT 1 FROM orders LIMIT '{}' x y", "z".repeat(9_000)),
    ] {
        let refusal = check(&sql, Dialect::MySql).unwrap_err();
        assert!(refusal.message.len() < 700, "{} bytes", refusal.message.len());
    }
}

#[test]
fn the_tables_read_are_reported() {
    let select = check(
        "WITH x AS (SELECT * FROM payments) SELECT * FROM x JOIN shop.orders o USING (id)",
        Dialect::MySql,
    )
    .unwrap();
    assert_eq!(select.tables().iter().map(String::as_str).collect::<Vec<_>>(), ["orders", "payments"]);
}
