//! Time zones as they are written next to a time, in minutes east of UTC.

use super::fold::{Folded, is_word};

/// The names that mean one offset. CST and IST mean several and are read as no zone.
const NAMED: &[(&str, i32)] = &[
    ("PST", -480),
    ("PDT", -420),
    ("MST", -420),
    ("EST", -300),
    ("EDT", -240),
    ("CET", 60),
    ("CEST", 120),
    ("BST", 60),
    ("JST", 540),
    ("KST", 540),
    ("SGT", 480),
    ("HKT", 480),
    ("Beijing time", 480),
    ("北京时间", 480),
    ("中国标准时间", 480),
];

/// The zone behind a time that ends at `i`, and its end. `full` says that date and seconds came before, so
/// that a minus is an offset rather than a range ("14:05-14:10").
pub(super) fn zone_after(text: &Folded<'_>, i: usize, full: bool) -> Option<(i32, usize)> {
    if matches!(text.at(i), 'Z' | 'z') && !is_word(text.at(i + 1)) {
        return Some((0, i + 1));
    }
    let space = usize::from(text.at(i) == ' ');
    if text.at(i + space) == '+' || (full && text.at(i + space) == '-') {
        return offset_at(text, i + space, true);
    }
    let open = usize::from(text.at(i + space) == '(');
    let (minutes, end) = named_at(text, i + space + open)?;
    match (open, text.at(end)) {
        (0, _) => Some((minutes, end)),
        (_, ')') => Some((minutes, end + 1)),
        _ => None,
    }
}

/// The zone in front of a time that starts at `i` ("北京时间 14:05", "UTC 06:05").
pub(super) fn zone_before(text: &Folded<'_>, i: usize) -> Option<i32> {
    let end = if text.before(i) == ' ' { i - 1 } else { i };
    if text.ends_with(end, "UTC") || text.ends_with(end, "GMT") {
        return Some(0);
    }
    NAMED.iter().find(|(name, _)| text.ends_with(end, name)).map(|(_, minutes)| *minutes)
}

fn named_at(text: &Folded<'_>, i: usize) -> Option<(i32, usize)> {
    if text.starts_with(i, "UTC") || text.starts_with(i, "GMT") {
        if let Some(found) = offset_at(text, i + 3, false) {
            return Some(found);
        }
        return (!is_word(text.at(i + 3))).then_some((0, i + 3));
    }
    let (name, minutes) = NAMED.iter().find(|(name, _)| text.starts_with(i, name))?;
    let end = i + name.chars().count();
    let whole = !is_word(text.at(end)) || !name.is_ascii();
    whole.then_some((*minutes, end))
}

/// `+08:00`, `+0800`, `+08` and, behind UTC, `+8`.
fn offset_at(text: &Folded<'_>, i: usize, strict: bool) -> Option<(i32, usize)> {
    let sign = match text.at(i) {
        '+' => 1,
        '-' => -1,
        _ => return None,
    };
    let (first, end) = text.small_number(i + 1, 4)?;
    let digits = end - i - 1;
    let (hours, minutes, end) = match digits {
        4 => (first / 100, first % 100, end),
        1 | 2 if !(strict && digits == 1) => match (text.at(end), text.small_number(end + 1, 2)) {
            (':', Some((minutes, after))) if after == end + 3 => (first, minutes, after),
            _ => (first, 0, end),
        },
        _ => return None,
    };
    let real = hours <= 14 && matches!(minutes, 0 | 30 | 45) && !is_word(text.at(end));
    let total = i32::try_from(hours * 60 + minutes).ok()?;
    real.then_some((sign * total, end))
}
