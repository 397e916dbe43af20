//! Assembly: configuration, telemetry, and the one place where ports meet their implementations.

pub mod config;
pub mod connect;
pub mod data_sources;
pub mod keys;
pub mod library;
pub mod metrics;
pub mod model_check;
pub mod secrets;
pub mod telemetry;

pub use config::{Config, Needs};
pub use connect::App;
