//! Reads the statement as the server's own scanner does (MySQL under the default `sql_mode`, or SQLite) and
//! refuses every construct that two readers could understand differently. One pass, linear time.

use super::characters::{
    check_letter, check_number, is_invisible, is_word, odd_blank, odd_number, refuse_symbol,
};
use super::hints;
use super::mask::{Mask, Scanned};
use super::nesting::Nesting;
use super::policy::Dialect;
use super::refusal::{Refusal, Rule};
use super::words;

/// Longest statement, in bytes.
const MAX_BYTES: usize = 16 * 1024;

/// Scans a whole statement.
///
/// # Errors
/// The first construct that is refused before parsing.
pub(super) fn scan(sql: &str, dialect: Dialect) -> Result<Scanned, Refusal> {
    if sql.len() > MAX_BYTES {
        return Err(Refusal::new(
            Rule::TooLong,
            format!("the statement has {} bytes; at most {MAX_BYTES} are allowed", sql.len()),
        ));
    }
    if sql.contains('\0') {
        return Err(Refusal::new(Rule::Character, "the statement contains a NUL character"));
    }
    if sql.trim_start().starts_with("```") {
        return Err(Refusal::new(Rule::MarkdownFence, "send the bare statement, without Markdown fences"));
    }
    let mut scanner = Scanner::new(sql, dialect);
    while let Some(c) = scanner.peek(0) {
        scanner.step(c)?;
    }
    if scanner.out.is_wordless() { Err(hints::empty()) } else { Ok(scanner.out.finish()) }
}

/// One scan on its way.
pub(super) struct Scanner {
    chars: Vec<char>,
    pub(super) at: usize,
    pub(super) sqlite: bool,
    pub(super) out: Mask,
    nesting: Nesting,
    /// The last character that was neither blank nor comment.
    previous: char,
    /// Whether the last word was a number, perhaps with a dot behind it.
    after_number: bool,
    /// Whether the closing semicolon was met.
    ended: bool,
}

impl Scanner {
    fn new(sql: &str, dialect: Dialect) -> Self {
        Self {
            chars: sql.chars().collect(),
            at: 0,
            sqlite: dialect == Dialect::Sqlite,
            out: Mask::default(),
            nesting: Nesting::new(),
            previous: ' ',
            after_number: false,
            ended: false,
        }
    }

    pub(super) fn peek(&self, ahead: usize) -> Option<char> {
        self.chars.get(self.at + ahead).copied()
    }

    /// Consumes one blank, comment, literal, word or symbol.
    fn step(&mut self, c: char) -> Result<(), Refusal> {
        self.check_blank(c)?;
        if matches!(c, ' ' | '\t' | '\n' | '\r') {
            self.out.keep(c);
            self.at += 1;
            return Ok(());
        }
        if c == '/' && self.peek(1) == Some('*') {
            return self.block_comment();
        }
        if self.starts_line_comment(c) {
            return self.line_comment();
        }
        if self.ended {
            return Err(Refusal::new(
                Rule::SeveralStatements,
                "send exactly one statement; nothing may follow the ;",
            ));
        }
        match c {
            '\'' | '"' | '`' => {
                self.after_number = false;
                self.quoted(c)?;
            }
            c if is_word(c) => self.word()?,
            c => self.symbol(c)?,
        }
        self.previous = self.chars.get(self.at.wrapping_sub(1)).copied().unwrap_or(' ');
        Ok(())
    }

    /// Refuses blanks and control characters that only some readers take for a blank.
    fn check_blank(&self, c: char) -> Result<(), Refusal> {
        let refused = match c {
            '\t' | '\n' => false,
            '\r' => self.peek(1) != Some('\n'),
            c => c.is_control() || is_invisible(c) || (c.is_whitespace() && c != ' '),
        };
        if refused { Err(odd_blank(c)) } else { Ok(()) }
    }

    /// Comments may hold any text; only what some reader ends a line at, or can't see, is refused.
    pub(super) fn check_comment(&self, c: char) -> Result<(), Refusal> {
        let emoji_part = matches!(c, '\u{200D}' | '\u{FE00}'..='\u{FE0F}');
        if !emoji_part && (c.is_control() || is_invisible(c)) { self.check_blank(c) } else { Ok(()) }
    }

    fn starts_line_comment(&self, c: char) -> bool {
        match c {
            '#' => !self.sqlite,
            '-' if self.peek(1) == Some('-') => {
                // MySQL needs a blank after the dashes: `5--3` is a subtraction there, a comment in SQLite.
                self.sqlite || self.peek(2).is_none_or(|after| matches!(after, ' ' | '\t' | '\n' | '\r'))
            }
            _ => false,
        }
    }

    fn word(&mut self) -> Result<(), Refusal> {
        let start = self.at;
        while let Some(c) = self.peek(0).filter(|&c| is_word(c)) {
            check_letter(c)?;
            self.at += 1;
        }
        let written: String = self.chars.iter().take(self.at).skip(start).collect();
        let upper = written.to_ascii_uppercase();
        let numeric = written.starts_with(|c: char| c.is_ascii_digit());
        if numeric {
            // An exponent's sign is a token of its own here: `1e-5`.
            let signed =
                matches!(self.peek(0), Some('+' | '-')) && self.peek(1).is_some_and(|c| c.is_ascii_digit());
            check_number(&written, self.previous == '.', signed)?;
        } else if self.previous == '.' && self.after_number {
            return Err(odd_number(&written));
        }
        self.after_number = numeric;
        if self.previous == '.' {
            self.out.word(&written, &written);
            return Ok(());
        }
        // The parser only knows units of one field. These words are reserved, so they can be nothing else.
        let is_unit = !self.sqlite && words::is_composite_unit(&upper);
        self.out.word(&written, if is_unit { "HOUR" } else { &written });
        if self.out.is_wordless() {
            hints::check_first_word(&upper)?;
        }
        self.nesting.word(&upper)?;
        self.out.note_word(upper);
        Ok(())
    }

    fn symbol(&mut self, c: char) -> Result<(), Refusal> {
        self.after_number &= c == '.';
        match c {
            ';' if self.out.is_wordless() => return Err(hints::empty()),
            ';' => self.ended = true,
            '?' => return self.placeholder(),
            '(' | ')' | ',' | '.' | '+' | '-' | '*' | '/' | '%' | '=' | '<' | '>' | '!' | '~' | '^' | '&'
            | '|' => {
                self.nesting.symbol(c)?;
            }
            c => return Err(refuse_symbol(c)),
        }
        self.out.keep(c);
        self.at += 1;
        Ok(())
    }

    fn placeholder(&mut self) -> Result<(), Refusal> {
        let after = self.peek(1);
        if after == Some('?') || after.is_some_and(is_word) || is_word(self.previous_char()) {
            return Err(Refusal::new(
                Rule::Placeholder,
                "only a plain ? stands for a value, set apart from words; named \
                 and numbered placeholders are \
                 not allowed",
            ));
        }
        self.out.placeholder();
        self.at += 1;
        Ok(())
    }

    fn previous_char(&self) -> char {
        self.at.checked_sub(1).and_then(|at| self.chars.get(at)).copied().unwrap_or(' ')
    }
}
