//! A fake of CloudWatch Logs that answers Insights queries as the service does: JSON 1.1, one target a call, the newest rows up to
//! the limit, and every way to fail.

use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Result;
use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use serde_json::{Value, json};
use time::OffsetDateTime;
use time::macros::format_description;
use tokio::task::AbortHandle;

/// How queries go from now on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Manner {
    /// Complete at the third look.
    Works,
    /// So many starts are refused for too many queries, then it works.
    BusyAtFirst(u32),
    /// Every call is refused.
    Throttled,
    /// Ends as this status.
    Ends(&'static str),
    /// Runs for ever.
    NeverEnds,
    /// Every call is refused with this code.
    Refuses(&'static str),
    /// Answers with what is no JSON.
    Babbles,
}

/// The running fake. Dropping it ends it.
pub struct CloudWatch {
    port: u16,
    shared: Arc<Mutex<Shared>>,
    serving: AbortHandle,
}

#[derive(Debug)]
struct Shared {
    /// `(group, unix milliseconds, message)`.
    lines: Vec<(String, i64, String)>,
    manner: Manner,
    queries: Vec<Query>,
    stopped: Vec<String>,
    refused: u32,
}

/// A query as it was started.
#[derive(Debug, Clone)]
pub struct Query {
    pub text: String,
    pub groups: Vec<String>,
    pub from: i64,
    pub to: i64,
    limit: usize,
    looks: u32,
}

impl CloudWatch {
    /// # Errors
    /// There is no free port.
    #[expect(clippy::disallowed_methods, reason = "the fake owns its task and aborts it when dropped")]
    pub async fn start() -> Result<Self> {
        let shared = Shared {
            lines: Vec::new(),
            manner: Manner::Works,
            queries: Vec::new(),
            stopped: Vec::new(),
            refused: 0,
        };
        let shared = Arc::new(Mutex::new(shared));
        let app = Router::new().route("/", post(call)).with_state(shared.clone());
        let listener = tokio::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let port = listener.local_addr()?.port();
        let serving = tokio::spawn(async move { drop(axum::serve(listener, app).await) }).abort_handle();
        Ok(Self { port, shared, serving })
    }

    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    pub fn set(&self, manner: Manner) {
        self.locked(|shared| shared.manner = manner);
    }

    pub fn add(&self, group: &str, at: OffsetDateTime, message: impl Into<String>) {
        let millis = i64::try_from(at.unix_timestamp_nanos() / 1_000_000).unwrap_or_default();
        self.locked(|shared| shared.lines.push((group.to_owned(), millis, message.into())));
    }

    pub fn queries(&self) -> Vec<Query> {
        self.locked(|shared| shared.queries.clone())
    }

    /// Ids of queries that were stopped.
    pub fn stopped(&self) -> Vec<String> {
        self.locked(|shared| shared.stopped.clone())
    }

    fn locked<T>(&self, work: impl FnOnce(&mut Shared) -> T) -> T {
        work(&mut self.shared.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for CloudWatch {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn call(State(shared): State<Arc<Mutex<Shared>>>, headers: HeaderMap, body: String) -> Response {
    let mut shared = shared.lock().unwrap_or_else(PoisonError::into_inner);
    let target = headers.get("x-amz-target").and_then(|target| target.to_str().ok()).unwrap_or_default();
    let body: Value = serde_json::from_str(&body).unwrap_or_default();
    match (shared.manner, target.rsplit('.').next().unwrap_or_default()) {
        (_, "StopQuery") => {
            shared.stopped.push(body["queryId"].as_str().unwrap_or_default().to_owned());
            answer(&json!({ "success": true }))
        }
        (Manner::Throttled, _) => refuse("ThrottlingException"),
        (Manner::Refuses(code), _) => refuse(code),
        (Manner::Babbles, _) => (StatusCode::OK, "<html>busy</html>").into_response(),
        (Manner::BusyAtFirst(times), "StartQuery") if shared.refused < times => {
            shared.refused += 1;
            refuse("LimitExceededException")
        }
        (_, "StartQuery") => shared.begin(&body),
        (_, "GetQueryResults") => shared.results(&body),
        _ => refuse("UnknownOperationException"),
    }
}

impl Shared {
    fn begin(&mut self, body: &Value) -> Response {
        let groups = body["logGroupNames"].as_array().into_iter().flatten();
        let query = Query {
            text: body["queryString"].as_str().unwrap_or_default().to_owned(),
            groups: groups.filter_map(|group| group.as_str().map(str::to_owned)).collect(),
            from: body["startTime"].as_i64().unwrap_or_default(),
            to: body["endTime"].as_i64().unwrap_or_default(),
            limit: body["limit"].as_u64().map_or(1000, |limit| limit as usize).min(10_000),
            looks: 0,
        };
        if query.from > query.to {
            return refuse("InvalidParameterException");
        }
        self.queries.push(query);
        answer(&json!({ "queryId": (self.queries.len() - 1).to_string() }))
    }

    fn results(&mut self, body: &Value) -> Response {
        let manner = self.manner;
        let id = body["queryId"].as_str().and_then(|id| id.parse::<usize>().ok());
        let Some(query) = id.and_then(|id| self.queries.get_mut(id)) else {
            return refuse("ResourceNotFoundException");
        };
        query.looks += 1;
        // A running query shows what it has found so far.
        let status = match manner {
            Manner::Ends(status) => status,
            Manner::NeverEnds => "Running",
            _ if query.looks < 3 => ["Scheduled", "Running"][query.looks as usize - 1],
            _ => "Complete",
        };
        let mut found: Vec<(usize, &(String, i64, String))> = self
            .lines
            .iter()
            .enumerate()
            .filter(|(_, (group, at, _))| {
                query.groups.contains(group) && (query.from..=query.to).contains(&(at.div_euclid(1000)))
            })
            .collect();
        found.sort_by_key(|(i, (_, at, _))| std::cmp::Reverse((*at, *i)));
        let matched = found.len();
        let field = |name: &str, value: String| json!({ "field": name, "value": value });
        let rows: Vec<Value> = found
            .into_iter()
            .take(query.limit)
            .map(|(i, (_, at, message))| {
                json!([
                    field("@timestamp", shown(*at)),
                    field("@message", message.clone()),
                    field("@ptr", format!("p{i}"))
                ])
            })
            .collect();
        let statistics =
            json!({ "recordsMatched": matched as f64, "recordsScanned": 1.0, "bytesScanned": 1.0 });
        answer(&json!({ "status": status, "results": rows, "statistics": statistics }))
    }
}

/// As Insights writes times: UTC, without saying so.
fn shown(millis: i64) -> String {
    let at = OffsetDateTime::from_unix_timestamp_nanos(i128::from(millis) * 1_000_000);
    let format = format_description!("[year]-[month]-[day] [hour]:[minute]:[second].[subsecond digits:3]");
    at.ok().and_then(|at| at.format(format).ok()).unwrap_or_default()
}

fn answer(body: &Value) -> Response {
    ([("content-type", "application/x-amz-json-1.1")], body.to_string()).into_response()
}

fn refuse(code: &str) -> Response {
    let body = json!({ "__type": code, "message": "planted vendor text" }).to_string();
    (StatusCode::BAD_REQUEST, [("content-type", "application/x-amz-json-1.1")], body).into_response()
}
