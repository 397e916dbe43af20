//! The evidence, indexed: every name, number and time that it shows, and what each literal of a report is compared with.

use std::collections::{BTreeSet, HashSet};

use serde_json::{Map, Value};
use time::{Date, OffsetDateTime};

use super::atoms::{Phrases, atom_end, atoms};
use super::decimal::Decimal;
use super::extract::Claim;
use super::fold::{Folded, is_han, is_word};
use super::names;
use super::quantity::{Measure, Quantity, quantity_at};
use super::times::{Day, Moment, When, time_at};
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
    phrases: Phrases,
    /// Atoms in their written case.
    exact: HashSet<String>,
    /// Names inside atoms: a pod's workload, a percentile in a column's name.
    inner: HashSet<String>,
    columns: HashSet<String>,
    numbers: HashSet<(Dimension, Decimal)>,
    /// Moments in UTC, and as written, each with every coarser form of itself.
    utc: HashSet<Moment>,
    written: HashSet<Moment>,
    days: BTreeSet<(Option<i32>, u8, Option<u8>)>,
    years: HashSet<Decimal>,
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
            if !names::is_id(&atom) {
                self.inner_names(&atom.to_lowercase());
            }
            self.exact.insert(atom);
        }
    }

    /// `payment-gateway-7d9f8b6c5-x2x4z` is an instance of `payment-gateway`; `p99_ms` is about p99; `partition-12` about 12.
    fn inner_names(&mut self, atom: &str) {
        let mut from = 0usize;
        for segment in atom.split(['-', '_']) {
            let digits = segment.strip_prefix('p').unwrap_or(segment);
            let numeric = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
            if numeric && digits.len() < segment.len() {
                self.inner.insert(segment.to_owned());
            } else if numeric && segment.len() < atom.len() {
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
                // The field's unit holds for its whole value, and a unit in the text's own `name=` for the number behind it.
                let whole = i == 0 && quantity.end == text.len();
                let name = if whole { key.map(str::to_owned) } else { name_before(text, i) };
                self.quantity(&quantity, name.as_deref(), role);
                i = quantity.resume.max(i + 1);
            } else {
                i = atom_end(text, i);
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

    /// Whether the evidence shows what the literal says.
    pub(super) fn shows(&self, claim: &Claim) -> bool {
        match claim {
            Claim::Quantity(quantity) => self.shows_quantity(quantity),
            Claim::When(When::Day(day)) => self.days.contains(&(day.year, day.month, day.day)),
            Claim::When(When::Moment(moment)) => self.shows_moment(*moment),
            Claim::Name(atoms) => self.shows_name(atoms),
            Claim::Id(id) => self.exact.contains(id) || (names::is_uuid(id) && self.phrases.has(id)),
            Claim::Version(written) => self.inner.contains(&version(written)),
            Claim::Status(code) => self.is_number(Decimal::from(*code)),
            Claim::StatusClass(class) => {
                self.phrases.has(&format!("{class}xx"))
                    || (class * 100..class * 100 + 100).any(|code| self.is_number(Decimal::from(code)))
            }
            Claim::Quote(parts) => parts.iter().all(|part| self.phrases.contains(part)),
        }
    }

    fn has(&self, dimension: Dimension, value: Decimal) -> bool {
        self.numbers.contains(&(dimension, value))
    }

    fn is_number(&self, value: Decimal) -> bool {
        self.has(Dimension::Bare, value) || self.has(Dimension::Segment, value)
    }

    fn shows_quantity(&self, quantity: &Quantity) -> bool {
        let value = quantity.value;
        match &quantity.unit {
            Some(Measure::Count) => self.has(Dimension::Bare, value),
            Some(Measure::Physical(readings)) => readings.iter().any(|(dimension, value)| {
                // 30% is the ratio 0.3; but 100% is not every 1.
                let ratio = *dimension == Dimension::Ratio && value.is_fractional();
                self.has(*dimension, *value) || (ratio && self.has(Dimension::Bare, *value))
            }),
            None => {
                let listed = || quantity.parts.iter().all(|part| self.has(Dimension::Raw, *part));
                self.has(Dimension::Raw, value)
                    || self.has(Dimension::Segment, value)
                    || (value.is_fractional() && self.has(Dimension::Ratio, value))
                    || (quantity.is_id() && self.has(Dimension::Id, value))
                    || self.years.contains(&value)
                    || (!quantity.parts.is_empty() && listed())
            }
        }
    }

    fn shows_moment(&self, moment: Moment) -> bool {
        if moment.offset.is_some() {
            return moment.in_utc().is_some_and(|utc| self.utc.contains(&utc));
        }
        self.written.contains(&moment) || self.utc.contains(&moment)
    }

    fn shows_name(&self, atoms: &[String]) -> bool {
        if self.phrases.contains(atoms) {
            return true;
        }
        match atoms {
            [name] => self.inner.contains(&name.to_lowercase()),
            // A result's column, named with a table that the query names.
            [table, column] => self.columns.contains(&column.to_lowercase()) && self.phrases.has(table),
            _ => false,
        }
    }
}

/// The name right before a number, as in `latency_ms=5003` or `"latency_ms": 5003`.
fn name_before(text: &Folded<'_>, i: usize) -> Option<String> {
    let mut end = i;
    while i - end < 5 && matches!(text.before(end), '=' | ':' | '"' | ' ' | '\'') {
        end -= 1;
    }
    let assigned = (end..i).any(|at| matches!(text.at(at), '=' | ':'));
    let mut start = end;
    while end - start < 40 && (is_word(text.before(start)) || matches!(text.before(start), '-' | '(' | ')')) {
        start -= 1;
    }
    (assigned && start < end).then(|| text.slice(start, end))
}

fn version(written: &str) -> String {
    written.to_lowercase().trim_start_matches('v').to_owned()
}

fn whole_day(date: Date) -> Day {
    Day { year: Some(date.year()), month: u8::from(date.month()), day: Some(date.day()) }
}

/// A moment with and without its date, to the fraction, the second and the minute. A moment written to the minute is also its
/// second 0.
fn coarser(moment: Moment) -> Vec<Moment> {
    let second = moment.second.unwrap_or(0);
    let clocks = [
        moment,
        Moment { second: Some(second), fraction: None, ..moment },
        Moment { second: None, fraction: None, ..moment },
    ];
    clocks.into_iter().flat_map(|clock| [clock, Moment { date: None, ..clock }]).collect()
}
