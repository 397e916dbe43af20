//! Where the secrets are in a text, and of which kind.

use super::{assignments, cards, personal, tokens, urls};

/// What a masked text was. The words appear in placeholders.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    PrivateKey,
    Jwt,
    Auth,
    AwsKey,
    /// A token whose issuer shows in its form: GitHub's, Slack's, a model vendor's.
    VendorKey,
    /// A password, or whatever a field named as secret holds.
    Credential,
    Cookie,
    /// The part of a webhook's URL that opens it.
    Webhook,
    Email,
    Phone,
    NationalId,
    Iban,
    Card,
}

impl Kind {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::PrivateKey => "pem-key",
            Self::Jwt => "jwt",
            Self::Auth => "auth",
            Self::AwsKey => "aws-key",
            Self::VendorKey => "vendor-key",
            Self::Credential => "credential",
            Self::Cookie => "cookie",
            Self::Webhook => "webhook",
            Self::Email => "email",
            Self::Phone => "phone",
            Self::NationalId => "national-id",
            Self::Iban => "iban",
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

/// The secrets of `text` in order, without overlaps.
pub fn secrets(text: &str) -> Vec<Span> {
    let mut spans = Vec::new();
    tokens::find(text, &mut spans);
    urls::find(text, &mut spans);
    assignments::find(text, &mut spans);
    personal::find(text, &mut spans);
    spans.extend(cards::numbers(text).map(|(start, end)| Span { start, end, kind: Kind::Card }));
    without_overlaps(spans)
}

/// Keeps the earlier, and of two that start together the longer span; what overlaps it is joined to it.
fn without_overlaps(mut spans: Vec<Span>) -> Vec<Span> {
    spans.retain(|span| span.start < span.end);
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

/// Bytes of a placeholder, generously.
const MAX_PLACEHOLDER_BYTES: usize = 32;

/// Whether a text begins with a placeholder of ours, which is never masked again.
pub fn is_placeholder(text: &str) -> bool {
    let text = &text[..text.floor_char_boundary(MAX_PLACEHOLDER_BYTES)];
    let Some((kind, rest)) = text.strip_prefix('[').and_then(|rest| rest.split_once(':')) else {
        return false;
    };
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let kind_fits =
        !kind.is_empty() && kind.len() <= 12 && kind.bytes().all(|b| b.is_ascii_lowercase() || b == b'-');
    kind_fits && digits > 0 && rest[digits..].starts_with(']')
}

/// Whether a text mixes what no word mixes: digits with letters, or capitals inside small letters.
pub fn looks_random(text: &str) -> bool {
    let digit = text.bytes().any(|b| b.is_ascii_digit());
    let letter = text.bytes().any(|b| b.is_ascii_alphabetic());
    let inner_capital = text.bytes().skip(1).any(|b| b.is_ascii_uppercase());
    let small = text.bytes().any(|b| b.is_ascii_lowercase());
    (digit && letter) || (inner_capital && small)
}
