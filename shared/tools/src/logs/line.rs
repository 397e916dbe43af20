//! One log line, read from JSON in the field names that loggers use, or from plain text.

use std::borrow::Cow;
use std::fmt;

use serde::Deserializer;
use serde::de::{IgnoredAny, MapAccess, SeqAccess, Visitor};
use time::OffsetDateTime;

use super::header::Header;
use super::instant;
use super::level::Level;

/// Fields beyond the known ones that are kept for the text filter.
const MAX_OTHERS: usize = 16;

/// A line as a source offers it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LogLine<'a> {
    pub timestamp: Option<OffsetDateTime>,
    pub level: Option<Level>,
    pub service: Option<Cow<'a, str>>,
    pub message: Cow<'a, str>,
    pub trace_id: Option<Cow<'a, str>>,
    /// Bytes of the message that are no part of what happened: time, level and logger of a plain line.
    pub header: usize,
    /// Texts of further fields: searched, not shown.
    pub others: Vec<Cow<'a, str>>,
}

/// A line that starts like JSON and isn't.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the line is broken JSON")]
pub struct BrokenLine;

impl<'a> LogLine<'a> {
    /// Reads one line: a JSON object, or plain text that may begin with a time, a level and more.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, BrokenLine> {
        Self::parse_near(bytes, None)
    }

    /// Reads one line; a time without a year is of the year that brings it next to `around`.
    pub fn parse_near(bytes: &'a [u8], around: Option<OffsetDateTime>) -> Result<Self, BrokenLine> {
        if bytes.trim_ascii_start().first() == Some(&b'{') {
            Self::from_json(bytes)
        } else {
            Ok(Self::from_text(String::from_utf8_lossy(bytes), around))
        }
    }

    /// Everything that the text filter looks at.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        [
            Some(self.message.as_ref()),
            self.trace_id.as_deref(),
            self.level.map(Level::as_str),
            self.service.as_deref(),
        ]
        .into_iter()
        .flatten()
        .chain(self.others.iter().map(Cow::as_ref))
    }

    fn from_json(bytes: &'a [u8]) -> Result<Self, BrokenLine> {
        let mut reader = serde_json::Deserializer::from_slice(bytes);
        let mut line = reader.deserialize_map(LineVisitor).map_err(|_| BrokenLine)?;
        reader.end().map_err(|_| BrokenLine)?;
        if line.message.is_empty() {
            // A structured event without a message field is its own message.
            line.message = String::from_utf8_lossy(bytes.trim_ascii());
        }
        Ok(line)
    }

    fn from_text(text: Cow<'a, str>, around: Option<OffsetDateTime>) -> Self {
        let Header { timestamp, level, length } = Header::parse(&text, around);
        Self { timestamp, level, message: text, header: length, ..Self::default() }
    }

    /// The message without its front, which is what kinds of lines are told apart by.
    pub fn body(&self) -> &str {
        self.message.get(self.header..).unwrap_or(&self.message)
    }

    fn take(&mut self, name: &str, value: Scalar<'a>) {
        match name {
            "timestamp" | "@timestamp" | "time" | "ts" if self.timestamp.is_none() => {
                self.timestamp = value.instant()
            }
            "level" | "severity" | "lvl" | "log.level" if self.level.is_none() => self.level = value.level(),
            "service" | "service_name" | "service.name" | "app" if self.service.is_none() => {
                self.service = value.text()
            }
            "message" | "msg" | "log" if self.message.is_empty() => {
                self.message = value.text().unwrap_or_default()
            }
            "trace_id" | "traceId" | "trace.id" | "traceid" if self.trace_id.is_none() => {
                self.trace_id = value.text()
            }
            _ if self.others.len() < MAX_OTHERS => self.others.extend(value.text()),
            _ => {}
        }
    }
}

struct LineVisitor;

impl<'de> Visitor<'de> for LineVisitor {
    type Value = LogLine<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Self::Value, A::Error> {
        let mut line = LogLine::default();
        while let Some(name) = fields.next_key::<Name<'de>>()? {
            let value = fields.next_value::<Scalar<'de>>()?;
            line.take(&name.0, value);
        }
        Ok(line)
    }
}

/// A field name, borrowed where it holds no escape.
struct Name<'a>(Cow<'a, str>);

impl<'de> serde::Deserialize<'de> for Name<'de> {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        match Scalar::deserialize(reader)? {
            Scalar::Text(text) => Ok(Self(text)),
            _ => Ok(Self(Cow::Borrowed(""))),
        }
    }
}

/// A field's value as far as a log line needs it; what is nested is passed over.
#[derive(Debug, Clone)]
enum Scalar<'a> {
    Text(Cow<'a, str>),
    Whole(i64),
    Fraction(f64),
    Nothing,
}

impl<'a> Scalar<'a> {
    fn text(self) -> Option<Cow<'a, str>> {
        match self {
            Self::Text(text) => Some(text),
            Self::Whole(number) => Some(number.to_string().into()),
            Self::Fraction(number) => Some(number.to_string().into()),
            Self::Nothing => None,
        }
    }

    fn instant(&self) -> Option<OffsetDateTime> {
        match self {
            Self::Text(text) => instant::parse(text).map(|found| found.at),
            Self::Whole(number) => instant::from_epoch(*number as f64),
            Self::Fraction(number) => instant::from_epoch(*number),
            Self::Nothing => None,
        }
    }

    fn level(&self) -> Option<Level> {
        match self {
            Self::Text(text) => Level::parse(text),
            Self::Whole(number) => Level::from_number(*number),
            Self::Fraction(_) | Self::Nothing => None,
        }
    }
}

impl<'de> serde::Deserialize<'de> for Scalar<'de> {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        reader.deserialize_any(ScalarVisitor)
    }
}

struct ScalarVisitor;

impl<'de> Visitor<'de> for ScalarVisitor {
    type Value = Scalar<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Scalar::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Scalar::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Self::Value, E> {
        Ok(Scalar::Whole(number))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Self::Value, E> {
        Ok(i64::try_from(number).map_or(Scalar::Fraction(number as f64), Scalar::Whole))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Self::Value, E> {
        Ok(Scalar::Fraction(number))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok(Scalar::Nothing)
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Scalar::Nothing)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Self::Value, A::Error> {
        while fields.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Scalar::Nothing)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
        while entries.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Scalar::Nothing)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use time::macros::datetime;

    use super::*;

    const AT: OffsetDateTime = datetime!(2026-11-30 06:05:00 UTC);

    #[test]
    fn field_names_of_several_loggers_are_known() {
        for json in [
            r#"{"timestamp":"2026-11-30T06:05:00Z","level":"ERROR","service":"a","message":"m","trace_id":"t","pod":"p"}"#,
            r#"{"time":1796018700000,"level":50,"app":"a","msg":"m","traceId":"t","pod":"p","nested":{"x":[1,{}]}}"#,
            r#"{"@timestamp":"2026-11-30 06:05:00,000","severity":"err","service.name":"a","log":"m","trace.id":"t","up":true,"pod":"p"}"#,
        ] {
            let line = LogLine::parse(json.as_bytes()).unwrap();
            assert_eq!((line.timestamp, line.level), (Some(AT), Some(Level::Error)), "{json}");
            assert_eq!(
                (line.service.as_deref(), line.message.as_ref(), line.trace_id.as_deref()),
                (Some("a"), "m", Some("t"))
            );
            assert_eq!(line.others, ["p"]);
        }
    }

    #[test]
    fn the_first_of_two_names_counts_and_no_message_shows_the_line() {
        let line = LogLine::parse(br#"{"message":"a","msg":"b","message":"c"}"#).unwrap();
        assert_eq!(line.message, "a");
        assert_eq!(LogLine::parse(br#" {"event":"x"} "#).unwrap().message, r#"{"event":"x"}"#);
    }

    #[test]
    fn plain_lines_may_begin_with_time_and_level() {
        let line = LogLine::parse("[2026-11-30 06:05:00,000] WARN 支付超时".as_bytes()).unwrap();
        assert_eq!((line.timestamp, line.level), (Some(AT), Some(Level::Warn)));
        let line = LogLine::parse(b"2026-11-30T06:05:00Z main [ERROR] boom").unwrap();
        assert_eq!((line.timestamp, line.level), (Some(AT), Some(Level::Error)));
        let line = LogLine::parse(b"\tat shop.Checkout.confirm(Checkout.java:120) error").unwrap();
        assert_eq!((line.timestamp, line.level), (None, None));
    }

    #[test]
    fn broken_json_is_an_error() {
        for json in [r#"{"message":"a"#, r#"{"a":1}}"#, "{", "{\"m\":\"\u{1}\"}"] {
            assert_eq!(LogLine::parse(json.as_bytes()), Err(BrokenLine), "{json}");
        }
        assert_eq!(LogLine::parse(b"{\"message\":\"\xff\"}"), Err(BrokenLine));
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = LogLine::parse(&bytes);
            let mut json = b"{".to_vec();
            json.extend(&bytes);
            let _ = LogLine::parse(&json);
        }
    }
}
