//! Server-sent events from any cuts of the byte stream: CR, LF and CRLF lines, comments, bounded lines.

/// Bytes of one line and of one event's data at most; a report has some ten thousand.
const MAX_BYTES: usize = 8 * 1024 * 1024;

/// One event; `name` is `message` where the stream names none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    pub name: String,
    pub data: String,
}

/// A line or an event has more bytes than any the service sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooLong;

#[derive(Debug, Default)]
pub struct Decoder {
    line: Vec<u8>,
    /// The last byte was a CR: an LF that follows belongs to it.
    after_cr: bool,
    begun: bool,
    name: String,
    data: Vec<String>,
    data_bytes: usize,
}

impl Decoder {
    /// Takes the next bytes and returns the events that they complete.
    pub fn push(&mut self, bytes: &[u8]) -> Result<Vec<Event>, TooLong> {
        let mut events = Vec::new();
        for &byte in bytes {
            let ends = match byte {
                b'\n' if self.after_cr => false,
                b'\n' | b'\r' => true,
                _ => {
                    self.line.push(byte);
                    false
                }
            };
            self.after_cr = byte == b'\r';
            if self.line.len() > MAX_BYTES {
                return Err(TooLong);
            }
            if ends {
                let line = std::mem::take(&mut self.line);
                events.extend(self.end_line(&String::from_utf8_lossy(&line))?);
            }
        }
        Ok(events)
    }

    fn end_line(&mut self, line: &str) -> Result<Option<Event>, TooLong> {
        let line = if self.begun { line } else { line.strip_prefix('\u{feff}').unwrap_or(line) };
        self.begun = true;
        if line.is_empty() {
            return Ok(self.end_event());
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => self.name = value.to_owned(),
            "data" => {
                self.data_bytes += value.len() + 1;
                if self.data_bytes > MAX_BYTES {
                    return Err(TooLong);
                }
                self.data.push(value.to_owned());
            }
            // A comment has an empty name; `id` and `retry` tell nothing that a run doesn't.
            _ => {}
        }
        Ok(None)
    }

    fn end_event(&mut self) -> Option<Event> {
        let (name, data) = (std::mem::take(&mut self.name), std::mem::take(&mut self.data));
        self.data_bytes = 0;
        let name = if name.is_empty() { "message".to_owned() } else { name };
        (!data.is_empty()).then(|| Event { name, data: data.join("\n") })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STREAM: &str = "\u{feff}id: 1\nevent: metadata\ndata: {\"run_id\":\"支付\"}\n\n: keep-alive\n\nevent: status\r\ndata:no space\r\ndata: second\r\n\r\nretry: 5\rdata\r\revent: empty\n\nevent: done\ndata: {}\n\nevent: cut";

    fn expected() -> Vec<Event> {
        [
            ("metadata", "{\"run_id\":\"支付\"}"),
            ("status", "no space\nsecond"),
            ("message", ""),
            ("done", "{}"),
        ]
        .map(|(name, data)| Event { name: name.to_owned(), data: data.to_owned() })
        .to_vec()
    }

    #[test]
    fn cut_at_every_byte() {
        let bytes = STREAM.as_bytes();
        for cut in 0..=bytes.len() {
            let mut decoder = Decoder::default();
            let mut events = decoder.push(&bytes[..cut]).unwrap();
            events.extend(decoder.push(&bytes[cut..]).unwrap());
            assert_eq!(events, expected(), "cut at {cut}");
        }
    }

    #[test]
    fn in_pieces_of_every_size() {
        for size in 1..9 {
            let mut decoder = Decoder::default();
            let pieces = STREAM.as_bytes().chunks(size);
            let events: Vec<Event> = pieces.flat_map(|piece| decoder.push(piece).unwrap()).collect();
            assert_eq!(events, expected(), "pieces of {size}");
        }
    }

    #[test]
    fn lines_and_events_are_bounded() {
        let endless = vec![b'x'; 1024 * 1024];
        let mut decoder = Decoder::default();
        assert!((0..9).any(|_| decoder.push(&endless) == Err(TooLong)));
        let mut decoder = Decoder::default();
        let line = [b"data: ".as_slice(), &endless, b"\n"].concat();
        assert!((0..9).any(|_| decoder.push(&line) == Err(TooLong)));
    }

    #[test]
    fn broken_utf8_is_replaced() {
        let events = Decoder::default().push(b"data: a\xffb\n\n").unwrap();
        assert_eq!(events[0].data, "a\u{fffd}b");
    }
}
