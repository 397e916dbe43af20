//! Chunks keep their headings, sizes and blocks.

use proptest::prelude::*;

use super::*;

#[test]
fn small_sections_are_joined_and_keep_their_headings() {
    let body = "# Handbook\n\nIntro.\n\n## Steps\n\n1. One\n2. Two\n\n## Afterwards\n\nDone.\n";
    let chunks = chunks("Handbook", body);
    assert_eq!(chunks.len(), 1);
    assert_eq!(chunks[0].0, "Handbook > Steps / Afterwards");
    assert_eq!(chunks[0].1, "Intro.\n\n## Steps\n\n1. One\n2. Two\n\n## Afterwards\n\nDone.");
}

#[test]
fn large_sections_stand_alone_with_their_path() {
    let long = "words of a paragraph. ".repeat(40);
    let body = format!("# H\n\n## A\n\n### A1\n\n{long}\n\n## B\n\n{long}\n");
    let paths: Vec<String> = chunks("t", &body).into_iter().map(|(path, _)| path).collect();
    assert_eq!(paths, ["H > A > A1", "H > B"]);
}

#[test]
fn split_code_and_tables_are_complete_in_each_piece() {
    let code = format!("```sh\n{}```\n", "echo one line of code # not a heading\n".repeat(100));
    let table = format!("| a | b |\n| --- | --- |\n{}", "| value one | value two |\n".repeat(100));
    for (_, text) in chunks("t", &code) {
        assert!(text.starts_with("```sh\necho") && text.ends_with("code # not a heading\n```"), "{text}");
        assert!(width(&text) <= MAX + 20);
    }
    for (_, text) in chunks("t", &table) {
        assert!(text.starts_with("| a | b |\n| --- | --- |\n| value") && text.ends_with("two |"), "{text}");
    }
    assert!(chunks("t", &code).len() > 2 && chunks("t", &table).len() > 2);
}

#[test]
fn plain_text_and_endless_lines_are_split_and_nothing_is_lost() {
    let line = "支付渠道超时之后不要手工重试。".repeat(300);
    let chunks = chunks("t", &line);
    assert!(chunks.len() > 5 && chunks.iter().all(|(path, text)| path.is_empty() && width(text) <= MAX));
    assert_eq!(chunks.into_iter().map(|(_, text)| text.replace('\n', "")).collect::<String>(), line);
}

#[test]
fn an_unclosed_code_block_ends_with_the_document() {
    let chunks = chunks("t", "# H\n\n```\n# no heading\ntext");
    assert_eq!(chunks, [("H".to_owned(), "# H\n\n```\n# no heading\ntext".to_owned())]);
}

proptest! {
    #[test]
    fn no_word_is_lost_and_no_chunk_is_much_too_long(body in "([a-z支付]{1,9}[ \n#|`]{1,3}){0,400}") {
        let chunks = chunks("title", &body);
        let all: String = chunks.iter().map(|(_, text)| text.as_str()).collect::<Vec<_>>().join("\n");
        for word in body.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
            prop_assert!(all.contains(word), "{word}");
        }
        for (_, text) in &chunks {
            prop_assert!(width(text) <= 2 * MAX, "{}", width(text));
            prop_assert!(!text.trim().is_empty());
        }
    }
}
