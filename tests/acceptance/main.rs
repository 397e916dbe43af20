//! Acceptance: the real function binaries, driven over HTTP.

mod outcomes;
mod scenarios;
mod world;
