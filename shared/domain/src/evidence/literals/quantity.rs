//! Quantities: a number in digits or words, its thousands separators, magnitude and unit.

use super::decimal::Decimal;
use super::field_units::unit_of_key;
use super::fold::{Folded, is_word};
use super::spelled::spelled_at;
use super::units::{Dimension, Unit, magnitude_at, unit_at, unit_of};

/// One number of a text or of the evidence.
#[derive(Debug, Clone)]
pub(super) struct Quantity {
    /// As written, magnitude applied: 12万 is 120000.
    pub(super) value: Decimal,
    pub(super) unit: Option<Measure>,
    pub(super) end: usize,
    /// Digits as written; 0 for number words.
    digits: usize,
    /// Characters or words of a number word.
    spelled: usize,
    /// The groups of a number that may as well be a list (`502,503`), else empty.
    pub(super) parts: Vec<Decimal>,
    /// Where a reader who wants the parts too goes on; `end` if there are none.
    pub(super) resume: usize,
}

#[derive(Debug, Clone)]
pub(super) enum Measure {
    Count,
    /// Every value that number and unit can mean.
    Physical(Vec<(Dimension, Decimal)>),
}

impl Quantity {
    /// Whether a report that states this number states a fact to be looked up: two digits, or a unit. Small
    /// number words in front of a counted noun ("two reasons", 一个) are prose.
    pub(super) fn is_claim(&self) -> bool {
        match self.unit {
            Some(Measure::Physical(_)) => true,
            Some(Measure::Count) => self.spelled == 0 || self.value.at_least_ten(),
            None if self.spelled > 0 => self.spelled > 1 && self.value.at_least_ten(),
            None => self.digits >= 2,
        }
    }

    /// Long digit strings are ids rather than counts.
    pub(super) fn is_id(&self) -> bool {
        self.unit.is_none() && self.digits >= 9
    }

    /// Gives a number without a unit the one that its field's name has.
    pub(super) fn measured_by_key(&self, key: &str) -> Option<(Measure, bool)> {
        let (unit, ambiguous) = unit_of_key(key).filter(|_| self.unit.is_none())?;
        Some((measure(self.value, unit), ambiguous))
    }
}

/// The quantity that starts at `i`, which must be the start of a word.
pub(super) fn quantity_at(text: &Folded<'_>, i: usize) -> Option<Quantity> {
    if let Some(share) = chinese_share(text, i) {
        return Some(share);
    }
    let first = single(text, i)?;
    let whole = compound(text, &first).unwrap_or(first);
    // `7d` in `7d9f8b6c5` is no week: a unit may touch a digit only inside a compound such as 1h30m.
    let touches = is_word(text.before(whole.end)) && is_word(text.at(whole.end));
    (!touches).then_some(whole)
}

/// 百分之三十 and 千分之3: the unit is written first.
fn chinese_share(text: &Folded<'_>, i: usize) -> Option<Quantity> {
    let shift = if text.starts_with(i, "百分之") {
        -2
    } else if text.starts_with(i, "千分之") {
        -3
    } else {
        return None;
    };
    let (value, end) = match core(text, i + 3) {
        Some(number) => (number.value, number.end),
        None if text.at(i + 3) == '百' => (Decimal::from(100), i + 4),
        None => return None,
    };
    let unit = Some(Measure::Physical(vec![(Dimension::Ratio, value.shifted(shift))]));
    Some(Quantity { value, unit, end, digits: 0, spelled: 1, parts: Vec::new(), resume: end })
}

/// One number with its magnitude and unit.
fn single(text: &Folded<'_>, i: usize) -> Option<Quantity> {
    let mut number = core(text, i)?;
    let magnitude = if number.spelled == 0 { magnitude_at(text, number.end) } else { None };
    if let Some((shift, end)) = magnitude {
        number.value = number.value.shifted(shift);
        (number.end, number.digits) = (end, number.digits.max(2));
    }
    match unit_at(text, number.end) {
        Some((unit, end)) if !is_adverb(text, &number, end) => {
            (number.unit, number.end) = (Some(measure(number.value, unit)), end);
        }
        // Glued to letters that are no unit, it is a name or an id.
        _ if number.spelled == 0 && is_word(text.at(number.end)) => return None,
        // 三十日, 十一月: a date in words.
        _ if number.spelled > 0 && matches!(text.at(number.end), '月' | '日' | '号') => return None,
        _ => {}
    }
    number.resume = number.resume.min(number.end);
    Some(number)
}

/// 十分 ("very") is ten minutes only as 十分钟 or 十分三十秒.
fn is_adverb(text: &Folded<'_>, number: &Quantity, end: usize) -> bool {
    number.spelled > 0
        && text.before(end) == '分'
        && end == number.end + 1
        && !text.at(end).is_ascii_digit()
        && spelled_at(text, end).is_none_or(|seconds| text.at(seconds.end) != '秒')
}

/// 1h30m and 1分30秒: the sum, each unit smaller than the one before.
fn compound(text: &Folded<'_>, first: &Quantity) -> Option<Quantity> {
    let (mut sum, mut smallest) = time_of(first)?;
    let mut end = first.end;
    for _ in 0..5 {
        let start = if text.at(end) == ' ' && text.at(end + 1).is_ascii_digit() { end + 1 } else { end };
        let Some(next) = single(text, start) else { break };
        let Some((value, unit)) = time_of(&next).filter(|(_, unit)| *unit < smallest) else { break };
        (sum, smallest, end) = (sum.plus(value)?, unit, next.end);
    }
    let unit = Some(Measure::Physical(vec![(Dimension::Time, sum)]));
    (end > first.end).then(|| Quantity { unit, end, resume: first.end, ..first.clone() })
}

/// The nanoseconds of a quantity and, to compare units by, those of one of its unit.
fn time_of(quantity: &Quantity) -> Option<(Decimal, u64)> {
    let Some(Measure::Physical(readings)) = &quantity.unit else { return None };
    let (_, nanoseconds) = *readings.iter().find(|(dimension, _)| *dimension == Dimension::Time)?;
    const UNITS: [u64; 8] = [
        1,
        1_000,
        1_000_000,
        1_000_000_000,
        60_000_000_000,
        3_600_000_000_000,
        86_400_000_000_000,
        604_800_000_000_000,
    ];
    let unit = UNITS.into_iter().find(|unit| quantity.value.times(*unit) == Some(nanoseconds))?;
    Some((nanoseconds, unit))
}

fn measure(value: Decimal, unit: Unit) -> Measure {
    match unit {
        Unit::Count => Measure::Count,
        Unit::Physical(readings) => {
            let read =
                |r: &super::units::Reading| Some((r.dimension, value.times(r.factor)?.shifted(r.shift)));
            Measure::Physical(readings.iter().filter_map(read).collect())
        }
    }
}

/// Digits or words, without magnitude and unit.
fn core(text: &Folded<'_>, i: usize) -> Option<Quantity> {
    if text.at(i).is_ascii_digit() {
        return digits_at(text, i);
    }
    let spelled = spelled_at(text, i)?;
    let (value, end, length) = (spelled.value, spelled.end, spelled.length);
    Some(Quantity {
        value,
        unit: None,
        end,
        digits: 0,
        spelled: length,
        parts: Vec::new(),
        resume: usize::MAX,
    })
}

fn digits_at(text: &Folded<'_>, i: usize) -> Option<Quantity> {
    let digit = |c: char| c.is_ascii_digit();
    let first = text.run(i, digit);
    let mut whole = text.slice(i, first);
    let (mut end, separator) = (first, text.at(first));
    let mut parts = Vec::new();
    if whole.len() <= 3 && matches!(separator, ',' | ' ' | '_') {
        let group = |at: usize| text.at(at) == separator && text.run(at + 1, digit).min(at + 5) == at + 4;
        // A list such as 502,503 reads as one number too; 1,204 does not read as a list.
        let may_be_list = separator == ' ' || whole.len() == 3;
        while group(end) && parts.len() < 10 {
            let next = text.slice(end + 1, end + 4);
            parts.extend(Decimal::parse(&whole, "").filter(|_| end == first));
            parts.extend(Decimal::parse(&next, ""));
            whole.push_str(&next);
            end += 4;
        }
        parts.truncate(if may_be_list { parts.len() } else { 0 });
    }
    let mut fraction = String::new();
    if text.at(end) == '.' && text.at(end + 1).is_ascii_digit() {
        let fraction_end = text.run(end + 1, digit);
        fraction = text.slice(end + 1, fraction_end);
        end = fraction_end;
        // Two points make a version or an address.
        if text.at(end) == '.' && text.at(end + 1).is_ascii_digit() {
            return None;
        }
    }
    let mut value = Decimal::parse(&whole, &fraction)?;
    if let Some((exponent, after)) = exponent_at(text, end, !fraction.is_empty()) {
        (value, end) = (value.shifted(exponent), after);
    }
    let resume = if separator == ' ' { first } else { usize::MAX };
    Some(Quantity { value, unit: None, end, digits: whole.len() + fraction.len(), spelled: 0, parts, resume })
}

/// `e21`, as JSON prints big numbers; a single unsigned digit behind an integer (`3e8`) is rather part of an
/// id.
fn exponent_at(text: &Folded<'_>, i: usize, fractional: bool) -> Option<(i32, usize)> {
    if !matches!(text.at(i), 'e' | 'E') {
        return None;
    }
    let signed = matches!(text.at(i + 1), '+' | '-');
    let (value, end) = text.small_number(i + 1 + usize::from(signed), 3)?;
    let plain = !fractional && !signed && value < 10;
    let value = i32::try_from(value).ok()?;
    let value = if text.at(i + 1) == '-' { -value } else { value };
    (!plain && !is_word(text.at(end))).then_some((value, end))
}

/// Whether `word` is nothing but a unit ("/min" behind a Chinese count is a rate, not a path).
pub(super) fn is_unit(word: &str) -> bool {
    unit_of(word, true).is_some()
}
