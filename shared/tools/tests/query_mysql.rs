//! `query_mysql` from arguments to projection, against a private MariaDB with a least-privilege user and against SQLite files.
//!
//! Tests that need MariaDB say so and pass where it is not installed.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking, in its helpers, too")]
#![expect(clippy::print_stdout, reason = "a skipped test says so")]

#[path = "query_mysql/cases.rs"]
mod cases;
#[path = "query_mysql/column_types.rs"]
mod column_types;
#[path = "query_mysql/failures.rs"]
mod failures;
#[path = "query_mysql/limits.rs"]
mod limits;
#[path = "query_mysql/relay.rs"]
mod relay;
#[path = "query_mysql/schema.rs"]
mod schema;
#[path = "query_mysql/session.rs"]
mod session;
#[path = "query_mysql/shop.rs"]
mod shop;
#[path = "query_mysql/sqlite.rs"]
mod sqlite;
#[path = "query_mysql/time.rs"]
mod time;
