//! The use cases: one run from a question to its terminal state, through ports that others implement.
//!
//! Start reading at [`run`]: the driver that performs what `domain::run` decides.

pub mod admission;
pub mod audit;
pub mod boundary;
mod cancel;
mod conclude;
pub mod context;
mod model_call;
pub mod observation;
pub mod ports;
pub mod progress;
pub mod prompts;
pub mod run;
pub mod runs;
pub mod supervise;
pub mod transcript;

#[cfg(test)]
mod fakes;
#[cfg(test)]
mod leak_tests;
