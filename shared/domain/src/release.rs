//! The release policy: the only way from a draft to the wire.

use serde::{Deserialize, Serialize, Serializer};
use serde_json::value::RawValue;

use crate::draft::{Action, AnalysisKind, DiagnosisDraft, Limitations, Recommendation};
use crate::evidence::VerifiedSnapshot;
use crate::evidence::guard::Checked;
use crate::evidence::snapshot::{SourceType, VerifiedAnalysis};
use crate::fallback::SafeFallback;
use crate::knowledge::{CitedSource, Statement, VerifiedAnswer};
use crate::semantic::Supported;
use crate::system::SystemReply;

/// How a terminal run ended for its reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Outcome {
    Success,
    Fallback,
    Failed,
}

impl Outcome {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Success => "SUCCESS",
            Self::Fallback => "FALLBACK",
            Self::Failed => "FAILED",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        [Self::Success, Self::Fallback, Self::Failed].into_iter().find(|o| o.as_str() == text)
    }
}

/// A draft together with the guard's finding about it.
#[derive(Debug, Clone)]
pub(crate) struct VerifiedDraft {
    pub draft: DiagnosisDraft,
    pub checked: Checked,
}

/// A body that may be published. Only a [`crate::run::Run`] makes one: everything here either passed both guards, or is a fixed
/// text.
#[derive(Debug, Clone)]
pub struct Released {
    outcome: Outcome,
    conclusion: Option<String>,
    reason: Option<&'static str>,
    cites: Vec<Cited>,
    body: Box<RawValue>,
}

/// What a released analysis cites: kept with the run so that its evidence can be shown later, never published itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cited {
    pub analysis_id: String,
    pub kind: AnalysisKind,
    pub tool_call_ids: Vec<String>,
    /// For a knowledge statement: which hits of the lookup it cites, counted from 1. Empty means the whole result.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hits: Vec<u32>,
}

impl Released {
    /// The very report that passed: unsummarised, unreordered, without its tool call ids.
    pub(crate) fn report(verified: VerifiedDraft, _proof: Supported) -> Self {
        let VerifiedDraft { draft, checked } = verified;
        let cites = draft.analyses.iter().map(|a| Cited {
            analysis_id: a.analysis_id.clone(),
            kind: a.kind,
            tool_call_ids: a.tool_call_ids.clone(),
            hits: Vec::new(),
        });
        let cites = cites.collect();
        let conclusion = draft.conclusion.as_ref().map(|c| c.text.clone());
        Self::new(Outcome::Success, conclusion, None, cites, &ReportBody::of(&draft, &checked.snapshot))
    }

    pub(crate) fn knowledge(answer: &VerifiedAnswer, lookup: &str, _proof: Supported) -> Self {
        let body = KnowledgeBody {
            kind: "KNOWLEDGE_ANSWER",
            statements: answer.statements(),
            sources: answer.sources(),
        };
        let cite = |(i, statement): (usize, &Statement)| Cited {
            analysis_id: format!("s{}", i + 1),
            kind: AnalysisKind::Normal,
            tool_call_ids: vec![lookup.to_owned()],
            hits: statement.citations.clone(),
        };
        let cites = answer.statements().iter().enumerate().map(cite).collect();
        let conclusion = answer.statements().first().map(|s| s.text.clone());
        Self::new(Outcome::Success, conclusion, None, cites, &body)
    }

    pub(crate) fn system(reply: &SystemReply) -> Self {
        Self::new(
            Outcome::Success,
            None,
            None,
            Vec::new(),
            &SystemBody { kind: "SYSTEM_REPLY", text: reply.text() },
        )
    }

    pub(crate) fn fallback(fallback: &SafeFallback) -> Self {
        Self::new(Outcome::Fallback, None, Some(fallback.reason_code().as_str()), Vec::new(), fallback)
    }

    fn new(
        outcome: Outcome,
        conclusion: Option<String>,
        reason: Option<&'static str>,
        cites: Vec<Cited>,
        body: &impl Serialize,
    ) -> Self {
        // Our own structs of strings and numbers always serialise; `null` would be an honest empty body if one did not.
        let body = serde_json::value::to_raw_value(body).unwrap_or_default();
        Self { outcome, conclusion, reason, cites, body }
    }

    pub fn outcome(&self) -> Outcome {
        self.outcome
    }

    /// For the session's next run (`PreviousTurn`).
    pub fn conclusion(&self) -> Option<&str> {
        self.conclusion.as_deref()
    }

    /// The fallback's reason code, if this is one.
    pub fn reason(&self) -> Option<&'static str> {
        self.reason
    }

    pub fn cites(&self) -> &[Cited] {
        &self.cites
    }

    /// The published JSON, as it goes on the wire and into the ledger.
    pub fn body_json(&self) -> &str {
        self.body.get()
    }
}

impl Serialize for Released {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.body.serialize(serializer)
    }
}

#[derive(Serialize)]
struct ReportBody<'a> {
    kind: &'static str,
    conclusion: Option<&'a crate::draft::Conclusion>,
    analyses: Vec<ReportAnalysis<'a>>,
    actions: &'a [Action],
    recommendations: &'a [Recommendation],
    limitations: &'a Limitations,
}

#[derive(Serialize)]
struct ReportAnalysis<'a> {
    analysis_id: &'a str,
    kind: AnalysisKind,
    text: &'a str,
    sources: Vec<ReportSource<'a>>,
}

/// Where an analysis' evidence is, and how it was asked for; what it says is at `GET /api/runs/{run_id}/evidence`.
#[derive(PartialEq, Serialize)]
struct ReportSource<'a> {
    source_type: SourceType,
    source: &'a str,
    scope: &'a serde_json::Value,
    timestamp: Option<&'a str>,
}

impl<'a> ReportBody<'a> {
    fn of(draft: &'a DiagnosisDraft, snapshot: &'a VerifiedSnapshot) -> Self {
        let analysis = |verified: &'a VerifiedAnalysis| ReportAnalysis {
            analysis_id: &verified.analysis_id,
            kind: verified.kind,
            text: &verified.text,
            sources: sources_of(verified),
        };
        Self {
            kind: "DIAGNOSIS_REPORT",
            conclusion: draft.conclusion.as_ref(),
            analyses: snapshot.analyses.iter().map(analysis).collect(),
            actions: &draft.actions,
            recommendations: &draft.recommendations,
            limitations: &draft.limitations,
        }
    }
}

/// Each source and scope once, with the latest time of its evidence.
fn sources_of(analysis: &VerifiedAnalysis) -> Vec<ReportSource<'_>> {
    let mut sources: Vec<ReportSource<'_>> = Vec::new();
    for e in &analysis.verified_evidence {
        let timestamp = e.timestamp.as_deref();
        match sources
            .iter_mut()
            .find(|s| s.source_type == e.source_type && s.source == e.source && s.scope == &e.scope)
        {
            Some(source) => source.timestamp = source.timestamp.max(timestamp),
            None => sources.push(ReportSource {
                source_type: e.source_type,
                source: &e.source,
                scope: &e.scope,
                timestamp,
            }),
        }
    }
    sources
}

#[derive(Serialize)]
struct KnowledgeBody<'a> {
    kind: &'static str,
    statements: &'a [Statement],
    sources: &'a [CitedSource],
}

#[derive(Serialize)]
struct SystemBody<'a> {
    kind: &'static str,
    text: &'a str,
}

#[cfg(test)]
#[path = "release_tests.rs"]
mod tests;
