//! `query_mysql`: one guarded SELECT on one configured business database.

use std::time::Duration;

use agent::ports::{EvidenceTool, ToolCallContext, ToolFailure, ToolOutput};
use async_trait::async_trait;
use domain::evidence::{EvidenceStatus, MysqlToolResult, Projection};
use domain::tool::{ToolErrorCode, ToolName};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde_json::{Value, json};

use super::ReadOnlySelect;
use super::source::{BusinessDatabase, NO_SUCH_COLUMN, NO_SUCH_TABLE, QueryFault, Rows};
use crate::arguments;
use crate::redaction::Redactor;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QueryMysqlArguments {
    /// One of the data sources in this tool's description.
    data_source: String,
    /// One read-only SELECT on the allow-listed tables, values as `?`.
    sql: String,
    /// One value per `?`, in order.
    #[schemars(schema_with = "scalars")]
    params: Vec<Value>,
}

fn scalars(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "array", "items": { "type": ["string", "number", "boolean", "null"] } })
}

/// The server stops a query after this long, the tool's own time permitting.
const QUERY_TIMEOUT: Duration = Duration::from_secs(10);
/// Time to connect, pin the session, and clean up around it.
const SESSION_TIME: Duration = Duration::from_secs(2);

pub struct MysqlTool {
    databases: Vec<BusinessDatabase>,
}

impl MysqlTool {
    pub fn new(databases: Vec<BusinessDatabase>) -> Self {
        Self { databases }
    }

    fn find(&self, name: &str) -> Result<&BusinessDatabase, ToolFailure> {
        self.databases.iter().find(|database| database.name == name).ok_or_else(|| {
            let names: Vec<&str> = self.databases.iter().map(|database| database.name.as_str()).collect();
            let message = format!("there is no such data source; the data sources are {}", names.join(", "));
            ToolFailure::Tell { code: ToolErrorCode::UnknownSource, message }
        })
    }
}

#[async_trait]
impl EvidenceTool for MysqlTool {
    fn name(&self) -> ToolName {
        ToolName::QueryMysql
    }

    async fn prepare(&self) {
        futures_util::future::join_all(self.databases.iter().map(BusinessDatabase::learn)).await;
    }

    fn description(&self) -> String {
        let mut text = "Reads business data with one SELECT. Only the tables listed here, read-only: no other statement, no SELECT … INTO, \
                        no locking, no variables, no hints. Write values as ? and pass them in params. Times are UTC. Aggregate in SQL: \
                        few rows are shown. Big integers and decimals come as strings."
            .to_owned();
        for database in &self.databases {
            text.push_str(&database.describe());
        }
        text
    }

    fn parameters(&self) -> Value {
        arguments::parameters::<QueryMysqlArguments>()
    }

    fn check(&self, arguments: &Value) -> Result<(), String> {
        arguments::read::<QueryMysqlArguments>(arguments).map(|_| ())
    }

    async fn run(&self, call: ToolCallContext) -> Result<ToolOutput, ToolFailure> {
        let tell = |code, message: String| ToolFailure::Tell { code, message };
        let asked: QueryMysqlArguments = arguments::read(&call.arguments)
            .map_err(|message| tell(ToolErrorCode::InvalidArguments, message))?;
        let database = self.find(&asked.data_source)?;
        let select =
            ReadOnlySelect::check(&asked.sql, &asked.params, &database.policy).map_err(|refusal| {
                tell(ToolErrorCode::SqlRefused, format!("{}: {}", refusal.rule.code(), refusal.message))
            })?;
        let timeout = QUERY_TIMEOUT.min(call.timeout.saturating_sub(SESSION_TIME));
        let redactor = Redactor::of(&call.pseudonyms);
        let rows = tokio::select! {
            biased;
            () = call.cancelled.cancelled() => return Err(tell(ToolErrorCode::Timeout, "the run was cancelled".to_owned())),
            rows = database.select(&select, redactor, timeout) => rows.map_err(|fault| told(&fault))?,
        };
        Ok(output(&call, &database.name, rows))
    }
}

fn told(fault: &QueryFault) -> ToolFailure {
    let (code, message) = match fault {
        QueryFault::Unavailable => {
            (ToolErrorCode::SourceUnavailable, "the database could not be reached".to_owned())
        }
        QueryFault::SessionNotPinned => (
            ToolErrorCode::SourceUnavailable,
            "the database did not accept the read-only session settings".to_owned(),
        ),
        QueryFault::TooSlow => (
            ToolErrorCode::Timeout,
            "the query took too long and was stopped; narrow the time range or aggregate less".to_owned(),
        ),
        QueryFault::Refused { code } => {
            let hint = match code.as_deref() {
                Some("1054" | NO_SUCH_COLUMN) => {
                    "a column does not exist; use the columns in this tool's description"
                }
                Some("1146" | NO_SUCH_TABLE) => "a table does not exist here",
                Some("1055") => "every selected column must be grouped or aggregated",
                Some("1064") => "the server does not accept this syntax",
                Some("1142" | "1143" | "1044") => "the database user may not read that",
                _ => "the server refused the query",
            };
            (ToolErrorCode::QueryFailed, format!("{hint} (error {})", code.as_deref().unwrap_or("unknown")))
        }
    };
    ToolFailure::Tell { code, message }
}

/// The cells come masked: nothing of them was stored or shown before.
fn output(call: &ToolCallContext, source: &str, rows: Rows) -> ToolOutput {
    let raw = json!({ "columns": rows.columns, "rows": rows.rows, "truncated": rows.truncated });
    let projection = Projection::Mysql(MysqlToolResult {
        tool_call_id: call.id.clone(),
        evidence_status: EvidenceStatus::found(!rows.rows.is_empty()),
        data_source: source.to_owned(),
        row_count: rows.rows.len() as u64,
        columns: rows.columns,
        rows: rows.rows,
        truncated: rows.truncated,
        notes: rows.notes,
    });
    ToolOutput { projection, raw_response: serde_json::value::to_raw_value(&raw).ok() }
}
