//! Takes the bytes of a 200 response as they come, an event stream or one JSON document: servers answer with either,
//! whatever was asked and whatever the content type says.

use domain::model::ModelFault;
use serde_json::Value;

use super::assembly::{Assembled, Assembly};
use super::reader::{self, Reading};
use crate::sse::Decoder;

/// Bytes of one reply that are kept at most; a stream's envelopes do not count.
const MAX_KEPT_BYTES: usize = 4 * 1024 * 1024;

/// A reply on its way.
#[derive(Debug)]
pub(crate) struct Intake {
    form: Form,
    too_large: bool,
    keeps_reasoning: bool,
}

#[derive(Debug, Default)]
enum Form {
    /// Only white space and a byte order mark so far.
    #[default]
    Unknown,
    Document(Vec<u8>),
    Stream(Decoder, Box<Assembly>),
}

impl Intake {
    pub(crate) fn new(keeps_reasoning: bool) -> Self {
        Self { form: Form::Unknown, too_large: false, keeps_reasoning }
    }

    /// Whether the model has begun to answer: from then on silence is measured, not patience.
    pub(crate) fn has_begun(&self) -> bool {
        match &self.form {
            Form::Unknown => false,
            Form::Document(_) => true,
            Form::Stream(_, assembly) => assembly.has_begun(),
        }
    }

    /// Whether nothing of use can follow, so that the connection need not be waited for.
    pub(crate) fn is_done(&self) -> bool {
        self.too_large || matches!(&self.form, Form::Stream(_, assembly) if assembly.is_done())
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) {
        if let Form::Unknown = self.form {
            let blank = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, 0xef | 0xbb | 0xbf);
            let Some(first) = bytes.iter().position(|byte| !blank(byte)) else { return };
            self.form = match bytes[first] {
                // A field name or a comment.
                b'd' | b'e' | b'i' | b'r' | b':' => Form::Stream(Decoder::default(), Box::default()),
                _ => Form::Document(Vec::new()),
            };
            self.keep(&bytes[first..]);
        } else {
            self.keep(bytes);
        }
    }

    /// `clean` is whether the server itself ended the body.
    pub(crate) fn finish(self, clean: bool) -> Reading {
        let keeps_reasoning = self.keeps_reasoning;
        let mut reading = self.read(clean);
        if let Ok(reply) = &mut reading.reply
            && (!keeps_reasoning || reply.calls.is_empty())
        {
            reply.reasoning = None;
        }
        reading
    }

    fn read(self, clean: bool) -> Reading {
        if self.too_large {
            return Reading::failed(ModelFault::ParseError);
        }
        match self.form {
            Form::Unknown => Reading::failed(ModelFault::Transport),
            Form::Document(body) if clean => reader::read(&body),
            Form::Document(_) => Reading::failed(ModelFault::Transport),
            Form::Stream(decoder, mut assembly) => {
                if let Some(last) = decoder.finish() {
                    assembly.take(&last);
                }
                match assembly.finish(clean) {
                    Assembled::Response(response) => reader::read_response(&response),
                    Assembled::Cut(Value::Null) => Reading::failed(ModelFault::Transport),
                    Assembled::Cut(response) => reader::read_cut(&response),
                    Assembled::Foreign => Reading::failed(ModelFault::ParseError),
                }
            }
        }
    }

    fn keep(&mut self, bytes: &[u8]) {
        match &mut self.form {
            Form::Unknown => {}
            Form::Document(body) if body.len() + bytes.len() > MAX_KEPT_BYTES => self.too_large = true,
            Form::Document(body) => body.extend_from_slice(bytes),
            Form::Stream(decoder, assembly) => {
                let pushed = decoder.push(bytes, |event| assembly.take(&event));
                self.too_large = pushed.is_err()
                    || assembly.kept_bytes() > MAX_KEPT_BYTES
                    || assembly.has_too_many_calls();
            }
        }
    }
}

#[cfg(test)]
#[path = "intake_tests.rs"]
mod tests;
