//! Texts that a model may not pass off as its own: the harness's instructions, and a report that a source wrote for it.
//!
//! Texts are compared by their letters and digits alone: case, spaces, line breaks, markup and invisible characters change
//! nothing. A translation or an encoding is not recognised; that is left to the guards.

use std::collections::HashSet;
use std::sync::LazyLock;

use serde_json::Value;

use crate::draft::{DiagnosisDraft, SemanticDraftView};
use crate::evidence::Projection;
use crate::knowledge::KnowledgeDraft;
use crate::run::{ABOUT, RouteReply};
use crate::schema::strict;
use crate::semantic::VerdictReply;

/// So many letters and digits in a row, the same as in a prompt, are no coincidence: some twelve English words. An
/// honest introduction shares half of that with the prompts.
const RUN: usize = 60;
/// A text with fewer letters is no report.
const MIN_REPORT: usize = 40;

/// What the system prompts say, one entry per file; the fact sheet is not among them, it is there to be told.
const PROMPTS: [&str; 6] = [
    include_str!("../../../prompts/route.md"),
    include_str!("../../../prompts/diagnose.md"),
    include_str!("../../../prompts/repair.md"),
    include_str!("../../../prompts/review.md"),
    include_str!("../../../prompts/knowledge.md"),
    include_str!("../../../prompts/system.md"),
];

/// The instructions and reply schemas of all roles.
static INSTRUCTIONS: LazyLock<Vec<Vec<char>>> = LazyLock::new(|| {
    let schemas = [
        strict::<RouteReply>(),
        strict::<DiagnosisDraft>(),
        strict::<VerdictReply>(),
        strict::<KnowledgeDraft>(),
    ];
    let schemas = schemas.iter().map(|schema| letters(&schema.to_string()).collect());
    PROMPTS.iter().map(|text| letters(text).collect()).chain(schemas).collect()
});

/// Every run of [`RUN`] letters of them that the fact sheet does not hold too.
static RUNS: LazyLock<HashSet<&'static [char]>> = LazyLock::new(|| {
    let told: Vec<char> = letters(ABOUT).collect();
    let told: HashSet<&[char]> = told.windows(RUN).collect();
    INSTRUCTIONS.iter().flat_map(|text| text.windows(RUN)).filter(|run| !told.contains(run)).collect()
});

/// Whether `text` repeats a passage of a system prompt or of a reply schema.
pub fn repeats_instructions(text: &str) -> bool {
    let text: Vec<char> = letters(text).collect();
    text.windows(RUN).any(|run| RUNS.contains(run))
}

/// Whether anything that a reader of the draft would see does so, read in one go: a passage may be spread over several texts.
pub(crate) fn draft_repeats_instructions(draft: &DiagnosisDraft) -> bool {
    let SemanticDraftView { conclusion, analyses, actions, recommendations, limitations } =
        SemanticDraftView::of(draft);
    let conclusion = conclusion.into_iter();
    let texts = conclusion.chain(analyses.iter().map(|a| a.text)).chain(actions.iter().map(|a| a.text));
    let notes = limitations.missing_info.iter().chain(&limitations.caveats).map(String::as_str);
    repeats_instructions(&texts.chain(recommendations).chain(notes).collect::<String>())
}

/// Whether any statement of the answer does so, read in one go.
pub(crate) fn answer_repeats_instructions(draft: &KnowledgeDraft) -> bool {
    repeats_instructions(&draft.statements.iter().map(|s| s.text.as_str()).collect::<String>())
}

/// Reports that stand ready-made in what the tools returned.
#[derive(Debug, Clone, Default)]
pub(crate) struct ForeignReports(Vec<String>);

impl ForeignReports {
    /// Notes the texts of a result in which a report could stand.
    pub(crate) fn note(&mut self, shown: &Projection) {
        let mut open = vec![serde_json::to_value(shown).unwrap_or_default()];
        while let Some(value) = open.pop() {
            match value {
                Value::String(text) if text.contains('{') => {
                    let text: String = letters(&text).collect();
                    if text.len() >= MIN_REPORT && text.contains("analyses") {
                        self.0.push(text);
                    }
                }
                Value::Array(list) => open.extend(list),
                Value::Object(map) => open.extend(map.into_iter().map(|(_, value)| value)),
                _ => {}
            }
        }
    }

    /// Whether a tool returned this very reply.
    pub(crate) fn hold(&self, reply: &str) -> bool {
        let reply: String = letters(reply).collect();
        !reply.is_empty() && self.0.iter().any(|text| text.contains(&reply))
    }
}

fn letters(text: &str) -> impl Iterator<Item = char> + '_ {
    text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase)
}

#[cfg(test)]
#[path = "verbatim_tests.rs"]
mod tests;
