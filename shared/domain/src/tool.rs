//! The three evidence tools by name, their stable error codes, and what was attempted in a run.

use serde::{Deserialize, Serialize};

use crate::evidence::EvidenceStatus;

/// The closed set of tools. Adding one makes every exhaustive `match` on it (projection parsing above all) fail to compile
/// until the new tool's evidence can be checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolName {
    LookupKnowledge,
    QueryLogs,
    QueryMysql,
}

impl ToolName {
    pub const ALL: [Self; 3] = [Self::LookupKnowledge, Self::QueryLogs, Self::QueryMysql];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::LookupKnowledge => "lookup_knowledge",
            Self::QueryLogs => "query_logs",
            Self::QueryMysql => "query_mysql",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tool| tool.as_str() == text)
    }
}

/// Why a tool call gave no evidence. Stable: stored, shown in `attempted`, and told to the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ToolErrorCode {
    /// No tool has that name.
    UnknownTool,
    /// The arguments do not fit the tool's JSON Schema, or could not be read at all.
    InvalidArguments,
    /// The run's budget of tool calls or tool bytes is used up.
    BudgetExhausted,
    /// The SQL broke a rule of the read-only guard.
    SqlRefused,
    /// The named log source, service or database is not configured.
    UnknownSource,
    /// The source did not answer within the tool's time.
    Timeout,
    /// The source could not be reached or refused us.
    SourceUnavailable,
    /// The source answered with an error about this query (for example an unknown column).
    QueryFailed,
    /// The result could not be turned into a bounded projection.
    ResultUnusable,
}

impl ToolErrorCode {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::UnknownTool => "UNKNOWN_TOOL",
            Self::InvalidArguments => "INVALID_ARGUMENTS",
            Self::BudgetExhausted => "BUDGET_EXHAUSTED",
            Self::SqlRefused => "SQL_REFUSED",
            Self::UnknownSource => "UNKNOWN_SOURCE",
            Self::Timeout => "TIMEOUT",
            Self::SourceUnavailable => "SOURCE_UNAVAILABLE",
            Self::QueryFailed => "QUERY_FAILED",
            Self::ResultUnusable => "RESULT_UNUSABLE",
        }
    }
}

/// One attempt to gather evidence, as harness facts only: a fallback shows it so that the engineer knows where to go on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Attempted {
    /// `None` when the model asked for a tool that does not exist; its name is model text and goes nowhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<ToolName>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evidence_status: Option<EvidenceStatus>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_code: Option<ToolErrorCode>,
}
