//! Server-sent events out of bytes that are cut anywhere. Only `\n`, `\r\n` and `\r` end a line: providers put other
//! Unicode separators inside their JSON.

/// Bytes that one event's data may have.
const MAX_EVENT_BYTES: usize = 4 * 1024 * 1024;

/// One event that carried data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Event {
    /// Whether its `event:` field said `error`.
    pub is_error: bool,
    /// The data lines, joined with `\n`.
    pub data: Vec<u8>,
}

/// Collects bytes into events.
#[derive(Debug, Default)]
pub(crate) struct Decoder {
    line: Vec<u8>,
    after_cr: bool,
    data: Option<Vec<u8>>,
    is_error: bool,
    first_line_seen: bool,
}

/// An event is larger than any provider's may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EventTooLarge;

impl Decoder {
    /// Reads `bytes` and hands each event that they complete to `each`.
    pub(crate) fn push(&mut self, bytes: &[u8], mut each: impl FnMut(Event)) -> Result<(), EventTooLarge> {
        let mut rest = bytes;
        while !rest.is_empty() {
            // The second half of a CRLF that may have been cut in two.
            if std::mem::take(&mut self.after_cr) && rest[0] == b'\n' {
                rest = &rest[1..];
                continue;
            }
            let end = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            let (piece, after) = rest.split_at(end.unwrap_or(rest.len()));
            let kept = self.line.len() + self.data.as_ref().map_or(0, Vec::len);
            if kept + piece.len() > MAX_EVENT_BYTES {
                return Err(EventTooLarge);
            }
            self.line.extend_from_slice(piece);
            let Some((terminator, after)) = after.split_first() else { return Ok(()) };
            self.after_cr = *terminator == b'\r';
            self.end_line(&mut each);
            rest = after;
        }
        Ok(())
    }

    /// The event that the end of the stream left without its blank line, if there is one.
    pub(crate) fn finish(mut self) -> Option<Event> {
        let mut last = None;
        for _ in 0..2 {
            self.end_line(&mut |event| last = Some(event));
        }
        last
    }

    fn end_line(&mut self, each: &mut impl FnMut(Event)) {
        let mut line = std::mem::take(&mut self.line);
        if !std::mem::replace(&mut self.first_line_seen, true) && line.starts_with("\u{feff}".as_bytes()) {
            line.drain(..3);
        }
        if line.is_empty() {
            let is_error = std::mem::take(&mut self.is_error);
            if let Some(data) = self.data.take() {
                each(Event { is_error, data });
            }
            return;
        }
        let colon = line.iter().position(|byte| *byte == b':').unwrap_or(line.len());
        let value = line.get(colon + 1..).unwrap_or_default();
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match &line[..colon] {
            b"data" => match &mut self.data {
                Some(data) => {
                    data.push(b'\n');
                    data.extend_from_slice(value);
                }
                None => self.data = Some(value.to_vec()),
            },
            b"event" => self.is_error = value == b"error",
            // Comments have an empty name; `id` and `retry` are of no use without reconnecting.
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(pieces: &[&[u8]]) -> Vec<(bool, String)> {
        let (mut decoder, mut events) = (Decoder::default(), Vec::new());
        for piece in pieces {
            decoder.push(piece, |event| events.push(event)).unwrap();
        }
        events.extend(decoder.finish());
        events.into_iter().map(|e| (e.is_error, String::from_utf8(e.data).unwrap())).collect()
    }

    #[test]
    fn every_cut_gives_the_same_events() {
        let text = "\u{feff}: hello\r\n\r\ndata: 支付\r\ndata:second\r\rid: 7\nevent: error\ndata\n\n\
                    data: a\u{2028}b\u{85}c\n\n: bye\ndata: [DONE] \n\nretry: 3\n\ndata: last"
            .as_bytes();
        let expected: Vec<(bool, String)> = [
            (false, "支付\nsecond"),
            (true, ""),
            (false, "a\u{2028}b\u{85}c"),
            (false, "[DONE] "),
            (false, "last"),
        ]
        .map(|(error, data)| (error, data.to_owned()))
        .into();
        for cut in 0..=text.len() {
            assert_eq!(decode(&[&text[..cut], &text[cut..]]), expected, "cut at {cut}");
        }
        let bytes: Vec<&[u8]> = text.chunks(1).collect();
        assert_eq!(decode(&bytes), expected);
    }

    #[test]
    fn an_endless_line_is_refused_not_kept() {
        let mut decoder = Decoder::default();
        let block = vec![b'x'; 1024 * 1024];
        let pushed = (0..5).map(|_| decoder.push(&block, |_| {})).find(Result::is_err);
        assert_eq!(pushed, Some(Err(EventTooLarge)));
    }
}
