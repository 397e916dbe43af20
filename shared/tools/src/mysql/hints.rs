//! Sentences that tell the model what to write instead, chosen by the words of the statement.

use super::policy::Dialect;
use super::refusal::{Refusal, Rule, echo};

/// The refusal of a text without a word.
pub(super) fn empty() -> Refusal {
    Refusal::new(Rule::Empty, "the statement is empty; send one SELECT")
}

/// Refuses a statement whose first word, in upper case, can't start a SELECT.
pub(super) fn check_first_word(first: &str) -> Result<(), Refusal> {
    let hint = match first {
        "SELECT" | "WITH" => return Ok(()),
        "SHOW" | "DESCRIBE" | "DESC" | "EXPLAIN" | "ANALYZE" | "PRAGMA" => {
            "tables and columns are listed in the tool's description; select from them directly"
        }
        "TABLE" => "write SELECT … FROM the table, with a LIMIT",
        "VALUES" => "write SELECT with the values",
        "SET" | "USE" | "BEGIN" | "START" | "COMMIT" | "ROLLBACK" => {
            "session and transaction are fixed; only the SELECT is needed"
        }
        "DELIMITER" | "SOURCE" => "that is a command of the terminal client",
        _ => "data can only be read",
    };
    Err(Refusal::new(
        Rule::NotSelect,
        format!("only one SELECT (or WITH … SELECT) is allowed, not {}: {hint}", echo(first)),
    ))
}

/// The refusal of a text that the parser did not understand. The words only choose the message.
pub(super) fn parse_failure(detail: &str, words: &[String], dialect: Dialect) -> Refusal {
    let has = |word: &str| words.iter().any(|w| w == word);
    if detail.contains("recursion limit") {
        return Refusal::new(Rule::Nesting, "the statement is nested too deeply; flatten it");
    }
    if has("INTO") {
        return Refusal::new(Rule::Into, "INTO is not allowed; the rows of the SELECT are returned to you");
    }
    if has("LOCK") || (has("FOR") && (has("UPDATE") || has("SHARE"))) {
        return Refusal::new(Rule::Locking, "locking clauses are not allowed; leave the clause out");
    }
    if has("PROCEDURE") {
        return Refusal::new(Rule::Unsupported, "PROCEDURE is not allowed; leave the clause out");
    }
    let verbs = ["INSERT", "UPDATE", "DELETE", "DROP", "ALTER", "CREATE", "REPLACE", "MERGE", "CALL"];
    if words.first().is_some_and(|first| first == "WITH")
        && verbs.iter().any(|verb| has(verb))
        && !has("SELECT")
    {
        return Refusal::new(Rule::NotSelect, "WITH must end in a SELECT");
    }
    let rewrite = match dialect {
        Dialect::Sqlite => "write it in plain SQLite",
        Dialect::MySql if has("UNION") => {
            "a SELECT of a UNION with its own ORDER BY or LIMIT stands in parentheses"
        }
        Dialect::MySql if has("CHARACTER") || has("CHARSET") => "use CONVERT(x USING utf8mb4)",
        Dialect::MySql if has("TRIM") => "write TRIM('x' FROM y), LTRIM or RTRIM",
        Dialect::MySql if has("FILTER") => "MySQL has no FILTER; write SUM(condition) or COUNT(CASE …)",
        Dialect::MySql if has("SOUNDS") => "write SOUNDEX(a) = SOUNDEX(b)",
        Dialect::MySql if has("MATCH") => "write MATCH (column) AGAINST ('words')",
        Dialect::MySql => "write it in plain MySQL 8, values as ? with params",
    };
    let detail = detail.strip_prefix("sql parser error: ").unwrap_or(detail);
    let bounded: String = detail.chars().take(160).collect();
    Refusal::new(Rule::Syntax, format!("the statement could not be parsed: {bounded}; {rewrite}"))
}
