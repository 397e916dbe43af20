//! The client's only reader of the environment: address, key, and what the terminal can show.

use std::io::IsTerminal;
use std::path::Path;

use terminal_size::{Width, terminal_size_of};

use crate::exit::Fault;

const DEFAULT_URL: &str = "http://127.0.0.1:9000";
/// Columns where there is no terminal to measure, and the least that text is wrapped to.
const DEFAULT_WIDTH: usize = 100;
const MIN_WIDTH: usize = 30;
/// Bytes of a key file at most: a key is one line.
const MAX_KEY_FILE: u64 = 4096;

#[expect(clippy::disallowed_methods, reason = "the client has no app::config; this module is its like")]
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.trim().is_empty())
}

pub fn url(argument: Option<String>) -> String {
    argument.or_else(|| variable("SUPERBIZ_URL")).unwrap_or_else(|| DEFAULT_URL.to_owned())
}

/// The API key from the file, or else from the environment.
pub fn key(file: Option<&Path>) -> Result<Option<String>, Fault> {
    let Some(file) = file else {
        return Ok(variable("SUPERBIZ_API_KEY").map(|key| key.trim().to_owned()));
    };
    let shown = file.display();
    let unreadable = |error| Fault::usage(format!("the key file {shown} can't be read: {error}"));
    if std::fs::metadata(file).map_err(unreadable)?.len() > MAX_KEY_FILE {
        return Err(Fault::usage(format!("the key file {shown} is too long to hold one key")));
    }
    let key = std::fs::read_to_string(file).map_err(unreadable)?.trim().to_owned();
    if key.is_empty() {
        return Err(Fault::usage(format!("the key file {shown} is empty")));
    }
    Ok(Some(key))
}

/// Columns of the terminal that shows standard output.
pub fn width() -> usize {
    let told = variable("COLUMNS").and_then(|columns| columns.trim().parse().ok());
    let measured = || terminal_size_of(std::io::stdout()).map(|(Width(columns), _)| usize::from(columns));
    told.or_else(measured).unwrap_or(DEFAULT_WIDTH).max(MIN_WIDTH)
}

/// Whether a stream takes colours.
pub fn colours(stream: &impl IsTerminal) -> bool {
    stream.is_terminal() && variable("NO_COLOR").is_none() && variable("TERM").as_deref() != Some("dumb")
}
