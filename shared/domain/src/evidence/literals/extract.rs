//! What of a text is to be looked up: its numbers, times, names, ids, codes and quotations, in order.

use super::atoms::{atom_end, atoms};
use super::fold::{Folded, is_han, is_word};
use super::names::{self, Kind};
use super::quantity::{Quantity, is_unit, quantity_at};
use super::quotes::{closing_mark, quoted_parts};
use super::times::{When, time_at};

/// One literal and where it is written.
pub(super) struct Literal<'t> {
    pub(super) written: &'t str,
    pub(super) claim: Claim,
}

/// How a literal is looked for.
pub(super) enum Claim {
    Quantity(Quantity),
    When(When),
    /// Atoms that stand next to each other.
    Name(Vec<String>),
    Id(String),
    Version(String),
    Status(u64),
    StatusClass(u64),
    /// A quotation: its parts between ellipses.
    Quote(Vec<Vec<String>>),
}

/// The literals of `text`, in order; they do not overlap.
pub(super) fn literals<'t>(text: &Folded<'t>) -> Vec<Literal<'t>> {
    let mut found = Vec::new();
    let mut i = 0;
    while i < text.len() {
        let hit = quote_at(text, i).or_else(|| {
            let (end, claim) = piece_at(text, i)?;
            Some(Hit { from: i, to: end, end, claim })
        });
        let Some(hit) = hit else {
            i += 1;
            continue;
        };
        found.extend(hit.claim.map(|claim| Literal { written: text.written(hit.from, hit.to), claim }));
        i = hit.end.max(i + 1);
    }
    found
}

struct Hit {
    from: usize,
    to: usize,
    /// Where reading goes on.
    end: usize,
    claim: Option<Claim>,
}

/// What starts at `i` outside quotation marks, and its end; no claim if it is prose. `None` if nothing starts
/// here.
fn piece_at(text: &Folded<'_>, i: usize) -> Option<(usize, Option<Claim>)> {
    if let Some(end) = path_end(text, i) {
        return Some((end, Some(Claim::Name(atoms(text, i, end)))));
    }
    if !is_word(text.at(i)) && !is_han(text.at(i)) {
        return None;
    }
    if let Some(end) = url_end(text, i) {
        return Some((end, Some(Claim::Name(atoms(text, i, end)))));
    }
    if let Some((when, end)) = time_at(text, i) {
        return Some((end, Some(Claim::When(when))));
    }
    if text.starts_with(i, "24/7") {
        return Some((i + 4, None));
    }
    if let Some(quantity) = quantity_at(text, i) {
        return Some((quantity.end, quantity.is_claim().then_some(Claim::Quantity(quantity))));
    }
    Some(name_at(text, i))
}

/// A quotation that opens at `i`. If its whole content is one number, time or name, it is looked for as that.
fn quote_at(text: &Folded<'_>, i: usize) -> Option<Hit> {
    let close = closing_mark(text, i)?;
    let mut from = text.run(i + 1, |c| c == ' ');
    let mut to = close;
    while to > from && !is_word(text.before(to)) && !is_han(text.before(to)) && text.before(to) != '%' {
        to -= 1;
    }
    from = from.min(to);
    let parts = quoted_parts(text, from, to);
    if parts.is_empty() {
        return None;
    }
    let alone = piece_at(text, from).filter(|(end, _)| *end == to).and_then(|(_, claim)| claim);
    Some(Hit { from, to, end: close + 1, claim: Some(alone.unwrap_or(Claim::Quote(parts))) })
}

/// The end of an absolute path such as `/api/v1/orders`; "and/or" and "次/min" are none.
fn path_end(text: &Folded<'_>, i: usize) -> Option<usize> {
    let before = text.before(i);
    if text.at(i) != '/' || is_word(before) || matches!(before, '/' | '.' | ')' | '>' | '<') {
        return None;
    }
    // A letter of any script continues the path, as it does any word: half of a name would be looked up.
    let of_path = |c: char| is_word(c) || "-./{}:~*".contains(c);
    let end = trimmed(text, i, text.run(i, of_path));
    let path = text.slice(i + 1, end);
    let names_something =
        path.len() >= 2 && path.starts_with(|c: char| c.is_ascii_alphabetic()) && !is_unit(&path);
    names_something.then_some(end)
}

fn url_end(text: &Folded<'_>, i: usize) -> Option<usize> {
    if !text.at(i).is_ascii_lowercase() {
        return None;
    }
    let mut scheme = i;
    while scheme < i + 12 && (text.at(scheme).is_ascii_alphanumeric() || text.at(scheme) == '+') {
        scheme += 1;
    }
    if !text.starts_with(scheme, "://") {
        return None;
    }
    let of_url = |c: char| is_word(c) || (c.is_ascii_graphic() && !"\"'`<>()[]{}|,;\\".contains(c));
    let end = trimmed(text, i, text.run(scheme, of_url));
    (end > scheme + 3).then_some(end)
}

/// Without the punctuation of the sentence around it.
fn trimmed(text: &Folded<'_>, from: usize, to: usize) -> usize {
    let mut end = to;
    while end > from && ".:?!*~-".contains(text.before(end)) {
        end -= 1;
    }
    end
}

/// The word at `i`: its end, and its claim if it is a name, id or code.
fn name_at(text: &Folded<'_>, i: usize) -> (usize, Option<Claim>) {
    let end = atom_end(text, i);
    if is_han(text.at(i)) {
        return (end, None);
    }
    let atom = text.slice(i, end);
    if atom.eq_ignore_ascii_case("http")
        && let Some((code, after)) = http_status(text, end)
    {
        return (after, Some(Claim::Status(code)));
    }
    if let Some(number) = behind_hyphen(text, i, end) {
        return (number, None);
    }
    let (mut host_end, dotted) = dotted_end(text, i, end);
    let word = atom.trim_matches('_');
    let kind = names::classify(word);
    let version = matches!(kind, Some(Kind::Version));
    if dotted
        || word.eq_ignore_ascii_case("localhost")
        || (version && !word.starts_with(['v', 'V']))
        || (kind.is_some() && host_end == end)
    {
        let port = port_end(text, host_end);
        let whole = dotted || port.is_some();
        host_end = port.unwrap_or(host_end);
        if whole {
            return (host_end, Some(Claim::Name(atoms(text, i, host_end))));
        }
    }
    let claim = kind.map(|kind| match kind {
        Kind::Name => Claim::Name(vec![word.to_owned()]),
        Kind::Id => Claim::Id(word.to_owned()),
        Kind::Version => Claim::Version(word.to_owned()),
        Kind::Status(code) => Claim::Status(code),
        Kind::StatusClass(class) => Claim::StatusClass(class),
    });
    (end, claim)
}

/// `HTTP 504`, `HTTP/1.1 504` is left to the number.
fn http_status(text: &Folded<'_>, i: usize) -> Option<(u64, usize)> {
    let (code, end) = text.small_number(i + 1, 3).filter(|_| text.at(i) == ' ')?;
    let status = (100..600).contains(&code) && !is_word(text.at(end));
    status.then_some((u64::from(code), end))
}

/// Where the number of "top-10" or "sub-100ms" starts.
fn behind_hyphen(text: &Folded<'_>, i: usize, end: usize) -> Option<usize> {
    let first = text.run(i, char::is_alphabetic);
    let number = text.at(first) == '-' && text.at(first + 1).is_ascii_digit();
    (number && first < end && first - i <= 8 && names::is_number_start(&text.slice(i, first)))
        .then_some(first + 1)
}

/// The end of the dotted name whose first atom ends at `end`, and whether it is one.
fn dotted_end(text: &Folded<'_>, i: usize, end: usize) -> (usize, bool) {
    let mut last = end;
    // A host name is no longer than 253 characters, and looking no further keeps "a.a.a.a…" linear.
    while text.at(last) == '.' && is_word(text.at(last + 1)) && last - i < 253 {
        last = atom_end(text, last + 1);
    }
    let name = text.slice(i, last);
    let segments: Vec<&str> = name.split('.').collect();
    if last > end && names::is_dotted_name(&segments) { (last, true) } else { (end, false) }
}

fn port_end(text: &Folded<'_>, i: usize) -> Option<usize> {
    let (_, end) = text.small_number(i + 1, 5).filter(|(_, end)| text.at(i) == ':' && end - i > 2)?;
    (!is_word(text.at(end)) && text.at(end) != ':').then_some(end)
}
