//! How well paraphrased questions in both languages find their runbook among all scenarios' runbooks: nDCG@10 and recall@5.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Deserialize;

use super::scenario_tests::{Documents, corpus};
use super::*;
use crate::redaction::Redactor;

/// A little below what was measured, so that a change for the worse is seen.
const LEAST_NDCG: f64 = 0.88;
const LEAST_RECALL: f64 = 0.95;

#[derive(Deserialize)]
struct Question {
    id: String,
    query: String,
    /// Documents and how well each answers: 2 exactly, 1 in part.
    relevant: BTreeMap<String, u32>,
}

fn questions() -> Vec<Question> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/cases/retrieval/questions.jsonl");
    std::fs::read_to_string(path).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

async fn ranked(searcher: &Searcher, query: &str) -> Vec<String> {
    let mut documents: Vec<String> = Vec::new();
    for hit in searcher.search(query, 50, &mut Redactor::new()).await.unwrap().hits {
        if !documents.contains(&hit.document_id) {
            documents.push(hit.document_id);
        }
    }
    documents
}

fn gain(grades: impl Iterator<Item = u32>) -> f64 {
    grades
        .take(10)
        .enumerate()
        .map(|(i, grade)| (f64::from(1 << grade) - 1.0) / (i as f64 + 2.0).log2())
        .sum()
}

#[tokio::test]
async fn paraphrased_questions_find_their_runbooks() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/scenarios");
    let mut scenarios: Vec<String> = std::fs::read_dir(root)
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.path().join("runbooks").is_dir())
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    scenarios.sort();
    let chunks = scenarios.iter().flat_map(|scenario| corpus(scenario)).collect();
    let searcher = Searcher::new(Arc::new(Documents(chunks)));
    let (mut ndcg, mut recall, mut missed) = (0.0, 0.0, String::new());
    let questions = questions();
    for question in &questions {
        let found = ranked(&searcher, &question.query).await;
        let grades = found.iter().map(|id| question.relevant.get(id).copied().unwrap_or(0));
        let mut best: Vec<u32> = question.relevant.values().copied().collect();
        best.sort_unstable_by(|a, b| b.cmp(a));
        let score = gain(grades) / gain(best.into_iter());
        let hit = found.iter().take(5).filter(|id| question.relevant.contains_key(*id)).count();
        ndcg += score;
        recall += hit as f64 / question.relevant.len() as f64;
        if score < 0.99 {
            let top = &found[..found.len().min(4)];
            missed.push_str(&format!("{} {score:.2} {} -> {top:?}\n", question.id, question.query));
        }
    }
    let (ndcg, recall) = (ndcg / questions.len() as f64, recall / questions.len() as f64);
    println!("{missed}nDCG@10 {ndcg:.3}, recall@5 {recall:.3} over {} questions", questions.len());
    assert!(
        ndcg >= LEAST_NDCG && recall >= LEAST_RECALL,
        "nDCG@10 {ndcg:.3}, recall@5 {recall:.3}\n{missed}"
    );
}
