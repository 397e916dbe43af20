//! Evidence tools that do as they are told.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::time::Duration;

use async_trait::async_trait;
use domain::events::FailureCode;
use domain::evidence::projection::{KnowledgeHit, LogPattern, LogScope};
use domain::evidence::{EvidenceStatus, Projection, QueryLogsToolResult, RagToolResult};
use domain::ids::ToolCallId;
use domain::tool::{ToolErrorCode, ToolName};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::Diary;
use crate::ports::{EvidenceTool, ToolCallContext, ToolFailure, ToolOutput};

/// What a tool's next call does; without one it finds something at once.
pub enum Will {
    Find,
    FindNothing,
    FindAfter(Duration),
    /// One entry of this many bytes.
    FindWide(usize),
    Refuse(ToolErrorCode, &'static str),
    End(FailureCode),
    Hang,
    Panic,
}

pub struct ScriptedTool {
    name: ToolName,
    diary: Diary,
    next: Mutex<VecDeque<Will>>,
    /// The token of the latest call.
    pub token: Mutex<Option<CancellationToken>>,
    /// What raw responses hold.
    pub raw: Mutex<String>,
}

impl ScriptedTool {
    fn new(name: ToolName, diary: Diary) -> Self {
        Self {
            name,
            diary,
            next: Mutex::default(),
            token: Mutex::default(),
            raw: Mutex::new("raw".to_owned()),
        }
    }

    pub fn knowledge(diary: Diary) -> Self {
        Self::new(ToolName::LookupKnowledge, diary)
    }

    pub fn logs(diary: Diary) -> Self {
        Self::new(ToolName::QueryLogs, diary)
    }

    pub fn will(&self, what: Will) {
        self.next.lock().unwrap().push_back(what);
    }

    fn result(&self, id: ToolCallId, found: bool, text: String) -> Projection {
        let evidence_status = EvidenceStatus::found(found);
        match self.name {
            ToolName::LookupKnowledge => {
                let hit = KnowledgeHit {
                    document_id: "doc-1".into(),
                    title: "Checkout runbook".into(),
                    version: 3,
                    section_path: "Timeouts".into(),
                    source: "runbooks/checkout.md".into(),
                    updated_at: "2026-02-01T00:00:00Z".into(),
                    score: 1.0,
                    excerpt: text,
                };
                let hits = if found { vec![hit] } else { Vec::new() };
                Projection::Knowledge(RagToolResult {
                    tool_call_id: id,
                    evidence_status,
                    query: "q".into(),
                    hits,
                    truncated: false,
                    notes: vec![],
                })
            }
            _ => {
                let pattern = LogPattern {
                    template: "bank call timed out after <*>".into(),
                    count: 42,
                    count_before: Some(0),
                    first_seen: "2026-03-02T14:05:00Z".into(),
                    last_seen: "2026-03-02T14:20:00Z".into(),
                    sample: text,
                };
                let scope = LogScope {
                    service: "checkout".into(),
                    query: None,
                    level: None,
                    start: "2026-03-02T14:00:00Z".into(),
                    end: "2026-03-02T15:00:00Z".into(),
                };
                let patterns = if found { vec![pattern] } else { Vec::new() };
                Projection::Logs(QueryLogsToolResult {
                    tool_call_id: id,
                    evidence_status,
                    source: "prod-logs".into(),
                    scope,
                    matched: if found { 42 } else { 0 },
                    patterns,
                    events: vec![],
                    truncated: false,
                    notes: vec![],
                })
            }
        }
    }
}

#[async_trait]
impl EvidenceTool for ScriptedTool {
    fn name(&self) -> ToolName {
        self.name
    }

    fn description(&self) -> String {
        format!("{} as scripted", self.name.as_str())
    }

    fn parameters(&self) -> Value {
        json!({ "type": "object" })
    }

    fn check(&self, arguments: &Value) -> Result<(), String> {
        if arguments.get("wrong").is_some() {
            Err("`wrong` is not a field; the fields are `service` and `query`".into())
        } else {
            Ok(())
        }
    }

    async fn run(&self, call: ToolCallContext) -> Result<ToolOutput, ToolFailure> {
        let id = call.id;
        self.diary.note(format!("tool {} {id}", self.name.as_str()));
        *self.token.lock().unwrap() = Some(call.cancelled);
        let will = self.next.lock().unwrap().pop_front().unwrap_or(Will::Find);
        let (found, text) = match will {
            Will::Find => (true, "42 calls timed out at the bank".to_owned()),
            Will::FindNothing => (false, String::new()),
            Will::FindAfter(delay) => {
                tokio::time::sleep(delay).await;
                (true, "42 calls timed out at the bank".to_owned())
            }
            Will::FindWide(bytes) => (true, "x".repeat(bytes)),
            Will::Refuse(code, message) => {
                return Err(ToolFailure::Tell { code, message: message.to_owned() });
            }
            Will::End(code) => return Err(ToolFailure::End(code)),
            Will::Hang => std::future::pending().await,
            Will::Panic => panic!("the tool panics as scripted"),
        };
        self.diary.note(format!("tool {} {id} ended", self.name.as_str()));
        let raw = json!({ "raw": *self.raw.lock().unwrap() }).to_string();
        Ok(ToolOutput {
            projection: self.result(id, found, text),
            raw_response: Some(RawValue::from_string(raw).unwrap()),
        })
    }
}
