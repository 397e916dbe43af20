//! A test-only package: see `tests/acceptance` and `tests/tidy.rs`.
