//! Lines that are kept: cut to size, and only the newest few of a pattern.

use domain::evidence::projection::LogEvent;
use time::OffsetDateTime;

use super::instant;
use super::level::Level;
use super::line::LogLine;

/// Bytes of a message that are kept.
pub const MAX_MESSAGE_BYTES: usize = 2048;
/// Newest lines kept of each pattern.
const MAX_NEWEST: usize = 4;

/// A kept line.
#[derive(Debug, Clone)]
pub struct Kept {
    pub at: OffsetDateTime,
    pub level: Option<Level>,
    pub service: String,
    pub message: String,
    pub trace_id: Option<String>,
}

impl Kept {
    pub fn new(at: OffsetDateTime, service: &str, line: &LogLine<'_>) -> Self {
        Self {
            at,
            level: line.level,
            service: service.to_owned(),
            message: cut(&line.message, MAX_MESSAGE_BYTES),
            trace_id: line.trace_id.as_deref().map(|id| cut(id, 128)),
        }
    }

    pub fn event(&self) -> LogEvent {
        LogEvent {
            timestamp: instant::show(self.at),
            level: self.level.map(|level| level.as_str().to_owned()),
            service: self.service.clone(),
            message: self.message.clone(),
            trace_id: self.trace_id.clone(),
        }
    }
}

/// The newest lines of one pattern, newest first; of two at the same instant the one read first.
#[derive(Debug, Default)]
pub struct Newest(Vec<Kept>);

impl Newest {
    /// Keeps what `line` makes when it is among the newest. The closure spares a copy of every older line.
    pub fn offer(&mut self, at: OffsetDateTime, line: impl FnOnce() -> Kept) {
        let place = self.0.partition_point(|kept| kept.at >= at);
        if place < MAX_NEWEST {
            self.0.insert(place, line());
            self.0.truncate(MAX_NEWEST);
        }
    }

    pub fn get(&self, n: usize) -> Option<&Kept> {
        self.0.get(n)
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }
}

/// At most `max` bytes of `text`, cut at a character and marked. Of a stack trace the last cause is kept too:
/// it names what really happened.
pub fn cut(text: &str, max: usize) -> String {
    const MARK: &str = " … ";
    if text.len() <= max {
        return text.to_owned();
    }
    let cause = text.rfind("Caused by:").map(|at| text[at..].lines().next().unwrap_or_default());
    let tail = cause.map_or("", |cause| &cause[..cause.floor_char_boundary(max / 2)]);
    let head = text.floor_char_boundary(max.saturating_sub(tail.len() + MARK.len()));
    // A cause within the head is already there.
    if tail.is_empty() || text[..head].contains(tail) {
        format!("{} …", &text[..text.floor_char_boundary(max.saturating_sub(4))])
    } else {
        format!("{}{MARK}{tail}", &text[..head])
    }
}

#[cfg(test)]
mod tests {
    use time::macros::datetime;

    use super::*;

    #[test]
    fn only_the_newest_are_kept_whatever_the_order() {
        let mut newest = Newest::default();
        for second in [5, 1, 9, 3, 7, 9] {
            let at = datetime!(2026-11-30 06:00 UTC) + time::Duration::seconds(second);
            newest.offer(at, || Kept::new(at, "s", &LogLine::default()));
        }
        let seconds: Vec<u8> = newest.0.iter().map(|kept| kept.at.second()).collect();
        assert_eq!(seconds, [9, 9, 7, 5]);
    }

    #[test]
    fn a_cut_is_marked_and_keeps_the_cause() {
        assert_eq!(cut("short", 10), "short");
        assert_eq!(cut("支付渠道超时处理", 16), "支付渠道 …");
        let trace = format!("Boom\n{}Caused by: pool exhausted\n\tat x", "\tat a.b(C.java:1)\n".repeat(50));
        let text = cut(&trace, 120);
        assert!(
            text.len() <= 120 && text.starts_with("Boom\n") && text.ends_with("… Caused by: pool exhausted"),
            "{text}"
        );
    }
}
