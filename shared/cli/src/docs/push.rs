//! `docs push`: what is stored becomes what the files say, and nothing else is touched.

use std::collections::BTreeMap;
use std::path::Path;

use reqwest::Method;
use serde_json::{Value, json};

use super::{all, at, files};
use crate::args::Push;
use crate::client::Api;
use crate::exit::{Exit, Fault};
use crate::fields::{number, text};
use crate::plain::one_line;
use crate::screen::Screen;

/// What became of one runbook.
#[derive(Debug, PartialEq, Eq)]
enum Done {
    Added,
    Changed,
    Same,
    Removed,
    Refused(String),
}

impl Done {
    fn word(&self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Changed => "changed",
            Self::Same => "same",
            Self::Removed => "removed",
            Self::Refused(_) => "refused",
        }
    }
}

pub async fn run(api: &Api, wanted: &Push, screen: Screen) -> Result<Exit, Fault> {
    let prefix = wanted.prefix.as_deref().unwrap_or_default();
    if wanted.delete_missing && prefix.is_empty() {
        return Err(Fault::usage("--delete-missing needs a --prefix that is not empty"));
    }
    let files = files::collect(&wanted.paths, prefix)?;
    let stored: BTreeMap<String, u64> = all(api)
        .await?
        .iter()
        .map(|document| (text(document, "id").to_owned(), number(document, "version")))
        .collect();
    let mut outcomes: Vec<(String, Done)> = Vec::new();
    for (id, file) in &files {
        let done = one(api, id, file, stored.contains_key(id)).await?;
        tell(screen, id, &done)?;
        outcomes.push((id.clone(), done));
    }
    let refused = outcomes.iter().any(|(_, done)| matches!(done, Done::Refused(_)));
    if wanted.delete_missing && refused {
        screen.note("nothing was removed, because not every file was stored");
    } else if wanted.delete_missing {
        let missing = stored.iter().filter(|(id, _)| id.starts_with(prefix) && !files.contains_key(*id));
        for (id, version) in missing {
            let condition = Some(("if-match", format!("\"{version}\"")));
            let removed = api.send_if(Method::DELETE, at(api, id), condition, None).await;
            let done = done_or_refused(removed.map(|_| Done::Removed))?;
            tell(screen, id, &done)?;
            outcomes.push((id.clone(), done));
        }
    }
    finish(screen, &outcomes)
}

/// Stores one file's text where it differs from what is stored, and only over the version that it was compared with.
async fn one(api: &Api, id: &str, file: &Path, exists: bool) -> Result<Done, Fault> {
    let text = match std::fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) => return Ok(Done::Refused(format!("{} can't be read: {error}", file.display()))),
    };
    let stored = if exists { found(api.get(at(api, id)).await) } else { Ok(None) };
    let (condition, done) = match stored {
        Ok(Some(document)) if document.get("text").and_then(Value::as_str) == Some(text.as_str()) => {
            return Ok(Done::Same);
        }
        Ok(Some(document)) => (("if-match", format!("\"{}\"", number(&document, "version"))), Done::Changed),
        Ok(None) => (("if-none-match", "*".to_owned()), Done::Added),
        Err(fault) => return done_or_refused(Err(fault)),
    };
    // Title, tags and source are in the text's front matter or first heading; the service reads them there.
    let put = api.send_if(Method::PUT, at(api, id), Some(condition), Some(&json!({ "text": text }))).await;
    done_or_refused(put.map(|_| done))
}

/// Nothing, if it was removed since the list was read.
fn found(document: Result<Value, Fault>) -> Result<Option<Value>, Fault> {
    match document {
        Err(Fault::Refused(problem)) if problem.status == 404 => Ok(None),
        document => document.map(Some),
    }
}

/// A refusal of one file is told, and the others are tried; a refusal of the caller ends it.
fn done_or_refused(result: Result<Done, Fault>) -> Result<Done, Fault> {
    match result {
        Err(Fault::Refused(problem)) if !matches!(problem.status, 401 | 403 | 429 | 503) => {
            Ok(Done::Refused(format!("{} ({})", problem.detail, problem.code)))
        }
        result => result,
    }
}

fn tell(screen: Screen, id: &str, done: &Done) -> Result<(), Fault> {
    if screen.json {
        return Ok(());
    }
    let why = match done {
        Done::Refused(why) => format!(": {}", one_line(why)),
        _ => String::new(),
    };
    screen.print(&format!("{:<8} {}{why}\n", done.word(), one_line(id)))
}

fn finish(screen: Screen, outcomes: &[(String, Done)]) -> Result<Exit, Fault> {
    if screen.json {
        let entry = |(id, done): &(String, Done)| match done {
            Done::Refused(why) => json!({ "id": id, "result": done.word(), "detail": why }),
            _ => json!({ "id": id, "result": done.word() }),
        };
        screen.document(&json!({ "documents": outcomes.iter().map(entry).collect::<Vec<_>>() }))?;
    } else {
        screen.note(&summary(outcomes));
    }
    let refused = outcomes.iter().any(|(_, done)| matches!(done, Done::Refused(_)));
    Ok(if refused { Exit::Refused } else { Exit::Success })
}

/// `2 added, 1 same`
fn summary(outcomes: &[(String, Done)]) -> String {
    let words = ["added", "changed", "same", "removed", "refused"];
    let count = |word: &str| outcomes.iter().filter(|(_, done)| done.word() == word).count();
    let counts = words.into_iter().map(|word| (count(word), word)).filter(|(count, _)| *count > 0);
    counts.map(|(count, word)| format!("{count} {word}")).collect::<Vec<_>>().join(", ")
}
