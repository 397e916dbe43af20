//! What names a person: mail addresses, telephone numbers, national ids, bank accounts.

use std::sync::LazyLock;

use regex::Regex;

use super::detect::{Kind, Span};

/// Bytes before a number in which a word says what it is.
const LOOK_BACK: usize = 32;
/// Bytes behind a number in which its unit stands.
const MAX_UNIT_BYTES: usize = 16;

static EMAIL: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"([A-Za-z0-9][A-Za-z0-9._%+-]{0,63})@((?:[A-Za-z0-9-]{1,63}\.){1,8}([A-Za-z]{2,24}))").ok()
});
/// Endings that are no domains: units of a service manager, and file names.
const NO_DOMAINS: [&str; 12] = [
    "service", "socket", "timer", "mount", "target", "slice", "scope", "device", "swap", "path", "git", "jar",
];

/// Chinese mobile numbers, international numbers with a plus sign, American ones with parentheses; and, where a word says so, any
/// that is written like a number to dial.
static PHONE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(concat!(
        r"(\+[0-9]{1,3}(?:[ .-]?\([0-9]{1,4}\))?(?:[ .-]?[0-9]{2,5}){2,5}",
        r"|(?:\(?0?086\)?[ -]?)?1[3-9][0-9](?:[0-9]{8}|[ -][0-9]{4}[ -][0-9]{4})",
        r"|\([0-9]{3}\) ?[0-9]{3}-[0-9]{4}|[0-9]{3}-[0-9]{3}-[0-9]{4}|0[0-9]{2,3}-[0-9]{7,8})"
    ))
    .ok()
});
const PHONE_WORDS: [&str; 18] = [
    "phone",
    "mobile",
    "tel",
    "telephone",
    "msisdn",
    "cell",
    "cellphone",
    "call",
    "sms",
    "contact",
    "dial",
    "whatsapp",
    "fax",
    "手机",
    "手机号",
    "电话",
    "联系方式",
    "号码",
];
const PERSON_WORDS: [&str; 14] = [
    "user",
    "caller",
    "callee",
    "to",
    "from",
    "account",
    "login",
    "recipient",
    "receiver",
    "customer",
    "用户",
    "客户",
    "账号",
    "收件人",
];

static NATIONAL_ID: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"[1-9][0-9]{5}(?:19|20)[0-9]{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12][0-9]|3[01])[0-9]{3}[0-9Xx]")
        .ok()
});
const NATIONAL_WORDS: [&str; 6] = ["身份证", "idcard", "id_card", "identity", "national", "citizen"];

static IBAN: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"[A-Z]{2}[0-9]{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,4})?").ok());

/// Words that say that a number is an id an engineer searches by.
const ID_WORDS: [&str; 17] = [
    "order",
    "trace",
    "span",
    "request",
    "txn",
    "transaction",
    "payment",
    "invoice",
    "batch",
    "offset",
    "seq",
    "serial",
    "订单",
    "单号",
    "流水",
    "编号",
    "序号",
];

pub fn find(text: &str, spans: &mut Vec<Span>) {
    if text.contains('@') {
        emails(text, spans);
    }
    if text.bytes().any(|b| b.is_ascii_digit()) {
        let numbers = [(&PHONE, Kind::Phone), (&NATIONAL_ID, Kind::NationalId), (&IBAN, Kind::Iban)];
        for (pattern, kind) in numbers {
            let found = pattern.as_ref().into_iter().flat_map(|pattern| pattern.find_iter(text));
            for found in found.filter(|found| stands_alone(text, found.start(), found.end())) {
                let before =
                    &text[text.floor_char_boundary(found.start().saturating_sub(LOOK_BACK))..found.start()];
                let after = &text[found.end()..];
                let personal = match kind {
                    Kind::Phone => is_phone(before, found.as_str(), after),
                    Kind::NationalId => is_national_id(before, found.as_str()),
                    _ => is_iban(found.as_str()),
                };
                if personal {
                    spans.push(Span { start: found.start(), end: found.end(), kind });
                }
            }
        }
    }
}

fn emails(text: &str, spans: &mut Vec<Span>) {
    let Some(pattern) = &*EMAIL else { return };
    for found in pattern.captures_iter(text) {
        let (Some(whole), Some(user), Some(domain), Some(top)) =
            (found.get(0), found.get(1), found.get(2), found.get(3))
        else {
            continue;
        };
        let unit = NO_DOMAINS.iter().any(|no| top.as_str().eq_ignore_ascii_case(no));
        // `git@host:path` is an address of a repository, `name@1.2.3-rc.x` a version.
        let repository = user.as_str() == "git";
        let version = domain
            .as_str()
            .split('.')
            .filter(|label| label.starts_with(|c: char| c.is_ascii_digit()))
            .count()
            > 1;
        if !unit && !repository && !version {
            spans.push(Span { start: whole.start(), end: whole.end(), kind: Kind::Email });
        }
    }
}

/// Part of a longer word, number, id or path is none of these.
fn stands_alone(text: &str, start: usize, end: usize) -> bool {
    let joins = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '/' | '+');
    let before = text[..start].chars().next_back();
    let mut after = text[end..].chars();
    let continues = match after.next() {
        Some('.') => after.next().is_some_and(|c| c.is_ascii_digit()),
        Some('-' | '_') => after.next().is_some_and(|c| c.is_ascii_alphanumeric()),
        Some('/') => false,
        Some(c) => joins(c),
        None => false,
    };
    !before.is_some_and(joins) && !continues
}

/// The word that a number directly follows, in small letters, and whether a sign assigns it.
fn named(before: &str) -> (String, bool) {
    let trimmed =
        before.trim_end_matches(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '(' | '\\'));
    let assigned = trimmed.ends_with(['=', ':', '：']);
    let name = trimmed.trim_end_matches(|c: char| !c.is_alphanumeric());
    let word =
        name.rsplit(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-'))).next().unwrap_or_default();
    (word.to_lowercase(), assigned)
}

fn ends_with_any(word: &str, words: &[&str]) -> bool {
    words.iter().any(|known| {
        word.ends_with(known)
            && (!known.is_ascii()
                || word.len() == known.len()
                || word.len() > known.len() && {
                    let joint = word.as_bytes()[word.len() - known.len() - 1];
                    !joint.is_ascii_alphanumeric() || known.len() > 3
                })
    })
}

fn is_phone(before: &str, number: &str, after: &str) -> bool {
    let digits = number.bytes().filter(u8::is_ascii_digit).count();
    let (name, assigned) = named(before);
    let said = ends_with_any(&name, &PHONE_WORDS);
    let person = ends_with_any(&name, &PERSON_WORDS);
    if ID_WORDS.iter().any(|id| name.contains(id)) || name.ends_with("id") {
        return said;
    }
    let unit = after[..after.floor_char_boundary(MAX_UNIT_BYTES)].trim_start().to_ascii_lowercase();
    let counted =
        ["bytes", "byte", "b ", "kb", "mb", "ns", "us", "ms", "%", "rows", "次", "条", "字节", "毫秒"];
    if counted.iter().any(|word| unit.starts_with(word)) {
        return false;
    }
    if number.starts_with('+') {
        let parted = number.contains([' ', '-', '(', '.']);
        return said || person || ((10..=15).contains(&digits) && (parted || !assigned));
    }
    if number.starts_with('(') && digits == 10 {
        return true;
    }
    let mobile = digits >= 11 && !number.starts_with("0") || number.starts_with("086");
    if mobile && number.trim_start_matches(['(', '0', '8', '6', ')', ' ', '-']).starts_with('1') {
        return said || person || !assigned;
    }
    said
}

fn is_national_id(before: &str, number: &str) -> bool {
    let (name, _) = named(before);
    if NATIONAL_WORDS.iter().any(|word| name.contains(word)) {
        return true;
    }
    if ID_WORDS.iter().any(|id| name.contains(id)) {
        return false;
    }
    let weights = [7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2];
    let sum: usize =
        number.bytes().zip(weights).map(|(digit, weight)| usize::from(digit - b'0') * weight).sum();
    let check = b"10X98765432"[sum % 11];
    let last = number.bytes().last().unwrap_or_default().to_ascii_uppercase();
    last == b'X' || last == check
}

fn is_iban(text: &str) -> bool {
    let plain: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    if !(15..=34).contains(&plain.len()) {
        return false;
    }
    let (head, tail) = plain.split_at(4);
    let remainder = format!("{tail}{head}").bytes().fold(0u32, |sum, b| {
        let value = if b.is_ascii_digit() { u32::from(b - b'0') } else { u32::from(b - b'A') + 10 };
        if value > 9 { (sum * 100 + value) % 97 } else { (sum * 10 + value) % 97 }
    });
    remainder == 1
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_pattern_compiles() {
        use super::*;
        assert!(EMAIL.is_some() && PHONE.is_some() && NATIONAL_ID.is_some() && IBAN.is_some());
    }
}
