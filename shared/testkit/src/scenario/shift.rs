//! Moves the times in a text by whole minutes: seconds, fractions, separators and everything else stay as
//! they are.

use time::macros::format_description;
use time::{Duration, OffsetDateTime, PrimitiveDateTime, Time};

/// A distance in whole minutes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shift {
    minutes: i64,
}

/// `2026-11-30T06:05`, and what must follow it.
const STAMP: &str = "dddd-dd-ddtdd:dd";
const CLOCK: &str = "dd:dd";

impl Shift {
    /// From `clock` to `now`, rounded down, so that nothing moves into the future.
    pub fn between(clock: OffsetDateTime, now: OffsetDateTime) -> Self {
        Self { minutes: (now - clock).whole_seconds().div_euclid(60) }
    }

    pub fn minutes(self) -> i64 {
        self.minutes
    }

    /// Moves dates with times: RFC 3339 and `YYYY-MM-DD HH:MM:SS`, with or without fraction.
    pub fn timestamps(self, text: &str) -> String {
        self.rewrite(text, false)
    }

    /// Moves times of the day (`06:05`) as well; they wrap at midnight.
    pub fn all_times(self, text: &str) -> String {
        self.rewrite(text, true)
    }

    fn rewrite(self, text: &str, clock_times: bool) -> String {
        let mut moved = String::with_capacity(text.len());
        let mut rest = text;
        let mut before = ' ';
        while let Some(character) = rest.chars().next() {
            let inside = before.is_ascii_digit() || before == ':';
            let found = if inside || !character.is_ascii_digit() {
                None
            } else if let Some(stamp) = matching(rest, STAMP) {
                self.stamp(stamp)
            } else if let Some(clock) = matching(rest, CLOCK).filter(|_| clock_times) {
                self.clock(clock)
            } else {
                None
            };
            let length = found.as_ref().map_or(character.len_utf8(), String::len);
            let (done, after) = rest.split_at(length);
            moved.push_str(found.as_deref().unwrap_or(done));
            before = done.chars().next_back().unwrap_or(' ');
            rest = after;
        }
        moved
    }

    /// Same length as `stamp`; `None` when it is no date.
    fn stamp(self, stamp: &str) -> Option<String> {
        let format = format_description!("[year]-[month]-[day]T[hour]:[minute]");
        let separator = stamp.get(10..11)?;
        let moment = PrimitiveDateTime::parse(&stamp.replacen(separator, "T", 1), format).ok()?;
        let moved = moment.checked_add(Duration::minutes(self.minutes))?.format(format).ok()?;
        Some(moved.replacen('T', separator, 1))
    }

    fn clock(self, clock: &str) -> Option<String> {
        let format = format_description!("[hour]:[minute]");
        let moment = Time::parse(clock, format).ok()?;
        (moment + Duration::minutes(self.minutes)).format(format).ok()
    }
}

/// The start of `text` when it has the pattern's form (`d` a digit, `t` a `T` or a space) and no digit
/// follows.
fn matching<'a>(text: &'a str, pattern: &str) -> Option<&'a str> {
    let start = text.get(..pattern.len())?;
    let fits = start.bytes().zip(pattern.bytes()).all(|(byte, form)| match form {
        b'd' => byte.is_ascii_digit(),
        b't' => byte == b'T' || byte == b' ',
        other => byte == other,
    });
    let ends = !text.as_bytes().get(pattern.len()).is_some_and(u8::is_ascii_digit);
    (fits && ends).then_some(start)
}

#[cfg(test)]
mod tests {
    use time::macros::datetime;

    use super::*;

    #[test]
    fn minutes_are_rounded_down_in_both_directions() {
        let clock = datetime!(2026-11-30 06:30 UTC);
        assert_eq!(Shift::between(clock, datetime!(2026-11-30 06:31:59.9 UTC)).minutes(), 1);
        assert_eq!(Shift::between(clock, datetime!(2026-11-30 06:29:30 UTC)).minutes(), -1);
        assert_eq!(Shift::between(clock, datetime!(2026-11-30 06:29:00.5 UTC)).minutes(), -1);
        assert_eq!(Shift::between(clock, clock).minutes(), 0);
    }

    #[test]
    fn timestamps_keep_their_form() {
        let shift = Shift { minutes: 95 };
        let cases = [
            ("2026-11-30T06:05:00.837Z", "2026-11-30T07:40:00.837Z"),
            ("2026-11-30T23:05:59Z x", "2026-12-01T00:40:59Z x"),
            ("'2026-12-31 22:25:01.000123'", "'2027-01-01 00:00:01.000123'"),
            ("NotAfter 2026-11-30T06:05:00Z\\njavax", "NotAfter 2026-11-30T07:40:00Z\\njavax"),
            (
                "resets at 16:00 UTC, 2026-11-30, 42026-11-30T06:05:00Z",
                "resets at 16:00 UTC, 2026-11-30, 42026-11-30T06:05:00Z",
            ),
            (
                "2026-13-30T06:05:00Z 二〇 2026-02-30 06:05:00",
                "2026-13-30T06:05:00Z 二〇 2026-02-30 06:05:00",
            ),
        ];
        for (from, to) in cases {
            assert_eq!(shift.timestamps(from), to);
        }
    }

    #[test]
    fn clock_times_wrap_at_midnight_and_keep_their_seconds() {
        let back = Shift { minutes: -400 };
        assert_eq!(back.all_times("从 05:30 开始失败"), "从 22:50 开始失败");
        assert_eq!(back.all_times("since 06:05, why?"), "since 23:25, why?");
        assert_eq!(back.all_times("at 07:00:12"), "at 00:20:12");
        assert_eq!(back.all_times("2026-11-30T06:40:01Z"), "2026-11-30T00:00:01Z");
        assert_eq!(back.all_times("ratio 1:20 and 99:99 and 123:45"), "ratio 1:20 and 99:99 and 123:45");
    }
}
