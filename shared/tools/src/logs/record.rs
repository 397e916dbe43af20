//! Lines put together to records: what a stack trace's lines say belongs to the line before them.

use time::OffsetDateTime;

use super::collect::Collector;
use super::level::Level;
use super::line::LogLine;

/// Bytes of a record, continuation lines included; the rest is cut and said.
const MAX_RECORD_BYTES: usize = 32 * 1024;
const CUT: &str = "\n… (more lines)";

/// Makes records of the lines of one file and offers them.
pub struct Records {
    service: String,
    around: OffsetDateTime,
    /// The record that may still continue; empty when there is none.
    pending: Vec<u8>,
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
        if !self.pending.is_empty() && self.continues(bytes) {
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

    /// Whether a line goes on with the pending record: it is plain text that begins like no record. Without a front of its own it is
    /// part of what a logger wrote before it, in whatever language the stack trace is.
    fn continues(&self, bytes: &[u8]) -> bool {
        let opens = |bytes: &[u8]| bytes.trim_ascii_start().first() == Some(&b'{');
        if bytes.first().is_some_and(|b| matches!(b, b' ' | b'\t')) {
            return !opens(bytes) || !opens(&self.pending);
        }
        if opens(bytes) {
            return false;
        }
        let has_front = |bytes: &[u8]| {
            let front = &bytes[..bytes.len().min(300)];
            LogLine::parse_near(front, Some(self.around))
                .is_ok_and(|line| line.timestamp.is_some() || line.header > 0)
        };
        // A file without any fronts is a file of single lines.
        !has_front(bytes) && (opens(&self.pending) || has_front(first_line(&self.pending)))
    }

    fn offer(&mut self, bytes: &[u8], collector: &mut Collector) {
        let json = bytes.trim_ascii_start().first() == Some(&b'{');
        let (head, rest) = if json { split_line(bytes) } else { (bytes, &[][..]) };
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

fn first_line(bytes: &[u8]) -> &[u8] {
    split_line(bytes).0
}

fn split_line(bytes: &[u8]) -> (&[u8], &[u8]) {
    match bytes.iter().position(|b| *b == b'\n') {
        Some(end) => (&bytes[..end], &bytes[end + 1..]),
        None => (bytes, &[]),
    }
}
