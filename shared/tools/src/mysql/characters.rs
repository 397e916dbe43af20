//! Single characters and the shape of numbers, outside literals: what may stand there, and what the model is
//! told about the rest.

use super::refusal::{Refusal, Rule, echo};

/// The refusal of a character that is no part of the SQL this tool takes.
pub(super) fn refuse_symbol(c: char) -> Refusal {
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
            format!(
                "{c} is not allowed outside quotes; ODBC escapes, arrays and templates are not supported"
            ),
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

pub(super) fn is_word(c: char) -> bool {
    c == '_' || c.is_alphanumeric()
}

pub(super) fn odd_blank(c: char) -> Refusal {
    Refusal::new(
        Rule::Character,
        format!(
            "the statement contains the character U+{:04X} outside a literal; use plain spaces and line \
             feeds",
            u32::from(c)
        ),
    )
}

/// Letters of other scripts may form names; look-alike forms of ASCII letters may not.
pub(super) fn check_letter(c: char) -> Result<(), Refusal> {
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

/// Characters that can't be seen: zero-width, directional, BOM, line and paragraph separators.
pub(super) fn is_invisible(c: char) -> bool {
    matches!(
        c,
        '\u{00AD}' | '\u{034F}' | '\u{061C}' | '\u{115F}' | '\u{1160}' | '\u{180B}'..='\u{180F}'
            | '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2060}'..='\u{206F}' | '\u{3164}'
            | '\u{FE00}'..='\u{FE0F}' | '\u{FEFF}' | '\u{FFA0}' | '\u{FFF9}'..='\u{FFFB}'
            | '\u{E0000}'..='\u{E0FFF}'
    )
}

/// Refuses a word that begins with a digit unless it is a number for every reader. MySQL drops the `1.e` of
/// `1.e(x)` altogether and reads `1a` as a name; others read a number and an alias. `signed`: a sign and a
/// digit follow, which may belong to an exponent.
pub(super) fn check_number(word: &str, after_dot: bool, signed: bool) -> Result<(), Refusal> {
    let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    let lower = word.to_ascii_lowercase();
    let exponent = lower
        .split_once('e')
        .is_some_and(|(mantissa, power)| digits(mantissa) && digits(power) && power.is_empty() == signed);
    let based = match lower.split_at_checked(2) {
        Some(("0x", hex)) => !after_dot && !hex.is_empty() && hex.bytes().all(|b| b.is_ascii_hexdigit()),
        Some(("0b", bits)) => {
            !after_dot && !bits.is_empty() && bits.bytes().all(|b| matches!(b, b'0' | b'1'))
        }
        _ => false,
    };
    if digits(&lower) || exponent || based { Ok(()) } else { Err(odd_number(word)) }
}

/// The refusal of letters that touch a number.
pub(super) fn odd_number(word: &str) -> Refusal {
    Refusal::new(
        Rule::Identifier,
        format!(
            "{} stands where a number ends; set words apart by a blank and quote names that begin with a \
             digit in \
             `backticks`",
            echo(word)
        ),
    )
}
