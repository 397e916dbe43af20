//! Tool calls that arrive in pieces. Servers disagree on index, id and name, so each rule is written down here; a piece that
//! fits nowhere makes a call of its own, and half a call never becomes a whole one.

use serde_json::{Value, json};

/// More calls than any turn has; one that has more is refused whole, since a call that is lost is never answered.
const MAX_CALLS: usize = 256;

#[derive(Debug, Default)]
pub(super) struct PartialCalls {
    calls: Vec<PartialCall>,
    kept_bytes: usize,
    too_many: bool,
}

#[derive(Debug)]
struct PartialCall {
    index: Option<String>,
    id: Option<String>,
    name: String,
    arguments: String,
    /// Where in `arguments` each piece after the first begins.
    cuts: Vec<usize>,
}

/// What one delta says of a call.
struct Piece {
    index: Option<String>,
    id: Option<String>,
    name: String,
    arguments: String,
}

impl PartialCalls {
    pub(super) fn kept_bytes(&self) -> usize {
        self.kept_bytes
    }

    pub(super) fn take(&mut self, call: &Value) {
        let piece = Piece::read(call);
        self.kept_bytes +=
            piece.arguments.len() + piece.name.len() + piece.id.as_ref().map_or(0, String::len);
        match self.place(&piece) {
            Some(at) => self.calls[at].extend(piece),
            None if self.calls.len() < MAX_CALLS => self.calls.push(PartialCall::begin(piece)),
            None => self.too_many = true,
        }
    }

    /// Whether there were more calls than are kept.
    pub(super) fn too_many(&self) -> bool {
        self.too_many
    }

    /// The calls as a response that came in one piece lists them.
    pub(super) fn into_values(self) -> Vec<Value> {
        self.calls.into_iter().map(PartialCall::into_value).collect()
    }

    /// The call that `piece` continues.
    fn place(&self, piece: &Piece) -> Option<usize> {
        let same_index = |call: &PartialCall| call.index == piece.index || piece.index.is_none();
        if piece.id.is_some() {
            let known = self.calls.iter().rposition(|call| call.id == piece.id && same_index(call));
            if known.is_some() {
                return known;
            }
        }
        let last = match piece.index {
            Some(_) => self.calls.iter().rposition(|call| call.index == piece.index),
            None if piece.id.is_some() => None,
            None => self.calls.len().checked_sub(1),
        }?;
        self.calls[last].is_continued_by(piece).then_some(last)
    }
}

impl Piece {
    fn read(call: &Value) -> Self {
        let word = |value: &Value| match value {
            Value::String(text) => Some(text.trim().to_owned()).filter(|text| !text.is_empty()),
            Value::Number(number) => Some(number.to_string()),
            _ => None,
        };
        let id = match &call["id"] {
            Value::String(text) => Some(text.clone()).filter(|text| !text.is_empty()),
            other => word(other),
        };
        let function = &call["function"];
        let arguments = match &function["arguments"] {
            Value::Null => String::new(),
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let name = function["name"].as_str().unwrap_or_default().to_owned();
        Self { index: word(&call["index"]), id, name, arguments }
    }
}

impl PartialCall {
    fn begin(piece: Piece) -> Self {
        let Piece { index, id, name, arguments } = piece;
        Self { index, id, name, arguments, cuts: Vec::new() }
    }

    /// Whether `piece`, which stands at this call's index and has no other call's id, belongs to it.
    fn is_continued_by(&self, piece: &Piece) -> bool {
        let other_id = self.id.is_some() && piece.id.is_some() && self.id != piece.id;
        if other_id {
            // A server that mints an id for each chunk sends the name once; a second call brings its own.
            return piece.name.is_empty() && !self.is_whole();
        }
        if piece.name.is_empty() || self.name.is_empty() {
            return true;
        }
        // The name again: part of the habit of repeating it, or the next call of a server without ids.
        !(piece.arguments.trim_start().starts_with('{') && self.is_whole() && piece.id.is_none())
            && (piece.name == self.name || self.arguments.is_empty())
    }

    fn is_whole(&self) -> bool {
        is_object(&self.arguments)
    }

    fn extend(&mut self, piece: Piece) {
        self.id = self.id.take().or(piece.id);
        if self.name != piece.name {
            self.name.push_str(&piece.name);
        }
        if !piece.arguments.is_empty() {
            self.cuts.push(self.arguments.len());
            self.arguments.push_str(&piece.arguments);
        }
    }

    fn into_value(self) -> Value {
        let arguments = self.newest().unwrap_or(&self.arguments);
        json!({ "id": self.id, "type": "function", "function": { "name": self.name, "arguments": arguments } })
    }

    /// The last piece, if each one repeats the one before it and adds to it: such servers send the arguments so far, not what
    /// is new. Only asked where the pieces together are no JSON.
    fn newest(&self) -> Option<&str> {
        if self.cuts.is_empty() || self.is_whole() {
            return None;
        }
        let starts = std::iter::once(0).chain(self.cuts.iter().copied());
        let ends = self.cuts.iter().copied().chain([self.arguments.len()]);
        let pieces: Vec<&str> = starts.zip(ends).map(|(from, to)| &self.arguments[from..to]).collect();
        let grows = pieces.windows(2).all(|pair| pair[1].starts_with(pair[0]));
        pieces.last().copied().filter(|last| grows && is_object(last))
    }
}

fn is_object(text: &str) -> bool {
    text.trim_end().ends_with('}') && matches!(serde_json::from_str(text), Ok(Value::Object(_)))
}
