//! Masking of secrets in what sources return, before it is stored or shown.
//!
//! A secret becomes `[kind:n]`; within one [`Redactor`] the same secret always gets the same number, so that
//! a reader still sees that two lines are about the same mail address. Linear in the text's length. Ids that
//! an engineer searches by (order numbers, trace ids, UUIDs, hosts, addresses) stay.

mod cards;
mod detect;

use std::borrow::Cow;
use std::collections::HashMap;

use serde_json::Value;

pub use detect::Kind;
use detect::Span;

/// Masks the texts of one tool call.
#[derive(Debug, Default)]
pub struct Redactor {
    numbers: HashMap<(Kind, String), usize>,
    counts: HashMap<Kind, usize>,
}

impl Redactor {
    pub fn new() -> Self {
        Self::default()
    }

    /// Distinct secrets masked so far.
    pub fn masked(&self) -> usize {
        self.numbers.len()
    }

    /// The text with its secrets masked; borrowed when there are none.
    pub fn text<'t>(&mut self, text: &'t str) -> Cow<'t, str> {
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
        if detect::names_a_secret(column) && !cell.is_null() {
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
        let counts = &mut self.counts;
        let number = *self.numbers.entry((kind, secret.to_owned())).or_insert_with(|| {
            let count = counts.entry(kind).or_default();
            *count += 1;
            *count
        });
        format!("[{}:{number}]", kind.as_str())
    }
}

/// One text on its own; numbers start at 1.
pub fn redact(text: &str) -> String {
    Redactor::new().text(text).into_owned()
}

#[cfg(test)]
mod redaction_tests;
