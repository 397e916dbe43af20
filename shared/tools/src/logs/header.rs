//! What stands in front of a plain log line's message: time, level, thread, process, component, in the orders that loggers write
//! them. Read from the left, one part at a time, until something is none of these.

use std::sync::LazyLock;

use regex::Regex;
use time::OffsetDateTime;

use super::level::Level;
use super::timestamp::{self, Form};

/// A line's front, and where its message begins.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Header {
    pub timestamp: Option<OffsetDateTime>,
    pub level: Option<Level>,
    /// Bytes in front of the message.
    pub length: usize,
}

/// Parts of one header at most.
const MAX_PARTS: usize = 14;
/// Bytes of a bracketed part.
const MAX_BRACKET: usize = 160;

/// The file that a collector put in front.
static FILE: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"^[A-Za-z0-9._-]*\.log[A-Za-z0-9._:-]*\s").ok());

impl Header {
    /// Reads the front of `line`. A time without a year is of the year that brings it next to `around`, else it is none.
    pub fn parse(line: &str, around: Option<OffsetDateTime>) -> Self {
        let mut parts = Parts {
            line,
            around,
            at: 0,
            found: Self::default(),
            timed: false,
            component: false,
            host: false,
        };
        if let Some(file) = FILE.as_ref().and_then(|pattern| pattern.find(line)) {
            parts.at = file.end();
        }
        for _ in 0..MAX_PARTS {
            parts.skip_separators();
            if !parts.part() {
                break;
            }
        }
        parts.skip_separators();
        let started = parts.timed || parts.found.level.is_some();
        let mut found = parts.found;
        // A line that is all header shows as it is.
        found.length = if started && !line[parts.at..].trim().is_empty() { parts.at } else { 0 };
        if found.timestamp.is_some() && found.level.is_none() {
            found.level = level_near(line);
        }
        if found.timestamp.is_none() {
            found.timestamp = timestamp::of_access(line);
        }
        found
    }
}

/// A word within prose isn't a level: only what stands near the front, in capitals, is.
fn level_near(line: &str) -> Option<Level> {
    line.split_whitespace()
        .take(5)
        .map(|word| word.trim_matches(|c: char| !c.is_ascii_alphanumeric()))
        .filter(|word| word.len() > 2 && word.bytes().all(|b| b.is_ascii_uppercase()))
        .find_map(Level::parse)
}

struct Parts<'l> {
    line: &'l str,
    around: Option<OffsetDateTime>,
    at: usize,
    found: Header,
    timed: bool,
    component: bool,
    /// Syslog names the host after the time.
    host: bool,
}

impl<'l> Parts<'l> {
    fn rest(&self) -> &'l str {
        &self.line[self.at..]
    }

    /// `-`, `---`, `|` and `:` between parts, once there was one.
    fn skip_separators(&mut self) {
        loop {
            let rest = self.rest();
            let trimmed = rest.trim_start();
            self.at += rest.len() - trimmed.len();
            let started = self.timed || self.found.level.is_some();
            let sign =
                if started { trimmed.split(char::is_whitespace).next().unwrap_or_default() } else { "" };
            match sign {
                "-" | "--" | "---" | "|" | ":" | "–" => self.at += sign.len(),
                _ if started && trimmed.starts_with('|') => self.at += 1,
                _ => return,
            }
        }
    }

    fn part(&mut self) -> bool {
        self.time() || self.level() || self.bracket() || self.number() || self.syslog() || self.component()
    }

    fn time(&mut self) -> bool {
        if self.timed {
            return false;
        }
        let (open, text) = match self.rest().strip_prefix('[') {
            Some(inner) => (1, inner),
            None => (0, self.rest()),
        };
        let Some(found) = timestamp::leading(text) else { return false };
        self.found.timestamp = found.instant(self.around);
        self.host = found.form == Form::Syslog;
        if found.form == Form::Klog {
            self.found.level = Level::parse(&text[..1]);
        }
        let after = &text[found.text.len()..];
        let close = if open == 1 && after.starts_with(']') { 1 } else { usize::from(after.starts_with(',')) };
        self.timed = true;
        self.at += open + found.text.len() + close;
        true
    }

    /// `INFO`, `[error]`, `<Warning>`, `INFO:`; a single letter only after a time.
    fn level(&mut self) -> bool {
        if self.found.level.is_some() {
            return false;
        }
        let rest = self.rest();
        let token = rest.split(|c: char| c.is_whitespace() || c == '|').next().unwrap_or_default();
        let plain = token.trim_end_matches([':', ',']);
        let inner = plain.trim_matches(['[', ']', '<', '>', '(', ')', '*']);
        let bracketed = inner.len() < plain.len();
        let capitals = inner.len() > 2 && inner.bytes().all(|b| b.is_ascii_uppercase());
        let word =
            matches!(inner, "Info" | "Warning" | "Error" | "Debug" | "info" | "warn" | "error" | "debug");
        let letter = inner.len() == 1 && inner.bytes().all(|b| b.is_ascii_uppercase()) && self.timed;
        let scoped = inner.rsplit_once(':').map_or(inner, |(_, level)| level);
        let level =
            if bracketed || capitals || letter || (word && self.timed) { Level::parse(scoped) } else { None };
        let Some(level) = level else { return false };
        self.found.level = Some(level);
        self.at += token.len();
        true
    }

    /// A thread, a request's id or a context in brackets.
    fn bracket(&mut self) -> bool {
        let rest = self.rest();
        if !(self.timed || self.found.level.is_some()) || !rest.starts_with('[') {
            return false;
        }
        let mut depth = 0;
        for (i, b) in rest.bytes().take(MAX_BRACKET).enumerate() {
            match b {
                b'[' => depth += 1,
                b']' => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                let inner = &rest[1..i];
                if self.found.level.is_none() {
                    self.found.level = Level::parse(inner);
                }
                self.at += i + 1;
                return true;
            }
        }
        false
    }

    /// Process and thread numbers: before the level, or where a sign follows that parts them from the message.
    fn number(&mut self) -> bool {
        if !self.timed {
            return false;
        }
        let token = self.rest().split(|c: char| c.is_whitespace() || c == '|').next().unwrap_or_default();
        let digits = token.trim_end_matches(':');
        let number = !digits.is_empty()
            && digits.bytes().all(|b| b.is_ascii_digit() || b == b'#')
            && digits.as_bytes()[0].is_ascii_digit();
        let connection =
            token.strip_prefix('*').is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()));
        let after = self.rest()[token.len()..].trim_start();
        let parted = self.found.level.is_none() && !self.host
            || digits.contains('#')
            || after.starts_with("---")
            || after.starts_with('[');
        if !(connection || (number && parted && !after.is_empty())) {
            return false;
        }
        self.at += token.len();
        true
    }

    /// `host program[12]:` after a syslog time.
    fn syslog(&mut self) -> bool {
        if !self.host {
            return false;
        }
        self.host = false;
        let rest = self.rest();
        let mut words = rest.split_inclusive(' ');
        let (Some(host), Some(program)) = (words.next(), words.next()) else { return false };
        let colon = |word: &str| word.trim_end().ends_with(':');
        if colon(host) {
            self.at += host.len();
        } else if colon(program) {
            self.at += host.len() + program.len();
        } else {
            // A program may have spaces in its name; the colon is near then.
            let Some(end) = rest[..rest.floor_char_boundary(80)].find(": ") else { return false };
            self.at += end + 1;
        }
        self.component = true;
        true
    }

    /// A logger's name: dotted or in humps, followed by a colon, a dash or a bracket.
    fn component(&mut self) -> bool {
        if self.component || self.found.level.is_none() || !self.timed {
            return false;
        }
        let rest = self.rest();
        let token = rest.split(|c: char| c.is_whitespace() || c == '|').next().unwrap_or_default();
        let after = rest[token.len()..].trim_start();
        let name = token.trim_end_matches(':');
        let plain = !name.is_empty()
            && name.starts_with(|c: char| c.is_ascii_alphabetic())
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"._$@/()-".contains(&b));
        let dotted = name.contains(['.', '$']) && !name.ends_with('.') && !name.contains("()");
        let humps = name
            .bytes()
            .zip(name.bytes().skip(1))
            .any(|(a, b)| a.is_ascii_lowercase() && b.is_ascii_uppercase());
        let colon = token.len() > name.len();
        let parted = after.starts_with(": ")
            || after.starts_with("- ")
            || after.starts_with('[')
            || after.starts_with('|');
        let named = dotted || humps;
        if !(plain && named && (colon || parted)) {
            return false;
        }
        self.component = true;
        self.at += token.len();
        true
    }
}

#[cfg(test)]
mod tests {
    use time::macros::datetime;

    use super::*;

    const AT: OffsetDateTime = datetime!(2026-11-30 06:05:00 UTC);

    #[test]
    fn the_fronts_of_common_loggers_are_read() {
        let (info, error, warn) = (Some(Level::Info), Some(Level::Error), Some(Level::Warn));
        let table = [
            (
                "261130 060500 148 INFO dfs.DataNode$PacketResponder: PacketResponder 1 ends",
                true,
                info,
                "PacketResponder 1 ends",
            ),
            (
                "2026-11-30 06:05:00,000 INFO [main] org.apache.hadoop.mapred.MapTask: kept 3",
                true,
                info,
                "kept 3",
            ),
            (
                "2026-11-30 06:05:00,000 - WARN  [QuorumPeer[myid=1]/0:0:0:0:0:0:0:0:2181:Fast@774] - Notification 3",
                true,
                warn,
                "Notification 3",
            ),
            ("26/11/30 06:05:00 ERROR executor.Executor: boom", true, error, "boom"),
            (
                "nova-api.log.1.2026-05-16_13:53:08 2026-11-30 06:05:00.000 25746 INFO nova.wsgi.server [req-1 - - -] 10.1.1.1 \"GET /\"",
                true,
                info,
                "10.1.1.1 \"GET /\"",
            ),
            ("Nov 30 06:05:00 web1 sshd[24200]: Failed password", true, None, "Failed password"),
            ("Nov 30 06:05:00 combo sshd(pam_unix)[19939]: check pass", true, None, "check pass"),
            ("[Mon Nov 30 06:05:00 2026] [error] mod_jk child 6", true, error, "mod_jk child 6"),
            (
                "2026-11-30 06:05:00.000  INFO 12345 --- [nio-8080-exec-1] c.e.shop.OrderService : Order 7 created",
                true,
                info,
                "Order 7 created",
            ),
            ("2026/11/30 06:05:00 [error] 31#31: *123 connect() failed", true, error, "connect() failed"),
            (
                "203.0.113.9 - - [30/Nov/2026:14:05:00 +0800] \"GET / HTTP/1.1\" 200 5",
                true,
                None,
                "203.0.113.9 - - [30/Nov/2026:14:05:00 +0800] \"GET / HTTP/1.1\" 200 5",
            ),
            (
                "11-30 06:05:00.000  1702  2395 D WindowManager: printFreezingDisplayLogs",
                true,
                Some(Level::Debug),
                "printFreezingDisplayLogs",
            ),
            ("I1130 06:05:00.000000       1 server.go:42] ready", true, info, "1 server.go:42] ready"),
            ("2026-11-30T06:05:00Z ERROR Failed: no space", true, error, "Failed: no space"),
            ("1796018700 started", true, None, "started"),
            (
                "20261130-6:5:0:606|Step_LSC|30002312|onStandStepChanged 3579",
                false,
                None,
                "Step_LSC|30002312|onStandStepChanged 3579",
            ),
            ("[2026-11-30 06:05:00,000] WARN 支付超时", true, warn, "支付超时"),
            ("WARN login failed", false, warn, "login failed"),
            (
                "\tat shop.Checkout.confirm(Checkout.java:120) error",
                false,
                None,
                "\tat shop.Checkout.confirm(Checkout.java:120) error",
            ),
            ("no header here: ERROR", false, None, "no header here: ERROR"),
        ];
        for (line, timed, level, message) in table {
            let header = Header::parse(line, Some(AT));
            assert_eq!(header.timestamp, timed.then_some(AT), "{line}");
            assert_eq!((header.level, &line[header.length..]), (level, message), "{line}");
        }
        assert!(FILE.is_some());
    }

    proptest::proptest! {
        #[test]
        fn any_line_is_survived(line in "\\PC{0,120}|[0-9:\\[\\]/ .,TZ|-]{0,60}") {
            let header = Header::parse(&line, Some(AT));
            proptest::prop_assert!(line.is_char_boundary(header.length));
        }
    }
}
