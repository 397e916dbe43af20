//! CloudWatch alarms: as SNS delivers them, as EventBridge does, or bare.

use serde_json::Value;

use super::{Alert, NoAlert, service_of, text, texts};

/// Envelopes inside envelopes; SNS through SQS or EventBridge has two.
const MAX_DEPTH: usize = 4;

pub fn read(body: &Value) -> Option<Result<Vec<Alert>, NoAlert>> {
    unwrap(body, MAX_DEPTH)
}

fn unwrap(body: &Value, depth: usize) -> Option<Result<Vec<Alert>, NoAlert>> {
    let depth = depth.checked_sub(1)?;
    if let Some(records) = body.get("Records").and_then(Value::as_array) {
        let messages = records.iter().map(|record| record.get("Sns").unwrap_or(record));
        let read: Vec<_> = messages.filter_map(|message| unwrap(message, depth)).collect();
        let all: Result<Vec<Vec<Alert>>, NoAlert> = read.into_iter().collect();
        return match all {
            Ok(alerts) if alerts.is_empty() => None,
            Ok(alerts) => Some(Ok(alerts.into_iter().flatten().collect())),
            Err(fault) => Some(Err(fault)),
        };
    }
    match body.get("Type").and_then(Value::as_str) {
        Some("SubscriptionConfirmation" | "UnsubscribeConfirmation") => {
            return Some(Err(NoAlert::NothingToAsk(
                "this is a subscription message of SNS, no alarm; confirm the subscription at its SubscribeURL",
            )));
        }
        // The sender's own JSON, as a text.
        Some("Notification") => {
            return unwrap(&serde_json::from_str(body.get("Message")?.as_str()?).ok()?, depth);
        }
        _ => {}
    }
    if let Some(message) = body.get("Message").and_then(Value::as_str)
        && body.get("MessageId").is_some()
    {
        return unwrap(&serde_json::from_str(message).ok()?, depth);
    }
    if body.get("detail-type").is_some() && body.get("detail").is_some_and(Value::is_object) {
        return event(body).map(|alert| Ok(vec![alert]));
    }
    alarm(body).map(|alert| Ok(vec![alert]))
}

/// The alarm's own JSON.
fn alarm(body: &Value) -> Option<Alert> {
    let name = text(body.get("AlarmName")?)?;
    let state = text(body.get("NewStateValue")?)?;
    let trigger = &body["Trigger"];
    let mut labels = dimensions(&trigger["Dimensions"]);
    let facts = [
        ("metric", &trigger["MetricName"]),
        ("namespace", &trigger["Namespace"]),
        ("statistic", &trigger["Statistic"]),
        ("threshold", &trigger["Threshold"]),
        ("period_seconds", &trigger["Period"]),
        ("region", &body["Region"]),
        ("account", &body["AWSAccountId"]),
    ];
    let service = service_of(&labels);
    labels.extend(facts.iter().filter_map(|(name, value)| Some(((*name).to_owned(), text(value)?))));
    Some(Alert {
        name,
        state,
        service,
        severity: None,
        started_at: text(&body["StateChangeTime"]),
        ended_at: None,
        texts: [&body["AlarmDescription"], &body["NewStateReason"]].into_iter().filter_map(text).collect(),
        labels,
    })
}

/// The state change as EventBridge tells it.
fn event(body: &Value) -> Option<Alert> {
    let detail = &body["detail"];
    let name = text(detail.get("alarmName")?)?;
    let state = text(&detail["state"]["value"])?;
    let metric = detail["configuration"]["metrics"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|m| &m["metricStat"]["metric"]);
    let metric = metric.into_iter().find(|metric| metric.is_object());
    let mut labels = metric.map(|metric| texts(&metric["dimensions"])).unwrap_or_default();
    let service = service_of(&labels);
    let facts = [
        ("metric", metric.map(|m| &m["name"])),
        ("namespace", metric.map(|m| &m["namespace"])),
        ("region", Some(&body["region"])),
        ("account", Some(&body["account"])),
    ];
    labels.extend(facts.iter().filter_map(|(name, value)| Some(((*name).to_owned(), text((*value)?)?))));
    Some(Alert {
        name,
        state,
        service,
        severity: None,
        started_at: text(&detail["state"]["timestamp"]).or_else(|| text(&body["time"])),
        ended_at: None,
        texts: [&detail["configuration"]["description"], &detail["state"]["reason"]]
            .into_iter()
            .filter_map(text)
            .collect(),
        labels,
    })
}

/// `[{"name","value"}]`, in either case.
fn dimensions(list: &Value) -> std::collections::BTreeMap<String, String> {
    let field =
        |entry: &Value, small: &str, capital: &str| text(&entry[small]).or_else(|| text(&entry[capital]));
    let entries = list.as_array().into_iter().flatten();
    entries
        .filter_map(|entry| Some((field(entry, "name", "Name")?, field(entry, "value", "Value")?)))
        .collect()
}
