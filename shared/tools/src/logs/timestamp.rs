//! The times that loggers put in front of a line, in the forms they have.

use std::sync::LazyLock;

use regex::Regex;
use time::format_description::BorrowedFormatItem;
use time::macros::format_description;
use time::{OffsetDateTime, PrimitiveDateTime};

use super::instant;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// `2026-11-30T06:05:00.123Z` and its relatives.
    Iso,
    /// `26/11/30 06:05:00`
    Short,
    /// `261130 060500`
    Packed,
    /// `Nov 30 06:05:00`
    Syslog,
    /// `Mon Nov 30 06:05:00 2026`
    Ctime,
    /// `30/Nov/2026:06:05:00 +0000`
    Clf,
    /// `11-30 06:05:00.000`
    Android,
    /// `I1130 06:05:00.000000`
    Klog,
    /// `20261130-6:5:0:606`, `20261130T060500Z`
    Compact,
    /// Seconds or parts of them since 1970.
    Epoch,
}

/// In the order of the groups of [`TIME`].
const FORMS: [Form; 10] = [
    Form::Iso,
    Form::Short,
    Form::Packed,
    Form::Syslog,
    Form::Ctime,
    Form::Clf,
    Form::Android,
    Form::Klog,
    Form::Compact,
    Form::Epoch,
];

/// A group for each of [`FORMS`].
static TIME: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(concat!(
        r"^(?:",
        r"([0-9]{4}[-/][0-9]{2}[-/][0-9]{2}[ T_,-]{1,2}[0-9]{2}:[0-9]{2}:[0-9]{2}(?:[.,:][0-9]{1,9})?(?: ?(?:Z|UTC|[+-][0-9]{2}:?[0-9]{2})\b)?)",
        r"|([0-9]{2}/[0-9]{2}/[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}(?:[.,][0-9]{1,9})?)",
        r"|([0-9]{6} [0-9]{6})\b",
        r"|((?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) [ 0-9][0-9] [0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,9})?)",
        r"|((?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) (?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) [ 0-9][0-9] [0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,9})? [0-9]{4})",
        r"|([0-9]{2}/(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)/[0-9]{4}:[0-9]{2}:[0-9]{2}:[0-9]{2} [+-][0-9]{4})",
        r"|([0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3,6})",
        r"|([IWEF][0-9]{4} [0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{1,9})",
        r"|([0-9]{8}[-T][0-9]{1,2}:?[0-9]{1,2}:?[0-9]{1,2}(?:[:.,][0-9]{1,9})?Z?)",
        r"|([0-9]{10}(?:\.[0-9]{1,9})?|[0-9]{13}|[0-9]{16}|[0-9]{19})(?:\s|$)",
        r")"
    ))
    .ok()
});
/// The time of an access log stands after the client.
static ACCESS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"\[([0-9]{2}/[A-Z][a-z]{2}/[0-9]{4}:[0-9]{2}:[0-9]{2}:[0-9]{2} [+-][0-9]{4})\]").ok()
});
/// A time as it stands in a line.
#[derive(Debug, Clone, Copy)]
pub(super) struct Found<'l> {
    pub form: Form,
    pub text: &'l str,
}

/// The time that `line` begins with.
pub(super) fn leading(line: &str) -> Option<Found<'_>> {
    let groups = TIME.as_ref()?.captures(line)?;
    let found = FORMS.iter().zip(groups.iter().skip(1)).find_map(|(form, group)| Some((*form, group?)));
    found.map(|(form, text)| Found { form, text: text.as_str() })
}

/// The time of an access log's line.
pub(super) fn of_access(line: &str) -> Option<OffsetDateTime> {
    let found = ACCESS.as_ref()?.captures(&line[..line.floor_char_boundary(256)])?.get(1)?;
    zoned(found.as_str(), CLF)
}

impl Found<'_> {
    /// The instant that it says. A form without a year is of the year that brings it next to `around`, else it says none.
    pub fn instant(&self, around: Option<OffsetDateTime>) -> Option<OffsetDateTime> {
        read(self.form, self.text, around)
    }
}

type Format = &'static [BorrowedFormatItem<'static>];
const CLF: Format = format_description!(
    "[day]/[month repr:short]/[year]:[hour]:[minute]:[second] [offset_hour sign:mandatory][offset_minute]"
);
const SYSLOG: Format =
    format_description!("[month repr:short] [day padding:space] [hour]:[minute]:[second] [year]");
const CTIME: Format = format_description!(
    "[weekday repr:short] [month repr:short] [day padding:space] [hour]:[minute]:[second] [year]"
);

/// Of the years around `around`, the one that brings the time nearest to it.
fn nearest(around: OffsetDateTime, read: impl Fn(i32) -> Option<OffsetDateTime>) -> Option<OffsetDateTime> {
    let years = [around.year() - 1, around.year(), around.year() + 1];
    years.into_iter().filter_map(read).min_by_key(|at| (*at - around).abs())
}

fn zoned(text: &str, format: Format) -> Option<OffsetDateTime> {
    OffsetDateTime::parse(text, format).ok().map(|at| at.to_offset(time::UtcOffset::UTC))
}

fn read(form: Form, text: &str, around: Option<OffsetDateTime>) -> Option<OffsetDateTime> {
    match form {
        Form::Iso => {
            let (date, time) = text.split_at(10);
            let time = time.trim_start_matches([' ', 'T', '_', ',', '-']);
            let time = match time.as_bytes().get(8) {
                Some(b':') => format!("{}.{}", &time[..8], &time[9..]),
                _ => time.to_owned(),
            };
            instant::parse(&format!("{}T{time}", date.replace('/', "-"))).map(|found| found.at)
        }
        Form::Short => instant::parse(&format!("20{}", text.replace('/', "-"))).map(|found| found.at),
        Form::Packed => {
            let (date, time) = (&text[..6], &text[7..]);
            let parts =
                |text: &str, sign: &str| format!("{}{sign}{}{sign}{}", &text[..2], &text[2..4], &text[4..]);
            instant::parse(&format!("20{}T{}", parts(date, "-"), parts(time, ":"))).map(|found| found.at)
        }
        Form::Clf => zoned(text, CLF),
        Form::Ctime => {
            let (clock, year) = text.rsplit_once(' ')?;
            let clock = clock.split('.').next()?;
            PrimitiveDateTime::parse(&format!("{clock} {year}"), CTIME)
                .ok()
                .map(PrimitiveDateTime::assume_utc)
        }
        Form::Compact => {
            let date = format!("{}-{}-{}", &text[..4], &text[4..6], &text[6..8]);
            let clock = &text[9..];
            let clock = if clock.as_bytes().get(2) == Some(&b':') {
                clock.to_owned()
            } else if clock.len() >= 6 && clock.as_bytes()[..6].iter().all(u8::is_ascii_digit) {
                format!("{}:{}:{}", &clock[..2], &clock[2..4], &clock[4..])
            } else {
                return None;
            };
            instant::parse(&format!("{date}T{clock}")).map(|found| found.at)
        }
        Form::Syslog => {
            let clock = text.split('.').next()?;
            nearest(around?, |year| {
                PrimitiveDateTime::parse(&format!("{clock} {year}"), SYSLOG)
                    .ok()
                    .map(PrimitiveDateTime::assume_utc)
            })
        }
        Form::Android => nearest(around?, |year| {
            instant::parse(&format!("{year}-{}", text.replacen(' ', "T", 1))).map(|at| at.at)
        }),
        Form::Klog => {
            let (date, clock) = (&text[1..5], &text[6..]);
            nearest(around?, |year| {
                instant::parse(&format!("{year}-{}-{}T{clock}", &date[..2], &date[2..])).map(|at| at.at)
            })
        }
        Form::Epoch => instant::from_epoch(text.parse().ok()?),
    }
}

#[cfg(test)]
mod tests {
    use time::macros::datetime;

    use super::*;

    #[test]
    fn each_form_is_told_and_read() {
        let at = datetime!(2026-11-30 06:05:00 UTC);
        for (form, text) in [
            (Form::Iso, "2026-11-30T06:05:00Z"),
            (Form::Iso, "2026/11/30 14:05:00.000+08:00"),
            (Form::Short, "26/11/30 06:05:00"),
            (Form::Packed, "261130 060500"),
            (Form::Syslog, "Nov 30 06:05:00"),
            (Form::Ctime, "Mon Nov 30 06:05:00.000 2026"),
            (Form::Clf, "30/Nov/2026:14:05:00 +0800"),
            (Form::Android, "11-30 06:05:00.000"),
            (Form::Klog, "I1130 06:05:00.000000"),
            (Form::Compact, "20261130T060500Z"),
            (Form::Epoch, "1796018700.000"),
        ] {
            let found = leading(text);
            assert_eq!(found.map(|found| (found.form, found.text)), Some((form, text)));
            assert_eq!(found.and_then(|found| found.instant(Some(at))), Some(at), "{text}");
        }
        assert!(leading("6:05 in the morning").is_none());
        assert_eq!(of_access("203.0.113.9 - - [30/Nov/2026:14:05:00 +0800] \"GET /\""), Some(at));
    }

    #[test]
    fn a_time_without_a_year_is_of_the_nearest() {
        let read = |text, around| leading(text).and_then(|found| found.instant(around));
        let new_year = datetime!(2027-01-01 00:10:00 UTC);
        assert_eq!(read("Dec 31 23:59:00", Some(new_year)), Some(datetime!(2026-12-31 23:59:00 UTC)));
        assert_eq!(read("Dec 31 23:59:00", None), None);
        assert_eq!(read("Feb 30 23:59:00", Some(new_year)), None);
    }
}
