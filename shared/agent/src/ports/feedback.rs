//! What callers say of their runs: one rating a caller and run, the latest counts.

use async_trait::async_trait;
use domain::ids::{CallerId, RunId};
use serde::Serialize;
use time::OffsetDateTime;

use super::StoreError;

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Feedback {
    pub rating: Rating,
    pub reason: Option<String>,
    pub comment: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Rating {
    Up,
    Down,
}

impl Rating {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Up => "UP",
            Self::Down => "DOWN",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        [Self::Up, Self::Down].into_iter().find(|rating| rating.as_str() == text)
    }
}

/// Whose run it is was checked before.
#[async_trait]
pub trait FeedbackStore: Send + Sync {
    /// Replaces what this caller said before.
    async fn rate(
        &self,
        run_id: RunId,
        caller: &CallerId,
        feedback: &Feedback,
        at: OffsetDateTime,
    ) -> Result<(), StoreError>;

    async fn rating(&self, run_id: RunId, caller: &CallerId) -> Result<Option<Feedback>, StoreError>;
}
