//! Which tools to call next, round by round, from the question and from what came back.
//!
//! Round 1: the runbook, and the errors of the services in question. Round 2: business rows of the window
//! that the logs had, the errors of services named by those errors, and warnings. Round 3: the runbook again
//! in the words of the first error, and a look whether silent services log at all.

use domain::question::Language;
use serde_json::{Value, json};
use time::macros::format_description;

use super::catalog::{Catalog, Table};
use super::clock_words::{self, Named};
use super::signs;
use super::transcript::Transcript;
use crate::provider::reply::Call;
use crate::provider::request::{OfferedTool, Received};

/// The question, read once.
pub(super) struct Case {
    pub query: String,
    pub language: Language,
    pub named: Option<Named>,
    /// The services in question, most clearly meant first; all of them when the question hints at none.
    pub services: Vec<String>,
    /// Whether the question hints at the services at all.
    pub focused: bool,
    catalog: Catalog,
    tools: Vec<OfferedTool>,
}

/// Services that one question is about, at most.
const MAX_SERVICES: usize = 2;
/// Services looked into when the question hints at none.
const MAX_UNFOCUSED: usize = 6;
const MAX_CALLS_IN_ROUND: usize = 6;
const TOP_K: u64 = 4;
/// Sample lines in a log result: the patterns are what counts.
const LOG_LIMIT: u64 = 5;

impl Case {
    pub(super) fn of(input: &Value, request: &Received) -> Self {
        let query = input["query"].as_str().unwrap_or_default().to_owned();
        let catalog = Catalog::read(&request.tools);
        let mut services = catalog.services_in(&query);
        if services.is_empty() {
            // A follow-up names its service in the turn before.
            services = catalog.services_in(input["previous_turn"]["query"].as_str().unwrap_or_default());
        }
        let focused = !services.is_empty();
        if focused {
            services.truncate(MAX_SERVICES);
        } else {
            services = catalog.services.iter().map(|s| s.name.clone()).take(MAX_UNFOCUSED).collect();
        }
        let tools = request.tools.clone();
        Self {
            language: Language::of(&query),
            named: clock_words::named_time(&query),
            services,
            focused,
            catalog,
            tools,
            query,
        }
    }

    fn call(&self, tool: &str, mut arguments: Value) -> Option<(String, Value)> {
        let offered = self.tools.iter().find(|offered| offered.name == tool)?;
        // Where the schema lists optional arguments as required, null stands for "none".
        for name in offered.parameters["required"].as_array().into_iter().flatten().filter_map(Value::as_str)
        {
            if arguments.get(name).is_none() {
                arguments[name] = Value::Null;
            }
        }
        Some((tool.to_owned(), arguments))
    }

    fn lookup(&self, query: &str) -> Option<(String, Value)> {
        self.call("lookup_knowledge", json!({ "query": query, "top_k": TOP_K }))
    }

    fn logs(&self, service: &str, level: Option<&str>, window: &(String, String)) -> Option<(String, Value)> {
        let (start, end) = window;
        let mut arguments = json!({ "service": service, "start": start, "end": end, "limit": LOG_LIMIT });
        if let Some(level) = level {
            arguments["level"] = level.into();
        }
        self.call("query_logs", arguments)
    }
}

/// The calls of the next round; none when the report is due.
pub(super) fn next_calls(case: &Case, transcript: &Transcript) -> Vec<Call> {
    let planned = match transcript.rounds {
        0 => first_round(case),
        1 => second_round(case, transcript),
        2 => third_round(case, transcript),
        _ => Vec::new(),
    };
    let mut fresh: Vec<(String, Value)> = Vec::new();
    for (tool, arguments) in planned.into_iter().flatten() {
        let known = fresh.iter().any(|(t, a)| *t == tool && *a == arguments);
        if !known && !transcript.asked(&tool, &arguments) {
            fresh.push((tool, arguments));
        }
    }
    fresh.truncate(MAX_CALLS_IN_ROUND + 1);
    fresh.into_iter().map(|(tool, arguments)| Call::new(&tool, arguments)).collect()
}

type Planned = Vec<Option<(String, Value)>>;

fn first_round(case: &Case) -> Planned {
    let window = clock_words::window(&case.query);
    let mut calls = vec![case.lookup(&case.query)];
    calls.extend(case.services.iter().map(|service| case.logs(service, Some("ERROR"), &window)));
    calls
}

fn second_round(case: &Case, transcript: &Transcript) -> Planned {
    let signs = signs::errors(case, transcript);
    let window = window_for(case, transcript);
    let mut calls = Vec::new();
    // The question's time lies outside the window that was asked for.
    if window != clock_words::window(&case.query) {
        calls.extend(
            case.services.iter().take(MAX_SERVICES).map(|service| case.logs(service, Some("ERROR"), &window)),
        );
    }
    let text = signs
        .iter()
        .take(3)
        .fold(format!("{} {}", case.query, case.services.join(" ")), |text, sign| text + " " + &sign.quote);
    let bounds = sql_bounds(transcript);
    calls.extend(bounds.iter().flat_map(|bounds| error_rows(case, &text, bounds)));
    let quotes: String = signs.iter().map(|sign| sign.quote.as_str()).collect::<Vec<_>>().join(" ");
    let involved =
        case.catalog.services_named_in(&quotes).into_iter().filter(|name| !case.services.contains(name));
    calls.extend(involved.take(MAX_SERVICES).map(|service| case.logs(&service, Some("ERROR"), &window)));
    if case.focused {
        calls.extend(case.services.iter().map(|service| case.logs(service, Some("WARN"), &window)));
    }
    let service = signs.first().map(|sign| &sign.service).or(case.services.first().filter(|_| case.focused));
    if let Some((service, bounds)) = service.zip(bounds.as_ref()) {
        calls.extend(changes(case, service, bounds));
    }
    calls
}

fn third_round(case: &Case, transcript: &Transcript) -> Planned {
    let signs = signs::errors(case, transcript);
    let window = window_for(case, transcript);
    let mut calls = Vec::new();
    if let Some(first) = signs.first() {
        let warnings = signs::warnings_before(case, transcript, &signs, first);
        let before = warnings.first().map(|sign| sign.quote.as_str()).unwrap_or_default();
        calls.push(case.lookup(format!("{} {before}", first.quote).trim()));
    }
    let silent = transcript
        .logs()
        .filter(|(_, result)| result.patterns.is_empty() && signs::has_level(result, "ERROR"));
    let silent: Vec<String> = silent.map(|(_, result)| result.scope.service.clone()).collect();
    for service in silent.iter().take(MAX_SERVICES) {
        // With an error elsewhere its warnings may explain it; without any the question is whether it logs at
        // all.
        let level = if signs.is_empty() { None } else { Some("WARN") };
        calls.push(case.logs(service, level, &window));
    }
    calls
}

/// The window to go on with: the first one, or one around the named time if that lies before it.
fn window_for(case: &Case, transcript: &Transcript) -> (String, String) {
    let first = clock_words::window(&case.query);
    let scope = transcript.logs().next().map(|(_, result)| &result.scope);
    let bounds = scope.and_then(|scope| clock_words::parse(&scope.start).zip(clock_words::parse(&scope.end)));
    match (case.named, bounds) {
        (Some(named @ Named::Clock(_)), Some((start, end))) if clock_words::instant(named, end) < start => {
            clock_words::around(clock_words::instant(named, end))
        }
        _ => first,
    }
}

/// The first log window as SQL date-times: the tools know what time it is, this model does not.
fn sql_bounds(transcript: &Transcript) -> Option<[String; 2]> {
    let scope = &transcript.logs().next()?.1.scope;
    let sql = |text: &str| {
        let instant = clock_words::parse(text)?;
        instant.format(format_description!("[year]-[month]-[day] [hour]:[minute]:[second]")).ok()
    };
    Some([sql(&scope.start)?, sql(&scope.end)?])
}

/// Failed rows of the window, counted by what they have in common, of the two tables that have most to do
/// with `text`.
fn error_rows(case: &Case, text: &str, [start, end]: &[String; 2]) -> Planned {
    let mut tables: Vec<(usize, &Table)> =
        case.catalog.tables.iter().filter(|t| t.has("error_code")).map(|t| (t.relevance(text), t)).collect();
    tables.retain(|(relevance, table)| *relevance > 0 && table.time_column().is_some());
    tables.sort_by_key(|(relevance, _)| std::cmp::Reverse(*relevance));
    let query = |(_, table): &(usize, &Table)| {
        let at = table.time_column()?;
        let mut by: Vec<&str> = table
            .first_of(&["gateway", "carrier", "channel", "provider", "region", "service"])
            .into_iter()
            .collect();
        by.extend(table.first_of(&["status"]));
        by.push("error_code");
        let (by, name) = (by.join(", "), &table.name);
        let sql = format!(
            "SELECT {by}, COUNT(*) AS occurrences, MIN({at}) AS first_at, MAX({at}) AS last_at FROM {name} \
             WHERE error_code IS NOT NULL AND {at} >= ? AND {at} < ? GROUP BY {by} ORDER BY occurrences DESC LIMIT 10"
        );
        case.call(
            "query_mysql",
            json!({ "data_source": table.data_source, "sql": sql, "params": [start, end] }),
        )
    };
    tables.iter().take(2).map(query).collect()
}

/// Deployments and configuration changes of `service` in the window.
fn changes(case: &Case, service: &str, [start, end]: &[String; 2]) -> Planned {
    let about_changes = |table: &&Table| {
        let named = ["config", "deploy", "change", "release"].iter().any(|word| table.name.contains(word));
        named && table.has("service") && table.time_column().is_some()
    };
    let query = |table: &Table| {
        let at = table.time_column()?;
        let (columns, name) = (table.columns.join(", "), &table.name);
        let sql = format!(
            "SELECT {columns} FROM {name} WHERE service = ? AND {at} >= ? AND {at} < ? ORDER BY {at} DESC LIMIT 5"
        );
        case.call(
            "query_mysql",
            json!({ "data_source": table.data_source, "sql": sql, "params": [service, start, end] }),
        )
    };
    case.catalog.tables.iter().filter(about_changes).take(2).map(query).collect()
}
