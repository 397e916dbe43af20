//! The typed, size-bounded results of the three tools, and how they shrink to a byte cap without hiding that they did.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::record::EvidenceStatus;
use crate::ids::ToolCallId;
use crate::strict;
use crate::tool::ToolName;

/// `lookup_knowledge`: the best-matching runbook excerpts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RagToolResult {
    pub tool_call_id: ToolCallId,
    pub evidence_status: EvidenceStatus,
    /// What was searched for, exactly.
    pub query: String,
    /// Best first.
    pub hits: Vec<KnowledgeHit>,
    pub truncated: bool,
    /// What was cut or degraded, in words; empty when nothing was.
    pub notes: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KnowledgeHit {
    pub document_id: String,
    pub title: String,
    pub version: u32,
    /// Headings from the document's top to the excerpt, joined by ` > `.
    pub section_path: String,
    /// Where the document lives (URL or repository path).
    pub source: String,
    /// RFC 3339, UTC.
    pub updated_at: String,
    /// Relevance; comparable within one result only.
    pub score: f64,
    pub excerpt: String,
}

/// `query_logs`: what kinds of lines there are, and samples of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QueryLogsToolResult {
    pub tool_call_id: ToolCallId,
    pub evidence_status: EvidenceStatus,
    /// The log source's configured name.
    pub source: String,
    /// The query as it was resolved and run.
    pub scope: LogScope,
    /// Lines that matched.
    pub matched: u64,
    pub patterns: Vec<LogPattern>,
    pub events: Vec<LogEvent>,
    pub truncated: bool,
    pub notes: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogScope {
    pub service: String,
    pub query: Option<String>,
    pub level: Option<String>,
    /// RFC 3339, UTC, inclusive.
    pub start: String,
    /// RFC 3339, UTC, exclusive.
    pub end: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogPattern {
    /// The lines' common text, variables as `<*>`.
    pub template: String,
    pub count: u64,
    /// Lines of it in the equally long window before: 0 is new. Absent when nothing is known of that window.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count_before: Option<u64>,
    pub first_seen: String,
    pub last_seen: String,
    pub sample: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogEvent {
    pub timestamp: String,
    pub level: Option<String>,
    pub service: String,
    pub message: String,
    pub trace_id: Option<String>,
}

/// `query_mysql`: the rows of one read-only SELECT.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MysqlToolResult {
    pub tool_call_id: ToolCallId,
    pub evidence_status: EvidenceStatus,
    pub data_source: String,
    pub columns: Vec<String>,
    /// Cells are null, booleans, numbers that a double holds exactly, or strings (big integers, decimals, dates, the rest).
    pub rows: Vec<Vec<Value>>,
    /// Rows shown here.
    pub row_count: u64,
    pub truncated: bool,
    pub notes: Vec<String>,
}

/// A tool's result of any kind.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Projection {
    Knowledge(RagToolResult),
    Logs(QueryLogsToolResult),
    Mysql(MysqlToolResult),
}

/// Why a stored result is not that tool's projection. Never carries the content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the stored result is not a {tool} projection", tool = tool.as_str())]
pub struct Unreadable {
    tool: ToolName,
}

/// A projection that does not fit the bytes it may have, even with one entry left.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the result does not fit into {max_bytes} bytes")]
pub struct DoesNotFit {
    pub max_bytes: usize,
}

impl Projection {
    /// Reads a stored result strictly as `tool`'s projection. The exhaustive match is the point: a tool without a parser
    /// does not compile.
    pub fn parse(tool: ToolName, json: &str) -> Result<Self, Unreadable> {
        let unreadable = |_| Unreadable { tool };
        match tool {
            ToolName::LookupKnowledge => strict::from_str(json).map(Self::Knowledge).map_err(unreadable),
            ToolName::QueryLogs => strict::from_str(json).map(Self::Logs).map_err(unreadable),
            ToolName::QueryMysql => strict::from_str(json).map(Self::Mysql).map_err(unreadable),
        }
    }

    pub fn tool(&self) -> ToolName {
        match self {
            Self::Knowledge(_) => ToolName::LookupKnowledge,
            Self::Logs(_) => ToolName::QueryLogs,
            Self::Mysql(_) => ToolName::QueryMysql,
        }
    }

    pub fn tool_call_id(&self) -> &ToolCallId {
        match self {
            Self::Knowledge(r) => &r.tool_call_id,
            Self::Logs(r) => &r.tool_call_id,
            Self::Mysql(r) => &r.tool_call_id,
        }
    }

    pub fn evidence_status(&self) -> EvidenceStatus {
        match self {
            Self::Knowledge(r) => r.evidence_status,
            Self::Logs(r) => r.evidence_status,
            Self::Mysql(r) => r.evidence_status,
        }
    }

    /// Whether the content says the same as the status: a result that claims evidence shows some, one that claims none has
    /// none, and its counts agree.
    pub fn status_fits_content(&self) -> bool {
        let (any, counts_agree) = match self {
            Self::Knowledge(r) => (!r.hits.is_empty(), true),
            Self::Logs(r) => {
                let any = !r.patterns.is_empty() || !r.events.is_empty();
                // Lines that matched but are not shown prove neither a finding nor an absence.
                (any, any || r.matched == 0)
            }
            Self::Mysql(r) => (!r.rows.is_empty(), r.row_count == r.rows.len() as u64),
        };
        counts_agree && self.evidence_status() == EvidenceStatus::found(any)
    }

    /// The JSON of the result within `max_bytes`: entries are dropped from the end of the longest list, and `truncated` and
    /// `notes` say how many, until it fits.
    pub fn to_bounded_json(mut self, max_bytes: usize) -> Result<(Self, String), DoesNotFit> {
        let mut dropped = Dropped::default();
        loop {
            let json = serde_json::to_string(&self).map_err(|_| DoesNotFit { max_bytes })?;
            if json.len() <= max_bytes {
                return Ok((self, json));
            }
            // At least the overshoot's share of the entries goes each time, so that this takes few rounds.
            let share = 1.0 - max_bytes as f64 / json.len() as f64;
            if !self.drop_entries(share, &mut dropped) {
                return Err(DoesNotFit { max_bytes });
            }
        }
    }

    fn drop_entries(&mut self, share: f64, dropped: &mut Dropped) -> bool {
        match self {
            Self::Knowledge(r) => {
                let gone = shorten(&mut r.hits, share, 1);
                dropped.hits += gone;
                r.truncated = true;
                dropped.note(&mut r.notes);
                gone > 0
            }
            Self::Logs(r) => {
                let mut gone = shorten(&mut r.events, share, usize::from(r.patterns.is_empty()));
                dropped.events += gone;
                if gone == 0 {
                    gone = shorten(&mut r.patterns, share, 1);
                    dropped.patterns += gone;
                }
                r.truncated = true;
                dropped.note(&mut r.notes);
                gone > 0
            }
            Self::Mysql(r) => {
                let gone = shorten(&mut r.rows, share, 1);
                dropped.rows += gone;
                r.row_count = r.rows.len() as u64;
                r.truncated = true;
                dropped.note(&mut r.notes);
                gone > 0
            }
        }
    }
}

/// What was cut to fit, for the note that says so.
#[derive(Default)]
struct Dropped {
    hits: usize,
    events: usize,
    patterns: usize,
    rows: usize,
}

impl Dropped {
    const PREFIX: &str = "cut to fit the size limit: ";

    fn note(&self, notes: &mut Vec<String>) {
        notes.retain(|note| !note.starts_with(Self::PREFIX));
        let counts =
            [(self.hits, "hits"), (self.events, "events"), (self.patterns, "patterns"), (self.rows, "rows")];
        let parts: Vec<String> =
            counts.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what} left out")).collect();
        notes.push(format!("{}{}", Self::PREFIX, parts.join(", ")));
    }
}

/// Drops at least one and about `share` of the entries from the end, keeping `keep`; returns how many went.
fn shorten<T>(entries: &mut Vec<T>, share: f64, keep: usize) -> usize {
    let spare = entries.len().saturating_sub(keep);
    let wanted = ((entries.len() as f64 * share).ceil() as usize).max(1);
    let gone = wanted.min(spare);
    entries.truncate(entries.len() - gone);
    gone
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(n: usize) -> Projection {
        Projection::Mysql(MysqlToolResult {
            tool_call_id: ToolCallId::parse("c1").unwrap(),
            evidence_status: EvidenceStatus::EvidenceFound,
            data_source: "orders".into(),
            columns: vec!["id".into()],
            rows: (0..n).map(|i| vec![Value::from(i)]).collect(),
            row_count: n as u64,
            truncated: false,
            notes: vec![],
        })
    }

    #[test]
    fn a_result_shrinks_to_its_cap_and_says_so() {
        let (shrunk, json) = rows(1000).to_bounded_json(1024).unwrap();
        assert!(json.len() <= 1024);
        let Projection::Mysql(result) = shrunk else { panic!("kind changed") };
        assert!(result.truncated && result.row_count == result.rows.len() as u64 && result.row_count > 50);
        assert_eq!(
            result.notes,
            [format!("cut to fit the size limit: {} rows left out", 1000 - result.rows.len())]
        );
        assert_eq!(Projection::parse(ToolName::QueryMysql, &json).unwrap(), Projection::Mysql(result));
    }

    #[test]
    fn what_fits_is_untouched_and_what_cannot_fit_is_an_error() {
        let whole = rows(3);
        assert_eq!(whole.clone().to_bounded_json(1024).unwrap().0, whole);
        assert_eq!(rows(3).to_bounded_json(16), Err(DoesNotFit { max_bytes: 16 }));
    }

    #[test]
    fn parsing_is_strict() {
        let (_, json) = rows(1).to_bounded_json(1024).unwrap();
        assert!(Projection::parse(ToolName::QueryLogs, &json).is_err());
        assert!(Projection::parse(ToolName::QueryMysql, &json.replacen('{', r#"{"extra":1,"#, 1)).is_err());
        assert!(Projection::parse(ToolName::QueryMysql, &format!("{json} {{}}")).is_err());
    }
}
