//! The business-database evidence tool.
//!
//! [`ReadOnlySelect::check`] is the only way to a statement that may be sent to a business database. It
//! works in two steps that have to agree: a linear scanner reads the text with the server's own rules for
//! quotes and comments and refuses whatever two readers could see differently, then the syntax tree is
//! walked and everything that isn't known to be fine is refused. What is executed afterwards is the
//! original text, never a printed tree.

mod call;
mod cells;
mod characters;
mod clauses;
mod collect;
mod digest;
#[cfg(feature = "sqlite")]
mod embedded;
mod expr;
mod from;
mod functions;
mod grammar;
mod guard;
mod hints;
mod lexical;
mod mask;
mod nesting;
mod policy;
mod query;
mod quotes;
mod recursion;
mod refusal;
mod scope;
mod server;
mod shapes;
mod source;
mod steps;
mod tool;
mod words;

pub use guard::ReadOnlySelect;
pub use policy::{Dialect, Policy};
pub use refusal::{Refusal, Rule};
pub use source::{BusinessDatabase, InvalidAddress, TableNote};
pub use tool::MysqlTool;

#[cfg(test)]
mod guard_tests;
#[cfg(test)]
mod property_tests;
