//! Every MySQL column type as a JSON cell. What a double can't hold exactly, and what has no JSON form, becomes text.

use serde_json::Value;
use sqlx::mysql::{MySql, MySqlRow, MySqlValueRef};
use sqlx::{Decode, Row, Type, TypeInfo, ValueRef};

use super::collect::{Collected, bytes, signed, unsigned};

/// Reads one cell of the binary protocol. Never fails: what can't be read is said so in the cell and in a note.
pub(super) fn read(row: &MySqlRow, index: usize, collected: &mut Collected) -> Value {
    let Ok(value) = row.try_get_raw(index) else {
        collected.note("a cell could not be read");
        return Value::Null;
    };
    let name = value.type_info().name().to_owned();
    // TINYINT(1) is called BOOLEAN with and without a sign.
    let has_sign = !<u8 as Type<MySql>>::compatible(&value.type_info());
    // Not `is_null`, which takes a zero date for a NULL.
    let Some(raw) = raw(value) else {
        return Value::Null;
    };
    match name.as_str() {
        "BOOLEAN" if !has_sign => unsigned(little_endian(raw)),
        "BOOLEAN" | "TINYINT" | "SMALLINT" | "MEDIUMINT" | "INT" | "BIGINT" => {
            signed(little_endian_signed(raw))
        }
        "TINYINT UNSIGNED" | "SMALLINT UNSIGNED" | "MEDIUMINT UNSIGNED" | "INT UNSIGNED"
        | "BIGINT UNSIGNED" | "YEAR" => unsigned(little_endian(raw)),
        "FLOAT" => raw.try_into().map_or(Value::Null, |b| float(f32::from_le_bytes(b))),
        "DOUBLE" => raw.try_into().map_or(Value::Null, |b| f64::from_le_bytes(b).into()),
        "DATE" => date(raw).into(),
        "DATETIME" | "TIMESTAMP" => date_time(raw).into(),
        "TIME" => time(raw).into(),
        "BIT" => unsigned(raw.iter().take(8).fold(0, |n, b| n << 8 | u64::from(*b))),
        "GEOMETRY" => {
            collected.note("geometry is shown as its size only");
            format!("(geometry, {} bytes)", raw.len()).into()
        }
        // DECIMAL, JSON, text, ENUM, SET and binary strings all come as bytes.
        _ => bytes(raw),
    }
}

/// `None` for NULL.
fn raw(value: MySqlValueRef<'_>) -> Option<&[u8]> {
    <&[u8] as Decode<MySql>>::decode(value).ok()
}

fn little_endian(raw: &[u8]) -> u64 {
    raw.iter().take(8).rev().fold(0, |n, b| n << 8 | u64::from(*b))
}

fn little_endian_signed(raw: &[u8]) -> i64 {
    let unused = 64 - 8 * raw.len().clamp(1, 8);
    // Shifted up and down again so that the sign bit of a shorter integer fills the rest.
    ((little_endian(raw) << unused).cast_signed()) >> unused
}

/// With the digits that the server shows: 0.1, not the nearest double's 0.10000000149011612.
fn float(number: f32) -> Value {
    number.to_string().parse::<f64>().map_or(Value::Null, Value::from)
}

/// The binary protocol's date and time values: a length byte, then as many of the fields as are not zero.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn of(raw: &'a [u8]) -> Self {
        Self(raw.get(1..).unwrap_or_default())
    }

    fn at(&self, offset: usize, bytes: usize) -> u64 {
        self.0.get(offset..offset + bytes).map_or(0, little_endian)
    }
}

fn date(raw: &[u8]) -> String {
    let fields = Fields::of(raw);
    format!("{:04}-{:02}-{:02}", fields.at(0, 2), fields.at(2, 1), fields.at(3, 1))
}

/// Zero dates and years beyond any calendar type are shown as they are stored.
fn date_time(raw: &[u8]) -> String {
    let fields = Fields::of(raw);
    let time = format!("{:02}:{:02}:{:02}", fields.at(4, 1), fields.at(5, 1), fields.at(6, 1));
    format!("{} {time}{}", date(raw), fraction(fields.at(7, 4)))
}

/// A duration of up to 838 hours, with its sign.
fn time(raw: &[u8]) -> String {
    let fields = Fields::of(raw);
    let sign = if fields.at(0, 1) == 1 { "-" } else { "" };
    let hours = fields.at(1, 4) * 24 + fields.at(5, 1);
    format!("{sign}{hours:02}:{:02}:{:02}{}", fields.at(6, 1), fields.at(7, 1), fraction(fields.at(8, 4)))
}

fn fraction(micros: u64) -> String {
    if micros == 0 { String::new() } else { format!(".{micros:06}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_keep_their_sign_and_size() {
        assert_eq!(little_endian_signed(&[0xff]), -1);
        assert_eq!(little_endian_signed(&[0x80, 0xff]), -128);
        assert_eq!(little_endian_signed(&i64::MIN.to_le_bytes()), i64::MIN);
        assert_eq!(signed(9_007_199_254_740_993), "9007199254740993");
        assert_eq!(unsigned(u64::MAX), "18446744073709551615");
    }

    #[test]
    fn odd_dates_and_long_times_are_text() {
        assert_eq!(date(&[0]), "0000-00-00");
        assert_eq!(date_time(&[7, 0xea, 7, 11, 30, 6, 5, 1]), "2026-11-30 06:05:01");
        assert_eq!(
            date_time(&[11, 0xea, 7, 11, 30, 6, 5, 1, 0x20, 0xa1, 0x07, 0]),
            "2026-11-30 06:05:01.500000"
        );
        assert_eq!(time(&[8, 1, 34, 0, 0, 0, 22, 59, 59]), "-838:59:59");
        assert_eq!(time(&[0]), "00:00:00");
    }
}
