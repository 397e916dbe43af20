//! The knowledge evidence tool: runbook excerpts for a question, in Chinese and English.
//!
//! [`parse_document`] turns Markdown or plain text into chunks, the store keeps them, [`Searcher`] indexes
//! them in memory per corpus revision, and [`KnowledgeTool`] makes the bounded projection of a search.

mod arguments;
mod chunker;
mod document;
mod excerpt;
mod index;
mod relevance;
mod searcher;
mod synonyms;
mod tokenizer;
mod tool;
mod vocabulary;

pub use chunker::chunks;
pub use document::{DocumentFault, ParsedDocument, parse_document};
pub use searcher::{Found, SearchError, Searcher};
pub use tokenizer::{Token, tokenize};
pub use tool::KnowledgeTool;

#[cfg(test)]
mod evaluation_tests;
#[cfg(test)]
mod scenario_tests;
#[cfg(test)]
mod searcher_tests;
