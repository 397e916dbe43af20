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
fn legal_queries_that_engineers_write() {
    all_allowed(
        &[
            "SELECT NOW()",
            "SELECT NOW(), UTC_TIMESTAMP(), UTC_TIMESTAMP, CURRENT_TIMESTAMP(3), LOCALTIME, UTC_DATE, SYSDATE(6), CURDATE()",
            "SELECT 1 FROM DUAL",
            "SELECT DISTINCT status FROM orders",
            "SELECT DISTINCTROW status FROM orders",
            "SELECT ALL id FROM orders",
            "SELECT STRAIGHT_JOIN o.id FROM orders o JOIN payments p ON p.order_id = o.id",
            "SELECT o.id FROM orders o STRAIGHT_JOIN payments p ON p.order_id = o.id",
            "SELECT * FROM orders NATURAL LEFT JOIN payments CROSS JOIN order_events",
            "SELECT id FROM (orders)",
            "SELECT o.id FROM (orders o JOIN payments p ON p.order_id = o.id)",
            "SELECT orders.id, orders.* FROM orders LIMIT 5, 10",
            "SELECT o.id FROM shop.orders o",
            "SELECT `shop`.`orders`.`id` FROM `shop` . `orders`",
            "SELECT id FROM orders USE INDEX (PRIMARY, ix_status) WHERE id = 1",
            "SELECT id FROM orders FORCE INDEX FOR ORDER BY (ix_status) ORDER BY status",
            "SELECT id FROM orders PARTITION (p0, p1) AS o",
            "SELECT SUM(amount_cents) OVER w, RANK() OVER (w ORDER BY id) FROM orders WINDOW w AS (PARTITION BY status)",
            "SELECT SUM(id) OVER (ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 FOLLOWING) FROM orders",
            "SELECT LAG(id, 1, 0) OVER (ORDER BY id), NTILE(4) OVER (ORDER BY id), CUME_DIST() OVER () FROM orders",
            "SELECT GROUP_CONCAT(DISTINCT status ORDER BY status DESC SEPARATOR '; ') FROM orders",
            "SELECT CONVERT(status USING utf8mb4), CAST(id AS CHAR(20)), CAST(id AS SIGNED), CAST(id AS DECIMAL(10,2)) FROM orders",
            "SELECT CONVERT(id, CHAR(10)), CAST(created_at AS DATETIME(3)), CAST(payload AS JSON), CAST(id AS YEAR) FROM order_events",
            "SELECT NOW() - INTERVAL '1:30' MINUTE_SECOND, NOW() + INTERVAL 1 DAY_HOUR, INTERVAL 1 DAY + created_at FROM orders",
            "SELECT EXTRACT(YEAR_MONTH FROM created_at), EXTRACT(MICROSECOND FROM created_at) FROM orders",
            "SELECT DATE_ADD(created_at, INTERVAL -1 WEEK), ADDDATE(created_at, 3) FROM orders",
            "SELECT TIMESTAMPDIFF(MINUTE, created_at, update_time), TIMESTAMPADD(SQL_TSI_DAY, 1, created_at) FROM orders",
            "SELECT GET_FORMAT(DATE, 'EUR'), DATE '2026-01-01', TIMESTAMP '2026-01-01 00:00:00', TIME '10:00:00'",
            "SELECT id FROM orders WHERE status REGEXP '^a' AND status NOT RLIKE 'b' AND status NOT REGEXP 'c'",
            "SELECT id FROM orders WHERE status LIKE '10|%%' ESCAPE '|' OR status LIKE CONCAT('%', 'x', '%')",
            "SELECT id FROM orders WHERE id NOT BETWEEN 1 AND 5 AND status IS NOT NULL AND (id > 1) IS TRUE",
            "SELECT status COLLATE utf8mb4_bin, BINARY status FROM orders ORDER BY status COLLATE utf8mb4_bin DESC",
            "SELECT payload->'$.a', e.payload->>\"$.b\", JSON_VALUE(payload, '$.a' RETURNING UNSIGNED) FROM order_events e",
            "SELECT 1 MEMBER OF(payload->'$.ids') FROM order_events",
            "SELECT id DIV 2, id MOD 2, id MOD (1 + 1), MOD(id, 2), id XOR 1, id || 1, id && 1, !id, ~id, id << 2 FROM orders",
            "SELECT 5--3, -1, - -1, +1, .5, 1e5, 0x41, 0b101, b'1', x'41'",
            "SELECT id FROM payments WHERE MATCH(error_code) AGAINST ('timeout' IN BOOLEAN MODE)",
            "SELECT status, GROUPING(status), COUNT(*) FROM orders GROUP BY status WITH ROLLUP",
            "SELECT id FROM orders EXCEPT SELECT order_id FROM payments INTERSECT SELECT 1",
            "(SELECT id FROM orders LIMIT 1) UNION DISTINCT (SELECT id FROM payments LIMIT 1) ORDER BY id LIMIT 5",
            "SELECT id FROM orders WHERE id > ANY (SELECT order_id FROM payments) OR id >= ALL (SELECT 1)",
            "SELECT id FROM orders WHERE (id, status) IN (SELECT order_id, gateway FROM payments) AND ROW(1, 2) = (1, 2)",
            "SELECT id FROM orders o WHERE NOT EXISTS (SELECT 1 FROM payments p WHERE p.order_id = o.id)",
            "SELECT _utf8mb4'abc', N'abc', _binary 'x', _latin1 0x41, _utf8mb4'a' COLLATE utf8mb4_bin",
            "SELECT 'a' 'b', \"double\", 'it''s', \"say \"\"hi\"\"\", '\\'', 'line\\nfeed', ''",
            "SELECT id AS 订单, `t`.`we``ird` FROM orders t",
            "SELECT * FROM JSON_TABLE('[1]', '$[*]' COLUMNS (n FOR ORDINALITY, x INT PATH '$' DEFAULT '0' ON EMPTY NULL ON ERROR, \
             NESTED PATH '$.b[*]' COLUMNS (y INT EXISTS PATH '$'))) AS t",
            "SELECT o.id FROM orders o LEFT JOIN LATERAL (SELECT 1 x FROM payments p WHERE p.order_id = o.id) l ON TRUE",
            "WITH a AS (WITH b AS (SELECT id FROM orders) SELECT id FROM b) SELECT COUNT(*) FROM a",
            "WITH orders AS (SELECT * FROM orders WHERE id > 5) SELECT COUNT(*) FROM orders",
            "SELECT * FROM (WITH a AS (SELECT 1 x) SELECT x FROM a) t(y)",
            "SELECT TRIM(LEADING '0' FROM status), LTRIM(status), LPAD(id, 8, '0'), REPEAT('ab', 3), IF(id, 1, 2) FROM orders",
            "SELECT id FROM orders # note\n-- more\nWHERE /* 中文 ⚠️ */ id = 1 -- end",
            "SELECT id FROM orders; -- done\n",
            "SELECT (((((((((((((((((((id))))))))))))))))))) FROM orders",
            "SELECT update_time, created_at AS `drop`, status AS deleted FROM orders ORDER BY RAND() LIMIT 1",
            "SELECT id FROM orders WHERE status = '；，（）／\u{FEFF}\u{2028}\u{200B}'",
            "SELECT PERCENTILE_CONT(0.95) WITHIN GROUP (ORDER BY latency_ms) OVER (PARTITION BY gateway) FROM payments",
        ],
        Dialect::MySql,
    );
}

#[test]
fn a_condition_of_hundreds_of_terms_is_no_bomb() {
    let many = vec!["id = 1234"; 600].join(" OR ");
    all_allowed(&[&format!("SELECT id FROM orders WHERE {many}")], Dialect::MySql);
    let columns = vec!["SUM(amount_cents + 1) / COUNT(*)"; 200].join(", ");
    all_allowed(&[&format!("SELECT {columns} FROM orders")], Dialect::MySql);
}

#[test]
fn only_select_at_every_level() {
    let refused = [
        "INSERT INTO orders VALUES (1)", "REPLACE INTO orders VALUES (1)", "UPDATE orders SET id = 1", "DELETE FROM orders",
        "TRUNCATE orders", "DROP TABLE orders", "ALTER TABLE orders ADD x INT", "RENAME TABLE orders TO x", "DO SLEEP(1)",
        "EXECUTE s", "EXECUTE IMMEDIATE 'DROP TABLE orders'", "DEALLOCATE PREPARE s", "FLUSH TABLES", "RESET MASTER",
        "PURGE BINARY LOGS TO 'x'", "CHANGE MASTER TO MASTER_HOST='x'", "START SLAVE", "INSTALL PLUGIN x SONAME 'y'",
        "CREATE USER x", "SET GLOBAL x = 1", "SET PASSWORD = 'x'", "USE mysql", "BEGIN", "START TRANSACTION", "ROLLBACK",
        "SAVEPOINT x", "XA START 'x'", "CHECK TABLE orders", "OPTIMIZE TABLE orders", "REPAIR TABLE orders", "HELP 'x'",
        "DESC orders", "DESCRIBE orders", "SHOW TABLES", "EXPLAIN orders", "VALUES ROW(1)", "SIGNAL SQLSTATE '45000'",
        "GET DIAGNOSTICS @x = NUMBER", "GRANT ALL ON *.* TO x@y", "BINLOG 'x'", "CACHE INDEX orders IN x", "SHUTDOWN",
        "RESTART", "CLONE LOCAL DATA DIRECTORY '/x'", "IMPORT TABLE FROM 'x'", "UNLOCK TABLES", "DELIMITER $$",
        "WITH x AS (SELECT 1) DELETE FROM orders", "WITH x AS (SELECT 1) INSERT INTO orders SELECT * FROM x",
        "WITH x AS (DELETE FROM orders RETURNING id) SELECT * FROM x", "WITH x AS (VALUES ROW(1)) SELECT * FROM x",
        "SELECT * FROM (TABLE secrets) t", "SELECT * FROM (VALUES ROW(1)) t", "SELECT (TABLE secrets)",
        "SELECT EXISTS (TABLE secrets)", "SELECT 1 UNION ALL (TABLE secrets)", "SELECT * FROM (DELETE FROM orders) t",
        "SELECT * FROM (UPDATE orders SET id = 1) t", "(TABLE orders)", "(DELETE FROM orders)",
        "BEGIN NOT ATOMIC SELECT 1; END", "IF 1 THEN SELECT 1; END IF", "analyze SELECT 1",
    ];
    for sql in refused {
        let refusal = check(sql, Dialect::MySql).expect_err(sql);
        assert!(["not_select", "syntax"].contains(&refusal.rule.code()), "{sql}\n{refusal}");
    }
    all_refused(
        "several_statements",
        &["SELECT 1; SELECT 2", "SELECT 1;;", "SELECT 1; /* */ DROP TABLE orders", "SELECT 1;\n#x\nDELETE FROM orders"],
        Dialect::MySql,
    );
    all_refused("empty_statement", &["", " \n", ";", ";;", "-- x", "/* x */", "# x\n;"], Dialect::MySql);
}

#[test]
fn tables_off_the_list_under_any_trick() {
    all_refused(
        "table",
        &[
            "SELECT * FROM secrets", "SELECT * FROM orders, secrets", "SELECT * FROM orders JOIN secrets", "SELECT * FROM ORDERS",
            "SELECT * FROM Orders", "SELECT * FROM `orders `", "SELECT * FROM ` orders`", "SELECT * FROM shop.secrets",
            "SELECT * FROM (secrets)", "SELECT * FROM (orders JOIN secrets ON 1=1)", "SELECT 1 FROM `shop.orders`",
            "SELECT id FROM orders ORDER BY (SELECT 1 FROM secrets)", "SELECT id FROM orders GROUP BY (SELECT 1 FROM secrets)",
            "SELECT CASE WHEN (SELECT 1 FROM secrets) THEN 1 END", "SELECT CASE 1 WHEN 1 THEN (SELECT 1 FROM secrets) END",
            "SELECT id FROM orders WHERE id > ALL (SELECT 1 FROM secrets)", "SELECT NOT EXISTS (SELECT 1 FROM secrets)",
            "SELECT 1 BETWEEN 0 AND (SELECT 1 FROM secrets)", "SELECT 'a' LIKE (SELECT 1 FROM secrets)",
            "SELECT (1, (SELECT 1 FROM secrets)) = (1, 2)", "SELECT NOW() - INTERVAL (SELECT 1 FROM secrets) DAY",
            "SELECT GROUP_CONCAT(id ORDER BY (SELECT 1 FROM secrets)) FROM orders",
            "SELECT SUM(id) OVER w FROM orders WINDOW w AS (ORDER BY (SELECT 1 FROM secrets))",
            "SELECT o.id FROM orders o LEFT JOIN LATERAL (SELECT * FROM secrets) s ON TRUE",
            "SELECT * FROM JSON_TABLE((SELECT x FROM secrets), '$' COLUMNS (a INT PATH '$')) t",
            "SELECT * FROM orders WHERE id IN (1, (SELECT 1 FROM secrets))", "SELECT CAST((SELECT 1 FROM secrets) AS CHAR)",
            "SELECT EXTRACT(YEAR FROM (SELECT 1 FROM secrets))", "SELECT TRIM((SELECT 1 FROM secrets) FROM 'x')",
            "SELECT SUBSTRING('abc' FROM (SELECT 1 FROM secrets))", "SELECT (SELECT 1 FROM secrets) IS NULL",
            "SELECT -(SELECT 1 FROM secrets)", "SELECT 1 UNION SELECT 1 FROM secrets",
            "SELECT 1 EXCEPT (SELECT 1 FROM secrets)", "SELECT id FROM orders HAVING (SELECT 1 FROM secrets)",
            // Scope tricks: the name is defined elsewhere, or later, or only inside.
            "SELECT * FROM (WITH secrets AS (SELECT 1) SELECT * FROM secrets) a, secrets",
            "(WITH secrets AS (SELECT 1) SELECT * FROM secrets) UNION SELECT * FROM secrets",
            "WITH a AS (SELECT * FROM secrets), secrets AS (SELECT 1) SELECT * FROM a",
            "WITH a AS (WITH secrets AS (SELECT 1) SELECT * FROM secrets) SELECT * FROM secrets",
            "WITH secrets AS (SELECT * FROM secrets) SELECT * FROM secrets",
            "SELECT (WITH secrets AS (SELECT 1) SELECT 1), id FROM secrets",
            "SELECT secrets.id FROM orders AS secrets JOIN secrets AS o ON 1 = 1",
            "SELECT * FROM orders o WHERE EXISTS (SELECT 1 FROM o)", "SELECT * FROM (SELECT 1) t WHERE 1 IN (SELECT 1 FROM t)",
            "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 5) SELECT * FROM r, R2",
            "SELECT * FROM `dual`",
        ],
        Dialect::MySql,
    );
    all_refused(
        "schema",
        &[
            "SELECT * FROM mysql.user", "SELECT * FROM information_schema.tables", "SELECT * FROM performance_schema.threads",
            "SELECT * FROM sys.version", "SELECT * FROM SHOP.orders", "SELECT * FROM `mysql`.`user`", "SELECT * FROM mysql . user",
            "WITH orders AS (SELECT 1) SELECT * FROM other.orders", "SELECT * FROM a.b.c", "SELECT * FROM def.shop.orders",
        ],
        Dialect::MySql,
    );
    all_refused(
        "identifier",
        &[
            "WITH Secrets AS (SELECT 1) SELECT * FROM secrets", "WITH a AS (SELECT 1), A AS (SELECT 2) SELECT 1",
            "SELECT * FROM 'orders'", "SELECT * FROM \"orders\"", "SELECT SQL_CACHE id FROM orders", "SELECT CURRENT_USER",
            "SELECT current_role FROM orders", "SELECT `` FROM orders", "SELECT `a\u{7}` FROM orders",
        ],
        Dialect::MySql,
    );
}

#[test]
fn clauses_and_functions_with_effects() {
    for (code, sqls) in [
        ("into", &["SELECT 1 INTO OUTFILE '/x'", "SELECT id FROM orders INTO DUMPFILE '/x'", "SELECT id INTO x FROM orders",
            "SELECT id FROM orders UNION SELECT 1 INTO OUTFILE '/x'", "SELECT id FROM orders LIMIT 1 INTO x"][..]),
        ("locking", &["SELECT id FROM orders FOR UPDATE", "SELECT id FROM orders FOR SHARE NOWAIT", "SELECT id FROM orders LOCK IN SHARE MODE",
            "SELECT * FROM (SELECT id FROM orders FOR UPDATE) t", "SELECT id FROM orders UNION SELECT 1 FOR UPDATE",
            "(SELECT id FROM orders) FOR UPDATE", "SELECT (SELECT id FROM orders LIMIT 1 FOR SHARE)"]),
        ("select_modifier", &["SELECT SQL_CALC_FOUND_ROWS id FROM orders", "SELECT SQL_NO_CACHE id FROM orders", "SELECT HIGH_PRIORITY id FROM orders",
            "SELECT SQL_BUFFER_RESULT id FROM orders", "SELECT SQL_SMALL_RESULT id FROM orders", "SELECT (SELECT SQL_CALC_FOUND_ROWS 1)"]),
        ("function", &["SELECT BENCHMARK(1e9, MD5('x'))", "SELECT GET_LOCK('x', 1)", "SELECT IS_FREE_LOCK('x')", "SELECT RELEASE_LOCK('x')",
            "SELECT LOAD_FILE('/etc/passwd')", "SELECT VERSION()", "SELECT USER()", "SELECT SESSION_USER()", "SELECT DATABASE()",
            "SELECT SCHEMA()", "SELECT CONNECTION_ID()", "SELECT CURRENT_USER()", "SELECT FOUND_ROWS()", "SELECT ROW_COUNT()", "SELECT UUID()",
            "SELECT UUID_SHORT()", "SELECT EXTRACTVALUE('x', 'y')", "SELECT UPDATEXML('a', 'b', 'c')", "SELECT GTID_SUBSET('a', 'b')",
            "SELECT WAIT_FOR_EXECUTED_GTID_SET('x')", "SELECT SOURCE_POS_WAIT('x', 1)", "SELECT MASTER_GTID_WAIT('x')", "SELECT NAME_CONST('a', 1)",
            "SELECT VALUES(id) FROM orders", "SELECT DEFAULT(id) FROM orders", "SELECT SETVAL(orders, 1)", "SELECT LASTVAL(orders)",
            "SELECT UNCOMPRESS(COMPRESS('x'))", "SELECT SYS_EXEC('id')", "SELECT my_udf(1)", "SELECT shop.count(1)", "SELECT `COUNT`(1)",
            "SELECT sys.version_major()", "SELECT ENCRYPT('x')", "SELECT PASSWORD('x')", "SELECT ST_LATFROMGEOHASH('x')", "SELECT AES_ENCRYPT('a', 'b')",
            "SELECT COUNT(*) FROM orders WHERE IF(id, SLEEP(1), 0)", "SELECT id FROM orders UNION SELECT SLEEP(1)",
            "SELECT * FROM orders JOIN payments ON SLEEP(1)", "SELECT GROUP_CONCAT(SLEEP(1)) FROM orders", "SELECT STATEMENT_DIGEST('x')",
            "SELECT TRY_CAST(1)", "SELECT EXPORT_SET(1, 'a', 'b')", "SELECT ICU_VERSION()", "SELECT PS_CURRENT_THREAD_ID()", "SELECT RANDOM_BYTES(9)"]),
        ("variable", &["SELECT @x", "SELECT @@version", "SELECT @@global.secure_file_priv", "SELECT @`x`", "SELECT id FROM orders LIMIT 1 INTO @x",
            "SELECT 1 FROM orders WHERE @'x' = 1"]),
        ("placeholder", &["SELECT :x", "SELECT id FROM orders WHERE id = :id", "SELECT ?1", "SELECT $x", "SELECT x := 1", "SELECT ??"]),
        ("optimizer_hint", &["SELECT /*+ SET_VAR(x = 1) */ 1", "SELECT 1 /*+ x */", "SELECT (SELECT /*+ NO_ICP(x) */ 1)"]),
        ("executable_comment", &["SELECT 1 /*! + 1 */", "SELECT /*!999999 1 */ 2", "SELECT 1 /*M! UNION SELECT 2 */", "SELECT 1 /*M!100100 x */",
            "SELECT/*!*/1", "SELECT 1 /*m! x */", "SELECT 1; /*! DROP TABLE orders */"]),
        ("comment", &["SELECT 1 /* /*! UNION SELECT 2 */", "SELECT 1 /* a /* b */ c */", "SELECT 1 /**/* /* x /* y */ 2"]),
        ("unterminated", &["SELECT 1 /*", "SELECT 1 /* *", "SELECT 'x", "SELECT `x", "SELECT \"x", "SELECT 'x\\'", "SELECT 'x''"]),
        ("client_command", &["SELECT 1\\g", "SELECT \\N", "SELECT 1 \\! ls", "SELECT 1\\G;"]),
        ("markdown_fence", &["```\nSELECT 1\n```", "  ```sql\nSELECT 1"]),
        ("unsupported", &["SELECT {fn NOW()}", "SELECT {d '2026-01-01'}", "SELECT a[1]", "SELECT * FROM orders FETCH FIRST 1 ROW ONLY",
            "SELECT id FROM orders LIMIT (SELECT 1)", "SELECT _gbk'x'", "SELECT _ucs2'x'", "SELECT PROCEDURE ANALYSE()", "SELECT {{ x }}"]),
        ("table_source", &["SELECT * FROM f(1)", "SELECT * FROM TABLE(f(1))", "SELECT * FROM LATERAL f(1)", "SELECT * FROM json_each('[]')"]),
        ("syntax", &["SELECT", "SELECT 1)", "SELECT FROM", "SELECT id FROM orders WHERE id = %s", "SELECT id FROM orders FOR SYSTEM_TIME ALL",
            "SELECT NEXT VALUE FOR orders", "SELECT id FROM orders WHERE id IN payments", "SELECT id FROM orders LIMIT ROWS EXAMINED 5"]),
    ] {
        all_refused(code, sqls, Dialect::MySql);
    }
}

#[test]
fn characters_that_readers_disagree_about() {
    for c in ['\u{B}', '\u{C}', '\u{85}', '\u{A0}', '\u{2028}', '\u{2029}', '\u{FEFF}', '\u{200B}', '\u{202E}', '\u{3000}', '\u{1}',
        '\u{7F}', '\u{1A}', '；', '，', '＝', '’', '“', '—', '😀', '＠', '／'] {
        all_refused("character", &[&format!("SELECT{c}1"), &format!("SELECT 1 {c}")], Dialect::MySql);
    }
    all_refused("character", &["\u{FEFF}SELECT 1", "SELECT 1\r, 2", "SELECT 1 -- x\rFROM secrets", "SELECT '\0'", "SELECT 1 /* \r */"], Dialect::MySql);
    all_refused("statement_too_long", &[&format!("SELECT '{}'", "x".repeat(17_000))], Dialect::MySql);
}

#[test]
fn mysql_quotes_and_comments_end_where_the_server_ends_them() {
    // In each of these some other reader sees the second table inside or outside of a literal or comment.
    all_refused(
        "table",
        &[
            "SELECT '\\' FROM orders', 1 FROM secrets", "SELECT '\\\\' FROM secrets -- '", "SELECT \"\\\" FROM orders\", 1 FROM secrets",
            "SELECT 1 --1 FROM orders\nFROM secrets".replace("--1 FROM orders", "-- FROM orders").as_str(), "SELECT 1--1 FROM secrets",
            "SELECT `a\u{60}\u{60}b` FROM secrets", "SELECT 1 # x\nFROM secrets", "SELECT 'a''b' FROM secrets -- '",
            "SELECT 1 /* ' */ FROM secrets /* ' */", "SELECT 1 /*/ */ FROM secrets", "SELECT '/*' FROM secrets -- */'",
        ],
        Dialect::MySql,
    );
    all_refused("identifier", &["SELECT `a\\` FROM orders"], Dialect::MySql);
}

#[test]
fn recursion_must_be_bounded() {
    all_allowed(
        &[
            "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 24) SELECT n FROM r",
            "WITH RECURSIVE r AS (SELECT 0 AS n UNION ALL SELECT 1 + r.n FROM r WHERE 59 >= r.n) SELECT n FROM r",
            "WITH RECURSIVE r AS (SELECT 10 AS n UNION DISTINCT SELECT n - 1 FROM r WHERE n > 0) SELECT n FROM r",
            "WITH RECURSIVE m AS (SELECT '2026-01-01 00:00:00' AS t UNION ALL SELECT t + INTERVAL 5 MINUTE FROM m WHERE t < '2026-01-01 06:00:00') SELECT t FROM m",
            "WITH RECURSIVE m AS (SELECT CAST(NOW() - INTERVAL 1 DAY AS DATETIME) AS t UNION ALL SELECT DATE_ADD(t, INTERVAL 1 HOUR) FROM m \
             WHERE DATE_ADD(t, INTERVAL 1 HOUR) <= NOW()) SELECT m.t, COUNT(o.id) FROM m LEFT JOIN orders o ON o.created_at >= m.t GROUP BY m.t",
            "WITH RECURSIVE d AS (SELECT CURDATE() AS d UNION ALL SELECT d - INTERVAL 1 DAY FROM d AS d WHERE d > CURDATE() - INTERVAL 7 DAY) SELECT d FROM d",
            "WITH RECURSIVE t AS (SELECT id, 0 AS depth FROM orders WHERE id = 1 UNION ALL SELECT o.id, t.depth + 1 FROM orders o JOIN t ON o.user_id = t.id AND t.depth < 10) SELECT * FROM t",
            "WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r LIMIT 100) SELECT n FROM r",
            "WITH RECURSIVE a AS (SELECT id FROM orders), b AS (SELECT id FROM a) SELECT * FROM b",
            "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n BETWEEN 0 AND 9 AND n <> 5) SELECT n FROM r",
        ],
        Dialect::MySql,
    );
    all_refused(
        "unbounded_recursion",
        &[
            "WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n FROM r) SELECT 1 FROM r LIMIT 1",
            "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n FROM r WHERE n < 10) SELECT n FROM r",
            "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 1000000000) SELECT n FROM r",
            "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < '1000000000') SELECT n FROM r",
            "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 1e9) SELECT n FROM r",
            "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n > 0) SELECT n FROM r",
            "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 10 OR 1 = 1) SELECT n FROM r",
            "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE NOT n < 10) SELECT n FROM r",
            "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 0 FROM r WHERE n < 10) SELECT n FROM r",
            "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 0.000001 FROM r WHERE n < 10) SELECT n FROM r",
            "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < NOW()) SELECT n FROM r",
            "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < n + 1) SELECT n FROM r",
            "WITH RECURSIVE r(a, b) AS (SELECT 1, 1 UNION ALL SELECT a, a + 1 FROM r WHERE a < 10) SELECT a FROM r",
            "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r LEFT JOIN orders ON n < 10) SELECT n FROM r",
            "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT * FROM r WHERE n < 10) SELECT n FROM r",
            "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 20 UNION ALL SELECT n + 1 FROM r WHERE n < 20) SELECT n FROM r",
            "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT r.n + 1 FROM r, r b WHERE r.n < 20) SELECT n FROM r",
            "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r LIMIT 100000000) SELECT n FROM r",
            "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM (SELECT n FROM r) t WHERE n < 10) SELECT n FROM r",
            "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL (SELECT 1 WHERE EXISTS (SELECT 1 FROM r))) SELECT n FROM r",
            "WITH RECURSIVE a AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM orders), orders AS (SELECT n FROM a) SELECT 1 FROM a",
            "WITH RECURSIVE orders AS (SELECT * FROM orders) SELECT * FROM orders",
            "SELECT * FROM (WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT n FROM r) t",
            "SELECT (WITH RECURSIVE r(n) AS (SELECT 1 UNION SELECT n + 1 FROM r) SELECT MAX(n) FROM r)",
        ],
        Dialect::MySql,
    );
}

#[test]
fn bombs() {
    let nested = |open: &str, close: &str, n: usize| format!("SELECT {}1{}", open.repeat(n), close.repeat(n));
    let mut bombs = vec![
        nested("(", ")", 3_000), nested("ABS(", ")", 500), nested("(SELECT ", ")", 300), nested("CASE WHEN ", " THEN 1 END", 300),
        nested("CASE WHEN 1 THEN ", " END", 300), nested("EXISTS (SELECT ", ")", 300), nested("1 IN (SELECT ", ")", 300),
        nested("IF(1,", ",2)", 300), nested("NOT ", "", 2_000), nested("!", "", 8_000), nested("~", "", 8_000), nested("-~", "", 4_000),
        nested("BINARY ", "", 1_000), nested("+ ", "", 4_000), nested("", "+1", 4_000), nested("", "||1", 4_000), nested("", " AND 1", 2_500),
        nested("", " OR 1", 3_000), nested("", " XOR 1", 2_000), nested("", " DIV 1", 2_000), nested("", " MOD 1", 2_000), nested("", " IS NULL", 1_500),
        nested("", " IN (1)", 1_500), nested("", " LIKE 1", 1_500), nested("", " BETWEEN 1 AND 1", 800), nested("", "->'$'", 2_000),
        nested("", " COLLATE utf8mb4_bin", 700), nested("", " UNION SELECT 1", 900), nested("", " UNION ALL (SELECT 1)", 700),
        nested("", " REGEXP 'a'", 1_200), nested("NOW() + INTERVAL ", " DAY", 500), nested("", " + INTERVAL 1 DAY", 800),
        nested("CAST(", " AS CHAR)", 500), nested("TRIM(", ")", 500), nested("(", ",1)", 800), nested("_utf8mb4 ", "", 1_500),
        format!("SELECT * FROM {}orders{}", "(".repeat(2_000), ")".repeat(2_000)), format!("SELECT 1 FROM orders{}", " JOIN orders".repeat(500)),
        format!("SELECT 1 FROM orders{}", ", orders".repeat(1_000)), format!("SELECT 1 FROM orders{}", " NATURAL JOIN orders".repeat(500)),
        format!("{}SELECT 1{}", "WITH a AS (".repeat(300), ") SELECT 1".repeat(300)), format!("{}SELECT 1{}", "(".repeat(400), ")".repeat(400)),
        format!("SELECT {}", "(".repeat(10_000)), format!("SELECT {}", "CASE ".repeat(3_000)), format!("SELECT {}", "[".repeat(10_000)),
        format!("SELECT * FROM {}orders{}", "((SELECT 1 FROM ".repeat(100), ") x JOIN orders)".repeat(100)),
        format!("WITH {} SELECT 1", (0..900).map(|i| format!("c{i} AS (SELECT 1)")).collect::<Vec<_>>().join(",")),
        format!("SELECT * FROM JSON_TABLE('', '$' COLUMNS ({}a INT PATH '$'{})) t", "NESTED PATH '$' COLUMNS (".repeat(200), ")".repeat(200)),
    ];
    bombs.extend(["SELECT REPEAT('a', 1000000000)", "SELECT SPACE(1e9)", "SELECT LPAD('a', 999999999, 'b')", "SELECT RPAD('a', id, 'b') FROM orders",
        "SELECT REPEAT('a', 9999 * 9999)", "SELECT CAST('a' AS BINARY(1000000000))", "SELECT CAST('a' AS CHAR(99999999))"].map(str::to_owned));
    for bomb in bombs {
        let refusal = check(&bomb, Dialect::MySql).expect_err(&bomb[..bomb.len().min(60)]);
        assert!(refusal.to_string().len() < 700);
    }
}

#[test]
fn the_deepest_statements_let_through_fit_the_stack() {
    for (open, close, times) in [("(", ")", 30), ("ABS(", ")", 30), ("(SELECT ", ")", 30), ("CASE WHEN ", " THEN 1 END", 30), ("", "+1", 290), ("", " OR 1", 790),
        ("EXISTS (SELECT ", ")", 30), ("NOT ", "", 100), ("", " IS NULL", 290), ("", " DIV 2", 290), ("IF(1,", ",2)", 30), ("", " UNION SELECT 1", 60)] {
        let sql = format!("SELECT {}1{}", open.repeat(times), close.repeat(times));
        // Either verdict is fine; what matters is that one comes back, on a stack of the usual size.
        let _ = check(&sql, Dialect::MySql);
    }
    let exponential = format!("SELECT * FROM {}orders{}", "((SELECT 1 FROM ".repeat(15), ") x JOIN orders)".repeat(15));
    let _ = check(&exponential, Dialect::MySql);
}

#[test]
fn parameters_fit_their_placeholders() {
    let sql = "SELECT '支付?', LPAD(id, ?, '0') FROM orders -- ?\nWHERE status = ? AND `a?` = \"?\" LIMIT ?";
    let policy = policy(Dialect::MySql);
    let good = [json!(8), json!("x"), json!(5)];
    assert_eq!(ReadOnlySelect::check(sql, &good, &policy).unwrap().params(), good);
    let too_long = ReadOnlySelect::check(sql, &[json!(1_000_000), json!("x"), json!(5)], &policy).unwrap_err();
    assert_eq!(too_long.rule.code(), "resource");
    for params in [vec![], vec![json!(1)], vec![json!(1), json!([1]), json!(2)], vec![json!(1), json!({}), json!(2)], vec![json!(1); 4]] {
        assert_eq!(ReadOnlySelect::check(sql, &params, &policy).unwrap_err().rule.code(), "parameters", "{params:?}");
    }
    let bound = "WITH RECURSIVE r(n) AS (SELECT ? UNION ALL SELECT n + 1 FROM r WHERE n < ?) SELECT n FROM r";
    assert!(ReadOnlySelect::check(bound, &[json!(1), json!(24)], &policy).is_ok());
    assert!(ReadOnlySelect::check(bound, &[json!(1), json!(1_000_000_000)], &policy).is_err());
}

#[test]
fn sqlite_has_its_own_quotes_and_functions() {
    all_allowed(
        &[
            "SELECT strftime('%Y-%m', created_at), datetime('now', '-1 hour'), julianday('now') FROM orders",
            "SELECT payload->>'$.a', json_extract(payload, '$.a'), ifnull(kind, 'x') || 'y' FROM order_events",
            "SELECT \"id\", `status`, round(avg(amount_cents), 2), count(*) FILTER (WHERE status = 'x') FROM orders GROUP BY 1, 2",
            "SELECT e.id, j.value FROM order_events e, json_each(e.payload) j WHERE kind GLOB 'a*' AND id IS NOT 5",
            "WITH r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 10) SELECT n FROM r",
            "WITH RECURSIVE h(t) AS (SELECT datetime('now', '-6 hours') UNION ALL SELECT datetime(t, '+1 hour') FROM h WHERE t < datetime('now')) SELECT t FROM h",
            "SELECT CAST(id AS TEXT), CURRENT_TIMESTAMP FROM orders ORDER BY id DESC NULLS LAST LIMIT 5 OFFSET 5",
            "SELECT 'C:\\dir' FROM orders -- note",
        ],
        Dialect::Sqlite,
    );
    for (code, sqls) in [
        ("table", &["SELECT * FROM sqlite_master", "SELECT * FROM sqlite_schema", "SELECT * FROM \"secrets\"", "SELECT * FROM pragma_database_list",
            "SELECT 1--1\nFROM secrets", "SELECT * FROM dbstat", "SELECT 'it''s' FROM secrets"][..]),
        ("schema", &["SELECT * FROM main.orders", "SELECT * FROM temp.secrets", "SELECT * FROM aux.orders"]),
        ("table_source", &["SELECT * FROM pragma_table_info('orders')", "SELECT * FROM generate_series(1, 5)", "SELECT 1 WHERE 1 IN secrets",
            "SELECT * FROM fsdir('/')", "SELECT * FROM \"json_each\"('[]')"]),
        ("function", &["SELECT load_extension('x')", "SELECT readfile('/etc/passwd')", "SELECT writefile('x', 'y')", "SELECT edit('x')",
            "SELECT sqlite_version()", "SELECT randomblob(1000000000)", "SELECT zeroblob(1000000000)", "SELECT printf('%999999999d', 1)",
            "SELECT format('%999999999d', 1)", "SELECT last_insert_rowid()", "SELECT changes()", "SELECT fts3_tokenizer('x')", "SELECT NOW()",
            "SELECT sqlite_compileoption_get(1)", "SELECT sqlite_offset(id) FROM orders"]),
        ("not_select", &["PRAGMA table_info(orders)", "ATTACH 'x' AS y", "DETACH y", "VACUUM INTO 'x'", "REINDEX", "VALUES (1)", "EXPLAIN QUERY PLAN SELECT 1",
            "SELECT * FROM (VALUES (1))", "SELECT 1 WHERE 1 IN (VALUES (1))"]),
        ("unbounded_recursion", &["WITH r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT max(n) FROM r",
            "WITH a AS (SELECT * FROM orders), orders AS (SELECT * FROM a) SELECT 1 FROM a", "WITH orders AS (SELECT * FROM orders) SELECT 1 FROM orders"]),
        ("character", &["SELECT '\\' FROM orders -- '", "SELECT 1 # x"]),
        ("unsupported", &["SELECT [id] FROM orders", "SELECT id FROM orders WHERE id MATCH 'x'", "SELECT id REGEXP 'x' FROM orders", "SELECT NOW - INTERVAL 1 DAY"]),
        ("placeholder", &["SELECT ?1", "SELECT :a", "SELECT $a"]),
        ("variable", &["SELECT @a"]),
    ] {
        all_refused(code, sqls, Dialect::Sqlite);
    }
}

#[test]
fn refusals_name_rule_and_remedy_and_echo_little() {
    let refusal = check("SHOW CREATE TABLE orders", Dialect::MySql).unwrap_err();
    assert!(refusal.message.contains("tool's description"), "{refusal}");
    let refusal = check("SELECT @r := @r + 1", Dialect::MySql).unwrap_err();
    assert!(refusal.message.contains("ROW_NUMBER()"), "{refusal}");
    let refusal = check("SELECT * FROM Orders", Dialect::MySql).unwrap_err();
    assert!(refusal.message.contains("write orders"), "{refusal}");
    for sql in [format!("SELECT * FROM {}", "s".repeat(9_000)), format!("{} 1", "Q".repeat(9_000)), format!("SELECT 1 FROM orders LIMIT '{}' x y", "z".repeat(9_000))] {
        let refusal = check(&sql, Dialect::MySql).unwrap_err();
        assert!(refusal.message.len() < 700, "{} bytes", refusal.message.len());
    }
}

#[test]
fn the_tables_read_are_reported() {
    let select = check("WITH x AS (SELECT * FROM payments) SELECT * FROM x JOIN shop.orders o USING (id)", Dialect::MySql).unwrap();
    assert_eq!(select.tables().iter().map(String::as_str).collect::<Vec<_>>(), ["orders", "payments"]);
}
