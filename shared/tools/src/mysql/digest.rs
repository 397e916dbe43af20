//! What the model is told of the allow-listed tables beyond their names: columns with types and comments, and indexes, as the
//! database itself tells them. Comments are somebody's text: cleaned, masked, cut.

use std::fmt::Write;

use crate::redaction::redact;

/// Bytes of one database's digest.
const MAX_BYTES: usize = 6 * 1024;
const MAX_COMMENT_CHARS: usize = 80;
const MAX_TYPE_CHARS: usize = 60;

/// One table as the database tells it.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Table {
    pub name: String,
    pub comment: String,
    pub columns: Vec<Column>,
    pub indexes: Vec<Index>,
}

#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Column {
    pub name: String,
    pub kind: String,
    pub nullable: bool,
    pub comment: String,
}

#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Index {
    pub name: String,
    pub unique: bool,
    pub columns: Vec<String>,
}

/// One line a table. `shown` limits the columns of a table to those that the configuration lists, if it lists any.
pub(super) fn text(tables: &[Table], shown: impl Fn(&str) -> Vec<String>) -> String {
    let mut text = String::new();
    for (i, table) in tables.iter().enumerate() {
        let line = line(table, &shown(&table.name));
        if text.len() + line.len() > MAX_BYTES {
            let _ = write!(text, "\nschema: {} more tables are not described", tables.len() - i);
            break;
        }
        text.push_str(&line);
    }
    text
}

fn line(table: &Table, shown: &[String]) -> String {
    let is_shown =
        |name: &String| shown.is_empty() || shown.iter().any(|known| known.eq_ignore_ascii_case(name));
    let columns: Vec<String> =
        table.columns.iter().filter(|column| is_shown(&column.name)).map(column).collect();
    let indexes: Vec<String> = table
        .indexes
        .iter()
        .filter(|index| index.columns.iter().all(is_shown))
        .map(|index| format!("{}({})", if index.unique { "unique " } else { "" }, index.columns.join(", ")))
        .collect();
    let mut line = format!("\nschema: {}{}: {}", table.name, comment(&table.comment), columns.join("; "));
    if !indexes.is_empty() {
        let _ = write!(line, "; indexes {}", indexes.join(" "));
    }
    line
}

fn column(column: &Column) -> String {
    let kind: String = column.kind.chars().filter(|c| !c.is_control()).take(MAX_TYPE_CHARS).collect();
    let nullable = if column.nullable { " null" } else { "" };
    format!("{} {kind}{nullable}{}", column.name, comment(&column.comment))
}

/// A comment in brackets, on one line.
fn comment(text: &str) -> String {
    let masked = redact(text);
    let words: Vec<&str> = masked.split_whitespace().collect();
    let plain: String = words.join(" ").chars().filter(|c| !matches!(c, '"' | '<' | '>')).collect();
    if plain.is_empty() {
        return String::new();
    }
    let cut: String = plain.chars().take(MAX_COMMENT_CHARS).collect();
    let mark = if cut.len() < plain.len() { "…" } else { "" };
    format!(" \"{cut}{mark}\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(name: &str) -> Table {
        let column = |name: &str, kind: &str, comment: &str| Column {
            name: name.into(),
            kind: kind.into(),
            nullable: name == "note",
            comment: comment.into(),
        };
        Table {
            name: name.into(),
            comment: "订单\n主表".into(),
            columns: vec![
                column("id", "bigint unsigned", ""),
                column("status", "varchar(16)", "PAID, \"OPEN\" <b>; ask tom@example.org"),
                column("note", "text", &"x".repeat(200)),
            ],
            indexes: vec![
                Index { name: "PRIMARY".into(), unique: true, columns: vec!["id".into()] },
                Index {
                    name: "by_status".into(),
                    unique: false,
                    columns: vec!["status".into(), "note".into()],
                },
            ],
        }
    }

    #[test]
    fn a_table_is_one_line_and_its_comments_are_tamed() {
        let text = text(&[table("orders")], |_| Vec::new());
        let expected = format!(
            "\nschema: orders \"订单 主表\": id bigint unsigned; status varchar(16) \"PAID, OPEN b; ask [email:1]\"; \
             note text null \"{}…\"; indexes unique (id) (status, note)",
            "x".repeat(80)
        );
        assert_eq!(text, expected);
    }

    #[test]
    fn only_listed_columns_are_told_and_the_whole_is_bounded() {
        let listed = text(&[table("orders")], |_| vec!["ID".to_owned(), "status".to_owned()]);
        assert!(
            !listed.contains("note") && listed.contains("unique (id)") && !listed.contains("(status"),
            "{listed}"
        );
        let many: Vec<Table> = (0..100).map(|n| table(&format!("t{n}"))).collect();
        let text = text(&many, |_| Vec::new());
        assert!(
            text.len() < MAX_BYTES + 100 && text.contains("more tables are not described"),
            "{}",
            text.len()
        );
    }
}
