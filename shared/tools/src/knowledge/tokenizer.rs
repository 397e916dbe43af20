//! Words of a text for search, without a dictionary.
//!
//! Latin words are folded to lower case and a light stem, and identifiers give themselves and their parts
//! (`payment-gateway` → `payment-gateway`, `payment`, `gateway`). Chinese, Japanese and Korean text gives its
//! character pairs, a lone character itself. Full-width forms count as their ASCII twins.

/// One searchable word and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    pub text: String,
    /// Byte range in the original text.
    pub start: usize,
    pub end: usize,
    /// Part of the identifier that the nearest earlier token with `part == false` is.
    pub part: bool,
}

/// Characters of one word that are kept; longer ones are no words.
const MAX_WORD_CHARS: usize = 64;

/// The words of `text` in order; an identifier comes right before its parts.
pub fn tokenize(text: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let chars: Vec<(usize, char)> = text.char_indices().map(|(at, c)| (at, half_width(c))).collect();
    let mut i = 0;
    while let Some((_, c)) = chars.get(i) {
        let start = i;
        if is_cjk(*c) {
            while chars.get(i).is_some_and(|(_, c)| is_cjk(*c)) {
                i += 1;
            }
            pairs(text, &chars[start..i], &mut tokens);
        } else if is_word(*c) {
            while let Some((_, c)) = chars.get(i) {
                let joins =
                    matches!(c, '-' | '_' | '.') && chars.get(i + 1).is_some_and(|(_, next)| is_word(*next));
                if !is_word(*c) && !joins {
                    break;
                }
                i += 1;
            }
            word(text, &chars[start..i], &mut tokens);
        } else {
            i += 1;
        }
    }
    tokens
}

/// Chinese, Japanese and Korean scripts, written without spaces between words.
pub fn is_cjk(c: char) -> bool {
    matches!(c,
        '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}'
        | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}' | '々')
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() && !is_cjk(c)
}

fn half_width(c: char) -> char {
    match c {
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(u32::from(c) - 0xfee0).unwrap_or(c),
        '\u{3000}' => ' ',
        c => c,
    }
}

/// Byte range of a run of characters.
fn range(text: &str, run: &[(usize, char)]) -> (usize, usize) {
    let start = run.first().map_or(0, |(at, _)| *at);
    // The original character may be longer than its half-width twin.
    let end = run.last().map_or(start, |(at, _)| at + text[*at..].chars().next().map_or(0, char::len_utf8));
    (start, end)
}

fn pairs(text: &str, run: &[(usize, char)], tokens: &mut Vec<Token>) {
    let width = run.len().min(2);
    for pair in run.windows(width.max(1)) {
        let (start, end) = range(text, pair);
        tokens.push(Token { text: pair.iter().map(|(_, c)| *c).collect(), start, end, part: false });
    }
}

fn word(text: &str, run: &[(usize, char)], tokens: &mut Vec<Token>) {
    if run.len() > MAX_WORD_CHARS {
        return;
    }
    let (start, end) = range(text, run);
    let folded: String = run.iter().flat_map(|(_, c)| c.to_lowercase()).collect();
    let parts = parts(run);
    if parts.len() < 2 {
        tokens.push(Token { text: stem(&folded), start, end, part: false });
        return;
    }
    tokens.push(Token { text: folded, start, end, part: false });
    for part in parts {
        let (start, end) = range(text, part);
        let folded: String = part.iter().flat_map(|(_, c)| c.to_lowercase()).collect();
        tokens.push(Token { text: stem(&folded), start, end, part: true });
    }
}

/// An identifier's parts: split at joiners and where `camelCase` has its humps.
fn parts<'r>(run: &'r [(usize, char)]) -> Vec<&'r [(usize, char)]> {
    run.split(|(_, c)| matches!(c, '-' | '_' | '.'))
        .flat_map(|piece| piece.chunk_by(|(_, a), (_, b)| !(a.is_lowercase() && b.is_uppercase())))
        .filter(|part: &&'r [(usize, char)]| !part.is_empty())
        .collect()
}

/// Folds plural, `-ing`, `-ed` and a final `e` of English words, so that `expired` finds `expires`. Rough on
/// purpose: both sides of a comparison are folded alike.
fn stem(word: &str) -> String {
    if word.len() < 4 || !word.bytes().all(|b| b.is_ascii_lowercase()) {
        return word.to_owned();
    }
    let singular = if let Some(root) = word.strip_suffix("ies").filter(|root| root.len() > 1) {
        format!("{root}y")
    } else {
        let keeps = ["ss", "us", "is"].iter().any(|end| word.ends_with(end));
        word.strip_suffix('s').filter(|_| !keeps).unwrap_or(word).to_owned()
    };
    let vowel = |c: u8| matches!(c, b'a' | b'e' | b'i' | b'o' | b'u' | b'y');
    let root = ["ing", "ed"]
        .iter()
        .find_map(|end| singular.strip_suffix(end))
        .filter(|root| root.len() >= 3 && root.bytes().any(vowel) && !root.ends_with('e'));
    let bytes = root.map(str::as_bytes).unwrap_or_default();
    match (root, bytes) {
        (Some(root), [.., a, b]) if a == b && !matches!(a, b'l' | b's' | b'z') => {
            root[..root.len() - 1].to_owned()
        }
        (Some(root), _) => root.to_owned(),
        (None, _) => {
            singular.strip_suffix('e').filter(|root| root.len() >= 3).unwrap_or(&singular).to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn words(text: &str) -> Vec<String> {
        tokenize(text).into_iter().map(|token| token.text).collect()
    }

    #[test]
    fn words_of_both_languages() {
        let table: [(&str, &[&str]); 12] = [
            ("payment-gateway", &["payment-gateway", "payment", "gateway"]),
            ("GATEWAY_TIMEOUT", &["gateway_timeout", "gateway", "timeout"]),
            ("HikariPool", &["hikaripool", "hikari", "pool"]),
            ("leakDetectionThreshold", &["leakdetectionthreshold", "leak", "detection", "threshold"]),
            ("支付超时", &["支付", "付超", "超时"]),
            ("熔 断", &["熔", "断"]),
            ("Redis 内存", &["redis", "内存"]),
            ("ＫＡＦＫＡ　８５％", &["kafka", "85"]),
            ("重启Redis吗", &["重启", "redis", "吗"]),
            ("p99 > 1500 ms.", &["p99", "1500", "ms"]),
            ("Größe naïve", &["größe", "naïve"]),
            ("", &[]),
        ];
        for (text, wanted) in table {
            assert_eq!(words(text), wanted, "{text}");
        }
    }

    #[test]
    fn forms_of_a_word_meet() {
        for group in [
            &["expire", "expires", "expired", "expiring"][..],
            &["query", "queries"],
            &["fail", "fails", "failed", "failing"],
            &["stop", "stopped", "stopping", "stops"],
            &["call", "calls", "called", "calling"],
            &["page", "pages", "paging"],
        ] {
            for word in group {
                assert_eq!(words(word), words(group[0]), "{word}");
            }
        }
        for word in ["string", "status", "thing", "redis", "class", "speed", "red"] {
            assert_eq!(words(word), [word]);
        }
    }

    #[test]
    fn places_are_in_the_original_text() {
        let text = "ＡＢ 支付-gateway";
        for token in tokenize(text) {
            assert!(text.get(token.start..token.end).is_some_and(|piece| !piece.is_empty()), "{token:?}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_survived(text in "\\PC{0,100}|[a-zA-Z支付超时_.-]{0,60}") {
            for token in tokenize(&text) {
                prop_assert!(text.get(token.start..token.end).is_some());
                prop_assert!(!token.text.is_empty());
            }
        }
    }
}
