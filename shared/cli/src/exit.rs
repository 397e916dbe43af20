//! How the command ends: exit codes by outcome, and faults in words for a person.

use std::fmt;
use std::process::ExitCode;

use serde_json::Value;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    Success = 0,
    Failed = 1,
    Usage = 2,
    Fallback = 3,
    Refused = 4,
    Transport = 5,
    Interrupted = 130,
}

impl Exit {
    /// Of a run's terminal status; one that is unknown here is no success.
    pub fn of_status(status: &str) -> Self {
        match status {
            "SUCCESS" => Self::Success,
            "FALLBACK" => Self::Fallback,
            _ => Self::Failed,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// Why the command could not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    #[error("{0}")]
    Usage(String),
    /// The service said no, and why.
    #[error("{0}")]
    Refused(Box<Problem>),
    /// No readable answer.
    #[error("{text}")]
    Lost { text: String, how: Lost },
    #[error("the output can't be written: {0}")]
    Output(#[from] std::io::Error),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lost {
    /// Nothing was sent.
    Unreachable,
    /// Something may have been sent: the connection broke, or silence lasted too long.
    Broken,
    /// A server error that names no reason: the service itself did not decide it.
    Unexplained,
    /// The same again would fail the same way: TLS, or something else than the service answered.
    ForGood,
}

impl Fault {
    pub fn usage(text: impl Into<String>) -> Self {
        Self::Usage(text.into())
    }

    pub fn broken(text: impl Into<String>) -> Self {
        Self::Lost { text: text.into(), how: Lost::Broken }
    }

    pub fn unexplained(text: impl Into<String>) -> Self {
        Self::Lost { text: text.into(), how: Lost::Unexplained }
    }

    pub fn for_good(text: impl Into<String>) -> Self {
        Self::Lost { text: text.into(), how: Lost::ForGood }
    }

    pub fn exit(&self) -> Exit {
        match self {
            Self::Usage(_) => Exit::Usage,
            Self::Refused(_) => Exit::Refused,
            Self::Lost { .. } | Self::Output(_) => Exit::Transport,
        }
    }

    /// Whether the reader of our output has left: there is nobody to tell.
    pub fn is_closed_pipe(&self) -> bool {
        matches!(self, Self::Output(error) if error.kind() == std::io::ErrorKind::BrokenPipe)
    }
}

/// A refusal: an RFC 9457 document, or what a gateway in front of the service said instead.
#[derive(Debug, Clone, PartialEq)]
pub struct Problem {
    pub status: u16,
    pub code: String,
    pub detail: String,
    pub run_id: Option<String>,
    /// Seconds.
    pub retry_after: Option<u64>,
    /// As it came, for `--json`.
    pub document: Value,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "refused: {} ({}, HTTP {})", self.detail, self.code, self.status)?;
        if let Some(run_id) = &self.run_id {
            write!(f, "\n  the run it speaks of: superbiz runs {run_id}")?;
        }
        if let Some(seconds) = self.retry_after {
            write!(f, "\n  try again in {seconds} s")?;
        }
        match self.code.as_str() {
            "UNAUTHENTICATED" => {
                f.write_str("\n  set SUPERBIZ_API_KEY, or name a file that holds the key by --key-file")
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_outcome_has_its_exit_code() {
        for (status, code) in [("SUCCESS", 0), ("FALLBACK", 3), ("FAILED", 1), ("NEW_WORD", 1)] {
            assert_eq!(Exit::of_status(status) as u8, code, "{status}");
        }
        let problem = Problem {
            status: 429,
            code: "RATE_LIMITED".to_owned(),
            detail: "the limit is reached".to_owned(),
            run_id: Some("r1".to_owned()),
            retry_after: Some(7),
            document: Value::Null,
        };
        for (fault, code) in [
            (Fault::usage("x"), 2),
            (Fault::Refused(Box::new(problem.clone())), 4),
            (Fault::broken("x"), 5),
            (Fault::for_good("x"), 5),
        ] {
            assert_eq!(fault.exit() as u8, code, "{fault}");
        }
        assert_eq!(
            problem.to_string(),
            "refused: the limit is reached (RATE_LIMITED, HTTP 429)\n  the run it speaks of: superbiz runs r1\n  try again in 7 s"
        );
    }
}
