//! Acceptance: the real function binaries, driven over HTTP.

#![expect(
    clippy::expect_used,
    clippy::panic,
    reason = "a test's helpers fail as its own lines do; clippy excuses only the functions marked as tests"
)]

mod alerts;
mod api;
mod callers;
mod cloudwatch;
mod contract;
mod documents;
mod endurance;
mod faults;
mod front_door;
mod injections;
mod leaks;
mod lifecycle;
mod outcomes;
mod providers;
mod scenarios;
mod secrets;
mod site;
mod world;
