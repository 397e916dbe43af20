//! What surrounds the client: the service's address, the key, and what the terminal can show.

use std::io::IsTerminal;
use std::path::Path;

use crate::args::Cli;
use crate::exit::Fault;

const DEFAULT_URL: &str = "http://127.0.0.1:9000";
/// Columns where there is no terminal to measure, and the least that text is wrapped to.
const DEFAULT_WIDTH: usize = 100;
const MIN_WIDTH: usize = 30;
/// Bytes of a key file at most: a key is one line.
const MAX_KEY_FILE: u64 = 4096;

/// The address; a variable that is set to nothing says nothing.
pub fn url(told: Option<String>) -> String {
    told.filter(|url| !url.trim().is_empty()).unwrap_or_else(|| DEFAULT_URL.to_owned())
}

/// The API key from the file, or else from the environment.
pub fn key(file: Option<&Path>, told: Option<String>) -> Result<Option<String>, Fault> {
    let Some(file) = file else {
        return Ok(told.map(|key| key.trim().to_owned()).filter(|key| !key.is_empty()));
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

/// Columns of the terminal that shows standard output, unless `told` says so.
pub fn width(told: Option<&str>) -> usize {
    let told = told.and_then(|columns| columns.trim().parse().ok());
    told.or_else(measured).unwrap_or(DEFAULT_WIDTH).max(MIN_WIDTH)
}

#[cfg(unix)]
fn measured() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(std::io::stdout()).ok()?;
    Some(usize::from(size.ws_col)).filter(|columns| *columns > 0)
}

#[cfg(not(unix))]
fn measured() -> Option<usize> {
    None
}

/// Whether a stream takes colours.
pub fn colours(stream: &impl IsTerminal, cli: &Cli) -> bool {
    stream.is_terminal() && !cli.no_color && cli.surroundings.term.as_deref() != Some("dumb")
}
