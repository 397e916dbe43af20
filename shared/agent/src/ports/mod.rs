//! What the use cases need of the outside world. llm, tools and stores implement these; nothing here knows them.

pub mod canonical;
pub mod clock;
pub mod documents;
pub mod feedback;
pub mod keys;
pub mod ledger;
pub mod metrics;
pub mod model;
pub mod pseudonyms;
pub mod quality;
pub mod run_control;
pub mod tool;

pub use canonical::CanonicalStore;
pub use clock::{Clock, SystemClock};
pub use documents::{Chunk, CorpusRevision, DocumentSource};
pub use feedback::{Feedback, FeedbackStore, Rating};
pub use keys::ApiKeys;
pub use ledger::Ledger;
pub use metrics::Metrics;
pub use model::{Message, Model, ModelRequest, ResponseSchema, ToolChoice, ToolSpec};
pub use pseudonyms::Pseudonyms;
pub use quality::QualityStore;
pub use run_control::{Admission, RunControl};
pub use tool::{EvidenceTool, ToolCallContext, ToolFailure, ToolOutput};

/// A store could not do what was asked. The chain says why and goes to the log only.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Not reachable, timed out, refused, or answered with an error: nothing is known to have changed.
    #[error("{store} is unavailable: {what}")]
    Unavailable {
        store: &'static str,
        what: &'static str,
        #[source]
        source: Option<Box<dyn std::error::Error + Send + Sync>>,
    },
    /// A create-only or compare-and-set write lost: what is stored is not what the writer expected.
    #[error("{store} holds a conflicting {what}")]
    Conflict { store: &'static str, what: &'static str },
    /// A value is over the store's size limit and was not sent.
    #[error("{store} takes at most {max_bytes} bytes for one {what}")]
    TooLarge { store: &'static str, what: &'static str, max_bytes: usize },
    /// What was read back is not what this system writes.
    #[error("{store} holds an unreadable {what}")]
    Corrupt { store: &'static str, what: &'static str },
}

impl StoreError {
    pub fn unavailable(
        store: &'static str,
        what: &'static str,
        source: impl std::error::Error + Send + Sync + 'static,
    ) -> Self {
        Self::Unavailable { store, what, source: Some(Box::new(source)) }
    }
}
