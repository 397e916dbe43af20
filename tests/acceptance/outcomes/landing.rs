//! Budgets: a run that runs short lands with a report where it can. And tool call ids that providers get
//! wrong.

use std::collections::BTreeSet;

use domain::model::Role;
use serde_json::{Value, json};
use testkit::provider::{Received, Reply, Script};

use super::{FINDING, QUESTION, diagnosis, fails, requests, settled};
use crate::world::{draft, gateway_errors, world};

#[tokio::test(flavor = "multi_thread")]
async fn the_last_affordable_call_is_a_report_without_tools() -> anyhow::Result<()> {
    // One routing call, one round of tools, the report, and the guards' three.
    let script = diagnosis().reports(&draft("NORMAL", FINDING, "call_a")).judges("SUPPORTED");
    let world = world(script).env("BUDGET_MODEL_CALLS", "6").start().await?;
    let told = world.ask(QUESTION).await?;
    assert_eq!(told.content().expect("content").outcome, "SUCCESS");
    settled(&world, &told).await?;
    let asked = world.provider.requests_of(Role::Diagnose);
    assert_eq!(asked.iter().map(Received::tools_withheld).collect::<Vec<_>>(), [false, true]);
    let told_last = asked[1].messages.last().expect("a message");
    assert!(
        told_last["role"] == "user"
            && told_last["content"].as_str().is_some_and(|text| text.contains("FINAL_ANSWER_ONLY")),
        "{told_last}"
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_out_of_tool_calls_still_reports() -> anyhow::Result<()> {
    let calls = [gateway_errors().id("call_a"), gateway_errors().id("call_b")];
    let script = Script::new()
        .routes_to("DIAGNOSIS")
        .asks_for(calls)
        .reports(&draft("NORMAL", FINDING, "call_a"))
        .judges("SUPPORTED");
    let world = world(script).env("BUDGET_TOOL_CALLS", "1").start().await?;
    let told = world.ask(QUESTION).await?;
    let content = told.content().expect("content");
    assert_eq!(content.outcome, "SUCCESS");
    settled(&world, &told).await?;
    let asked = world.provider.requests_of(Role::Diagnose);
    assert!(asked[1].tools_withheld());
    let refused = observations(&asked[1]).into_iter().find(|(id, _)| id == "call_b").expect("an answer");
    assert_eq!(refused.1["error"]["code"], "BUDGET_EXHAUSTED");
    let (_, trace) = world.get(&format!("/api/runs/{}/trace", content.run_id)).await?;
    assert_eq!(trace["budget"]["used"]["tool_calls"], 1);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_will_not_land_runs_out_of_budget() -> anyhow::Result<()> {
    let script =
        Script::new().routes_to("DIAGNOSIS").each(Role::Diagnose, |_| Reply::calls([gateway_errors()]));
    let world = world(script).env("BUDGET_MODEL_CALLS", "6").start().await?;
    let told = fails(&world, QUESTION, "BUDGET_EXHAUSTED").await?;
    assert_eq!(requests(&world), [1, 2, 0, 0, 0, 0]);
    let ready = told
        .statuses()
        .iter()
        .filter(|s| s.tool_call.as_ref().is_some_and(|call| call.state == "READY"))
        .count();
    assert_eq!(ready, 1, "a call after the notice is not run");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_budget_that_holds_no_call_makes_none() -> anyhow::Result<()> {
    let calls = world(Script::new().routes_to("DIAGNOSIS")).env("BUDGET_MODEL_CALLS", "4").start().await?;
    fails(&calls, QUESTION, "BUDGET_EXHAUSTED").await?;
    assert_eq!(requests(&calls), [1, 0, 0, 0, 0, 0], "the guards' calls are set aside");
    let tokens = world(Script::new()).env("BUDGET_INPUT_TOKENS", "100").start().await?;
    fails(&tokens, QUESTION, "BUDGET_EXHAUSTED").await?;
    assert_eq!(requests(&tokens), [0; 6]);
    Ok(())
}

/// The id and the content of each tool message.
fn observations(request: &Received) -> Vec<(String, Value)> {
    let tools = request.messages.iter().filter(|message| message["role"] == "tool");
    let read = |message: &Value| {
        let content = message["content"].as_str().unwrap_or_default();
        (
            message["tool_call_id"].as_str().unwrap_or_default().to_owned(),
            domain::fence::inside(content)
                .and_then(|json| serde_json::from_str(json).ok())
                .unwrap_or_default(),
        )
    };
    tools.map(read).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn unusable_call_ids_are_replaced_everywhere() -> anyhow::Result<()> {
    let script = Script::new().routes_to("DIAGNOSIS").each(Role::Diagnose, |request| {
        match observations(request).as_slice() {
            [] => Reply::calls([
                gateway_errors().id("functions.query_logs:0"),
                gateway_errors().without_id(),
                gateway_errors().id(""),
                gateway_errors().with_over_long_id(),
                gateway_errors().id("../../etc/passwd"),
                gateway_errors().id("functions.query_logs:0"),
            ]),
            first if first.len() == 6 => Reply::calls([gateway_errors().id("functions.query_logs:0")]),
            all => {
                let ids: Vec<&String> = all.iter().map(|(id, _)| id).collect();
                let mut report = draft("NORMAL", FINDING, "");
                report["analyses"][0]["tool_call_ids"] = json!(ids);
                Reply::json(&report)
            }
        }
    });
    let world = world(script.judges("SUPPORTED")).start().await?;
    let told = world.ask(QUESTION).await?;
    let content = told.content().unwrap_or_else(|| panic!("{}", told.text()));
    assert_eq!(content.outcome, "SUCCESS");
    settled(&world, &told).await?;

    let asked = world.provider.requests_of(Role::Diagnose);
    let observed = observations(&asked[2]);
    let ids: BTreeSet<&str> = observed.iter().map(|(id, _)| id.as_str()).collect();
    assert_eq!((observed.len(), ids.len()), (7, 7), "each call has its own id: {ids:?}");
    assert_eq!(observed[0].0, "functions.query_logs:0", "a good id travels unchanged");
    for (id, content) in &observed {
        assert!(id.len() <= 128 && !id.contains('/'), "{id}");
        assert_eq!(content["data"]["tool_call_id"], json!(id), "the projection has the transcript's id");
    }
    let (status, evidence) = world.get(&format!("/api/runs/{}/evidence", content.run_id)).await?;
    assert_eq!(status, 200);
    assert!(evidence["analyses"][0]["evidence"].as_array().is_some_and(|list| list.len() >= 7), "{evidence}");
    let (_, trace) = world.get(&format!("/api/runs/{}/trace", content.run_id)).await?;
    assert_eq!(trace["tool_invocations"].as_array().map(Vec::len), Some(7));
    Ok(())
}
