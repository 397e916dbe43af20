//! The diagnosis agent's draft: internal until the release policy publishes it, and only then without its tool call ids.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use crate::ids::ToolCallId;

/// What the model must return: exactly these fields, nothing missing, nothing more. The text is the user's report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DiagnosisDraft {
    /// The answer to the question, or null when the evidence does not establish one.
    #[serde(deserialize_with = "present")]
    pub conclusion: Option<Conclusion>,
    /// What the evidence shows, one finding each.
    pub analyses: Vec<Analysis>,
    /// Steps for the engineer.
    pub actions: Vec<Action>,
    /// Longer-term improvements.
    pub recommendations: Vec<Recommendation>,
    pub limitations: Limitations,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Conclusion {
    pub text: String,
    /// The analyses this rests on; at least one.
    pub based_on_analysis_ids: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Analysis {
    /// Unique within the draft, for example "a1".
    pub analysis_id: String,
    pub kind: AnalysisKind,
    pub text: String,
    /// The tool calls of this run whose results show it; at least one.
    pub tool_call_ids: Vec<String>,
}

/// What kind of evidence an analysis rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[schemars(inline)]
pub enum AnalysisKind {
    /// Something was found: every cited call returned EVIDENCE_FOUND.
    Normal,
    /// Something was looked for and not found: every cited call returned NO_EVIDENCE.
    NegativeObservation,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Action {
    pub text: String,
    /// True for anything that changes a system.
    pub requires_human_confirmation: bool,
    pub based_on_analysis_ids: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Recommendation {
    pub text: String,
    pub based_on_analysis_ids: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Limitations {
    /// What would be needed to say more.
    pub missing_info: Vec<String>,
    pub caveats: Vec<String>,
}

/// `null` is an answer, absence is an error: serde treats a missing `Option` as `None` unless a function reads it.
fn present<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    Option::deserialize(deserializer)
}

/// Why a reply is not a draft. Carries positions and rules, never the reply's text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidDraft {
    #[error("the reply is {bytes} bytes long, at most {max} are read", max = DiagnosisDraft::MAX_BYTES)]
    TooLong { bytes: usize },
    #[error("the reply is no DiagnosisDraft (line {line}, column {column})")]
    NotTheSchema { line: usize, column: usize },
    #[error("the draft has more than {max} entries in one list", max = DiagnosisDraft::MAX_ITEMS)]
    TooManyItems,
}

impl DiagnosisDraft {
    /// Bytes of a reply that are parsed at most.
    pub const MAX_BYTES: usize = 64 * 1024;
    /// Entries of any one list.
    pub const MAX_ITEMS: usize = 64;

    /// Reads a model's reply strictly: one JSON object, no unknown, missing or repeated fields, nothing after it.
    pub fn parse(text: &str) -> Result<Self, InvalidDraft> {
        if text.len() > Self::MAX_BYTES {
            return Err(InvalidDraft::TooLong { bytes: text.len() });
        }
        let draft: Self = crate::strict::from_str(text)
            .map_err(|e| InvalidDraft::NotTheSchema { line: e.line(), column: e.column() })?;
        if draft.list_lengths().into_iter().any(|n| n > Self::MAX_ITEMS) {
            return Err(InvalidDraft::TooManyItems);
        }
        Ok(draft)
    }

    fn list_lengths(&self) -> Vec<usize> {
        let limits = [self.analyses.len(), self.actions.len(), self.recommendations.len()];
        let notes = [self.limitations.missing_info.len(), self.limitations.caveats.len()];
        let cited = self.analyses.iter().map(|a| a.tool_call_ids.len());
        let conclusion = self.conclusion.iter().map(|c| &c.based_on_analysis_ids);
        let actions = self.actions.iter().map(|a| &a.based_on_analysis_ids);
        let recommendations = self.recommendations.iter().map(|r| &r.based_on_analysis_ids);
        let based_on = conclusion.chain(actions).chain(recommendations).map(Vec::len);
        limits.into_iter().chain(notes).chain(cited).chain(based_on).collect()
    }

    /// The well-formed tool call ids of all analyses, each once, in order of first mention: what one store read must fetch.
    pub fn cited_calls(&self) -> Vec<ToolCallId> {
        let mut ids = Vec::new();
        for text in self.analyses.iter().flat_map(|a| &a.tool_call_ids) {
            if let Ok(id) = ToolCallId::parse(text)
                && !ids.contains(&id)
            {
                ids.push(id);
            }
        }
        ids
    }
}

/// Everything of a draft that a user would read, in order, and no ids: what a repair must not change, and what the semantic
/// guard judges.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SemanticDraftView<'a> {
    pub conclusion: Option<&'a str>,
    pub analyses: Vec<AnalysisView<'a>>,
    pub actions: Vec<ActionView<'a>>,
    pub recommendations: Vec<&'a str>,
    pub limitations: &'a Limitations,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AnalysisView<'a> {
    pub kind: AnalysisKind,
    pub text: &'a str,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ActionView<'a> {
    pub text: &'a str,
    pub requires_human_confirmation: bool,
}

impl<'a> SemanticDraftView<'a> {
    pub fn of(draft: &'a DiagnosisDraft) -> Self {
        // Destructured without `..`: a new field must decide here whether a user sees it.
        let DiagnosisDraft { conclusion, analyses, actions, recommendations, limitations } = draft;
        let analysis = |a: &'a Analysis| {
            let Analysis { analysis_id: _, kind, text, tool_call_ids: _ } = a;
            AnalysisView { kind: *kind, text }
        };
        let action = |a: &'a Action| {
            let Action { text, requires_human_confirmation, based_on_analysis_ids: _ } = a;
            ActionView { text, requires_human_confirmation: *requires_human_confirmation }
        };
        Self {
            conclusion: conclusion.as_ref().map(|c| c.text.as_str()),
            analyses: analyses.iter().map(analysis).collect(),
            actions: actions.iter().map(action).collect(),
            recommendations: recommendations.iter().map(|r| r.text.as_str()).collect(),
            limitations,
        }
    }
}

#[cfg(test)]
#[path = "draft_tests.rs"]
mod tests;
