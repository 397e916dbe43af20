//! Cleaning and masking of what sources return, before it is stored or shown.
//!
//! A secret becomes `[kind:n]`; within one run the same secret always gets the same number, so that a reader still sees that
//! two lines are about the same mail address. Linear in the text's length. Ids that
//! an engineer searches by (order numbers, trace ids, UUIDs, hosts, addresses) stay.

mod assignments;
mod cards;
mod cleaning;
mod detect;
mod names;
mod personal;
mod tokens;
mod urls;

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use agent::ports::Pseudonyms;
use serde_json::Value;

pub use cleaning::clean;
pub use detect::Kind;
use detect::Span;
use names::names_a_secret;

/// Masks the texts of one tool call.
#[derive(Debug, Default)]
pub struct Redactor {
    pseudonyms: Arc<Pseudonyms>,
    seen: HashSet<(Kind, usize)>,
    occurrences: BTreeMap<Kind, usize>,
    hidden: usize,
}

impl Redactor {
    /// With numbers of its own.
    pub fn new() -> Self {
        Self::default()
    }

    /// With the numbers of a run.
    pub fn of(pseudonyms: &Arc<Pseudonyms>) -> Self {
        Self { pseudonyms: pseudonyms.clone(), ..Self::default() }
    }

    /// Distinct secrets masked so far.
    pub fn masked(&self) -> usize {
        self.seen.len()
    }

    /// Texts from which hidden or control characters were taken.
    pub fn cleaned(&self) -> usize {
        self.hidden
    }

    /// How often something of each kind was masked.
    pub fn occurrences(&self) -> &BTreeMap<Kind, usize> {
        &self.occurrences
    }

    /// The visible text with its secrets masked; borrowed when nothing had to go.
    pub fn text<'t>(&mut self, text: &'t str) -> Cow<'t, str> {
        match cleaning::clean(text) {
            Cow::Borrowed(text) => self.mask(text),
            Cow::Owned(text) => {
                self.hidden += 1;
                Cow::Owned(self.mask(&text).into_owned())
            }
        }
    }

    fn mask<'t>(&mut self, text: &'t str) -> Cow<'t, str> {
        let spans = detect::secrets(text);
        if spans.is_empty() {
            return Cow::Borrowed(text);
        }
        let mut masked = String::with_capacity(text.len());
        let mut done = 0;
        for Span { start, end, kind } in spans {
            masked.push_str(&text[done..start]);
            masked.push_str(&self.placeholder(kind, &text[start..end]));
            done = end;
        }
        masked.push_str(&text[done..]);
        Cow::Owned(masked)
    }

    /// Masks a database cell in place: text is searched like any other, and a column whose name says that it
    /// holds a secret is masked whole.
    pub fn cell(&mut self, column: &str, cell: &mut Value) {
        if names_a_secret(column) && !cell.is_null() {
            let secret = cell.as_str().map_or_else(|| cell.to_string(), str::to_owned);
            *cell = Value::String(self.placeholder(Kind::Credential, &secret));
        } else {
            self.json(cell);
        }
    }

    /// Masks every text inside `value`; a field whose name says that it holds a secret is masked whole.
    pub fn json(&mut self, value: &mut Value) {
        match value {
            Value::String(text) => {
                if let Cow::Owned(masked) = self.text(text) {
                    *text = masked;
                }
            }
            Value::Array(entries) => entries.iter_mut().for_each(|entry| self.json(entry)),
            Value::Object(fields) => fields.iter_mut().for_each(|(name, field)| match field {
                Value::String(_) | Value::Number(_) => self.cell(name, field),
                _ => self.json(field),
            }),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn placeholder(&mut self, kind: Kind, secret: &str) -> String {
        let number = self.pseudonyms.number(kind.as_str(), secret);
        self.seen.insert((kind, number));
        *self.occurrences.entry(kind).or_default() += 1;
        format!("[{}:{number}]", kind.as_str())
    }
}

/// One text on its own; numbers start at 1.
pub fn redact(text: &str) -> String {
    Redactor::new().text(text).into_owned()
}

#[cfg(test)]
mod redaction_tests;
