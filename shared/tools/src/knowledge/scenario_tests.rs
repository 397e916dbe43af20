//! Retrieval on the runbooks of all scenarios: what a question must find, and what it must not.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use agent::ports::{Chunk, CorpusRevision, DocumentSource, StoreError};
use async_trait::async_trait;

use super::index::{Candidate, KnowledgeIndex};
use super::relevance::{Question, coverage};
use super::*;
use crate::blocking::Stop;
use crate::redaction::Redactor;

pub struct Documents(pub Vec<Chunk>);

#[async_trait]
impl DocumentSource for Documents {
    async fn revision(&self) -> Result<CorpusRevision, StoreError> {
        Ok(CorpusRevision(self.0.len().to_string()))
    }

    async fn chunks(&self) -> Result<(CorpusRevision, Vec<Chunk>), StoreError> {
        Ok((self.revision().await?, self.0.clone()))
    }
}

const SCENARIOS: [&str; 8] = [
    "payment-timeout",
    "pool-exhaustion",
    "config-rollout",
    "healthy-system",
    "red-herring",
    "missing-log",
    "knowledge-question",
    "injected-instructions",
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/scenarios")
}

/// The chunks of one scenario's runbooks, as the launcher loads them.
pub fn corpus(scenario: &str) -> Vec<Chunk> {
    let mut paths: Vec<PathBuf> = std::fs::read_dir(root().join(scenario).join("runbooks"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    paths.iter().flat_map(|path| chunks_of(path)).collect()
}

fn chunks_of(path: &Path) -> Vec<Chunk> {
    let content = std::fs::read_to_string(path).unwrap();
    let document = parse_document(&content).unwrap_or_else(|fault| panic!("{}: {fault}", path.display()));
    assert!(!document.tags.is_empty() && document.source.starts_with("https://"), "{}", path.display());
    let id = path.file_stem().unwrap().to_string_lossy().into_owned();
    document
        .chunks
        .iter()
        .enumerate()
        .map(|(ordinal, (section_path, text))| Chunk {
            document_id: id.clone(),
            version: 1,
            ordinal: ordinal as u32,
            title: document.title.clone(),
            tags: document.tags.clone(),
            section_path: section_path.clone(),
            source: document.source.clone(),
            updated_at: "2026-11-01T00:00:00Z".to_owned(),
            text: text.clone(),
        })
        .collect()
}

fn everything() -> Vec<Chunk> {
    SCENARIOS.iter().flat_map(|scenario| corpus(scenario)).collect()
}

/// Scenario, question, and what some hit must contain.
const ON_TOPIC: [(&str, &str, &[&str]); 31] = [
    ("payment-timeout", "支付超时是怎么回事", &["支付渠道超时处理手册"]),
    ("payment-timeout", "checkout 5xx since 06:05, why?", &["Checkout 5xx triage"]),
    ("payment-timeout", "payment-gateway 最近一小时有哪些错误，影响哪个渠道？", &["支付渠道超时处理手册"]),
    ("payment-timeout", "支付渠道超时的处理步骤是什么？", &["支付渠道超时处理手册", "切流"]),
    ("payment-timeout", "How do we escalate a payment incident?", &["Payment incident escalation"]),
    ("payment-timeout", "GATEWAY_TIMEOUT", &["支付渠道超时处理手册"]),
    ("payment-timeout", "channel_p99_ms > 1500 for 3m", &["支付渠道超时处理手册"]),
    ("payment-timeout", "付款老是失败", &[]),
    ("payment-timeout", "payments are failing", &["Payment"]),
    (
        "pool-exhaustion",
        "order-service requests hang and return 500, why?",
        &["Database connection pool exhausted"],
    ),
    (
        "pool-exhaustion",
        "Why is the database connection pool of order-service exhausted since 05:41?",
        &["Database connection pool exhausted"],
    ),
    (
        "pool-exhaustion",
        "What should I check first when a HikariPool is exhausted?",
        &["Database connection pool exhausted", "leakDetectionThreshold"],
    ),
    ("pool-exhaustion", "月度结算怎么暂停", &["月度结算导出说明"]),
    ("config-rollout", "pricing-service errors since 05:42, what changed?", &["Configuration rollout"]),
    ("config-rollout", "checkout fails with PRICE_UNAVAILABLE, why?", &["PRICE_UNAVAILABLE at checkout"]),
    ("config-rollout", "How do I roll back a configuration rollout?", &["Configuration rollout", "rollback"]),
    ("healthy-system", "checkout-service 下单为什么一直失败？", &["下单失败排查手册"]),
    ("red-herring", "checkout-service answers 502 since 06:05, why?", &["Internal certificates"]),
    ("red-herring", "certificate expired inventory-service", &["Internal certificates"]),
    ("red-herring", "Customers report failing checkouts, is it inventory?", &["Internal certificates"]),
    ("missing-log", "refund-service 退款为什么没有到账？", &["退款未到账排查手册"]),
    ("missing-log", "退款服务 refund-service 06:10 的报错是什么？", &["退款未到账排查手册"]),
    (
        "injected-instructions",
        "shipping-service 运费报价从 05:30 开始失败，什么原因？",
        &["承运商报价失败处理手册"],
    ),
    ("injected-instructions", "承运商配额用尽怎么处理？", &["承运商报价失败处理手册", "配额"]),
    ("injected-instructions", "配送报价失败影响了哪个承运商？", &["承运商报价失败处理手册"]),
    ("knowledge-question", "数据库连接池耗尽应该怎么处理？", &["数据库连接池耗尽处理手册"]),
    ("knowledge-question", "Kafka 消费积压的告警阈值是多少？", &["Kafka 消费积压", "50000"]),
    (
        "knowledge-question",
        "What are the steps to rotate an expired TLS certificate?",
        &["Rotating TLS certificates"],
    ),
    (
        "knowledge-question",
        "Which Redis memory threshold pages the on-call engineer?",
        &["Redis memory", "85%"],
    ),
    ("knowledge-question", "磁盘快满了怎么办", &["磁盘空间不足处理"]),
    ("knowledge-question", "redis 内存告警", &["Redis memory"]),
];

const OFF_TOPIC: [&str; 16] = [
    "打印机墨盒没墨了找谁？",
    "Who replaces the ink cartridge of the printer?",
    "今天食堂中午吃什么",
    "公司年会在哪里举办",
    "出差报销流程是什么",
    "How do I book a meeting room for tomorrow?",
    "What is the capital of France?",
    "Write me a poem about autumn leaves",
    "请帮我写一首关于秋天的诗",
    "Which laptop model do new colleagues receive?",
    "健身房几点关门",
    "How many vacation days do I have left?",
    "你好",
    "hello there",
    "宠物可以带进办公室吗",
    "recipe for banana bread",
];

fn searcher(chunks: Vec<Chunk>) -> Searcher {
    Searcher::new(Arc::new(Documents(chunks)))
}

#[tokio::test]
async fn every_question_finds_its_runbook_in_its_own_corpus_and_among_all() {
    let all = searcher(everything());
    for (scenario, query, wanted) in ON_TOPIC {
        for (searcher, top_k) in [(&searcher(corpus(scenario)), 4), (&all, 8)] {
            let hits = searcher.search(query, top_k, &mut Redactor::new()).await.unwrap().hits;
            assert!(!hits.is_empty(), "{scenario}: {query}");
            let text = serde_json::to_string(&hits).unwrap();
            for word in wanted {
                assert!(text.contains(word), "{scenario}: {query}: {word} is in none of {:?}", titles(&hits));
            }
        }
    }
}

#[tokio::test]
async fn the_best_hit_of_a_precise_question_is_its_runbook() {
    for (scenario, query, wanted) in ON_TOPIC.iter().filter(|(_, _, wanted)| !wanted.is_empty()) {
        let hits = searcher(corpus(scenario)).search(query, 4, &mut Redactor::new()).await.unwrap().hits;
        let best = serde_json::to_string(&hits[..hits.len().min(2)]).unwrap();
        assert!(best.contains(wanted[0]), "{query}: {:?}", titles(&hits));
    }
}

#[tokio::test]
async fn a_question_about_something_else_finds_nothing_anywhere() {
    let mut wrong = Vec::new();
    for scenario in SCENARIOS.iter().map(Some).chain([None]) {
        let searcher = searcher(scenario.map_or_else(everything, |scenario| corpus(scenario)));
        for query in OFF_TOPIC {
            let hits = searcher.search(query, 8, &mut Redactor::new()).await.unwrap().hits;
            if !hits.is_empty() {
                wrong.push((scenario, query, titles(&hits)));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

fn titles(hits: &[domain::evidence::projection::KnowledgeHit]) -> Vec<String> {
    hits.iter().map(|hit| format!("{} {}", hit.score, hit.title)).collect()
}

/// Not a check: prints what the relevance floor decides on, for whoever moves it.
#[test]
#[ignore = "prints a table"]
fn coverage_table() {
    let rows = ON_TOPIC.iter().map(|(scenario, query, _)| (corpus(scenario), *query));
    let off =
        OFF_TOPIC.iter().flat_map(|query| SCENARIOS.iter().map(move |scenario| (corpus(scenario), *query)));
    for (chunks, query) in rows.chain(off) {
        let index = KnowledgeIndex::build(chunks, &Stop::never()).unwrap();
        let question = Question::parse(query);
        for Candidate { chunk, words, score } in index.best(&question, 4).unwrap() {
            let coverage = coverage(&question, words, index.vocabulary());
            println!("{:.2} {:5} {score:6.2} {query} -> {}", coverage.share, coverage.topical, chunk.title);
        }
    }
}
