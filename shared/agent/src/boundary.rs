//! `ToolBoundary`: the one way to a tool.
//!
//! active? → budget → known tool → arguments → canonical `STARTED` → run → project → canonical `READY` → audit → observation.
//! The canonical store is fail-closed (no record, no observation), the audit is fail-open.

use std::sync::Arc;
use std::time::Duration;

use domain::events::{FailureCode, ToolProgress, ToolState};
use domain::evidence::{CanonicalRecord, InvocationStatus};
use domain::run::{Admission, PlannedCall};
use domain::tool::{ToolErrorCode, ToolName};
use serde_json::value::RawValue;
use time::format_description::well_known::Rfc3339;

use crate::audit::{Audit, Open};
use crate::context::RunContext;
use crate::observation::{self, Ended, Observed, Refused};
use crate::ports::ledger::InvocationRow;
use crate::ports::{CanonicalStore, EvidenceTool, StoreError, ToolCallContext, ToolFailure, ToolOutput};
use crate::progress::Progress;

/// Time for one tool call at most.
const TOOL_TIMEOUT: Duration = Duration::from_secs(20);
/// A tool that stops its own work in time needs this long to say so.
const TOOL_GRACE: Duration = Duration::from_secs(1);
/// Time for one canonical read or write.
pub const STORE_TIMEOUT: Duration = Duration::from_secs(3);

pub struct ToolBoundary {
    tools: Vec<Arc<dyn EvidenceTool>>,
    canonical: Arc<dyn CanonicalStore>,
}

impl ToolBoundary {
    pub fn new(tools: Vec<Arc<dyn EvidenceTool>>, canonical: Arc<dyn CanonicalStore>) -> Self {
        Self { tools, canonical }
    }

    /// Runs one planned call to its observation. Its audit row is open from here on, not from the first poll: a sibling's
    /// failure may end the round before this call's turn comes.
    ///
    /// # Errors
    /// What ends the run: cancellation, deadline, a canonical store that fails, or a tool that says so.
    pub fn call<'a>(
        &'a self,
        ctx: &'a RunContext,
        planned: &'a PlannedCall,
        progress: &'a Progress,
        audit: &'a Audit,
    ) -> impl Future<Output = Result<Observed, FailureCode>> + 'a {
        // A call that the run's end interrupts stays STARTED in the audit, as it does in the canonical store.
        let audited = audit.open(InvocationRow {
            run_id: ctx.run_id,
            tool_call_id: planned.id.clone(),
            sequence: planned.index,
            tool: ToolName::parse(&planned.name),
            status: InvocationStatus::Started,
            evidence_status: None,
            error_code: None,
            duration_ms: 0,
            request_bytes: planned.arguments.as_ref().map_or(0, |a| a.to_string().len() as u64),
            result_bytes: 0,
            started_at: ctx.now(),
        });
        self.observe(ctx, planned, progress, audited)
    }

    async fn observe(
        &self,
        ctx: &RunContext,
        planned: &PlannedCall,
        progress: &Progress,
        mut audited: Open<'_, InvocationRow>,
    ) -> Result<Observed, FailureCode> {
        ctx.check_active()?;
        let tool_name = audited.row.tool;
        let step = |state, evidence_status| ToolProgress { index: planned.index, state, evidence_status };
        progress.tool(ctx, tool_name, step(ToolState::Started, None));
        let ended = match self.admit(planned) {
            Ok((tool, arguments, max_bytes)) => self.run(ctx, planned, tool, arguments, max_bytes).await?,
            Err(refused) => Ended::failed(&planned.name, refused),
        };
        let state =
            if ended.status == InvocationStatus::Ready { ToolState::Ready } else { ToolState::Failed };
        progress.tool(ctx, tool_name, step(state, ended.evidence_status));
        audited.row.status = ended.status;
        audited.row.evidence_status = ended.evidence_status;
        audited.row.error_code = ended.error_code;
        audited.row.result_bytes = ended.observed.content.len() as u64;
        Ok(ended.observed)
    }

    /// Everything that can be decided before anything is stored or run.
    fn admit<'p>(
        &self,
        planned: &'p PlannedCall,
    ) -> Result<(&dyn EvidenceTool, &'p serde_json::Value, usize), Refused> {
        let Admission::Admitted { max_bytes } = planned.admission else {
            let message =
                "the run's budget of tool calls or result bytes is used up; answer from what you have"
                    .to_owned();
            return Err(Refused { code: ToolErrorCode::BudgetExhausted, message });
        };
        let name = ToolName::parse(&planned.name);
        let Some(tool) = self.tools.iter().find(|tool| Some(tool.name()) == name) else {
            let known: Vec<&str> = self.tools.iter().map(|tool| tool.name().as_str()).collect();
            let message = format!("there is no such tool; the tools are {}", known.join(", "));
            return Err(Refused { code: ToolErrorCode::UnknownTool, message });
        };
        let invalid = |message| Refused { code: ToolErrorCode::InvalidArguments, message };
        let arguments = planned.arguments.as_ref().map_err(|fault| invalid(fault.clone()))?;
        tool.check(arguments).map_err(invalid)?;
        Ok((tool.as_ref(), arguments, usize::try_from(max_bytes).unwrap_or(usize::MAX)))
    }

    async fn run(
        &self,
        ctx: &RunContext,
        planned: &PlannedCall,
        tool: &dyn EvidenceTool,
        arguments: &serde_json::Value,
        max_bytes: usize,
    ) -> Result<Ended, FailureCode> {
        let started_at = rfc3339(ctx);
        let mut record = CanonicalRecord::started(
            ctx.run_id,
            planned.id.clone(),
            tool.name(),
            arguments.clone(),
            started_at,
        );
        // The record is on its way before the tool begins, and the tool reads only: waiting for the record's answer beside it saves a
        // round trip, and nothing the tool says counts without it.
        let started = self.stored(ctx, self.canonical.start(&record));
        let evidence = self.evidence(ctx, planned, tool, arguments, max_bytes);
        let ((), outcome) = tokio::try_join!(biased; started, evidence)?;
        record.finished_at = Some(rfc3339(ctx));
        let ended = match outcome {
            Ok((output, shown)) => {
                record.status = InvocationStatus::Ready;
                record.evidence_status = Some(output.projection.evidence_status());
                record.raw_response = output.raw_response;
                record.agent_result =
                    Some(RawValue::from_string(shown.clone()).map_err(|_| FailureCode::Internal)?);
                Ended::ready(tool.name(), &shown, output.projection)
            }
            Err(refused) => {
                record.status = InvocationStatus::Failed;
                record.error_code = Some(refused.code);
                Ended::failed(&planned.name, refused)
            }
        };
        self.stored(ctx, self.canonical.finish(&record)).await?;
        Ok(ended)
    }

    /// Runs the tool within its time and shapes its result to the bytes it may take.
    async fn evidence(
        &self,
        ctx: &RunContext,
        planned: &PlannedCall,
        tool: &dyn EvidenceTool,
        arguments: &serde_json::Value,
        max_bytes: usize,
    ) -> Result<Result<(ToolOutput, String), Refused>, FailureCode> {
        let max_bytes = observation::room(max_bytes);
        let timeout = TOOL_TIMEOUT.min(ctx.time_left());
        // Work that a tool started elsewhere ends with this call, however it ends: dropped at the deadline, or with a sibling.
        let cancelled = ctx.cancellation().child_token();
        let _ends_with_the_call = cancelled.clone().drop_guard();
        let call = ToolCallContext {
            id: planned.id.clone(),
            arguments: arguments.clone(),
            max_bytes,
            timeout,
            now: ctx.now(),
            cancelled,
            pseudonyms: ctx.pseudonyms.clone(),
        };
        let output = match ctx.bound(tokio::time::timeout(timeout + TOOL_GRACE, tool.run(call))).await? {
            Ok(Ok(output)) => output,
            Ok(Err(ToolFailure::Tell { code, message })) => return Ok(Err(Refused { code, message })),
            Ok(Err(ToolFailure::End(code))) => return Err(code),
            Err(_) => {
                let message =
                    "the source did not answer in time; narrow the query or the time window".to_owned();
                return Ok(Err(Refused { code: ToolErrorCode::Timeout, message }));
            }
        };
        let raw_response = output.raw_response;
        Ok(match observation::bounded(output.projection, max_bytes) {
            Ok((projection, json)) => Ok((ToolOutput { projection, raw_response }, json)),
            Err(_) => Err(Refused {
                code: ToolErrorCode::ResultUnusable,
                message: "the result is too large to show even in part; ask for fewer or narrower fields"
                    .to_owned(),
            }),
        })
    }

    async fn stored<T>(
        &self,
        ctx: &RunContext,
        write: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, FailureCode> {
        match ctx.bound(tokio::time::timeout(STORE_TIMEOUT, write)).await? {
            Ok(Ok(done)) => Ok(done),
            Ok(Err(error)) => {
                tracing::error!(run.id = %ctx.run_id, error = %chain(&error), "canonical store failed");
                Err(FailureCode::StoreUnavailable)
            }
            Err(_) => {
                tracing::error!(run.id = %ctx.run_id, "canonical store timed out");
                Err(FailureCode::StoreUnavailable)
            }
        }
    }

    /// The records of `ids`, in one round trip.
    pub async fn records(
        &self,
        ctx: &RunContext,
        ids: &[domain::ids::ToolCallId],
    ) -> Result<Vec<CanonicalRecord>, FailureCode> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        self.stored(ctx, self.canonical.read(ctx.run_id, ids)).await
    }
}

fn rfc3339(ctx: &RunContext) -> String {
    ctx.now().format(&Rfc3339).unwrap_or_default()
}

/// An error and its sources on one line, for the log.
pub fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}

#[cfg(test)]
#[path = "boundary_tests.rs"]
mod tests;
