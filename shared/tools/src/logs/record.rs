//! Lines put together to records: what a stack trace's lines say belongs to the line before them.

use time::OffsetDateTime;

use super::collect::Collector;
use super::header::Header;
use super::level::Level;
use super::line::LogLine;

/// Bytes of a record, continuation lines included; the rest is cut and said.
const MAX_RECORD_BYTES: usize = 32 * 1024;
/// Bytes in which a front is looked for.
const FRONT_BYTES: usize = 300;
const CUT: &str = "\n… (more lines)";

/// Makes records of the lines of one file and offers them.
pub struct Records {
    service: String,
    around: OffsetDateTime,
    /// The record that may still continue; empty when there is none.
    pending: Vec<u8>,
    /// Whether that record begins as its logger begins records.
    pending_front: bool,
    cut: bool,
    /// Time and level for lines that have none and nothing to continue.
    timestamp: Option<OffsetDateTime>,
    level: Option<Level>,
    times: Option<(OffsetDateTime, OffsetDateTime)>,
    timeless: bool,
}

impl Records {
    /// `service` is that of lines that name none; `around` gives a year to times without one.
    pub fn new(service: String, around: OffsetDateTime) -> Self {
        Self {
            service,
            around,
            pending: Vec::new(),
            pending_front: false,
            cut: false,
            timestamp: None,
            level: None,
            times: None,
            timeless: false,
        }
    }

    /// Takes the file's next line.
    pub fn line(&mut self, bytes: &[u8], collector: &mut Collector) {
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        if bytes.trim_ascii().is_empty() {
            return;
        }
        let front = self.has_front(bytes);
        if !self.pending.is_empty() && self.continues(bytes, front) {
            if self.pending.len() + bytes.len() < MAX_RECORD_BYTES {
                self.pending.push(b'\n');
                self.pending.extend_from_slice(bytes);
            } else {
                self.cut = true;
            }
            return;
        }
        self.end(collector);
        self.pending.extend_from_slice(bytes);
        self.pending_front = front;
    }

    /// Offers the last record.
    pub fn end(&mut self, collector: &mut Collector) {
        let mut record = std::mem::take(&mut self.pending);
        if record.is_empty() {
            return;
        }
        if std::mem::take(&mut self.cut) {
            record.extend_from_slice(CUT.as_bytes());
        }
        self.offer(&record, collector);
        record.clear();
        self.pending = record;
    }

    /// Whether a line begins like a record: with a brace, or with a time or level.
    fn has_front(&self, bytes: &[u8]) -> bool {
        if is_json(bytes) {
            return true;
        }
        if bytes.first().is_some_and(u8::is_ascii_whitespace) {
            return false;
        }
        let front = String::from_utf8_lossy(&bytes[..bytes.len().min(FRONT_BYTES)]);
        let header = Header::parse(&front, Some(self.around));
        header.timestamp.is_some() || header.length > 0
    }

    /// Whether a line goes on with the pending record. Without a front of its own it is part of what a logger wrote before it, in
    /// whatever language the stack trace is; a file without any fronts is a file of single lines.
    fn continues(&self, bytes: &[u8], front: bool) -> bool {
        let indented = bytes.first().is_some_and(|b| matches!(b, b' ' | b'\t'));
        !front && (self.pending_front || indented)
    }

    fn offer(&mut self, bytes: &[u8], collector: &mut Collector) {
        let (head, rest) = if is_json(bytes) { split_line(bytes) } else { (bytes, &[][..]) };
        let Ok(mut line) = LogLine::parse_near(head, Some(self.around)) else {
            collector.broken();
            return;
        };
        if !rest.is_empty() {
            // A trace that a program printed below its JSON line.
            line.message = format!("{}\n{}", line.message, String::from_utf8_lossy(rest)).into();
        }
        if line.timestamp.is_none() {
            line.timestamp = self.timestamp;
            line.level = line.level.or(self.level);
        }
        if line.service.is_none() {
            line.service = Some(self.service.as_str().into());
        }
        match line.timestamp {
            Some(at) => {
                let (first, last) = self.times.unwrap_or((at, at));
                self.times = Some((first.min(at), last.max(at)));
            }
            None => self.timeless = true,
        }
        self.timestamp = line.timestamp;
        self.level = line.level;
        collector.offer(&line);
    }

    /// The earliest and the latest time, if every record has one.
    pub fn times(&self) -> Option<(OffsetDateTime, OffsetDateTime)> {
        self.times.filter(|_| !self.timeless)
    }
}

fn is_json(bytes: &[u8]) -> bool {
    bytes.trim_ascii_start().first() == Some(&b'{')
}

fn split_line(bytes: &[u8]) -> (&[u8], &[u8]) {
    match bytes.iter().position(|b| *b == b'\n') {
        Some(end) => (&bytes[..end], &bytes[end + 1..]),
        None => (bytes, &[]),
    }
}
