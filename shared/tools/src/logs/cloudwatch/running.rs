//! One Insights query from start to rows, and its end on the server whatever becomes of who waits for it.

use std::time::Duration;

use aws_sdk_cloudwatchlogs::Client;
use aws_sdk_cloudwatchlogs::error::{DisplayErrorContext, ProvideErrorMetadata, SdkError};
use aws_sdk_cloudwatchlogs::types::{QueryStatus, ResultField};
use tokio_util::task::TaskTracker;

use crate::blocking::Stop;
use crate::logs::source::LogSourceError;

/// Pauses between two looks: short at first, for queries that are quick.
const FIRST_PAUSE: Duration = Duration::from_millis(150);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);
/// Pauses of a start that is refused because too many queries run.
const START_TRIES: u32 = 6;
const STOP_TIMEOUT: Duration = Duration::from_secs(2);

pub struct Query<'q> {
    pub group: &'q str,
    pub text: &'q str,
    /// Unix seconds, both inclusive.
    pub from: i64,
    pub to: i64,
    pub limit: i32,
}

pub struct Answer {
    pub rows: Vec<Row>,
    /// Lines that the query matched, if the service says so.
    pub matched: Option<f64>,
}

#[derive(Debug, Default, Clone)]
pub struct Row {
    pub timestamp: String,
    pub message: String,
    /// What tells a line from every other.
    pub pointer: String,
}

/// Why a query gave nothing. Names the service's own code, never its text.
#[derive(Debug, thiserror::Error)]
enum Fault {
    #[error("the service answered {0}")]
    Service(String),
    #[error("the service could not be asked: {0}")]
    Transport(String),
    #[error("the query ended as {0}")]
    Ended(&'static str),
}

fn unavailable(what: &'static str, fault: Fault) -> LogSourceError {
    LogSourceError::Unavailable { what, source: Box::new(fault) }
}

/// Runs `query` to its end.
///
/// # Errors
/// Anything but a complete answer.
pub async fn answer(
    client: &Client,
    stops: &TaskTracker,
    query: &Query<'_>,
    stop: &Stop,
) -> Result<Answer, LogSourceError> {
    let id = start(client, query, stop).await?;
    let running = Running { client: client.clone(), stops: stops.clone(), id, ended: false };
    let mut pause = FIRST_PAUSE;
    loop {
        stop.sleep(pause).await?;
        pause = (pause * 3 / 2).min(LONGEST_PAUSE);
        let looked = stop.bound(client.get_query_results().query_id(&running.id).send()).await?;
        let results = match looked {
            Ok(results) => results,
            Err(fault) if is_throttled(&fault) => continue,
            Err(fault) => return Err(unavailable("query results", told(fault))),
        };
        let ended = match results.status() {
            Some(QueryStatus::Complete) => {
                running.ended();
                let matched = results.statistics().map(|statistics| statistics.records_matched());
                let rows = results.results().iter().map(|fields| row(fields)).collect();
                return Ok(Answer { rows, matched });
            }
            Some(QueryStatus::Running | QueryStatus::Scheduled) => continue,
            Some(QueryStatus::Failed) => "Failed",
            Some(QueryStatus::Cancelled) => "Cancelled",
            Some(QueryStatus::Timeout) => "Timeout",
            _ => "Unknown",
        };
        running.ended();
        return Err(unavailable("query", Fault::Ended(ended)));
    }
}

async fn start(client: &Client, query: &Query<'_>, stop: &Stop) -> Result<String, LogSourceError> {
    let mut pause = FIRST_PAUSE;
    for attempt in 1.. {
        let asked = client
            .start_query()
            .log_group_names(query.group)
            .query_string(query.text)
            .start_time(query.from)
            .end_time(query.to)
            .limit(query.limit);
        match stop.bound(asked.send()).await? {
            Ok(started) => {
                let id = started.query_id().map(str::to_owned);
                return id.ok_or_else(|| unavailable("query start", Fault::Ended("started without an id")));
            }
            Err(fault) if attempt < START_TRIES && is_throttled(&fault) => {
                stop.sleep(pause).await?;
                pause = (pause * 2).min(LONGEST_PAUSE);
            }
            Err(fault) => return Err(unavailable("query start", told(fault))),
        }
    }
    Err(unavailable("query start", Fault::Ended("never started")))
}

/// Too many requests, or too many queries at once.
fn is_throttled<E: ProvideErrorMetadata>(fault: &SdkError<E>) -> bool {
    let code = fault.as_service_error().and_then(ProvideErrorMetadata::code);
    matches!(
        code,
        Some(
            "ThrottlingException"
                | "LimitExceededException"
                | "TooManyRequestsException"
                | "ServiceUnavailableException"
        )
    )
}

fn told<E>(fault: SdkError<E>) -> Fault
where
    E: ProvideErrorMetadata + std::error::Error + 'static,
{
    match fault.as_service_error().and_then(ProvideErrorMetadata::code) {
        Some(code) => Fault::Service(code.chars().filter(char::is_ascii_alphanumeric).take(60).collect()),
        None => Fault::Transport(DisplayErrorContext(&fault).to_string().chars().take(300).collect()),
    }
}

fn row(fields: &[ResultField]) -> Row {
    let mut row = Row::default();
    for field in fields {
        let value = field.value().unwrap_or_default().to_owned();
        match field.field() {
            Some("@timestamp") => row.timestamp = value,
            Some("@message") => row.message = value,
            Some("@ptr") => row.pointer = value,
            _ => {}
        }
    }
    row
}

/// A query that the service works on; it doesn't notice that nobody waits any more.
struct Running {
    client: Client,
    stops: TaskTracker,
    id: String,
    ended: bool,
}

impl Running {
    fn ended(mut self) {
        self.ended = true;
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.ended
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            let stopping = self.client.stop_query().query_id(&self.id).send();
            // Best effort: a query that is not stopped ends by itself, it only costs.
            let stopping = async move { drop(tokio::time::timeout(STOP_TIMEOUT, stopping).await) };
            self.stops.spawn_on(stopping, &runtime);
        }
    }
}
