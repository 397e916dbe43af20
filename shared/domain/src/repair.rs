//! Evidence repair: references may change, a word of the report may not.

use crate::draft::{DiagnosisDraft, SemanticDraftView};

/// Why a repaired draft was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RepairRefused {
    #[error("the repair is no DiagnosisDraft")]
    NotADraft,
    #[error("the repair changed what a user would read")]
    MeaningChanged,
}

/// Reads a repair reply and accepts it only if everything a user would see is as it was, in the same order.
pub fn accept(original: &DiagnosisDraft, reply: &str) -> Result<DiagnosisDraft, RepairRefused> {
    let repaired = DiagnosisDraft::parse(reply).map_err(|_| RepairRefused::NotADraft)?;
    if SemanticDraftView::of(&repaired) == SemanticDraftView::of(original) {
        Ok(repaired)
    } else {
        Err(RepairRefused::MeaningChanged)
    }
}
