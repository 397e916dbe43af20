//! The Insights query of a search. It may leave out only what surely doesn't match: what does is the collector's business.

use super::LogGroup;
use crate::logs::level::Level;
use crate::logs::source::LogSearch;

/// The query's text. Nothing in it is a model's text but words of letters, digits and `_ - .`.
pub fn text(group: &LogGroup, search: &LogSearch, services: &[String]) -> String {
    let mut text = String::from("fields @timestamp, @message, @ptr");
    if let Some(filter) = &group.filter {
        text.push_str(&format!(" | filter strcontains(@message, {})", quoted(filter)));
    }
    if let Some(level) = search.min_level {
        text.push_str(&format!(" | filter @message like /{}/", level_pattern(level)));
    }
    let terms = search.terms.as_ref().map(|terms| terms.words()).unwrap_or_default();
    for term in terms.iter().filter(|term| is_surely_in_the_text(term, services)) {
        text.push_str(&format!(" | filter @message like /(?i){}/", term.replace('.', "\\.")));
    }
    text.push_str(" | sort @timestamp desc");
    text
}

/// Words that a line shows as they are in every encoding. Others may be escaped in JSON, be a level that is written otherwise, or be
/// the service, which the line doesn't name.
fn is_surely_in_the_text(term: &str, services: &[String]) -> bool {
    let plain = term.len() >= 3 && term.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-.".contains(&b));
    let level = Level::ALL.iter().any(|level| level.as_str().to_ascii_lowercase().contains(term));
    let service = services.iter().any(|service| service.to_lowercase().contains(term));
    plain && !level && !service
}

/// Every way to write a level of at least `least` that [`Level::parse`] and the line reader know.
fn level_pattern(least: Level) -> String {
    let words: &[(Level, &str)] = &[
        (Level::Trace, "trace|verbose|finer|finest"),
        (Level::Debug, "debug|fine"),
        (Level::Info, "info|notice"),
        (Level::Warn, "warn"),
        (Level::Error, "err|severe"),
        (Level::Fatal, "fatal|crit|alert|emerg|panic"),
    ];
    let letters = ["T", "D", "I", "W", "E", "F"];
    let rank = Level::ALL.iter().position(|level| *level == least).unwrap_or(0);
    let words: Vec<&str> = words.iter().skip(rank).map(|(_, words)| *words).collect();
    let letters: String = letters.into_iter().skip(rank).collect();
    format!(
        "(?i){}|\\b[{letters}]([0-9]{{4}})?\\b|[\"'](level|severity|lvl|log\\.level)[\"'] ?: ?[{}-6][0-9]\\b",
        words.join("|"),
        rank + 1
    )
}

/// A string of the query language.
fn quoted(text: &str) -> String {
    let safe: String = text.chars().filter(|c| !c.is_control()).collect();
    format!("\"{}\"", safe.replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use time::macros::datetime;

    use super::*;
    use crate::logs::{Terms, Window};

    fn search(query: Option<&str>, min_level: Option<Level>) -> LogSearch {
        let (start, end) = (datetime!(2026-11-30 06:00 UTC), datetime!(2026-11-30 07:00 UTC));
        LogSearch {
            services: vec!["checkout".into()],
            terms: query.map(|query| Terms::parse(query).unwrap()),
            min_level,
            window: Window { start, end, notes: vec![] },
            limit: 200,
        }
    }

    fn of(query: &str) -> String {
        let group = LogGroup { service: "checkout".into(), name: "g".into(), filter: None };
        text(&group, &search(Some(query), None), &["checkout".to_owned()])
    }

    #[test]
    fn only_plain_words_reach_the_query() {
        assert!(of("GATEWAY_TIMEOUT").contains("| filter @message like /(?i)gateway_timeout/ |"));
        assert!(of("acquirer-b pay.api").contains(r"/(?i)acquirer-b/ | filter @message like /(?i)pay\.api/"));
        let nothing = "fields @timestamp, @message, @ptr | sort @timestamp desc";
        for hostile in [
            "a/b",
            "x/|delete",
            "\"| stats count()\"",
            "支付超时",
            "a\\b",
            "(.*)",
            "ab",
            "x`y",
            "a'b",
            "[a]{2}",
            "a\u{0}bc",
            "error",
            "warn",
            "checkout",
            "out",
            "$(x)",
            "a;b",
            "# c1",
            "a\nb/",
        ] {
            assert_eq!(of(hostile), nothing, "{hostile:?}");
        }
    }

    #[test]
    fn levels_are_kept_in_every_spelling() {
        let pattern = regex::Regex::new(&level_pattern(Level::Warn)).unwrap();
        for line in [
            "2026 WARNING slow",
            "{\"level\":\"error\"}",
            "{\"level\":50}",
            "{\"severity\": 40}",
            "E1130 06:05:00.1 1 a.go] x",
            "11-30 06:05 1 2 W Tag: x",
            "SEVERE: x",
            "<critical> x",
            "level=ERR",
            "EMERG",
        ] {
            assert!(pattern.is_match(line), "{line}");
        }
        assert!(!pattern.is_match("{\"level\":30,\"msg\":\"ok\"}") && !pattern.is_match("INFO done"));
    }

    #[test]
    fn a_groups_own_filter_is_a_string() {
        let group =
            LogGroup { service: "s".into(), name: "g".into(), filter: Some("a\" | delete \\ b".into()) };
        let text = text(&group, &search(None, None), &[]);
        assert!(text.contains(r#"| filter strcontains(@message, "a\" | delete \\ b") |"#), "{text}");
    }
}
