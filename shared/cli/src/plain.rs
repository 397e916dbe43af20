//! Text from logs, runbooks and models without anything that could drive a terminal.

use std::iter::Peekable;
use std::str::Chars;

use serde_json::Value;

/// Without terminal escapes, control characters and invisible or direction-changing marks; line breaks stay, tabs become spaces.
pub fn plain(text: &str) -> String {
    let stripped = strip(text);
    let kept = stripped.chars().filter(|c| *c != '\r' && !is_hidden(*c));
    kept.flat_map(|c| std::iter::repeat_n(if c == '\t' { ' ' } else { c }, if c == '\t' { 4 } else { 1 }))
        .collect()
}

/// [`plain`], in one line.
pub fn one_line(text: &str) -> String {
    plain(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Without terminal escapes and control characters other than tabs and line breaks: a text that is to stay as it is.
pub fn strip(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '\n' | '\t' => kept.push(c),
            '\r' if rest.peek() == Some(&'\n') => kept.push(c),
            // Alone it would write over the line; as a break it shows both.
            '\r' | '\u{2028}' | '\u{2029}' => kept.push('\n'),
            '\u{1b}' => skip_escape(&mut rest),
            '\u{9b}' => skip_csi(&mut rest),
            '\u{90}' | '\u{98}' | '\u{9d}' | '\u{9e}' | '\u{9f}' => skip_string(&mut rest),
            c if c.is_control() => {}
            c => kept.push(c),
        }
    }
    kept
}

/// JSON whose strings are as they were, but with every character that a terminal could act on escaped.
pub fn json(value: &Value) -> String {
    let text = serde_json::to_string_pretty(value).unwrap_or_default();
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        // serde_json escapes what JSON must escape; DEL, C1 and the marks below it leaves as they are.
        if c != '\n' && (c.is_control() || is_hidden(c)) {
            let mut units = [0; 2];
            for unit in c.encode_utf16(&mut units) {
                safe.push_str(&format!("\\u{unit:04x}"));
            }
        } else {
            safe.push(c);
        }
    }
    safe
}

/// Characters that show nothing and change how the others are shown or read.
fn is_hidden(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// What follows an ESC. Of a sequence that is none, only the ESC goes.
fn skip_escape(rest: &mut Peekable<Chars<'_>>) {
    match rest.peek() {
        Some('[') => {
            rest.next();
            skip_csi(rest);
        }
        Some(']' | 'P' | 'X' | '^' | '_') => {
            rest.next();
            skip_string(rest);
        }
        Some(' '..='/') => {
            while rest.next_if(|c| (' '..='/').contains(c)).is_some() {}
            rest.next_if(|c| ('0'..='~').contains(c));
        }
        Some('0'..='~') => {
            rest.next();
        }
        _ => {}
    }
}

/// Parameters, intermediates and the final letter.
fn skip_csi(rest: &mut Peekable<Chars<'_>>) {
    while rest.next_if(|c| ('0'..='?').contains(c)).is_some() {}
    while rest.next_if(|c| (' '..='/').contains(c)).is_some() {}
    rest.next_if(|c| ('@'..='~').contains(c));
}

/// A title, a link or the like, up to its end. One that does not end in its line is shown: it may not hide what follows.
fn skip_string(rest: &mut Peekable<Chars<'_>>) {
    let mut ahead = rest.clone();
    while let Some(c) = ahead.next() {
        let ends = match c {
            '\u{7}' | '\u{9c}' => true,
            '\u{1b}' => ahead.next_if_eq(&'\\').is_some(),
            '\n' => return,
            _ => false,
        };
        if ends {
            *rest = ahead;
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn escapes_and_controls_are_removed() {
        for (text, shown) in [
            ("a\u{1b}[31mred\u{1b}[0m b", "ared b"),
            ("\u{1b}[2J\u{1b}[1;1Hgone", "gone"),
            ("\u{1b}]0;title\u{7}text", "text"),
            ("\u{1b}]8;;http://x\u{1b}\\link\u{1b}]8;;\u{1b}\\", "link"),
            ("\u{1b}]52;c;cGF5\nnext", "52;c;cGF5\nnext"),
            ("\u{1b}P1;2q\u{9c}x", "x"),
            ("\u{9b}31mx\u{9d}0;t\u{9c}y", "xy"),
            ("\u{1b}(Bx\u{1b}cy\u{1b}", "xy"),
            ("\u{1b}\u{1b}[31mx", "x"),
            ("bell\u{7} back\u{8} del\u{7f} nul\0", "bell back del nul"),
            ("over\rwritten\r\nline", "over\nwritten\nline"),
            ("\u{202e}evil\u{2066}x\u{200b}y\u{feff}", "evilxy"),
            ("tab\there", "tab    here"),
            ("支付超时 🔥", "支付超时 🔥"),
        ] {
            assert_eq!(plain(text), shown, "{text:?}");
        }
    }

    #[test]
    fn nothing_that_drives_a_terminal_is_left_whatever_surrounds_it() {
        for first in 0..=0x9f_u32 {
            for second in (0..=0x9f_u32).chain([0x202e, 0x2066]) {
                let text: String = ['a', '\u{1b}']
                    .into_iter()
                    .chain([first, second].map(|c| char::from_u32(c).unwrap()))
                    .collect();
                assert!(
                    plain(&text).chars().all(|c| c == '\n' || !(c.is_control() || is_hidden(c))),
                    "{text:?}"
                );
            }
        }
    }

    #[test]
    fn json_is_the_same_value_with_the_rest_escaped() {
        let value = json!({ "text": "\u{1b}[31m \u{9b} \u{7f} \u{202e} 支付 \u{e0041}", "n": 1 });
        let text = json(&value);
        assert!(text.chars().all(|c| c == '\n' || !(c.is_control() || is_hidden(c))));
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
    }

    #[test]
    fn a_document_keeps_its_tabs_and_line_breaks() {
        assert_eq!(strip("a\tb\r\nc\u{1b}[0m\n"), "a\tb\r\nc\n");
        assert_eq!(one_line("a\n  b\tc"), "a b c");
    }
}
