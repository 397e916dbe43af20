//! The Chat Completions wire and everything compatible with it: its requests, and the one reader of replies, into whose words
//! the other wire's are put.

mod arguments;
mod assembly;
mod intake;
mod partial_call;
mod partial_reasoning;
mod reader;
mod request;
mod text;

pub(crate) use intake::Intake;
pub(crate) use reader::Reading;
pub(crate) use request::body;
