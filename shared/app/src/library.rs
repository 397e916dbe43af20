//! The runbook library: documents read strictly, stored with their chunks, searched as the agent searches them.

use std::sync::Arc;

use agent::ports::documents::{
    DocumentStore, DocumentSummary, Expected, NewDocument, SavedDocument, StoredDocument,
};
use agent::ports::{Clock, StoreError};
use domain::evidence::projection::KnowledgeHit;
use serde::Deserialize;
use tools::knowledge::{DocumentFault, SearchError, Searcher, parse_document};
use tools::redaction::{Redactor, clean};

/// Bytes of a document's text.
pub const MAX_TEXT_BYTES: usize = 1024 * 1024;
const MAX_TITLE_CHARS: usize = 200;
const MAX_TAGS: usize = 32;
const MAX_TAG_CHARS: usize = 64;
const MAX_SOURCE_BYTES: usize = 2048;

/// A document as a client sends it; what it leaves out is taken from the text's front matter or first heading.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DocumentBody {
    pub text: String,
    #[serde(default)]
    pub title: Option<String>,
    #[serde(default)]
    pub tags: Option<Vec<String>>,
    #[serde(default)]
    pub source: Option<String>,
}

/// Why nothing was stored or found.
#[derive(Debug, thiserror::Error)]
pub enum LibraryFault {
    #[error("{0}")]
    Invalid(String),
    #[error("there is no such document")]
    NotFound,
    /// The document is not the version that the writer believes to replace.
    #[error("the document has changed")]
    Changed,
    #[error("the store of runbooks failed")]
    Store(#[source] StoreError),
    #[error("the search failed")]
    Search(#[from] SearchError),
}

impl From<StoreError> for LibraryFault {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Conflict { .. } => Self::Changed,
            StoreError::TooLarge { what, max_bytes, .. } => {
                Self::Invalid(format!("the {what} may have at most {max_bytes} bytes"))
            }
            error => Self::Store(error),
        }
    }
}

pub struct Library {
    store: Arc<dyn DocumentStore>,
    searcher: Searcher,
    clock: Arc<dyn Clock>,
}

/// What a search found.
pub struct SearchResult {
    pub hits: Vec<KnowledgeHit>,
    /// Hits left out because a better one says the same.
    pub duplicates: usize,
}

impl Library {
    pub fn new(store: Arc<dyn DocumentStore>, searcher: Searcher, clock: Arc<dyn Clock>) -> Self {
        Self { store, searcher, clock }
    }

    /// Stores a new version; the same content again stores nothing and returns the version there is.
    pub async fn put(
        &self,
        document_id: &str,
        body: DocumentBody,
        expected: Expected,
    ) -> Result<SavedDocument, LibraryFault> {
        let document = read(document_id, body)?;
        Ok(self.store.put(&document, expected, self.clock.now()).await?)
    }

    pub async fn get(&self, document_id: &str) -> Result<StoredDocument, LibraryFault> {
        self.store.get(document_id).await?.ok_or(LibraryFault::NotFound)
    }

    pub async fn remove(&self, document_id: &str, expected: Expected) -> Result<(), LibraryFault> {
        let removed = self.store.remove(document_id, expected, self.clock.now()).await?;
        if removed { Ok(()) } else { Err(LibraryFault::NotFound) }
    }

    /// One page by id, and the id to continue after.
    pub async fn list(
        &self,
        limit: u32,
        after: Option<&str>,
    ) -> Result<(Vec<DocumentSummary>, Option<String>), LibraryFault> {
        let mut page = self.store.list(limit.saturating_add(1), after).await?;
        let wanted = limit as usize;
        let more = page.len() > wanted;
        page.truncate(wanted);
        let next = page.last().filter(|_| more).map(|last| last.document_id.clone());
        Ok((page, next))
    }

    /// What `lookup_knowledge` would find.
    pub async fn search(&self, query: &str, top_k: usize) -> Result<SearchResult, LibraryFault> {
        let found = self.searcher.search(query, top_k, &mut Redactor::new()).await?;
        Ok(SearchResult { hits: found.hits, duplicates: found.duplicates })
    }
}

/// `[A-Za-z0-9_-]{1,64}`.
pub fn is_document_id(text: &str) -> bool {
    (1..=64).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-".contains(&b))
}

fn read(document_id: &str, body: DocumentBody) -> Result<NewDocument, LibraryFault> {
    let invalid = |what: String| Err(LibraryFault::Invalid(what));
    if body.text.len() > MAX_TEXT_BYTES {
        return invalid(format!("text has {} bytes; at most {MAX_TEXT_BYTES} are kept", body.text.len()));
    }
    let parsed = parse_document(&body.text)
        .map_err(|fault: DocumentFault| LibraryFault::Invalid(fault.to_string()))?;
    let mut document = parsed.into_new_document(document_id.to_owned(), body.text);
    if let Some(title) = body.title {
        document.title = clean(&title).trim().to_owned();
    }
    if document.title.is_empty() || document.title.chars().count() > MAX_TITLE_CHARS {
        return invalid(format!("title must have 1 to {MAX_TITLE_CHARS} characters"));
    }
    if let Some(tags) = body.tags {
        document.tags = tags.iter().map(|tag| clean(tag).trim().to_owned()).collect();
    }
    let tag_fits = |tag: &String| (1..=MAX_TAG_CHARS).contains(&tag.chars().count());
    if document.tags.len() > MAX_TAGS || !document.tags.iter().all(tag_fits) {
        return invalid(format!("tags must be at most {MAX_TAGS}, each of 1 to {MAX_TAG_CHARS} characters"));
    }
    if let Some(source) = body.source {
        document.source = source.trim().to_owned();
    }
    if !is_source(&document.source) {
        return invalid(format!("source must be an http or https URL of at most {MAX_SOURCE_BYTES} bytes"));
    }
    Ok(document)
}

/// Nothing, or an address that a page may link to.
fn is_source(source: &str) -> bool {
    let url = || {
        url::Url::parse(source).is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
    };
    source.is_empty() || (source.len() <= MAX_SOURCE_BYTES && url())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(json: &str) -> Result<NewDocument, String> {
        let body: DocumentBody = serde_json::from_str(json).map_err(|e| e.to_string())?;
        read("d1", body).map_err(|e| e.to_string())
    }

    #[test]
    fn what_the_body_leaves_out_comes_from_the_text() {
        let document = body(
            r#"{"text":"---\ntags: [pay]\nsource: https://wiki.example/1\n---\n# Timeouts\nRetry once."}"#,
        )
        .unwrap();
        assert_eq!(
            (document.title.as_str(), document.tags.as_slice()),
            ("Timeouts", &["pay".to_owned()][..])
        );
        let named = body(
            r##"{"text":"# Timeouts\nRetry.","title":"Payment","tags":["a"],"source":"http://w.example"}"##,
        )
        .unwrap();
        assert_eq!((named.title.as_str(), named.source.as_str()), ("Payment", "http://w.example"));
    }

    #[test]
    fn bad_documents_are_refused_with_what_would_be_right() {
        let long = "x".repeat(201);
        for (json, hint) in [
            (r#"{"text":""}"#.to_owned(), "no text"),
            (r#"{}"#.to_owned(), "missing field `text`"),
            (r#"{"text":"a","body":"b"}"#.to_owned(), "unknown field `body`"),
            (format!(r#"{{"text":"a","title":"{long}"}}"#), "title must have 1 to 200 characters"),
            (r#"{"text":"a","title":" \u0000 "}"#.to_owned(), "title must have"),
            (r#"{"text":"a","tags":[""]}"#.to_owned(), "tags must be at most 32"),
            (r#"{"text":"a","source":"javascript:alert(1)"}"#.to_owned(), "http or https URL"),
            (r#"{"text":"---\nsource: data:text/html,x\n---\na"}"#.to_owned(), "http or https URL"),
            (format!(r#"{{"text":"{}"}}"#, "x".repeat(MAX_TEXT_BYTES + 1)), "at most 1048576 are kept"),
        ] {
            let refused = body(&json).unwrap_err();
            assert!(refused.contains(hint), "{hint}: {refused}");
        }
    }

    #[test]
    fn ids_are_plain() {
        assert!(is_document_id("pay_timeout-1"));
        for id in ["", "a b", "a/b", "..", "ä", &"x".repeat(65)] {
            assert!(!is_document_id(id), "{id}");
        }
    }
}
