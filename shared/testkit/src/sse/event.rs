//! The five events as the contract words them. Written down again here instead of taken from the product's
//! types, so that a mistake there shows.

use serde::Deserialize;
use serde_json::Value;

use super::Fault;

#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    Metadata(Metadata),
    Status(Status),
    Content(Content),
    Failure(Failure),
    Done(Done),
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Metadata {
    pub session_id: String,
    pub run_id: String,
    /// Milliseconds until the run must have ended.
    pub time_limit_ms: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Status {
    pub run_id: String,
    pub sequence: u64,
    pub stage: String,
    pub elapsed_ms: u64,
    #[serde(default, deserialize_with = "not_null")]
    pub tool: Option<String>,
    #[serde(default, deserialize_with = "not_null")]
    pub tool_call: Option<ToolCall>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolCall {
    pub index: u64,
    pub state: String,
    #[serde(default, deserialize_with = "not_null")]
    pub evidence_status: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Content {
    pub run_id: String,
    pub intent: String,
    pub outcome: String,
    pub body: Value,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Failure {
    pub run_id: String,
    pub code: String,
    pub message: String,
    pub retryable: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Done {
    pub run_id: String,
    pub status: String,
}

const STAGES: &[&str] = &[
    "ROUTING",
    "RETRIEVING",
    "ANSWERING",
    "DIAGNOSING",
    "TOOL",
    "VALIDATING_EVIDENCE",
    "REPAIRING_EVIDENCE",
    "REVIEWING",
    "RELEASING",
];
const TOOLS: &[&str] = &["lookup_knowledge", "query_logs", "query_mysql"];
const TOOL_STATES: &[&str] = &["STARTED", "READY", "FAILED"];
const EVIDENCE: &[&str] = &["EVIDENCE_FOUND", "NO_EVIDENCE"];
const OUTCOMES: &[&str] = &["SUCCESS", "FALLBACK"];
const FAILURES: &[&str] = &[
    "MODEL_UNAVAILABLE",
    "MODEL_OUTPUT_INVALID",
    "STORE_UNAVAILABLE",
    "BUDGET_EXHAUSTED",
    "DEADLINE_EXCEEDED",
    "RUN_CANCELLED",
    "CONTEXT_TOO_LARGE",
    "INTERNAL",
];
/// Intent and the body kind of its success.
const INTENTS: &[(&str, &str)] = &[
    ("SYSTEM_CHAT", "SYSTEM_REPLY"),
    ("KNOWLEDGE_QUERY", "KNOWLEDGE_ANSWER"),
    ("DIAGNOSIS", "DIAGNOSIS_REPORT"),
];

impl Event {
    /// # Errors
    /// An unknown name, data that is not compact JSON, or data with other fields or words than the
    /// contract's.
    pub fn parse(name: &str, data: &str) -> Result<Self, Fault> {
        if !is_compact(data) {
            return Err(Fault::NotCompact(data.to_owned()));
        }
        let reject = |reason: String| Fault::Data { event: name.to_owned(), reason };
        let fields = |fault: serde_json::Error| reject(fault.to_string());
        let event = match name {
            "metadata" => Self::Metadata(serde_json::from_str(data).map_err(fields)?),
            "status" => Self::Status(serde_json::from_str(data).map_err(fields)?),
            "content" => Self::Content(serde_json::from_str(data).map_err(fields)?),
            "failure" => Self::Failure(serde_json::from_str(data).map_err(fields)?),
            "done" => Self::Done(serde_json::from_str(data).map_err(fields)?),
            other => return Err(Fault::UnknownEvent(other.to_owned())),
        };
        event.check_words().map_err(reject)?;
        Ok(event)
    }

    pub fn name(&self) -> &'static str {
        match self {
            Self::Metadata(_) => "metadata",
            Self::Status(_) => "status",
            Self::Content(_) => "content",
            Self::Failure(_) => "failure",
            Self::Done(_) => "done",
        }
    }

    pub fn run_id(&self) -> &str {
        match self {
            Self::Metadata(event) => &event.run_id,
            Self::Status(event) => &event.run_id,
            Self::Content(event) => &event.run_id,
            Self::Failure(event) => &event.run_id,
            Self::Done(event) => &event.run_id,
        }
    }

    fn check_words(&self) -> Result<(), String> {
        match self {
            Self::Metadata(event) => event.check(),
            Self::Status(event) => event.check(),
            Self::Content(event) => event.check(),
            Self::Failure(event) => {
                one_of("code", &event.code, FAILURES)?;
                ensure(!event.message.is_empty(), || "an empty message".to_owned())
            }
            Self::Done(event) => one_of("status", &event.status, &["SUCCESS", "FALLBACK", "FAILED"]),
        }
    }
}

impl Metadata {
    fn check(&self) -> Result<(), String> {
        let version = uuid::Uuid::parse_str(&self.run_id).map(|id| id.get_version_num());
        ensure(version == Ok(7), || format!("run_id {:?} is no UUIDv7", self.run_id))?;
        let visible = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        let session = (1..=64).contains(&self.session_id.len()) && self.session_id.bytes().all(visible);
        ensure(session, || format!("session_id {:?}", self.session_id))
    }
}

impl Status {
    fn check(&self) -> Result<(), String> {
        one_of("stage", &self.stage, STAGES)?;
        if let Some(tool) = &self.tool {
            one_of("tool", tool, TOOLS)?;
        }
        let Some(call) = &self.tool_call else { return Ok(()) };
        one_of("state", &call.state, TOOL_STATES)?;
        ensure(self.stage == "TOOL", || format!("a tool call in the stage {}", self.stage))?;
        match &call.evidence_status {
            Some(status) => {
                one_of("evidence_status", status, EVIDENCE)?;
                ensure(call.state == "READY", || format!("{} has an evidence status", call.state))
            }
            None => ensure(call.state != "READY", || "READY has no evidence status".to_owned()),
        }
    }
}

impl Content {
    fn check(&self) -> Result<(), String> {
        one_of("outcome", &self.outcome, OUTCOMES)?;
        let expected = INTENTS.iter().find(|(intent, _)| *intent == self.intent);
        let (_, success) = expected.ok_or_else(|| format!("intent {:?}", self.intent))?;
        let kind = self.body.get("kind").and_then(Value::as_str).unwrap_or_default();
        let expected = if self.outcome == "FALLBACK" { "SAFE_FALLBACK" } else { success };
        ensure(kind == expected, || format!("{} {} with the body {kind:?}", self.intent, self.outcome))
    }
}

fn ensure(holds: bool, fault: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(fault()) }
}

fn one_of(field: &str, word: &str, words: &[&str]) -> Result<(), String> {
    ensure(words.contains(&word), || format!("{field} {word:?}"))
}

/// An optional field is left out, never null.
fn not_null<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: serde::Deserializer<'de>,
    T: Deserialize<'de>,
{
    T::deserialize(deserializer).map(Some)
}

/// No white space outside strings.
fn is_compact(json: &str) -> bool {
    let (mut in_string, mut escaped) = (false, false);
    for character in json.chars() {
        match character {
            _ if escaped => escaped = false,
            '\\' if in_string => escaped = true,
            '"' => in_string = !in_string,
            _ if !in_string && character.is_whitespace() => return false,
            _ => {}
        }
    }
    true
}
