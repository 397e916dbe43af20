//! Rows under their caps: how many, how wide, how many bytes in all; every cut is said. Secrets are masked on the way in,
//! before a cell is cut: half a secret would not be recognised.

use serde_json::Value;

use super::source::Rows;
use crate::redaction::{Redactor, clean};

/// Characters of one text cell.
const MAX_CELL_CHARS: usize = 1000;
/// Characters of one text cell that are searched for secrets: those shown, and the rest of a key that begins among them.
const MAX_SEARCHED_CHARS: usize = MAX_CELL_CHARS + 8 * 1024;
/// Bytes of all cells.
const MAX_TOTAL_BYTES: usize = 64 * 1024;
/// Bytes that a cell counts for beside its text.
const CELL_BYTES: usize = 8;
/// Integers beyond this are not exact in a double, so they are shown as strings.
const MAX_EXACT: u64 = 1 << 53;

pub(super) struct Collected {
    rows: Rows,
    max_rows: usize,
    bytes: usize,
    cut_cells: usize,
    complete: bool,
    redactor: Redactor,
}

impl Collected {
    pub fn new(max_rows: u32, redactor: Redactor) -> Self {
        Self {
            rows: Rows::default(),
            max_rows: max_rows as usize,
            bytes: 0,
            cut_cells: 0,
            complete: true,
            redactor,
        }
    }

    pub fn max_rows(&self) -> u32 {
        u32::try_from(self.max_rows).unwrap_or(u32::MAX)
    }

    /// The columns' names, known with the first row.
    pub fn columns(&mut self, names: impl FnOnce() -> Vec<String>) {
        if self.rows.columns.is_empty() {
            self.rows.columns = names().iter().map(|name| self.redactor.text(name).into_owned()).collect();
        }
    }

    /// Takes a row; `false` when no more are wanted (this one included).
    pub fn push(&mut self, mut row: Vec<Value>) -> bool {
        if self.rows.rows.len() >= self.max_rows {
            return self.stop(format!("more rows exist; only the first {} are shown", self.max_rows));
        }
        for (index, cell) in row.iter_mut().enumerate() {
            cut(cell, MAX_SEARCHED_CHARS);
            self.redactor.cell(self.rows.columns.get(index).map_or("", String::as_str), cell);
            self.cut_cells += usize::from(cut(cell, MAX_CELL_CHARS));
        }
        if self.rows.rows.is_empty() && bytes_of(&row) > MAX_TOTAL_BYTES {
            // Rows were found, so one is shown: a result without any would say that there are none.
            self.narrow(&mut row);
        }
        self.bytes += bytes_of(&row);
        if self.bytes > MAX_TOTAL_BYTES && !self.rows.rows.is_empty() {
            return self.stop(format!("more rows exist; the result was cut at {MAX_TOTAL_BYTES} bytes"));
        }
        self.rows.rows.push(row);
        true
    }

    /// Every row was read.
    pub fn is_complete(&self) -> bool {
        self.complete
    }

    pub fn note(&mut self, note: &str) {
        if !self.rows.notes.iter().any(|known| known == note) {
            self.rows.notes.push(note.to_owned());
        }
    }

    /// Something of the result is missing, in words.
    pub fn cut(&mut self, note: &str) {
        self.rows.truncated = true;
        self.note(note);
    }

    pub fn finish(mut self) -> Rows {
        if self.cut_cells > 0 {
            self.cut(&format!("{} cell(s) cut at {MAX_CELL_CHARS} characters or less", self.cut_cells));
        }
        if self.redactor.masked() > 0 {
            self.note(&format!("{} secret value(s) masked", self.redactor.masked()));
        }
        if self.redactor.cleaned() > 0 {
            self.note(&format!(
                "invisible or control characters removed from {} cell(s)",
                self.redactor.cleaned()
            ));
        }
        self.rows
    }

    fn stop(&mut self, note: String) -> bool {
        self.complete = false;
        self.cut(&note);
        false
    }

    /// Shortens the texts of a row so that it fits alone: no character takes more than four bytes, nor a cut mark.
    fn narrow(&mut self, row: &mut [Value]) {
        let share = (MAX_TOTAL_BYTES / row.len().max(1)).saturating_sub(CELL_BYTES) / 4;
        for cell in row {
            self.cut_cells += usize::from(cut(cell, share.saturating_sub(1)));
        }
    }
}

/// Shortens a text to `max` characters and a mark; whether it did.
fn cut(cell: &mut Value, max: usize) -> bool {
    match cell {
        Value::String(text) => match text.char_indices().nth(max) {
            Some((end, _)) => {
                text.truncate(end);
                text.push('…');
                true
            }
            None => false,
        },
        _ => false,
    }
}

fn bytes_of(row: &[Value]) -> usize {
    row.iter().map(|cell| CELL_BYTES + cell.as_str().map_or(0, str::len)).sum()
}

pub(super) fn signed(number: i64) -> Value {
    if number.unsigned_abs() <= MAX_EXACT { number.into() } else { number.to_string().into() }
}

pub(super) fn unsigned(number: u64) -> Value {
    if number <= MAX_EXACT { number.into() } else { number.to_string().into() }
}

/// Bytes as text where they are text, else as bounded hexadecimal.
pub(super) fn bytes(bytes: &[u8]) -> Value {
    const MAX_HEX_BYTES: usize = 64;
    match std::str::from_utf8(bytes) {
        // Control characters would be taken out of a text; in bytes they count.
        Ok(text) if clean(text) == text => text.into(),
        _ => {
            let hex: String = bytes.iter().take(MAX_HEX_BYTES).map(|b| format!("{b:02x}")).collect();
            let more = if bytes.len() > MAX_HEX_BYTES { "…" } else { "" };
            format!("0x{hex}{more}").into()
        }
    }
}
