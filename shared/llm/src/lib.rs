//! The model port over HTTP: one transport, one retry policy, one module per wire format.
//!
//! Nothing here reads the environment or keeps what was said: logs carry roles, status codes, durations and
//! fault codes only.

mod anthropic;
mod endpoint;
mod faults;
mod openai;
mod retry;
mod sse;
mod transport;

pub use endpoint::{Endpoint, InvalidEndpoint, Secret};
pub use openai::{HttpModel, Patience, Wire};
pub use retry::{RetryPolicy, is_temporary};
