//! Payment card numbers: the right length for the brand, a valid check digit, and no sign that the number is
//! something else.

use std::sync::LazyLock;

use regex::Regex;

/// 13 to 19 digits, in groups parted by one space or dash or not at all.
static DIGITS: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"[2-6][0-9](?:[ -]?[0-9]){11,17}").ok());

/// Characters before a number in which a word says that it is an id.
const LOOK_BACK_CHARS: usize = 24;

/// The byte ranges of card numbers.
pub fn numbers(text: &str) -> impl Iterator<Item = (usize, usize)> + '_ {
    DIGITS
        .as_ref()
        .into_iter()
        .flat_map(move |pattern| pattern.find_iter(text))
        .map(|found| (found.start(), found.end()))
        .filter(move |(start, end)| {
            stands_alone(text, *start, *end) && is_card(&text[*start..*end]) && !is_an_id(&text[..*start])
        })
}

/// Part of a longer word, a UUID or a decimal is no card.
fn stands_alone(text: &str, start: usize, end: usize) -> bool {
    let joins = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_' || c == '.';
    let before = text[..start].chars().next_back();
    let mut after = text[end..].chars();
    let next = after.next();
    // A full stop at the end of a sentence doesn't continue a number.
    let continues = match next {
        Some('.') => after.next().is_some_and(|c| c.is_ascii_digit()),
        Some(c) => joins(c),
        None => false,
    };
    !before.is_some_and(joins) && !continues
}

fn is_card(text: &str) -> bool {
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_digit).map(|b| b - b'0').collect();
    brand_fits(&digits) && luhn(&digits)
}

fn brand_fits(digits: &[u8]) -> bool {
    let number = |n: usize| digits.iter().take(n).fold(0u32, |sum, d| sum * 10 + u32::from(*d));
    let two = number(2);
    match digits.len() {
        13 => two / 10 == 4,
        14 => matches!(two, 36 | 38 | 39) || (300..=305).contains(&number(3)),
        15 => matches!(two, 34 | 37),
        16 => {
            two / 10 == 4
                || (51..=55).contains(&two)
                || (2221..=2720).contains(&number(4))
                || matches!(two, 35 | 60 | 62 | 64 | 65)
        }
        17..=19 => two == 62 || (digits.len() == 19 && two / 10 == 4),
        _ => false,
    }
}

fn luhn(digits: &[u8]) -> bool {
    let sum: u32 = digits
        .iter()
        .rev()
        .enumerate()
        .map(|(i, digit)| {
            let digit = u32::from(*digit);
            if i % 2 == 0 {
                digit
            } else if digit > 4 {
                digit * 2 - 9
            } else {
                digit * 2
            }
        })
        .sum();
    sum.is_multiple_of(10)
}

/// `order=4111…` or `trace_id: 4111…`: engineers need these, and one in ten numbers has a valid check digit
/// by chance.
fn is_an_id(before: &str) -> bool {
    let from = before.char_indices().rev().take(LOOK_BACK_CHARS).last().map_or(0, |(i, _)| i);
    let near = before[from..].to_ascii_lowercase();
    let word = near
        .trim_end_matches(|c: char| !c.is_alphanumeric())
        .rsplit(|c: char| c.is_whitespace() || c == ',' || c == ';')
        .next()
        .unwrap_or_default();
    ["order", "trace", "span", "request", "txn", "transaction", "uid"].iter().any(|id| word.contains(id))
        || word.ends_with("id")
        || ["订单", "订单号", "单号", "流水号", "编号"].iter().any(|id| word.ends_with(id))
}
