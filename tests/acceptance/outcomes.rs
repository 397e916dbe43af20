//! Whole runs to each outcome.

use domain::model::Role;
use serde_json::json;
use testkit::provider::Script;

use crate::world::{draft, gateway_errors, world};

fn diagnosis() -> Script {
    Script::new().routes_to("DIAGNOSIS").asks_for([gateway_errors().id("call_a")])
}

#[tokio::test(flavor = "multi_thread")]
async fn a_supported_draft_is_published_as_it_is() -> anyhow::Result<()> {
    let text = "payment-gateway logged GATEWAY_TIMEOUT errors.";
    let world =
        world(diagnosis().reports(&draft("NORMAL", text, "call_a")).judges("SUPPORTED")).start().await?;
    let told = world.ask("checkout 5xx, why?").await?;
    let content = told.content().expect("content");
    assert_eq!((content.intent.as_str(), content.outcome.as_str()), ("DIAGNOSIS", "SUCCESS"));
    assert_eq!(content.body["kind"], "DIAGNOSIS_REPORT");
    assert_eq!(content.body["conclusion"]["text"], text);
    assert!(!told.text().contains("call_a"), "no tool call id on the wire");
    let run = world.run(&content.run_id).await?;
    assert_eq!((&run["status"], &run["body"]), (&json!("SUCCESS"), &content.body));
    let (status, evidence) = world.get(&format!("/api/runs/{}/evidence", content.run_id)).await?;
    assert_eq!(status, 200);
    assert!(evidence["analyses"][0]["evidence"].to_string().contains("GATEWAY_TIMEOUT"), "{evidence}");
    assert_eq!(world.provider.requests_of(Role::Diagnose).len(), 2);
    world.assert_provider_saw_a_clean_protocol();
    Ok(())
}
