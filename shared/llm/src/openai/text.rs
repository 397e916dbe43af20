//! The part of a reply's text that is the answer: without byte order mark, thinking, and Markdown fences.
//!
//! Nothing is repaired and nothing is guessed: what remains is parsed strictly by whoever asked.

use serde_json::Value;

/// The answer in `raw`, or `None` if there is none (blank, or thinking that never ended).
pub(super) fn answer(raw: &str) -> Option<&str> {
    let text = without_thinking(raw.trim_start_matches('\u{feff}').trim())?;
    let text = if starts_as_json(text) { text } else { fenced_object(text).unwrap_or(text) };
    (!text.is_empty()).then_some(text)
}

/// Whether the whole of `text` is one JSON object.
pub(super) fn is_json_object(text: &str) -> bool {
    matches!(serde_json::from_str(text), Ok(Value::Object(_)))
}

fn starts_as_json(text: &str) -> bool {
    text.starts_with(['{', '['])
}

/// What models put their thinking in.
const THINKING: [(&str, &str); 3] =
    [("<think>", "</think>"), ("<thinking>", "</thinking>"), ("<reasoning>", "</reasoning>")];

/// Cuts leading `<think>…</think>`, also one whose opening tag the server's template has eaten. JSON is
/// left alone: a log line that it quotes may contain the tag.
fn without_thinking(text: &str) -> Option<&str> {
    if starts_as_json(text) || text.starts_with("```") {
        return Some(text);
    }
    let closed = |(open, close): &(&str, &str)| {
        text.find(close).map(|end| (text.starts_with(open), end, end + close.len()))
    };
    match THINKING.iter().filter_map(closed).min_by_key(|(_, end, _)| *end) {
        // Behind a fence the tag is most likely part of what is fenced.
        Some((opened, end, _)) if !opened && text[..end].contains("```") => Some(text),
        Some((_, _, after)) => without_thinking(text[after..].trim()),
        None if THINKING.iter().any(|(open, _)| text.starts_with(open)) => None,
        None => Some(text),
    }
}

/// The JSON object inside the only fenced block of `text`, prose around it or not.
fn fenced_object(text: &str) -> Option<&str> {
    const FENCE: &str = "```";
    let (_, rest) = text.split_once(FENCE)?;
    // The rest of the opening line names the language.
    let (_, block) = rest.split_once('\n')?;
    let (inside, after) = block.rsplit_once(FENCE)?;
    let inside = inside.trim();
    (!after.contains(FENCE) && is_json_object(inside)).then_some(inside)
}

#[cfg(test)]
mod tests {
    use super::*;

    const OBJECT: &str = r#"{"a":"</think> ``` <think>"}"#;

    #[test]
    fn wrappings_are_removed_and_the_answer_is_untouched() {
        for raw in [
            OBJECT.to_owned(),
            format!("\u{feff} {OBJECT}\n"),
            format!("<think>hm {{\"a\":1}}</think>\n{OBJECT}"),
            format!("hm\n</think>\n{OBJECT}"),
            format!("<think>one</think> <think>two</think>{OBJECT}"),
            format!("```json\n{OBJECT}\n```"),
            format!("```\n{OBJECT}\n```\n"),
            format!("Here it is:\n```json\n{OBJECT}\n```\nHope this helps!"),
            format!("<think>x</think>\n```json\n{OBJECT}\n```"),
        ] {
            assert_eq!(answer(&raw), Some(OBJECT), "{raw}");
        }
    }

    #[test]
    fn what_is_ambiguous_or_no_answer_stays_so() {
        for raw in ["", " \n", "\u{feff}", "<think>still {\"a\":1}", "<think>a</think>", "x</think>"] {
            assert_eq!(answer(raw), None, "{raw}");
        }
        for kept in [
            "{\"a\":1}\n\nDone.",
            "{\"a\":1}\n{\"a\":2}",
            "Hello there.",
            "```json\n{\"a\":1}\n```\n```json\n{\"a\":2}\n```",
            "```sh\nls\n```",
            "\"{}\"",
        ] {
            assert_eq!(answer(kept), Some(kept));
        }
    }
}
