//! Instants as logs and models write them.

use std::borrow::Cow;

use time::format_description::well_known::Rfc3339;
use time::{OffsetDateTime, UtcOffset};

/// An instant, and whether the text named its zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Instant {
    pub at: OffsetDateTime,
    pub zoned: bool,
}

/// Reads RFC 3339 and its common near-misses: a space for `T`, a decimal comma, `+0800`, no seconds, no time,
/// no zone (UTC).
pub fn parse(text: &str) -> Option<Instant> {
    let text = text.trim();
    if !text.is_ascii() || !(10..=40).contains(&text.len()) {
        return None;
    }
    if let Ok(at) = OffsetDateTime::parse(text, &Rfc3339) {
        return Some(Instant { at: at.to_offset(UtcOffset::UTC), zoned: true });
    }
    let (date, time) = text.split_at(10);
    let time = time.trim_start_matches(['T', 't', ' ']).replace(',', ".");
    let (clock, zone) = split_zone(&time);
    let clock = match clock.len() {
        0 => Cow::Borrowed("00:00:00"),
        5 => Cow::Owned(format!("{clock}:00")),
        _ => Cow::Borrowed(clock),
    };
    let zone_text = zone.map_or_else(|| "Z".to_owned(), |zone| with_colon(zone.trim()));
    let at = OffsetDateTime::parse(&format!("{date}T{clock}{zone_text}"), &Rfc3339).ok()?;
    Some(Instant { at: at.to_offset(UtcOffset::UTC), zoned: zone.is_some() })
}

/// RFC 3339 in UTC, as stored and shown everywhere.
pub fn show(at: OffsetDateTime) -> String {
    // Years that RFC 3339 can't write never pass `parse` or `from_epoch`.
    at.to_offset(UtcOffset::UTC).format(&Rfc3339).unwrap_or_default()
}

/// Reads an epoch number of seconds, milliseconds, microseconds or nanoseconds by its size.
pub fn from_epoch(number: f64) -> Option<OffsetDateTime> {
    let seconds = match number.abs() {
        n if n < 1e11 => number,
        n if n < 1e14 => number / 1e3,
        n if n < 1e17 => number / 1e6,
        _ => number / 1e9,
    };
    // A float's cast saturates, so that nonsense is out of range and not a panic.
    let nanoseconds = ((seconds * 1e3).round() as i128).checked_mul(1_000_000)?;
    OffsetDateTime::from_unix_timestamp_nanos(nanoseconds)
        .ok()
        .filter(|at| (1970..=9999).contains(&at.year()))
}

fn split_zone(time: &str) -> (&str, Option<&str>) {
    if let Some(clock) = time.strip_suffix(['Z', 'z']) {
        return (clock.trim_end(), Some("Z"));
    }
    if let Some(clock) = time.strip_suffix("UTC") {
        return (clock.trim_end(), Some("Z"));
    }
    match time.rfind(['+', '-']) {
        Some(i) => (time[..i].trim_end(), Some(&time[i..])),
        None => (time, None),
    }
}

fn with_colon(zone: &str) -> String {
    match zone.len() {
        5 => format!("{}:{}", &zone[..3], &zone[3..]),
        3 => format!("{zone}:00"),
        _ => zone.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use time::macros::datetime;

    use super::*;

    #[test]
    fn near_misses_are_read() {
        let at = datetime!(2026-11-30 06:05:00 UTC);
        let table = [
            ("2026-11-30T06:05:00Z", true),
            ("2026-11-30T14:05:00+08:00", true),
            ("2026-11-30 14:05:00 +0800", true),
            ("2026-11-30 14:05+08", true),
            ("2026-11-30 06:05:00 UTC", true),
            ("2026-11-30T06:05", false),
            ("2026-11-30 06:05:00,000", false),
        ];
        for (text, zoned) in table {
            assert_eq!(parse(text), Some(Instant { at, zoned }), "{text}");
        }
        assert_eq!(parse("2026-11-30").map(|i| i.at), Some(datetime!(2026-11-30 00:00 UTC)));
        for text in
            ["", "yesterday", "2026-13-01", "2026-11-30T25:00", "06:05", "2026/11/30 06:05", "２０２６-11-30"]
        {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn epochs_are_read_by_their_size() {
        let at = datetime!(2026-11-30 06:05:00 UTC);
        for number in
            [1_796_018_700.0, 1_796_018_700_000.0, 1_796_018_700_000_000.0, 1_796_018_700_000_000_000.0]
        {
            assert_eq!(from_epoch(number), Some(at), "{number}");
        }
        for number in [-5e9, f64::NAN, f64::INFINITY, 1e30] {
            let _ = from_epoch(number);
        }
    }

    proptest! {
        #[test]
        fn any_text_is_survived(text in "[0-9TZ:+., -]{0,45}|\\PC{0,45}") {
            let _ = parse(&text);
        }
    }
}
