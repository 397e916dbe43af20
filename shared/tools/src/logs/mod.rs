//! The log evidence tool: which kinds of lines a service wrote in a time window, how often, and samples of
//! them.
//!
//! A [`LogSource`] reads lines and offers them to a [`Collector`], which filters, counts and mines templates
//! in bounded memory; [`LogsTool`] turns what was collected into the bounded projection. Sources are folders of files and
//! CloudWatch Logs.

mod arguments;
pub mod cloudwatch;
mod collect;
mod events;
mod files;
mod header;
mod instant;
mod level;
mod line;
mod mask;
pub mod patterns;
mod projection;
mod reader;
mod record;
mod source;
mod terms;
mod timestamp;
mod tool;
mod window;

pub use collect::Collector;
pub use files::FolderSource;
pub use level::Level;
pub use line::LogLine;
pub use source::{LogSearch, LogSource, LogSourceError};
pub use terms::Terms;
pub use tool::LogsTool;
pub use window::{TimeExpression, Window};

#[cfg(test)]
mod corpora_tests;
#[cfg(test)]
mod scenario_tests;
#[cfg(test)]
mod tool_tests;
