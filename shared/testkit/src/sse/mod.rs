//! A strict client of `POST /api/chat`: it accepts nothing that the contract doesn't allow, and remembers
//! when each event arrived.

mod client;
mod decoder;
mod event;
mod order;
mod problem;
mod transcript;

pub use client::{AskError, Stream, ask, loopback_client};
pub use decoder::{Decoder, Frame};
pub use event::{Content, Done, Event, Failure, Metadata, Status, ToolCall};
pub use problem::Problem;
pub use transcript::{Arrived, Transcript};

use order::Order;

/// What a stream did that the contract forbids. The texts say what and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    #[error("header {name}: expected {expected}, found {found:?}")]
    Header { name: &'static str, expected: &'static str, found: String },
    #[error("a carriage return or another control byte in the stream: byte {0:#04x}")]
    ControlByte(u8),
    #[error("the stream is not UTF-8")]
    NotUtf8,
    #[error("unknown line {0:?}")]
    UnknownLine(String),
    #[error("the comment {0:?} is not `: keep-alive`, or stands inside an event")]
    Comment(String),
    #[error("an event has more than one `{0}:` line")]
    RepeatedField(&'static str),
    #[error("an event has no `{0}:` line")]
    MissingField(&'static str),
    #[error("an empty line where no event ended")]
    EmptyFrame,
    #[error("the id is {found:?}, expected {expected}")]
    Id { found: String, expected: u64 },
    #[error("data is not compact JSON: {0:?}")]
    NotCompact(String),
    #[error("the data of {event} doesn't fit: {reason}")]
    Data { event: String, reason: String },
    #[error("unknown event {0:?}")]
    UnknownEvent(String),
    #[error("{found} came after {after}")]
    Order { found: &'static str, after: &'static str },
    #[error("the run id changed to {0}")]
    RunIdChanged(String),
    #[error("status sequence {found} came after {previous}")]
    Sequence { found: u64, previous: u64 },
    #[error("elapsed_ms went back from {previous} to {found}")]
    ElapsedBack { found: u64, previous: u64 },
    #[error("{0}")]
    Inconsistent(String),
    #[error("the stream goes on after done")]
    AfterDone,
    #[error("the stream ended inside an event")]
    Truncated,
    #[error("the stream ended after {0}, without done")]
    NoDone(&'static str),
    #[error("not a problem document: {0}")]
    Problem(String),
}

/// Bytes in, checked events out. Without IO, so that every fault can be a table test.
#[derive(Debug, Default)]
pub struct Checker {
    decoder: Decoder,
    order: Order,
}

impl Checker {
    /// The events that `bytes` completes.
    ///
    /// # Errors
    /// The first fault; the checker must not be used afterwards.
    pub fn push(&mut self, bytes: &[u8]) -> Result<Vec<Event>, Fault> {
        let ended = self.order.is_done();
        if ended && !bytes.is_empty() {
            return Err(Fault::AfterDone);
        }
        let mut events = Vec::new();
        for frame in self.decoder.push(bytes)? {
            if self.order.is_done() {
                return Err(Fault::AfterDone);
            }
            if let Frame::Event { id, name, data } = frame {
                let event = Event::parse(&name, &data)?;
                self.order.accept(id, &event)?;
                events.push(event);
            }
        }
        if self.order.is_done() && self.decoder.has_rest() {
            return Err(Fault::AfterDone);
        }
        Ok(events)
    }

    /// The stream was closed.
    ///
    /// # Errors
    /// When it may not end here.
    pub fn finish(&self) -> Result<(), Fault> {
        if self.decoder.has_rest() {
            return Err(Fault::Truncated);
        }
        self.order.finish()
    }

    /// Comment lines so far.
    pub fn keep_alives(&self) -> usize {
        self.decoder.keep_alives()
    }
}
