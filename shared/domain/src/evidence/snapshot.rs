//! The verified snapshot: per analysis, exactly the evidence it cites, without ids, keys or raw responses.

use serde::Serialize;
use serde_json::{Value, json};

use super::projection::{KnowledgeHit, MysqlToolResult, Projection, QueryLogsToolResult, RagToolResult};
use super::record::CanonicalRecord;
use crate::draft::AnalysisKind;
use crate::question::cut;

/// What the guard verified, in the draft's order.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct VerifiedSnapshot {
    pub analyses: Vec<VerifiedAnalysis>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct VerifiedAnalysis {
    pub analysis_id: String,
    pub text: String,
    pub kind: AnalysisKind,
    pub verified_evidence: Vec<VerifiedEvidence>,
}

/// One piece of evidence: a runbook excerpt, a log pattern or event, a query's rows, or an exact "nothing found".
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct VerifiedEvidence {
    pub source_type: SourceType,
    /// The configured source or the document's title.
    pub source: String,
    /// What was asked of the source: section, resolved log query and window, SQL and parameters.
    pub scope: Value,
    /// When the evidence is from, RFC 3339; `None` where the source has no time of its own.
    pub timestamp: Option<String>,
    /// Bounded text.
    pub excerpt: Option<String>,
    /// Bounded structured values.
    pub values: Option<Value>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum SourceType {
    Knowledge,
    Logs,
    Mysql,
}

/// Bytes of one excerpt; the projection was bounded before, this keeps one long text from filling the guard's input.
const MAX_EXCERPT_BYTES: usize = 1200;

/// The evidence of one verified call, in the projection's order.
pub(super) fn evidence_of(record: &CanonicalRecord, projection: &Projection) -> Vec<VerifiedEvidence> {
    match projection {
        Projection::Knowledge(result) => knowledge(result),
        Projection::Logs(result) => logs(result),
        Projection::Mysql(result) => vec![mysql(record, result)],
    }
}

fn excerpt(text: &str) -> Option<String> {
    Some(cut(text, MAX_EXCERPT_BYTES))
}

fn knowledge(result: &RagToolResult) -> Vec<VerifiedEvidence> {
    if result.hits.is_empty() {
        return vec![VerifiedEvidence {
            source_type: SourceType::Knowledge,
            source: "knowledge base".to_owned(),
            scope: json!({ "query": result.query }),
            timestamp: None,
            excerpt: None,
            values: Some(json!({ "hits": 0 })),
        }];
    }
    result.hits.iter().map(knowledge_hit).collect()
}

/// One runbook excerpt.
pub(crate) fn knowledge_hit(hit: &KnowledgeHit) -> VerifiedEvidence {
    VerifiedEvidence {
        source_type: SourceType::Knowledge,
        source: hit.title.clone(),
        scope: json!({ "document_id": hit.document_id, "version": hit.version, "section": hit.section_path, "source": hit.source }),
        timestamp: Some(hit.updated_at.clone()),
        excerpt: excerpt(&hit.excerpt),
        values: None,
    }
}

fn logs(result: &QueryLogsToolResult) -> Vec<VerifiedEvidence> {
    let scope = json!(result.scope);
    let evidence = |timestamp: Option<String>, excerpt: Option<String>, values: Value| VerifiedEvidence {
        source_type: SourceType::Logs,
        source: result.source.clone(),
        scope: scope.clone(),
        timestamp,
        excerpt,
        values: Some(values),
    };
    if result.patterns.is_empty() && result.events.is_empty() {
        return vec![evidence(None, None, json!({ "matched": 0 }))];
    }
    let patterns = result.patterns.iter().map(|p| {
        let values = json!({ "template": cut(&p.template, MAX_EXCERPT_BYTES), "count": p.count, "count_before": p.count_before, "first_seen": p.first_seen, "last_seen": p.last_seen, "matched": result.matched });
        evidence(Some(p.last_seen.clone()), excerpt(&p.sample), values)
    });
    let events = result.events.iter().map(|e| {
        let values = json!({ "level": e.level, "service": e.service, "trace_id": e.trace_id, "matched": result.matched, "events_shown": result.events.len() });
        evidence(Some(e.timestamp.clone()), excerpt(&e.message), values)
    });
    patterns.chain(events).collect()
}

fn mysql(record: &CanonicalRecord, result: &MysqlToolResult) -> VerifiedEvidence {
    VerifiedEvidence {
        source_type: SourceType::Mysql,
        source: result.data_source.clone(),
        scope: json!({ "sql": record.request.get("sql"), "params": record.request.get("params") }),
        timestamp: record.finished_at.clone(),
        excerpt: None,
        values: Some(
            json!({ "columns": result.columns, "rows": result.rows, "row_count": result.row_count, "truncated": result.truncated }),
        ),
    }
}
