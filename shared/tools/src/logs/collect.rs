//! What a search has seen so far: counts, patterns and kept lines, in memory bounded by constants, not by the
//! number of lines.

use time::OffsetDateTime;

use super::events::{Kept, Newest, keep};
use super::level::Level;
use super::line::LogLine;
use super::patterns::Miner;
use super::source::LogSearch;

/// Patterns kept, over all services, levels and both windows.
const MAX_PATTERNS: usize = 1200;
/// First matching lines kept for the record.
const MAX_FIRST: usize = 40;
/// Bytes of a pattern's sample.
const MAX_SAMPLE_BYTES: usize = 2048;

/// Filters, counts and summarises lines.
#[derive(Debug)]
pub struct Collector {
    search: LogSearch,
    miner: Miner,
    patterns: Vec<Pattern>,
    /// Sorted by name.
    services: Vec<(String, ServiceCount)>,
    group: String,
    pub(super) first: Vec<Kept>,
    pub(super) matched: u64,
    pub(super) scanned: u64,
    pub(super) broken: u64,
    /// Compressed files of which only a part could be unpacked.
    pub(super) torn_files: u64,
    /// What else was not read, in words.
    pub(super) incomplete: Vec<String>,
    pub(super) without_time: u64,
    pub(super) without_level: u64,
}

/// One kind of line.
#[derive(Debug)]
pub struct Pattern {
    pub service: String,
    pub level: Option<Level>,
    pub count: u64,
    /// Lines in the equally long window before.
    before: u64,
    /// Lines in the later half of the window.
    late: u64,
    pub first: OffsetDateTime,
    pub last: OffsetDateTime,
    pub sample: String,
    pub newest: Newest,
}

/// What one service wrote.
#[derive(Debug, Default, Clone, Copy)]
pub struct ServiceCount {
    pub matched: u64,
    /// Lines within the window, matching or not.
    pub in_window: u64,
    /// Lines within the equally long window before, matching or not.
    pub before: u64,
    /// What a source says of that window: whether it read all that matches there. `None` if it offers every line anyhow.
    before_read: Option<bool>,
    /// The nearest lines outside of the window.
    pub last_before: Option<OffsetDateTime>,
    pub first_after: Option<OffsetDateTime>,
}

impl Pattern {
    /// New or growing against the window before, or, where nothing is known of that, a thing of the window's later half.
    pub fn is_rising(&self, known_before: bool) -> bool {
        if known_before {
            return self.before == 0
                || (self.count >= self.before.saturating_mul(2) && self.count >= self.before + 3);
        }
        let early = self.count - self.late;
        self.late >= 3 && self.late >= early.saturating_mul(3)
    }

    /// Failures first, then warnings, then the rest.
    fn class(&self) -> u8 {
        match self.level {
            Some(Level::Fatal | Level::Error) => 2,
            Some(Level::Warn) => 1,
            _ => 0,
        }
    }
}

impl Collector {
    pub fn new(search: LogSearch) -> Self {
        let mut services: Vec<_> =
            search.services.iter().map(|name| (name.clone(), ServiceCount::default())).collect();
        services.sort_by(|a, b| a.0.cmp(&b.0));
        services.dedup_by(|a, b| a.0 == b.0);
        Self {
            search,
            miner: Miner::new(MAX_PATTERNS),
            patterns: Vec::new(),
            services,
            group: String::new(),
            first: Vec::new(),
            matched: 0,
            scanned: 0,
            broken: 0,
            torn_files: 0,
            incomplete: Vec::new(),
            without_time: 0,
            without_level: 0,
        }
    }

    pub fn search(&self) -> &LogSearch {
        &self.search
    }

    /// A line that can't be read, so that nobody knows whose it is.
    pub fn broken(&mut self) {
        self.scanned += 1;
        self.broken += 1;
    }

    /// Something that may have matched was not read, in words.
    pub fn incomplete(&mut self, note: String) {
        self.incomplete.push(note);
    }

    /// A file that could be read in part only.
    pub fn torn_file(&mut self) {
        self.torn_files += 1;
    }

    /// A file that was left out because all its lines lie outside of both windows, from the first time to the last.
    pub fn skipped_file(&mut self, (first, last): (OffsetDateTime, OffsetDateTime)) {
        if let [(_, count)] = self.services.as_mut_slice() {
            for at in [first, last] {
                count.place(at, &self.search);
            }
        }
    }

    /// Looks at one line.
    pub fn offer(&mut self, line: &LogLine<'_>) {
        self.scanned += 1;
        let name = line.service.as_deref().unwrap_or_default();
        let Ok(place) = self.services.binary_search_by(|(known, _)| known.as_str().cmp(name)) else { return };
        let Some((service, count)) = self.services.get_mut(place) else { return };
        let Some(at) = line.timestamp else {
            self.without_time += 1;
            return;
        };
        let inside = count.place(at, &self.search);
        if !(inside || self.search.window.is_before(at)) {
            return;
        }
        let minimum = self.search.min_level;
        if minimum.is_some() && line.level.is_none() {
            self.without_level += u64::from(inside);
            return;
        }
        let matches =
            line.level >= minimum && self.search.terms.as_ref().is_none_or(|terms| terms.match_line(line));
        if matches && inside {
            count.matched += 1;
            let service = service.clone();
            self.keep(&service, at, line);
        } else if matches {
            let service = service.clone();
            let id = self.pattern(&service, at, line);
            if let Some(pattern) = self.patterns.get_mut(id) {
                pattern.before += 1;
            }
        }
    }

    /// Counts a matching line under its pattern.
    fn keep(&mut self, service: &str, at: OffsetDateTime, line: &LogLine<'_>) {
        self.matched += 1;
        if self.first.len() < MAX_FIRST {
            self.first.push(Kept::new(at, service, line));
        }
        let late = self.search.window.is_late(at);
        let id = self.pattern(service, at, line);
        if let Some(pattern) = self.patterns.get_mut(id) {
            if pattern.count == 0 {
                (pattern.first, pattern.last) = (at, at);
                pattern.sample = keep(&line.message, MAX_SAMPLE_BYTES);
            }
            pattern.count += 1;
            pattern.late += u64::from(late);
            pattern.first = pattern.first.min(at);
            pattern.last = pattern.last.max(at);
            pattern.newest.offer(at, || Kept::new(at, service, line));
        }
    }

    /// The number of the line's pattern, which may be new.
    fn pattern(&mut self, service: &str, at: OffsetDateTime, line: &LogLine<'_>) -> usize {
        self.group.clear();
        self.group.push_str(service);
        self.group.push('\u{1f}');
        self.group.push_str(line.level.map_or("", Level::as_str));
        let id = self.miner.assign(&self.group, line.body());
        if id == self.patterns.len() {
            self.patterns.push(Pattern {
                service: service.to_owned(),
                level: line.level,
                count: 0,
                before: 0,
                late: 0,
                first: at,
                last: at,
                sample: String::new(),
                newest: Newest::default(),
            });
        }
        id
    }

    /// Lines of the pattern in the window before, if that window is known to hold any of its service.
    pub(super) fn count_before(&self, pattern: &Pattern) -> Option<u64> {
        self.knows_before(&pattern.service).then_some(pattern.before)
    }

    /// A service without any line in that window may not have existed, or its lines may be gone: nothing is known then, unless the
    /// source was asked for that window and says that its answer is whole.
    fn knows_before(&self, service: &str) -> bool {
        let place = self.services.binary_search_by(|(known, _)| known.as_str().cmp(service));
        let count = place.ok().and_then(|place| self.services.get(place)).map(|(_, count)| count);
        count.is_some_and(|count| count.before_read.unwrap_or(count.before > 0))
    }

    /// Whether a source that filters by itself read everything that matches in the window before.
    pub fn read_before(&mut self, service: &str, whole: bool) {
        if let Some((_, count)) = self.services.iter_mut().find(|(known, _)| known == service) {
            count.before_read = Some(count.before_read.unwrap_or(true) && whole);
        }
    }

    /// Whether something that may have matched was not read, so that finding nothing says nothing.
    pub(super) fn is_incomplete(&self) -> bool {
        self.torn_files > 0 || !self.incomplete.is_empty()
    }

    /// Patterns of the window before that no longer occur.
    pub(super) fn vanished(&self) -> usize {
        self.patterns.iter().filter(|pattern| pattern.count == 0).count()
    }

    pub(super) fn services(&self) -> impl Iterator<Item = (&str, ServiceCount)> {
        self.services.iter().map(|(name, count)| (name.as_str(), *count))
    }

    /// The patterns with their templates, most telling first: failures before warnings before the rest; among them what is new or
    /// rising against the equally long window before; then the frequent before the rare.
    pub(super) fn ranked(&self) -> Vec<(String, &Pattern)> {
        let occurring = self.patterns.iter().enumerate().filter(|(_, pattern)| pattern.count > 0);
        let mut ranked: Vec<(usize, &Pattern)> = occurring.collect();
        let rising = |p: &Pattern| p.is_rising(self.knows_before(&p.service));
        ranked.sort_by_cached_key(|(id, p)| (std::cmp::Reverse((p.class(), rising(p), p.count)), *id));
        ranked.into_iter().map(|(id, pattern)| (self.miner.text(id), pattern)).collect()
    }
}

impl ServiceCount {
    /// Notes where the line lies; returns whether that is within the window.
    fn place(&mut self, at: OffsetDateTime, search: &LogSearch) -> bool {
        let inside = search.window.contains(at);
        if inside {
            self.in_window += 1;
        } else if at < search.window.start {
            self.last_before = self.last_before.max(Some(at));
            self.before += u64::from(search.window.is_before(at));
        } else {
            self.first_after = Some(self.first_after.map_or(at, |first| first.min(at)));
        }
        inside
    }
}
