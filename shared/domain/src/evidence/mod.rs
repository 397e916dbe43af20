//! Evidence: what a tool returned, as stored, and what of it a report may rest on.
//!
//! [`record`] is the stored truth of one tool call, [`projection`] the bounded typed result inside it, [`guard`] the
//! deterministic check of a draft against both, [`literals`] the search for numbers and names that no evidence shows.

pub mod guard;
pub mod literals;
pub mod projection;
pub mod record;
pub mod snapshot;

pub use guard::{EvidenceViolation, Violation, check};
pub use projection::{MysqlToolResult, Projection, QueryLogsToolResult, RagToolResult};
pub use record::{CanonicalRecord, EvidenceStatus, InvocationStatus};
pub use snapshot::{VerifiedEvidence, VerifiedSnapshot};
