//! Random inputs: the guard always answers, and no mutation of a good statement smuggles a bad part in.

use proptest::prelude::*;

use super::guard_tests::policy;
use super::{Dialect, ReadOnlySelect};

const WORDS: &[&str] = &[
    "SELECT",
    "FROM",
    "WHERE",
    "orders",
    "secrets",
    "o",
    "id",
    "(",
    ")",
    ",",
    "*",
    "1",
    "'x'",
    "'",
    "\"",
    "`",
    "?",
    ";",
    "--",
    "-- ",
    "#",
    "/*",
    "*/",
    "/*!",
    "\n",
    "\\",
    "WITH",
    "RECURSIVE",
    "AS",
    "r",
    "UNION",
    "ALL",
    "JOIN",
    "ON",
    "TABLE",
    "VALUES",
    "ROW",
    "INTO",
    "FOR",
    "UPDATE",
    "LATERAL",
    "JSON_TABLE",
    "CASE",
    "WHEN",
    "THEN",
    "END",
    "NOT",
    "-",
    "+",
    "AND",
    "OR",
    "IN",
    "EXISTS",
    "IS",
    "NULL",
    "LIMIT",
    "ORDER",
    "BY",
    "GROUP",
    "OVER",
    "WINDOW",
    "INTERVAL",
    "DAY",
    "COUNT",
    "SLEEP",
    ".",
    "=",
    "<",
    "->",
    "@",
    ":",
    "[",
    "{",
    "BINARY",
    "CAST",
    "CHAR",
    "CONVERT",
    "USING",
    "COLLATE",
    "BETWEEN",
    "LIKE",
    "EXCEPT",
    "MOD",
    "_utf8mb4",
    "N'a'",
    "x'41'",
    "0x41",
    "\u{200B}",
    "支",
];

const GOOD: &[&str] = &[
    "SELECT status, COUNT(*) AS n FROM orders WHERE id > 5 GROUP BY status ORDER BY n DESC LIMIT 5",
    "WITH r AS (SELECT id, status FROM orders) SELECT r.id \
     FROM r JOIN payments p ON p.order_id = r.id WHERE p.gateway IN ('a', 'b')",
    "SELECT SUM(id) OVER (PARTITION BY status ORDER BY id) FROM orders \
     WHERE EXISTS (SELECT 1 FROM payments) UNION ALL SELECT 1",
    "SELECT CASE WHEN id = 1 THEN 'one' ELSE \"more\" END, \
     DATE_ADD(created_at, INTERVAL 1 DAY) FROM orders o, order_events e",
];

/// Each is refused wherever it stands between two tokens, whether or not the whole parses then.
const FORBIDDEN: &[&str] = &[
    "@x",
    "@@version",
    "/*! */",
    "/*!50000 x */",
    "/*M! */",
    "/*+ */",
    "\0",
    "\u{FEFF}",
    "\r",
    "\u{B}",
    "SLEEP(1)",
    "LOAD_FILE('x')",
    "(SELECT 1 FROM secrets)",
    "(TABLE secrets)",
    "UNION SELECT 1 FROM secrets",
    "CROSS JOIN secrets",
    "JOIN secrets",
    "INTO OUTFILE 'x'",
    "FOR UPDATE",
    "LOCK IN SHARE MODE",
    "; DROP TABLE orders",
    "$1",
    ":x",
    "{x}",
    "[1]",
    "\\G ",
    "SQL_CALC_FOUND_ROWS",
    "mysql.user()",
    "PROCEDURE ANALYSE()",
    "/* /* */",
];

const PREFIXES: &[&str] = &["", "SELECT ", "SELECT '", "WITH a AS (", "/*"];
const MARKS: &[&str] = &["", "'", "\"", "`", "\\", "/*", "*/", "--", "#", "(", ")", ".", "\n"];

const BAITS: &[&str] = &[
    "SELECT bait FROM secrets",
    "SELECT id FROM orders WHERE id = 1 UNION SELECT bait FROM secrets",
    "SELECT id FROM orders , secrets",
    "SELECT id FROM orders CROSS JOIN secrets",
    "SELECT id FROM orders WHERE id IN ( SELECT bait FROM secrets )",
];

/// The parser gives meaning to words in places where the server takes them for names. Whatever it makes of
/// them, the table behind has to be seen.
#[test]
fn no_keyword_hides_a_table() {
    for bait in BAITS {
        for (gap, _) in bait.match_indices(' ') {
            for keyword in sqlparser::keywords::ALL_KEYWORDS {
                let sql = format!("{} {keyword}{}", &bait[..gap], &bait[gap..]);
                assert!(!is_allowed(&sql, Dialect::MySql), "{sql}");
                assert!(*bait != BAITS[0] || !is_allowed(&sql, Dialect::Sqlite), "{sql}");
            }
        }
    }
}

fn is_allowed(sql: &str, dialect: Dialect) -> bool {
    ReadOnlySelect::check(sql, &[], &policy(dialect)).is_ok()
}

fn check(sql: &str) -> bool {
    let mysql = ReadOnlySelect::check(sql, &[], &policy(Dialect::MySql));
    let _ = ReadOnlySelect::check(sql, &[], &policy(Dialect::Sqlite));
    mysql.is_ok()
}

/// Inputs per property in an ordinary run. `PROPTEST_CASES` asks for more: 250000 makes a million of the four.
const CASES: u32 = 12_500;

fn config() -> ProptestConfig {
    let asked = ProptestConfig::default();
    ProptestConfig { cases: asked.cases.max(CASES), failure_persistence: None, ..asked }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn any_text_gets_an_answer(text in "\\PC{0,200}", prefix in prop::sample::select(PREFIXES)) {
        check(&format!("{prefix}{text}"));
    }

    #[test]
    fn any_words_get_an_answer_and_never_a_table_off_the_list(words
        in prop::collection::vec(prop::sample::select(WORDS), 0..60),
    ) {
        let sql = format!("SELECT {}", words.join(" "));
        if let Ok(select) = ReadOnlySelect::check(&sql, &[], &policy(Dialect::MySql)) {
            prop_assert!(!select.tables().contains("secrets"));
        }
        check(&words.concat());
    }

    #[test]
    fn forbidden_parts_are_refused_wherever_they_stand(
        good in prop::sample::select(GOOD),
        bad in prop::sample::select(FORBIDDEN),
        at in any::<prop::sample::Index>(),
    ) {
        let gaps: Vec<usize> = good.match_indices(' ').map(|(at, _)| at).collect();
        let at = *at.get(&gaps);
        let sql = format!("{} {bad} {}", &good[..at], &good[at..]);
        prop_assert!(!check(&sql), "{}", sql);
    }

    #[test]
    fn a_dropped_or_doubled_character_never_reveals_another_table(
        good in prop::sample::select(GOOD),
        at in any::<prop::sample::Index>(),
        insert in prop::sample::select(MARKS),
    ) {
        let at = at.index(good.len());
        let sql = format!("{}{insert}{}", &good[..at], good.get(at + 1..).unwrap_or(""));
        if let Ok(select) = ReadOnlySelect::check(&sql, &[], &policy(Dialect::MySql)) {
            prop_assert!(select.tables().is_subset(&policy(Dialect::MySql).tables));
        }
    }
}
