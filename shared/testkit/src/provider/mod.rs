//! The model side of a test or a demo: a real HTTP server that speaks Chat Completions on loopback.
//!
//! [`ScriptedProvider`] plays what a test wrote down, HTTP faults included, and checks on every request what
//! providers insist on. [`offline`] is a model that works by rules, for demos and scenario tests without a
//! provider.

mod invariants;
mod messages;
pub mod offline;
mod persona;
mod reply;
mod request;
mod scripted;
mod server;

pub use persona::Persona;
pub use reply::{Call, Reply};
pub use request::{OfferedTool, Received};
pub use scripted::{Script, ScriptedProvider};
pub use server::ModelServer;
