//! Bytes → frames: lines are split at LF only, and a line is decoded when it is complete, so a character may
//! be cut anywhere.

use super::Fault;

/// What stands between two empty lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Frame {
    KeepAlive,
    Event { id: String, name: String, data: String },
}

#[derive(Debug, Default)]
pub struct Decoder {
    /// Bytes of the line that is not complete yet.
    line: Vec<u8>,
    keep_alive: bool,
    id: Option<String>,
    name: Option<String>,
    data: Option<String>,
    keep_alives: usize,
}

impl Decoder {
    /// The frames that `bytes` completes.
    ///
    /// # Errors
    /// A line or a frame that the contract doesn't know.
    pub fn push(&mut self, bytes: &[u8]) -> Result<Vec<Frame>, Fault> {
        let mut frames = Vec::new();
        for &byte in bytes {
            match byte {
                b'\n' => {
                    let line =
                        String::from_utf8(std::mem::take(&mut self.line)).map_err(|_| Fault::NotUtf8)?;
                    frames.extend(self.end_line(&line)?);
                }
                // No raw CR or other control byte is needed anywhere: JSON escapes them.
                0..0x20 | 0x7f => return Err(Fault::ControlByte(byte)),
                _ => self.line.push(byte),
            }
        }
        Ok(frames)
    }

    /// Whether something was received that no empty line has ended yet.
    pub fn has_rest(&self) -> bool {
        !self.line.is_empty() || self.keep_alive || self.in_event()
    }

    /// Keep-alive comments so far.
    pub fn keep_alives(&self) -> usize {
        self.keep_alives
    }

    fn in_event(&self) -> bool {
        self.id.is_some() || self.name.is_some() || self.data.is_some()
    }

    fn end_line(&mut self, line: &str) -> Result<Option<Frame>, Fault> {
        if line.is_empty() {
            return self.end_frame().map(Some);
        }
        if line.starts_with(':') {
            if line != ": keep-alive" || self.in_event() || self.keep_alive {
                return Err(Fault::Comment(line.to_owned()));
            }
            self.keep_alive = true;
            return Ok(None);
        }
        if self.keep_alive {
            return Err(Fault::Comment(format!(": keep-alive followed by {line}")));
        }
        let (field, value) = line.split_once(':').ok_or_else(|| Fault::UnknownLine(line.to_owned()))?;
        let value = value.strip_prefix(' ').unwrap_or(value).to_owned();
        let (slot, field) = match field {
            "id" => (&mut self.id, "id"),
            "event" => (&mut self.name, "event"),
            "data" => (&mut self.data, "data"),
            _ => return Err(Fault::UnknownLine(line.to_owned())),
        };
        if slot.replace(value).is_some() {
            return Err(Fault::RepeatedField(field));
        }
        Ok(None)
    }

    fn end_frame(&mut self) -> Result<Frame, Fault> {
        if std::mem::take(&mut self.keep_alive) {
            self.keep_alives += 1;
            return Ok(Frame::KeepAlive);
        }
        if !self.in_event() {
            return Err(Fault::EmptyFrame);
        }
        let name = self.name.take().ok_or(Fault::MissingField("event"))?;
        let data = self.data.take().ok_or(Fault::MissingField("data"))?;
        let id = self.id.take().ok_or(Fault::MissingField("id"))?;
        Ok(Frame::Event { id, name, data })
    }
}
