//! Structured evidence, properties of any text, and texts made to be slow.

use proptest::prelude::*;
use serde_json::json;

use super::super::snapshot::{SourceType, VerifiedEvidence};
use super::Haystack;

fn logs(excerpt: &str, values: serde_json::Value) -> VerifiedEvidence {
    VerifiedEvidence {
        source_type: SourceType::Logs,
        source: "app-logs".into(),
        scope: json!({"service": "payment-gateway", "query": "pool timeout 77", "level": "ERROR",
            "start": "2026-11-30T06:00:00Z", "end": "2026-11-30T06:30:00Z"}),
        timestamp: Some("2026-11-30T06:05:00Z".into()),
        excerpt: Some(excerpt.into()),
        values: Some(values),
    }
}

fn mysql() -> VerifiedEvidence {
    VerifiedEvidence {
        source_type: SourceType::Mysql,
        source: "orders-db".into(),
        scope: json!({"sql": "SELECT status, wait_ms, total FROM orders WHERE id > ? AND t > NOW() - INTERVAL 45 MINUTE LIMIT 88",
            "params": ["202611300007", 66, "2026-11-30 05:00:00"]}),
        timestamp: Some("2026-11-30T07:00:00Z".into()),
        excerpt: None,
        values: Some(json!({"columns": ["status", "wait_ms", "total"],
            "rows": [["PENDING_PAY", 1500, "1234567.50"], ["say \"hi\"\\n", 20, null]], "row_count": 2, "truncated": false})),
    }
}

#[test]
fn structured_evidence() {
    let evidence = [
        logs(
            "pool exhausted after 30000ms",
            json!({"template": "pool exhausted after <*>ms", "count": 37, "matched": 41}),
        ),
        mysql(),
        VerifiedEvidence {
            source_type: SourceType::Knowledge,
            source: "Pool runbook".into(),
            scope: json!({"document_id": "doc-17", "version": 14, "section": "Limits > 95 percent"}),
            timestamp: None,
            excerpt: Some("Raise POOL_MAX_SIZE".into()),
            values: None,
        },
    ];
    let rows: &[(&str, &[&str])] = &[
        ("37 events and 41 lines matched", &[]),
        ("2 rows", &[]),
        ("3 rows", &["3 rows"]),
        ("orders.status is PENDING_PAY", &[]),
        ("orders.state is `PENDING_PAY`", &["orders.state"]),
        ("payments.status", &["payments.status"]),
        ("waited 1.5s, 1500 ms, not 1500 s", &["1500 s"]),
        ("a total of 1,234,567.5", &[]),
        ("订单总额 123.45675万", &[]),
        ("between 06:00 and 06:30, since 05:00", &[]),
        ("in the last 45 minutes", &[]),
        ("88 rows, 66, 77", &["88 rows", "66", "77"]),
        ("order 202611300007", &[]),
        ("order 202611300008", &["202611300008"]),
        (r#"it says "say hi""#, &[]),
        ("“pool timeout” on payment-gateway in app-logs", &[]),
        ("status = `PENDING_PAY`", &[]),
        ("runbook version 14, 95%", &[]),
        ("doc-17 of 《Pool runbook》", &[]),
        ("连接池在 30 秒后耗尽", &[]),
        ("连接池在 31 秒后耗尽", &["31 秒"]),
    ];
    let haystack = Haystack::of(evidence.iter());
    for (text, expected) in rows {
        assert_eq!(haystack.missing_from(text), *expected, "{text}");
    }
}

#[test]
fn a_path_or_url_goes_on_with_the_letters_of_any_script() {
    let haystack = Haystack::of_text("GET /cafés/menü at http://höst/straße");
    assert!(haystack.missing_from("/cafés/menü, http://höst/straße").is_empty());
    assert_eq!(haystack.missing_from("/caf and http://höst/stra"), ["/caf", "http://höst/stra"]);
    assert!(Haystack::of_text("/aaে").missing_from("/aaে").is_empty());
}

#[test]
fn each_literal_is_reported_once_in_order() {
    let missing = Haystack::of_text("")
        .missing_from("db-07 at 14:05, 99 ms; DB-07 and db-07 again at 14:05 with 99 ms");
    assert_eq!(missing, ["db-07", "14:05", "99 ms", "DB-07"]);
}

#[test]
fn no_evidence_grounds_nothing_and_no_text_says_nothing() {
    assert_eq!(Haystack::of(std::iter::empty()).missing_from("504 on db-01"), ["504", "db-01"]);
    assert!(Haystack::of_text("504").missing_from("").is_empty());
}

/// What hostile or unlucky texts repeat.
const REPEATED: &[&str] = &[
    "1",
    "1,111,",
    "1 111 ",
    "12-",
    "v1.",
    "a-",
    "a.",
    "“",
    "「",
    "'a ",
    "\"",
    "`",
    "/a",
    "1h",
    "14:05:",
    "十",
    "一",
    "百分之",
    "Nov ",
    "one hundred and ",
    "http://a",
    "12 Nov ",
    "x_",
    "（",
    "\u{200B}",
    "下午",
    "2026-11-30T",
    "latency_ms=",
    "9 ",
    "e.",
];

#[test]
fn hostile_repetition_is_linear_enough_to_finish() {
    // Anything quadratic in 40 kB would not end within the patience of a test run.
    for piece in REPEATED {
        let text = piece.repeat(40_000 / piece.len());
        let haystack = Haystack::of_text(&text);
        assert!(haystack.missing_from(&text).len() <= 2, "{piece:?}");
    }
}

fn fragment() -> impl Strategy<Value = String> {
    let known = prop::sample::select(vec![
        "504",
        "1,204",
        "5s",
        "5000 ms",
        "30%",
        "db-01.internal:3306",
        "payment-gateway",
        "orders_archive",
        "14:05",
        "2026-11-30T06:05:00+08:00",
        "11月30日",
        "两百三十笔",
        "十分钟",
        "twenty-five",
        "“pool exhausted”",
        "`x = 5`",
        "v2.3.1",
        "/api/v1/orders",
        "HTTP 504",
        "5xx",
        "E1040",
        "latency_ms=5003",
        "下午2点05分",
        "１２万次",
        "Nov 30",
        "3 pods",
        "1h30m",
        "4bf92f3577b34da6a3ce929d0e0e4736",
        "don't",
        "and",
        "失败",
        "，",
        "。",
        ",",
        ".",
        "-",
        "/",
        "(",
        ")",
        "1",
        "m",
        "k",
    ]);
    prop_oneof![
        4 => known.prop_map(str::to_owned),
        1 => "\\PC{0,6}",
        1 => "[0-9a-zA-Z.,:_/ -]{0,8}",
        1 => "(/|[a-z]+://|[a-z]+[.:@-])[a-z0-9]{1,3}\\PC{1,3}",
    ]
}

proptest! {
    #[test]
    fn whatever_the_evidence_says_is_grounded(pieces in prop::collection::vec(fragment(), 0..12), glue in "[ ，。\n]{1,2}|, ") {
        let text = pieces.join(&glue);
        prop_assert_eq!(Haystack::of_text(&text).missing_from(&text), Vec::<String>::new());
        let mut piece = logs(&text, json!({"n": 1}));
        prop_assert_eq!(Haystack::of([&piece].into_iter()).missing_from(&text), Vec::<String>::new());
        piece.excerpt = None;
        piece.values = Some(json!({"template": text}));
        prop_assert_eq!(Haystack::of([&piece].into_iter()).missing_from(&text), Vec::<String>::new());
    }

    #[test]
    fn any_text_against_any_evidence_is_safe(evidence in any::<String>(), text in any::<String>()) {
        let missing = Haystack::of_text(&evidence).missing_from(&text);
        prop_assert!(missing.iter().all(|literal| text.contains(literal.as_str())));
    }

    #[test]
    fn what_is_reported_is_written_in_the_text(pieces in prop::collection::vec(fragment(), 0..12)) {
        let text = pieces.join(" ");
        let missing = Haystack::of_text("").missing_from(&text);
        prop_assert!(missing.iter().all(|literal| !literal.is_empty() && text.contains(literal.as_str())));
    }

    #[test]
    fn a_number_of_other_digits_is_not_grounded(found in 10u64..10_000_000, claimed in 10u64..10_000_000) {
        prop_assume!(found != claimed);
        let haystack = Haystack::of_text(&format!("count={found}, done"));
        prop_assert_eq!(haystack.missing_from(&format!("{claimed} rows")).len(), 1);
        prop_assert_eq!(haystack.missing_from(&format!("{found} rows")).len(), 0);
    }
}
