//! Search over the current corpus revision: one index per revision, built on first use, one build at a time.

use std::collections::HashSet;
use std::sync::Arc;

use agent::ports::{Chunk, CorpusRevision, DocumentSource, StoreError};
use domain::evidence::projection::KnowledgeHit;
use tokio::sync::Mutex;

use super::excerpt::excerpt;
use super::index::{Candidate, IndexError, KnowledgeIndex};
use super::relevance::{Question, is_relevant};
use super::vocabulary::{Vocabulary, Words};
use crate::blocking::{self, Lost, Stop};
use crate::redaction::Redactor;

/// Characters of one excerpt.
pub const MAX_EXCERPT_CHARS: usize = 1200;
/// Hits of one search.
pub const MAX_TOP_K: usize = 50;
/// Candidates looked at per wanted hit: some are below the floor, some repeat others.
const CANDIDATES_PER_HIT: usize = 4;
/// Two chunks that share this much of their words say the same.
const DUPLICATE_SHARE: f64 = 0.9;

/// Why a search gave no answer. The chain goes to the log only.
#[derive(Debug, thiserror::Error)]
pub enum SearchError {
    #[error("the runbooks can't be read")]
    Store(#[from] StoreError),
    #[error("the runbook index failed")]
    Index(#[from] IndexError),
    #[error("the runbook index was lost")]
    Lost(#[from] Lost),
}

/// What a search found.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// Best first; empty when nothing is relevant enough.
    pub hits: Vec<KnowledgeHit>,
    /// Hits left out because a better one says the same.
    pub duplicates: usize,
}

type Current = Option<(CorpusRevision, Arc<KnowledgeIndex>)>;

/// Searches runbooks. Shared by the tool, the search endpoint and the evaluation.
pub struct Searcher {
    source: Arc<dyn DocumentSource>,
    /// Held while an index is built, so that concurrent callers wait for the one build.
    current: Mutex<Current>,
}

impl Searcher {
    pub fn new(source: Arc<dyn DocumentSource>) -> Self {
        Self { source, current: Mutex::new(None) }
    }

    /// The best `top_k` (at most 50) excerpts for `query`, secrets masked.
    pub async fn search(
        &self,
        query: &str,
        top_k: usize,
        redactor: &mut Redactor,
    ) -> Result<Found, SearchError> {
        let question = Question::parse(query);
        let index = self.index().await?;
        let top_k = top_k.min(MAX_TOP_K);
        let candidates = index.best(&question, top_k * CANDIDATES_PER_HIT)?;
        let terms: HashSet<&str> = question.terms().into_iter().map(|(term, _)| term).collect();
        let mut found = Found { hits: Vec::new(), duplicates: 0 };
        let mut told: Vec<&Words> = Vec::new();
        let vocabulary = index.vocabulary();
        let mut relevant: Vec<Candidate<'_>> = candidates
            .into_iter()
            .filter(|candidate| is_relevant(&question, candidate.words, vocabulary))
            .collect();
        drop_empty_echoes(&mut relevant, &terms, vocabulary);
        for Candidate { chunk, score, words } in relevant {
            if found.hits.len() == top_k {
                break;
            }
            if told.iter().any(|other| other.likeness(words) >= DUPLICATE_SHARE) {
                found.duplicates += 1;
                continue;
            }
            told.push(words);
            found.hits.push(hit(chunk, score, &terms, redactor));
        }
        Ok(found)
    }

    /// The documents nearest to `query`, best first, whether or not they are relevant enough to be evidence: what the ranking itself
    /// is judged by.
    pub async fn ranked_documents(&self, query: &str, limit: usize) -> Result<Vec<String>, SearchError> {
        let index = self.index().await?;
        let mut documents: Vec<String> = Vec::new();
        for Candidate { chunk, .. } in
            index.best(&Question::parse(query), limit.saturating_mul(CANDIDATES_PER_HIT).max(MAX_TOP_K))?
        {
            if documents.len() < limit && !documents.contains(&chunk.document_id) {
                documents.push(chunk.document_id.clone());
            }
        }
        Ok(documents)
    }

    async fn index(&self) -> Result<Arc<KnowledgeIndex>, SearchError> {
        let wanted = self.source.revision().await?;
        let mut current = self.current.lock().await;
        if let Some((revision, index)) = &*current
            && *revision == wanted
        {
            return Ok(Arc::clone(index));
        }
        // The corpus may have moved on since `wanted` was read; what counts is the revision the chunks really
        // are of.
        let (revision, chunks) = self.source.chunks().await?;
        let index =
            Arc::new(blocking::run(&Stop::never(), move |stop| KnowledgeIndex::build(chunks, stop)).await??);
        *current = Some((revision, Arc::clone(&index)));
        Ok(index)
    }
}

/// A chunk that only its document's title and tags brought in says nothing that another chunk of it with the
/// searched words doesn't say better.
fn drop_empty_echoes(candidates: &mut Vec<Candidate<'_>>, terms: &HashSet<&str>, vocabulary: &Vocabulary) {
    let terms: Vec<u32> = terms.iter().filter_map(|term| vocabulary.number(term)).collect();
    let says = |candidate: &Candidate<'_>| terms.iter().any(|term| candidate.words.says(*term));
    let saying: HashSet<&str> =
        candidates.iter().filter(|c| says(c)).map(|c| c.chunk.document_id.as_str()).collect();
    candidates.retain(|candidate| says(candidate) || !saying.contains(candidate.chunk.document_id.as_str()));
}

fn hit(chunk: &Chunk, score: f32, terms: &HashSet<&str>, redactor: &mut Redactor) -> KnowledgeHit {
    let text = redactor.text(&chunk.text);
    KnowledgeHit {
        document_id: chunk.document_id.clone(),
        title: redactor.text(&chunk.title).into_owned(),
        version: chunk.version,
        section_path: redactor.text(&chunk.section_path).into_owned(),
        source: redactor.text(&chunk.source).into_owned(),
        updated_at: chunk.updated_at.clone(),
        // Three decimals are more than the score means.
        score: (f64::from(score) * 1000.0).round() / 1000.0,
        excerpt: excerpt(&text, terms, MAX_EXCERPT_CHARS),
    }
}
