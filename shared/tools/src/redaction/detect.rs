//! Where the secrets are in a text, and of which kind.

use std::sync::LazyLock;

use regex::Regex;

use super::cards;

/// What a masked text was. The words appear in placeholders.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    PrivateKey,
    Jwt,
    Auth,
    AwsKey,
    Credential,
    Email,
    Card,
}

impl Kind {
    /// None of these words is a key that [`ASSIGNMENT`] looks for, so that a placeholder is never masked
    /// again.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::PrivateKey => "pem-key",
            Self::Jwt => "jwt",
            Self::Auth => "auth",
            Self::AwsKey => "aws-key",
            Self::Credential => "credential",
            Self::Email => "email",
            Self::Card => "card",
        }
    }
}

/// A secret's place, in bytes, on character boundaries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    pub start: usize,
    pub end: usize,
    pub kind: Kind,
}

/// A pattern that didn't compile is a bug that `every_pattern_compiles` finds; it then matches nothing.
fn pattern(text: &str) -> Option<Regex> {
    Regex::new(text).ok()
}

/// Names of fields that hold secrets, in lower case and without separators.
const SECRET_NAMES: [&str; 20] = [
    "password",
    "passwd",
    "pwd",
    "passphrase",
    "secret",
    "token",
    "accesstoken",
    "refreshtoken",
    "idtoken",
    "apikey",
    "accesskey",
    "secretkey",
    "secretaccesskey",
    "clientsecret",
    "sessiontoken",
    "authtoken",
    "privatekey",
    "authorization",
    "cookie",
    "setcookie",
];

type Pattern = LazyLock<Option<Regex>>;

/// Each pattern's group 1 is the secret.
static SIMPLE: [(Kind, Pattern); 5] = [
    (
        Kind::PrivateKey,
        LazyLock::new(|| {
            pattern(concat!(
                r"(-----BEGIN [A-Z ]{0,20}PRIVATE KEY-----(?s:.*?)",
                r"(?:-----END [A-Z ]{0,20}PRIVATE KEY-----|\z))"
            ))
        }),
    ),
    (
        Kind::Jwt,
        LazyLock::new(|| pattern(r"(?-u:\b)(eyJ[A-Za-z0-9_-]{6,}\.[A-Za-z0-9_-]{4,}(?:\.[A-Za-z0-9_-]*)?)")),
    ),
    (Kind::Auth, LazyLock::new(|| pattern(r"(?i-u:\b(?:bearer|basic|digest)\s+)([A-Za-z0-9._~+/-]{8,}=*)"))),
    // Long-lived, temporary and role-bound key ids.
    (Kind::AwsKey, LazyLock::new(|| pattern(r"(?-u:\b)((?:AKIA|ASIA|AROA|AIDA)[A-Z0-9]{16})(?-u:\b)"))),
    (
        Kind::Email,
        LazyLock::new(|| {
            pattern(r"([A-Za-z0-9][A-Za-z0-9._%+-]{0,63}@(?:[A-Za-z0-9-]{1,63}\.){1,8}[A-Za-z]{2,24})")
        }),
    ),
];

/// `name = value` in every spelling logs use: plain, quoted, JSON, JSON inside JSON; Chinese names and colons
/// too. Groups: 1 the name, 2 or 3 or 4 the value (double-quoted, single-quoted, bare).
static ASSIGNMENT: Pattern = LazyLock::new(|| {
    pattern(concat!(
        r#"([A-Za-z][A-Za-z0-9_.-]{0,80}|密码|口令|密钥|令牌)(?:\\{0,3}["'])?[ \t]{0,4}(?:=>|:=|[:=：])[ \t]{0,4}"#,
        r#"(?:\\{0,3}"([^"\\\r\n]{1,500})|\\{0,3}'([^'\\\r\n]{1,500})|([^\s"'\\,;&)}\]，；。]{1,500}))"#
    ))
});

/// The secrets of `text` in order, without overlaps.
pub fn secrets(text: &str) -> Vec<Span> {
    let mut spans = Vec::new();
    for (kind, pattern) in &SIMPLE {
        let Some(pattern) = &**pattern else { continue };
        spans.extend(pattern.captures_iter(text).filter_map(|found| found.get(1)).map(|secret| Span {
            start: secret.start(),
            end: secret.end(),
            kind: *kind,
        }));
    }
    url_credentials(text, &mut spans);
    assignments(text, &mut spans);
    spans.extend(cards::numbers(text).map(|(start, end)| Span { start, end, kind: Kind::Card }));
    without_overlaps(spans)
}

/// Whether a column or field of this name holds secrets, judged by its last words: `db_password` does,
/// `token_count` doesn't.
pub fn names_a_secret(name: &str) -> bool {
    let plain: String =
        name.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase();
    if SECRET_NAMES.contains(&plain.as_str()) {
        return true;
    }
    let last =
        name.rsplit(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default().to_ascii_lowercase();
    // camelCase names have no separator: `dbPassword` ends with a secret name just the same.
    let ends = [
        "password",
        "passwd",
        "passphrase",
        "secret",
        "apikey",
        "accesskey",
        "secretkey",
        "accesstoken",
        "sessiontoken",
    ];
    SECRET_NAMES.contains(&last.as_str()) || ends.iter().any(|end| plain.ends_with(end))
}

/// `scheme://user:password@host`; the password may hold an `@` itself, so the last one before the path
/// counts.
fn url_credentials(text: &str, spans: &mut Vec<Span>) {
    for (at, mark) in text.match_indices("://") {
        let start = at + mark.len();
        let authority = text[start..]
            .split(|c: char| c.is_whitespace() || matches!(c, '/' | '?' | '#' | '"' | '\'' | '<' | '>'))
            .next()
            .unwrap_or_default();
        if let Some((credentials, _)) = authority.rsplit_once('@')
            && credentials.split_once(':').is_some_and(|(_, password)| !password.is_empty())
            && is_worth_masking(credentials)
        {
            spans.push(Span { start, end: start + credentials.len(), kind: Kind::Credential });
        }
    }
}

fn assignments(text: &str, spans: &mut Vec<Span>) {
    let Some(pattern) = &*ASSIGNMENT else { return };
    let mut from = 0;
    while let Some(found) = pattern.captures_at(text, from) {
        let (Some(name), Some(whole)) = (found.get(1), found.get(0)) else { break };
        let secret = !name.as_str().is_ascii() || names_a_secret(name.as_str());
        // A name that is no secret's may be followed by one that is (`body: password=x`), so only the name is
        // passed over.
        from = if secret { whole.end() } else { name.end() };
        if !secret {
            continue;
        }
        let value = found.get(2).or_else(|| found.get(3)).or_else(|| found.get(4));
        if let Some(value) = value.filter(|value| is_worth_masking(value.as_str())) {
            spans.push(Span { start: value.start(), end: value.end(), kind: Kind::Credential });
        }
    }
}

/// Not a secret: nothing, a template's variable, a placeholder, a shell variable, or an authorisation
/// scheme's name, whose credential follows and has its own pattern.
fn is_worth_masking(value: &str) -> bool {
    let scheme = ["bearer", "basic", "digest"].iter().any(|scheme| value.eq_ignore_ascii_case(scheme));
    let starred = value.chars().all(|c| c == '*' || c == '<' || c == '>');
    let nothing = ["null", "none", "nil", "true", "false", "undefined"]
        .iter()
        .any(|word| value.eq_ignore_ascii_case(word));
    let placeholder =
        value.strip_prefix('[').and_then(|rest| rest.split_once(':')).is_some_and(|(kind, number)| {
            kind.bytes().all(|b| b.is_ascii_lowercase() || b == b'-')
                && number.trim_end_matches(']').bytes().all(|b| b.is_ascii_digit())
        });
    !(scheme || starred || nothing || placeholder || value.starts_with("${"))
}

/// Keeps the earlier, and of two that start together the longer span; what overlaps it is joined to it.
fn without_overlaps(mut spans: Vec<Span>) -> Vec<Span> {
    spans.sort_by_key(|span| (span.start, std::cmp::Reverse(span.end), span.kind));
    let mut kept: Vec<Span> = Vec::with_capacity(spans.len());
    for span in spans {
        match kept.last_mut() {
            // What looks like a mail address across a URL's `@` is the end of the password and the host.
            Some(last) if span.start < last.end && span.kind == Kind::Email => {}
            Some(last) if span.start < last.end => last.end = last.end.max(span.end),
            _ => kept.push(span),
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_compiles() {
        assert!(ASSIGNMENT.is_some());
        for (kind, pattern) in &SIMPLE {
            assert!(pattern.is_some(), "{kind:?}");
        }
    }
}
