//! Severity of a log line, in one order for every spelling.

/// Severity; later is worse.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    Trace,
    Debug,
    Info,
    Warn,
    Error,
    Fatal,
}

impl Level {
    pub const ALL: [Self; 6] = [Self::Trace, Self::Debug, Self::Info, Self::Warn, Self::Error, Self::Fatal];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Trace => "TRACE",
            Self::Debug => "DEBUG",
            Self::Info => "INFO",
            Self::Warn => "WARN",
            Self::Error => "ERROR",
            Self::Fatal => "FATAL",
        }
    }

    /// Reads what loggers write, in any case.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let is = |names: &[&str]| names.iter().any(|name| text.eq_ignore_ascii_case(name));
        if is(&["INFO", "INFORMATION", "NOTICE", "I"]) {
            Some(Self::Info)
        } else if is(&["WARN", "WARNING", "W"]) {
            Some(Self::Warn)
        } else if is(&["ERROR", "ERR", "SEVERE", "E"]) {
            Some(Self::Error)
        } else if is(&["DEBUG", "FINE", "D"]) {
            Some(Self::Debug)
        } else if is(&["FATAL", "CRITICAL", "CRIT", "ALERT", "EMERG", "EMERGENCY", "PANIC", "F"]) {
            Some(Self::Fatal)
        } else if is(&["TRACE", "VERBOSE", "FINER", "FINEST", "T"]) {
            Some(Self::Trace)
        } else {
            None
        }
    }

    /// Reads the numbers that some JSON loggers write: 10 for trace up to 60 for fatal.
    pub fn from_number(number: i64) -> Option<Self> {
        match number {
            10..=19 => Some(Self::Trace),
            20..=29 => Some(Self::Debug),
            30..=39 => Some(Self::Info),
            40..=49 => Some(Self::Warn),
            50..=59 => Some(Self::Error),
            60..=69 => Some(Self::Fatal),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_has_its_place() {
        let table = [
            ("warning", Level::Warn),
            ("ERR", Level::Error),
            ("Critical", Level::Fatal),
            (" info ", Level::Info),
            ("notice", Level::Info),
            ("TRACE", Level::Trace),
            ("debug", Level::Debug),
            ("SEVERE", Level::Error),
        ];
        for (text, level) in table {
            assert_eq!(Level::parse(text), Some(level), "{text}");
        }
        for text in ["", "LOUD", "错误", "WARNINGS"] {
            assert_eq!(Level::parse(text), None, "{text}");
        }
        assert_eq!((Level::from_number(50), Level::from_number(5)), (Some(Level::Error), None));
        assert!(Level::ALL.is_sorted(), "minimum severity compares by this order");
    }
}
