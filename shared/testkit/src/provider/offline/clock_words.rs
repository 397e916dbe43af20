//! Times that a question names. There is no clock here: a bare `06:05` is compared with the times of the
//! evidence.

use time::format_description::well_known::Rfc3339;
use time::macros::format_description;
use time::{Date, Duration, OffsetDateTime, PrimitiveDateTime, Time};

/// A time in a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Named {
    /// Only hour and minute.
    Clock(Time),
    /// With its date; UTC.
    Instant(OffsetDateTime),
}

/// The first time that `text` names, as `14:05` or `2026-11-30 14:05`.
pub(super) fn named_time(text: &str) -> Option<Named> {
    let bytes = text.as_bytes();
    let digit = |i: usize| bytes.get(i).is_some_and(u8::is_ascii_digit);
    let colons = (2..bytes.len()).filter(|i| bytes[*i] == b':');
    let mut clocks = colons.filter(|i| {
        let alone = !(*i >= 3 && (digit(i - 3) || bytes[i - 3] == b':' || bytes[i - 3] == b'.'));
        alone && digit(i - 2) && digit(i - 1) && digit(i + 1) && digit(i + 2) && !digit(i + 3)
    });
    clocks.find_map(|i| {
        let clock = Time::parse(text.get(i - 2..i + 3)?, format_description!("[hour]:[minute]")).ok()?;
        let date = i.checked_sub(13).and_then(|start| text.get(start..i - 3));
        let date = date.and_then(|date| Date::parse(date, format_description!("[year]-[month]-[day]")).ok());
        Some(match date {
            Some(date) => Named::Instant(PrimitiveDateTime::new(date, clock).assume_utc()),
            None => Named::Clock(clock),
        })
    })
}

/// The instant of a named time, seen from the end of a window: the last such moment before it.
pub(super) fn instant(named: Named, end: OffsetDateTime) -> OffsetDateTime {
    match named {
        Named::Instant(instant) => instant,
        Named::Clock(clock) => {
            let today = end.replace_time(clock);
            if today > end { today - Duration::days(1) } else { today }
        }
    }
}

/// `start` and `end` of the first log query: relative, because only the tools know what time it is.
pub(super) fn window(query: &str) -> (String, String) {
    if let Some(Named::Instant(instant)) = named_time(query) {
        return around(instant);
    }
    (relative_start(&query.to_lowercase()).unwrap_or_else(|| "-2h".to_owned()), "now".to_owned())
}

/// Half an hour before a named instant to one and a half after it.
pub(super) fn around(instant: OffsetDateTime) -> (String, String) {
    (rfc3339(instant - Duration::minutes(30)), rfc3339(instant + Duration::minutes(90)))
}

pub(super) fn rfc3339(instant: OffsetDateTime) -> String {
    instant.format(&Rfc3339).unwrap_or_default()
}

pub(super) fn parse(text: &str) -> Option<OffsetDateTime> {
    OffsetDateTime::parse(text, &Rfc3339).ok()
}

/// "last 6 hours", "最近 30 分钟" and the like, one hour at least so that a beginning shows, a day at most.
fn relative_start(query: &str) -> Option<String> {
    let at =
        ["last ", "past ", "最近", "过去"].iter().find_map(|word| Some(query.find(word)? + word.len()))?;
    let rest = query.get(at..)?.trim_start();
    let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let count: u32 = rest.get(..digits)?.parse().ok()?;
    let unit = rest.get(digits..)?.trim_start();
    let minutes = match unit {
        _ if unit.starts_with('h') || unit.starts_with("小时") || unit.starts_with("个小时") => {
            count.saturating_mul(60)
        }
        _ if unit.starts_with('m') || unit.starts_with("分钟") => count,
        _ => return None,
    };
    Some(format!("-{}h", minutes.div_ceil(60).saturating_add(1).clamp(2, 24)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use time::macros::{datetime, time};

    #[test]
    fn times_are_found_with_and_without_dates() {
        assert_eq!(named_time("5xx since 06:05, why?"), Some(Named::Clock(time!(06:05))));
        assert_eq!(named_time("服务 06:10 的报错"), Some(Named::Clock(time!(06:10))));
        let full = Some(Named::Instant(datetime!(2026-03-01 06:05 UTC)));
        assert_eq!(named_time("at 2026-03-01 06:05 it broke"), full);
        assert_eq!(named_time("at 2026-03-01T06:05:09Z it broke"), full);
        for none in ["a ratio of 10:1", "host:8080", "std::io 99:99", "最近一小时", "1.2.3.4:55555", "::1"]
        {
            assert_eq!(named_time(none), None, "{none}");
        }
    }

    #[test]
    fn a_bare_time_is_the_last_such_moment() {
        let end = datetime!(2026-03-01 00:30 UTC);
        assert_eq!(instant(Named::Clock(time!(00:10)), end), datetime!(2026-03-01 00:10 UTC));
        assert_eq!(instant(Named::Clock(time!(23:50)), end), datetime!(2026-02-28 23:50 UTC));
    }

    #[test]
    fn windows_are_relative_unless_a_date_is_named() {
        let start = |query| window(query).0;
        assert_eq!(window("why?"), ("-2h".into(), "now".into()));
        assert_eq!(start("errors of the last 6 hours"), "-7h");
        assert_eq!(start("最近 30 分钟的错误"), "-2h");
        assert_eq!(start("last 900 hours"), "-24h");
        assert_eq!(window("2026-03-01 06:05").1, "2026-03-01T07:35:00Z");
    }
}
