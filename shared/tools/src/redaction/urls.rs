//! Secrets inside addresses: user information, and the paths of webhooks.

use std::sync::LazyLock;

use regex::Regex;

use super::assignments::is_worth_masking;
use super::detect::{Kind, Span, is_placeholder, looks_random};

/// Bytes of an address that are looked at, so that many in a row cost no more than their length.
const MAX_ADDRESS_BYTES: usize = 2048;
/// A user name alone is none; one of this length and form is a token.
const TOKEN_CHARS: usize = 16;
/// A part of a webhook's path of at least this length opens it.
const HOOK_CHARS: usize = 16;

/// Credentials of addresses without a scheme: Go's `user:password@tcp(host)`, Oracle's `thin:user/password@host`, `scp`-like
/// `user:password@host:port`.
static UNSCHEMED: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(concat!(
        r"(?:^|[\s\x22'=(,])(?:",
        r"[A-Za-z0-9._-]{1,40}:([^\s@/\x22'\[\]]{1,100})@(?:tcp|unix)\(",
        r"|jdbc:oracle:(?:thin|oci):[A-Za-z0-9._-]{1,40}/([^\s@]{1,100})@)"
    ))
    .ok()
});

pub fn find(text: &str, spans: &mut Vec<Span>) {
    let mut marks = text.match_indices("://").map(|(at, _)| at).peekable();
    while let Some(at) = marks.next() {
        let start = at + "://".len();
        // Another address inside this one has its own turn.
        let next = marks.peek().copied().unwrap_or(text.len());
        let near = &text[start..text.floor_char_boundary(next.min(start + MAX_ADDRESS_BYTES)).max(start)];
        let ends = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '<' | '>' | '`');
        let address = near.split(ends).next().unwrap_or_default();
        let authority = address.split(['/', '?', '#']).next().unwrap_or_default();
        user_information(start, address, authority, spans);
        if address.to_ascii_lowercase().contains("hook") {
            hook(start, address, authority.len(), spans);
        }
    }
    if text.contains('@') {
        let found = UNSCHEMED.as_ref().into_iter().flat_map(|pattern| pattern.captures_iter(text));
        for secret in found.filter_map(|found| found.get(1).or_else(|| found.get(2))) {
            spans.push(Span { start: secret.start(), end: secret.end(), kind: Kind::Credential });
        }
    }
}

/// `user:password@host`; the password may hold an `@`, and, carelessly written, a `/`, so the last `@` that a host follows counts.
fn user_information(start: usize, address: &str, authority: &str, spans: &mut Vec<Span>) {
    let careless = address.split(['?', '#']).next().unwrap_or_default();
    let credentials = match authority.rsplit_once('@') {
        Some((credentials, _)) => credentials,
        None => match careless.rsplit_once('@') {
            Some((credentials, _)) if is_careless(credentials) => credentials,
            _ => return,
        },
    };
    let secret = match credentials.split_once(':') {
        Some((_, password)) => {
            !password.is_empty() && !is_placeholder(credentials) && is_worth_masking(password)
        }
        None => credentials.len() >= TOKEN_CHARS && looks_random(credentials),
    };
    if secret {
        spans.push(Span { start, end: start + credentials.len(), kind: Kind::Credential });
    }
}

/// A user and the beginning of a password before the first `/`, and no port.
fn is_careless(credentials: &str) -> bool {
    let before = credentials.split('/').next().unwrap_or_default();
    before.split_once(':').is_some_and(|(user, rest)| {
        !user.contains('.') && !rest.is_empty() && !rest.bytes().all(|b| b.is_ascii_digit())
    })
}

fn hook(start: usize, address: &str, path_from: usize, spans: &mut Vec<Span>) {
    let path = address[path_from..].split(['?', '#']).next().unwrap_or_default();
    let opens = |part: &str| {
        let capitals = part.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit());
        part.len() >= HOOK_CHARS && (looks_random(part) || capitals)
    };
    let path = path.trim_end_matches(|c: char| !c.is_ascii_alphanumeric());
    if !path.split('/').any(opens) {
        return;
    }
    // What names the receiver stands before the key: it goes with it.
    let named =
        |part: &str| part.bytes().any(|b| b.is_ascii_digit() || b.is_ascii_uppercase()) && part.len() > 2;
    let mut at = 0;
    for part in path.split('/') {
        if named(part) {
            let (start, end) = (start + path_from + at, start + path_from + path.len());
            spans.push(Span { start, end, kind: Kind::Webhook });
            return;
        }
        at += part.len() + 1;
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_pattern_compiles() {
        assert!(super::UNSCHEMED.is_some());
    }
}
