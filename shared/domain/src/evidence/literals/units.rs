//! Units of time, size, share and count in English and Chinese, and what one of each is in the dimension's
//! base unit.

use self::Dimension::{Bare, Bits, Ratio, Size, Time};
use super::fold::{Folded, is_han, is_word};
use super::vocabulary::{COUNTED, has};

/// What a number is a number of. Numbers of different dimensions are never equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Dimension {
    /// No physical unit: counts, codes, ports, ratios.
    Bare,
    /// The digits of any number, whatever its unit: grounds a text's number that names no unit.
    Raw,
    /// A number that is one segment of a name (`partition-12`).
    Segment,
    /// A number of nine or more digits in what was asked (an order id among a query's parameters).
    Id,
    /// Nanoseconds.
    Time,
    /// Bytes.
    Size,
    /// Parts of one.
    Ratio,
    /// Bits per second.
    Bits,
}

/// One unit is `factor × 10^shift` of the dimension's base unit.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reading {
    pub(super) dimension: Dimension,
    pub(super) factor: u64,
    pub(super) shift: i32,
}

/// A unit: physical, with every reading it can have (MB is decimal or binary), or the noun of a count.
#[derive(Debug, Clone, Copy)]
pub(super) enum Unit {
    Count,
    Physical(&'static [Reading]),
}

const fn of(dimension: Dimension, factor: u64, shift: i32) -> Reading {
    Reading { dimension, factor, shift }
}

const NANOSECOND: Unit = Unit::Physical(&[of(Time, 1, 0)]);
const MICROSECOND: Unit = Unit::Physical(&[of(Time, 1, 3)]);
const MILLISECOND: Unit = Unit::Physical(&[of(Time, 1, 6)]);
const SECOND: Unit = Unit::Physical(&[of(Time, 1, 9)]);
const MINUTE: Unit = Unit::Physical(&[of(Time, 60, 9)]);
const HOUR: Unit = Unit::Physical(&[of(Time, 3600, 9)]);
const DAY: Unit = Unit::Physical(&[of(Time, 86_400, 9)]);
const WEEK: Unit = Unit::Physical(&[of(Time, 604_800, 9)]);
const BYTE: Unit = Unit::Physical(&[of(Size, 1, 0)]);
const KB: Unit = Unit::Physical(&[of(Size, 1, 3), of(Size, 1 << 10, 0)]);
const MB: Unit = Unit::Physical(&[of(Size, 1, 6), of(Size, 1 << 20, 0)]);
const GB: Unit = Unit::Physical(&[of(Size, 1, 9), of(Size, 1 << 30, 0)]);
const TB: Unit = Unit::Physical(&[of(Size, 1, 12), of(Size, 1 << 40, 0)]);
const PB: Unit = Unit::Physical(&[of(Size, 1, 15), of(Size, 1 << 50, 0)]);
const KIB: Unit = Unit::Physical(&[of(Size, 1 << 10, 0)]);
const MIB: Unit = Unit::Physical(&[of(Size, 1 << 20, 0)]);
const GIB: Unit = Unit::Physical(&[of(Size, 1 << 30, 0)]);
const TIB: Unit = Unit::Physical(&[of(Size, 1 << 40, 0)]);
const K: Unit = Unit::Physical(&[of(Bare, 1, 3), of(Size, 1, 3), of(Size, 1 << 10, 0)]);
const M: Unit = Unit::Physical(&[of(Bare, 1, 6), of(Size, 1, 6), of(Size, 1 << 20, 0)]);
const B: Unit = Unit::Physical(&[of(Bare, 1, 9), of(Size, 1, 0)]);
const WAN: Unit = Unit::Physical(&[of(Bare, 1, 4)]);
const PERCENT: Unit = Unit::Physical(&[of(Ratio, 1, -2)]);
const PERMILLE: Unit = Unit::Physical(&[of(Ratio, 1, -3)]);
const TENTH: Unit = Unit::Physical(&[of(Ratio, 1, -1)]);
const BPS: Unit = Unit::Physical(&[of(Bits, 1, 0)]);
const KBPS: Unit = Unit::Physical(&[of(Bits, 1, 3)]);
const MBPS: Unit = Unit::Physical(&[of(Bits, 1, 6)]);
const GBPS: Unit = Unit::Physical(&[of(Bits, 1, 9)]);

/// Chinese units, longest first where one starts another.
const CHINESE: &[(&str, Unit)] = &[
    ("个百分点", PERCENT),
    ("百分点", PERCENT),
    ("个小时", HOUR),
    ("個小時", HOUR),
    ("个钟头", HOUR),
    ("个星期", WEEK),
    ("个月", Unit::Count),
    ("毫秒", MILLISECOND),
    ("微秒", MICROSECOND),
    ("纳秒", NANOSECOND),
    ("秒钟", SECOND),
    ("分钟", MINUTE),
    ("分鐘", MINUTE),
    ("小时", HOUR),
    ("小時", HOUR),
    ("钟头", HOUR),
    ("星期", WEEK),
    ("字节", BYTE),
    ("秒", SECOND),
    ("分", MINUTE),
    ("天", DAY),
    ("周", WEEK),
    ("兆", MB),
    ("成", TENTH),
    ("年", Unit::Count),
];

const CLASSIFIERS: &str = "个個次条條台臺笔筆行件张份例起家名位单倍项组批轮页种套核人";

/// The unit behind a number that ends at `i`, at most one space or hyphen away, and the unit's end.
pub(super) fn unit_at(text: &Folded<'_>, i: usize) -> Option<(Unit, usize)> {
    match text.at(i) {
        '%' => return Some((PERCENT, i + 1)),
        '‰' => return Some((PERMILLE, i + 1)),
        _ => {}
    }
    let glued = !matches!(text.at(i), ' ' | '-');
    let start = if glued { i } else { i + 1 };
    if text.at(start) == '%' {
        return Some((PERCENT, start + 1));
    }
    if is_han(text.at(start)) && text.at(i) != '-' {
        return chinese_unit(text, start);
    }
    // The longest unit word has 12 letters; looking no further keeps a scan of hostile text linear.
    let end = letters_end(text, start);
    // A digit may follow: the next part of 1h30m.
    if end == start || (is_word(text.at(end)) && !text.at(end).is_ascii_digit()) {
        return None;
    }
    unit_of(&text.slice(start, end), glued).map(|unit| (unit, end))
}

fn letters_end(text: &Folded<'_>, start: usize) -> usize {
    let mut end = start;
    while end < start + 16 && text.at(end).is_alphabetic() && !is_han(text.at(end)) {
        end += 1;
    }
    end
}

fn chinese_unit(text: &Folded<'_>, i: usize) -> Option<(Unit, usize)> {
    let physical = CHINESE.iter().find(|(word, _)| text.starts_with(i, word));
    if let Some((word, unit)) = physical {
        return Some((*unit, i + word.chars().count()));
    }
    CLASSIFIERS.contains(text.at(i)).then_some((Unit::Count, i + 1))
}

/// The unit that `word` names. One-letter units other than `s` and `h` must be glued to their number: "5 m"
/// is prose.
pub(super) fn unit_of(word: &str, glued: bool) -> Option<Unit> {
    match (word, glued) {
        ("s", _) => return Some(SECOND),
        ("h", _) => return Some(HOUR),
        ("m", true) => return Some(MINUTE),
        ("d", true) => return Some(DAY),
        ("k" | "K", true) => return Some(K),
        ("M", true) => return Some(M),
        ("G", true) => return Some(GB),
        ("T", true) => return Some(TB),
        ("B", true) => return Some(B),
        ("w" | "W", true) => return Some(WAN),
        _ => {}
    }
    let lower = word.to_ascii_lowercase();
    Some(match lower.as_str() {
        "ns" | "nanosecond" | "nanoseconds" => NANOSECOND,
        "us" | "μs" | "microsecond" | "microseconds" => MICROSECOND,
        "ms" | "msec" | "msecs" | "millis" | "millisecond" | "milliseconds" => MILLISECOND,
        "sec" | "secs" | "second" | "seconds" => SECOND,
        "min" | "mins" | "minute" | "minutes" => MINUTE,
        "hr" | "hrs" | "hour" | "hours" => HOUR,
        "day" | "days" => DAY,
        "week" | "weeks" => WEEK,
        "byte" | "bytes" => BYTE,
        "kb" | "kilobyte" | "kilobytes" => KB,
        "mb" | "megabyte" | "megabytes" => MB,
        "gb" | "gigabyte" | "gigabytes" => GB,
        "tb" | "terabyte" | "terabytes" => TB,
        "pb" | "petabyte" | "petabytes" => PB,
        "ki" | "kib" => KIB,
        "mi" | "mib" => MIB,
        "gi" | "gib" => GIB,
        "ti" | "tib" => TIB,
        "percent" | "pct" | "percentage" => PERCENT,
        "bps" => BPS,
        "kbps" => KBPS,
        "mbps" => MBPS,
        "gbps" => GBPS,
        "month" | "months" | "year" | "years" => Unit::Count,
        // "12pods" is no count; it is as likely a name.
        other if is_counted(other) && (!glued || matches!(other, "x" | "qps" | "tps" | "rps" | "rpm")) => {
            Unit::Count
        }
        _ => return None,
    })
}

fn is_counted(word: &str) -> bool {
    let singular = |stem: &str| has(COUNTED, stem);
    let y = |stem: &str| stem.len() > 2 && has(COUNTED, &format!("{stem}y"));
    singular(word)
        || word.strip_suffix('s').is_some_and(singular)
        || word.strip_suffix("es").is_some_and(singular)
        || word.strip_suffix("ies").is_some_and(y)
}

/// 万 and million behind digits; k, M, B and w only in front of a counted noun, since they are sizes too.
pub(super) fn magnitude_at(text: &Folded<'_>, i: usize) -> Option<(i32, usize)> {
    const HAN: [(&str, i32); 9] = [
        ("万亿", 12),
        ("千万", 7),
        ("百万", 6),
        ("亿", 8),
        ("億", 8),
        ("万", 4),
        ("萬", 4),
        ("千", 3),
        ("百", 2),
    ];
    const WORDS: [(&str, i32); 4] = [("thousand", 3), ("million", 6), ("billion", 9), ("hundred", 2)];
    const LETTERS: [(char, i32); 6] = [('k', 3), ('K', 3), ('M', 6), ('B', 9), ('w', 4), ('W', 4)];
    let han_start = if text.at(i) == ' ' { i + 1 } else { i };
    if is_han(text.at(han_start)) {
        // 千分之 and 百分之 start the next number.
        let found = HAN.iter().find(|(word, _)| text.starts_with(han_start, word))?;
        let end = han_start + found.0.chars().count();
        return (!text.starts_with(end, "分")).then_some((found.1, end));
    }
    let counted = |end: usize| matches!(unit_at(text, end), Some((Unit::Count, _)));
    if let Some((_, shift)) = LETTERS.iter().find(|(letter, _)| *letter == text.at(i)) {
        return (!is_word(text.at(i + 1)) && counted(i + 1)).then_some((*shift, i + 1));
    }
    let after = |word: &str| i + 1 + word.len();
    let spelled = |word: &str| {
        text.at(i) == ' '
            && text.slice(i + 1, after(word)).eq_ignore_ascii_case(word)
            && !is_word(text.at(after(word)))
    };
    WORDS.iter().find(|(word, _)| spelled(word)).map(|(word, shift)| (*shift, after(word)))
}
