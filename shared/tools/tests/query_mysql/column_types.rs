//! Every column type as a cell, and every kind of parameter.

use domain::evidence::EvidenceStatus;
use serde_json::{Value, json};

use super::shop::{Shop, ask, ask_with};

const TABLE: &str = "
CREATE TABLE kinds (id INT PRIMARY KEY,
    t TINYINT, tu TINYINT UNSIGNED, b TINYINT(1), bu TINYINT(1) UNSIGNED, s SMALLINT, su SMALLINT UNSIGNED, m MEDIUMINT,
    mu MEDIUMINT UNSIGNED, i INT, iu INT UNSIGNED, l BIGINT, lu BIGINT UNSIGNED, d DECIMAL(30,10), f FLOAT, db DOUBLE,
    bt BIT(12), bl BIT(64), y YEAR, da DATE, dt DATETIME(6), ts TIMESTAMP NULL, ti TIME(3), c CHAR(8), v VARCHAR(40),
    la VARCHAR(20) CHARACTER SET latin1, tx TEXT, en ENUM('on','off'), st SET('a','b','c'), js JSON, bo BLOB, bi BINARY(4),
    bx BLOB, g POINT) CHARACTER SET utf8mb4;
SET SESSION sql_mode = '', time_zone = '+00:00';
INSERT INTO kinds VALUES (1, 127, 255, 1, 255, 32767, 65535, 8388607, 16777215, 2147483647, 4294967295, 9223372036854775807,
    18446744073709551615, 12345678901234567890.0123456789, 0.1, 0.1, b'101000000001', ~0, 2026, '2026-11-30',
    '2026-11-30 06:05:01.000007', '2026-11-30 06:05:01', '838:59:59', '支付', 'pay 💳 é', 'café', '退款 🙂', 'off', 'a,c',
    '{\"n\": 1}', 'plain', X'00FF10FE', REPEAT(X'FF', 100), POINT(1, 2));
INSERT INTO kinds VALUES (2, -128, 0, -1, 0, -32768, 0, -8388608, 0, -2147483648, 0, -9223372036854775808, 9007199254740993,
    -0.0000000001, -3.5e10, 1e300, 0, 1, 1901, '1000-01-01', '9999-12-31 23:59:59.999999', '1970-01-01 00:00:01', '-838:59:59.5',
    '', '', '', '', 'on', '', '[]', '', '', '', POINT(0, 0));
INSERT INTO kinds (id, da, dt, ts, ti, y, l) VALUES
    (3, '0000-00-00', '0000-00-00 00:00:00', '0000-00-00 00:00:00', '00:00:00', 0, 9007199254740992),
    (4, '2026-00-00', '2026-11-00 00:00:00', NULL, '24:00:00', NULL, -9007199254740993);
INSERT INTO kinds (id) VALUES (5)";

#[tokio::test(flavor = "multi_thread")]
async fn every_column_type_is_read_exactly() -> anyhow::Result<()> {
    let Some(shop) = Shop::open().await? else { return Ok(()) };
    shop.add_table("kinds", TABLE).await?;
    let tool = shop.tool_with(&["kinds"], 50);
    let result = ask(&tool, "SELECT * FROM kinds ORDER BY id").await;
    assert_eq!(result.evidence_status, EvidenceStatus::EvidenceFound);
    assert_eq!((result.row_count, result.truncated), (5, false), "{:?}", result.notes);
    assert_eq!(result.notes, ["geometry is shown as its size only"]);
    let cell = |row: usize, name: &str| {
        let column = result.columns.iter().position(|column| column == name).unwrap();
        result.rows[row][column].clone()
    };
    let expected: [(&str, Value, Value); 33] = [
        ("t", json!(127), json!(-128)),
        ("tu", json!(255), json!(0)),
        ("b", json!(1), json!(-1)),
        ("bu", json!(255), json!(0)),
        ("s", json!(32767), json!(-32768)),
        ("su", json!(65535), json!(0)),
        ("m", json!(8388607), json!(-8388608)),
        ("mu", json!(16777215), json!(0)),
        ("i", json!(2147483647), json!(-2147483648)),
        ("iu", json!(4294967295_u32), json!(0)),
        ("l", json!("9223372036854775807"), json!("-9223372036854775808")),
        ("lu", json!("18446744073709551615"), json!("9007199254740993")),
        ("d", json!("12345678901234567890.0123456789"), json!("-0.0000000001")),
        ("f", json!(0.1), json!(-3.5e10)),
        ("db", json!(0.1), json!(1e300)),
        ("bt", json!(0b1010_0000_0001), json!(0)),
        ("bl", json!("18446744073709551615"), json!(1)),
        ("y", json!(2026), json!(1901)),
        ("da", json!("2026-11-30"), json!("1000-01-01")),
        ("dt", json!("2026-11-30 06:05:01.000007"), json!("9999-12-31 23:59:59.999999")),
        ("ts", json!("2026-11-30 06:05:01"), json!("1970-01-01 00:00:01")),
        ("ti", json!("838:59:59"), json!("-838:59:59.500000")),
        ("c", json!("支付"), json!("")),
        ("v", json!("pay 💳 é"), json!("")),
        ("la", json!("café"), json!("")),
        ("tx", json!("退款 🙂"), json!("")),
        ("en", json!("off"), json!("on")),
        ("st", json!("a,c"), json!("")),
        ("js", json!("{\"n\": 1}"), json!("[]")),
        ("bo", json!("plain"), json!("")),
        ("bi", json!("0x00ff10fe"), json!("0x00000000")),
        ("bx", json!(format!("0x{}…", "ff".repeat(64))), json!("")),
        ("g", json!("(geometry, 25 bytes)"), json!("(geometry, 25 bytes)")),
    ];
    for (name, first, second) in &expected {
        assert_eq!((&cell(0, name), &cell(1, name)), (first, second), "{name}");
        assert_eq!(cell(4, name), Value::Null, "{name}");
    }
    let odd = |row, name| cell(row, name).as_str().map(str::to_owned).unwrap_or_default();
    assert_eq!(odd(2, "da"), "0000-00-00");
    assert_eq!(odd(2, "dt"), "0000-00-00 00:00:00");
    assert_eq!(odd(2, "ts"), "0000-00-00 00:00:00");
    assert_eq!(odd(2, "ti"), "00:00:00");
    assert_eq!((cell(2, "y"), cell(2, "l")), (json!(0), json!(9_007_199_254_740_992_i64)));
    assert_eq!(odd(3, "da"), "2026-00-00");
    assert_eq!(odd(3, "dt"), "2026-11-00 00:00:00");
    assert_eq!(odd(3, "ti"), "24:00:00");
    assert_eq!(odd(3, "l"), "-9007199254740993");
    computed_values_too(&tool).await;
    Ok(())
}

async fn computed_values_too(tool: &tools::mysql::MysqlTool) {
    let sql = "SELECT COUNT(*), SUM(t), AVG(t), MAX(lu), NULL, 1 = 1, 0.5, 1e0, 'a', MIN(da), GROUP_CONCAT(id ORDER BY id) \
               FROM kinds WHERE id <= 2";
    let result = ask(tool, sql).await;
    let expected =
        json!([2, "-1", "-0.5000", "18446744073709551615", null, 1, "0.5", 1.0, "a", "1000-01-01", "1,2"]);
    assert_eq!(Value::from(result.rows[0].clone()), expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_kind_of_parameter_is_a_value() -> anyhow::Result<()> {
    let Some(shop) = Shop::open().await? else { return Ok(()) };
    shop.add_table("kinds", TABLE).await?;
    let tool = shop.tool_with(&["kinds", "orders"], 50);
    let cases = [
        ("SELECT id FROM kinds WHERE l = ?", json!([i64::MIN]), json!([[2]])),
        ("SELECT id FROM kinds WHERE lu = ?", json!([u64::MAX]), json!([[1]])),
        ("SELECT id FROM kinds WHERE db = ?", json!([0.1]), json!([[1]])),
        ("SELECT id FROM kinds WHERE b = ?", json!([true]), json!([[1]])),
        ("SELECT id FROM kinds WHERE tx = ?", json!(["退款 🙂"]), json!([[1]])),
        ("SELECT id FROM kinds WHERE d = ?", json!(["12345678901234567890.0123456789"]), json!([[1]])),
        (
            "SELECT id FROM kinds WHERE dt >= ? AND dt < ?",
            json!(["2026-11-30 06:05", "2026-11-30 06:06"]),
            json!([[1]]),
        ),
        ("SELECT id FROM kinds WHERE t <=> ? ORDER BY id", json!([null]), json!([[3], [4], [5]])),
        ("SELECT id FROM orders ORDER BY id LIMIT ?", json!([2]), json!([[1], [2]])),
        ("SELECT id FROM orders ORDER BY id LIMIT ? OFFSET ?", json!([1, 4]), json!([[5]])),
        ("SELECT id FROM orders WHERE status = ?", json!(["x' OR '1'='1' -- "]), json!([])),
        ("SELECT ?, ?, ?", json!(["it's \"q\" \\ %", -1, null]), json!([["it's \"q\" \\ %", -1, null]])),
    ];
    for (sql, params, rows) in cases {
        let result = ask_with(&tool, sql, params.clone()).await;
        assert_eq!(json!(result.rows), rows, "{sql} {params}");
    }
    Ok(())
}
