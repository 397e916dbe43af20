//! PagerDuty's webhooks, version 3.

use serde_json::Value;

use super::{Alert, NoAlert, text};

pub fn read(body: &Value) -> Option<Result<Vec<Alert>, NoAlert>> {
    let event = body.get("event")?;
    let kind = event.get("event_type")?.as_str()?;
    if kind.starts_with("pagey.") {
        return Some(Err(NoAlert::NothingToAsk(
            "this is a test event of PagerDuty; incidents will be understood",
        )));
    }
    if !kind.starts_with("incident.") {
        return Some(Err(NoAlert::NothingToAsk(
            "only incident events of PagerDuty can be asked about; subscribe to incident.triggered",
        )));
    }
    let data = event.get("data")?;
    // Notes and field updates carry the incident they are about.
    let incident =
        if data["incident"].is_object() && text(&data["title"]).is_none() { &data["incident"] } else { data };
    let Some(name) = text(&incident["title"]).or_else(|| text(&incident["summary"])) else {
        return Some(Err(NoAlert::NothingToAsk(
            "the incident has no title; send incident.triggered with its data",
        )));
    };
    let facts = [
        ("number", &incident["number"]),
        ("urgency", &incident["urgency"]),
        ("key", &incident["incident_key"]),
        ("url", &incident["html_url"]),
        ("team", &incident["teams"][0]["summary"]),
    ];
    let labels = facts.iter().filter_map(|(name, value)| Some(((*name).to_owned(), text(value)?))).collect();
    let body = &incident["body"];
    Some(Ok(vec![Alert {
        name,
        state: kind.trim_start_matches("incident.").to_owned(),
        service: text(&incident["service"]["summary"]).or_else(|| text(&incident["service"]["name"])),
        severity: text(&incident["priority"]["summary"]).or_else(|| text(&incident["urgency"])),
        started_at: text(&incident["created_at"]).or_else(|| text(&event["occurred_at"])),
        ended_at: text(&incident["resolved_at"]),
        texts: [&body["details"], &incident["description"]].into_iter().filter_map(text).collect(),
        labels,
    }]))
}
