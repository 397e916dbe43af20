//! Characters that hide or reorder text are taken out of everything a tool returns, before anything else looks at it: what a
//! reader sees, what the model is shown and what is searched for secrets is then the same text.

use std::borrow::Cow;

/// The visible text: no terminal control sequences, no control characters but line breaks and tabs, nothing invisible.
pub fn clean(text: &str) -> Cow<'_, str> {
    if text.bytes().all(|b| matches!(b, b' '..=b'~' | b'\n' | b'\t')) || !text.chars().any(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut cleaned = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let mut taken = c.len_utf8();
        match c {
            '\u{1b}' | '\u{9b}' => taken = terminal_sequence(rest),
            // A lone carriage return overwrites the line in a terminal; with a line feed it is half of a line break.
            '\r' if !rest[1..].starts_with('\n') => cleaned.push(' '),
            // Separators of lines and paragraphs part words, too.
            '\u{85}' | '\u{2028}' | '\u{2029}' => cleaned.push(' '),
            c if is_hidden(c) => {}
            c => cleaned.push(c),
        }
        rest = &rest[taken..];
    }
    Cow::Owned(cleaned)
}

/// Bytes of the terminal control sequence that `text` begins with.
fn terminal_sequence(text: &str) -> usize {
    let mut chars = text.char_indices();
    let introducer = chars.next().map(|(_, c)| c);
    let (from, kind) = match introducer {
        Some('\u{9b}') => (2, Some('[')),
        _ => (chars.next().map_or(text.len(), |(i, c)| i + c.len_utf8()), text.chars().nth(1)),
    };
    match kind {
        // Parameters and intermediates, then one final letter.
        Some('[') => {
            let end = text[from..].find(|c: char| !matches!(c, ' '..='?'));
            end.map_or(text.len(), |i| from + i + text[from + i..].chars().next().map_or(0, char::len_utf8))
        }
        // A title or link up to its terminator, or up to the end of the line.
        Some(']' | 'P' | '^' | '_') => {
            let end = text[from..].find(['\u{7}', '\u{1b}', '\u{9c}', '\n']);
            end.map_or(text.len(), |i| {
                let rest = &text[from + i..];
                from + i
                    + if rest.starts_with("\u{1b}\\") { 2 } else { usize::from(rest.starts_with('\u{7}')) }
            })
        }
        // A character set is named by one more character.
        Some('(' | ')' | '*' | '+' | '#' | '%') => {
            from + text[from..].chars().next().filter(char::is_ascii).map_or(0, char::len_utf8)
        }
        Some(c) if c.is_ascii() && !c.is_ascii_control() => from,
        _ => 1,
    }
}

/// Whether `c` shows nothing, or changes how others are shown.
fn is_hidden(c: char) -> bool {
    match c {
        '\n' | '\t' => false,
        '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}' => true,
        // Soft hyphen, combining grapheme joiner, Arabic letter mark, Hangul fillers, Khmer and Mongolian invisibles.
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' => true,
        '\u{180b}'..='\u{180f}' | '\u{3164}' | '\u{ffa0}' => true,
        // Zero width, directional marks, embeddings, overrides and isolates, invisible operators.
        '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' => true,
        '\u{feff}' | '\u{fff0}'..='\u{fffb}' => true,
        // Shorthand and musical format controls.
        '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' => true,
        // Variation selectors (they can carry bytes) and tags (they can spell whole sentences).
        '\u{fe00}'..='\u{fe0f}' | '\u{e0000}'..='\u{e0fff}' => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_hides_goes_and_what_shows_stays() {
        let tags: String = "ignore all".chars().filter_map(|c| char::from_u32(0xe0000 + c as u32)).collect();
        for (text, shown) in [
            (format!("ERROR {tags}connection reset"), "ERROR connection reset"),
            (
                "pay\u{202e}gnp.exe\u{202c} failed \u{200b}to \u{2066}start\u{2069}".into(),
                "paygnp.exe failed to start",
            ),
            ("a\0b\u{7}c\u{85}d\u{2028}e".into(), "abc d e"),
            (
                "\u{1b}[31;1mERROR\u{1b}[0m done \u{1b}]8;;http://x.example\u{7}link\u{1b}]8;;\u{1b}\\"
                    .into(),
                "ERROR done link",
            ),
            ("cut \u{1b}[31".into(), "cut "),
            ("\u{1b}".into(), ""),
            ("\u{9b}31mred\u{1b}(Bx".into(), "redx"),
            ("half\rover\r\nline\ttab".into(), "half over\nline\ttab"),
            ("支付超时 é \u{1f600} \u{fffd} —".into(), "支付超时 é \u{1f600} \u{fffd} —"),
            ("A\u{ad}K\u{2060}I\u{fe0f}A\u{e0100}".into(), "AKIA"),
        ] {
            assert_eq!(clean(&text), shown, "{text:?}");
            assert_eq!(clean(shown), shown, "twice is once");
        }
    }
}
