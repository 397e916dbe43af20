//! Names, data types and units: the leaves of the tree that are not expressions.

use sqlparser::ast::{
    BinaryLength, CharLengthUnits, CharacterLength, DataType, DateTimeField, ExactNumberInfo, Ident,
    ObjectName, ObjectNamePart, TableAlias, TableAliasColumnDef, TimezoneInfo, TypeModifier,
};

use super::refusal::{Refusal, Rule, echo};
use super::words;

/// Longest value that a type may pad to, in bytes or characters.
const MAX_LENGTH: u64 = 65_535;

/// Checks a name that stands for a table, column, window or WITH expression.
pub(super) fn name(ident: &Ident, sqlite: bool) -> Result<(), Refusal> {
    let Ident { value, quote_style, span: _ } = ident;
    match quote_style {
        Some('`') => Ok(()),
        Some('"') if sqlite => Ok(()),
        None if is_dual_or_free(value, sqlite) => Ok(()),
        None => Err(Refusal::new(
            Rule::Identifier,
            format!("{0} is a reserved word here; quote it as `{0}` if it is a name", echo(value)),
        )),
        Some(_) => Err(Refusal::new(
            Rule::Identifier,
            "a name must be written bare or in `backticks`, not as a string",
        )),
    }
}

// DUAL is reserved too, but is the one reserved word that is a table.
fn is_dual_or_free(value: &str, sqlite: bool) -> bool {
    value.eq_ignore_ascii_case("DUAL") || !words::is_reserved(value, sqlite)
}

/// Checks the alias of a column, which may be quoted like a string.
pub(super) fn column_alias(ident: &Ident, sqlite: bool) -> Result<(), Refusal> {
    match ident.quote_style {
        Some('\'' | '"') => Ok(()),
        _ => name(ident, sqlite),
    }
}

/// Checks a dotted name.
pub(super) fn names(object: &ObjectName, sqlite: bool) -> Result<(), Refusal> {
    let ObjectName(parts) = object;
    for (index, part) in parts.iter().enumerate() {
        match part {
            // After a dot the servers take any word for a name.
            ObjectNamePart::Identifier(ident) if index > 0 && ident.quote_style.is_none() => {}
            ObjectNamePart::Identifier(ident) => name(ident, sqlite)?,
            ObjectNamePart::Function(_) => return Err(unsupported("computed names")),
        }
    }
    Ok(())
}

/// A character set or collation: bare, ASCII.
pub(super) fn charset(object: &ObjectName) -> Result<(), Refusal> {
    let ObjectName(parts) = object;
    match parts.as_slice() {
        [ObjectNamePart::Identifier(Ident { value, quote_style: None, span: _ })]
            if value.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
                && (value.eq_ignore_ascii_case("BINARY") || !words::is_reserved(value, false)) =>
        {
            Ok(())
        }
        _ => Err(unsupported("this character set or collation")),
    }
}

pub(super) fn table_alias(alias: Option<&TableAlias>, sqlite: bool) -> Result<(), Refusal> {
    let Some(TableAlias { explicit: _, name: alias, columns, at }) = alias else { return Ok(()) };
    name(alias, sqlite)?;
    for TableAliasColumnDef { name: column, data_type } in columns {
        name(column, sqlite)?;
        if data_type.is_some() {
            return Err(unsupported("typed column aliases"));
        }
    }
    if at.is_some() { Err(unsupported("this table alias")) } else { Ok(()) }
}

/// A type of CAST, CONVERT or JSON_TABLE.
pub(super) fn data_type(data_type: &DataType) -> Result<(), Refusal> {
    use DataType as T;
    match data_type {
        T::Char(length) | T::Character(length) | T::Varchar(length) | T::CharVarying(length) => {
            char_length(*length)
        }
        T::Varbinary(None) => Ok(()),
        T::Varbinary(Some(BinaryLength::IntegerLength { length })) => check_length(*length),
        T::Binary(length) => check_length(length.unwrap_or(0)),
        T::Decimal(precision) | T::Dec(precision) | T::Numeric(precision) => number(precision),
        T::Double(precision) | T::Float(precision) => number(precision),
        T::Signed | T::SignedInteger | T::Unsigned | T::UnsignedInteger | T::DoublePrecision | T::Real => {
            Ok(())
        }
        T::Int(_) | T::Integer(_) | T::BigInt(_) | T::SmallInt(_) | T::TinyInt(_) | T::MediumInt(_) => Ok(()),
        T::IntUnsigned(_) | T::IntegerUnsigned(_) | T::BigIntUnsigned(_) => Ok(()),
        T::Date | T::Datetime(_) | T::Time(_, TimezoneInfo::None) | T::Timestamp(_, TimezoneInfo::None) => {
            Ok(())
        }
        T::JSON | T::Text | T::Bool | T::Boolean | T::Blob(None) => Ok(()),
        T::Custom(ObjectName(parts), modifiers) => custom(parts, modifiers),
        _ => Err(unsupported("this data type")),
    }
}

fn char_length(length: Option<CharacterLength>) -> Result<(), Refusal> {
    match length {
        None => Ok(()),
        Some(CharacterLength::IntegerLength { length, unit: None | Some(CharLengthUnits::Characters) }) => {
            check_length(length)
        }
        Some(_) => Err(unsupported("this data type")),
    }
}

fn check_length(length: u64) -> Result<(), Refusal> {
    if length <= MAX_LENGTH {
        return Ok(());
    }
    Err(Refusal::new(Rule::Resource, format!("a data type may be at most {MAX_LENGTH} long")))
}

fn number(precision: &ExactNumberInfo) -> Result<(), Refusal> {
    match precision {
        ExactNumberInfo::None | ExactNumberInfo::Precision(_) | ExactNumberInfo::PrecisionAndScale(_, _) => {
            Ok(())
        }
    }
}

/// Types the parser has no word for.
fn custom(parts: &[ObjectNamePart], modifiers: &[TypeModifier]) -> Result<(), Refusal> {
    let [ObjectNamePart::Identifier(Ident { value, quote_style: None, span: _ })] = parts else {
        return Err(unsupported("this data type"));
    };
    if !words::is_in(&["NCHAR", "YEAR"], value) {
        return Err(unsupported("this data type"));
    }
    match modifiers {
        [] => Ok(()),
        [TypeModifier::Number(digits, false)] => check_length(digits.parse().unwrap_or(u64::MAX)),
        _ => Err(unsupported("this data type")),
    }
}

/// A unit of INTERVAL or EXTRACT. Units of two fields never get here: the scanner shows them as HOUR.
pub(super) fn unit(field: &DateTimeField) -> Result<(), Refusal> {
    use DateTimeField as F;
    match field {
        F::Year | F::Quarter | F::Month | F::Week(None) | F::Day => Ok(()),
        F::Hour | F::Minute | F::Second | F::Microsecond => Ok(()),
        _ => Err(unsupported("this interval unit; use YEAR, MONTH, DAY, HOUR, MINUTE or SECOND")),
    }
}

/// The refusal of something the guard doesn't know to be fine.
pub(super) fn unsupported(what: &str) -> Refusal {
    Refusal::new(Rule::Unsupported, format!("not allowed in this tool's SELECT: {what}"))
}
