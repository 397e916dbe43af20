//! Whether the indexed evidence shows a literal.

use super::decimal::Decimal;
use super::extract::Claim;
use super::index::{Index, version};
use super::names;
use super::quantity::{Measure, Quantity};
use super::times::{Moment, When};
use super::units::Dimension;

impl Index {
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
