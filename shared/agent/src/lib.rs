//! The use cases: one run from a question to its terminal state, through ports that others implement.
//!
//! Start reading at [`run`]: the driver that performs what `domain::run` decides.

pub mod ports;
