//! The pure heart of SuperBizAgent: what a run is, what it may do next, and what it may publish.
//!
//! Nothing here is async, reads a clock, or talks to anything. Start reading at [`run`].

pub mod budget;
pub mod draft;
pub mod events;
pub mod evidence;
pub mod fallback;
pub mod fence;
pub mod ids;
pub mod knowledge;
pub mod model;
pub mod question;
pub mod release;
pub mod repair;
pub mod run;
pub mod schema;
pub mod semantic;
#[cfg(test)]
mod specimens;
mod strict;
pub mod system;
pub mod tool;
pub mod verbatim;
