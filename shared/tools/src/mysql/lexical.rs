//! Reads the statement as the server's own scanner does (MySQL under the default `sql_mode`, or SQLite) and
//! refuses every construct that two readers could understand differently. One pass, linear time.

use super::hints;
use super::mask::{Mask, Scanned};
use super::nesting::Nesting;
use super::policy::Dialect;
use super::refusal::{Refusal, Rule, echo};
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
            return Err(Refusal::new(Rule::SeveralStatements, "send exactly one statement; nothing may follow the ;"));
        }
        match c {
            '\'' | '"' | '`' => self.quoted(c)?,
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
        match c {
            ';' if self.out.is_wordless() => return Err(hints::empty()),
            ';' => self.ended = true,
            '?' => return self.placeholder(),
            '(' | ')' | ',' | '.' | '+' | '-' | '*' | '/' | '%' | '=' | '<' | '>' | '!' | '~' | '^' | '&' | '|' => {
                self.nesting.symbol(c)?;
            }
            c => return Err(self.refuse_symbol(c)),
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
                "only a plain ? stands for a value, set apart from words; names and numbered placeholders are not allowed",
            ));
        }
        self.out.placeholder();
        self.at += 1;
        Ok(())
    }

    fn previous_char(&self) -> char {
        self.at.checked_sub(1).and_then(|at| self.chars.get(at)).copied().unwrap_or(' ')
    }

    fn refuse_symbol(&self, c: char) -> Refusal {
        match c {
            '@' => Refusal::new(
                Rule::Variable,
                "user and system variables (@x, @@x, :=) are not allowed; number rows with ROW_NUMBER() OVER (…) \
                 and running totals with SUM(…) OVER (ORDER BY …)",
            ),
            '$' | ':' => Refusal::new(
                Rule::Placeholder,
                format!("{c} is not allowed outside quotes; use ? for values and `backticks` for such names"),
            ),
            '\\' => Refusal::new(
                Rule::ClientCommand,
                "a backslash stands outside a literal; \\G and other commands of the terminal client are not SQL",
            ),
            '{' | '}' | '[' | ']' => Refusal::new(
                Rule::Unsupported,
                format!("{c} is not allowed outside quotes; ODBC escapes, arrays and templates are not supported"),
            ),
            c => Refusal::new(
                Rule::Character,
                format!(
                    "the character {} (U+{:04X}) is not allowed outside quotes; use ASCII punctuation",
                    echo(&c.to_string()),
                    u32::from(c)
                ),
            ),
        }
    }
}

fn is_word(c: char) -> bool {
    c == '_' || c.is_alphanumeric()
}

fn odd_blank(c: char) -> Refusal {
    Refusal::new(
        Rule::Character,
        format!(
            "the statement contains the character U+{:04X} outside a literal; use plain spaces and line feeds",
            u32::from(c)
        ),
    )
}

/// Letters of other scripts may form names; look-alike forms of ASCII letters may not.
fn check_letter(c: char) -> Result<(), Refusal> {
    let wide = matches!(c, '\u{FF00}'..='\u{FFEF}');
    // MySQL takes letters beyond the basic plane only in quoted names.
    if wide || c > '\u{FFFF}' {
        return Err(Refusal::new(
            Rule::Character,
            format!("the character U+{:04X} is not allowed outside quotes; use ASCII letters", u32::from(c)),
        ));
    }
    Ok(())
}

/// Characters that a reader of the log can't see: zero-width, directional, BOM, line and paragraph separators.
pub(super) fn is_invisible(c: char) -> bool {
    matches!(
        c,
        '\u{00AD}' | '\u{034F}' | '\u{061C}' | '\u{115F}' | '\u{1160}' | '\u{180B}'..='\u{180F}'
            | '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2060}'..='\u{206F}' | '\u{3164}'
            | '\u{FE00}'..='\u{FE0F}' | '\u{FEFF}' | '\u{FFA0}' | '\u{FFF9}'..='\u{FFFB}'
            | '\u{E0000}'..='\u{E0FFF}'
    )
}
