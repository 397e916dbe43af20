//! `cases retrieval --documents FILE --top-k K`: questions against a corpus, through the chunks, index and ranking of
//! `lookup_knowledge`. FILE has `{"id","title","text"}` a line.

use std::path::Path;
use std::sync::Arc;

use agent::ports::{Chunk, CorpusRevision, DocumentSource, StoreError};
use anyhow::Context;
use serde::Deserialize;
use serde_json::{Value, json};
use tools::knowledge::{Searcher, parse_document};
use tools::redaction::Redactor;

use super::Judge;

/// Chunks looked at for one question: several may be of one document.
const MAX_HITS: usize = 50;

#[derive(Deserialize)]
struct Document {
    id: String,
    #[serde(default)]
    title: String,
    text: String,
}

struct Corpus(Vec<Chunk>);

#[async_trait::async_trait]
impl DocumentSource for Corpus {
    async fn revision(&self) -> Result<CorpusRevision, StoreError> {
        Ok(CorpusRevision("1".to_owned()))
    }

    async fn chunks(&self) -> Result<(CorpusRevision, Vec<Chunk>), StoreError> {
        Ok((CorpusRevision("1".to_owned()), self.0.clone()))
    }
}

pub fn judge(options: &[String]) -> anyhow::Result<Judge> {
    let option = |name: &str| options.iter().position(|o| o == name).and_then(|i| options.get(i + 1));
    let file = option("--documents").context("cases retrieval needs --documents FILE")?;
    let top_k =
        option("--top-k").map_or(Ok(10), |text| text.parse::<usize>()).context("--top-k must be a number")?;
    let searcher = Searcher::new(Arc::new(Corpus(chunks(Path::new(file))?)));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    Ok(Box::new(move |case| {
        let query = case.get("query").and_then(Value::as_str).context("query must be a string")?;
        // What the agent would be shown comes first; what is below its floor of relevance follows in the order of the ranking.
        let found = runtime.block_on(searcher.search(query, MAX_HITS, &mut Redactor::new()))?;
        let nearest = runtime.block_on(searcher.ranked_documents(query, top_k))?;
        let mut ranked: Vec<String> = Vec::new();
        for id in found.hits.into_iter().map(|hit| hit.document_id).chain(nearest) {
            if !ranked.contains(&id) && ranked.len() < top_k {
                ranked.push(id);
            }
        }
        Ok(json!({ "ranked": ranked }))
    }))
}

fn chunks(file: &Path) -> anyhow::Result<Vec<Chunk>> {
    let text = std::fs::read_to_string(file).with_context(|| file.display().to_string())?;
    let mut chunks = Vec::new();
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let document: Document =
            serde_json::from_str(line).with_context(|| format!("line {}", number + 1))?;
        let parsed = parse_document(&document.text).with_context(|| format!("document {}", document.id))?;
        let title = if document.title.trim().is_empty() { parsed.title } else { document.title };
        for (ordinal, (section_path, text)) in parsed.chunks.into_iter().enumerate() {
            chunks.push(Chunk {
                document_id: document.id.clone(),
                version: 1,
                ordinal: u32::try_from(ordinal)?,
                title: title.clone(),
                tags: parsed.tags.clone(),
                section_path,
                source: parsed.source.clone(),
                updated_at: "2026-01-01T00:00:00Z".to_owned(),
                text,
            });
        }
    }
    Ok(chunks)
}
