//! The evidence, indexed: every name, number and time that it shows, and what each literal of a report is
//! compared with.

use std::collections::{BTreeSet, HashSet};

use serde_json::{Map, Value};
use time::OffsetDateTime;

use super::atoms::{Phrases, atom_end, atoms};
use super::dates::{Day, whole_day};
use super::decimal::Decimal;
use super::field_units::name_before;
use super::fold::{Folded, is_han, is_word};
use super::names;
use super::quantity::{Measure, Quantity, quantity_at};
use super::times::{Moment, When, coarser, time_at};
use super::units::Dimension;

/// What a text of the evidence can vouch for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// The source said it.
    Found,
    /// It was asked of the source: names, quotations, times, durations and long ids only, never a count.
    Asked,
}

#[derive(Default)]
pub(super) struct Index {
    pub(super) phrases: Phrases,
    /// Atoms in their written case.
    pub(super) exact: HashSet<String>,
    /// Names inside atoms: a pod's workload, a percentile in a column's name.
    pub(super) inner: HashSet<String>,
    pub(super) columns: HashSet<String>,
    pub(super) numbers: HashSet<(Dimension, Decimal)>,
    /// Moments in UTC, and as written, each with every coarser form of itself.
    pub(super) utc: HashSet<Moment>,
    pub(super) written: HashSet<Moment>,
    pub(super) days: BTreeSet<(Option<i32>, u8, Option<u8>)>,
    pub(super) years: HashSet<Decimal>,
}

impl Index {
    /// Takes in a JSON value under its field's name.
    pub(super) fn value(&mut self, key: Option<&str>, value: &Value, role: Role) {
        match value {
            Value::Null => {}
            Value::Object(fields) => self.object(fields, role),
            Value::Array(items) => items.iter().for_each(|item| self.value(key, item, role)),
            Value::String(text) => self.field(key, text, role),
            Value::Bool(_) | Value::Number(_) => self.field(key, &value.to_string(), role),
        }
    }

    /// A query's rows are read under their columns' names, everything else under its own.
    fn object(&mut self, fields: &Map<String, Value>, role: Role) {
        let columns = fields.get("columns").and_then(Value::as_array);
        let rows = fields.get("rows").and_then(Value::as_array);
        if let (Some(columns), Some(rows)) = (columns, rows) {
            let columns: Vec<&str> = columns.iter().filter_map(Value::as_str).collect();
            self.columns.extend(columns.iter().map(|column| column.to_lowercase()));
            for cells in rows.iter().filter_map(Value::as_array) {
                for (i, cell) in cells.iter().enumerate() {
                    self.value(columns.get(i).copied(), cell, role);
                }
            }
        }
        for (name, value) in fields {
            // The names of the columns are names, not findings with a number in them.
            let read_already = columns.is_some() && rows.is_some() && name == "rows";
            if !read_already {
                self.value(Some(name), value, role);
            }
        }
    }

    fn field(&mut self, key: Option<&str>, text: &str, role: Role) {
        if let Some(key) = key {
            let folded = Folded::of(key);
            self.names(&folded);
        }
        let folded = Folded::of(text);
        self.names(&folded);
        self.phrases.end_text();
        self.quantities_and_times(&folded, key, role);
    }

    /// A text without structure.
    pub(super) fn text(&mut self, text: &str) {
        self.field(None, text, Role::Found);
    }

    /// To be called once, when everything is in.
    pub(super) fn finish(&mut self) {
        self.phrases.finish();
    }

    fn names(&mut self, text: &Folded<'_>) {
        for atom in atoms(text, 0, text.len()) {
            self.phrases.push(&atom);
            if names::is_version(&atom.to_lowercase()) {
                self.inner.insert(version(&atom));
            }
            // No name is longer than a host's; the check keeps the prefixes of a hostile one from adding up.
            if !names::is_id(&atom) && atom.len() <= 253 {
                self.inner_names(&atom.to_lowercase());
            }
            self.exact.insert(atom);
        }
    }

    /// `payment-gateway-7d9f8b6c5-x2x4z` is an instance of `payment-gateway`; `p99_ms` is about p99;
    /// `partition-12` about 12.
    fn inner_names(&mut self, atom: &str) {
        let mut from = 0usize;
        for segment in atom.split(['-', '_']) {
            let digits = segment.strip_prefix('p').unwrap_or(segment);
            let numeric = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
            if numeric && digits.len() < segment.len() {
                self.inner.insert(segment.to_owned());
            } else if numeric && segment.len() < atom.len() && atom.starts_with(char::is_alphabetic) {
                self.numbers.extend(Decimal::parse(segment, "").map(|n| (Dimension::Segment, n)));
            }
            let hash = (6..=10).contains(&segment.len())
                && segment.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
                && segment.bytes().any(|b| b.is_ascii_digit())
                && segment.bytes().any(|b| b.is_ascii_lowercase());
            if hash && let Some(workload) = from.checked_sub(1).and_then(|end| atom.get(..end)) {
                self.inner.insert(workload.to_owned());
            }
            from += segment.len() + 1;
        }
    }

    fn quantities_and_times(&mut self, text: &Folded<'_>, key: Option<&str>, role: Role) {
        let mut i = 0;
        while i < text.len() {
            if !is_word(text.at(i)) && !is_han(text.at(i)) {
                i += 1;
            } else if let Some((when, end)) = time_at(text, i) {
                self.when(&when);
                i = end;
            } else if let Some(quantity) = quantity_at(text, i) {
                // The field's unit holds for its whole value, and a unit in the text's own `name=` for the
                // number behind it.
                let whole = i == 0 && quantity.end == text.len();
                let name = if whole { key.map(str::to_owned) } else { name_before(text, i) };
                self.quantity(&quantity, name.as_deref(), role);
                i = quantity.resume.max(i + 1);
            } else {
                let end = atom_end(text, i);
                if text.before(i) == '-' {
                    // Behind a quantity (`5ms-db01`) a reader starts a new word here, and so does a report.
                    let rest = text.slice(i, end);
                    self.inner.insert(rest.to_lowercase());
                    self.exact.insert(rest);
                }
                i = end;
            }
        }
    }

    fn quantity(&mut self, quantity: &Quantity, name: Option<&str>, role: Role) {
        let by_key = name.and_then(|name| quantity.measured_by_key(name));
        let own = quantity.unit.clone();
        let ambiguous = by_key.as_ref().is_some_and(|(_, ambiguous)| *ambiguous);
        let measure = own.or(by_key.map(|(measure, _)| measure));
        let readings = match &measure {
            Some(Measure::Physical(readings)) => readings.as_slice(),
            _ => &[],
        };
        if role == Role::Asked {
            self.numbers.extend(readings.iter().filter(|(dimension, _)| *dimension == Dimension::Time));
            self.numbers.extend(quantity.is_id().then_some((Dimension::Id, quantity.value)));
            return;
        }
        self.numbers.extend(readings);
        let bare = readings.iter().filter(|(dimension, _)| *dimension == Dimension::Bare);
        self.numbers.extend(bare.map(|(_, value)| (Dimension::Raw, *value)));
        for value in quantity.parts.iter().chain([&quantity.value]) {
            self.numbers.insert((Dimension::Raw, *value));
            if readings.is_empty() || ambiguous {
                self.numbers.insert((Dimension::Bare, *value));
            }
        }
        self.epoch(quantity);
    }

    /// Ten digits are seconds and thirteen are milliseconds since 1970, for years that logs are from.
    fn epoch(&mut self, quantity: &Quantity) {
        let seconds = match quantity.value.integer() {
            Some(seconds @ 1_000_000_000..=4_000_000_000) => seconds,
            Some(millis @ 1_000_000_000_000..=4_000_000_000_000) => millis / 1000,
            _ => return,
        };
        let at = i64::try_from(seconds).ok().and_then(|s| OffsetDateTime::from_unix_timestamp(s).ok());
        if let Some(at) = at {
            let (hour, minute, second) = at.to_hms();
            let date = Some(at.date());
            self.when(&When::Moment(Moment {
                date,
                hour,
                minute,
                second: Some(second),
                fraction: None,
                offset: Some(0),
            }));
        }
    }

    fn when(&mut self, when: &When) {
        match when {
            When::Day(day) => self.day(*day),
            When::Moment(moment) => {
                let written = Moment { offset: None, ..*moment };
                let utc = moment.in_utc();
                for date in [written.date, utc.and_then(|utc| utc.date)].into_iter().flatten() {
                    self.day(whole_day(date));
                }
                self.written.extend(coarser(written));
                self.utc.extend(utc.into_iter().flat_map(coarser));
            }
        }
    }

    fn day(&mut self, day: Day) {
        for year in [day.year, None] {
            for number in [day.day, None] {
                self.days.insert((year, day.month, number));
            }
        }
        let year = day.year.and_then(|year| u64::try_from(year).ok());
        self.years.extend(year.map(Decimal::from));
    }
}

pub(super) fn version(written: &str) -> String {
    written.to_lowercase().trim_start_matches('v').to_owned()
}
