//! The canonical store: the truth of what tools returned in a run. Fail-closed: no record, no observation.

use async_trait::async_trait;
use domain::evidence::CanonicalRecord;
use domain::ids::{RunId, ToolCallId};

use super::StoreError;

/// Records live 24 hours. Implementations bound sizes, validate nothing of the content, and never overwrite a terminal record.
#[async_trait]
pub trait CanonicalStore: Send + Sync {
    /// Writes a `STARTED` record, create-only.
    ///
    /// # Errors
    /// `Conflict` if the id exists in this run, whatever its state.
    async fn start(&self, record: &CanonicalRecord) -> Result<(), StoreError>;

    /// Replaces a `STARTED` or `PROJECTING` record by its terminal form (`READY` or `FAILED`), compare-and-set.
    ///
    /// # Errors
    /// `Conflict` if there is no such record or it is terminal already; `TooLarge` before anything is sent.
    async fn finish(&self, record: &CanonicalRecord) -> Result<(), StoreError>;

    /// The records of `ids` that exist in `run_id` and have not expired, in any order, in one round trip.
    async fn read(&self, run_id: RunId, ids: &[ToolCallId]) -> Result<Vec<CanonicalRecord>, StoreError>;

    /// Whether the store answers.
    async fn ping(&self) -> Result<(), StoreError>;
}

/// Bytes of one record at most, raw response included.
pub const MAX_RECORD_BYTES: usize = 512 * 1024;
/// How long a record lives, in seconds.
pub const RECORD_TTL_SECONDS: u64 = 24 * 60 * 60;
