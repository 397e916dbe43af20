//! The semantic guard's input and verdict. "It did not run" is never "it passed".

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::evidence::VerifiedSnapshot;
use crate::evidence::guard::is_blank;

/// What the guard is shown, and nothing else: no tool call ids, no transcript, no history.
#[derive(Debug, Clone, Serialize)]
pub struct SemanticInput<'a> {
    pub query: &'a str,
    /// The id-free view of what would be published.
    pub draft: Value,
    pub snapshot: &'a VerifiedSnapshot,
    /// Per analysis: literals that its evidence does not show.
    pub ungrounded_literals: &'a BTreeMap<String, Vec<String>>,
}

/// Bytes of the serialised input at most; beyond it the guard is unavailable.
pub const MAX_INPUT_BYTES: usize = 96 * 1024;
/// Bytes of the guard's reply that are read at most.
pub const MAX_OUTPUT_BYTES: usize = 8 * 1024;

/// The guard's answer: exactly these two fields.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VerdictReply {
    pub verdict: VerdictWord,
    /// Why, in one or two sentences; not empty.
    pub reason: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[schemars(inline)]
pub enum VerdictWord {
    Supported,
    Unsupported,
}

/// Proof that a semantic guard said SUPPORTED. Only [`Verdict::parse`] makes one, and releasing a report takes one.
#[derive(Debug)]
pub struct Supported(());

/// A verdict is a result, never retried. The reason is dropped here: nothing downstream could leak it.
#[derive(Debug)]
pub enum Verdict {
    Supported(Supported),
    Unsupported,
}

/// The reply is no verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the reply is no verdict object")]
pub struct InvalidVerdict;

impl Verdict {
    pub fn parse(text: &str) -> Result<Self, InvalidVerdict> {
        if text.len() > MAX_OUTPUT_BYTES {
            return Err(InvalidVerdict);
        }
        let reply: VerdictReply = crate::strict::from_str(text).map_err(|_| InvalidVerdict)?;
        if is_blank(&reply.reason) {
            return Err(InvalidVerdict);
        }
        Ok(match reply.verdict {
            VerdictWord::Supported => Self::Supported(Supported(())),
            VerdictWord::Unsupported => Self::Unsupported,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_exact_object_is_a_verdict() {
        assert!(matches!(
            Verdict::parse(r#"{"verdict":"SUPPORTED","reason":"all shown"}"#),
            Ok(Verdict::Supported(_))
        ));
        assert!(matches!(
            Verdict::parse(r#" {"reason":"no","verdict":"UNSUPPORTED"} "#),
            Ok(Verdict::Unsupported)
        ));
        for bad in [
            "",
            "SUPPORTED",
            "{}",
            r#"{"verdict":"SUPPORTED"}"#,
            r#"{"verdict":"SUPPORTED","reason":" "}"#,
            r#"{"verdict":"supported","reason":"x"}"#,
            r#"{"verdict":"SUPPORTED","reason":"x","confidence":1}"#,
            r#"{"verdict":"UNSUPPORTED","verdict":"SUPPORTED","reason":"x"}"#,
            r#"{"verdict":"SUPPORTED","reason":"x"} and more"#,
            r#"[{"verdict":"SUPPORTED","reason":"x"}]"#,
            r#"{"verdict":["SUPPORTED"],"reason":"x"}"#,
            r#"{"verdict":{"SUPPORTED":null},"reason":"x"}"#,
            r#"["SUPPORTED","x"]"#,
            "{\"verdict\":\"SUPPORTED\",\"reason\":\"\u{200B}\"}",
        ] {
            assert!(Verdict::parse(bad).is_err(), "{bad}");
        }
        assert!(
            Verdict::parse(&format!(
                r#"{{"verdict":"SUPPORTED","reason":"{}"}}"#,
                "x".repeat(MAX_OUTPUT_BYTES)
            ))
            .is_err()
        );
    }
}
