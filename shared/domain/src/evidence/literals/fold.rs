//! Folded text: one character per cell, full-width forms, odd spaces and hyphens made plain, the written form
//! still at hand.

/// A text with its folded characters; case is kept.
pub(super) struct Folded<'t> {
    text: &'t str,
    cells: Vec<Cell>,
}

struct Cell {
    c: char,
    /// Bytes of the written character in the text.
    from: usize,
    to: usize,
}

impl<'t> Folded<'t> {
    pub(super) fn of(text: &'t str) -> Self {
        let mut cells: Vec<Cell> = Vec::with_capacity(text.len());
        let mut rest = text.char_indices().peekable();
        let mut before = '\0';
        while let Some((from, written)) = rest.next() {
            let after = rest.peek().map_or('\0', |(_, c)| *c);
            // A full-width comma separates thousands only between full-width digits; elsewhere it is the
            // comma of Chinese prose.
            let prose_comma = written == '，' && !(is_wide_digit(before) && is_wide_digit(after));
            before = written;
            let c = if prose_comma { Some(written) } else { fold(written) };
            cells.extend(c.map(|c| Cell { c, from, to: from + written.len_utf8() }));
        }
        Self { text, cells }
    }

    pub(super) fn len(&self) -> usize {
        self.cells.len()
    }

    /// The folded character at `i`; NUL past the end.
    pub(super) fn at(&self, i: usize) -> char {
        self.cells.get(i).map_or('\0', |cell| cell.c)
    }

    /// The folded character in front of `i`; NUL at the start.
    pub(super) fn before(&self, i: usize) -> char {
        i.checked_sub(1).map_or('\0', |i| self.at(i))
    }

    /// What the author wrote for the cells `from..to`.
    pub(super) fn written(&self, from: usize, to: usize) -> &'t str {
        let first = self.cells.get(from).map_or(0, |cell| cell.from);
        let last = to.checked_sub(1).and_then(|i| self.cells.get(i)).map_or(first, |cell| cell.to);
        self.text.get(first..last).unwrap_or_default()
    }

    /// The folded characters of `from..to`.
    pub(super) fn slice(&self, from: usize, to: usize) -> String {
        self.cells.iter().take(to).skip(from).map(|cell| cell.c).collect()
    }

    pub(super) fn starts_with(&self, i: usize, prefix: &str) -> bool {
        prefix.chars().enumerate().all(|(k, c)| self.at(i + k) == c)
    }

    pub(super) fn ends_with(&self, i: usize, suffix: &str) -> bool {
        i.checked_sub(suffix.chars().count()).is_some_and(|from| self.starts_with(from, suffix))
    }

    /// The end of the run of characters from `i` for which `of` holds.
    pub(super) fn run(&self, i: usize, of: impl Fn(char) -> bool) -> usize {
        let mut end = i;
        while end < self.len() && of(self.at(end)) {
            end += 1;
        }
        end
    }

    /// The number written with 1 to `max` ASCII digits at `i`, and its end; `None` if there are none or more.
    pub(super) fn small_number(&self, i: usize, max: usize) -> Option<(u32, usize)> {
        let mut end = i;
        let mut value = 0u32;
        while let Some(digit) = self.at(end).to_digit(10) {
            if end - i == max {
                return None;
            }
            value = value.checked_mul(10)?.checked_add(digit)?;
            end += 1;
        }
        (end > i).then_some((value, end))
    }
}

fn is_wide_digit(c: char) -> bool {
    matches!(c, '０'..='９')
}

/// The plain form of one character; `None` for characters that are not seen.
fn fold(c: char) -> Option<char> {
    match c {
        '\u{FF01}'..='\u{FF5E}' => char::from_u32(u32::from(c) - 0xFEE0),
        '\u{A0}' | '\u{2000}'..='\u{200A}' | '\u{202F}' | '\u{205F}' | '\u{3000}' => Some(' '),
        '\u{2010}' | '\u{2011}' | '\u{2212}' => Some('-'),
        'µ' => Some('μ'),
        '\u{AD}' | '\u{200B}'..='\u{200F}' | '\u{2060}' | '\u{FEFF}' => None,
        _ => Some(c),
    }
}

/// A character of a script that is written without spaces: each is a token of its own.
pub(super) fn is_han(c: char) -> bool {
    matches!(c, '\u{3005}'..='\u{3007}' | '\u{3040}'..='\u{30FF}' | '\u{3400}'..='\u{4DBF}')
        || matches!(c, '\u{4E00}'..='\u{9FFF}' | '\u{AC00}'..='\u{D7AF}' | '\u{F900}'..='\u{FAFF}')
        || matches!(c, '\u{20000}'..='\u{3134F}')
}

/// A character that continues a word: two names that differ by one of these next to them are different names.
pub(super) fn is_word(c: char) -> bool {
    c == '_' || (c.is_alphanumeric() && !is_han(c))
}
