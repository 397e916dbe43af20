//! CloudWatch Logs as a source: one Insights query a page of the window, polled until it is complete, stopped on the server when
//! nobody waits for it any more.
//!
//! Insights gives at most 10,000 rows a query, the newest; older ones are asked for page by page, and what is still missing then is
//! said. Only `Complete` is an answer: a query that failed or is still running is never "no results".

mod client;
mod query;
mod running;

use std::collections::HashSet;

use async_trait::async_trait;
use aws_sdk_cloudwatchlogs::Client;
use time::OffsetDateTime;
use tokio::sync::OnceCell;
use tokio_util::task::TaskTracker;

use super::collect::Collector;
use super::instant;
use super::line::LogLine;
use super::source::{LogSearch, LogSource, LogSourceError};
use crate::blocking::Stop;
use running::{Answer, Row};

/// Rows of one query at most: what Insights allows.
const PAGE_ROWS: i32 = 10_000;
/// Pages of one window and group.
const MAX_PAGES: usize = 5;

/// A log group, and the service whose lines it holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogGroup {
    pub service: String,
    /// The group's name, such as `/aws/lambda/checkout`.
    pub name: String,
    /// A text that its lines of this service hold, for a group that several services share.
    pub filter: Option<String>,
}

/// Log groups of one region.
pub struct CloudWatchSource {
    name: String,
    description: String,
    services: Vec<String>,
    groups: Vec<LogGroup>,
    region: Option<String>,
    client: OnceCell<Client>,
    /// Owns what stops abandoned queries.
    stops: TaskTracker,
}

impl CloudWatchSource {
    /// Does no IO: the client is built at the first search. No `region` means that of the environment.
    pub fn new(name: String, description: String, region: Option<String>, groups: Vec<LogGroup>) -> Self {
        let mut services: Vec<String> = Vec::new();
        for group in &groups {
            if !services.contains(&group.service) {
                services.push(group.service.clone());
            }
        }
        Self {
            name,
            description,
            services,
            groups,
            region,
            client: OnceCell::new(),
            stops: TaskTracker::new(),
        }
    }

    async fn client(&self) -> &Client {
        self.client.get_or_init(|| client::build(self.region.as_deref())).await
    }

    /// Offers the lines of one group between two instants; whether they are all there are.
    async fn group(
        &self,
        group: &LogGroup,
        search: &LogSearch,
        (start, end): (OffsetDateTime, OffsetDateTime),
        max_pages: usize,
        mut offer: impl FnMut(&Row, OffsetDateTime),
        stop: &Stop,
    ) -> Result<Missing, LogSourceError> {
        let text = query::text(group, search, &self.services);
        // Both ends of a query are whole seconds and inclusive.
        let (from, mut to) = (start.unix_timestamp(), end.unix_timestamp());
        let mut seen: HashSet<String> = HashSet::new();
        for _ in 0..max_pages {
            let asked = running::Query { group: &group.name, text: &text, from, to, limit: PAGE_ROWS };
            let Answer { rows, matched } =
                running::answer(self.client().await, &self.stops, &asked, stop).await?;
            let mut oldest = None;
            for row in &rows {
                let at = instant::parse(&row.timestamp).map(|found| found.at);
                let at = at.ok_or_else(|| unreadable("a row without a time"))?;
                oldest = Some(oldest.map_or(at, |known: OffsetDateTime| known.min(at)));
                if seen.insert(row.pointer.clone()) {
                    offer(row, at);
                }
            }
            let Some(oldest) = oldest.filter(|_| rows.len() >= PAGE_ROWS as usize) else {
                // Fewer rows than matched, although there was room for them, is no complete answer either.
                let whole = matched.is_none_or(|matched| matched <= rows.len() as f64);
                return Ok(if whole { Missing::Nothing } else { Missing::Older });
            };
            // A second that fills a whole page can't be parted further.
            if oldest.unix_timestamp() >= to {
                return Ok(Missing::Older);
            }
            to = oldest.unix_timestamp();
        }
        Ok(Missing::Older)
    }
}

/// What a bounded number of pages left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Missing {
    Nothing,
    Older,
}

#[async_trait]
impl LogSource for CloudWatchSource {
    fn name(&self) -> &str {
        &self.name
    }

    fn description(&self) -> &str {
        &self.description
    }

    fn services(&self) -> &[String] {
        &self.services
    }

    async fn search(
        &self,
        search: &LogSearch,
        mut collector: Collector,
        stop: &Stop,
    ) -> Result<Collector, LogSourceError> {
        let asked = |group: &&LogGroup| search.services.contains(&group.service);
        for group in self.groups.iter().filter(asked) {
            let window = (search.window.start, search.window.end);
            let offer = |row: &Row, at| offer(&mut collector, group, row, at);
            let missing = self.group(group, search, window, MAX_PAGES, offer, stop).await?;
            if missing == Missing::Older {
                collector.incomplete(format!(
                    "{} has more matching lines than could be read; the oldest of the window are missing, and counts are lower bounds",
                    group.service
                ));
            }
            // The window before only says what is new: one page, and nothing at all if that is not all of it.
            let mut before = Vec::new();
            let keep = |row: &Row, at| before.push((row.clone(), at));
            let missing = self.group(group, search, search.window.before(), 1, keep, stop).await?;
            let whole = missing == Missing::Nothing;
            collector.read_before(&group.service, whole);
            // The second in which that window ends is in both.
            let before = before.iter().filter(|(_, at)| whole && search.window.is_before(*at));
            before.for_each(|(row, at)| self::offer(&mut collector, group, row, *at));
        }
        Ok(collector)
    }
}

fn offer(collector: &mut Collector, group: &LogGroup, row: &Row, at: OffsetDateTime) {
    // What looks like JSON and isn't is text like any other.
    let parsed = LogLine::parse_near(row.message.as_bytes(), Some(at));
    let mut line =
        parsed.unwrap_or_else(|_| LogLine { message: row.message.as_str().into(), ..LogLine::default() });
    // The service's time is what the window was asked for; the line's own may lack a zone.
    line.timestamp = Some(at);
    line.service = Some(group.service.as_str().into());
    collector.offer(&line);
}

fn unreadable(what: &'static str) -> LogSourceError {
    LogSourceError::Unavailable { what, source: Box::new(std::io::Error::other("unexpected answer")) }
}
