//! Which names in FROM are common table expressions, and which tables they read otherwise.

use std::collections::BTreeSet;

use sqlparser::ast::{Ident, ObjectName, ObjectNamePart};

use super::policy::{Dialect, Policy};
use super::refusal::{Refusal, Rule, echo};

/// Most expressions in one WITH, and most names in FROM of one statement.
const MAX_NAMES: usize = 128;

/// One WITH clause on the way from the statement to the current place.
struct Frame {
    /// Expressions defined so far, visible from here on.
    defined: Vec<String>,
    /// The expression being walked, its name, and whether it may read itself.
    current: Option<(String, bool)>,
    /// Expressions defined further on.
    later: Vec<String>,
    /// How often the current expression was read by itself.
    self_reads: usize,
}

/// Names visible at the current place, innermost last.
pub(super) struct Scope<'p> {
    policy: &'p Policy,
    frames: Vec<Frame>,
    tables: BTreeSet<String>,
    reads: usize,
}

impl<'p> Scope<'p> {
    pub(super) fn new(policy: &'p Policy) -> Self {
        Self { policy, frames: Vec::new(), tables: BTreeSet::new(), reads: 0 }
    }

    pub(super) fn into_tables(self) -> BTreeSet<String> {
        self.tables
    }

    pub(super) fn is_sqlite(&self) -> bool {
        self.policy.dialect == Dialect::Sqlite
    }

    /// Enters a WITH clause that will define these names, in order.
    pub(super) fn enter(&mut self, names: Vec<String>) -> Result<(), Refusal> {
        if names.len() > MAX_NAMES {
            return Err(too_many());
        }
        let mut seen = BTreeSet::new();
        for name in &names {
            if !seen.insert(name.to_lowercase()) {
                return Err(Refusal::new(
                    Rule::Identifier,
                    format!(
                        "WITH defines {} twice (names that differ only in case count as one)",
                        echo(name)
                    ),
                ));
            }
        }
        self.frames.push(Frame { defined: Vec::new(), current: None, later: names, self_reads: 0 });
        Ok(())
    }

    /// Starts the next expression of the innermost WITH. SQLite lets every one read itself.
    pub(super) fn start_next(&mut self, recursive: bool) {
        if let Some(frame) = self.frames.last_mut()
            && !frame.later.is_empty()
        {
            frame.current = Some((frame.later.remove(0), recursive));
            frame.self_reads = 0;
        }
    }

    /// Ends the current expression, which is visible from now on. Returns how often it read itself.
    pub(super) fn finish_current(&mut self) -> usize {
        let Some(frame) = self.frames.last_mut() else { return 0 };
        if let Some((name, _)) = frame.current.take() {
            frame.defined.push(name);
        }
        frame.self_reads
    }

    pub(super) fn leave(&mut self) {
        self.frames.pop();
    }

    /// Resolves a name in FROM to an expression of a WITH clause or to an allow-listed table.
    pub(super) fn resolve(&mut self, name: &ObjectName) -> Result<(), Refusal> {
        self.reads += 1;
        if self.reads > MAX_NAMES {
            return Err(too_many());
        }
        let parts = plain_parts(name, self.is_sqlite())?;
        match parts.as_slice() {
            [table] if is_dual(table) && !self.is_sqlite() => Ok(()),
            [table] if self.is_expression(&table.value)? => Ok(()),
            [table] => self.allow(&table.value),
            // A qualified name never means an expression of a WITH clause.
            [schema, table] if Some(&schema.value) == self.policy.database.as_ref() => {
                self.allow(&table.value)
            }
            [schema, _] => Err(Refusal::new(
                Rule::Schema,
                format!("schema {} can't be read; write the table's name alone", echo(&schema.value)),
            )),
            _ => Err(Refusal::new(Rule::Schema, "a table's name has at most two parts")),
        }
    }

    fn is_expression(&mut self, name: &str) -> Result<bool, Refusal> {
        let folded = name.to_lowercase();
        let sqlite = self.is_sqlite();
        for frame in self.frames.iter_mut().rev() {
            if frame.defined.iter().any(|known| known == name) {
                return Ok(true);
            }
            if let Some((current, reads_itself)) = &frame.current
                && current == name
                && *reads_itself
            {
                frame.self_reads += 1;
                return Ok(true);
            }
            let near = |known: &String| known != name && known.to_lowercase() == folded;
            let current = frame.current.iter().map(|(known, _)| known);
            if frame.defined.iter().chain(current).chain(&frame.later).any(near) {
                return Err(Refusal::new(
                    Rule::Identifier,
                    format!(
                        "{} differs only in case from a name defined by WITH; write it the same way",
                        echo(name)
                    ),
                ));
            }
            let recursive = sqlite || frame.current.as_ref().is_some_and(|(_, reads_itself)| *reads_itself);
            if recursive && frame.later.iter().any(|known| known == name) {
                return Err(Refusal::new(
                    Rule::Recursion,
                    format!("{} is read before it is defined; order the WITH clause by use", echo(name)),
                ));
            }
        }
        Ok(false)
    }

    fn allow(&mut self, table: &str) -> Result<(), Refusal> {
        if self.policy.tables.contains(table) {
            self.tables.insert(table.to_owned());
            return Ok(());
        }
        let close = self.policy.tables.iter().find(|known| known.eq_ignore_ascii_case(table));
        let advice = match close {
            Some(known) => format!("table names are case-sensitive: write {known}"),
            None => {
                let known: Vec<_> = self.policy.tables.iter().take(20).map(String::as_str).collect();
                format!("the tables are: {}", known.join(", "))
            }
        };
        Err(Refusal::new(Rule::Table, format!("table {} can't be read; {advice}", echo(table))))
    }
}

fn too_many() -> Refusal {
    Refusal::new(Rule::TooComplex, format!("at most {MAX_NAMES} names may stand in FROM and in WITH"))
}

/// The parts of a table's name, each an unquoted word or quoted as names are in this dialect.
fn plain_parts(name: &ObjectName, sqlite: bool) -> Result<Vec<&Ident>, Refusal> {
    let ObjectName(parts) = name;
    parts
        .iter()
        .map(|part| match part {
            ObjectNamePart::Identifier(ident) => super::shapes::name(ident, sqlite).map(|()| ident),
            ObjectNamePart::Function(_) => {
                Err(Refusal::new(Rule::TableSource, "a table's name can't be computed"))
            }
        })
        .collect()
}

/// MySQL's empty table; quoted it would be a table of that name.
fn is_dual(ident: &Ident) -> bool {
    ident.quote_style.is_none() && ident.value.eq_ignore_ascii_case("DUAL")
}
