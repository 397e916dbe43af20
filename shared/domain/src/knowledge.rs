//! Knowledge answers: statements that each cite a runbook excerpt of this run, under the same evidence check as a diagnosis.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::draft::{Analysis, AnalysisKind, DiagnosisDraft, Limitations};
use crate::evidence::guard::{Checked, EvidenceViolation, Violation, is_blank, verify_call};
use crate::evidence::literals::Haystack;
use crate::evidence::projection::{KnowledgeHit, Projection};
use crate::evidence::record::CanonicalRecord;
use crate::evidence::snapshot::{VerifiedAnalysis, VerifiedSnapshot, knowledge_hit};
use crate::ids::{RunId, ToolCallId};

/// What the model must return for a knowledge question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KnowledgeDraft {
    pub statements: Vec<Statement>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Statement {
    pub text: String,
    /// Numbers of the hits that say it, counted from 1; at least one.
    pub citations: Vec<u32>,
}

/// A cited hit, as published: where it is, not what it says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CitedSource {
    pub n: u32,
    pub document_id: String,
    pub version: u32,
    pub title: String,
    pub section: String,
    pub source: String,
}

/// A knowledge answer whose every citation resolves. Made only by [`check`].
#[derive(Debug, Clone)]
pub struct VerifiedAnswer {
    statements: Vec<Statement>,
    sources: Vec<CitedSource>,
}

impl VerifiedAnswer {
    pub fn statements(&self) -> &[Statement] {
        &self.statements
    }

    pub fn sources(&self) -> &[CitedSource] {
        &self.sources
    }
}

/// The reply is no knowledge draft.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the reply is no knowledge answer")]
pub struct InvalidKnowledgeDraft;

impl KnowledgeDraft {
    /// As strict and as bounded as [`DiagnosisDraft::parse`].
    pub fn parse(text: &str) -> Result<Self, InvalidKnowledgeDraft> {
        if text.len() > DiagnosisDraft::MAX_BYTES {
            return Err(InvalidKnowledgeDraft);
        }
        let draft: Self = crate::strict::from_str(text).map_err(|_| InvalidKnowledgeDraft)?;
        let lists = draft.statements.iter().map(|s| s.citations.len()).chain([draft.statements.len()]);
        if lists.max().is_some_and(|longest| longest > DiagnosisDraft::MAX_ITEMS) {
            Err(InvalidKnowledgeDraft)
        } else {
            Ok(draft)
        }
    }
}

/// Checks an answer against the one lookup it may rest on. An answer without statements is a fault: there is nothing to back.
pub fn check(
    run_id: RunId,
    draft: &KnowledgeDraft,
    lookup: &ToolCallId,
    records: &[CanonicalRecord],
) -> Result<(VerifiedAnswer, Checked), Vec<EvidenceViolation>> {
    let fault = |code, target: String| EvidenceViolation { code, target };
    let (_, projection) = verify_call(run_id, lookup.as_str(), AnalysisKind::Normal, records)
        .map_err(|code| vec![fault(code, "lookup".to_owned())])?;
    let Projection::Knowledge(result) = projection else {
        return Err(vec![fault(Violation::ResultUnreadable, "lookup".to_owned())]);
    };
    let mut faults = Vec::new();
    if draft.statements.is_empty() {
        faults.push(fault(Violation::BlankText, "statements".to_owned()));
    }
    for (i, statement) in draft.statements.iter().enumerate() {
        if is_blank(&statement.text) {
            faults.push(fault(Violation::BlankText, format!("statements[{i}].text")));
        }
        if statement.citations.is_empty() {
            faults.push(fault(Violation::AnalysisWithoutToolCall, format!("statements[{i}].citations")));
        }
        for (j, n) in statement.citations.iter().enumerate() {
            if hit(&result.hits, *n).is_none() {
                faults.push(fault(Violation::ToolCallNotFound, format!("statements[{i}].citations[{j}]")));
            }
        }
    }
    if faults.is_empty() { Ok(verified(draft, &result.hits)) } else { Err(faults) }
}

fn hit(hits: &[KnowledgeHit], n: u32) -> Option<&KnowledgeHit> {
    hits.get(usize::try_from(n).ok()?.checked_sub(1)?)
}

fn verified(draft: &KnowledgeDraft, hits: &[KnowledgeHit]) -> (VerifiedAnswer, Checked) {
    let mut cited: Vec<u32> = draft.statements.iter().flat_map(|s| s.citations.iter().copied()).collect();
    cited.sort_unstable();
    cited.dedup();
    let source = |n: u32| {
        hit(hits, n).map(|h| CitedSource {
            n,
            document_id: h.document_id.clone(),
            version: h.version,
            title: h.title.clone(),
            section: h.section_path.clone(),
            source: h.source.clone(),
        })
    };
    let sources = cited.into_iter().filter_map(source).collect();
    let mut ungrounded = BTreeMap::new();
    let mut analyses = Vec::new();
    for (i, statement) in draft.statements.iter().enumerate() {
        // Each hit once, however often a statement names it: the snapshot must stay as small as what was shown.
        let cited: BTreeSet<u32> = statement.citations.iter().copied().collect();
        let evidence: Vec<_> = cited.into_iter().filter_map(|n| hit(hits, n)).map(knowledge_hit).collect();
        let id = format!("s{}", i + 1);
        let missing = Haystack::of(evidence.iter()).missing_from(&statement.text);
        if !missing.is_empty() {
            ungrounded.insert(id.clone(), missing);
        }
        analyses.push(VerifiedAnalysis {
            analysis_id: id,
            text: statement.text.clone(),
            kind: AnalysisKind::Normal,
            verified_evidence: evidence,
        });
    }
    let answer = VerifiedAnswer { statements: draft.statements.clone(), sources };
    (answer, Checked { snapshot: VerifiedSnapshot { analyses }, ungrounded })
}

/// The semantic guard judges a knowledge answer in the same form as a report.
pub fn as_draft(answer: &VerifiedAnswer) -> DiagnosisDraft {
    let analysis = |(i, s): (usize, &Statement)| Analysis {
        analysis_id: format!("s{}", i + 1),
        kind: AnalysisKind::Normal,
        text: s.text.clone(),
        tool_call_ids: Vec::new(),
    };
    DiagnosisDraft {
        conclusion: None,
        analyses: answer.statements.iter().enumerate().map(analysis).collect(),
        actions: Vec::new(),
        recommendations: Vec::new(),
        limitations: Limitations { missing_info: Vec::new(), caveats: Vec::new() },
    }
}
