//! Dates as written in both languages, as much of them as is written.

use time::Date;

use super::fold::{Folded, is_han, is_word};
use super::times::clock_at;

/// A date, as much of it as is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Day {
    pub(super) year: Option<i32>,
    pub(super) month: u8,
    pub(super) day: Option<u8>,
}

pub(super) fn day_at(text: &Folded<'_>, i: usize) -> Option<(Day, usize)> {
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
    let digits = end - i;
    let end = before_mark(text, end, &['年', '月']);
    match (digits, text.at(end)) {
        (4, separator @ ('-' | '/' | '年')) => {
            let (month, end) = text.small_number(behind_mark(text, end), 2)?;
            let end = before_mark(text, end, &['月']);
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

/// Many writers put spaces between digits and Chinese: 11 月 30 日. The position of the mark behind a number.
pub(super) fn before_mark(text: &Folded<'_>, i: usize, marks: &[char]) -> usize {
    if text.at(i) == ' ' && marks.contains(&text.at(i + 1)) { i + 1 } else { i }
}

/// The position behind the mark at `i` and the space that may follow it.
pub(super) fn behind_mark(text: &Folded<'_>, i: usize) -> usize {
    if is_han(text.at(i)) && text.at(i + 1) == ' ' { i + 2 } else { i + 1 }
}

/// Behind the month's number, at 月.
fn chinese_day(text: &Folded<'_>, i: usize, year: Option<u32>, month: u32) -> Option<(Day, usize)> {
    if let Some((number, end)) = text.small_number(behind_mark(text, i), 2)
        && let end = before_mark(text, end, &['日', '号'])
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

/// All of a date.
pub(super) fn whole_day(date: Date) -> Day {
    Day { year: Some(date.year()), month: u8::from(date.month()), day: Some(date.day()) }
}
