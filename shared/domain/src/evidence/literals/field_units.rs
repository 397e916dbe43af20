//! The unit that a field's name says its numbers have.

use super::fold::{Folded, is_word};
use super::units::{Unit, unit_of};

/// The unit in a field's name (`latency_ms`, `bytesSent`, `elapsed (s)`), and whether the word can also mean
/// something else (`latency_min` is the smallest, `hour` a bucket).
pub(super) fn unit_of_key(key: &str) -> Option<(Unit, bool)> {
    let segments = segments(key);
    let last = segments.len().saturating_sub(1);
    let unit = |(i, segment): (usize, &String)| {
        let physical = |unit: &Unit| matches!(unit, Unit::Physical(_));
        let allowed =
            segment.chars().count() > 1 || (i == last && i > 0 && matches!(segment.as_str(), "s" | "h"));
        unit_of(segment, false).filter(physical).filter(|_| allowed).map(|unit| (unit, is_ambiguous(segment)))
    };
    segments.iter().enumerate().rev().find_map(unit)
}

fn is_ambiguous(segment: &str) -> bool {
    matches!(
        segment,
        "min" | "hour" | "day" | "minute" | "second" | "week" | "sec" | "us" | "mi" | "gi" | "ti" | "ki"
    )
}

/// The lower-case words of `some_key`, `some-key` or `someKey`.
fn segments(key: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before = '\0';
    for c in key.chars() {
        let hump = before.is_lowercase() && c.is_uppercase();
        if (hump || !c.is_alphabetic()) && words.last().is_some_and(|word| !word.is_empty()) {
            words.push(String::new());
        }
        if let (true, Some(word)) = (c.is_alphabetic(), words.last_mut()) {
            word.extend(c.to_lowercase());
        }
        before = c;
    }
    words.retain(|word| !word.is_empty());
    words
}

/// The name right before a number, as in `latency_ms=5003` or `"latency_ms": 5003`.
pub(super) fn name_before(text: &Folded<'_>, i: usize) -> Option<String> {
    let mut end = i;
    while i - end < 5 && matches!(text.before(end), '=' | ':' | '"' | ' ' | '\'') {
        end -= 1;
    }
    let assigned = (end..i).any(|at| matches!(text.at(at), '=' | ':'));
    let mut start = end;
    while end - start < 40 && (is_word(text.before(start)) || matches!(text.before(start), '-' | '(' | ')')) {
        start -= 1;
    }
    (assigned && start < end).then(|| text.slice(start, end))
}
