//! Runbooks as the knowledge tool reads them: chunks of the current version of each document, and a revision to cache by.

use async_trait::async_trait;

use super::StoreError;

/// Changes whenever any document does; two equal revisions mean the same chunks.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CorpusRevision(pub String);

/// One searchable piece of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    pub document_id: String,
    pub version: u32,
    /// Position within the document, from 0.
    pub ordinal: u32,
    pub title: String,
    pub tags: Vec<String>,
    /// Headings from the top, joined by ` > `.
    pub section_path: String,
    pub source: String,
    /// RFC 3339, UTC.
    pub updated_at: String,
    pub text: String,
}

#[async_trait]
pub trait DocumentSource: Send + Sync {
    /// One cheap read.
    async fn revision(&self) -> Result<CorpusRevision, StoreError>;

    /// All chunks of one consistent revision, in a stable order.
    async fn chunks(&self) -> Result<(CorpusRevision, Vec<Chunk>), StoreError>;
}

/// A document to be stored; its chunks are made by the knowledge tool's chunker so that both sides agree on what a chunk is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewDocument {
    pub document_id: String,
    pub title: String,
    pub tags: Vec<String>,
    pub source: String,
    pub content: String,
    /// `(section_path, text)` in order.
    pub chunks: Vec<(String, String)>,
}

#[async_trait]
pub trait DocumentStore: DocumentSource {
    /// Stores a new version and its chunks in one transaction and returns what is stored: a search sees the old or the new one,
    /// never half. Content equal to the current version's stores nothing and returns the current version.
    ///
    /// # Errors
    /// `Conflict` if the document is not what `expected` says.
    async fn put(
        &self,
        document: &NewDocument,
        expected: Expected,
        at: time::OffsetDateTime,
    ) -> Result<SavedDocument, StoreError>;

    /// Removes the document from search; returns whether there was one. Its version is never used again.
    ///
    /// # Errors
    /// `Conflict` if there is one, but not what `expected` says.
    async fn remove(
        &self,
        document_id: &str,
        expected: Expected,
        at: time::OffsetDateTime,
    ) -> Result<bool, StoreError>;

    /// The current version.
    async fn get(&self, document_id: &str) -> Result<Option<StoredDocument>, StoreError>;

    /// At most `limit` documents with an id after `after`, by id, without their texts.
    async fn list(&self, limit: u32, after: Option<&str>) -> Result<Vec<DocumentSummary>, StoreError>;
}

/// What a writer believes to replace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expected {
    Anything,
    Absent,
    Version(u32),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentSummary {
    pub document_id: String,
    pub version: u32,
    pub title: String,
    pub tags: Vec<String>,
    pub source: String,
    /// RFC 3339, UTC.
    pub updated_at: String,
    /// Of the text.
    pub bytes: u64,
}

/// What is stored after a `put`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SavedDocument {
    pub summary: DocumentSummary,
    /// There was none before, or it had been removed.
    pub created: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredDocument {
    pub summary: DocumentSummary,
    pub content: String,
}
