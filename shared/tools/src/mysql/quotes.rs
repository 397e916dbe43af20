//! The parts of the scanner that run from an opening mark to its closing one: comments, literals and
//! quoted names.

use super::characters::is_invisible;
use super::lexical::Scanner;
use super::refusal::{Refusal, Rule};

impl Scanner {
    pub(super) fn line_comment(&mut self) -> Result<(), Refusal> {
        while let Some(c) = self.peek(0) {
            self.check_comment(c)?;
            self.out.blank(c);
            self.at += 1;
            if c == '\n' {
                break;
            }
        }
        Ok(())
    }

    pub(super) fn block_comment(&mut self) -> Result<(), Refusal> {
        let refused = match (self.peek(2), self.peek(3)) {
            (Some('!'), _) | (Some('M' | 'm'), Some('!')) => Some((
                Rule::ExecutableComment,
                "executable comments (/*! and /*M!) are not allowed; write the SQL itself or an ordinary \
                 comment",
            )),
            (Some('+'), _) => {
                Some((Rule::OptimizerHint, "optimizer hints (/*+ … */) are not allowed; leave the hint out"))
            }
            _ => None,
        };
        if let Some((rule, message)) = refused {
            return Err(Refusal::new(rule, message));
        }
        self.blank_two();
        loop {
            match (self.peek(0), self.peek(1)) {
                (None, _) => return Err(Refusal::new(Rule::Unterminated, "a /* comment is never closed")),
                (Some('*'), Some('/')) => break,
                (Some('/'), Some('*')) => {
                    return Err(Refusal::new(Rule::Comment, "a comment contains /*; comments do not nest"));
                }
                (Some(c), _) => {
                    self.check_comment(c)?;
                    self.out.blank(c);
                    self.at += 1;
                }
            }
        }
        self.blank_two();
        Ok(())
    }

    fn blank_two(&mut self) {
        self.out.blank(' ');
        self.out.blank(' ');
        self.at += 2;
    }

    /// A literal or quoted name, from quote to quote.
    pub(super) fn quoted(&mut self, quote: char) -> Result<(), Refusal> {
        let is_name = quote == '`' || (quote == '"' && self.sqlite);
        let start = self.at;
        self.out.keep(quote);
        self.at += 1;
        loop {
            let Some(c) = self.peek(0) else {
                return Err(Refusal::new(Rule::Unterminated, format!("a {quote} quote is never closed")));
            };
            if c == quote && self.peek(1) != Some(quote) {
                break;
            }
            let doubled = c == quote;
            let escape = c == '\\' && !is_name && !self.sqlite;
            if c == '\\' && self.sqlite && self.peek(1) == Some(quote) {
                return Err(Refusal::new(
                    Rule::Character,
                    "a backslash stands before a quote: SQLite has no backslash escapes; \
                     double the quote, or use another character for LIKE … ESCAPE",
                ));
            }
            for _ in 0..if doubled || escape { 2 } else { 1 } {
                self.quoted_char(quote, is_name)?;
            }
        }
        self.out.keep(quote);
        self.at += 1;
        if is_name && self.at == start + 2 {
            return Err(Refusal::new(Rule::Identifier, "a quoted name is empty"));
        }
        Ok(())
    }

    fn quoted_char(&mut self, quote: char, is_name: bool) -> Result<(), Refusal> {
        let Some(c) = self.peek(0) else {
            return Err(Refusal::new(Rule::Unterminated, format!("a {quote} quote is never closed")));
        };
        self.at += 1;
        if !is_name {
            self.out.inside(c);
            return Ok(());
        }
        if c.is_control() || is_invisible(c) || c == '\\' {
            return Err(Refusal::new(
                Rule::Identifier,
                format!("a quoted name contains the character U+{:04X}", u32::from(c)),
            ));
        }
        self.out.keep(c);
        Ok(())
    }
}
