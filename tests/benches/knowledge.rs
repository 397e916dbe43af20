//! 10,000 chunks of runbooks: building the index, and one question of it. Prints the figures and adds them to `target/bench.json`.

use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use agent::ports::{Chunk, CorpusRevision, DocumentSource, StoreError};
use anyhow::Context;
use serde_json::{Value, json};
use tools::knowledge::{Searcher, parse_document};
use tools::redaction::Redactor;

const CHUNKS: usize = 10_000;
const QUESTIONS: usize = 200;

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

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let chunks = corpus()?;
    let bytes: usize = chunks.iter().map(|chunk| chunk.text.len()).sum();
    let searcher = Searcher::new(Arc::new(Corpus(chunks)));
    let started = Instant::now();
    searcher.search("first question", 4, &mut Redactor::new()).await?;
    let build = started.elapsed().as_secs_f64();
    let asked = [
        "支付超时怎么办",
        "connection pool exhausted",
        "TLS certificate rotation",
        "Kafka 消费积压",
        "redis failover 7",
    ];
    let mut times = Vec::new();
    for n in 0..QUESTIONS {
        let started = Instant::now();
        searcher.search(asked[n % asked.len()], 4, &mut Redactor::new()).await?;
        times.push(started.elapsed().as_secs_f64() * 1000.0);
    }
    times.sort_by(f64::total_cmp);
    let figures = json!({
        "chunks": CHUNKS, "bytes": bytes, "build_seconds": build, "chunks_per_second": (CHUNKS as f64 / build).round(),
        "query_ms": { "p50": times.get(QUESTIONS / 2), "p99": times.get(QUESTIONS * 99 / 100) },
    });
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/bench.json");
    let mut report: Value = std::fs::read(&path)
        .ok()
        .and_then(|bytes| serde_json::from_slice(&bytes).ok())
        .unwrap_or_else(|| json!({}));
    if let Some(report) = report.as_object_mut() {
        report.insert("knowledge".to_owned(), figures.clone());
    }
    std::fs::write(&path, serde_json::to_string_pretty(&report)?)?;
    writeln!(std::io::stdout(), "{}", serde_json::to_string_pretty(&figures)?)?;
    Ok(())
}

/// The scenarios' runbooks over and over, each copy about another system, so that no two chunks are the same.
fn corpus() -> anyhow::Result<Vec<Chunk>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios");
    let mut texts = Vec::new();
    for scenario in std::fs::read_dir(root)? {
        let folder = scenario?.path().join("runbooks");
        for file in std::fs::read_dir(folder).into_iter().flatten() {
            texts.push(std::fs::read_to_string(file?.path())?);
        }
    }
    anyhow::ensure!(!texts.is_empty(), "no runbooks");
    let mut chunks = Vec::new();
    for copy in 0.. {
        for (n, text) in texts.iter().enumerate() {
            let parsed = parse_document(text).context("a runbook")?;
            for (ordinal, (section_path, text)) in parsed.chunks.into_iter().enumerate() {
                if chunks.len() == CHUNKS {
                    return Ok(chunks);
                }
                chunks.push(Chunk {
                    document_id: format!("doc-{copy}-{n}"),
                    version: 1,
                    ordinal: u32::try_from(ordinal)?,
                    title: format!("{} {copy}", parsed.title),
                    tags: parsed.tags.clone(),
                    section_path,
                    source: String::new(),
                    updated_at: "2026-01-01T00:00:00Z".to_owned(),
                    text: format!("{text}\nSystem number {copy} of cluster c{}.", copy * 31 % 97),
                });
            }
        }
    }
    Ok(chunks)
}
