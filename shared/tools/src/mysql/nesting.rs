//! Counts nesting and length of chains while the text is scanned, so that no tree is ever built that
//! parsing, walking or dropping could overflow a stack on.

use super::refusal::{Refusal, Rule};

/// Parentheses and CASE expressions that may be open at once.
const MAX_OPEN: usize = 32;
/// Operators other than AND/OR of one term, such as the plus signs of a sum, summed over the open levels.
const MAX_TERMS: usize = 300;
/// AND/OR/XOR of one condition, summed over the open levels.
const MAX_CONDITIONS: usize = 800;
/// Table references joined and set operations, in the whole statement.
const MAX_JOINS: usize = 64;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Opener {
    Statement,
    Paren,
    Case,
}

struct Level {
    opener: Opener,
    conditions: usize,
    terms: usize,
}

impl Level {
    fn new(opener: Opener) -> Self {
        Self { opener, conditions: 0, terms: 0 }
    }
}

/// The levels open at the current place of the scan. Each event costs constant (amortised) time.
pub(super) struct Nesting {
    levels: Vec<Level>,
    conditions: usize,
    terms: usize,
    joins: usize,
}

impl Nesting {
    pub(super) fn new() -> Self {
        Self { levels: vec![Level::new(Opener::Statement)], conditions: 0, terms: 0, joins: 0 }
    }

    /// A character outside literals and comments, or the first one of an operator.
    pub(super) fn symbol(&mut self, symbol: char) -> Result<(), Refusal> {
        match symbol {
            '(' => self.open(Opener::Paren),
            ')' => self.close_paren(),
            ',' => {
                self.reset();
                Ok(())
            }
            '+' | '-' | '*' | '/' | '%' | '=' | '<' | '>' | '!' | '~' | '^' | '&' | '|' => self.term(),
            _ => Ok(()),
        }
    }

    /// An unquoted word, in upper case.
    pub(super) fn word(&mut self, word: &str) -> Result<(), Refusal> {
        match word {
            "CASE" => self.open(Opener::Case),
            "END" => {
                if self.levels.last().is_some_and(|level| level.opener == Opener::Case) {
                    self.close();
                }
                Ok(())
            }
            "AND" | "OR" | "XOR" => self.condition(),
            "NOT" | "IS" | "IN" | "LIKE" | "BETWEEN" | "REGEXP" | "RLIKE" | "GLOB" | "MATCH" | "DIV"
            | "MOD" | "COLLATE" | "BINARY" | "ESCAPE" | "INTERVAL" | "MEMBER" | "NOTNULL" | "ISNULL" => {
                self.term()
            }
            "JOIN" | "STRAIGHT_JOIN" | "UNION" | "EXCEPT" | "INTERSECT" | "MINUS" => self.join(),
            "SELECT" | "FROM" | "WHERE" | "GROUP" | "ORDER" | "HAVING" | "LIMIT" | "ON" | "WHEN" | "THEN"
            | "ELSE" => {
                self.reset();
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn open(&mut self, opener: Opener) -> Result<(), Refusal> {
        if self.levels.len() > MAX_OPEN {
            return Err(Refusal::new(
                Rule::Nesting,
                format!(
                    "parentheses, sub-queries, calls and CASE may be nested at most {MAX_OPEN} deep; \
                     flatten the statement or use a WITH clause"
                ),
            ));
        }
        self.levels.push(Level::new(opener));
        Ok(())
    }

    fn close(&mut self) {
        // The statement's own level stays, whatever the text closes.
        if self.levels.len() > 1
            && let Some(level) = self.levels.pop()
        {
            self.conditions = self.conditions.saturating_sub(level.conditions);
            self.terms = self.terms.saturating_sub(level.terms);
        }
    }

    fn close_paren(&mut self) -> Result<(), Refusal> {
        while self.levels.last().is_some_and(|level| level.opener == Opener::Case) {
            self.close();
        }
        if self.levels.len() <= 1 {
            return Err(Refusal::new(Rule::Syntax, "a closing parenthesis has no opening one"));
        }
        self.close();
        Ok(())
    }

    fn term(&mut self) -> Result<(), Refusal> {
        if let Some(level) = self.levels.last_mut() {
            level.terms += 1;
        }
        self.terms += 1;
        if self.terms > MAX_TERMS {
            return Err(too_complex(format!("one expression may have at most {MAX_TERMS} operators")));
        }
        Ok(())
    }

    fn condition(&mut self) -> Result<(), Refusal> {
        if let Some(level) = self.levels.last_mut() {
            self.terms = self.terms.saturating_sub(level.terms);
            level.terms = 0;
            level.conditions += 1;
        }
        self.conditions += 1;
        if self.conditions > MAX_CONDITIONS {
            return Err(too_complex(format!(
                "at most {MAX_CONDITIONS} conditions may be joined by AND/OR; use IN (…) for a list of values"
            )));
        }
        Ok(())
    }

    fn join(&mut self) -> Result<(), Refusal> {
        self.reset();
        self.joins += 1;
        if self.joins > MAX_JOINS {
            return Err(too_complex(format!("at most {MAX_JOINS} joins and set operations are allowed")));
        }
        Ok(())
    }

    fn reset(&mut self) {
        if let Some(level) = self.levels.last_mut() {
            self.conditions = self.conditions.saturating_sub(level.conditions);
            self.terms = self.terms.saturating_sub(level.terms);
            level.conditions = 0;
            level.terms = 0;
        }
    }
}

fn too_complex(message: String) -> Refusal {
    Refusal::new(Rule::TooComplex, message)
}
