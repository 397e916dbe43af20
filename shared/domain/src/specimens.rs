//! Specimens for this crate's tests: valid drafts, and the records of the tool calls that they rest on.

use serde_json::value::RawValue;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::draft::{Action, Analysis, AnalysisKind, Conclusion, DiagnosisDraft, Limitations, Recommendation};
use crate::evidence::projection::{KnowledgeHit, LogEvent, LogPattern, LogScope};
use crate::evidence::{
    CanonicalRecord, EvidenceStatus, InvocationStatus, MysqlToolResult, Projection, QueryLogsToolResult,
    RagToolResult,
};
use crate::ids::{RunId, ToolCallId};
use crate::tool::ToolName;

pub fn this_run() -> RunId {
    RunId::new(Uuid::from_u128(0x0193_0000_0000_7000_8000_0000_0000_0001))
}

pub fn another_run() -> RunId {
    RunId::new(Uuid::from_u128(0x0193_0000_0000_7000_8000_0000_0000_0002))
}

pub fn call_id(id: &str) -> ToolCallId {
    ToolCallId::parse(id).unwrap()
}

/// Something in every raw response and nowhere else: it must never be seen again.
pub const RAW_MARKER: &str = "RAW-RESPONSE-7731";

/// What `tool` answers when it finds something, or when it finds nothing.
pub fn result_of(tool: ToolName, id: &str, status: EvidenceStatus) -> Projection {
    let found = status == EvidenceStatus::EvidenceFound;
    let (tool_call_id, evidence_status) = (call_id(id), status);
    match tool {
        ToolName::LookupKnowledge => Projection::Knowledge(RagToolResult {
            tool_call_id,
            evidence_status,
            query: "payment timeout".into(),
            hits: if found { vec![timeout_runbook(), pool_runbook()] } else { vec![] },
            truncated: false,
            notes: vec![],
        }),
        ToolName::QueryLogs => Projection::Logs(QueryLogsToolResult {
            tool_call_id,
            evidence_status,
            source: "prod-logs".into(),
            scope: LogScope {
                service: "payment-gateway".into(),
                query: Some("timeout".into()),
                level: None,
                start: "2026-03-02T14:00:00Z".into(),
                end: "2026-03-02T14:30:00Z".into(),
            },
            matched: if found { 412 } else { 0 },
            patterns: if found { vec![pool_pattern()] } else { vec![] },
            events: if found { vec![pool_event()] } else { vec![] },
            truncated: false,
            notes: vec![],
        }),
        ToolName::QueryMysql => Projection::Mysql(MysqlToolResult {
            tool_call_id,
            evidence_status,
            data_source: "orders-db".into(),
            columns: vec!["status".into(), "n".into()],
            rows: if found { vec![vec!["TIMEOUT".into(), 412.into()]] } else { vec![] },
            row_count: u64::from(found),
            truncated: false,
            notes: vec![],
        }),
    }
}

fn timeout_runbook() -> KnowledgeHit {
    KnowledgeHit {
        document_id: "rb-7".into(),
        title: "Payment timeouts".into(),
        version: 3,
        section_path: "Payment timeouts > Pool exhaustion".into(),
        source: "runbooks/payment.md".into(),
        updated_at: "2026-01-05T08:00:00Z".into(),
        score: 7.5,
        excerpt: "When the pool of 50 connections is used up, calls time out after 5s.".into(),
    }
}

fn pool_runbook() -> KnowledgeHit {
    KnowledgeHit {
        document_id: "rb-9".into(),
        title: "连接池".into(),
        version: 1,
        section_path: "连接池 > 扩容".into(),
        source: "runbooks/pool.md".into(),
        updated_at: "2026-02-01T00:00:00Z".into(),
        score: 3.0,
        excerpt: "扩容前请先确认慢查询。".into(),
    }
}

fn pool_pattern() -> LogPattern {
    LogPattern {
        template: "pool exhausted after <*> ms".into(),
        count: 412,
        count_before: Some(3),
        first_seen: "2026-03-02T14:05:11Z".into(),
        last_seen: "2026-03-02T14:22:40Z".into(),
        sample: "pool exhausted after 5003 ms".into(),
    }
}

fn pool_event() -> LogEvent {
    LogEvent {
        timestamp: "2026-03-02T14:05:11Z".into(),
        level: Some("ERROR".into()),
        service: "payment-gateway".into(),
        message: "pool exhausted after 5003 ms".into(),
        trace_id: None,
    }
}

pub const SQL: &str = "SELECT status, COUNT(*) AS n FROM orders GROUP BY status";

/// The READY record of a call that returned `projection` in this run.
pub fn ready(projection: &Projection) -> CanonicalRecord {
    let request = match projection.tool() {
        ToolName::LookupKnowledge => json!({ "query": "payment timeout", "top_k": 6 }),
        ToolName::QueryLogs => json!({ "service": "payment-gateway", "query": "timeout" }),
        ToolName::QueryMysql => json!({ "data_source": "orders-db", "sql": SQL, "params": [] }),
    };
    let (id, at) = (projection.tool_call_id().clone(), "2026-03-02T14:31:00Z".to_owned());
    CanonicalRecord {
        status: InvocationStatus::Ready,
        evidence_status: Some(projection.evidence_status()),
        raw_response: Some(raw(&json!({ "raw": RAW_MARKER }))),
        agent_result: Some(raw(&json!(projection))),
        finished_at: Some("2026-03-02T14:31:02Z".to_owned()),
        ..CanonicalRecord::started(this_run(), id, projection.tool(), request, at)
    }
}

pub fn raw(value: &Value) -> Box<RawValue> {
    serde_json::value::to_raw_value(value).unwrap()
}

pub fn found(tool: ToolName, id: &str) -> CanonicalRecord {
    ready(&result_of(tool, id, EvidenceStatus::EvidenceFound))
}

pub fn nothing(tool: ToolName, id: &str) -> CanonicalRecord {
    ready(&result_of(tool, id, EvidenceStatus::NoEvidence))
}

/// Rewrites a record's stored result.
pub fn edit_result(record: &mut CanonicalRecord, edit: impl FnOnce(&mut Value)) {
    let mut value = serde_json::from_str(record.agent_result.as_ref().unwrap().get()).unwrap();
    edit(&mut value);
    record.agent_result = Some(raw(&value));
}

/// A store with one call of each tool that found something (`logs`, `db`, `kb`) and one that did not (`no-logs` …).
pub fn full_store() -> Vec<CanonicalRecord> {
    use ToolName::{LookupKnowledge, QueryLogs, QueryMysql};
    let hits =
        [(QueryLogs, "logs"), (QueryMysql, "db"), (LookupKnowledge, "kb")].map(|(tool, id)| found(tool, id));
    let misses = [(QueryLogs, "no-logs"), (QueryMysql, "no-db"), (LookupKnowledge, "no-kb")]
        .map(|(tool, id)| nothing(tool, id));
    hits.into_iter().chain(misses).collect()
}

/// A draft in the making. What is not said stays empty, so it is valid only if it is given something to say.
pub struct DraftBuilder(DiagnosisDraft);

pub fn a_draft() -> DraftBuilder {
    DraftBuilder(DiagnosisDraft {
        conclusion: None,
        analyses: vec![],
        actions: vec![],
        recommendations: vec![],
        limitations: Limitations { missing_info: vec![], caveats: vec![] },
    })
}

fn owned(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

impl DraftBuilder {
    pub fn concluding(mut self, text: &str, based_on: &[&str]) -> Self {
        self.0.conclusion = Some(Conclusion { text: text.into(), based_on_analysis_ids: owned(based_on) });
        self
    }

    pub fn finding(self, id: &str, text: &str, calls: &[&str]) -> Self {
        self.analysis(id, AnalysisKind::Normal, text, calls)
    }

    pub fn not_finding(self, id: &str, text: &str, calls: &[&str]) -> Self {
        self.analysis(id, AnalysisKind::NegativeObservation, text, calls)
    }

    pub fn analysis(mut self, id: &str, kind: AnalysisKind, text: &str, calls: &[&str]) -> Self {
        let (analysis_id, text) = (id.to_owned(), text.to_owned());
        self.0.analyses.push(Analysis { analysis_id, kind, text, tool_call_ids: owned(calls) });
        self
    }

    pub fn advising(mut self, text: &str, requires_human_confirmation: bool, based_on: &[&str]) -> Self {
        let based_on_analysis_ids = owned(based_on);
        self.0.actions.push(Action { text: text.into(), requires_human_confirmation, based_on_analysis_ids });
        self
    }

    pub fn recommending(mut self, text: &str, based_on: &[&str]) -> Self {
        self.0
            .recommendations
            .push(Recommendation { text: text.into(), based_on_analysis_ids: owned(based_on) });
        self
    }

    pub fn missing(mut self, text: &str) -> Self {
        self.0.limitations.missing_info.push(text.into());
        self
    }

    pub fn but(mut self, caveat: &str) -> Self {
        self.0.limitations.caveats.push(caveat.into());
        self
    }

    pub fn build(self) -> DiagnosisDraft {
        self.0
    }
}

/// A valid draft over [`full_store`] with at least one of everything.
pub fn full_draft() -> DiagnosisDraft {
    a_draft()
        .concluding("The connection pool ran out at 14:05.", &["a1", "a3"])
        .finding("a1", "payment-gateway logged 412 pool errors.", &["logs", "db"])
        .not_finding("a2", "No failed refunds were found.", &["no-db", "no-logs", "no-kb"])
        .finding("a3", "The runbook ties timeouts to an exhausted pool.", &["kb"])
        .advising("Raise the pool size.", true, &["a1"])
        .recommending("Alert on pool use.", &["a3"])
        .missing("Traces of the database proxy")
        .but("Only half an hour of logs was read.")
        .build()
}
