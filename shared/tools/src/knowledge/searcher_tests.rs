//! Searches over small corpora: ranking, caching, re-indexing.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use agent::ports::{
    Chunk, CorpusRevision, DocumentSource, EvidenceTool, StoreError, ToolCallContext, ToolFailure,
};
use async_trait::async_trait;
use domain::events::FailureCode;
use domain::evidence::{EvidenceStatus, Projection, RagToolResult};
use domain::ids::ToolCallId;
use domain::tool::{ToolErrorCode, ToolName};
use serde_json::json;

use super::scenario_tests::{Documents, corpus};
use super::*;
use crate::redaction::Redactor;

/// A corpus whose revision a test can move, counting what is read.
#[derive(Default)]
struct Counting {
    revision: AtomicUsize,
    reads: AtomicUsize,
}

#[async_trait]
impl DocumentSource for Counting {
    async fn revision(&self) -> Result<CorpusRevision, StoreError> {
        Ok(CorpusRevision(self.revision.load(Ordering::SeqCst).to_string()))
    }

    async fn chunks(&self) -> Result<(CorpusRevision, Vec<Chunk>), StoreError> {
        self.reads.fetch_add(1, Ordering::SeqCst);
        tokio::task::yield_now().await;
        let revision = self.revision().await?;
        let chunk = Chunk {
            document_id: "doc".into(),
            version: 1,
            ordinal: 0,
            title: format!("Redis failover {}", revision.0),
            tags: vec![],
            section_path: String::new(),
            source: String::new(),
            updated_at: String::new(),
            text: "sentinel promotes a replica; ask tom@example.org".into(),
        };
        Ok((revision, vec![chunk.clone(), Chunk { document_id: "copy".into(), ..chunk }]))
    }
}

fn call(arguments: serde_json::Value, max_bytes: usize) -> ToolCallContext {
    ToolCallContext {
        id: ToolCallId::parse("c1").unwrap(),
        arguments,
        max_bytes,
        timeout: Duration::from_secs(10),
        now: time::macros::datetime!(2026-11-30 06:30 UTC),
        cancelled: tokio_util::sync::CancellationToken::new(),
        pseudonyms: Default::default(),
    }
}

async fn lookup(scenario: &str, arguments: serde_json::Value, max_bytes: usize) -> RagToolResult {
    let tool = KnowledgeTool::new(Arc::new(Searcher::new(Arc::new(Documents(corpus(scenario))))));
    tool.check(&arguments).unwrap();
    let output = tool.run(call(arguments, max_bytes)).await.unwrap();
    assert!(output.projection.status_fits_content() && output.raw_response.is_some());
    let (projection, json) = output.projection.to_bounded_json(max_bytes).unwrap();
    assert_eq!(Projection::parse(ToolName::LookupKnowledge, &json).unwrap(), projection);
    let Projection::Knowledge(result) = projection else { panic!("wrong kind") };
    result
}

#[tokio::test]
async fn concurrent_callers_share_one_build_and_a_new_revision_makes_another() {
    let source = Arc::new(Counting::default());
    let searcher = Searcher::new(Arc::clone(&source) as Arc<dyn DocumentSource>);
    let (mut first, mut second, mut third) = (Redactor::new(), Redactor::new(), Redactor::new());
    let (a, b, c) = tokio::join!(
        searcher.search("redis", 4, &mut third),
        searcher.search("sentinel", 4, &mut first),
        searcher.search("failover", 4, &mut second)
    );
    for found in [a, b, c] {
        let found = found.unwrap();
        assert_eq!((found.hits.len(), found.duplicates), (1, 1), "the copy says the same");
        assert_eq!(found.hits[0].excerpt, "sentinel promotes a replica; ask [email:1]");
    }
    assert_eq!(source.reads.load(Ordering::SeqCst), 1);
    source.revision.store(7, Ordering::SeqCst);
    assert_eq!(
        searcher.search("redis", 4, &mut Redactor::new()).await.unwrap().hits[0].title,
        "Redis failover 7"
    );
    assert_eq!(source.reads.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn an_empty_corpus_and_an_empty_question_find_nothing() {
    assert_eq!(
        Searcher::new(Arc::new(Documents(vec![])))
            .search("redis", 4, &mut Redactor::new())
            .await
            .unwrap()
            .hits,
        []
    );
    let searcher = Searcher::new(Arc::new(Documents(corpus("payment-timeout"))));
    for (query, top_k) in [("", 4), ("怎么办？", 4), ("支付", 0), ("!!!", 4)] {
        assert_eq!(searcher.search(query, top_k, &mut Redactor::new()).await.unwrap().hits, [], "{query}");
    }
}

#[tokio::test]
async fn results_are_whole_when_they_fit_and_say_so_when_they_do_not() {
    let arguments = json!({"query": "支付渠道超时 GATEWAY_TIMEOUT checkout payment", "top_k": 8});
    let whole = lookup("payment-timeout", arguments.clone(), 65_536).await;
    assert!(
        !whole.truncated && whole.notes.is_empty() && whole.hits.len() > 2,
        "{} {whole:?}",
        whole.hits.len()
    );
    let cut = lookup("payment-timeout", arguments.clone(), 4_000).await;
    assert!(cut.truncated && cut.notes.iter().any(|note| note.contains("excerpts were cut to")), "{cut:?}");
    let tiny = lookup("payment-timeout", arguments.clone(), 1_500).await;
    assert!(tiny.truncated && !tiny.hits.is_empty() && tiny.hits[0].title == whole.hits[0].title);
    let tool = KnowledgeTool::new(Arc::new(Searcher::new(Arc::new(Documents(corpus("payment-timeout"))))));
    let refused = tool.run(call(arguments, 100)).await.unwrap_err();
    assert!(matches!(refused, ToolFailure::Tell { code: ToolErrorCode::ResultUnusable, .. }));
}

#[tokio::test]
async fn nothing_found_is_an_observation_with_its_query() {
    let result = lookup("knowledge-question", json!({"query": "打印机墨盒没墨了找谁？"}), 8_192).await;
    assert_eq!(
        (result.evidence_status, result.query.as_str()),
        (EvidenceStatus::NoEvidence, "打印机墨盒没墨了找谁？")
    );
}

#[tokio::test]
async fn wrong_arguments_are_named_and_a_cancelled_call_ends_the_run() {
    let tool = KnowledgeTool::new(Arc::new(Searcher::new(Arc::new(Documents(vec![])))));
    for (arguments, fault) in [
        (json!({}), "`query` is missing"),
        (json!({"query": " "}), "`query` is blank"),
        (json!({"query": "a", "top_k": 9}), "`top_k` is 9"),
        (json!({"query": "a", "k": 9}), "`k` is no field"),
    ] {
        assert!(tool.check(&arguments).unwrap_err().contains(fault), "{arguments}");
    }
    let cancelled = call(json!({"query": "a"}), 8_192);
    cancelled.cancelled.cancel();
    assert!(matches!(tool.run(cancelled).await, Err(ToolFailure::End(FailureCode::RunCancelled))));
}
