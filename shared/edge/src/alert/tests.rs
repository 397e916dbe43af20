//! Bodies of each sender, and bodies of none.

use serde_json::json;

use super::*;

fn alertmanager() -> Value {
    json!({
        "version": "4", "groupKey": "{}:{alertname=\"CheckoutHigh5xx\"}", "status": "firing", "receiver": "superbiz",
        "truncatedAlerts": 0, "externalURL": "http://am.example",
        "groupLabels": { "alertname": "CheckoutHigh5xx" },
        "commonLabels": { "alertname": "CheckoutHigh5xx", "service": "checkout", "severity": "critical" },
        "commonAnnotations": { "summary": "checkout 5xx above 5 %" },
        "alerts": [
            { "status": "resolved", "labels": { "alertname": "CheckoutHigh5xx", "pod": "a" }, "annotations": {}, "startsAt": "2026-11-30T13:00:00Z", "endsAt": "2026-11-30T13:10:00Z" },
            { "status": "firing", "labels": { "alertname": "CheckoutHigh5xx", "pod": "b" }, "annotations": { "description": "支付超时\u{0}\n持续 5 分钟" }, "startsAt": "2026-11-30T14:05:00Z", "endsAt": "0001-01-01T00:00:00Z", "fingerprint": "f" },
        ],
    })
}

#[test]
fn alertmanager_tells_what_fires_first_with_service_time_and_labels() {
    let query = query(&alertmanager()).unwrap();
    let expected = "Diagnose this alert: what is the cause, and what should be done?\n\
        alert: CheckoutHigh5xx (firing)\nservice: checkout\nseverity: critical\nsince: 2026-11-30T14:05:00Z\n\
        says: checkout 5xx above 5 %\nsays: 支付超时 持续 5 分钟\nlabels: pod=b, service=checkout, severity=critical\n\
        alert: CheckoutHigh5xx (resolved)\nservice: checkout\nseverity: critical\nsince: 2026-11-30T13:00:00Z\n\
        until: 2026-11-30T13:10:00Z\nsays: checkout 5xx above 5 %\nlabels: pod=a, service=checkout, severity=critical";
    assert_eq!(query, expected);
}

#[test]
fn cloudwatch_is_read_through_every_envelope() {
    let alarm = json!({
        "AlarmName": "chat-errors", "AlarmDescription": "errors of the chat function", "AWSAccountId": "123456789012",
        "NewStateValue": "ALARM", "OldStateValue": "OK", "NewStateReason": "Threshold Crossed: 1 datapoint [7.0]",
        "StateChangeTime": "2026-11-30T14:05:00.000+0000", "Region": "EU (Ireland)",
        "Trigger": { "MetricName": "Errors", "Namespace": "AWS/Lambda", "Statistic": "SUM", "Period": 60, "Threshold": 1.0,
            "Dimensions": [{ "name": "FunctionName", "value": "chat" }] },
    });
    let notification = json!({ "Type": "Notification", "MessageId": "m", "TopicArn": "arn:aws:sns:eu-west-1:123456789012:t", "Message": alarm.to_string() });
    let sqs = json!({ "Type": "Notification", "Message": notification.to_string() });
    let lambda = json!({ "Records": [{ "EventSource": "aws:sns", "Sns": { "Type": "Notification", "MessageId": "m", "Message": alarm.to_string() } }] });
    let direct = query(&alarm).unwrap();
    assert!(
        direct.contains("alert: chat-errors (ALARM)\nservice: chat\nsince: 2026-11-30T14:05:00.000+0000\n"),
        "{direct}"
    );
    assert!(direct.contains("metric=Errors") && direct.contains("says: Threshold Crossed"), "{direct}");
    for body in [notification, sqs, lambda] {
        assert_eq!(query(&body).unwrap(), direct, "{body}");
    }
    let bridge = json!({
        "version": "0", "id": "i", "detail-type": "CloudWatch Alarm State Change", "source": "aws.cloudwatch", "account": "123456789012",
        "time": "2026-11-30T14:05:00Z", "region": "eu-west-1", "resources": [],
        "detail": { "alarmName": "chat-errors", "state": { "value": "ALARM", "reason": "crossed", "timestamp": "2026-11-30T14:05:00.000+0000" },
            "configuration": { "description": "d", "metrics": [{ "id": "m", "metricStat": { "metric": { "namespace": "AWS/Lambda", "name": "Errors", "dimensions": { "FunctionName": "chat" } } } }] } },
    });
    assert!(query(&bridge).unwrap().contains("alert: chat-errors (ALARM)\nservice: chat\n"));
}

#[test]
fn pagerduty_incidents_are_read() {
    let body = json!({ "event": { "id": "e", "event_type": "incident.triggered", "resource_type": "incident", "occurred_at": "2026-11-30T14:05:00Z",
        "data": { "id": "P1", "type": "incident", "number": 7, "title": "Checkout latency", "urgency": "high", "service": { "summary": "checkout" },
            "created_at": "2026-11-30T14:04:00Z", "html_url": "https://pd.example/1", "teams": [] } } });
    let query = query(&body).unwrap();
    assert!(query.contains("alert: Checkout latency (triggered)\nservice: checkout\nseverity: high\nsince: 2026-11-30T14:04:00Z\n"), "{query}");
}

#[test]
fn what_is_nothing_to_ask_about_is_told_why() {
    let subscription = json!({ "Type": "SubscriptionConfirmation", "SubscribeURL": "https://sns.example", "Message": "m", "MessageId": "m" });
    let ping = json!({ "event": { "event_type": "pagey.ping", "data": {} } });
    let service = json!({ "event": { "event_type": "service.updated", "data": {} } });
    let empty = json!({ "version": "4", "alerts": [] });
    for body in [subscription, ping, service, empty] {
        assert!(matches!(query(&body), Err(NoAlert::NothingToAsk(_))), "{body}");
    }
    let unknown = [
        json!(null),
        json!([]),
        json!("alert"),
        json!({}),
        json!({ "alerts": "x" }),
        json!({ "alerts": [{ "name": "x" }] }),
        json!({ "Type": "Notification", "Message": "plain words" }),
        json!({ "event": {} }),
        json!({ "AlarmName": "a" }),
        json!({ "detail-type": "EC2 Instance State-change Notification", "detail": { "state": "stopped" } }),
    ];
    for body in unknown {
        assert_eq!(query(&body), Err(NoAlert::UnknownShape), "{body}");
    }
}

#[test]
fn long_bodies_stay_within_a_query_and_say_what_is_missing() {
    let labels: serde_json::Map<String, Value> =
        (0..40).map(|n| (format!("label_{n:02}"), json!("v"))).collect();
    let alert = json!({ "status": "firing", "labels": labels, "annotations": { "description": "长".repeat(5000) }, "startsAt": "2026-11-30T14:05:00Z" });
    let query = query(&json!({ "alerts": vec![alert; 30] })).unwrap();
    assert!(
        query.len() <= MAX_QUERY_BYTES + 100 && domain::question::Query::parse(&query).is_ok(),
        "{}",
        query.len()
    );
    assert!(
        query.contains("(and 16 more)") && query.contains("more alerts of this notification are not told"),
        "{query}"
    );
}

#[test]
fn an_alert_that_is_too_long_by_itself_is_told_from_its_beginning() {
    let labels: serde_json::Map<String, Value> =
        (0..40).map(|n| (format!("label_{n:02}{}", "n".repeat(400)), json!("超".repeat(400)))).collect();
    let long = "x".repeat(900);
    let alert =
        json!({ "labels": labels, "annotations": { "summary": long, "description": long, "message": long } });
    let mut named = alert.clone();
    named["labels"]["alertname"] = json!("CheckoutDown");
    let query = query(&json!({ "alerts": [named, alert] })).unwrap();
    assert!(query.contains("alert: CheckoutDown (firing)") && query.contains('…'), "{query}");
    assert!(query.ends_with("(1 more alerts of this notification are not told)"), "{query}");
    assert!(query.len() <= MAX_QUERY_BYTES + 100 && domain::question::Query::parse(&query).is_ok());
}
