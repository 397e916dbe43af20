//! Times and dates as written in incident prose, logs and databases of both languages.

use time::{Date, Duration, Month, PrimitiveDateTime, Time};

use super::dates::{Day, before_mark, behind_mark, day_at};
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

/// A time of day: 14:05, 14:05:30.123, 2:05 pm, 2pm, 下午2点05分, with its zone.
pub(super) fn clock_at(text: &Folded<'_>, i: usize, date: Option<Date>) -> Option<(Moment, usize)> {
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
    let hour_end = before_mark(text, hour_end, &['点', '點', '时', '時']);
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

/// 14点05分30秒, 14点半, 14点整, 下午2点: at 点. "3点建议" is three points, so a small hour alone needs a
/// part of the day.
fn chinese_clock(text: &Folded<'_>, i: usize, hour: u32, has_part: bool) -> Option<Clock> {
    let clock = |minute, second, end| Some(Clock { minute, second, fraction: None, end, bare: false });
    if let Some((minute, end)) = text.small_number(behind_mark(text, i), 2) {
        let mark = before_mark(text, end, &['分']);
        let end = if text.at(mark) == '分' { mark + 1 } else { end };
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

/// A moment with and without its date, to the fraction, the second and the minute. A moment written to the
/// minute is also its second 0.
pub(super) fn coarser(moment: Moment) -> Vec<Moment> {
    let second = moment.second.unwrap_or(0);
    let clocks = [
        moment,
        Moment { second: Some(second), fraction: None, ..moment },
        Moment { second: None, fraction: None, ..moment },
    ];
    clocks.into_iter().flat_map(|clock| [clock, Moment { date: None, ..clock }]).collect()
}
