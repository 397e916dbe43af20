//! Everything the functions wrote to stdout and stderr, line by line, for as long as the emulator lives.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::bail;
use tokio::sync::watch;

/// Where a line came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogStream {
    Stdout,
    Stderr,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogLine {
    pub function: String,
    pub pid: u32,
    pub stream: LogStream,
    /// Without its line end; bytes that are not UTF-8 are replaced.
    pub text: String,
}

/// A growing list of log lines; clones share it.
#[derive(Debug, Clone)]
pub struct LogBuffer {
    lines: Arc<Mutex<Vec<LogLine>>>,
    count: watch::Sender<usize>,
}

impl LogBuffer {
    pub(super) fn new() -> Self {
        Self { lines: Arc::default(), count: watch::Sender::new(0) }
    }

    pub(super) fn push(&self, line: LogLine) {
        let count = {
            let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
            lines.push(line);
            lines.len()
        };
        self.count.send_replace(count);
    }

    pub fn lines(&self) -> Vec<LogLine> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// All lines of all functions, joined with line feeds, in the order they arrived.
    pub fn text(&self) -> String {
        let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        lines.iter().map(|line| line.text.as_str()).collect::<Vec<_>>().join("\n")
    }

    /// The first line that contains `needle`, also one that was written before.
    ///
    /// # Errors
    /// When none came `within` that time; the message holds the whole log.
    pub async fn wait_for(&self, needle: &str, within: Duration) -> anyhow::Result<LogLine> {
        let mut count = self.count.subscribe();
        let search = async {
            loop {
                count.borrow_and_update();
                let found = {
                    let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
                    lines.iter().find(|line| line.text.contains(needle)).cloned()
                };
                match found {
                    Some(line) => return Some(line),
                    None => count.changed().await.ok()?,
                }
            }
        };
        match tokio::time::timeout(within, search).await {
            Ok(Some(line)) => Ok(line),
            _ => bail!("no log line contains {needle:?} after {within:?}; the log is:\n{}", self.text()),
        }
    }
}
