//! The Messages wire: its requests, and its replies put into the one form that is read.

mod reply;
mod request;

pub(crate) use reply::{chunk, response};
pub(crate) use request::body;
