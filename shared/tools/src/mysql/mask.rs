//! The text the parser is shown: as long as the statement, with comments blanked and everything inside a
//! literal that could end or escape it replaced, so that the parser has no say in where a literal ends.

/// One-based line and column, as the parser counts them.
pub(super) type Place = (u64, u64);

/// The masked text under construction, and what was met on the way.
#[derive(Default)]
pub(super) struct Mask {
    text: String,
    line: u64,
    column: u64,
    placeholders: Vec<Place>,
    words: Vec<String>,
}

/// A scanned statement.
pub(super) struct Scanned {
    /// What the parser reads; never executed.
    pub(super) masked: String,
    /// Where each `?` stands, in order: the n-th belongs to the n-th parameter.
    pub(super) placeholders: Vec<Place>,
    /// Unquoted words in upper case, in order, without those that follow a dot.
    pub(super) words: Vec<String>,
}

impl Mask {
    /// Keeps a character as it is.
    pub(super) fn keep(&mut self, c: char) {
        self.text.push(c);
        if c == '\n' {
            self.line += 1;
            self.column = 0;
        } else {
            self.column += 1;
        }
    }

    /// Replaces a character of a comment by a blank; lines stay lines.
    pub(super) fn blank(&mut self, c: char) {
        self.keep(if c == '\n' { c } else { ' ' });
    }

    /// Keeps a character of a literal if no reader could take it for more than data.
    pub(super) fn inside(&mut self, c: char) {
        let plain = (c.is_ascii_graphic() || c == ' ' || c == '\n') && !matches!(c, '\'' | '"' | '`' | '\\');
        self.keep(if plain { c } else { 'x' });
    }

    pub(super) fn placeholder(&mut self) {
        self.placeholders.push((self.line + 1, self.column + 1));
        self.keep('?');
    }

    /// Writes a word for the parser in the place of another one of at least its length.
    pub(super) fn word(&mut self, written: &str, read_as: &str) {
        let width = written.chars().count().max(read_as.len());
        for c in read_as.chars().chain(std::iter::repeat(' ')).take(width) {
            self.keep(c);
        }
    }

    pub(super) fn note_word(&mut self, upper: String) {
        self.words.push(upper);
    }

    /// Whether no word has been met yet.
    pub(super) fn is_wordless(&self) -> bool {
        self.words.is_empty()
    }

    pub(super) fn finish(self) -> Scanned {
        Scanned { masked: self.text, placeholders: self.placeholders, words: self.words }
    }
}
