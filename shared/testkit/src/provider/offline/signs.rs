//! Signs of trouble in the logs, and which of them came first.
//!
//! The loudest error is rarely the cause. What began inside the window goes before what was there all along,
//! what names a failing mechanism before what only passes an error on, and the earlier before the later.

use domain::evidence::projection::{LogPattern, QueryLogsToolResult};
use time::{Duration, OffsetDateTime};

use super::clock_words;
use super::plan::Case;
use super::transcript::Transcript;
use super::words::{addresses_the_reader, contains_any, first_line};

/// One kind of log line that may matter.
#[derive(Debug, Clone)]
pub(super) struct Sign {
    pub service: String,
    pub call_id: String,
    /// The sample's first line, cut.
    pub quote: String,
    pub count: u64,
    pub first: OffsetDateTime,
    /// As the evidence writes them.
    pub first_seen: String,
    pub last_seen: String,
    /// Whether it was there when the window began, or before the time that the question names.
    pub earlier: bool,
    template: String,
    mechanism: bool,
}

/// Words of a failing mechanism.
const MECHANISM: &[&str] = &[
    "expired",
    "certificate",
    "exhaust",
    "timeout",
    "timed out",
    "refused",
    "denied",
    "out of memory",
    "outofmemory",
    "deadlock",
    "quota",
    "deadline",
    "not available",
    "no space",
    "too many connections",
    "overflow",
    "corrupt",
    "unresolved",
    "dns",
    "超时",
    "耗尽",
    "过期",
    "拒绝",
    "死锁",
];
/// Words of a line that reports somebody else's answer.
const PASSED_ON: &[&str] = &[
    "answered 4",
    "answered 5",
    "returned 4",
    "returned 5",
    "responded with",
    "status=5",
    "post /",
    "get /",
];
/// Words of a warning that says itself that nothing came of it.
const HARMLESS: &[&str] = &["succeeded", "recovered", "deprecated"];
const MAX_QUOTE_CHARS: usize = 220;
/// A sign this close to the window's start was there before it.
const EDGE: Duration = Duration::minutes(8);
/// A sign this long before a named time may still be its beginning.
const SLACK: Duration = Duration::minutes(10);
/// Warnings this long before the first error may belong to it.
const LEAD: Duration = Duration::minutes(20);

/// All error signs, the likeliest beginning first.
pub(super) fn errors(case: &Case, transcript: &Transcript) -> Vec<Sign> {
    let results = transcript.logs().filter(|(_, result)| has_level(result, "ERROR"));
    let mut signs: Vec<Sign> = results.flat_map(|(id, result)| of(case, id, result)).collect();
    let minute = |sign: &Sign| sign.first.unix_timestamp() / 60;
    signs.sort_by_key(|sign| (sign.earlier, !sign.mechanism, minute(sign), sign.first));
    // The same pattern is found twice when a window was asked for again.
    let mut seen = std::collections::BTreeSet::new();
    signs.retain(|sign| seen.insert((sign.service.clone(), sign.template.clone())));
    signs
}

/// Warnings that began shortly before `error` or together with it, earliest first; those that are errors too
/// are left out.
pub(super) fn warnings_before(
    case: &Case,
    transcript: &Transcript,
    errors: &[Sign],
    error: &Sign,
) -> Vec<Sign> {
    let results = transcript.logs().filter(|(_, result)| has_level(result, "WARN"));
    let signs = results.flat_map(|(id, result)| of(case, id, result));
    let known = |sign: &Sign| errors.iter().any(|e| e.service == sign.service && e.template == sign.template);
    let near =
        |sign: &Sign| sign.first >= error.first - LEAD && sign.first <= error.first + Duration::minutes(1);
    let harmless = |sign: &Sign| contains_any(&sign.quote, HARMLESS);
    let mut signs: Vec<Sign> = signs.filter(|sign| near(sign) && !known(sign) && !harmless(sign)).collect();
    signs.sort_by_key(|sign| (sign.service != error.service, sign.first));
    signs
}

pub(super) fn has_level(result: &QueryLogsToolResult, level: &str) -> bool {
    result.scope.level.as_deref().is_some_and(|asked| asked.eq_ignore_ascii_case(level))
}

fn of(case: &Case, call_id: &str, result: &QueryLogsToolResult) -> Vec<Sign> {
    let start = clock_words::parse(&result.scope.start);
    let end = clock_words::parse(&result.scope.end);
    let named = case.named.zip(end).map(|(named, end)| clock_words::instant(named, end) - SLACK);
    let begins = start.map(|start| start + EDGE).max(named);
    let usable = result.patterns.iter().filter(|pattern| !addresses_the_reader(&pattern.sample));
    usable.filter_map(|pattern| sign(call_id, &result.scope.service, pattern, begins)).collect()
}

fn sign(call_id: &str, service: &str, pattern: &LogPattern, begins: Option<OffsetDateTime>) -> Option<Sign> {
    let first = clock_words::parse(&pattern.first_seen)?;
    let words = unquoted(&pattern.sample).to_lowercase();
    Some(Sign {
        service: service.to_owned(),
        call_id: call_id.to_owned(),
        quote: first_line(&pattern.sample, MAX_QUOTE_CHARS),
        count: pattern.count,
        first,
        first_seen: pattern.first_seen.clone(),
        last_seen: pattern.last_seen.clone(),
        earlier: begins.is_some_and(|begins| first < begins),
        template: pattern.template.clone(),
        mechanism: contains_any(&words, MECHANISM) && !contains_any(&words, PASSED_ON),
    })
}

/// A line without what it quotes: users write the quoted part.
fn unquoted(text: &str) -> String {
    text.split('"').step_by(2).collect::<Vec<_>>().join(" ")
}
