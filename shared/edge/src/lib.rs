//! What the chat and api functions share of HTTP: reading requests, naming callers, refusing in one voice.

pub mod alert;
pub mod auth;
pub mod problem;
pub mod request;
