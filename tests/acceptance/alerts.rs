//! What monitoring systems send, posted to the chat function as it is.

use anyhow::Context;
use domain::model::Role;
use serde_json::json;
use testkit::provider::{Reply, Script};
use testkit::sse;

use crate::world::world;

#[tokio::test(flavor = "multi_thread")]
async fn an_alertmanager_notification_is_a_question_about_its_alert() -> anyhow::Result<()> {
    let system =
        Script::new().routes_to("SYSTEM_CHAT").then(Role::System, Reply::text("I diagnose incidents."));
    let world = world(system).scenario("greeting").start().await?;
    let body = json!({
        "version": "4", "status": "firing", "receiver": "superbiz", "groupKey": "g",
        "commonLabels": { "alertname": "CheckoutHigh5xx", "service": "checkout" },
        "alerts": [{ "status": "firing", "labels": { "alertname": "CheckoutHigh5xx" }, "annotations": {}, "startsAt": "2026-11-30T14:05:00Z" }],
    });
    let told = world.post(&body, &[]).await?;
    let run = world.run(&told.content().with_context(|| told.text())?.run_id).await?;
    let query = run["query"].as_str().context("query")?;
    assert!(
        query.contains("alert: CheckoutHigh5xx (firing)\nservice: checkout\nsince: 2026-11-30T14:05:00Z"),
        "{query}"
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_subscription_message_starts_no_run() -> anyhow::Result<()> {
    let world = world(Script::new()).scenario("greeting").start().await?;
    let body = json!({ "Type": "SubscriptionConfirmation", "MessageId": "m", "Message": "m", "SubscribeURL": "https://sns.example" });
    let url = format!("{}/api/chat", world.emulator.url());
    let client = sse::loopback_client()?;
    // SNS calls its JSON text.
    let request = client.post(url).header("content-type", "text/plain; charset=UTF-8");
    let response = request
        .header("x-amz-sns-message-type", "SubscriptionConfirmation")
        .body(body.to_string())
        .send()
        .await?;
    let (status, told) = (response.status().as_u16(), response.text().await?);
    assert!(
        status == 400 && told.contains("SubscribeURL") && told.contains("INVALID_REQUEST"),
        "{status} {told}"
    );
    Ok(())
}
