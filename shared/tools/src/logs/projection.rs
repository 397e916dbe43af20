//! From what was collected to the bounded projection and the record's raw response.

use std::borrow::Cow;

use domain::evidence::EvidenceStatus;
use domain::evidence::projection::{LogEvent, LogPattern, LogScope, Projection, QueryLogsToolResult};
use domain::ids::ToolCallId;
use serde_json::json;
use serde_json::value::RawValue;

use super::collect::{Collector, Pattern};
use super::events::cut;
use super::line::LogLine;
use super::{instant, patterns};
use crate::redaction::Redactor;

/// Patterns shown, at most.
const MAX_PATTERNS: usize = 60;
/// Bytes of one shown text, tried from the front until the result fits.
const TEXT_BYTES: [usize; 4] = [1200, 600, 300, 150];
/// Bytes of the raw response.
const MAX_RAW_BYTES: usize = 64 * 1024;

/// What of the call is shown besides the lines.
pub struct Shown {
    pub tool_call_id: ToolCallId,
    pub source: String,
    pub scope: LogScope,
    /// Templates begin with the service's name when lines of several are mixed.
    pub many_services: bool,
    pub notes: Vec<String>,
}

/// The projection of at most `max_bytes` as JSON, or `None` when not even one entry fits.
pub fn project(
    collector: &Collector,
    shown: &Shown,
    max_bytes: usize,
    redactor: &mut Redactor,
) -> Option<Projection> {
    let masked = Masked::of(collector, shown, redactor);
    TEXT_BYTES.into_iter().find_map(|text_bytes| {
        let result = result(collector, shown, &masked, text_bytes);
        let wanted = result.patterns.len();
        let (projection, _) = Projection::Logs(result).to_bounded_json(max_bytes).ok()?;
        let Projection::Logs(fitted) = &projection else { return None };
        // Shorter texts are better than lost patterns, as long as texts can get shorter.
        let smallest = TEXT_BYTES.last() == Some(&text_bytes);
        (smallest || fitted.patterns.len() == wanted).then_some(projection)
    })
}

/// Everything that may be shown, masked once and not yet cut.
struct Masked {
    patterns: Vec<LogPattern>,
    events: Vec<LogEvent>,
    /// Patterns that are not among them, and their lines.
    hidden: (usize, u64),
    cleaned: usize,
}

impl Masked {
    fn of(collector: &Collector, shown: &Shown, redactor: &mut Redactor) -> Self {
        let ranked = collector.ranked();
        let (told, rest) = ranked.split_at(ranked.len().min(MAX_PATTERNS));
        let patterns =
            told.iter().map(|(template, p)| pattern(template, p, collector, shown, redactor)).collect();
        let events = events(&ranked, collector.search().limit, redactor);
        let hidden = (rest.len(), rest.iter().map(|(_, pattern)| pattern.count).sum());
        Self { patterns, events, hidden, cleaned: redactor.cleaned() }
    }
}

fn result(collector: &Collector, shown: &Shown, masked: &Masked, text_bytes: usize) -> QueryLogsToolResult {
    let mut patterns = masked.patterns.clone();
    for pattern in &mut patterns {
        pattern.template = cut(&pattern.template, text_bytes);
        pattern.sample = cut(&pattern.sample, text_bytes);
    }
    let mut events = masked.events.clone();
    for event in &mut events {
        event.message = cut(&event.message, text_bytes);
    }
    let mut notes = shown.notes.clone();
    notes.extend(counting_notes(collector, shown));
    let (hidden, lines) = masked.hidden;
    if hidden > 0 {
        notes.push(format!(
            "{hidden} rarer patterns with {lines} lines are not shown; narrow the search to see them"
        ));
    }
    if masked.cleaned > 0 {
        notes.push(format!(
            "invisible or control characters were removed from {} shown texts",
            masked.cleaned
        ));
    }
    let sampled = (events.len() as u64) < collector.matched;
    if sampled {
        notes.push(format!(
            "events are {} of {} matching lines, the newest of each pattern",
            events.len(),
            collector.matched
        ));
    }
    QueryLogsToolResult {
        tool_call_id: shown.tool_call_id.clone(),
        evidence_status: EvidenceStatus::found(collector.matched > 0),
        source: shown.source.clone(),
        scope: shown.scope.clone(),
        matched: collector.matched,
        patterns,
        events,
        truncated: sampled || hidden > 0 || collector.is_incomplete(),
        notes,
    }
}

/// What one line's own template would be.
fn template_of(text: &str) -> String {
    let line = LogLine::parse(text.as_bytes());
    patterns::template_of(line.as_ref().map_or(text, LogLine::body))
}

fn pattern(
    template: &str,
    pattern: &Pattern,
    collector: &Collector,
    shown: &Shown,
    redactor: &mut Redactor,
) -> LogPattern {
    let sample = redactor.text(&pattern.sample);
    // A secret whose digits became variables can't be recognised any more; what a template has in common with its sample can. Of a
    // sample that was cut the template knows more than the sample shows.
    let told_by_sample = *sample != *pattern.sample || sample.contains('…');
    let template = if told_by_sample { Cow::Owned(template_of(&sample)) } else { redactor.text(template) };
    let template =
        if shown.many_services { format!("{}: {template}", pattern.service) } else { template.into_owned() };
    LogPattern {
        template,
        count: pattern.count,
        count_before: collector.count_before(pattern),
        first_seen: instant::show(pattern.first),
        last_seen: instant::show(pattern.last),
        sample: sample.into_owned(),
    }
}

/// The newest line of each pattern in their order, then the second newest of each, and so on up to `limit`:
/// what is dropped from the end to fit is what tells least.
fn events(ranked: &[(String, &Pattern)], limit: usize, redactor: &mut Redactor) -> Vec<LogEvent> {
    let rounds = ranked.iter().map(|(_, pattern)| pattern.newest.len()).max().unwrap_or(0);
    (0..rounds)
        .flat_map(|round| ranked.iter().filter_map(move |(_, pattern)| pattern.newest.get(round)))
        .take(limit)
        .map(|kept| kept.event(redactor))
        .collect()
}

/// What the counts say that the entries don't: broken lines, lines that couldn't be judged, and why nothing
/// may match.
fn counting_notes(collector: &Collector, shown: &Shown) -> Vec<String> {
    let mut notes = Vec::new();
    for what in &collector.incomplete {
        notes.push(what.clone());
    }
    let mut count = |n: u64, what: &str| {
        if n > 0 {
            notes.push(format!("{n} {what}"));
        }
    };
    count(collector.broken, "broken lines were left out");
    count(collector.torn_files, "compressed files are damaged and were read in part only");
    count(collector.without_time, "lines without a time could not be placed and were left out");
    count(collector.without_level, "lines without a level were left out by the level filter");
    if collector.vanished() > 0 && collector.matched > 0 {
        notes.push(format!("{} patterns of the window before no longer occur", collector.vanished()));
    }
    if shown.many_services && collector.matched > 0 {
        let mut counts: Vec<(&str, u64)> = collector
            .services()
            .map(|(name, count)| (name, count.matched))
            .filter(|(_, matched)| *matched > 0)
            .collect();
        counts.sort_by_key(|(name, matched)| (std::cmp::Reverse(*matched), *name));
        let texts: Vec<String> =
            counts.iter().take(20).map(|(name, matched)| format!("{name} {matched}")).collect();
        notes.push(format!("matching lines by service: {}", texts.join(", ")));
    }
    if collector.matched == 0 {
        notes.extend(absence(collector));
        notes.extend(collector.search().terms.as_ref().and_then(|terms| terms.hint()).map(str::to_owned));
    }
    notes
}

/// Whether the services were silent or only the filters found nothing: two very different observations.
fn absence(collector: &Collector) -> Vec<String> {
    let mut notes: Vec<String> = Vec::new();
    let in_window: u64 = collector.services().map(|(_, count)| count.in_window).sum();
    if in_window > 0 {
        notes.push(format!(
            "{in_window} lines lie within the window, but none of them passes level and query"
        ));
        return notes;
    }
    notes.push("there is no line at all within the window".to_owned());
    if let [(name, count)] = collector.services().collect::<Vec<_>>()[..] {
        if let Some(at) = count.last_before {
            notes.push(format!("the last line of {name} before the window is from {}", instant::show(at)));
        }
        if let Some(at) = count.first_after {
            notes.push(format!("the first line of {name} after the window is from {}", instant::show(at)));
        }
    }
    notes
}

/// Counts and the first matching lines, masked, for the canonical record.
pub fn raw(collector: &Collector, redactor: &mut Redactor) -> Option<Box<RawValue>> {
    let mut first: Vec<LogEvent> = collector.first.iter().map(|kept| kept.event(redactor)).collect();
    loop {
        let json = json!({
            "scanned": collector.scanned,
            "matched": collector.matched,
            "broken": collector.broken,
            "first_events": first,
        })
        .to_string();
        if json.len() <= MAX_RAW_BYTES {
            return RawValue::from_string(json).ok();
        }
        first.truncate(first.len() / 2);
    }
}
