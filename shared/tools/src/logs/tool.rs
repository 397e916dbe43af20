//! `query_logs` as the agent sees it: description, arguments, and one call from arguments to projection.

use std::sync::Arc;

use agent::ports::{EvidenceTool, ToolCallContext, ToolFailure, ToolOutput};
use async_trait::async_trait;
use domain::events::FailureCode;
use domain::evidence::projection::LogScope;
use domain::tool::{ToolErrorCode, ToolName};
use serde_json::Value;

use super::arguments::{QueryLogsArguments, Understood, understand};
use super::collect::Collector;
use super::instant;
use super::projection::{self, Shown};
use super::source::{LogSearch, LogSource, LogSourceError};
use super::window::Window;
use crate::arguments;
use crate::blocking::{Stop, Stopped};
use crate::redaction::Redactor;

/// The word for all services.
const ALL_SERVICES: &str = "*";
/// Service names shown in a refusal.
const MAX_NAMES: usize = 60;

/// What the model is told before the sources and services.
const ABOUT: &str = "Searches application logs of one service, or of all with service *, in a time window. \
    Answers with message patterns (template with <*> for what varies, count, \
    count_before in the equally long window before (0: new), first and last seen, one sample; failures first, \
    then what is new or rising) over all matching lines, and with events \
    (the newest line of each pattern). Finding nothing is an observation too. Secrets are \
    masked.\n\
    Times: RFC 3339 (2026-11-30T06:05:00Z), a UTC time of day (06:05, its most recent \
    occurrence), or relative (-2h, -15m, now). Limits: windows of at most 7 days, at most 200 \
    events. Start broad (level WARN or ERROR, no query), then narrow.";

/// Searches the configured log sources.
pub struct LogsTool {
    sources: Vec<Arc<dyn LogSource>>,
}

impl LogsTool {
    pub fn new(sources: Vec<Arc<dyn LogSource>>) -> Self {
        Self { sources }
    }

    /// Every configured service once, in the order of the configuration.
    fn services(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for name in self.sources.iter().flat_map(|source| source.services()) {
            if !names.contains(&name.as_str()) {
                names.push(name);
            }
        }
        names
    }

    /// The configured services that `asked` means.
    fn chosen(&self, asked: &str) -> Result<Vec<String>, ToolFailure> {
        let names = self.services();
        if asked == ALL_SERVICES && !names.is_empty() {
            return Ok(names.into_iter().map(str::to_owned).collect());
        }
        if let Some(name) = names.iter().find(|name| name.eq_ignore_ascii_case(asked)) {
            return Ok(vec![(*name).to_owned()]);
        }
        let asked: String = asked.chars().take(60).collect();
        let known = names.iter().take(MAX_NAMES).copied().collect::<Vec<_>>().join(", ");
        Err(tell(
            ToolErrorCode::UnknownSource,
            format!(
                "`service`: there is no service \"{asked}\"; the services are {known}; * means all of them"
            ),
        ))
    }

    async fn collect(&self, search: &LogSearch, stop: &Stop) -> Result<(Collector, String), ToolFailure> {
        let holds_any = |source: &&Arc<dyn LogSource>| {
            source.services().iter().any(|name| search.services.contains(name))
        };
        let mut asked: Vec<&Arc<dyn LogSource>> = self.sources.iter().filter(holds_any).collect();
        let mut failed: Vec<(&str, LogSourceError)> = Vec::new();
        // What a failing source had offered is not trusted: the others are asked again without it.
        let mut collector = 'all: loop {
            let mut collector = Collector::new(search.clone());
            for (i, source) in asked.iter().enumerate() {
                match source.search(search, collector, stop).await {
                    Ok(offered) => collector = offered,
                    Err(error @ LogSourceError::Stopped(_)) => return Err(failure(source.name(), &error)),
                    Err(error) => {
                        failed.push((source.name(), error));
                        asked.remove(i);
                        continue 'all;
                    }
                }
            }
            break collector;
        };
        for (name, error) in &failed {
            let told = failure(name, error);
            // That nothing was found says nothing while a source is missing.
            if collector.matched == 0 {
                return Err(told);
            }
            collector.incomplete(format!("the log source {name} could not be read; its lines are missing"));
        }
        // Nor while a part of what was asked for could not be read.
        if collector.matched == 0 && collector.is_incomplete() {
            return Err(tell(
                ToolErrorCode::SourceUnavailable,
                "nothing was found, but not everything could be read, so nothing can be said; narrow the window or the query"
                    .to_owned(),
            ));
        }
        let names: Vec<&str> = asked.iter().map(|source| source.name()).collect();
        Ok((collector, names.join(", ")))
    }
}

#[async_trait]
impl EvidenceTool for LogsTool {
    fn name(&self) -> ToolName {
        ToolName::QueryLogs
    }

    fn description(&self) -> String {
        let mut text = ABOUT.to_owned();
        for source in &self.sources {
            let description = source.description().split_whitespace().collect::<Vec<_>>().join(" ");
            text.push_str(&format!("\nsource: {} — {description}", source.name()));
        }
        for service in self.services() {
            text.push_str(&format!("\nservice: {service}"));
        }
        text
    }

    fn parameters(&self) -> Value {
        arguments::parameters::<QueryLogsArguments>()
    }

    fn check(&self, arguments: &Value) -> Result<(), String> {
        understand(arguments).map(|_| ())
    }

    async fn run(&self, call: ToolCallContext) -> Result<ToolOutput, ToolFailure> {
        let invalid = |fault| tell(ToolErrorCode::InvalidArguments, fault);
        let asked = understand(&call.arguments).map_err(invalid)?;
        let services = self.chosen(&asked.service)?;
        let window = Window::resolve(asked.start, asked.end, call.now).map_err(invalid)?;
        let scope = scope(&asked, &services, &window);
        let search =
            LogSearch { services, terms: asked.terms, min_level: asked.level, window, limit: asked.limit };
        let stop = Stop::new(call.cancelled.clone(), call.timeout);
        let (collector, source) = self.collect(&search, &stop).await?;
        let shown = Shown {
            tool_call_id: call.id,
            source,
            scope,
            many_services: search.services.len() > 1,
            notes: search.window.notes,
        };
        let mut redactor = Redactor::of(&call.pseudonyms);
        let projection =
            projection::project(&collector, &shown, call.max_bytes, &mut redactor).ok_or_else(|| {
                tell(
                    ToolErrorCode::ResultUnusable,
                    "the result does not fit its size limit; narrow the search".to_owned(),
                )
            })?;
        Ok(ToolOutput { projection, raw_response: projection::raw(&collector, &mut redactor) })
    }
}

fn scope(asked: &Understood, services: &[String], window: &Window) -> LogScope {
    let service = match services {
        [one] => one.clone(),
        _ => ALL_SERVICES.to_owned(),
    };
    LogScope {
        service,
        query: asked.query.clone(),
        level: asked.level.map(|level| level.as_str().to_owned()),
        start: instant::show(window.start),
        end: instant::show(window.end),
    }
}

fn tell(code: ToolErrorCode, message: String) -> ToolFailure {
    ToolFailure::Tell { code, message }
}

/// The log gets the chain, the model a fixed text.
fn failure(source: &str, error: &LogSourceError) -> ToolFailure {
    match error {
        LogSourceError::Stopped(Stopped::Cancelled) => ToolFailure::End(FailureCode::RunCancelled),
        LogSourceError::Stopped(Stopped::OutOfTime) => tell(
            ToolErrorCode::Timeout,
            "the search did not finish in time; choose a shorter window or a single service".to_owned(),
        ),
        LogSourceError::Unavailable { .. } | LogSourceError::Lost(_) => {
            let cause = std::error::Error::source(error);
            tracing::warn!(source.name = source, error = %error, cause = ?cause, "log source failed");
            tell(
                ToolErrorCode::SourceUnavailable,
                format!("the log source {source} can't be read now; use other evidence"),
            )
        }
    }
}
