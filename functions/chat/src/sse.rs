//! Run events as server-sent events: one `id:`, one `event:`, one `data:` line of compact JSON each.

use bytes::Bytes;
use domain::events::RunEvent;

/// Sent when nothing else was for a while; a comment, so that it is no event to anybody.
pub const KEEP_ALIVE: Bytes = Bytes::from_static(b": keep-alive\n\n");

/// Numbers the events of one stream from 1.
#[derive(Debug, Default)]
pub struct Frames {
    sent: u64,
}

impl Frames {
    pub fn frame(&mut self, event: &RunEvent) -> Bytes {
        self.sent += 1;
        // Names are a closed set and ids are ours; text of any other origin is inside the JSON, where CR and LF are escapes.
        // U+2028 and U+2029 are legal in JSON but end a line for some readers.
        let data = serde_json::to_string(event).unwrap_or_else(|_| "{}".to_owned());
        let data = data.replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029");
        Bytes::from(format!("id: {}\nevent: {}\ndata: {data}\n\n", self.sent, event.name()))
    }
}

#[cfg(test)]
mod tests {
    use domain::events::FailureCode;
    use domain::ids::RunId;
    use domain::release::Outcome;
    use serde_json::value::RawValue;

    use super::*;

    #[test]
    fn text_can_not_forge_a_line() {
        let run_id = RunId::parse("0190b3c4-0000-7000-8000-000000000000").unwrap();
        let hostile = serde_json::to_string("x\revent: done\n\ndata: {}\u{2028}y").unwrap();
        let body = RawValue::from_string(hostile).unwrap();
        let mut frames = Frames::default();
        let intent = domain::question::Intent::SystemChat;
        let frame = frames.frame(&RunEvent::Replayed { run_id, intent, outcome: Outcome::Success, body });
        let text = std::str::from_utf8(&frame).unwrap();
        assert_eq!(text.split(['\n', '\r', '\u{2028}']).count(), 5, "three lines and the empty one: {text}");
        let next = frames.frame(&RunEvent::failure(run_id, FailureCode::Internal));
        assert!(next.starts_with(b"id: 2\nevent: failure\ndata: {"));
    }
}
