//! What a question is about: its terms, compared with texts in two languages.

use std::collections::BTreeSet;

/// Words that say how something is asked, not what about.
const ASKING: &[&str] = &[
    "the", "and", "for", "are", "was", "why", "how", "what", "which", "who", "when", "where", "does", "did",
    "with", "from", "since", "should", "first", "steps", "there", "this", "that", "our", "have", "has",
    "can", "you", "your", "怎么", "么处", "如何", "何处", "应该", "该怎", "什么", "为什", "多少", "是多",
    "哪个", "哪些", "步骤", "处理", "理步", "骤是", "是什", "找谁", "了找", "么回", "回事", "是怎", "因是",
    "的是",
];

/// The distinct terms of `text`: Latin words and numbers of two characters or more in lower case, and pairs
/// of neighbouring Han characters. Words of asking are left out.
pub(super) fn terms(text: &str) -> BTreeSet<String> {
    let mut terms = BTreeSet::new();
    let mut word = String::new();
    let mut previous_han = None;
    for c in text.chars().chain([' ']) {
        if is_han(c) {
            if let Some(previous) = previous_han {
                add(&mut terms, format!("{previous}{c}"));
            }
            previous_han = Some(c);
        } else {
            previous_han = None;
        }
        if c.is_ascii_alphanumeric() {
            word.push(c.to_ascii_lowercase());
        } else {
            add(&mut terms, std::mem::take(&mut word));
        }
    }
    terms
}

fn add(terms: &mut BTreeSet<String>, term: String) {
    // A plural is the same thing: "errors" and "error".
    let term = if term.is_ascii() && term.len() > 4 { term.trim_end_matches('s').to_owned() } else { term };
    if term.chars().count() >= 2 && !ASKING.contains(&term.as_str()) {
        terms.insert(term);
    }
}

pub(super) fn is_han(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{4DBF}' | '\u{4E00}'..='\u{9FFF}' | '\u{F900}'..='\u{FAFF}')
}

/// How many of `wanted` occur in `text`.
pub(super) fn overlap(wanted: &BTreeSet<String>, text: &str) -> usize {
    let have = terms(text);
    wanted.intersection(&have).count()
}

pub(super) fn contains_any(text: &str, needles: &[&str]) -> bool {
    needles.iter().any(|needle| text.contains(needle))
}

/// Whether a text speaks to whoever reads it instead of saying something about a system. Such a line may be
/// evidence of an attack; it is never something to repeat as a finding about a cause.
pub(super) fn addresses_the_reader(text: &str) -> bool {
    let lower = text.to_lowercase();
    const SIGNS: &[&str] = &[
        "ignore previous",
        "ignore all",
        "previous instruction",
        "ai reader",
        "assistant:",
        "system:",
        "<system",
        "new policy",
        "stop investigating",
        "never call tools",
        "忽略",
        "助手",
        "不要调用",
        "结束会话",
        "无需继续",
        "诊断结论",
        "置信度",
    ];
    contains_any(&lower, SIGNS)
}

/// The first line of `text`, at most `max_chars` long, the cut shown.
pub(super) fn first_line(text: &str, max_chars: usize) -> String {
    let line = text.lines().next().unwrap_or_default().trim();
    if line.chars().count() <= max_chars {
        return line.to_owned();
    }
    let kept: String = line.chars().take(max_chars).collect();
    // A cut word or number would be another one.
    let whole = kept.rfind(' ').map_or(kept.as_str(), |end| &kept[..end]);
    format!("{whole} …")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_are_words_and_han_pairs_without_words_of_asking() {
        let of = |text| terms(text).into_iter().collect::<Vec<_>>();
        assert_eq!(of("Why are checkout errors rising?"), ["checkout", "error", "rising"]);
        assert_eq!(of("支付超时是怎么回事"), ["付超", "支付", "时是", "超时"]);
        assert_eq!(overlap(&terms("Kafka 消费积压"), "kafka: 消费者积压"), 3);
    }

    #[test]
    fn lines_are_cut_between_words() {
        assert_eq!(first_line("a bc\nd", 9), "a bc");
        assert_eq!(first_line("took 12345 ms", 8), "took …");
    }
}
