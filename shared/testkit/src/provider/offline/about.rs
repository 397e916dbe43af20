//! Introductions: the facts of the system prompt, and that a demo speaks.

use domain::question::Language;
use serde_json::Value;

use super::words::is_han;

/// Sentences of facts in one reply; one more says who composed it.
const MAX_FACTS: usize = 2;

/// The reply to a greeting or a question about the assistant, from the facts at the end of the system prompt.
pub(super) fn introduction(input: &Value, system: &str) -> String {
    let chinese = Language::of(input["query"].as_str().unwrap_or_default()) == Language::Chinese;
    let facts =
        system.lines().rev().map(str::trim).take_while(|line| !line.starts_with("Use only the facts"));
    let mut facts: Vec<&str> =
        facts.filter(|line| !line.is_empty() && line.contains(is_han) == chinese).collect();
    facts.reverse();
    if chinese {
        // What it is comes first in the facts, what it never does comes last.
        let sentences: Vec<&str> = facts.iter().flat_map(|line| line.split_inclusive('。')).collect();
        let ends = [sentences.first(), sentences.last().filter(|_| sentences.len() > 1)];
        let text = ends.into_iter().flatten().copied().collect::<String>().replace('它', "我");
        format!("你好！{text}当前回复由离线演示模型按规则给出。")
    } else {
        let text = facts.iter().take(MAX_FACTS).copied().collect::<Vec<_>>().join(" ");
        format!("Hello! {text} This reply was composed by the offline demo model by rules.")
    }
}
