//! Secrets by their names: `password=…`, `"api_key": "…"`, `--token …`, `IDENTIFIED BY '…'`, `密码：…`.

use std::sync::LazyLock;

use regex::Regex;

use super::detect::{Kind, Span, is_placeholder, looks_random};
use super::names::{Strength, is_cookie, strength};

/// Whether a text can hold any of the names below: nearly all lines can't, and are done.
static HINT: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(concat!(
        r"(?i-u:pass|pwd|secret|token|key|auth|cookie|cred|sig|sess|csrf|xsrf|connect\.sid|identified|\blogin\b|\bsid\b|\bpin\b|\botp\b|\bcurl\b|redis-cli|mysql)",
        r"|密码|口令|密钥|秘钥|令牌|验证码|授权码"
    ))
    .ok()
});

/// A name and what joins it to its value: `=`, `:`, `=>`, in JSON, YAML, logfmt, URLs, XML. Groups: 1 the name, 2 an escaped URL's sign.
static NAME: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(concat!(
        r#"([A-Za-z_][A-Za-z0-9_.-]{0,80}|密码|口令|密钥|秘钥|令牌|验证码|授权码)"#,
        r#"(?:\\{0,6}["'`]|&quot;|&#3[49];|%2[27])?\]?"#,
        r#"(?:[ \t]{0,4}(?:=>|:=|==?|[:：=])[ \t]{0,4}|(%3[AaDd])|>)"#
    ))
    .ok()
});

/// Names joined to their values by nothing but a word or a space. Group 1 is the value.
static SPOKEN: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(concat!(
        r#"(?i:\bidentified(?:[ ]with[ ]\S{1,60})?[ ](?:by|as)[ ](?:password[ ])?'([^']+)'"#,
        r#"|\b(?:old_)?password[ ]?\([ ]?'([^']+)'|\bencrypted[ ]password[ ]'([^']+)'|\bpassword[ ]'([^']+)'"#,
        r#"|(?:^|\s)--?(?:[a-z0-9-]{0,20}-)?(?:password|passwd|passphrase|secret|token|api-?key|access-?key|secret-?key|auth-token)[ ]['"]?([^\s'"-][^\s'"]*)"#,
        r#"|\b(?:mysql|mysqldump|mysqladmin|mariadb|mongo|mongosh|sshpass|docker[ ]login)\b[^\n|;]{0,200}?[ ]-p[ ]?['"]?([^\s'"-][^\s'"]*)"#,
        r#"|\bredis-cli\b[^\n|;]{0,200}?[ ]-a[ ]['"]?([^\s'"]+)"#,
        r#"|\b(?:curl|wget|http)\b[^\n|;]{0,400}?[ ](?:-u|--user)[ ]?['"]?[^\s:'"]{1,60}:([^\s'"]+)"#,
        r#"|\blogin[ ]\S{1,60}[ ]password[ ](\S+)"#,
        r#"|\b(?:password|passwd|passphrase|secret|token|api[ ]?key|access[ ]?key|private[ ]?key|credential)s?[ ](?:is|was|used[:]?)[ ]['"]?([^\s'",;]+)"#,
        r#"|\b(?:secret|token|credential|signature|api[ ]?key|access[ ]?key|secret[ ]?key|hmac)s?[ ]['"(]?([A-Za-z0-9+/_=.-]{16,}))"#,
        r#"|(?:密码|口令|密钥|令牌|验证码)(?:是|为)[ ]?([^\s,，。；;]+)"#,
    ))
    .ok()
});
const SPOKEN_GROUPS: usize = 12;
/// Of those, the ones in prose: their value must not be a word.
const PROSE_GROUPS: [usize; 3] = [10, 11, 12];

/// What is said of a secret instead of the secret.
const STATES: [&str; 44] = [
    "null",
    "none",
    "nil",
    "true",
    "false",
    "undefined",
    "empty",
    "missing",
    "invalid",
    "expired",
    "wrong",
    "incorrect",
    "required",
    "denied",
    "failed",
    "failure",
    "error",
    "ok",
    "valid",
    "unknown",
    "mismatch",
    "mismatched",
    "rotated",
    "changed",
    "updated",
    "revoked",
    "refreshed",
    "accepted",
    "rejected",
    "redacted",
    "hidden",
    "masked",
    "filtered",
    "not",
    "no",
    "yes",
    "is",
    "was",
    "has",
    "must",
    "cannot",
    "can't",
    "too",
    "unset",
];
const SCHEMES: [&str; 8] =
    ["bearer", "basic", "digest", "negotiate", "token", "apikey", "aws4-hmac-sha256", "ntlm"];

pub fn find(text: &str, spans: &mut Vec<Span>) {
    if !HINT.as_ref().is_some_and(|hint| hint.is_match(text)) {
        return;
    }
    named(text, spans);
    spoken(text, spans);
}

fn named(text: &str, spans: &mut Vec<Span>) {
    let Some(pattern) = &*NAME else { return };
    let mut from = 0;
    while let Some(found) = pattern.captures_at(text, from) {
        let (Some(name), Some(whole)) = (found.get(1), found.get(0)) else { break };
        // A name that is no secret's may be followed by one that is (`body: password=x`), so only the name is passed over.
        from = name.end();
        // `[cookie:1]` is ours.
        if text[..name.start()].ends_with('[') && is_placeholder(&text[name.start() - 1..]) {
            continue;
        }
        let Some(strength) = strength(name.as_str()) else { continue };
        // `a > b` and prose arrows are no tags.
        if whole.as_str().ends_with('>')
            && !text[..name.start()].ends_with('<')
            && !whole.as_str().ends_with("=>")
        {
            continue;
        }
        let escaped = found.get(2).is_some();
        let Some((start, end)) = value(text, whole.end(), is_cookie(name.as_str()), escaped) else {
            continue;
        };
        from = end;
        let secret = &text[start..end];
        let believed = match strength {
            Strength::Sure => is_worth_masking(secret),
            Strength::IfRandom => is_worth_masking(secret) && is_no_count(secret),
        };
        if believed {
            let kind = if is_cookie(name.as_str()) { Kind::Cookie } else { Kind::Credential };
            spans.push(Span { start, end, kind });
        }
    }
}

fn spoken(text: &str, spans: &mut Vec<Span>) {
    let Some(pattern) = &*SPOKEN else { return };
    for found in pattern.captures_iter(text) {
        let value = (1..=SPOKEN_GROUPS).find_map(|group| Some((group, found.get(group)?)));
        let Some((group, value)) = value else { continue };
        let prose = PROSE_GROUPS.contains(&group);
        let random = value.as_str().bytes().any(|b| b.is_ascii_digit()) && looks_random(value.as_str());
        let id = is_uuid(value.as_str()) || value.as_str().contains('=');
        if is_worth_masking(value.as_str()) && (!prose || (random && !id)) {
            spans.push(Span { start: value.start(), end: value.end(), kind: Kind::Credential });
        }
    }
}

/// The value that begins at or after `at`: quoted in any way, or bare.
fn value(text: &str, at: usize, cookie: bool, escaped: bool) -> Option<(usize, usize)> {
    let rest = &text[at..];
    if is_placeholder(rest) {
        return None;
    }
    let slashes = rest.bytes().take_while(|b| *b == b'\\').count();
    let open = &rest[slashes..];
    for mark in ["\"", "'", "`", "&quot;", "&#34;", "&#39;", "%22", "%27"] {
        if open.starts_with(mark) {
            let start = at + slashes + mark.len();
            let end =
                start + quoted(&text[start..], &format!("{}{mark}", "\\".repeat(slashes)), slashes == 0);
            return Some((start, end));
        }
    }
    if let Some(inner) = rest.strip_prefix('[') {
        return value(text, at + rest.len() - inner.len(), cookie, escaped);
    }
    let end = if cookie { at + cookie_length(rest) } else { at + bare_length(rest, escaped) };
    // A scheme's name is no secret; what follows it is.
    let scheme = SCHEMES.iter().any(|scheme| text[at..end].eq_ignore_ascii_case(scheme));
    if scheme && text[end..].starts_with(' ') {
        if is_placeholder(&text[end + 1..]) {
            return None;
        }
        return Some((end + 1, end + 1 + bare_length(&text[end + 1..], escaped)));
    }
    Some((at, end))
}

/// Bytes up to the closing mark, or, if it is missing, to the end of the line.
fn quoted(text: &str, close: &str, escapes: bool) -> usize {
    let first = close.chars().next().unwrap_or('"');
    let mut slashes = 0;
    for (at, c) in text.char_indices() {
        let escaped = escapes && slashes % 2 == 1;
        if matches!(c, '\n' | '\r') || (c == first && !escaped && text[at..].starts_with(close)) {
            return at;
        }
        slashes = if c == '\\' { slashes + 1 } else { 0 };
    }
    text.len()
}

fn bare_length(text: &str, escaped: bool) -> usize {
    let ends = |c: char| {
        c.is_whitespace()
            || matches!(
                c,
                '"' | '\'' | '`' | '\\' | ',' | ';' | '&' | ')' | '}' | ']' | '<' | '，' | '；' | '。'
            )
    };
    let end = text.find(ends).unwrap_or(text.len());
    let encoded =
        if escaped { text[..end].find("%26").into_iter().chain(text[..end].find("%22")).min() } else { None };
    encoded.unwrap_or(end)
}

/// All pairs of a cookie header: `a=1; b=2`.
fn cookie_length(text: &str) -> usize {
    let mut length = 0;
    loop {
        let rest = &text[length..];
        let pair = rest
            .find(|c: char| c.is_whitespace() || matches!(c, ';' | '"' | '\'' | '\\' | '}' | ']'))
            .unwrap_or(rest.len());
        let after = &rest[pair..];
        let gap = after.strip_prefix(';').map(|more| 1 + (more.len() - more.trim_start_matches(' ').len()));
        length += pair;
        match gap {
            Some(gap) if !after[gap..].is_empty() && !after[gap..].starts_with(char::is_whitespace) => {
                length += gap
            }
            _ => return length,
        }
    }
}

/// Not a secret: nothing, a word about it, a template's variable, a placeholder, stars.
pub fn is_worth_masking(value: &str) -> bool {
    let bare = value.trim_matches(|c: char| matches!(c, '.' | '!' | '?' | ':' | '(' | ')'));
    let said = |words: &[&str]| words.iter().any(|word| bare.eq_ignore_ascii_case(word));
    let starred = value.chars().all(|c| matches!(c, '*' | '.' | '•' | '-' | '#'))
        || (value.len() > 2 && value.chars().all(|c| matches!(c, 'x' | 'X')));
    // `${DB_PASSWORD}` is a variable; what `${DB_PASSWORD:hunter2}` says for when it is unset is not.
    let variable = value.strip_prefix("${").is_some_and(|name| {
        name.split_once(':').is_none_or(|(_, unset)| unset.trim_matches(['-', '=', '}']).is_empty())
    });
    let bracketed = [("<", ">"), ("{{", ""), ("%(", ""), ("[REDACTED", ""), ("(redacted", "")]
        .iter()
        .any(|(open, close)| value.starts_with(open) && value.ends_with(close));
    let shell = value.strip_prefix('$').is_some_and(|name| {
        !name.is_empty() && name.bytes().all(|b| b.is_ascii_uppercase() || b == b'_' || b.is_ascii_digit())
    });
    let parameter = matches!(value, "?" | "%s" | "%v" | "%d");
    !(bare.is_empty()
        || said(&STATES)
        || said(&SCHEMES)
        || starred
        || variable
        || bracketed
        || shell
        || parameter
        || is_placeholder(value))
}

/// Neither a number nor a word.
fn is_no_count(value: &str) -> bool {
    let number = value.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    let word = value.bytes().all(|b| b.is_ascii_lowercase()) && value.len() < 16;
    let capital_word = value.bytes().all(|b| b.is_ascii_alphabetic()) && value.len() < 8;
    !(word || capital_word || (number && value.len() < 16))
}

fn is_uuid(value: &str) -> bool {
    let parts: Vec<usize> = value.split('-').map(str::len).collect();
    parts == [8, 4, 4, 4, 12] && value.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_compiles() {
        assert!(HINT.is_some() && NAME.is_some());
        assert_eq!(SPOKEN.as_ref().map(Regex::captures_len), Some(SPOKEN_GROUPS + 1));
    }
}
