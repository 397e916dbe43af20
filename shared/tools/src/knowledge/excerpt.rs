//! The part of a chunk that is shown: the whole of it where it is short enough, else the lines around the
//! best match.

use std::collections::HashSet;

use super::tokenizer::tokenize;

const MARK: &str = "…";

/// At most `max_chars` characters of `text` (plus marks where it was cut), chosen so that as many `words` as
/// possible are in it.
pub fn excerpt(text: &str, words: &HashSet<&str>, max_chars: usize) -> String {
    if text.chars().count() <= max_chars {
        return text.to_owned();
    }
    let lines = pieces(text, max_chars);
    let sizes: Vec<usize> = lines.iter().map(|line| line.chars().count()).collect();
    let found: Vec<HashSet<String>> = lines
        .iter()
        .map(|line| {
            tokenize(line)
                .into_iter()
                .map(|token| token.text)
                .filter(|word| words.contains(word.as_str()))
                .collect()
        })
        .collect();
    let (start, end) = best_window(&sizes, &found, max_chars);
    let mut shown = lines[start..end].concat();
    if end < lines.len() {
        shown = format!("{}{MARK}", shown.trim_end());
    }
    if start > 0 { format!("{MARK}{shown}") } else { shown }
}

/// Lines with their ends; over-long ones in pieces.
fn pieces(text: &str, max_chars: usize) -> Vec<String> {
    let piece_chars = (max_chars / 3).max(1);
    text.split_inclusive('\n')
        .flat_map(|line| {
            let chars: Vec<char> = line.chars().collect();
            chars.chunks(piece_chars).map(|piece| piece.iter().collect::<String>()).collect::<Vec<_>>()
        })
        .collect()
}

/// The window of whole lines with the most distinct words, the earliest of equals.
fn best_window(sizes: &[usize], found: &[HashSet<String>], max_chars: usize) -> (usize, usize) {
    let mut best = (0, 0, 0);
    for start in 0..sizes.len() {
        let (mut size, mut end) = (0, start);
        let mut words: HashSet<&str> = HashSet::new();
        while let Some(next) = sizes.get(end).filter(|next| size + **next <= max_chars) {
            size += next;
            words.extend(found.get(end).into_iter().flatten().map(String::as_str));
            end += 1;
        }
        if end > start && (best.2 == 0 || words.len() > best.0) {
            best = (words.len(), start, end);
        }
    }
    (best.1, best.2)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_matching_part_is_shown() {
        let text =
            format!("{}the threshold is 85%\n{}", "filler line\n".repeat(40), "filler line\n".repeat(40));
        let shown = excerpt(&text, &HashSet::from(["threshold"]), 100);
        assert!(
            shown.contains("the threshold is 85%") && shown.starts_with('…') && shown.ends_with('…'),
            "{shown}"
        );
        assert_eq!(excerpt("short", &HashSet::new(), 100), "short");
        let line = format!("{}切流需要确认{}", "无关".repeat(300), "无关".repeat(300));
        assert!(excerpt(&line, &HashSet::from(["切流", "确认"]), 90).contains("切流需要确认"));
    }

    proptest! {
        #[test]
        fn any_text_stays_within_its_limit(text in "\\PC{0,300}|[a-z支付\n]{0,300}", max in 1usize..80) {
            let shown = excerpt(&text, &HashSet::from(["支付", "a"]), max);
            prop_assert!(shown.chars().count() <= max + 2, "{shown}");
        }
    }
}
