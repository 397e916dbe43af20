//! Literal grounding: which numbers, times, ids, codes, names and quoted strings of a text its evidence does
//! not show.
//!
//! A literal that is not found is no fault by itself (it can be derived, or knowledge of the trade); it is
//! shown to the semantic guard. So the rules below prefer to report a near miss over finding something
//! similar:
//! - Numbers are equal by exact value after unit conversion: `5s`, `5,000 ms` and `五秒` are one number; 5003
//!   ms is not 5 s.
//! - A number with a unit is not grounded by a number without one, unless the field's name has the unit
//!   (`latency_ms`); a number without a unit is grounded by the same digits with any unit; a count ("12
//!   pods", 12 个) only by a plain number.
//! - MB and its kin are decimal or binary, `5M` a size or five million; 30% is 0.3. Signs are ignored, ranges
//!   look alike.
//! - One digit alone is prose; with a unit or a counted noun it is a claim. Small number words before a
//!   counted noun (一个, "two reasons") are prose, with a unit (五秒) they are not.
//! - A time without a zone matches what the evidence writes, or its UTC; with a zone, the evidence in UTC. It
//!   matches to the precision it has itself. Evidence without a zone is in UTC. CST and IST mean several
//!   zones, so none.
//! - Names match whole: `orders` is not in `orders_archive`, `payment` not in `payment-gateway`; `.` `/` `:`
//!   are boundaries. A pod's name also shows its workload's, and a result's column may carry the name of a
//!   table that the SQL names.
//! - Case does not matter, except in ids (UUIDs excepted: their hex is not case-sensitive).
//! - Kebab words are names when they have a digit or end like a service or host; other compounds are English.
//! - A quotation is found as its sequence of words, without regard to punctuation; an ellipsis in it may
//!   stand for anything.
//! - What was asked (SQL, parameters, the query's window) shows names, quotations, times, durations and ids
//!   of nine digits or more. It does not show counts: asking for 50 rows is not finding 50.

mod atoms;
mod dates;
mod decimal;
#[cfg(test)]
mod evidence_tests;
mod extract;
mod field_units;
mod fold;
mod index;
mod matching;
mod names;
mod quantity;
mod quotes;
mod spelled;
#[cfg(test)]
mod tests;
mod times;
mod units;
mod vocabulary;
mod zones;

use std::collections::HashSet;

use serde_json::Value;

use self::fold::Folded;
use self::index::{Index, Role};
use super::snapshot::{SourceType, VerifiedEvidence};

/// The searchable form of some evidence.
pub struct Haystack {
    index: Index,
}

impl Haystack {
    /// A haystack of everything that `evidence` shows. `O(n log² n)` in its size.
    pub fn of<'e>(evidence: impl Iterator<Item = &'e VerifiedEvidence>) -> Self {
        let mut index = Index::default();
        for piece in evidence {
            add(&mut index, piece);
        }
        index.finish();
        Self { index }
    }

    /// A haystack of plain text, all of it found rather than asked.
    pub fn of_text(text: &str) -> Self {
        let mut index = Index::default();
        index.text(text);
        index.finish();
        Self { index }
    }

    /// The literals of `text` that are not in the evidence, as written there, each once, in order of first
    /// mention. Quotations are without their marks.
    pub fn missing_from(&self, text: &str) -> Vec<String> {
        let folded = Folded::of(text);
        let mut seen = HashSet::new();
        let literals = extract::literals(&folded).into_iter();
        let missing =
            literals.filter(|literal| !self.index.shows(&literal.claim) && seen.insert(literal.written));
        missing.map(|literal| literal.written.to_owned()).collect()
    }
}

fn add(index: &mut Index, piece: &VerifiedEvidence) {
    index.text(&piece.source);
    match (&piece.scope, piece.source_type) {
        // Of a runbook only the search was asked; its section, version and address are the source's.
        (Value::Object(fields), SourceType::Knowledge) => {
            for (name, value) in fields {
                let role = if name == "query" { Role::Asked } else { Role::Found };
                index.value(Some(name), value, role);
            }
        }
        (scope, _) => index.value(None, scope, Role::Asked),
    }
    for text in [&piece.timestamp, &piece.excerpt].into_iter().flatten() {
        index.text(text);
    }
    if let Some(values) = &piece.values {
        index.value(None, values, Role::Found);
    }
}
