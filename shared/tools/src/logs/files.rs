//! A folder of log files as a source: every `*.jsonl` and `*.log` file in it, read once per search from front
//! to back.

use std::fs::File;
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};

use async_trait::async_trait;
use time::OffsetDateTime;

use super::collect::Collector;
use super::level::Level;
use super::line::LogLine;
use super::reader;
use super::source::{LogSearch, LogSource, LogSourceError};
use crate::blocking::{self, Stop};

/// Lines between two looks at the stop signal.
const LINES_PER_CHECK: usize = 256;
const READ_BUFFER_BYTES: usize = 128 * 1024;

/// Log files in one folder (sub-folders aren't looked into). A line belongs to the service it names, or else
/// to the service its file is named after (`payment-gateway.jsonl`).
#[derive(Debug, Clone)]
pub struct FolderSource {
    name: String,
    description: String,
    folder: PathBuf,
    services: Vec<String>,
}

impl FolderSource {
    pub fn new(name: String, description: String, folder: PathBuf, services: Vec<String>) -> Self {
        Self { name, description, folder, services }
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
        _: &LogSearch,
        mut collector: Collector,
        stop: &Stop,
    ) -> Result<Collector, LogSourceError> {
        let folder = self.folder.clone();
        blocking::run(stop, move |stop| {
            for path in files(&folder)? {
                scan(&path, &mut collector, stop)?;
            }
            Ok(collector)
        })
        .await?
    }
}

fn unreadable(what: &'static str) -> impl Fn(io::Error) -> LogSourceError {
    move |error| LogSourceError::Unavailable { what, source: Box::new(error) }
}

/// The folder's log files, by name.
fn files(folder: &Path) -> Result<Vec<PathBuf>, LogSourceError> {
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(unreadable("its folder"))? {
        let path = entry.map_err(unreadable("its folder"))?.path();
        let extension = path.extension().and_then(|extension| extension.to_str());
        if matches!(extension, Some("jsonl" | "log")) && path.is_file() {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}

fn scan(path: &Path, collector: &mut Collector, stop: &Stop) -> Result<(), LogSourceError> {
    let file = File::open(path).map_err(unreadable("one of its files"))?;
    let mut input = BufReader::with_capacity(READ_BUFFER_BYTES, file);
    let file_service = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let mut previous = Previous { service: file_service.clone(), ..Previous::default() };
    let mut bytes = Vec::new();
    for number in 0.. {
        if number % LINES_PER_CHECK == 0 {
            stop.check()?;
        }
        if !reader::next_line(&mut input, &mut bytes).map_err(unreadable("one of its files"))? {
            break;
        }
        if bytes.trim_ascii().is_empty() {
            continue;
        }
        match LogLine::parse(&bytes) {
            Ok(line) => {
                let line = previous.complete(line, &file_service);
                collector.offer(&line);
            }
            Err(_) => collector.broken(),
        }
    }
    Ok(())
}

/// What a line inherits that doesn't say itself: continuation lines of a stack trace have no time of their
/// own.
#[derive(Debug, Default)]
struct Previous {
    timestamp: Option<OffsetDateTime>,
    level: Option<Level>,
    service: String,
}

impl Previous {
    fn complete<'a>(&mut self, mut line: LogLine<'a>, file_service: &str) -> LogLine<'a> {
        if line.timestamp.is_none() {
            line.timestamp = self.timestamp;
            line.level = line.level.or(self.level);
            if line.service.is_none() {
                line.service = Some(self.service.clone().into());
            }
        } else if line.service.is_none() {
            line.service = Some(file_service.to_owned().into());
        }
        self.timestamp = line.timestamp;
        self.level = line.level;
        if let Some(service) = line.service.as_deref().filter(|service| *service != self.service) {
            service.clone_into(&mut self.service);
        }
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_missing_folder_is_unavailable() {
        let source =
            FolderSource::new("a".into(), String::new(), "/nonexistent/logs".into(), vec!["s".into()]);
        assert!(matches!(files(&source.folder), Err(LogSourceError::Unavailable { what: "its folder", .. })));
    }

    #[test]
    fn only_log_files_are_read_in_the_order_of_their_names() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["b.jsonl", "a.log", "notes.txt", "c.jsonl.gz"] {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        std::fs::create_dir(folder.path().join("d.log")).unwrap();
        let names: Vec<_> =
            files(folder.path()).unwrap().iter().map(|p| p.file_name().unwrap().to_owned()).collect();
        assert_eq!(names, ["a.log", "b.jsonl"]);
    }
}
