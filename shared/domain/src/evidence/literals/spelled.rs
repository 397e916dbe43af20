//! Number words of both languages: "two hundred and thirty", 两百三十, 二〇二六.

use super::decimal::Decimal;
use super::fold::{Folded, is_word};

/// A number written in words.
pub(super) struct Spelled {
    pub(super) value: Decimal,
    pub(super) end: usize,
    /// Characters or words it is made of: one Chinese character alone (十) is too often part of a word.
    pub(super) length: usize,
}

/// The number word that starts at `i`, which must be the start of a word.
pub(super) fn spelled_at(text: &Folded<'_>, i: usize) -> Option<Spelled> {
    match text.at(i) {
        c if c.is_ascii_alphabetic() => english(text, i),
        c if chinese_digit(c).is_some() || c == '十' => chinese(text, i),
        _ => None,
    }
}

enum Word {
    /// 0 to 9, 10 to 19, and 20 to 90.
    Unit(u64),
    Teen(u64),
    Tens(u64),
    Hundred,
    /// Thousand, million, billion.
    Scale(u64),
}

fn word(text: &str) -> Option<Word> {
    const UNITS: [&str; 10] =
        ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"];
    const TEENS: [&str; 10] = [
        "ten",
        "eleven",
        "twelve",
        "thirteen",
        "fourteen",
        "fifteen",
        "sixteen",
        "seventeen",
        "eighteen",
        "nineteen",
    ];
    const TENS: [&str; 8] = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"];
    let find = |list: &[&str], first: u64, step: u64| {
        list.iter().position(|w| *w == text).map(|at| first + step * at as u64)
    };
    let scale = || match text {
        "hundred" => Some(Word::Hundred),
        "thousand" => Some(Word::Scale(1_000)),
        "million" => Some(Word::Scale(1_000_000)),
        "billion" => Some(Word::Scale(1_000_000_000)),
        _ => None,
    };
    find(&UNITS, 0, 1)
        .map(Word::Unit)
        .or_else(|| find(&TEENS, 10, 1).map(Word::Teen))
        .or_else(|| find(&TENS, 20, 10).map(Word::Tens))
        .or_else(scale)
}

/// The lower-case word at `i` and its end, if it is short enough to be a number word and no part of a longer
/// name.
fn short_word(text: &Folded<'_>, i: usize) -> Option<(String, usize)> {
    let mut end = i;
    while end < i + 10 && text.at(end).is_ascii_alphabetic() {
        end += 1;
    }
    let whole = end > i && !is_word(text.at(end));
    whole.then(|| (text.slice(i, end).to_ascii_lowercase(), end))
}

fn english(text: &Folded<'_>, start: usize) -> Option<Spelled> {
    // `group` is below the next scale word; `room` is what may still be added to it (100 after "hundred", 10
    // after "twenty").
    let (mut total, mut group, mut room, mut scale) = (0u64, 0u64, 1_000u64, u64::MAX);
    let (mut at, mut end, mut length) = (start, start, 0);
    while let Some((written, after)) = short_word(text, at) {
        let joined = written == "and" && room == 100 && text.at(after) == ' ';
        if joined {
            at = after + 1;
            continue;
        }
        match word(&written) {
            Some(Word::Unit(n)) if room >= 10 && (n > 0 || length == 0) => (group, room) = (group + n, 1),
            Some(Word::Teen(n)) if room >= 100 => (group, room) = (group + n, 1),
            Some(Word::Tens(n)) if room >= 100 => (group, room) = (group + n, 10),
            Some(Word::Hundred) if (1..10).contains(&group) && room == 1 => {
                (group, room) = (group * 100, 100)
            }
            Some(Word::Scale(n)) if group > 0 && n < scale => {
                total = total.checked_add(group.checked_mul(n)?)?;
                (group, room, scale) = (0, 1_000, n);
            }
            _ => break,
        }
        (end, length) = (after, length + 1);
        at = after + usize::from(matches!(text.at(after), ' ' | '-'));
        if at == after {
            break;
        }
    }
    (length > 0).then(|| Spelled { value: Decimal::from(total + group), end, length })
}

fn chinese_digit(c: char) -> Option<u64> {
    const DIGITS: &str = "零一二三四五六七八九";
    match c {
        '〇' => Some(0),
        '两' | '兩' => Some(2),
        _ => DIGITS.chars().position(|d| d == c).map(|at| at as u64),
    }
}

fn chinese_scale(c: char) -> Option<u64> {
    Some(match c {
        '十' => 10,
        '百' => 100,
        '千' => 1_000,
        '万' | '萬' => 10_000,
        '亿' | '億' => 100_000_000,
        _ => return None,
    })
}

fn chinese(text: &Folded<'_>, start: usize) -> Option<Spelled> {
    // 几十, 数百, 三十多, 十几, 三分之一 and the middle of a run are no exact numbers; a run longer than 24
    // is no number at all.
    let inside = chinese_digit(text.before(start)).is_some() || chinese_scale(text.before(start)).is_some();
    if inside {
        return None;
    }
    let end = text.run(start, |c| chinese_digit(c).is_some() || chinese_scale(c).is_some());
    let vague = matches!(text.before(start), '几' | '数' | '幾' | '數')
        || matches!(text.at(end), '多' | '几' | '余' | '來');
    if vague || end - start > 24 || text.starts_with(end, "分之") {
        return None;
    }
    let run = text.slice(start, end);
    let whole = if end - start >= 3 && run.chars().all(|c| chinese_digit(c).is_some()) {
        run.chars().try_fold(0u64, |n, c| n.checked_mul(10)?.checked_add(chinese_digit(c)?))?
    } else {
        chinese_value(&run)?
    };
    let value = Decimal::from(whole);
    let (value, end) = chinese_fraction(text, end, whole).unwrap_or((value, end));
    Some(Spelled { value, end, length: end - start })
}

/// 点五 behind 三: the digits behind the point.
fn chinese_fraction(text: &Folded<'_>, i: usize, whole: u64) -> Option<(Decimal, usize)> {
    let end = text.run(i + 1, |c| chinese_digit(c).is_some());
    if text.at(i) != '点' || end == i + 1 || end > i + 9 {
        return None;
    }
    let digits: String =
        text.slice(i + 1, end).chars().filter_map(chinese_digit).map(|d| d.to_string()).collect();
    Some((Decimal::parse(&whole.to_string(), &digits)?, end))
}

/// The value of a run of digits and scales; `None` when they are in no order that makes a number (四五十).
fn chinese_value(run: &str) -> Option<u64> {
    let (mut total, mut section, mut digit) = (0u64, 0u64, None);
    let (mut below, mut below_section) = (u64::MAX, u64::MAX);
    for c in run.chars() {
        if let Some(d) = chinese_digit(c) {
            if digit.is_some_and(|before| before != 0) {
                return None;
            }
            digit = Some(d);
            continue;
        }
        let scale = chinese_scale(c)?;
        if scale < 10_000 {
            // Only 十 may stand without a digit, and only in front.
            let leading_ten = scale == 10 && section == 0 && digit.is_none();
            let count = digit.take().or(leading_ten.then_some(1)).filter(|d| *d > 0)?;
            (section, below) = (section.checked_add(count * scale)?, (scale < below).then_some(scale)?);
        } else {
            let count = section + digit.take().unwrap_or(0);
            let in_order = count > 0 && scale < below_section;
            total = total.checked_add(count.checked_mul(in_order.then_some(scale)?)?)?;
            (section, below, below_section) = (0, u64::MAX, scale);
        }
    }
    Some(total + section + digit.unwrap_or(0))
}
