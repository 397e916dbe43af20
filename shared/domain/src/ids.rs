//! Identifiers. Each is a newtype that only its validator can make, so that a string that reached a store key was checked.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// Why a text is not the identifier it claims to be. Never carries the text itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{what} must be {rule}")]
pub struct InvalidId {
    what: &'static str,
    rule: &'static str,
}

/// One run. A UUID (version 7 when we make it), so that runs sort by their start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RunId(Uuid);

impl RunId {
    pub fn new(uuid: Uuid) -> Self {
        Self(uuid)
    }

    /// Reads the hyphenated form and nothing else: one run has one spelling in every key and path.
    pub fn parse(text: &str) -> Result<Self, InvalidId> {
        let invalid = InvalidId { what: "run_id", rule: "a lower-case hyphenated UUID" };
        let uuid = Uuid::try_parse(text).map_err(|_| invalid)?;
        if uuid.hyphenated().to_string() == text { Ok(Self(uuid)) } else { Err(invalid) }
    }

    /// When the id was made, in whole seconds since 1970; `None` if it isn't one of version 7.
    pub fn made_at_seconds(self) -> Option<u64> {
        self.0.get_timestamp().map(|made| made.to_unix().0)
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.hyphenated().fmt(f)
    }
}

/// A conversation: `[A-Za-z0-9_-]{1,64}`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SessionId(String);

impl SessionId {
    pub const MAX_CHARS: usize = 64;

    pub fn parse(text: &str) -> Result<Self, InvalidId> {
        let valid = (1..=Self::MAX_CHARS).contains(&text.len())
            && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
        if valid {
            Ok(Self(text.to_owned()))
        } else {
            Err(InvalidId { what: "session_id", rule: "1 to 64 characters of A-Z a-z 0-9 _ -" })
        }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A provider's id of one tool call, or one that we minted. Safe inside a store key or a header.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ToolCallId(String);

impl ToolCallId {
    pub const MAX_CHARS: usize = 128;

    /// Accepts what providers really send (`call_abc`, `functions.query_logs:0`, `toolu_01…`): printable ASCII without
    /// separators of paths, keys, quotes or patterns.
    pub fn parse(text: &str) -> Result<Self, InvalidId> {
        let valid = (1..=Self::MAX_CHARS).contains(&text.len())
            && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-.:|=+@#".contains(&b));
        if valid {
            Ok(Self(text.to_owned()))
        } else {
            Err(InvalidId {
                what: "tool_call_id",
                rule: "1 to 128 characters of A-Z a-z 0-9 _ - . : | = + @ #",
            })
        }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Who called. Opaque: an API key's id, an OIDC subject's digest, or `local`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct CallerId(String);

impl CallerId {
    pub const MAX_CHARS: usize = 64;

    pub fn parse(text: &str) -> Result<Self, InvalidId> {
        let valid = (1..=Self::MAX_CHARS).contains(&text.len())
            && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-.:".contains(&b));
        if valid {
            Ok(Self(text.to_owned()))
        } else {
            Err(InvalidId { what: "caller id", rule: "1 to 64 characters of A-Z a-z 0-9 _ - . :" })
        }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

macro_rules! text_id {
    ($($id:ident),*) => {$(
        impl fmt::Display for $id {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
        impl TryFrom<String> for $id {
            type Error = InvalidId;
            fn try_from(text: String) -> Result<Self, InvalidId> {
                Self::parse(&text)
            }
        }
        impl From<$id> for String {
            fn from(id: $id) -> Self {
                id.0
            }
        }
    )*};
}
text_id!(SessionId, ToolCallId, CallerId);

/// Hands out the run's tool call ids: a provider's id unchanged when it is usable and new, a minted one otherwise.
///
/// Ids are unique over the whole run, not just one reply, because the canonical record of an earlier round must never be
/// mistaken for that of a later one.
#[derive(Debug, Default)]
pub struct CallIds {
    seen: BTreeSet<ToolCallId>,
    minted: u32,
}

impl CallIds {
    pub fn assign(&mut self, provider_id: Option<&str>) -> ToolCallId {
        if let Some(Ok(id)) = provider_id.map(ToolCallId::parse)
            && self.seen.insert(id.clone())
        {
            return id;
        }
        loop {
            self.minted += 1;
            let id = ToolCallId(format!("sbz_{}", self.minted));
            if self.seen.insert(id.clone()) {
                return id;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn good_provider_ids_travel_unchanged_and_bad_ones_are_minted_once_each() {
        let mut ids = CallIds::default();
        let long = "x".repeat(129);
        let asked = [
            Some("call_1"),
            Some("functions.query_logs:0"),
            None,
            Some(""),
            Some("call_1"),
            Some(&long),
            Some("a b"),
            Some("sbz_1"),
        ];
        let given: Vec<String> = asked.iter().map(|id| ids.assign(*id).to_string()).collect();
        assert_eq!(
            given,
            ["call_1", "functions.query_logs:0", "sbz_1", "sbz_2", "sbz_3", "sbz_4", "sbz_5", "sbz_6"]
        );
    }

    #[test]
    fn key_injection_is_no_id() {
        for text in ["a/b", "a\nb", "a{b}", "a*b", "é", "a\0", "a b", "a%2f", "..\\"] {
            assert!(ToolCallId::parse(text).is_err(), "{text:?}");
        }
        assert!(SessionId::parse("a.b").is_err());
        assert!(RunId::parse("0190B3C4-0000-7000-8000-000000000000").is_err(), "one spelling only");
    }
}
