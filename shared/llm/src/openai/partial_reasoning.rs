//! A streamed turn's reasoning, for providers that want it back. Nobody here reads it.

use serde_json::{Map, Value};

/// Entries of structured reasoning that are kept of one turn; a turn with more keeps none, since a part is refused.
const MAX_DETAILS: usize = 1024;

#[derive(Debug, Default)]
pub(super) struct PartialReasoning {
    /// By field name: `reasoning_content`, and `reasoning` where servers call it so.
    texts: [(&'static str, String); 2],
    details: Vec<Map<String, Value>>,
    kept_bytes: usize,
    too_many: bool,
}

impl PartialReasoning {
    pub(super) fn kept_bytes(&self) -> usize {
        self.kept_bytes
    }

    pub(super) fn take(&mut self, delta: &Value) {
        for ((field, kept), name) in self.texts.iter_mut().zip(["reasoning_content", "reasoning"]) {
            *field = name;
            let piece = delta[name].as_str().unwrap_or_default();
            kept.push_str(piece);
            self.kept_bytes += piece.len();
        }
        for part in delta["reasoning_details"].as_array().into_iter().flatten() {
            self.detail(part);
        }
    }

    /// Pieces of one entry have its index: their texts are joined, whatever else they say is said last.
    fn detail(&mut self, part: &Value) {
        let Some(part) = part.as_object() else { return };
        let index = part.get("index").filter(|index| index.is_number());
        let place =
            index.and_then(|index| self.details.iter().position(|known| known.get("index") == Some(index)));
        self.kept_bytes += part.values().filter_map(Value::as_str).map(str::len).sum::<usize>();
        match place {
            Some(place) => part.iter().for_each(|(name, value)| join(&mut self.details[place], name, value)),
            None if self.details.len() < MAX_DETAILS => self.details.push(part.clone()),
            None => self.too_many = true,
        }
    }

    /// Writes what was said into the message it belongs to.
    pub(super) fn put_into(self, message: &mut Value) {
        for (field, text) in self.texts {
            if !text.is_empty() {
                message[field] = text.into();
            }
        }
        if !self.details.is_empty() && !self.too_many {
            message["reasoning_details"] = self.details.into();
        }
    }
}

fn join(known: &mut Map<String, Value>, name: &str, value: &Value) {
    match (known.get_mut(name), value) {
        (_, Value::Null) => {}
        (Some(Value::String(before)), Value::String(more)) if matches!(name, "text" | "summary" | "data") => {
            before.push_str(more);
        }
        _ => {
            known.insert(name.to_owned(), value.clone());
        }
    }
}
