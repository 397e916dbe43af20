//! EvidenceGuard: pure, deterministic, fail-closed. A draft either yields a snapshot of what it cites, or every fault it has.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::literals::Haystack;
use super::projection::Projection;
use super::record::{CanonicalRecord, EvidenceStatus, InvocationStatus};
use super::snapshot::{VerifiedAnalysis, VerifiedEvidence, VerifiedSnapshot, evidence_of};
use crate::draft::{Analysis, AnalysisKind, DiagnosisDraft};
use crate::ids::{RunId, ToolCallId};
use crate::release::Cited;

/// What is wrong with one place of a draft. Stable codes; no content of the draft or of the store.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct EvidenceViolation {
    pub code: Violation,
    /// Where in the draft, as a path such as `analyses[0].tool_call_ids[1]`.
    pub target: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Violation {
    BlankText,
    InvalidAnalysisId,
    DuplicateAnalysisId,
    UnknownAnalysisId,
    ConclusionWithoutAnalysis,
    AnalysisWithoutToolCall,
    InvalidToolCallId,
    DuplicateToolCallId,
    ToolCallNotFound,
    ToolCallOfAnotherRun,
    ToolCallNotReady,
    ResultMissing,
    ResultUnreadable,
    ResultIdMismatch,
    ResultStatusMismatch,
    EvidenceKindMismatch,
}

/// What passed: the snapshot, and per analysis (and the conclusion) the literals that its evidence does not show.
#[derive(Debug, Clone, PartialEq)]
pub struct Checked {
    pub snapshot: VerifiedSnapshot,
    /// Only analyses with at least one such literal; the conclusion's are under [`CONCLUSION_KEY`].
    pub ungrounded: BTreeMap<String, Vec<String>>,
}

/// The conclusion's key in [`Checked::ungrounded`]. No analysis can have it: `:` is not in an analysis id.
pub const CONCLUSION_KEY: &str = ":conclusion";

/// Checks `draft` against the records that the canonical store returned for its cited calls.
///
/// `records` may hold more or fewer than was asked for, in any order; each is believed only as far as its own fields agree
/// with each other and with the draft. All violations are returned: first those of the draft by itself (analyses, conclusion,
/// actions, recommendations, limitations), then those of its citations, each in the draft's order.
pub fn check(
    run_id: RunId,
    draft: &DiagnosisDraft,
    records: &[CanonicalRecord],
) -> Result<Checked, Vec<EvidenceViolation>> {
    let mut faults = Faults::default();
    check_structure(draft, &mut faults);
    let mut verified: Vec<Vec<VerifiedEvidence>> = Vec::new();
    for (i, analysis) in draft.analyses.iter().enumerate() {
        verified.push(check_citations(run_id, analysis, i, records, &mut faults));
    }
    if !faults.0.is_empty() {
        return Err(faults.0);
    }
    let ungrounded = ungrounded_literals(draft, &verified);
    let analyses =
        draft.analyses.iter().zip(verified).map(|(analysis, verified_evidence)| VerifiedAnalysis {
            analysis_id: analysis.analysis_id.clone(),
            text: analysis.text.clone(),
            kind: analysis.kind,
            verified_evidence,
        });
    Ok(Checked { snapshot: VerifiedSnapshot { analyses: analyses.collect() }, ungrounded })
}

#[derive(Default)]
struct Faults(Vec<EvidenceViolation>);

impl Faults {
    fn add(&mut self, code: Violation, target: impl Into<String>) {
        self.0.push(EvidenceViolation { code, target: target.into() });
    }

    fn text(&mut self, text: &str, target: impl Into<String>) {
        if is_blank(text) {
            self.add(Violation::BlankText, target);
        }
    }
}

/// Blank to a reader: nothing but white space, controls and invisible format characters.
pub(crate) fn is_blank(text: &str) -> bool {
    let invisible = |c: char| {
        c.is_whitespace()
            || c.is_control()
            || matches!(
                c,
                '\u{AD}' | '\u{34F}' | '\u{61C}' | '\u{115F}' | '\u{1160}' | '\u{17B4}' | '\u{17B5}'
            )
            || matches!(c, '\u{180B}'..='\u{180F}' | '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}')
            || matches!(c, '\u{2060}'..='\u{206F}' | '\u{2800}' | '\u{3164}' | '\u{FE00}'..='\u{FE0F}' | '\u{FEFF}')
            || matches!(c, '\u{FFA0}' | '\u{FFF9}'..='\u{FFFB}' | '\u{1D173}'..='\u{1D17A}' | '\u{E0000}'..='\u{E0FFF}')
    };
    text.chars().all(invisible)
}

/// Step 1: the draft by itself.
fn check_structure(draft: &DiagnosisDraft, faults: &mut Faults) {
    let mut known = BTreeSet::new();
    for (i, analysis) in draft.analyses.iter().enumerate() {
        faults.text(&analysis.text, format!("analyses[{i}].text"));
        if !is_analysis_id(&analysis.analysis_id) {
            faults.add(Violation::InvalidAnalysisId, format!("analyses[{i}].analysis_id"));
        } else if !known.insert(analysis.analysis_id.as_str()) {
            faults.add(Violation::DuplicateAnalysisId, format!("analyses[{i}].analysis_id"));
        }
    }
    let closed = |ids: &[String], target: &str, faults: &mut Faults| {
        for (j, id) in ids.iter().enumerate() {
            if !known.contains(id.as_str()) {
                faults.add(Violation::UnknownAnalysisId, format!("{target}.based_on_analysis_ids[{j}]"));
            }
        }
    };
    if let Some(conclusion) = &draft.conclusion {
        faults.text(&conclusion.text, "conclusion.text");
        if conclusion.based_on_analysis_ids.is_empty() {
            faults.add(Violation::ConclusionWithoutAnalysis, "conclusion.based_on_analysis_ids");
        }
        closed(&conclusion.based_on_analysis_ids, "conclusion", faults);
    }
    for (i, action) in draft.actions.iter().enumerate() {
        faults.text(&action.text, format!("actions[{i}].text"));
        closed(&action.based_on_analysis_ids, &format!("actions[{i}]"), faults);
    }
    for (i, recommendation) in draft.recommendations.iter().enumerate() {
        faults.text(&recommendation.text, format!("recommendations[{i}].text"));
        closed(&recommendation.based_on_analysis_ids, &format!("recommendations[{i}]"), faults);
    }
    // A report that found nothing must at least say what is missing.
    if draft.conclusion.is_none() && draft.analyses.is_empty() && draft.limitations.missing_info.is_empty() {
        faults.add(Violation::BlankText, "limitations.missing_info");
    }
    for (i, text) in draft.limitations.missing_info.iter().enumerate() {
        faults.text(text, format!("limitations.missing_info[{i}]"));
    }
    for (i, text) in draft.limitations.caveats.iter().enumerate() {
        faults.text(text, format!("limitations.caveats[{i}]"));
    }
}

/// 1 to 64 of `[A-Za-z0-9_.-]`: an id, not a place to put text.
fn is_analysis_id(id: &str) -> bool {
    (1..=64).contains(&id.len()) && id.bytes().all(|b| b.is_ascii_alphanumeric() || b"_.-".contains(&b))
}

/// Step 2: each cited call of one analysis. Returns the evidence of those that hold.
fn check_citations(
    run_id: RunId,
    analysis: &Analysis,
    index: usize,
    records: &[CanonicalRecord],
    faults: &mut Faults,
) -> Vec<VerifiedEvidence> {
    if analysis.tool_call_ids.is_empty() {
        faults.add(Violation::AnalysisWithoutToolCall, format!("analyses[{index}].tool_call_ids"));
    }
    let mut seen = BTreeSet::new();
    let mut evidence = Vec::new();
    for (j, text) in analysis.tool_call_ids.iter().enumerate() {
        let checked = if seen.insert(text) {
            verify_call(run_id, text, analysis.kind, records)
        } else {
            Err(Violation::DuplicateToolCallId)
        };
        match checked {
            Ok((record, projection)) => evidence.extend(evidence_of(record, &projection)),
            Err(code) => faults.add(code, format!("analyses[{index}].tool_call_ids[{j}]")),
        }
    }
    evidence
}

/// One cited call: found, of this run, READY, readable as its tool's projection, self-consistent, and of the accepted kind.
pub fn verify_call<'r>(
    run_id: RunId,
    cited: &str,
    kind: AnalysisKind,
    records: &'r [CanonicalRecord],
) -> Result<(&'r CanonicalRecord, Projection), Violation> {
    let id = ToolCallId::parse(cited).map_err(|_| Violation::InvalidToolCallId)?;
    let mut with_id = records.iter().filter(|record| record.tool_call_id == id);
    let record = with_id.next().ok_or(Violation::ToolCallNotFound)?;
    // Two records under one id means that the store can't be believed about either.
    if with_id.next().is_some() {
        return Err(Violation::DuplicateToolCallId);
    }
    if record.run_id != run_id {
        return Err(Violation::ToolCallOfAnotherRun);
    }
    if record.status != InvocationStatus::Ready || record.error_code.is_some() {
        return Err(Violation::ToolCallNotReady);
    }
    let stored = record.agent_result.as_ref().map(|raw| raw.get()).ok_or(Violation::ResultMissing)?;
    let projection = Projection::parse(record.tool, stored).map_err(|_| Violation::ResultUnreadable)?;
    if projection.tool_call_id() != &id {
        return Err(Violation::ResultIdMismatch);
    }
    let status = projection.evidence_status();
    if record.evidence_status != Some(status) || !projection.status_fits_content() {
        return Err(Violation::ResultStatusMismatch);
    }
    if status != accepted_status(kind) {
        return Err(Violation::EvidenceKindMismatch);
    }
    Ok((record, projection))
}

/// The evidence that a released report cites, read again for its reader.
///
/// # Errors
/// The violation of the first citation that no longer holds; after the records' time to live that is `TOOL_CALL_NOT_FOUND`.
pub fn released_evidence(
    run_id: RunId,
    cited: &Cited,
    records: &[CanonicalRecord],
) -> Result<Vec<VerifiedEvidence>, Violation> {
    let mut evidence = Vec::new();
    for id in &cited.tool_call_ids {
        let (record, projection) = verify_call(run_id, id, cited.kind, records)?;
        let all = evidence_of(record, &projection);
        let shown = |n: usize| cited.hits.is_empty() || cited.hits.iter().any(|hit| *hit as usize == n);
        evidence.extend(all.into_iter().enumerate().filter(|(i, _)| shown(i + 1)).map(|(_, e)| e));
    }
    Ok(evidence)
}

fn accepted_status(kind: AnalysisKind) -> EvidenceStatus {
    match kind {
        AnalysisKind::Normal => EvidenceStatus::EvidenceFound,
        AnalysisKind::NegativeObservation => EvidenceStatus::NoEvidence,
    }
}

/// Step 3: what the texts name that their evidence does not show. No violation: the semantic guard is told.
fn ungrounded_literals(
    draft: &DiagnosisDraft,
    verified: &[Vec<VerifiedEvidence>],
) -> BTreeMap<String, Vec<String>> {
    let mut ungrounded = BTreeMap::new();
    for (analysis, evidence) in draft.analyses.iter().zip(verified) {
        let missing = Haystack::of(evidence.iter()).missing_from(&analysis.text);
        if !missing.is_empty() {
            ungrounded.insert(analysis.analysis_id.clone(), missing);
        }
    }
    if let Some(conclusion) = &draft.conclusion {
        let rests_on = draft
            .analyses
            .iter()
            .zip(verified)
            .filter(|(a, _)| conclusion.based_on_analysis_ids.contains(&a.analysis_id));
        let missing =
            Haystack::of(rests_on.flat_map(|(_, evidence)| evidence)).missing_from(&conclusion.text);
        if !missing.is_empty() {
            ungrounded.insert(CONCLUSION_KEY.to_owned(), missing);
        }
    }
    ungrounded
}

#[cfg(test)]
#[path = "guard_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "guard_mutation_tests.rs"]
mod mutation_tests;
