//! Lines that are kept: cut to size, and only the newest few of a pattern.

use domain::evidence::projection::LogEvent;
use time::OffsetDateTime;

use super::instant;
use super::level::Level;
use super::line::LogLine;
use crate::redaction::Redactor;

/// Bytes of a message that are kept.
pub const MAX_MESSAGE_BYTES: usize = 2048;
const MAX_TRACE_ID_BYTES: usize = 128;
const MARK: &str = " … ";
const CAUSE: &str = "Caused by:";
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
            message: keep(&line.message, MAX_MESSAGE_BYTES),
            trace_id: line.trace_id.as_deref().map(|id| keep(id, MAX_TRACE_ID_BYTES)),
        }
    }

    /// As it may be stored and shown: everything that the source wrote is cleaned and masked.
    pub fn event(&self, redactor: &mut Redactor) -> LogEvent {
        LogEvent {
            timestamp: instant::show(self.at),
            level: self.level.map(|level| level.as_str().to_owned()),
            service: self.service.clone(),
            message: redactor.text(&self.message).into_owned(),
            trace_id: self.trace_id.as_deref().map(|id| redactor.text(id).into_owned()),
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

/// As [`cut`], for a text that is masked only after this: what was cut off must not leave the beginning of a secret behind, which
/// nothing would recognise any more. So each cut goes back to a word's beginning, over numbers that are written in groups.
pub fn keep(text: &str, max: usize) -> String {
    if text.len() <= max {
        return text.to_owned();
    }
    let cause = text.rfind(CAUSE).map(|at| text[at..].lines().next().unwrap_or_default());
    let tail = cause.map_or("", |cause| whole_words(cause, max / 2));
    let head = whole_words(text, max.saturating_sub(tail.len() + MARK.len()));
    if tail.is_empty() || head.contains(tail) { format!("{head} …") } else { format!("{head}{MARK}{tail}") }
}

/// The beginning of `text` in at most `max` bytes, without the word that the cut goes through. A word as long as all that is kept
/// goes whole: half of a secret of that length is as bad.
fn whole_words(text: &str, max: usize) -> &str {
    if text.len() <= max {
        return text;
    }
    let head = &text[..text.floor_char_boundary(max)];
    if text[head.len()..].starts_with(char::is_whitespace) && !head.ends_with(|c: char| c.is_ascii_digit()) {
        return head;
    }
    let words = head.rfind(char::is_whitespace).map_or("", |at| &head[..at]);
    words.trim_end_matches(|c: char| c.is_whitespace() || c.is_ascii_digit() || "+-.()".contains(c))
}

/// At most `max` bytes of `text`, cut at a character and marked. Of a stack trace the last cause is kept too:
/// it names what really happened.
pub fn cut(text: &str, max: usize) -> String {
    if text.len() <= max {
        return text.to_owned();
    }
    let cause = text.rfind(CAUSE).map(|at| text[at..].lines().next().unwrap_or_default());
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

    /// Wherever a text is cut, what is kept of it shows no part of a secret once it is masked.
    #[test]
    fn no_cut_leaves_a_part_of_a_secret() {
        for secret in [
            "tom.becker@example.org",
            "4111 1111 1111 1111",
            "+86 138 1234 5678",
            "AKIAIOSFODNN7EXAMPLE",
            "password=correct-horse-battery",
            "Authorization: Bearer abcdef0123456789abcdef",
            "mysql://shop:hunter2secret@db.internal/orders",
        ] {
            let plain = crate::redaction::redact(&format!("the call said {secret} and went on"));
            for max in 60..140 {
                let text =
                    format!("{} the call said {secret} and went on {}", "x".repeat(50), "word ".repeat(400));
                let kept = crate::redaction::redact(&keep(&text, max));
                assert!(kept.len() <= max + 32, "{max}: {kept}");
                for part in secret.split([' ', ':', '/', '@', '=']).filter(|part| part.len() > 3) {
                    assert!(!kept.contains(part) || plain.contains(part), "{max}: {kept}");
                }
            }
        }
        let huge = format!("FATAL {}", "A".repeat(10_000));
        assert_eq!(keep(&huge, 2048), "FATAL …");
        let trace = format!("Boom\n{}Caused by: pool exhausted\n\tat x", "\tat a.b(C.java:1)\n".repeat(50));
        assert!(keep(&trace, 120).ends_with("… Caused by: pool exhausted"), "{}", keep(&trace, 120));
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
