//! The three stores behind the agent's ports: canonical records, the ledger, run control.
//!
//! Nothing here connects before its first use, and no error or log line carries stored content, SQL
//! parameters or a URL.

pub mod canonical;
pub mod ledger;
pub mod run_control;

pub use ledger::SqlLedger;
pub use run_control::DynamoRunControl;

/// A store's address can't be used. Never carries the address itself: it may hold a password.
#[derive(Debug, thiserror::Error)]
pub enum AddressError {
    #[error("{variable} must be {expected}")]
    Scheme { variable: &'static str, expected: &'static str },
    #[error("{variable} is no valid address: {why}")]
    Invalid { variable: &'static str, why: &'static str },
}
