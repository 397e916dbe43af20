//! Everything the tests and the development launcher stand on. Never part of a production binary.

pub mod emulator;
pub mod scenario;
pub mod sse;
