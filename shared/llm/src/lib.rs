//! The model port over HTTP: one transport, one retry policy, one module per wire format.
//!
//! Nothing here reads the environment or keeps what was said: logs carry roles, status codes, durations and
//! fault codes only.

mod anthropic;
mod chain;
mod dialect;
mod endpoint;
mod faults;
mod http_model;
mod openai;
mod price;
mod probe;
mod profile;
mod retry;
mod sse;
mod transport;

pub use chain::Chain;
pub use endpoint::{Endpoint, InvalidEndpoint, Secret};
pub use http_model::{HttpModel, Patience, Wire};
pub use price::Price;
pub use probe::Trouble;
pub use profile::Profile;
pub use retry::{RetryPolicy, is_temporary};
