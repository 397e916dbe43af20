//! Alerts as questions: the bodies that monitoring systems send, recognised by their shape, told as one query. Pure: the same body
//! always gives the same query.

mod alertmanager;
mod cloudwatch;
mod pagerduty;

use std::collections::BTreeMap;

use serde_json::Value;

/// Bytes of the query at most, with room below what a query may have.
const MAX_QUERY_BYTES: usize = 6 * 1024;
/// Bytes of one text of an alert.
const MAX_TEXT_BYTES: usize = 1000;
/// Labels that are told, and bytes of what one says.
const MAX_LABELS: usize = 24;
const MAX_LABEL_BYTES: usize = 120;
/// Alerts of one notification that are told.
const MAX_ALERTS: usize = 10;

/// Why a body is no alert that can be asked about.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoAlert {
    /// Not of any known sender. A chat request, perhaps.
    #[error(
        "the body is neither a chat request nor an alert of Alertmanager, CloudWatch (SNS or EventBridge) or PagerDuty v3"
    )]
    UnknownShape,
    /// Of a known sender, but nothing that happened: a subscription, a test ping, an empty list.
    #[error("{0}")]
    NothingToAsk(&'static str),
}

/// What every sender's alert comes down to.
#[derive(Debug, Default)]
struct Alert {
    name: String,
    state: String,
    service: Option<String>,
    severity: Option<String>,
    started_at: Option<String>,
    ended_at: Option<String>,
    /// What the sender says about it, most telling first.
    texts: Vec<String>,
    labels: BTreeMap<String, String>,
}

/// The query that a monitoring body asks.
///
/// # Errors
/// [`NoAlert`], with a hint.
pub fn query(body: &Value) -> Result<String, NoAlert> {
    let alerts = read(body)?;
    let (told, more) = alerts.split_at(alerts.len().min(MAX_ALERTS));
    let mut text = String::from("Diagnose this alert: what is the cause, and what should be done?\n");
    for (i, alert) in told.iter().enumerate() {
        let room = MAX_QUERY_BYTES.saturating_sub(text.len());
        let one = tell(alert);
        if one.len() > room && i > 0 {
            text.push_str(&format!("({} more alerts of this notification are not told)\n", alerts.len() - i));
            return Ok(text.trim_end().to_owned());
        }
        // Of the first one the beginning is told in any case: it says which alert it is.
        text.push_str(&cut(one, room));
        text.push('\n');
    }
    if !more.is_empty() {
        text.push_str(&format!("({} more alerts of this notification are not told)\n", more.len()));
    }
    Ok(text.trim_end().to_owned())
}

fn read(body: &Value) -> Result<Vec<Alert>, NoAlert> {
    let readers = [alertmanager::read, cloudwatch::read, pagerduty::read];
    readers.iter().find_map(|read| read(body)).unwrap_or(Err(NoAlert::UnknownShape))
}

/// One alert in lines of `name: value`.
fn tell(alert: &Alert) -> String {
    let mut text = format!("alert: {} ({})\n", alert.name, alert.state);
    let mut line = |name: &str, value: &Option<String>| {
        if let Some(value) = value.as_ref().filter(|value| !value.is_empty()) {
            text.push_str(&format!("{name}: {value}\n"));
        }
    };
    line("service", &alert.service);
    line("severity", &alert.severity);
    line("since", &alert.started_at);
    line("until", &alert.ended_at);
    for said in &alert.texts {
        text.push_str(&format!("says: {said}\n"));
    }
    if !alert.labels.is_empty() {
        let labels: Vec<String> = alert.labels.iter().take(MAX_LABELS).map(|(k, v)| label(k, v)).collect();
        text.push_str(&format!("labels: {}", labels.join(", ")));
        if alert.labels.len() > MAX_LABELS {
            text.push_str(&format!(" (and {} more)", alert.labels.len() - MAX_LABELS));
        }
    }
    text.trim_end().to_owned()
}

fn label(name: &str, value: &str) -> String {
    format!("{}={}", cut(name.to_owned(), MAX_LABEL_BYTES), cut(value.to_owned(), MAX_LABEL_BYTES))
}

/// At most `bytes` of a text, and a mark where it was cut.
fn cut(mut text: String, bytes: usize) -> String {
    if text.len() > bytes {
        text.truncate(text.floor_char_boundary(bytes));
        text.push('…');
    }
    text
}

/// A text without control characters, cut with a mark.
fn plain(text: &str) -> String {
    let words: Vec<&str> =
        text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|w| !w.is_empty()).collect();
    cut(words.join(" "), MAX_TEXT_BYTES)
}

/// The text or number at a place, cleaned; blank is none.
fn text(value: &Value) -> Option<String> {
    let text = match value {
        Value::String(text) => plain(text),
        Value::Number(number) => number.to_string(),
        Value::Bool(flag) => flag.to_string(),
        _ => return None,
    };
    (!text.is_empty()).then_some(text)
}

/// All texts of an object.
fn texts(value: &Value) -> BTreeMap<String, String> {
    let fields = value.as_object().into_iter().flatten();
    fields.filter_map(|(name, value)| Some((plain(name), text(value)?))).collect()
}

/// The first of these labels that is there: senders name services in many ways.
fn service_of(labels: &BTreeMap<String, String>) -> Option<String> {
    const NAMES: [&str; 14] = [
        "service",
        "service_name",
        "app",
        "application",
        "app_kubernetes_io_name",
        "deployment",
        "job",
        "container",
        "FunctionName",
        "ServiceName",
        "ApiName",
        "LoadBalancer",
        "DBInstanceIdentifier",
        "component",
    ];
    NAMES.iter().find_map(|name| labels.get(*name)).cloned()
}

#[cfg(test)]
mod tests;
