//! Everything the tests and the development launcher stand on. Never part of a production binary.

pub mod cloudwatch;
pub mod dynamo;
pub mod emulator;
pub mod fault_proxy;
pub mod local;
pub mod mariadb;
pub mod provider;
pub mod redis;
pub mod scenario;
pub mod sse;
