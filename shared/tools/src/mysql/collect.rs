//! Rows under their caps: how many, how wide, how many bytes in all; every cut is said.

use serde_json::Value;

use super::source::Rows;

/// Characters of one text cell.
const MAX_CELL_CHARS: usize = 1000;
/// Bytes of all cells.
const MAX_TOTAL_BYTES: usize = 64 * 1024;
/// Integers beyond this are not exact in a double, so they are shown as strings.
const MAX_EXACT: u64 = 1 << 53;

pub(super) struct Collected {
    rows: Rows,
    max_rows: usize,
    bytes: usize,
    cut_cells: usize,
}

impl Collected {
    pub fn new(max_rows: u32) -> Self {
        Self { rows: Rows::default(), max_rows: max_rows as usize, bytes: 0, cut_cells: 0 }
    }

    /// The columns' names, known with the first row.
    pub fn columns(&mut self, names: impl FnOnce() -> Vec<String>) {
        if self.rows.columns.is_empty() {
            self.rows.columns = names();
        }
    }

    /// Takes a row; `false` when no more are wanted (this one included).
    pub fn push(&mut self, mut row: Vec<Value>) -> bool {
        if self.rows.rows.len() >= self.max_rows {
            self.rows.truncated = true;
            self.rows.notes.push(format!("more rows exist; only the first {} are shown", self.max_rows));
            return false;
        }
        for cell in &mut row {
            if let Value::String(text) = cell
                && text.chars().count() > MAX_CELL_CHARS
            {
                *text = text.chars().take(MAX_CELL_CHARS).chain(['…']).collect();
                self.cut_cells += 1;
            }
            self.bytes += cell.as_str().map_or(8, str::len);
        }
        if self.bytes > MAX_TOTAL_BYTES {
            self.rows.truncated = true;
            self.rows.notes.push(format!("more rows exist; the result was cut at {MAX_TOTAL_BYTES} bytes"));
            return false;
        }
        self.rows.rows.push(row);
        true
    }

    pub fn note(&mut self, note: &str) {
        if !self.rows.notes.iter().any(|known| known == note) {
            self.rows.notes.push(note.to_owned());
        }
    }

    pub fn finish(mut self) -> Rows {
        if self.cut_cells > 0 {
            self.rows.truncated = true;
            self.rows.notes.push(format!("{} cell(s) cut at {MAX_CELL_CHARS} characters", self.cut_cells));
        }
        self.rows
    }
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
        Ok(text) => text.into(),
        Err(_) => {
            let hex: String = bytes.iter().take(MAX_HEX_BYTES).map(|b| format!("{b:02x}")).collect();
            let more = if bytes.len() > MAX_HEX_BYTES { "…" } else { "" };
            format!("0x{hex}{more}").into()
        }
    }
}
