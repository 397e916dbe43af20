//! The text filter of a search: words that must all occur, in any case, with quoted phrases. No patterns.

use super::line::LogLine;

/// Words of one query, at most.
const MAX_TERMS: usize = 16;

/// What must occur in a line. Each term may be in the message or in any other field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Terms {
    lower: Vec<String>,
    /// Query syntax of other systems that was taken as plain words.
    literal_syntax: bool,
}

impl Terms {
    /// Splits at spaces outside of double quotes. `Err` says what would be right.
    pub fn parse(query: &str) -> Result<Self, String> {
        let mut lower = Vec::new();
        let mut term = String::new();
        let mut quoted = false;
        for c in query.chars() {
            match c {
                '"' | '“' | '”' => {
                    quoted = !quoted;
                    take(&mut term, &mut lower);
                }
                c if c.is_whitespace() && !quoted => take(&mut term, &mut lower),
                c => term.extend(c.to_lowercase()),
            }
        }
        take(&mut term, &mut lower);
        if lower.is_empty() {
            return Err("query holds no word; leave it null to see all lines".to_owned());
        }
        if lower.len() > MAX_TERMS {
            return Err(format!(
                "query has {} words, but all must occur in one line; give at most {MAX_TERMS}",
                lower.len()
            ));
        }
        let literal_syntax = query.split_whitespace().any(|word| matches!(word, "OR" | "AND" | "NOT" | "|"))
            || query.contains(['*', '|', '\\']);
        Ok(Self { lower, literal_syntax })
    }

    /// The words, in lower case.
    pub fn words(&self) -> &[String] {
        &self.lower
    }

    /// For a search that found nothing: why that may be.
    pub fn hint(&self) -> Option<&'static str> {
        if self.literal_syntax {
            Some(
                "query is plain text: OR, AND, NOT, |, * and \\ were searched for literally; \
                 use one search per alternative",
            )
        } else if self.lower.len() > 1 {
            Some("all words of query must occur in one line; fewer words find more")
        } else {
            None
        }
    }

    pub fn match_line(&self, line: &LogLine<'_>) -> bool {
        self.lower.iter().all(|term| line.texts().any(|text| contains(text, term)))
    }
}

fn take(term: &mut String, terms: &mut Vec<String>) {
    if !term.trim().is_empty() {
        terms.push(term.trim().to_owned());
    }
    term.clear();
}

/// Whether `text` contains `lower`, which is in lower case, in any case.
fn contains(text: &str, lower: &str) -> bool {
    if !lower.is_ascii() {
        return text.contains(lower) || text.to_lowercase().contains(lower);
    }
    let (text, lower) = (text.as_bytes(), lower.as_bytes());
    text.len() >= lower.len() && text.windows(lower.len()).any(|window| window.eq_ignore_ascii_case(lower))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finds(query: &str, message: &str) -> bool {
        Terms::parse(query).unwrap().match_line(&LogLine { message: message.into(), ..LogLine::default() })
    }

    #[test]
    fn all_words_in_any_order_and_case_and_phrases_as_they_are() {
        let message = "Charge order=88041305 failed: GATEWAY_TIMEOUT after 6029 ms 支付超时";
        for query in [
            "gateway_timeout",
            "TIMEOUT charge",
            "\"failed: gateway\"",
            "支付超时",
            "“after 6029” 88041305",
            "\"after",
        ] {
            assert!(finds(query, message), "{query}");
        }
        for query in ["gateway declined", "\"charge failed\"", "time.*out", "退款"] {
            assert!(!finds(query, message), "{query}");
        }
    }

    #[test]
    fn other_fields_are_searched_too() {
        let line = LogLine {
            trace_id: Some("5add253187a012d0".into()),
            others: vec!["pod-k7xqp".into()],
            ..LogLine::default()
        };
        assert!(Terms::parse("5ADD253187a012d0 k7xqp").unwrap().match_line(&line));
    }

    #[test]
    fn empty_and_endless_queries_are_refused_and_foreign_syntax_is_pointed_out() {
        assert!(Terms::parse("  \"\" ").is_err());
        assert!(Terms::parse(&"a ".repeat(17)).is_err());
        assert!(Terms::parse("timeout OR error").unwrap().hint().unwrap().contains("plain text"));
        assert!(Terms::parse("timeout").unwrap().hint().is_none());
    }
}
