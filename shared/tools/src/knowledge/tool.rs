//! `lookup_knowledge` as the agent sees it.

use std::collections::HashSet;
use std::sync::Arc;

use agent::ports::{EvidenceTool, ToolCallContext, ToolFailure, ToolOutput};
use async_trait::async_trait;
use domain::events::FailureCode;
use domain::evidence::EvidenceStatus;
use domain::evidence::projection::{Projection, RagToolResult};
use domain::tool::{ToolErrorCode, ToolName};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::arguments::{DEFAULT_TOP_K, LookupArguments, understand};
use super::excerpt::excerpt;
use super::relevance::Question;
use super::searcher::{Found, MAX_EXCERPT_CHARS, SearchError, Searcher};
use crate::arguments;
use crate::redaction::Redactor;

/// Characters of an excerpt, tried from the front until all hits fit.
const EXCERPT_CHARS: [usize; 4] = [MAX_EXCERPT_CHARS, 800, 500, 300];

/// Looks up runbook excerpts.
pub struct KnowledgeTool {
    searcher: Arc<Searcher>,
}

impl KnowledgeTool {
    pub fn new(searcher: Arc<Searcher>) -> Self {
        Self { searcher }
    }

    async fn find(&self, query: &str, top_k: u32, call: &ToolCallContext) -> Result<Found, ToolFailure> {
        let mut redactor = Redactor::of(&call.pseudonyms);
        let search = self.searcher.search(query, top_k as usize, &mut redactor);
        tokio::select! {
            biased;
            () = call.cancelled.cancelled() => Err(ToolFailure::End(FailureCode::RunCancelled)),
            found = tokio::time::timeout(call.timeout, search) => match found {
                Ok(found) => found.map_err(|error| failure(&error)),
                Err(_) => Err(tell(ToolErrorCode::Timeout, "the runbook search did not finish in time")),
            },
        }
    }
}

#[async_trait]
impl EvidenceTool for KnowledgeTool {
    fn name(&self) -> ToolName {
        ToolName::LookupKnowledge
    }

    fn description(&self) -> String {
        "Searches the runbooks (procedures, thresholds, known causes, who to call) in Chinese and \
    English and answers with the best-matching excerpts, each with its document, section, \
    version and source. Query with symptoms, error codes and service names rather than whole \
    sentences. A runbook says what usually is the case; it is no proof of what happened this \
    time. Limits: at most 8 excerpts of at most 1200 characters. Finding nothing means that no \
    runbook covers it."
            .to_owned()
    }

    fn parameters(&self) -> Value {
        arguments::parameters::<LookupArguments>()
    }

    fn check(&self, arguments: &Value) -> Result<(), String> {
        understand(arguments).map(|_| ())
    }

    async fn run(&self, call: ToolCallContext) -> Result<ToolOutput, ToolFailure> {
        let asked = understand(&call.arguments)
            .map_err(|message| ToolFailure::Tell { code: ToolErrorCode::InvalidArguments, message })?;
        let found = self.find(&asked.query, asked.top_k.unwrap_or(DEFAULT_TOP_K), &call).await?;
        let raw_response = raw(&found);
        let projection = project(&call, asked.query, found).ok_or_else(|| {
            tell(
                ToolErrorCode::ResultUnusable,
                "the excerpts do not fit their size limit; ask for fewer with top_k",
            )
        })?;
        Ok(ToolOutput { projection, raw_response })
    }
}

/// The projection within the call's bytes: shorter excerpts before fewer hits.
fn project(call: &ToolCallContext, query: String, found: Found) -> Option<Projection> {
    let mut notes = Vec::new();
    if found.duplicates > 0 {
        notes.push(format!("{} hits that say the same as a better one are not shown", found.duplicates));
    }
    let whole = RagToolResult {
        tool_call_id: call.id.clone(),
        evidence_status: EvidenceStatus::found(!found.hits.is_empty()),
        query,
        hits: found.hits,
        truncated: false,
        notes,
    };
    let wanted = whole.hits.len();
    EXCERPT_CHARS.into_iter().find_map(|chars| {
        let (projection, _) =
            Projection::Knowledge(shortened(whole.clone(), chars)).to_bounded_json(call.max_bytes).ok()?;
        let Projection::Knowledge(fitted) = &projection else { return None };
        let smallest = EXCERPT_CHARS.last() == Some(&chars);
        (smallest || fitted.hits.len() == wanted).then_some(projection)
    })
}

/// The result with excerpts of at most `chars`, each around its best match.
fn shortened(mut result: RagToolResult, chars: usize) -> RagToolResult {
    if chars >= MAX_EXCERPT_CHARS {
        return result;
    }
    let question = Question::parse(&result.query);
    let terms: HashSet<&str> = question.terms().into_iter().map(|(term, _)| term).collect();
    let mut cut = 0;
    for hit in &mut result.hits {
        let shorter = excerpt(&hit.excerpt, &terms, chars);
        cut += usize::from(shorter != hit.excerpt);
        hit.excerpt = shorter;
    }
    if cut > 0 {
        result.truncated = true;
        result.notes.push(format!("{cut} excerpts were cut to {chars} characters to fit the size limit"));
    }
    result
}

/// Which hits there were, for the record; their text is in the projection.
fn raw(found: &Found) -> Option<Box<RawValue>> {
    let hits: Vec<Value> = found
        .hits
        .iter()
        .map(|hit| {
            let (id, section) = (&hit.document_id, &hit.section_path);
            json!({ "document_id": id, "version": hit.version, "section": section, "score": hit.score })
        })
        .collect();
    RawValue::from_string(json!({ "hits": hits, "duplicates": found.duplicates }).to_string()).ok()
}

fn tell(code: ToolErrorCode, message: &str) -> ToolFailure {
    ToolFailure::Tell { code, message: message.to_owned() }
}

/// The log gets the chain, the model a fixed text.
fn failure(error: &SearchError) -> ToolFailure {
    tracing::warn!(error = %error, cause = ?std::error::Error::source(error), "runbook search failed");
    tell(ToolErrorCode::SourceUnavailable, "the runbooks can't be searched now; use other evidence")
}
