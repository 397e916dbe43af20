//! The three read-only evidence tools: runbook search, log search and business-database queries.
//!
//! Each tool is one [`agent::ports::EvidenceTool`]: its schema, its description and its code are one object.

pub mod arguments;
pub mod blocking;
pub mod knowledge;
pub mod logs;
pub mod mysql;
pub mod redaction;
