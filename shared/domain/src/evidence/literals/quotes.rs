//! Quotation marks of both languages.

use super::atoms::atoms;
use super::fold::{Folded, is_word};

/// Longer than any log line that a report quotes whole; an opening mark looks no further for its partner.
const MAX_QUOTE: usize = 300;

/// The mark that closes the quotation opened at `i`, on the same line.
pub(super) fn closing_mark(text: &Folded<'_>, i: usize) -> Option<usize> {
    const PAIRS: [(char, char); 8] = [
        ('"', '"'),
        ('\'', '\''),
        ('`', '`'),
        ('“', '”'),
        ('‘', '’'),
        ('「', '」'),
        ('『', '』'),
        ('《', '》'),
    ];
    let (open, close) = PAIRS.into_iter().find(|(open, _)| *open == text.at(i))?;
    let straight = open == close;
    let apostrophe = matches!(open, '\'' | '‘');
    // Inside a word it is an apostrophe, behind one it closes something.
    if straight && is_word(text.before(i)) || apostrophe && text.at(i + 1) == ' ' {
        return None;
    }
    let closes = |at: usize| {
        let ends_word = !apostrophe || (!is_word(text.at(at + 1)) && text.before(at) != ' ');
        text.at(at) == close && ends_word
    };
    let line = (i + 1..(i + 1 + MAX_QUOTE).min(text.len())).take_while(|at| text.at(*at) != '\n');
    line.into_iter().find(|at| closes(*at))
}

/// The atoms of a quotation, split where the author left something out.
pub(super) fn quoted_parts(text: &Folded<'_>, from: usize, to: usize) -> Vec<Vec<String>> {
    let mut parts = Vec::new();
    let mut start = from;
    let mut i = from;
    while i < to {
        let dots = text.run(i, |c| matches!(c, '.' | '…')).min(to);
        let elision = text.at(i) == '…' || dots - i >= 3;
        if elision {
            parts.push(atoms(text, start, i));
            start = dots;
        }
        i = dots.max(i + 1);
    }
    parts.push(atoms(text, start, to));
    parts.retain(|part| !part.is_empty());
    parts
}
