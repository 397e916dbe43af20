//! Successes: a report, a repaired report, a knowledge answer, a reply about the assistant.

use domain::model::Role;
use serde_json::{Value, json};
use testkit::provider::{Reply, Script};

use super::{FINDING, QUESTION, diagnosis, requests, settled, stages};
use crate::world::{Call, draft, gateway_errors, world};

#[tokio::test(flavor = "multi_thread")]
async fn a_supported_draft_is_published_as_it_is() -> anyhow::Result<()> {
    let world =
        world(diagnosis().reports(&draft("NORMAL", FINDING, "call_a")).judges("SUPPORTED")).start().await?;
    let told = world.ask(QUESTION).await?;
    let content = told.content().expect("content");
    assert_eq!((content.intent.as_str(), content.outcome.as_str()), ("DIAGNOSIS", "SUCCESS"));
    let sources = &content.body["analyses"][0]["sources"];
    let expected = json!({
        "kind": "DIAGNOSIS_REPORT",
        "conclusion": { "text": FINDING, "based_on_analysis_ids": ["a1"] },
        "analyses": [{ "analysis_id": "a1", "kind": "NORMAL", "text": FINDING, "sources": sources }],
        "actions": [{
            "text": "Look at the channel's status page.",
            "requires_human_confirmation": false,
            "based_on_analysis_ids": ["a1"],
        }],
        "recommendations": [],
        "limitations": { "missing_info": [], "caveats": [] },
    });
    assert_eq!(content.body, expected);
    assert_eq!((&sources[0]["source_type"], &sources[0]["source"]), (&json!("LOGS"), &json!("app-logs")));
    assert_eq!(sources[0]["scope"]["service"], "payment-gateway");
    assert!(!told.text().contains("call_a"), "no tool call id on the wire");
    assert!(!told.text().contains("scripted"), "no reason of the guard on the wire");
    assert_eq!(stages(&told), ["ROUTING", "DIAGNOSING", "VALIDATING_EVIDENCE", "REVIEWING", "RELEASING"]);
    let tools: Vec<Value> = told
        .statuses()
        .iter()
        .filter_map(|status| {
            let call = status.tool_call.as_ref()?;
            Some(json!([status.tool, call.index, call.state, call.evidence_status]))
        })
        .collect();
    assert_eq!(
        tools,
        [json!(["query_logs", 1, "STARTED", null]), json!(["query_logs", 1, "READY", "EVIDENCE_FOUND"])]
    );
    let (status, evidence) = world.get(&format!("/api/runs/{}/evidence", content.run_id)).await?;
    assert_eq!(status, 200);
    assert!(evidence["analyses"][0]["evidence"].to_string().contains("GATEWAY_TIMEOUT"), "{evidence}");
    settled(&world, &told).await?;
    assert_eq!(requests(&world), [1, 2, 0, 1, 0, 0]);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn references_are_repaired_once_and_not_a_word_changes() -> anyhow::Result<()> {
    let wrong = draft("NORMAL", FINDING, "call_nobody_made");
    let script = diagnosis().reports(&wrong).repairs(&draft("NORMAL", FINDING, "call_a")).judges("SUPPORTED");
    let world = world(script).start().await?;
    let told = world.ask(QUESTION).await?;
    let content = told.content().expect("content");
    assert_eq!((content.outcome.as_str(), &content.body["conclusion"]["text"]), ("SUCCESS", &json!(FINDING)));
    let expected = [
        "ROUTING",
        "DIAGNOSING",
        "VALIDATING_EVIDENCE",
        "REPAIRING_EVIDENCE",
        "VALIDATING_EVIDENCE",
        "REVIEWING",
        "RELEASING",
    ];
    assert_eq!(stages(&told), expected);
    let (_, trace) = world.get(&format!("/api/runs/{}/trace", content.run_id)).await?;
    assert_eq!(trace["repaired"], true);
    let asked = world.provider.requests_of(Role::Repair);
    let violations = &asked[0].opening()["violations"];
    assert_eq!(
        *violations,
        json!([{ "code": "TOOL_CALL_NOT_FOUND", "target": "analyses[0].tool_call_ids[0]" }])
    );
    assert!(asked[0].tools.is_empty(), "a repair has no tools");
    settled(&world, &told).await?;
    assert_eq!(requests(&world), [1, 2, 1, 1, 0, 0]);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn without_evidence_a_report_concludes_nothing() -> anyhow::Result<()> {
    let arguments = json!({
        "service": "payment-gateway", "query": "no line says this", "level": null,
        "start": "-2h", "end": "now", "limit": 20,
    });
    let nothing = json!({
        "conclusion": null,
        "analyses": [{
            "analysis_id": "a1",
            "kind": "NEGATIVE_OBSERVATION",
            "text": "No such line was found.",
            "tool_call_ids": ["call_n"],
        }],
        "actions": [],
        "recommendations": [],
        "limitations": { "missing_info": ["The logs of the channel."], "caveats": [] },
    });
    let script =
        Script::new().routes_to("DIAGNOSIS").asks_for([Call::new("query_logs", arguments).id("call_n")]);
    let world = world(script.reports(&nothing).judges("SUPPORTED")).start().await?;
    let told = world.ask(QUESTION).await?;
    let body = &told.content().expect("content").body;
    assert_eq!((&body["kind"], &body["conclusion"]), (&json!("DIAGNOSIS_REPORT"), &Value::Null));
    assert_eq!(body["analyses"][0]["kind"], "NEGATIVE_OBSERVATION");
    assert_eq!(body["limitations"]["missing_info"], json!(["The logs of the channel."]));
    settled(&world, &told).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_knowledge_answer_cites_what_was_found() -> anyhow::Result<()> {
    let statements = json!([{ "text": "按手册先确认渠道，再切流。", "citations": [1] }]);
    let script = Script::new().routes_to("KNOWLEDGE_QUERY").answers(&statements).judges("SUPPORTED");
    let world = world(script).start().await?;
    let told = world.ask("支付渠道超时的处理步骤是什么？").await?;
    let content = told.content().expect("content");
    assert_eq!((content.intent.as_str(), content.outcome.as_str()), ("KNOWLEDGE_QUERY", "SUCCESS"));
    let source = &content.body["sources"][0];
    let expected = json!({ "kind": "KNOWLEDGE_ANSWER", "statements": statements, "sources": [source] });
    assert_eq!(content.body, expected);
    let mut fields: Vec<&str> = source.as_object().expect("a source").keys().map(String::as_str).collect();
    fields.sort_unstable();
    assert_eq!(fields, ["document_id", "n", "section", "source", "title", "version"]);
    assert_eq!((&source["n"], &source["title"]), (&json!(1), &json!("支付渠道超时处理手册")));
    assert_eq!(
        stages(&told),
        ["ROUTING", "RETRIEVING", "ANSWERING", "VALIDATING_EVIDENCE", "REVIEWING", "RELEASING"]
    );
    let (status, evidence) = world.get(&format!("/api/runs/{}/evidence", content.run_id)).await?;
    assert_eq!(
        (status, evidence["analyses"][0]["evidence"].as_array().map(Vec::len)),
        (200, Some(1)),
        "only the cited hit"
    );
    settled(&world, &told).await?;
    assert_eq!(requests(&world), [1, 0, 0, 1, 1, 0]);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_assistant_speaks_about_itself_and_about_nothing_else() -> anyhow::Result<()> {
    let words = "I look into runbooks, logs and business tables.";
    let claim = "checkout-service fails with E5031 since 14:05.";
    let script = Script::new().routes_to("SYSTEM_CHAT").says(words).routes_to("SYSTEM_CHAT").says(claim);
    let world = world(script).start().await?;
    let told = world.ask("What can you do?").await?;
    let content = told.content().expect("content");
    assert_eq!((content.intent.as_str(), content.outcome.as_str()), ("SYSTEM_CHAT", "SUCCESS"));
    assert_eq!(content.body, json!({ "kind": "SYSTEM_REPLY", "text": words }));
    assert_eq!(stages(&told), ["ROUTING", "ANSWERING", "RELEASING"]);
    settled(&world, &told).await?;

    let told = world.ask("What can you do?").await?;
    let body = &told.content().expect("content").body;
    assert_eq!(body["kind"], "SYSTEM_REPLY");
    assert!(
        !told.text().contains("E5031") && body["text"].as_str().is_some_and(|text| !text.is_empty()),
        "{body}"
    );
    settled(&world, &told).await?;
    assert_eq!(requests(&world), [2, 0, 0, 0, 0, 2]);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_router_that_fails_leads_to_the_most_guarded_path() -> anyhow::Result<()> {
    let report = |script: Script| {
        script
            .asks_for([gateway_errors().id("call_a")])
            .reports(&draft("NORMAL", FINDING, "call_a"))
            .judges("SUPPORTED")
    };
    let unreadable = [Reply::text("It is a diagnosis."), Reply::json(&json!({ "intent": "SOMETHING_ELSE" }))];
    let refused = [Reply::status(401, r#"{"error":{"message":"bad key"}}"#)];
    let late_but_right = [Reply::malformed(), Reply::json(&json!({ "intent": "SYSTEM_CHAT" }))];
    let route = |replies: &[Reply]| {
        replies.iter().fold(Script::new(), |script, reply| script.then(Role::Route, reply.clone()))
    };

    for replies in [unreadable.as_slice(), &refused] {
        let world = world(report(route(replies))).start().await?;
        let told = world.ask(QUESTION).await?;
        let content = told.content().expect("content");
        assert_eq!((content.intent.as_str(), content.outcome.as_str()), ("DIAGNOSIS", "SUCCESS"));
        settled(&world, &told).await?;
        let asked = world.provider.requests_of(Role::Route);
        assert_eq!(asked.len(), replies.len());
        assert!(asked.iter().all(|request| request.body == asked[0].body), "the same bytes again");
    }

    let world = world(route(&late_but_right).says("I answer questions about incidents.")).start().await?;
    let told = world.ask("who are you?").await?;
    assert_eq!(told.content().expect("content").intent, "SYSTEM_CHAT", "the second attempt counts");
    settled(&world, &told).await?;
    Ok(())
}
