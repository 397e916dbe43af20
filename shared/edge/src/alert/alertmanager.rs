//! Alertmanager's webhook (and Grafana's, which has the same form with more fields).

use serde_json::Value;

use super::{Alert, NoAlert, service_of, text, texts};

pub fn read(body: &Value) -> Option<Result<Vec<Alert>, NoAlert>> {
    let alerts = body.get("alerts")?.as_array()?;
    // Its alerts have labels; another list of alerts is somebody else's.
    if !alerts.iter().all(|alert| alert.get("labels").is_some_and(Value::is_object)) {
        return None;
    }
    if alerts.is_empty() {
        return Some(Err(NoAlert::NothingToAsk(
            "the notification holds no alerts; send one with at least one in `alerts`",
        )));
    }
    // What fires comes before what is over.
    let mut told: Vec<Alert> = alerts.iter().map(|alert| one(alert, body)).collect();
    told.sort_by_key(|alert| alert.state != "firing");
    Some(Ok(told))
}

fn one(alert: &Value, group: &Value) -> Alert {
    let mut labels = texts(&group["commonLabels"]);
    labels.extend(texts(&alert["labels"]));
    let mut notes = texts(&group["commonAnnotations"]);
    notes.extend(texts(&alert["annotations"]));
    let name =
        labels.remove("alertname").or_else(|| text(&group["title"])).unwrap_or_else(|| "unnamed".to_owned());
    let said = ["summary", "description", "message"].iter().filter_map(|note| notes.get(*note).cloned());
    // Alertmanager writes the year 1 for "not over".
    let time = |field: &str| text(&alert[field]).filter(|time| !time.starts_with("0001-"));
    let state =
        text(&alert["status"]).or_else(|| text(&group["status"])).unwrap_or_else(|| "firing".to_owned());
    Alert {
        name,
        service: service_of(&labels),
        severity: labels.get("severity").or_else(|| labels.get("priority")).cloned(),
        started_at: time("startsAt"),
        ended_at: time("endsAt").filter(|_| state == "resolved"),
        state,
        texts: said.collect(),
        labels,
    }
}
