//! Why a statement was refused: a stable code for programs and a sentence for the model.

use std::fmt;

/// Longest piece of the statement that a message repeats, in characters.
const ECHO_CHARS: usize = 40;

macro_rules! rules {
    ($($(#[$doc:meta])* $name:ident = $code:literal,)*) => {
        /// The rule that was broken.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Rule { $($(#[$doc])* $name,)* }

        impl Rule {
            /// The stable code of this rule, as shown to the model and written to the audit.
            #[must_use]
            pub fn code(self) -> &'static str {
                match self { $(Rule::$name => $code,)* }
            }
        }
    };
}

rules! {
    /// Nothing but blanks, comments or semicolons.
    Empty = "empty_statement",
    /// More than 16 KiB of text.
    TooLong = "statement_too_long",
    /// A character that must not stand outside a literal.
    Character = "character",
    /// A quote or comment that is never closed.
    Unterminated = "unterminated",
    /// A comment that two readers could end in different places.
    Comment = "comment",
    /// `/*! … */` or `/*M! … */`.
    ExecutableComment = "executable_comment",
    /// `/*+ … */`.
    OptimizerHint = "optimizer_hint",
    /// The statement is still wrapped in a Markdown fence.
    MarkdownFence = "markdown_fence",
    /// `\G` and other commands of the terminal client.
    ClientCommand = "client_command",
    /// A placeholder other than `?`.
    Placeholder = "placeholder",
    /// Parameters that don't fit the placeholders.
    Parameters = "parameters",
    /// A user or system variable.
    Variable = "variable",
    /// More than one statement.
    SeveralStatements = "several_statements",
    /// Not a SELECT, at the top or anywhere below.
    NotSelect = "not_select",
    /// The text could not be parsed.
    Syntax = "syntax",
    /// Nested deeper than the guard follows.
    Nesting = "nesting",
    /// Too many terms, joins or set operations.
    TooComplex = "too_complex",
    /// A table that is not on the list.
    Table = "table",
    /// A table of another schema.
    Schema = "schema",
    /// Something in FROM that is neither a table nor a sub-query.
    TableSource = "table_source",
    /// INTO in any form.
    Into = "into",
    /// FOR UPDATE, FOR SHARE, LOCK IN SHARE MODE.
    Locking = "locking",
    /// `SQL_CALC_FOUND_ROWS` and other statement modifiers.
    Modifier = "select_modifier",
    /// A function that is not on the list.
    Function = "function",
    /// A literal or length that makes the server work for nothing.
    Resource = "resource",
    /// A reserved word or wrongly quoted name used as an identifier.
    Identifier = "identifier",
    /// A recursive CTE that isn't provably bounded.
    Recursion = "unbounded_recursion",
    /// An expression or clause the guard doesn't know.
    Unsupported = "unsupported",
}

/// A refused statement. The message is written for the model that wrote the statement: what was wrong and
/// what would be right. It repeats at most a short piece of the statement.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}: {message}", rule.code())]
pub struct Refusal {
    /// The rule that was broken.
    pub rule: Rule,
    /// What was wrong, and what would be right.
    pub message: String,
}

impl Refusal {
    pub(super) fn new(rule: Rule, message: impl fmt::Display) -> Self {
        Self { rule, message: message.to_string() }
    }
}

/// Shortens text of the statement for a message: one line, at most 40 characters.
pub(super) fn echo(text: &str) -> String {
    let mut short: String =
        text.chars().take(ECHO_CHARS).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.chars().nth(ECHO_CHARS).is_some() {
        short.push('…');
    }
    short
}
