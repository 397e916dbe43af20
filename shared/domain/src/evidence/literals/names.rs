//! Which words of a text are names, codes, ids and versions rather than prose.

use super::vocabulary::{COMPOUND_STARTS, ERRNO, EVERYDAY, NAME_ENDS, NUMBER_STARTS, has};

/// How a word of a text is to be looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Kind {
    /// A name or code: case does not matter.
    Name,
    /// An id: case matters.
    Id,
    /// With or without its `v`.
    Version,
    /// `HTTP504`.
    Status(u64),
    /// `5xx`: the first digit.
    StatusClass(u64),
}

/// Whether a number follows the hyphen of the word that starts with `first`.
pub(super) fn is_number_start(first: &str) -> bool {
    has(NUMBER_STARTS, first.to_lowercase().as_str())
}

/// `payment.gateway.svc`: points join names, except a sentence's end without a space and abbreviations such
/// as e.g.
pub(super) fn is_dotted_name(segments: &[&str]) -> bool {
    let (Some(first), Some(last)) = (segments.first(), segments.last()) else { return false };
    let plain = |s: &str| s.chars().all(char::is_alphabetic);
    let capitalised = last.starts_with(char::is_uppercase) && last.chars().skip(1).all(char::is_lowercase);
    let sentence =
        segments.len() == 2 && plain(first) && capitalised && first.chars().all(char::is_lowercase);
    segments.len() >= 2
        && segments.iter().all(|s| s.chars().count() >= 2 || s.bytes().any(|b| b.is_ascii_digit()))
        && first.starts_with(char::is_alphabetic)
        && !sentence
        && !has(EVERYDAY, segments.join(".").to_lowercase().as_str())
}

/// What the word is, if it is no prose. `word` has no underscores around it.
pub(super) fn classify(word: &str) -> Option<Kind> {
    let lower = word.to_lowercase();
    let digits = word.bytes().filter(u8::is_ascii_digit).count();
    let letters = word.chars().filter(|c| c.is_alphabetic()).count();
    if has(EVERYDAY, lower.as_str()) || is_ordinal(&lower) {
        return None;
    }
    if is_version(&lower) {
        return Some(Kind::Version);
    }
    if let Some(kind) = status(&lower) {
        return Some(kind);
    }
    if digits > 0 && (letters == 0 && digits > 30 || is_id(word)) {
        return Some(Kind::Id);
    }
    let mixed = digits > 0 && letters > 0;
    let name = if word.contains('-') {
        is_kebab_name(&lower)
    } else {
        word.contains('_') && letters > 0
            || mixed && (letters + digits >= 3 || digits >= 2)
            || is_humped(word)
            || has(ERRNO, word)
            || is_exception(word)
    };
    name.then_some(Kind::Name)
}

fn is_ordinal(lower: &str) -> bool {
    let number = ["st", "nd", "rd", "th"].iter().find_map(|suffix| lower.strip_suffix(suffix));
    number.is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
}

/// `v2`, `v2.3.1-rc1`, `2.3.1`, `10.0.0.5`.
pub(super) fn is_version(lower: &str) -> bool {
    let numbers = lower.split('-').next().unwrap_or(lower);
    let bare = numbers.strip_prefix('v').unwrap_or(numbers);
    let segments: Vec<&str> = bare.split('.').collect();
    let numeric = |s: &&str| !s.is_empty() && s.len() <= 6 && s.bytes().all(|b| b.is_ascii_digit());
    segments.iter().all(numeric) && (segments.len() >= 3 || bare.len() < numbers.len())
}

fn status(lower: &str) -> Option<Kind> {
    if let Some(class) = lower.strip_suffix("xx").and_then(|class| class.parse().ok()) {
        return (1..=5).contains(&class).then_some(Kind::StatusClass(class));
    }
    let code = lower.strip_prefix("http").filter(|code| code.len() == 3)?;
    code.parse().ok().filter(|code| (100..600).contains(code)).map(Kind::Status)
}

pub(super) fn is_uuid(word: &str) -> bool {
    word.len() == 36
        && word.bytes().enumerate().all(|(i, b)| match i {
            8 | 13 | 18 | 23 => b == b'-',
            _ => b.is_ascii_hexdigit(),
        })
}

/// UUIDs, hex of 8 or more, and long mixtures of letters and digits.
pub(super) fn is_id(word: &str) -> bool {
    let digits = word.bytes().filter(u8::is_ascii_digit).count();
    let letters = word.bytes().filter(u8::is_ascii_alphabetic).count();
    let one_piece = word.bytes().all(|b| b.is_ascii_alphanumeric());
    let hex = word.len() >= 8 && word.bytes().all(|b| b.is_ascii_hexdigit());
    is_uuid(word) || one_piece && digits > 0 && letters > 0 && (hex || word.len() >= 10 && digits >= 2)
}

/// `db-01`, `payment-gateway`; not `read-only`, `cross-cluster`.
fn is_kebab_name(lower: &str) -> bool {
    let mut segments = lower.split('-');
    let (Some(first), Some(last)) = (segments.next(), segments.next_back()) else { return false };
    if lower.bytes().any(|b| b.is_ascii_digit()) {
        return lower.chars().any(char::is_alphabetic);
    }
    first.starts_with(char::is_alphabetic) && has(NAME_ENDS, last) && !has(COMPOUND_STARTS, first)
}

/// `HikariPool`, `CrashLoopBackOff`, `OOMKilled`; not `VMs`.
fn is_humped(word: &str) -> bool {
    let mut chars = word.chars().peekable();
    let mut hump = false;
    while let Some(c) = chars.next() {
        hump |= c.is_lowercase() && chars.peek().is_some_and(|next| next.is_uppercase());
    }
    let capitals = word.chars().take_while(|c| c.is_uppercase()).count();
    hump || capitals >= 3 && word.chars().count() >= capitals + 3
}

fn is_exception(word: &str) -> bool {
    let class = ["Exception", "Error"].iter().find_map(|suffix| word.strip_suffix(suffix));
    class.is_some_and(|class| class.starts_with(char::is_uppercase))
}
