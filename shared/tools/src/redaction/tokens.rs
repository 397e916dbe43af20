//! Secrets that show in their own form: private keys, tokens with their issuer's mark, authorisation headers, password hashes.

use std::sync::LazyLock;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use regex::Regex;

use super::detect::{Kind, Span, looks_random};

type Pattern = LazyLock<Option<Regex>>;

/// A pattern that didn't compile is a bug that `every_pattern_compiles` finds; it then matches nothing.
fn pattern(text: &str) -> Option<Regex> {
    Regex::new(text).ok()
}

/// A key block from its first line to its last, or to the end of a text that was cut. One that ends before its last line is masked
/// to the end: what follows can't be told from the key.
static KEY_BLOCK: Pattern = LazyLock::new(|| {
    pattern(concat!(
        r"-{4,5} ?BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)? ?-{4,5}(?s:.*?)",
        r"(?:-{4,5} ?END [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)? ?-{4,5}|\z)"
    ))
});

/// A line out of the middle of such a block, alone in its record.
static KEY_LINE: Pattern =
    LazyLock::new(|| pattern(r"^\s*(MII[A-Za-z0-9+/]{20,}={0,2}|[A-Za-z0-9+/]{60,76})\s*$"));

/// Tokens with a mark, and the kind of each alternative by its group.
static MARKED: Pattern = LazyLock::new(|| {
    pattern(concat!(
        r"(?-u:\b)(?:",
        r"(eyJ[A-Za-z0-9_-]{6,}\.[A-Za-z0-9_-]{4,}(?:\.[A-Za-z0-9_-]*){0,3})",
        r"|((?:AKIA|ASIA|AROA|AIDA|ABIA|ACCA)[A-Z0-9]{12,28})(?-u:\b)",
        r"|(AIza[A-Za-z0-9_-]{30,}|ya29\.[A-Za-z0-9_-]{16,}|GOCSPX-[A-Za-z0-9_-]{16,}|LTAI[A-Za-z0-9]{12,30}(?-u:\b)|AKID[A-Za-z0-9]{13,40}(?-u:\b)",
        r"|gh[opsru]_[A-Za-z0-9]{16,}|github_pat_[A-Za-z0-9_]{16,}|gl(?:pat|dt|rt|ptt|soat|cbt|ft|imt|agent)-[A-Za-z0-9_-]{16,}",
        r"|xox[a-z]-[A-Za-z0-9-]{10,}|xapp-[A-Za-z0-9-]{10,}|[sr]k_(?:live|test)_[A-Za-z0-9]{8,}|whsec_[A-Za-z0-9+/=]{16,}",
        r"|npm_[A-Za-z0-9]{20,}|pypi-[A-Za-z0-9_-]{16,}|dckr_pat_[A-Za-z0-9_-]{16,}|SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}",
        r"|SK[0-9a-f]{32}(?-u:\b)|hf_[A-Za-z0-9]{16,}|sk-[A-Za-z0-9_-]{16,}|dop_v1_[0-9a-f]{16,}|shp(?:at|ca|pa|ss)_[0-9a-fA-F]{16,}",
        r"|dapi[0-9a-f]{32}(?-u:\b)|hv[sbr]\.[A-Za-z0-9_-]{16,}|AGE-SECRET-KEY-1[A-Z0-9]{16,}|xkeysib-[A-Za-z0-9-]{16,}|key-[0-9a-f]{32}(?-u:\b)",
        r"|(?:bot)?[0-9]{8,10}:AA[A-Za-z0-9_-]{30,}|NRAK-[A-Z0-9]{16,}|ATATT3[A-Za-z0-9_=-]{16,}|ATBB[A-Za-z0-9]{16,}|EAA[A-Za-z0-9]{50,}",
        r"|(?:figd|lin_api|tfp|rnd|gsk|xai|r8|pul|sntrys|glsa|dt0c01|nvapi)[_-][A-Za-z0-9_.-]{16,})",
        r")"
    ))
});

/// An authorisation scheme and its credential.
static SCHEME: Pattern = LazyLock::new(|| {
    pattern(
        r"(?i-u:\b(bearer|basic|digest|negotiate|apikey|aws4-hmac-sha256)[ \t]+(?:credential=)?)([A-Za-z0-9._~+/=-]{6,})",
    )
});

/// What stands beside an access key id may be its secret: forty characters of Base64.
static FORTY: Pattern = LazyLock::new(|| pattern(r"[A-Za-z0-9+/]{40}={0,2}"));
const BESIDE: usize = 160;

/// Hashes of passwords in the forms of crypt, and of LDAP.
static PASSWORD_HASH: Pattern = LazyLock::new(|| {
    pattern(
        r"\$(?:1|2[abxy]?|5|6|7|y|apr1|sha1|argon2(?:id?|d)|pbkdf2[a-z0-9-]*|scrypt)\$[A-Za-z0-9./$=,+-]{16,}|\{S?(?:SHA|MD5)[0-9]*\}[A-Za-z0-9+/=]{16,}",
    )
});

pub fn find(text: &str, spans: &mut Vec<Span>) {
    if text.contains("PRIVATE KEY") {
        whole(&KEY_BLOCK, text, Kind::PrivateKey, spans);
    }
    key_line(text, spans);
    marked(text, spans);
    schemes(text, spans);
    if text.contains(['$', '{']) {
        whole(&PASSWORD_HASH, text, Kind::Credential, spans);
    }
}

fn whole(pattern: &Pattern, text: &str, kind: Kind, spans: &mut Vec<Span>) {
    let found = pattern.as_ref().into_iter().flat_map(|pattern| pattern.find_iter(text));
    spans.extend(found.map(|found| Span { start: found.start(), end: found.end(), kind }));
}

/// Capitals, small letters and digits together: a checksum in hexadecimal is no key.
fn key_line(text: &str, spans: &mut Vec<Span>) {
    let Some(found) = KEY_LINE.as_ref().and_then(|pattern| pattern.captures(text)?.get(1)) else { return };
    let has = |test: fn(&u8) -> bool| found.as_str().as_bytes().iter().any(test);
    if has(u8::is_ascii_uppercase) && has(u8::is_ascii_lowercase) && has(u8::is_ascii_digit) {
        spans.push(Span { start: found.start(), end: found.end(), kind: Kind::PrivateKey });
    }
}

fn marked(text: &str, spans: &mut Vec<Span>) {
    let Some(pattern) = &*MARKED else { return };
    for found in pattern.captures_iter(text) {
        let kinds = [(1, Kind::Jwt), (2, Kind::AwsKey), (3, Kind::VendorKey)];
        let Some((token, kind)) = kinds.iter().find_map(|(group, kind)| Some((found.get(*group)?, *kind)))
        else {
            continue;
        };
        // `sk-` begins words, too.
        if !looks_random(token.as_str()) && !token.as_str().bytes().any(|b| b.is_ascii_uppercase()) {
            continue;
        }
        spans.push(Span { start: token.start(), end: token.end(), kind });
        if kind == Kind::AwsKey {
            beside(text, token.start(), token.end(), spans);
        }
    }
}

fn beside(text: &str, start: usize, end: usize, spans: &mut Vec<Span>) {
    let Some(pattern) = &*FORTY else { return };
    let floor = |at: usize| text.floor_char_boundary(at);
    let near = [(floor(start.saturating_sub(BESIDE)), start), (end, floor(end + BESIDE))];
    for (from, to) in near {
        for found in pattern.find_iter(&text[from..to]) {
            let value = found.as_str();
            let joined = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
            let (first, last) = (from + found.start(), from + found.end());
            let alone = !joined(text[..first].chars().next_back()) && !joined(text[last..].chars().next());
            let hexadecimal = value.bytes().all(|b| b.is_ascii_hexdigit());
            if alone && looks_random(value) && !hexadecimal {
                spans.push(Span { start: first, end: last, kind: Kind::Credential });
            }
        }
    }
}

fn schemes(text: &str, spans: &mut Vec<Span>) {
    let Some(pattern) = &*SCHEME else { return };
    for found in pattern.captures_iter(text) {
        let (Some(scheme), Some(value)) = (found.get(1), found.get(2)) else { continue };
        // `Basic authentication` is prose.
        let believed = if scheme.as_str().eq_ignore_ascii_case("basic") {
            is_basic(value.as_str())
        } else {
            looks_random(value.as_str()) || value.as_str().len() >= 20
        };
        if believed {
            spans.push(Span { start: value.start(), end: value.end(), kind: Kind::Auth });
        }
    }
}

/// `user:password` in Base64, or what was cut out of it.
fn is_basic(value: &str) -> bool {
    let decoded = STANDARD.decode(value).or_else(|_| STANDARD_NO_PAD.decode(value));
    decoded.is_ok_and(|bytes| bytes.contains(&b':'))
        || value.ends_with('=')
        || (value.len() >= 12 && looks_random(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_compiles() {
        for pattern in [&KEY_BLOCK, &KEY_LINE, &MARKED, &SCHEME, &FORTY, &PASSWORD_HASH] {
            assert!(pattern.is_some());
        }
    }
}
