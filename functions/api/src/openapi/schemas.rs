//! The JSON of requests and responses, as types that exist for their schemas. The contract test holds every real response
//! against them: a field that one side adds or drops alone fails it.

#![expect(dead_code, reason = "only the schemas of these types are used")]

use std::borrow::Cow;
use std::collections::BTreeMap;

use domain::draft::{Action, Conclusion, Limitations, Recommendation};
use domain::knowledge::Statement;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::Value;

/// Always there, and `null` where there is nothing to say.
pub struct Nullable<T>(T);

impl<T: JsonSchema> JsonSchema for Nullable<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        Cow::Owned(format!("Nullable{}", T::schema_name()))
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [generator.subschema_for::<T>(), { "type": "null" }] })
    }
}

/// A time in UTC, RFC 3339.
pub struct Time;

impl JsonSchema for Time {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Time".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "format": "date-time" })
    }
}

/// A type with exactly these properties.
macro_rules! schemas {
    ($($(#[$meta:meta])* $name:ident { $($(#[$field_meta:meta])* $field:ident: $type:ty),* $(,)? })*) => {$(
        $(#[$meta])*
        #[derive(JsonSchema)]
        #[schemars(deny_unknown_fields)]
        pub struct $name { $($(#[$field_meta])* $field: $type),* }
    )*};
}

/// One of these words.
macro_rules! words {
    ($($(#[$meta:meta])* $name:ident [$($word:ident = $text:literal),* $(,)?])*) => {$(
        $(#[$meta])*
        #[derive(JsonSchema)]
        pub enum $name { $(#[schemars(rename = $text)] $word),* }
    )*};
}

words! {
    Status [Running = "RUNNING", Success = "SUCCESS", Fallback = "FALLBACK", Failed = "FAILED"]
    Outcome [Success = "SUCCESS", Fallback = "FALLBACK", Failed = "FAILED"]
    Intent [SystemChat = "SYSTEM_CHAT", KnowledgeQuery = "KNOWLEDGE_QUERY", Diagnosis = "DIAGNOSIS"]
    Rating [Up = "UP", Down = "DOWN"]
    Health [Ok = "ok", Unavailable = "unavailable"]
    AnalysisKind [Normal = "NORMAL", NegativeObservation = "NEGATIVE_OBSERVATION"]
    SourceType [Logs = "LOGS", Mysql = "MYSQL", Knowledge = "KNOWLEDGE"]
    ToolName [LookupKnowledge = "lookup_knowledge", QueryLogs = "query_logs", QueryMysql = "query_mysql"]
    EvidenceStatus [Found = "EVIDENCE_FOUND", None = "NO_EVIDENCE"]
    ReasonCode [
        Unsupported = "SEMANTIC_UNSUPPORTED", Unavailable = "SEMANTIC_UNAVAILABLE", Evidence = "EVIDENCE_VALIDATION_FAILED",
    ]
    FailureCode [
        ModelUnavailable = "MODEL_UNAVAILABLE", ModelOutputInvalid = "MODEL_OUTPUT_INVALID",
        StoreUnavailable = "STORE_UNAVAILABLE", BudgetExhausted = "BUDGET_EXHAUSTED",
        DeadlineExceeded = "DEADLINE_EXCEEDED", RunCancelled = "RUN_CANCELLED",
        ContextTooLarge = "CONTEXT_TOO_LARGE", Internal = "INTERNAL",
    ]
    Scope [Chat = "chat", DocumentsWrite = "documents:write", Admin = "admin"]
    Report [Report = "DIAGNOSIS_REPORT"]
    Knowledge [Answer = "KNOWLEDGE_ANSWER"]
    System [Reply = "SYSTEM_REPLY"]
    Fallback [Fallback = "SAFE_FALLBACK"]
}

/// An RFC 9457 problem document; it says what was wrong and what would be right.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Problem {
    #[schemars(rename = "type")]
    kind: String,
    title: String,
    status: u16,
    /// Stable, for programs.
    code: String,
    detail: String,
    /// The run that is in the way, where one is.
    run_id: Option<String>,
}

/// What a finished run published.
#[derive(JsonSchema)]
#[schemars(untagged)]
pub enum PublishedBody {
    Report(DiagnosisReport),
    Knowledge(KnowledgeAnswer),
    System(SystemReply),
    Fallback(SafeFallback),
}

/// What was tried: facts of the harness only.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Attempted {
    tool: Option<ToolName>,
    evidence_status: Option<EvidenceStatus>,
    error_code: Option<String>,
}

/// A question. The bodies of Alertmanager, CloudWatch alarms (SNS, EventBridge) and PagerDuty v3 are taken, too.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct AskBody {
    /// 1 byte to 8 KiB of UTF-8 after trimming.
    #[schemars(length(min = 1))]
    query: String,
    /// Absent means a new session.
    #[schemars(regex(pattern = r"^[A-Za-z0-9_-]{1,64}$"))]
    session_id: Option<String>,
}

#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct FeedbackBody {
    rating: Rating,
    #[schemars(regex(pattern = r"^[A-Z0-9_]{0,64}$"))]
    reason: Option<String>,
    #[schemars(length(max = 2000))]
    comment: Option<String>,
}

/// What is left out is taken from the text's front matter or first heading.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct DocumentBody {
    /// Markdown or plain text, at most 1 MiB.
    text: String,
    #[schemars(length(max = 200))]
    title: Option<String>,
    #[schemars(length(max = 32))]
    tags: Option<Vec<String>>,
    source: Option<String>,
}

/// A document that may choose its id.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct NewDocumentBody {
    #[schemars(regex(pattern = r"^[A-Za-z0-9_-]{1,64}$"))]
    id: Option<String>,
    text: String,
    #[schemars(length(max = 200))]
    title: Option<String>,
    #[schemars(length(max = 32))]
    tags: Option<Vec<String>>,
    source: Option<String>,
}

#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct KeyBody {
    /// Whom the key speaks for. Several keys of one caller share runs, sessions and limits.
    #[schemars(regex(pattern = r"^[A-Za-z0-9_.:-]{1,64}$"))]
    caller: String,
    #[schemars(length(min = 1))]
    scopes: Vec<Scope>,
    expires_at: Option<Time>,
    concurrent_runs: Option<u32>,
    runs_per_minute: Option<u32>,
    tokens_per_day: Option<u64>,
}

schemas! {
    DiagnosisReport {
        kind: Report,
        conclusion: Nullable<Conclusion>,
        analyses: Vec<ReportAnalysis>,
        actions: Vec<Action>,
        recommendations: Vec<Recommendation>,
        limitations: Limitations,
    }
    ReportAnalysis { analysis_id: String, kind: AnalysisKind, text: String, sources: Vec<ReportSource> }
    ReportSource { source_type: SourceType, source: String, scope: Value, timestamp: Nullable<String> }
    /// Each statement cites sources by their `n`.
    KnowledgeAnswer { kind: Knowledge, statements: Vec<Statement>, sources: Vec<CitedSource> }
    CitedSource { n: u32, document_id: String, version: u32, title: String, section: String, source: String }
    SystemReply { kind: System, text: String }
    SafeFallback {
        kind: Fallback,
        reason_code: ReasonCode,
        conclusion: (),
        message: String,
        verified_sources: Vec<FallbackSource>,
        attempted: Vec<Attempted>,
    }
    FallbackSource { source_type: SourceType, source: String, timestamp: Nullable<String> }

    HealthAnswer { status: Health }
    Ready { status: Health, dependencies: Vec<Dependency> }
    Run {
        run_id: String, session_id: String, query: String, status: Status, intent: Nullable<Intent>,
        /// A fallback's reason code, a failure's code, or `ABANDONED`.
        reason: Nullable<String>,
        started_at: Time, ended_at: Nullable<Time>, deadline: Time,
        outcome: Nullable<Outcome>, body: Nullable<PublishedBody>, failure: Nullable<Failure>,
        feedback: Nullable<Feedback>,
    }
    RunSummary {
        run_id: String, session_id: String, query: String, status: Status, intent: Nullable<Intent>,
        reason: Nullable<String>, started_at: Time, ended_at: Nullable<Time>, deadline: Time,
    }
    Failure { code: FailureCode, message: String, retryable: bool }
    Feedback { rating: Rating, reason: Nullable<String>, comment: Nullable<String> }
    Rated { run_id: String, feedback: Feedback }
    RunPage { runs: Vec<RunSummary>, next_cursor: Nullable<String> }
    /// Metadata only: never prompts, arguments or results.
    Trace {
        run: RunSummary, budget: Budget, ungrounded_literals: u32, repaired: bool,
        /// `null` if a price isn't known.
        cost_usd: Nullable<f64>,
        steps: Vec<Step>, tool_invocations: Vec<Invocation>,
    }
    Budget { limits: Amounts, used: Amounts }
    Amounts { model_calls: u32, tool_calls: u32, input_tokens: u64, output_tokens: u64, tool_bytes: u64 }
    Step {
        sequence: u32, kind: String, model: String, message_count: u32, message_roles: String, has_text: bool,
        tool_names: String, input_tokens: u64, output_tokens: u64, cached_tokens: u64, reasoning_tokens: u64,
        cost_usd: Nullable<f64>, usage_estimated: bool, duration_ms: u64, attempt: u32, error_code: Nullable<String>,
        started_at: Time,
    }
    Invocation {
        sequence: u32, tool_call_id: String, tool: Nullable<ToolName>, status: String,
        evidence_status: Nullable<EvidenceStatus>, error_code: Nullable<String>, duration_ms: u64, request_bytes: u64,
        result_bytes: u64, started_at: Time,
    }
    Evidence { run_id: String, analyses: Vec<AnalysisEvidence> }
    AnalysisEvidence { analysis_id: String, evidence: Vec<VerifiedEvidence> }
    VerifiedEvidence {
        source_type: SourceType, source: String, scope: Value, timestamp: Nullable<String>, excerpt: Nullable<String>,
        values: Value,
    }
    DocumentSummary {
        id: String, version: u32, title: String, tags: Vec<String>, source: String, updated_at: Time, bytes: u64,
    }
    Document {
        id: String, version: u32, title: String, tags: Vec<String>, source: String, updated_at: Time, bytes: u64,
        text: String,
    }
    DocumentPage { documents: Vec<DocumentSummary>, next_cursor: Nullable<String> }
    Hits { query: String, hits: Vec<Hit>, duplicates: u64 }
    Hit {
        document_id: String, title: String, version: u32, section_path: String, source: String, updated_at: Time,
        score: f64, excerpt: String,
    }
    /// Shares are of ended runs, `null` where there is none.
    Quality {
        from: Time, to: Time, runs: u64, outcomes: BTreeMap<String, u64>, rates: Rates,
        fallback_reasons: BTreeMap<String, u64>, failure_codes: BTreeMap<String, u64>, repaired: u64,
        input_tokens: u64, output_tokens: u64, cost_usd: Nullable<f64>, priced_runs: u64,
        feedback: BTreeMap<String, BTreeMap<String, u64>>, tools: BTreeMap<String, ToolQuality>, duration_ms: Durations,
    }
    Rates { success: Nullable<f64>, fallback: Nullable<f64>, failed: Nullable<f64>, repaired: Nullable<f64> }
    ToolQuality { calls: u64, failed: u64, no_evidence: u64 }
    Durations { p50: Nullable<u64>, p95: Nullable<u64> }
    Keys { keys: Vec<Key> }
    Key {
        id: String, caller: String, scopes: Vec<Scope>, concurrent_runs: Nullable<u32>, runs_per_minute: Nullable<u32>,
        tokens_per_day: Nullable<u64>, created_at: Time, expires_at: Nullable<Time>, revoked_at: Nullable<Time>,
    }
    /// With the key itself: it is shown this once.
    CreatedKey {
        id: String, caller: String, scopes: Vec<Scope>, concurrent_runs: Nullable<u32>, runs_per_minute: Nullable<u32>,
        tokens_per_day: Nullable<u64>, created_at: Time, expires_at: Nullable<Time>, revoked_at: Nullable<Time>,
        key: String,
    }

    MetadataEvent { session_id: String, run_id: String, time_limit_ms: u64 }
    ContentEvent { run_id: String, intent: Intent, outcome: Outcome, body: PublishedBody }
    FailureEvent { run_id: String, code: FailureCode, message: String, retryable: bool }
    DoneEvent { run_id: String, status: Outcome }
}

/// One dependency, and what is wrong with it where that may be told.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Dependency {
    name: String,
    status: Health,
    latency_ms: u64,
    detail: Option<String>,
}

/// Progress; a tool's event names the tool and what became of its call.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct StatusEvent {
    run_id: String,
    sequence: u32,
    stage: String,
    elapsed_ms: u64,
    tool: Option<ToolName>,
    tool_call: Option<ToolCallStatus>,
}

#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct ToolCallStatus {
    index: u32,
    state: String,
    evidence_status: Option<EvidenceStatus>,
}
