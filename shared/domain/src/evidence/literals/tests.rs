//! What is grounded and what is reported, in both languages, and that hostile texts cost no more than their length.

use std::fmt::Write as _;

use proptest::prelude::*;
use serde_json::json;

use super::super::snapshot::{SourceType, VerifiedEvidence};
use super::Haystack;

/// Evidence, text, and what of the text is reported.
type Row = (&'static str, &'static str, &'static [&'static str]);

fn check(rows: &[Row]) {
    let mut wrong = String::new();
    for (evidence, text, expected) in rows {
        let missing = Haystack::of_text(evidence).missing_from(text);
        if missing != *expected {
            let _ = writeln!(wrong, "{evidence:?} / {text:?}: {missing:?}, expected {expected:?}");
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

#[test]
fn numbers() {
    check(&[
        ("count=1204", "1,204 requests failed", &[]),
        ("count=1204", "1 204 requests failed", &[]),
        ("count=1204", "1204 次失败", &[]),
        ("count=1204", "１，２０４次失败", &[]),
        ("count=1204", "１２０４ 次失败", &[]),
        ("count=1204", "1_204 in total", &[]),
        ("count=1204", "1,240 requests failed", &["1,240 requests"]),
        ("count=1204", "204 requests failed", &["204 requests"]),
        ("total 1,204", "1204 errors", &[]),
        ("total 1,204", "204 errors", &["204 errors"]),
        ("total 1,204", "the code was 204", &["204"]),
        ("count=1200", "1.2k requests", &[]),
        ("count=1200", "about 1.2k in total", &[]),
        ("count=1200", "1.3k requests", &["1.3k requests"]),
        ("count=120000", "12万次调用", &[]),
        ("count=120000", "12 万次调用", &[]),
        ("count=120000", "12w 请求", &[]),
        ("count=120000", "1.2万次调用", &["1.2万次"]),
        ("count=3000000", "3 million rows", &[]),
        ("count=3000000", "300万行", &[]),
        ("count=3000000", "3M rows", &[]),
        ("count=3000000000", "3 million rows", &["3 million rows"]),
        ("status 5040", "HTTP 504 was returned", &["HTTP 504"]),
        ("status 504", "HTTP 504 was returned", &[]),
        ("status=504", "HTTP504 was returned", &[]),
        ("took 504 ms", "HTTP 504 was returned", &["HTTP 504"]),
        ("status 504", "504s were returned", &["504s"]),
        ("status 504 and 503", "5xx rose", &[]),
        ("status 404", "5xx rose", &["5xx"]),
        ("status 404", "4xx 升高", &[]),
        ("id 3120", "12 of them", &["12"]),
        ("id 3120", "id 312", &["312"]),
        ("codes 502 and 503", "codes 502,503", &[]),
        ("codes 502 and 503", "codes 502,504", &["502,504"]),
        ("codes 502 and 503", "错误码 502、503", &[]),
        ("codes 502 and 503", "错误码 502，504", &["504"]),
        ("codes 502 and 503", "codes 502 503", &[]),
        ("x", "3 of the causes, 2 reasons, step 4", &[]),
        ("replicas: 5", "3 pods restarted", &["3 pods"]),
        ("replicas: 3", "3 pods restarted", &[]),
        ("副本数 3", "3 个副本", &[]),
        ("took 3 ms", "3 个副本", &["3 个"]),
        ("took 12 ms", "12 pods", &["12 pods"]),
        ("took 12 ms", "a value of 12", &[]),
        ("value 0.35294", "0.353", &["0.353"]),
        ("orders 123456789012345678", "order 123456789012345679", &["123456789012345679"]),
        ("orders 123456789012345678", "order 123456789012345678", &[]),
        ("load 1e21", "1e21", &[]),
        ("in 2026-11-30", "since 2026", &[]),
        ("in 2025-11-30", "since 2026", &["2026"]),
        ("partition-12 lagged", "partition 12 lagged", &[]),
        ("partition-12 lagged", "12 pods", &["12 pods"]),
        ("retried 7 times", "3x retries and 7x", &["3x"]),
        ("nothing", "available 24/7", &[]),
        ("top 10", "the top-10 and the top-20", &["20"]),
    ]);
}

#[test]
fn units() {
    check(&[
        ("timed out after 5000ms", "timed out after 5s", &[]),
        ("timed out after 5000ms", "timed out after 5 s", &[]),
        ("timed out after 5000ms", "timed out after 5,000 ms", &[]),
        ("timed out after 5000ms", "5 秒后超时", &[]),
        ("timed out after 5000ms", "五秒后超时", &[]),
        ("timed out after 5000ms", "a five-second timeout", &[]),
        ("timed out after 5000ms", "timed out after five seconds", &[]),
        ("timed out after 5000ms", "a 5-second timeout", &[]),
        ("timed out after 5000ms", "timed out after 50 s", &["50 s"]),
        ("timed out after 5000ms", "timed out after 5 ms", &["5 ms"]),
        ("timed out after 5000ms", "六秒后超时", &["六秒"]),
        ("timed out after 5003ms", "timed out after 5 s", &["5 s"]),
        ("timeout 5000", "timed out after 5000 ms", &["5000 ms"]),
        ("latency_ms=5003", "5003 ms", &[]),
        ("latency_ms=5003", "5.003 秒", &[]),
        ("latency_ms=5003", "5003 s", &["5003 s"]),
        (r#"{"durationMs": 1500}"#, "took 1.5s", &[]),
        ("elapsed(ms)=1500", "took 1.5s", &[]),
        ("size_bytes=1048576", "1 MB", &[]),
        ("limit 512MB", "0.5 GB", &[]),
        ("limit 512MB", "512 MiB", &[]),
        ("limit 512Mi", "512MB", &[]),
        ("limit 512MB", "512KB", &["512KB"]),
        ("limit 512MB", "512 兆", &[]),
        ("limit 2G", "2GB, not 4GB", &["4GB"]),
        ("for 2h", "two hours, 120 min, 2小时, 两个小时", &[]),
        ("for 1.5 hours", "90 min", &[]),
        ("for 90 min", "1h30m", &[]),
        ("for 1h30m", "90 分钟", &[]),
        ("for 1h30m", "1小时30分", &[]),
        ("for 1h30m", "1小时31分", &["1小时31分"]),
        ("for 1m30s", "took 90s", &[]),
        ("for 30m", "三十分钟", &[]),
        ("for 30m", "十分严重", &[]),
        ("for 30m", "十分钟", &["十分钟"]),
        ("rate 30%", "0.3", &[]),
        ("rate 0.3", "30%", &[]),
        ("rate 0.3", "百分之三十", &[]),
        ("rate 0.3", "30 percent", &[]),
        ("rate 0.3", "３０％", &[]),
        ("rate 3.5%", "35%", &["35%"]),
        ("rate 35%", "3.5%", &["3.5%"]),
        ("rate 35%", "35", &[]),
        ("1 row", "100%", &["100%"]),
        ("error_pct: 12.5", "12.5%", &[]),
        ("100%", "百分之百", &[]),
        ("延迟 120 微秒", "120us, 120 µs, 0.12ms", &[]),
        ("QPS 1200", "1.2k qps", &[]),
        ("link 100 Mbps", "100MB", &["100MB"]),
        ("latency_min=12", "12 ms", &["12 ms"]),
        ("latency_min=12", "12 requests", &[]),
    ]);
}

#[test]
fn number_words() {
    check(&[
        ("230 orders", "two hundred and thirty orders", &[]),
        ("230 orders", "两百三十笔订单", &[]),
        ("230 orders", "二百三十笔订单", &[]),
        ("230 orders", "两百零三笔订单", &["两百零三笔"]),
        ("25 rows", "twenty-five rows", &[]),
        ("25 rows", "twenty-six rows", &["twenty-six rows"]),
        ("retried three times", "3 times", &[]),
        ("重试了三次", "3 次", &[]),
        ("1200 lines", "one thousand two hundred lines", &[]),
        ("12305", "一万两千三百零五", &[]),
        ("100000 hits", "十万次", &[]),
        ("3.5 s", "三点五秒", &[]),
        ("2026", "二〇二六", &[]),
        (
            "x",
            "两个原因, 一个问题, one of them, two reasons, 万一, 几十个, 十几次, 三十多个, 三分之一, 百度, 一些",
            &[],
        ),
        ("x", "一二三", &["一二三"]),
        ("x", "ten of them, thirty", &[]),
        ("x", "thirty-one of them", &["thirty-one"]),
    ]);
}

#[test]
fn times() {
    const Z: &str = "2026-11-29T22:05:07.120Z ERROR";
    const CST: &str = "2026-11-30T14:05:00+08:00 ERROR";
    check(&[
        (Z, "2026-11-30T06:05:07+08:00", &[]),
        (Z, "2026-11-30 06:05 (UTC+8)", &[]),
        (Z, "北京时间 2026-11-30 06:05", &[]),
        (Z, "at 22:05", &[]),
        (Z, "at 22:05:07", &[]),
        (Z, "at 22:05:07.12", &[]),
        (Z, "at 22:05:08", &["22:05:08"]),
        (Z, "at 22:50", &["22:50"]),
        (Z, "at 06:05", &["06:05"]),
        (Z, "at 06:05+08:00", &[]),
        (Z, "06:05（北京时间）", &[]),
        (Z, "10:05 pm", &[]),
        (Z, "10:05 p.m. UTC", &[]),
        (Z, "10:05 am", &["10:05 am"]),
        (Z, "晚上10点05分", &[]),
        (Z, "晚上 10:05", &[]),
        (Z, "22点05分", &[]),
        (Z, "22时05分07秒", &[]),
        (Z, "2026-11-29", &[]),
        (Z, "2026/11/29", &[]),
        (Z, "2026年11月29日", &[]),
        (Z, "11月29日 22:05", &[]),
        (Z, "Nov 29, 2026", &[]),
        (Z, "on 29 November", &[]),
        (Z, "11 月", &["11"]),
        (Z, "11月28日", &["11月28日"]),
        (Z, "2026-11-30", &["2026-11-30"]),
        (Z, "2026-11-29 22:06", &["2026-11-29 22:06"]),
        (CST, "14:05", &[]),
        (CST, "2:05 pm", &[]),
        (CST, "14:50", &["14:50"]),
        (CST, "06:05Z", &[]),
        (CST, "06:05 UTC", &[]),
        (CST, "06:05", &[]),
        (CST, "14:05Z", &["14:05Z"]),
        (CST, "下午2点05分", &[]),
        (CST, "下午2点零五", &["下午2点"]),
        (CST, "14:05-14:10", &["14:10"]),
        (CST, "１４：０５", &[]),
        ("[30/Nov/2026:14:05:01 +0800] GET", "2026-11-30T06:05:01Z", &[]),
        ("Nov 30 14:05:01 db-01 mysqld", "11月30日 14:05:01", &[]),
        ("2026-11-30 06:05:00,123 WARN", "06:05:00.123", &[]),
        ("ts=1796018700", "2026-11-30 06:05", &[]),
        ("ts=1796018700000", "06:05:00Z", &[]),
        ("at 14:00", "2 pm, 14点, 下午2点, 14点整", &[]),
        ("at 14:30", "14点半", &[]),
        ("x", "3点建议, 一点, 2点原因", &[]),
        ("x", "a ratio of 1:3", &[]),
    ]);
}

#[test]
fn names() {
    check(&[
        ("SELECT 1 FROM orders_archive", "`orders` is empty", &["orders"]),
        ("SELECT 1 FROM orders_archive", "orders_archive is empty", &[]),
        ("SELECT 1 FROM orders_archive", "ORDERS_ARCHIVE is empty", &[]),
        ("SELECT 1 FROM orders_archive", "order_archive is empty", &["order_archive"]),
        ("payment-gateway-canary up", "payment-gateway is up", &["payment-gateway"]),
        ("payment-gateway-7d9f8b6c5-x2x4z up", "payment-gateway is up", &[]),
        ("payment-gateway: ok", "支付网关payment-gateway正常", &[]),
        ("payment-gateway: ok", "payment-service 正常", &["payment-service"]),
        ("connect db-01.internal:3306", "db-01.internal:3306", &[]),
        ("connect db-01.internal:3306", "db-01", &[]),
        ("connect db-01.internal:3306", "db-02.internal:3306", &["db-02.internal:3306"]),
        ("connect db-01.internal:3306", "db-01.internal:3307", &["db-01.internal:3307"]),
        ("connect db-01.internal:3306", "db-011", &["db-011"]),
        ("connect 10.0.0.5:3306", "10.0.0.5", &[]),
        ("connect 10.0.0.5:3306", "10.0.0.5:3306 and 10.0.0.50", &["10.0.0.50"]),
        ("com.zaxxer.hikari.pool.HikariPool", "HikariPool", &[]),
        ("com.zaxxer.hikari.pool.HikariPool", "hikari.pool", &[]),
        ("com.zaxxer.hikari.pool.HikariPool", "HikariPoolX", &["HikariPoolX"]),
        ("java.sql.SQLTransientConnectionException: x", "SQLTransientConnectionException", &[]),
        ("java.sql.SQLTransientConnectionException: x", "SQLException", &["SQLException"]),
        ("error E1040", "E1040", &[]),
        ("error E1040", "E104", &["E104"]),
        ("error E10400", "E1040", &["E1040"]),
        ("ERR_POOL_TIMEOUT", "err_pool_timeout, ERR_POOL", &["ERR_POOL"]),
        ("ORA-00060: deadlock", "ORA-00060", &[]),
        ("ORA-00060: deadlock", "ORA-00600", &["ORA-00600"]),
        ("GATEWAY_TIMEOUT", "GATEWAY_TIMEOUT", &[]),
        ("connect ECONNREFUSED", "ECONNREFUSED not ECONNRESET", &["ECONNRESET"]),
        ("reason: OOMKilled", "OOMKilled, CrashLoopBackOff", &["CrashLoopBackOff"]),
        ("POOL_MAX_SIZE=50", "POOL_MAX_SIZE=50", &[]),
        ("POOL_MAX_SIZE=50", "POOL_MAX_SIZE=60", &["60"]),
        ("POOL_MAX_SIZE=50", "POOL_MIN_SIZE", &["POOL_MIN_SIZE"]),
        ("release v2.3.1", "2.3.1", &[]),
        ("version 2.3.1", "v2.3.1", &[]),
        ("release v2.3.10", "v2.3.1", &["v2.3.1"]),
        ("release v2.3.1", "v2.3", &["v2.3"]),
        ("GET /api/v1/orders/42 200", "/api/v1/orders", &[]),
        ("GET /api/v1/orders/42 200", "接口/api/v1/orders。", &[]),
        ("GET /api/v1/orders/42 200", "/api/v2/orders", &["/api/v2/orders"]),
        ("GET /api/v1/orders/42 200", "order 42", &[]),
        ("see https://wiki.example.com/run/pay", "https://wiki.example.com/run/pay.", &[]),
        (
            "see https://wiki.example.com/run/pay",
            "https://wiki.example.com/run/pool",
            &["https://wiki.example.com/run/pool"],
        ),
        ("trace 4bf92f3577b34da6a3ce929d0e0e4736", "4bf92f3577b34da6a3ce929d0e0e4736", &[]),
        (
            "trace 4bf92f3577b34da6a3ce929d0e0e4736",
            "4bf92f3577b34da6a3ce929d0e0e4737",
            &["4bf92f3577b34da6a3ce929d0e0e4737"],
        ),
        ("order Ab12cd34EF", "Ab12cd34EF", &[]),
        ("order Ab12cd34EF", "ab12cd34ef", &["ab12cd34ef"]),
        ("id 0190b1c2-aaaa-7bbb-8ccc-0123456789ab", "0190B1C2-AAAA-7BBB-8CCC-0123456789AB", &[]),
        ("order-20261130-0007", "order-20261130-0007", &[]),
        ("order-20261130-0007", "order-20261130-0008", &["order-20261130-0008"]),
        ("p99_ms=1200", "p99 is 1200", &[]),
        ("p95_ms=1200", "p99 is 1200", &["p99"]),
        (
            "x",
            "don't read-only follow-up long-running re-try up-to-date end-to-end cross-cluster and/or I/O e.g. i.e. VMs",
            &[],
        ),
        ("x", "API HTTP SQL CPU MySQL UTF-8 Redis 1st 25th done.Then", &[]),
        ("x", "the _slow_ **fast** path", &[]),
    ]);
}

#[test]
fn quotations() {
    check(&[
        (
            "Connection is not available, request timed out",
            r#"it says "connection is not available, request timed out.""#,
            &[],
        ),
        ("Connection is not available, request timed out", "“request timed out”", &[]),
        ("Connection is not available, request timed out", "“Connection … timed out”", &[]),
        ("Connection is not available, request timed out", "‘request failed’", &["request failed"]),
        ("Connection is not available, request timed out", "'request timed'", &[]),
        ("Connection is not available, request timed out", "'quest timed'", &["quest timed"]),
        ("错误：连接池耗尽，请稍后", "「连接池耗尽」", &[]),
        ("错误：连接池耗尽，请稍后", "『连接池满』", &["连接池满"]),
        ("见《支付超时手册》", "《支付超时手册》", &[]),
        ("见《支付超时手册》", "《退款手册》", &["退款手册"]),
        ("status = 504", "`status=504`", &[]),
        ("took 5000ms", "`5s`", &[]),
        ("took 5000ms", "`6s`", &["6s"]),
        ("x", "the pods' memory isn't the hosts' problem", &[]),
        ("x", "an open \"quote\nover lines\" and ``` fences ```", &["fences"]),
    ]);
}

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
    // Anything quadratic in 200 kB would not end within the patience of a test run.
    for piece in REPEATED {
        let text = piece.repeat(200_000 / piece.len());
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
    prop_oneof![4 => known.prop_map(str::to_owned), 1 => "\\PC{0,6}", 1 => "[0-9a-zA-Z.,:_/ -]{0,8}"]
}

proptest! {
    #[test]
    fn whatever_the_evidence_says_is_grounded(pieces in prop::collection::vec(fragment(), 0..12), glue in "[ ,，。\n]{0,2}") {
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
