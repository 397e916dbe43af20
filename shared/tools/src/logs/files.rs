//! A folder of log files as a source: JSON lines and plain text, rotated and compressed, sub-folders included; read once per
//! search from front to back.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use async_trait::async_trait;
use flate2::bufread::MultiGzDecoder;
use time::OffsetDateTime;

use super::collect::Collector;
use super::reader;
use super::record::Records;
use super::source::{LogSearch, LogSource, LogSourceError};
use crate::blocking::{self, Stop};

/// Lines between two looks at the stop signal.
const LINES_PER_CHECK: usize = 256;
const READ_BUFFER_BYTES: usize = 128 * 1024;
/// Folders below the source's.
const MAX_DEPTH: usize = 4;
/// Files of one source.
const MAX_FILES: usize = 10_000;

/// Log files in a folder. A line belongs to the service it names, or else to the service that its file or the file's folder is
/// named after (`payment-gateway.jsonl`, `payment-gateway/app.log.1.gz`).
#[derive(Debug, Clone)]
pub struct FolderSource {
    name: String,
    description: String,
    folder: PathBuf,
    services: Vec<String>,
    /// What was learnt of files that have not changed since.
    known: Arc<Mutex<HashMap<PathBuf, Known>>>,
}

/// A file as it was when it was read to its end.
#[derive(Debug, Clone, Copy)]
struct Known {
    bytes: u64,
    modified: SystemTime,
    /// The earliest and the latest time in it, if every one of its lines has one.
    times: Option<(OffsetDateTime, OffsetDateTime)>,
}

impl FolderSource {
    pub fn new(name: String, description: String, folder: PathBuf, services: Vec<String>) -> Self {
        Self { name, description, folder, services, known: Arc::default() }
    }
}

#[async_trait]
impl LogSource for FolderSource {
    fn name(&self) -> &str {
        &self.name
    }

    fn description(&self) -> &str {
        &self.description
    }

    fn services(&self) -> &[String] {
        &self.services
    }

    async fn search(
        &self,
        search: &LogSearch,
        mut collector: Collector,
        stop: &Stop,
    ) -> Result<Collector, LogSourceError> {
        let (source, search) = (self.clone(), search.clone());
        blocking::run(stop, move |stop| {
            for path in files(&source.folder)? {
                source.scan(&path, &search, &mut collector, stop)?;
            }
            Ok(collector)
        })
        .await?
    }
}

impl FolderSource {
    fn scan(
        &self,
        path: &Path,
        search: &LogSearch,
        collector: &mut Collector,
        stop: &Stop,
    ) -> Result<(), LogSourceError> {
        let unreadable = unreadable("one of its files");
        let file = File::open(path).map_err(&unreadable)?;
        let facts =
            file.metadata().and_then(|facts| Ok((facts.len(), facts.modified()?))).map_err(&unreadable)?;
        if let Some(times) = self.known_times(path, facts)
            && (times.1 < search.window.before().0 || times.0 >= search.window.end)
        {
            collector.skipped_file(times);
            return Ok(());
        }
        let service = self.service_of(path);
        let mut records = Records::new(service, search.window.end);
        let buffered = BufReader::with_capacity(READ_BUFFER_BYTES, file);
        let complete = if path.extension().is_some_and(|extension| extension == "gz") {
            let mut input = BufReader::with_capacity(READ_BUFFER_BYTES, MultiGzDecoder::new(buffered));
            match read(&mut input, &mut records, collector, stop) {
                // What could be unpacked was read; that there was more is said.
                Err(LogSourceError::Unavailable { .. }) => {
                    collector.torn_file();
                    false
                }
                other => other.map(|()| true)?,
            }
        } else {
            let mut input = buffered;
            read(&mut input, &mut records, collector, stop)?;
            true
        };
        if complete {
            let known = Known { bytes: facts.0, modified: facts.1, times: records.times() };
            self.known.lock().unwrap_or_else(PoisonError::into_inner).insert(path.to_owned(), known);
        }
        Ok(())
    }

    /// The times of a file that is as it was when they were found.
    fn known_times(
        &self,
        path: &Path,
        (bytes, modified): (u64, SystemTime),
    ) -> Option<(OffsetDateTime, OffsetDateTime)> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(path).filter(|known| known.bytes == bytes && known.modified == modified)?.times
    }

    /// The configured service that the file, or the nearest folder above it, is named after; else the file's own name.
    fn service_of(&self, path: &Path) -> String {
        let below = path.strip_prefix(&self.folder).unwrap_or(path);
        let names: Vec<String> = below.iter().map(|part| part.to_string_lossy().into_owned()).collect();
        let stem = names.last().map(|name| stem(name).to_owned()).unwrap_or_default();
        let mut candidates = vec![stem.clone()];
        candidates.extend(names.into_iter().rev().skip(1));
        let configured =
            |name: &String| self.services.iter().find(|service| service.eq_ignore_ascii_case(name));
        candidates.iter().find_map(configured).cloned().unwrap_or(stem)
    }
}

fn read(
    input: &mut impl BufRead,
    records: &mut Records,
    collector: &mut Collector,
    stop: &Stop,
) -> Result<(), LogSourceError> {
    let mut bytes = Vec::new();
    let mut read = || -> Result<(), LogSourceError> {
        for number in 0.. {
            if number % LINES_PER_CHECK == 0 {
                stop.check()?;
            }
            if !reader::next_line(input, &mut bytes).map_err(unreadable("one of its files"))? {
                break;
            }
            records.line(&bytes, collector);
        }
        Ok(())
    };
    let done = read();
    records.end(collector);
    done
}

fn unreadable(what: &'static str) -> impl Fn(io::Error) -> LogSourceError {
    move |error| LogSourceError::Unavailable { what, source: Box::new(error) }
}

/// The log files in the folder and below it, by name.
fn files(folder: &Path) -> Result<Vec<PathBuf>, LogSourceError> {
    let mut paths = Vec::new();
    let mut folders = vec![(folder.to_owned(), 0)];
    while let Some((folder, depth)) = folders.pop() {
        for entry in std::fs::read_dir(folder).map_err(unreadable("its folder"))? {
            let entry = entry.map_err(unreadable("its folder"))?;
            let (path, kind) = (entry.path(), entry.file_type().map_err(unreadable("its folder"))?);
            // Links are followed for files only: a link to a folder may lead in circles.
            if kind.is_dir() && depth < MAX_DEPTH {
                folders.push((path, depth + 1));
            } else if is_log(&entry.file_name().to_string_lossy()) && path.is_file() {
                paths.push(path);
            }
        }
        if paths.len() > MAX_FILES {
            let many = io::Error::other(format!("more than {MAX_FILES} files"));
            return Err(unreadable("its folder")(many));
        }
    }
    paths.sort();
    Ok(paths)
}

const EXTENSIONS: [&str; 6] = ["jsonl", "ndjson", "json", "log", "txt", "out"];

/// `app.log`, `app.log.1`, `app.log.2026-11-30.gz`, `app-2026-11-30.jsonl.gz`.
fn is_log(name: &str) -> bool {
    let name = name.strip_suffix(".gz").unwrap_or(name);
    let mut parts = name.split('.').skip(1).peekable();
    let hidden = name.starts_with('.');
    !hidden
        && parts.any(|part| EXTENSIONS.contains(&part))
        && parts.all(|part| !part.is_empty() && part.starts_with(|c: char| c.is_ascii_digit()))
}

/// A file's name without its extensions and what rotation added.
fn stem(name: &str) -> &str {
    let name = name.split('.').next().unwrap_or(name);
    let date = name.trim_end_matches(|c: char| c.is_ascii_digit() || matches!(c, '-' | '_'));
    // `node-7.log` is named so; `node-2026-11-30.log` was rotated.
    if name.len() - date.len() >= 8 && !date.is_empty() { date } else { name }
}

#[cfg(test)]
#[path = "files_tests.rs"]
mod tests;
