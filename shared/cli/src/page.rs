//! Readable pages: headings, hanging paragraphs wrapped to the terminal's columns, tables. Everything that enters is made plain.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::plain::{one_line, plain};

/// Colours, or none.
#[derive(Debug, Clone, Copy)]
pub struct Paint(pub bool);

impl Paint {
    fn wrap(self, code: &str, text: &str) -> String {
        if self.0 && !text.is_empty() { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }

    pub fn bold(self, text: &str) -> String {
        self.wrap("1", text)
    }

    pub fn dim(self, text: &str) -> String {
        self.wrap("2", text)
    }

    pub fn good(self, text: &str) -> String {
        self.wrap("32", text)
    }

    pub fn doubtful(self, text: &str) -> String {
        self.wrap("33", text)
    }

    pub fn bad(self, text: &str) -> String {
        self.wrap("31", text)
    }
}

/// A text that grows from above.
#[derive(Debug)]
pub struct Page {
    text: String,
    width: usize,
    paint: Paint,
}

impl Page {
    pub fn new(width: usize, paint: Paint) -> Self {
        Self { text: String::new(), width, paint }
    }

    pub fn into_text(self) -> String {
        self.text
    }

    pub fn gap(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with("\n\n") {
            self.text.push('\n');
        }
    }

    pub fn heading(&mut self, text: &str) {
        self.gap();
        for line in wrap(&one_line(text), self.width) {
            self.text.push_str(&self.paint.bold(&line));
            self.text.push('\n');
        }
    }

    /// A paragraph behind `lead`; its further lines begin below the first one's text.
    pub fn item(&mut self, lead: &str, text: &str) {
        self.put(lead, text, |_, line| line.to_owned());
    }

    /// An [`Page::item`] that stands back.
    pub fn aside(&mut self, lead: &str, text: &str) {
        self.put(lead, text, |paint, line| paint.dim(line));
    }

    fn put(&mut self, lead: &str, text: &str, style: impl Fn(Paint, &str) -> String) {
        let lead = plain(lead);
        let indent = lead.width().min(self.width / 2);
        let room = self.width.saturating_sub(indent).max(1);
        let lines = plain(text.trim()).lines().flat_map(|line| wrap(line, room)).collect::<Vec<_>>();
        for (i, line) in lines.iter().enumerate() {
            let before = if i == 0 { lead.clone() } else { " ".repeat(indent) };
            self.text.push_str(format!("{before}{}", style(self.paint, line)).trim_end());
            self.text.push('\n');
        }
    }

    /// Rows below column names. A name that begins with `>` has its column set to the right; what does not fit is cut from the
    /// last column, with a mark.
    pub fn table(&mut self, names: &[&str], rows: &[Vec<String>]) {
        let right: Vec<bool> = names.iter().map(|name| name.starts_with('>')).collect();
        let names = names.iter().map(|name| name.trim_start_matches('>').to_owned()).collect();
        let cells = |row: &Vec<String>| row.iter().map(|cell| one_line(cell)).collect::<Vec<_>>();
        let lines: Vec<Vec<String>> = std::iter::once(names).chain(rows.iter().map(cells)).collect();
        let columns = |i: usize| lines.iter().filter_map(|line| line.get(i)).map(|cell| cell.width()).max();
        let widths: Vec<usize> = (0..right.len()).map(|i| columns(i).unwrap_or(0)).collect();
        for (n, line) in lines.iter().enumerate() {
            let mut shown = String::from(" ");
            for (i, cell) in line.iter().enumerate() {
                let room = widths.get(i).copied().unwrap_or(0);
                let pad = " ".repeat(room.saturating_sub(cell.width()));
                shown.push(' ');
                if right.get(i).copied().unwrap_or(false) {
                    shown.push_str(&format!("{pad}{cell} "));
                } else if i + 1 == line.len() {
                    shown.push_str(&cut(cell, self.width.saturating_sub(shown.width()).max(8)));
                } else {
                    shown.push_str(&format!("{cell}{pad} "));
                }
            }
            let shown = shown.trim_end();
            self.text.push_str(&if n == 0 { self.paint.dim(shown) } else { shown.to_owned() });
            self.text.push('\n');
        }
    }
}

/// At most `columns` of a text, and a mark where it was cut.
pub fn cut(text: &str, columns: usize) -> String {
    if text.width() <= columns {
        return text.to_owned();
    }
    let mut kept = String::new();
    for c in text.chars() {
        if kept.width() + c.width().unwrap_or(0) >= columns {
            break;
        }
        kept.push(c);
    }
    format!("{}…", kept.trim_end())
}

/// Characters that may not begin a line.
const CLINGING: &str = "，。、；：？！）》」』】〉”’…％,.;:?!)]}%";

/// Lines of at most `columns`, broken at spaces and between wide characters; a longer word is cut where it must be.
fn wrap(text: &str, columns: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    for piece in pieces(text) {
        if line.width() + piece.trim_end().width() > columns && !line.is_empty() {
            lines.push(line.trim_end().to_owned());
            line.clear();
        }
        if piece.trim_end().width() <= columns {
            line.push_str(piece);
            continue;
        }
        for c in piece.chars() {
            if line.width() + c.width().unwrap_or(0) > columns && !line.is_empty() {
                lines.push(std::mem::take(&mut line));
            }
            line.push(c);
        }
    }
    if !line.trim_end().is_empty() || lines.is_empty() {
        lines.push(line.trim_end().to_owned());
    }
    lines
}

/// The text in pieces that may not be parted: words with the spaces behind them, wide characters with the punctuation behind them.
fn pieces(text: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let (mut start, mut before) = (0, None::<char>);
    for (at, c) in text.char_indices() {
        let wide = |c: char| c.width() == Some(2);
        let may_part = before.is_some_and(|before| {
            let after_space = before == ' ' && c != ' ';
            let between_wide = (wide(before) || wide(c)) && c != ' ' && c.width() != Some(0);
            after_space || (between_wide && !CLINGING.contains(c) && !"（《「『【〈“‘".contains(before))
        });
        if may_part && at > start {
            pieces.extend(text.get(start..at));
            start = at;
        }
        before = Some(c);
    }
    pieces.extend(text.get(start..).filter(|rest| !rest.is_empty()));
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_at_spaces_and_between_wide_characters() {
        for (text, columns, lines) in [
            ("one two three", 8, vec!["one two", "three"]),
            ("支付网关超时", 8, vec!["支付网关", "超时"]),
            ("支付网关，超时。", 8, vec!["支付网", "关，超", "时。"]),
            ("错误码 GATEWAY_TIMEOUT 出现39次", 16, vec!["错误码", "GATEWAY_TIMEOUT", "出现39次"]),
            ("averylongword end", 6, vec!["averyl", "ongwor", "d end"]),
            ("", 8, vec![""]),
            ("  indented text", 10, vec!["  indented", "text"]),
            ("e\u{301}e\u{301}e\u{301} x", 3, vec!["e\u{301}e\u{301}e\u{301}", "x"]),
        ] {
            assert_eq!(wrap(text, columns), lines, "{text}");
            assert!(wrap(text, columns).iter().all(|line| line.width() <= columns), "{text}");
        }
    }

    #[test]
    fn items_hang_and_asides_are_dim() {
        let mut page = Page::new(20, Paint(false));
        page.heading("FINDINGS");
        page.item("  1. ", "first second third\nnew line");
        page.heading("NEXT");
        page.item("  ", "支付\u{1b}[31m超时");
        assert_eq!(
            page.into_text(),
            "FINDINGS\n  1. first second\n     third\n     new line\n\nNEXT\n  支付超时\n"
        );
        let mut page = Page::new(20, Paint(true));
        page.aside("  ", "x");
        assert_eq!(page.into_text(), "  \u{1b}[2mx\u{1b}[0m\n");
    }

    #[test]
    fn tables_line_up_and_cut_their_last_column() {
        let row = |cells: [&str; 3]| cells.map(str::to_owned).to_vec();
        let mut page = Page::new(32, Paint(false));
        page.table(
            &["name", ">ms", "text"],
            &[row(["支付", "7", "short"]), row(["logs", "1234", "a text that is too long for the page"])],
        );
        assert_eq!(
            page.into_text(),
            "  name    ms  text\n  支付     7  short\n  logs  1234  a text that is to…\n"
        );
    }
}
