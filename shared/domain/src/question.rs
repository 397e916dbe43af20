//! What the user asked, bounded, and the only history a model ever sees.

use serde::{Deserialize, Serialize};

use crate::release::Outcome;

/// The language of fixed texts, chosen by the script of the query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    Chinese,
    English,
}

impl Language {
    /// Chinese if the text has any Han character: engineers mix English service names into Chinese sentences, not the reverse.
    pub fn of(text: &str) -> Self {
        let han = |c: char| matches!(c, '\u{3400}'..='\u{4DBF}' | '\u{4E00}'..='\u{9FFF}' | '\u{F900}'..='\u{FAFF}' | '\u{20000}'..='\u{3134F}');
        if text.chars().any(han) { Self::Chinese } else { Self::English }
    }
}

/// Which of the three paths a question takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Intent {
    SystemChat,
    KnowledgeQuery,
    Diagnosis,
}

impl Intent {
    pub const ALL: [Self; 3] = [Self::SystemChat, Self::KnowledgeQuery, Self::Diagnosis];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::SystemChat => "SYSTEM_CHAT",
            Self::KnowledgeQuery => "KNOWLEDGE_QUERY",
            Self::Diagnosis => "DIAGNOSIS",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|intent| intent.as_str() == text)
    }
}

/// Why a query was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidQuery {
    #[error("query is empty; write the alert or question, 1 byte to 8 KiB of text")]
    Empty,
    #[error("query has {bytes} bytes after trimming; at most {max} are accepted (8 KiB), nothing is truncated", max = Query::MAX_BYTES)]
    TooLong { bytes: usize },
    #[error(
        "query has the control character U+{code:04X}; only tab, line feed and carriage return are accepted"
    )]
    ControlCharacter { code: u32 },
    #[error("query has no letter or digit; describe the alert or question in words")]
    NoWords,
}

/// A trimmed question of 1 byte to 8 KiB. Never truncated.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Query(String);

impl Query {
    pub const MAX_BYTES: usize = 8 * 1024;

    pub fn parse(text: &str) -> Result<Self, InvalidQuery> {
        let text = text.trim();
        if text.is_empty() {
            return Err(InvalidQuery::Empty);
        }
        if text.len() > Self::MAX_BYTES {
            return Err(InvalidQuery::TooLong { bytes: text.len() });
        }
        if let Some(c) = text.chars().find(|c| c.is_control() && !matches!(c, '\t' | '\n' | '\r')) {
            return Err(InvalidQuery::ControlCharacter { code: c.into() });
        }
        if !text.chars().any(char::is_alphanumeric) {
            return Err(InvalidQuery::NoWords);
        }
        Ok(Self(text.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn language(&self) -> Language {
        Language::of(&self.0)
    }
}

/// The fixed record of the session's previous run: the only history a model sees.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PreviousTurn {
    pub query: String,
    pub intent: Intent,
    pub outcome: Outcome,
    /// The released conclusion; `None` when there was none (a fallback, a reply without one).
    pub conclusion: Option<String>,
}

impl PreviousTurn {
    /// Bytes each of the two texts may take; longer ones are cut at a character boundary with an ellipsis.
    pub const MAX_TEXT_BYTES: usize = 2 * 1024;

    pub fn new(query: &str, intent: Intent, outcome: Outcome, conclusion: Option<&str>) -> Self {
        Self {
            query: cut(query, Self::MAX_TEXT_BYTES),
            intent,
            outcome,
            conclusion: conclusion.map(|text| cut(text, Self::MAX_TEXT_BYTES)),
        }
    }
}

/// The first `max_bytes` of `text` at a character boundary, the cut shown by an ellipsis (which counts).
pub fn cut(text: &str, max_bytes: usize) -> String {
    if text.len() <= max_bytes {
        return text.to_owned();
    }
    let mut end = max_bytes.saturating_sub('…'.len_utf8());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}…", &text[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_are_bounded_and_never_truncated() {
        let exactly = "x".repeat(Query::MAX_BYTES);
        assert_eq!(Query::parse(&format!("  {exactly}\n")).unwrap().as_str(), exactly);
        assert_eq!(Query::parse(&format!("{exactly}y")), Err(InvalidQuery::TooLong { bytes: 8193 }));
        assert_eq!(Query::parse(" \t\n"), Err(InvalidQuery::Empty));
        assert_eq!(Query::parse("a\u{0}b"), Err(InvalidQuery::ControlCharacter { code: 0 }));
        assert_eq!(Query::parse("😀!?"), Err(InvalidQuery::NoWords));
        assert!(Query::parse("𠮷野家の障害\tline\nline").is_ok());
    }

    #[test]
    fn fixed_texts_follow_the_script_of_the_query() {
        assert_eq!(Language::of("payment-gateway 超时"), Language::Chinese);
        assert_eq!(Language::of("checkout 5xx since 14:05, why?"), Language::English);
    }

    #[test]
    fn a_previous_turn_is_cut_between_characters() {
        let turn = PreviousTurn::new(&"超".repeat(2000), Intent::Diagnosis, Outcome::Success, None);
        assert!(turn.query.len() <= PreviousTurn::MAX_TEXT_BYTES && turn.query.ends_with('…'));
    }
}
