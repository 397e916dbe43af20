//! Times and dates as written in incident prose, logs and databases of both languages.

use time::{Date, Duration, Month, PrimitiveDateTime, Time};

use super::fold::{Folded, is_han, is_word};
use super::zones::{zone_after, zone_before};

/// A time or date of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum When {
    Moment(Moment),
    Day(Day),
}

/// A time of day, with its date if that is written with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Moment {
    pub(super) date: Option<Date>,
    pub(super) hour: u8,
    pub(super) minute: u8,
    pub(super) second: Option<u8>,
    /// Nanoseconds, when a fraction of the second is written.
    pub(super) fraction: Option<u32>,
    /// Minutes east of UTC, when a zone is written.
    pub(super) offset: Option<i32>,
}

/// A date, as much of it as is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Day {
    pub(super) year: Option<i32>,
    pub(super) month: u8,
    pub(super) day: Option<u8>,
}

impl Moment {
    /// The same moment in UTC, zone dropped; a moment without zone is taken to be in UTC.
    pub(super) fn in_utc(self) -> Option<Self> {
        let back = Duration::minutes(i64::from(self.offset.unwrap_or(0)));
        let clock = Time::from_hms(self.hour, self.minute, 0).ok()?;
        // Without a date any day will do: only the time of day is kept.
        let date = self.date.or(Date::from_calendar_date(2000, Month::January, 3).ok())?;
        let moved = PrimitiveDateTime::new(date, clock).checked_sub(back)?;
        let date = self.date.map(|_| moved.date());
        Some(Self { date, hour: moved.hour(), minute: moved.minute(), offset: None, ..self })
    }
}

/// The time or date that starts at `i`, which must be the start of a word, and its end.
pub(super) fn time_at(text: &Folded<'_>, i: usize) -> Option<(When, usize)> {
    if let Some((day, end)) = day_at(text, i) {
        let date = date_of(day);
        let clock = date.and_then(|date| clock_behind_date(text, end, date));
        if let Some((mut moment, end)) = clock {
            moment.offset = moment.offset.or_else(|| zone_before(text, i));
            return Some((When::Moment(moment), end));
        }
        let real = day.day.is_none() || day.year.is_none() || date.is_some();
        return real.then_some((When::Day(day), end));
    }
    // The tail of an address or of a longer sequence of pairs is no time.
    if text.before(i) == ':' && i >= 2 && text.at(i - 2).is_ascii_digit() {
        return None;
    }
    let (mut moment, end) = clock_at(text, i, None)?;
    moment.offset = moment.offset.or_else(|| zone_before(text, i));
    Some((When::Moment(moment), end))
}

fn date_of(day: Day) -> Option<Date> {
    Date::from_calendar_date(day.year?, Month::try_from(day.month).ok()?, day.day?).ok()
}

fn clock_behind_date(text: &Folded<'_>, end: usize, date: Date) -> Option<(Moment, usize)> {
    let start = match (text.at(end), text.at(end + 1)) {
        (',' | '，', ' ') => end + 2,
        ('T' | 't' | ' ' | ':' | ',' | '，', _) => end + 1,
        (c, _) if is_han(c) || c.is_ascii_digit() => end,
        _ => return None,
    };
    clock_at(text, start, Some(date))
}

fn day_at(text: &Folded<'_>, i: usize) -> Option<(Day, usize)> {
    let found = if text.at(i).is_ascii_digit() { numeric_day(text, i) } else { month_first(text, i) };
    let (day, end) = found?;
    let valid = (1..=12).contains(&day.month) && day.day.is_none_or(|d| (1..=31).contains(&d));
    // `T` may follow; any other letter or digit makes it a part of something longer.
    let ends = !is_word(text.at(end)) || matches!(text.at(end), 'T' | 't') || is_han(text.before(end));
    (valid && ends).then_some((day, end))
}

fn day(year: Option<u32>, month: u32, day: Option<u32>) -> Option<Day> {
    let year = year.map(i32::try_from).transpose().ok()?;
    Some(Day { year, month: u8::try_from(month).ok()?, day: day.map(u8::try_from).transpose().ok()? })
}

/// 2026-11-30, 2026/11/30, 2026年11月30日, 11月30日, 11月, 30 Nov 2026, and 11-30 in front of a time.
fn numeric_day(text: &Folded<'_>, i: usize) -> Option<(Day, usize)> {
    let (first, end) = text.small_number(i, 4)?;
    match (end - i, text.at(end)) {
        (4, separator @ ('-' | '/' | '年')) => {
            let (month, end) = text.small_number(end + 1, 2)?;
            match (separator, text.at(end)) {
                ('年', '月') => Some(chinese_day(text, end, Some(first), month)?),
                ('-' | '/', c) if c == separator => {
                    let (number, end) = text.small_number(end + 1, 2)?;
                    Some((day(Some(first), month, Some(number))?, end))
                }
                _ => None,
            }
        }
        (1 | 2, '月') => chinese_day(text, end, None, first),
        (1 | 2, '-' | '/') => {
            if let Some(found) = day_first(text, end, first) {
                return Some(found);
            }
            let (number, end) = text.small_number(end + 1, 2)?;
            let clock = text.at(end) == ' ' && clock_at(text, end + 1, None).is_some();
            clock.then_some((day(None, first, Some(number))?, end))
        }
        (1 | 2, ' ') => day_first(text, end, first),
        _ => None,
    }
}

/// Behind the month's number, at 月.
fn chinese_day(text: &Folded<'_>, i: usize, year: Option<u32>, month: u32) -> Option<(Day, usize)> {
    if let Some((number, end)) = text.small_number(i + 1, 2)
        && matches!(text.at(end), '日' | '号')
    {
        return Some((day(year, month, Some(number))?, end + 1));
    }
    // 5月份 is May, 5月内 is within it.
    Some((day(year, month, None)?, i + 1))
}

/// `30 Nov`, `30/Nov/2026`: at the separator behind the day.
fn day_first(text: &Folded<'_>, i: usize, number: u32) -> Option<(Day, usize)> {
    let (month, end) = month_at(text, i + 1)?;
    let year =
        text.small_number(end + 1, 4).filter(|(_, after)| text.at(end) == text.at(i) && after - end == 5);
    Some((day(year.map(|(year, _)| year), month, Some(number))?, year.map_or(end, |(_, after)| after)))
}

/// `Nov 30`, `November 30th, 2026`.
fn month_first(text: &Folded<'_>, i: usize) -> Option<(Day, usize)> {
    let (month, end) = month_at(text, i)?;
    let start = text.run(end, |c| c == ' ').min(end + 2);
    let (number, mut end) = text.small_number(start, 2).filter(|_| start > end)?;
    // "May 30 ms" and "Nov 14:05" have no day.
    if text.at(end) == ':' {
        return None;
    }
    if ["st", "nd", "rd", "th"].iter().any(|suffix| text.starts_with(end, suffix)) {
        end += 2;
    }
    let year_start = if text.starts_with(end, ", ") { end + 2 } else { end + 1 };
    let year = text.small_number(year_start, 4).filter(|(year, after)| {
        matches!(text.at(end), ' ' | ',') && after - year_start == 4 && (1970..=2100).contains(year)
    });
    Some((day(year.map(|(year, _)| year), month, Some(number))?, year.map_or(end, |(_, after)| after)))
}

fn month_at(text: &Folded<'_>, i: usize) -> Option<(u32, usize)> {
    const MONTHS: [&str; 12] = [
        "January",
        "February",
        "March",
        "April",
        "May",
        "June",
        "July",
        "August",
        "September",
        "October",
        "November",
        "December",
    ];
    if !text.at(i).is_ascii_uppercase() {
        return None;
    }
    let mut end = i;
    while end < i + 10 && text.at(end).is_ascii_alphabetic() {
        end += 1;
    }
    let written = text.slice(i, end);
    let is = |name: &str| name == written || (written.len() == 3 && name.starts_with(&written));
    let month = MONTHS.iter().position(|name| is(name))?;
    Some((u32::try_from(month).ok()? + 1, if text.at(end) == '.' { end + 1 } else { end }))
}

/// A time of day: 14:05, 14:05:30.123, 2:05 pm, 2pm, 下午2点05分, with its zone.
fn clock_at(text: &Folded<'_>, i: usize, date: Option<Date>) -> Option<(Moment, usize)> {
    const PARTS: [(&str, bool); 10] = [
        ("凌晨", false),
        ("早上", false),
        ("上午", false),
        ("中午", true),
        ("下午", true),
        ("傍晚", true),
        ("晚上", true),
        ("夜里", false),
        ("晚", true),
        ("午后", true),
    ];
    let part = PARTS.iter().find(|(word, _)| text.starts_with(i, word));
    let mut start = i + part.map_or(0, |(word, _)| word.chars().count());
    start += usize::from(part.is_some() && text.at(start) == ' ');
    let (hour, hour_end) = text.small_number(start, 2)?;
    let found = match text.at(hour_end) {
        ':' => colon_clock(text, hour_end),
        '点' | '點' | '时' | '時' => chinese_clock(text, hour_end, hour, part.is_some()),
        _ => Some(Clock { minute: 0, second: None, fraction: None, end: hour_end, bare: true }),
    }?;
    let (half, end) = half_of_day(text, found.end).map_or((None, found.end), |(pm, end)| (Some(pm), end));
    if (found.bare && half.is_none()) || (is_word(text.at(end)) && !matches!(text.at(end), 'Z' | 'z')) {
        return None;
    }
    let pm = half.or(part.map(|(_, pm)| *pm && (hour != 12)));
    let hour = match (pm, hour) {
        (Some(true), 1..=11) => hour + 12,
        (Some(false), 12) if half.is_some() => 0,
        (_, 24) => 0,
        _ => hour,
    };
    if hour > 23 || found.minute > 59 || found.second.is_some_and(|s| s > 60) {
        return None;
    }
    let full = date.is_some() && found.second.is_some();
    let (offset, end) = zone_after(text, end, full).map_or((None, end), |(offset, end)| (Some(offset), end));
    let (hour, minute) = (u8::try_from(hour).ok()?, u8::try_from(found.minute).ok()?);
    let second = found.second.and_then(|s| u8::try_from(s).ok());
    Some((Moment { date, hour, minute, second, fraction: found.fraction, offset }, end))
}

struct Clock {
    minute: u32,
    second: Option<u32>,
    fraction: Option<u32>,
    end: usize,
    /// Only an hour: a time only with am or pm.
    bare: bool,
}

/// Behind the hour, at the colon.
fn colon_clock(text: &Folded<'_>, i: usize) -> Option<Clock> {
    let two = |at: usize| text.small_number(at, 2).filter(|(_, end)| end - at == 2);
    let (minute, end) = two(i + 1)?;
    if text.at(end) != ':' {
        return Some(Clock { minute, second: None, fraction: None, end, bare: false });
    }
    // Three colons or a second of one digit: an address, not a time.
    let (second, end) = two(end + 1).filter(|(_, end)| text.at(*end) != ':')?;
    let fraction = text.small_number(end + 1, 9).filter(|_| match text.at(end) {
        '.' => true,
        // log4j writes milliseconds behind a comma.
        ',' => text.run(end + 1, |c| c.is_ascii_digit()) == end + 4,
        _ => false,
    });
    let nanoseconds = |(value, after): (u32, usize)| {
        let digits = u32::try_from(after - end - 1).ok()?;
        value.checked_mul(10u32.checked_pow(9u32.checked_sub(digits)?)?)
    };
    let after = fraction.map_or(end, |(_, after)| after);
    Some(Clock {
        minute,
        second: Some(second),
        fraction: fraction.and_then(nanoseconds),
        end: after,
        bare: false,
    })
}

/// 14点05分30秒, 14点半, 14点整, 下午2点: at 点. "3点建议" is three points, so a small hour alone needs a part of the day.
fn chinese_clock(text: &Folded<'_>, i: usize, hour: u32, has_part: bool) -> Option<Clock> {
    let clock = |minute, second, end| Some(Clock { minute, second, fraction: None, end, bare: false });
    if let Some((minute, end)) = text.small_number(i + 1, 2) {
        let end = end + usize::from(text.at(end) == '分');
        let second = text.small_number(end, 2).filter(|(_, after)| text.at(*after) == '秒');
        return match second {
            Some((second, after)) => clock(minute, Some(second), after + 1),
            None => clock(minute, None, end),
        };
    }
    match text.at(i + 1) {
        '半' => clock(30, None, i + 2),
        '整' | '钟' | '鐘' => clock(0, None, i + 2),
        _ if has_part || hour >= 10 => clock(0, None, i + 1),
        _ => None,
    }
}

/// am or pm behind a time, at most one space away: whether it is pm, and its end.
fn half_of_day(text: &Folded<'_>, i: usize) -> Option<(bool, usize)> {
    let start = i + usize::from(text.at(i) == ' ');
    let pm = match text.at(start) {
        'p' | 'P' => true,
        'a' | 'A' => false,
        _ => return None,
    };
    let rest = text.slice(start + 1, start + 4).to_ascii_lowercase();
    let end = if rest.starts_with(".m.") {
        start + 4
    } else if rest.starts_with('m') {
        start + 2
    } else {
        return None;
    };
    (!is_word(text.at(end))).then_some((pm, end))
}
