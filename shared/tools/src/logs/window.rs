//! The time window of a search: what a model may write, and the exact instants it stands for.

use time::{Date, Duration, OffsetDateTime, Time};

use super::instant;

/// The longest window one search may have.
pub const MAX_SPAN: Duration = Duration::days(7);

/// What is accepted, for refusals.
const FORMS: &str = "RFC 3339 such as 2026-11-30T06:05:00Z, a UTC time of day such as 06:05, \
    or relative such as -2h, -15m or now";

/// A point in time as written; relative forms get their meaning from the clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeExpression {
    Absolute {
        at: OffsetDateTime,
        zoned: bool,
    },
    /// This long before now.
    Ago(Duration),
    /// The most recent such time of a UTC day.
    OfDay(Time),
}

/// A resolved window: `start` inclusive, `end` exclusive, both UTC.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Window {
    pub start: OffsetDateTime,
    pub end: OffsetDateTime,
    /// How the texts were understood where that isn't obvious.
    pub notes: Vec<String>,
}

impl TimeExpression {
    /// `Err` says which forms are accepted.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let refused = || {
            let shown: String = text.chars().take(40).collect();
            format!("\"{shown}\" is no time that is understood; write {FORMS}")
        };
        if let Some(ago) = ago(text) {
            return Ok(Self::Ago(ago));
        }
        if let Some(time) = time_of_day(text) {
            return Ok(Self::OfDay(time));
        }
        instant::parse(text)
            .map(|found| Self::Absolute { at: found.at, zoned: found.zoned })
            .ok_or_else(refused)
    }

    fn resolve(self, now: OffsetDateTime) -> Option<OffsetDateTime> {
        match self {
            Self::Absolute { at, .. } => Some(at),
            Self::Ago(ago) => now.checked_sub(ago),
            Self::OfDay(time) => {
                let today = now.replace_time(time);
                if today <= now { Some(today) } else { today.checked_sub(Duration::DAY) }
            }
        }
    }
}

impl Window {
    /// Resolves both ends against `now`. `Err` says what is wrong with the window and what would be right.
    pub fn resolve(start: TimeExpression, end: TimeExpression, now: OffsetDateTime) -> Result<Self, String> {
        let out_of_range =
            || format!("the window lies outside of what can be searched; now is {}", instant::show(now));
        let from = start.resolve(now).ok_or_else(out_of_range)?;
        let mut to = end.resolve(now).ok_or_else(out_of_range)?;
        // "23:50 to 00:10" crosses midnight, and "06:00 to 07:00" at 06:30 ends in the future, not yesterday.
        if matches!(end, TimeExpression::OfDay(_)) && to <= from {
            to = to.checked_add(Duration::DAY).ok_or_else(out_of_range)?;
        }
        if from > now {
            return Err(format!(
                "start is {}, which is in the future: now is {}; choose an earlier start, for example -1h",
                instant::show(from),
                instant::show(now)
            ));
        }
        let mut notes = zone_notes(start, end);
        if to > now {
            notes.push(format!("end was in the future and became now, {}", instant::show(now)));
            to = now;
        }
        if from >= to {
            return Err(format!(
                "start is {} and end is {}, but start must be before end",
                instant::show(from),
                instant::show(to)
            ));
        }
        if to - from > MAX_SPAN {
            return Err(format!(
                "the window from {} to {} is longer than {} days; search a shorter one, or several in turn",
                instant::show(from),
                instant::show(to),
                MAX_SPAN.whole_days()
            ));
        }
        Ok(Self { start: from, end: to, notes })
    }

    pub fn contains(&self, at: OffsetDateTime) -> bool {
        self.start <= at && at < self.end
    }

    /// The equally long window before.
    pub fn before(&self) -> (OffsetDateTime, OffsetDateTime) {
        (self.start.checked_sub(self.end - self.start).unwrap_or(self.start), self.start)
    }

    /// Whether `at` lies in the window before.
    pub fn is_before(&self, at: OffsetDateTime) -> bool {
        let (start, end) = self.before();
        start <= at && at < end
    }

    /// Whether `at` lies in the later half.
    pub fn is_late(&self, at: OffsetDateTime) -> bool {
        at - self.start >= (self.end - self.start) / 2
    }
}

fn zone_notes(start: TimeExpression, end: TimeExpression) -> Vec<String> {
    let zoneless = |expression| matches!(expression, TimeExpression::Absolute { zoned: false, .. });
    let which = match (zoneless(start), zoneless(end)) {
        (true, true) => "start and end name",
        (true, false) => "start names",
        (false, true) => "end names",
        (false, false) => return Vec::new(),
    };
    vec![format!("{which} no time zone and count as UTC")]
}

/// `now`, `-2h`, `-1h30m`, `now-15m`.
fn ago(text: &str) -> Option<Duration> {
    let lower = text.to_ascii_lowercase();
    let after_now = lower.strip_prefix("now").map(str::trim_start);
    if after_now == Some("") {
        return Some(Duration::ZERO);
    }
    let mut rest = after_now.unwrap_or(&lower).strip_prefix('-')?.trim_start();
    let mut total = Duration::ZERO;
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit())?;
        let number: i64 = rest[..digits].parse().ok()?;
        let after = &rest[digits..];
        let unit_length = after.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(after.len());
        let seconds = match &after[..unit_length] {
            "s" | "sec" | "second" | "seconds" => 1,
            "m" | "min" | "minute" | "minutes" => 60,
            "h" | "hour" | "hours" => 3600,
            "d" | "day" | "days" => 86_400,
            "w" | "week" | "weeks" => 604_800,
            _ => return None,
        };
        total = total.checked_add(Duration::seconds(number.checked_mul(seconds)?))?;
        rest = &after[unit_length..];
    }
    Some(total)
}

/// `06:05`, `06:05:30`, with an optional `Z` or `UTC`.
fn time_of_day(text: &str) -> Option<Time> {
    let plain = text.strip_suffix("UTC").unwrap_or(text).trim_end().trim_end_matches(['Z', 'z']);
    if !(4..=8).contains(&plain.len()) || !plain.contains(':') {
        return None;
    }
    let mut parts =
        plain.split(':').map(|part| part.parse::<u8>().ok().filter(|_| (1..=2).contains(&part.len())));
    let (hour, minute, second) = (parts.next()??, parts.next()??, parts.next());
    let second = match second {
        None => 0,
        Some(second) => second?,
    };
    // The date is only the frame that checks the ranges.
    let valid = parts.next().is_none() && Date::MIN.with_hms(hour, minute, second).is_ok();
    if valid { Time::from_hms(hour, minute, second).ok() } else { None }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use time::macros::datetime;

    use super::*;

    const NOW: OffsetDateTime = datetime!(2026-11-30 06:30 UTC);

    fn resolve(start: &str, end: &str) -> Result<Window, String> {
        Window::resolve(TimeExpression::parse(start)?, TimeExpression::parse(end)?, NOW)
    }

    #[test]
    fn every_form_resolves_to_exact_instants() {
        let table = [
            ("-2h", "now", "2026-11-30T04:30:00Z", "2026-11-30T06:30:00Z"),
            ("-1h30m", "-15m", "2026-11-30T05:00:00Z", "2026-11-30T06:15:00Z"),
            ("now-1d", "NOW", "2026-11-29T06:30:00Z", "2026-11-30T06:30:00Z"),
            ("06:05", "06:20:30", "2026-11-30T06:05:00Z", "2026-11-30T06:20:30Z"),
            ("23:50", "00:10", "2026-11-29T23:50:00Z", "2026-11-30T00:10:00Z"),
            ("06:00", "07:00", "2026-11-30T06:00:00Z", "2026-11-30T06:30:00Z"),
            ("06:05Z", "06:10 UTC", "2026-11-30T06:05:00Z", "2026-11-30T06:10:00Z"),
            ("2026-11-30T14:05:00+08:00", "now", "2026-11-30T06:05:00Z", "2026-11-30T06:30:00Z"),
            ("2026-11-30 05:00", "2026-11-30T06:00:00", "2026-11-30T05:00:00Z", "2026-11-30T06:00:00Z"),
            ("2026-11-29", "2026-11-30", "2026-11-29T00:00:00Z", "2026-11-30T00:00:00Z"),
        ];
        for (start, end, from, to) in table {
            let window = resolve(start, end).unwrap();
            assert_eq!(
                (instant::show(window.start), instant::show(window.end)),
                (from.into(), to.into()),
                "{start} {end}"
            );
        }
    }

    #[test]
    fn what_was_assumed_is_said() {
        assert_eq!(
            resolve("2026-11-30 05:00", "now").unwrap().notes,
            ["start names no time zone and count as UTC"]
        );
        assert!(
            resolve("-1h", "2026-12-01T00:00:00Z").unwrap().notes[0].starts_with("end was in the future")
        );
        assert!(resolve("-1h", "now").unwrap().notes.is_empty());
    }

    #[test]
    fn wrong_windows_are_refused_with_a_hint() {
        let table = [
            ("06:00", "-1h", "start must be before end"),
            ("now", "now", "start must be before end"),
            ("2026-12-01T00:00:00Z", "now", "in the future: now is 2026-11-30T06:30:00Z"),
            ("-8d", "now", "longer than 7 days"),
            ("-999999999d", "now", "outside of what can be searched"),
            ("last hour", "now", "write RFC 3339 such as"),
            ("-2", "now", "write RFC 3339 such as"),
            ("-", "now", "write RFC 3339 such as"),
            ("25:00", "now", "write RFC 3339 such as"),
            ("+1h", "now", "write RFC 3339 such as"),
            ("", "now", "write RFC 3339 such as"),
        ];
        for (start, end, hint) in table {
            let refusal = resolve(start, end).unwrap_err();
            assert!(refusal.contains(hint), "{start} {end}: {refusal}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_survived(start in "[-0-9:hmdsnowZ]{0,12}|\\PC{0,30}", end in "[-0-9:hmdsnowZ]{0,12}") {
            if let Ok(window) = resolve(&start, &end) {
                prop_assert!(window.start < window.end && window.end <= NOW);
            }
        }
    }
}
