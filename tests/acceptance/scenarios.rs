//! Every question of every scenario, asked over HTTP of an installation whose provider is the offline model.
//! Route, outcome, conclusion and evidence are as `scenario.toml` says; nothing that it forbids is claimed.

use anyhow::Context;
use serde_json::{Value, json};
use testkit::provider::Script;
use testkit::scenario::{self, Conclusion, Outcome, Question, RequiredEvidence, Route};
use testkit::sse::Content;

use crate::world::{World, world};

const SCENARIOS: [&str; 9] = [
    "config-rollout",
    "greeting",
    "healthy-system",
    "injected-instructions",
    "knowledge-question",
    "missing-log",
    "payment-timeout",
    "pool-exhaustion",
    "red-herring",
];

#[test]
fn every_folder_has_its_test() -> anyhow::Result<()> {
    assert_eq!(scenario::names()?, SCENARIOS);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn config_rollout() -> anyhow::Result<()> {
    is_answered("config-rollout").await
}

#[tokio::test(flavor = "multi_thread")]
async fn greeting() -> anyhow::Result<()> {
    is_answered("greeting").await
}

#[tokio::test(flavor = "multi_thread")]
async fn healthy_system() -> anyhow::Result<()> {
    is_answered("healthy-system").await
}

#[tokio::test(flavor = "multi_thread")]
async fn injected_instructions() -> anyhow::Result<()> {
    is_answered("injected-instructions").await
}

#[tokio::test(flavor = "multi_thread")]
async fn knowledge_question() -> anyhow::Result<()> {
    is_answered("knowledge-question").await
}

#[tokio::test(flavor = "multi_thread")]
async fn missing_log() -> anyhow::Result<()> {
    is_answered("missing-log").await
}

#[tokio::test(flavor = "multi_thread")]
async fn payment_timeout() -> anyhow::Result<()> {
    is_answered("payment-timeout").await
}

#[tokio::test(flavor = "multi_thread")]
async fn pool_exhaustion() -> anyhow::Result<()> {
    is_answered("pool-exhaustion").await
}

#[tokio::test(flavor = "multi_thread")]
async fn red_herring() -> anyhow::Result<()> {
    is_answered("red-herring").await
}

/// Asks the scenario's questions in turn, each in a session of its own; what is wrong with all of them is
/// told together.
async fn is_answered(name: &str) -> anyhow::Result<()> {
    let world = world(Script::new().otherwise_offline()).scenario(name).start().await?;
    let mut wrong = Vec::new();
    for question in &world.stack.placed.scenario.questions {
        let told = world.ask(&question.query).await?;
        let content = told.content().with_context(|| format!("{}: {}", question.query, told.text()))?;
        let evidence = evidence(&world, &content.run_id).await?;
        let faults = faults(question, content, &evidence);
        if !faults.is_empty() {
            wrong.push(format!("{}\n  {}\n  {}", question.query, faults.join("\n  "), content.body));
        }
    }
    assert!(wrong.is_empty(), "{name}: {}", wrong.join("\n\n"));
    world.assert_provider_saw_a_clean_protocol();
    Ok(())
}

/// The verified evidence of what was released, over all analyses.
async fn evidence(world: &World, run_id: &str) -> anyhow::Result<Vec<Value>> {
    let (status, shown) = world.get(&format!("/api/runs/{run_id}/evidence")).await?;
    anyhow::ensure!(status == 200, "evidence of {run_id}: {status} {shown}");
    let analyses = shown["analyses"].as_array().cloned().unwrap_or_default();
    Ok(analyses.iter().filter_map(|analysis| analysis["evidence"].as_array()).flatten().cloned().collect())
}

/// What is wrong with an answer, in words.
fn faults(question: &Question, content: &Content, evidence: &[Value]) -> Vec<String> {
    let mut faults = Vec::new();
    let route = match question.route {
        Route::Diagnosis => "DIAGNOSIS",
        Route::KnowledgeQuery => "KNOWLEDGE_QUERY",
        Route::SystemChat => "SYSTEM_CHAT",
    };
    let outcome = match question.outcome {
        Outcome::Success => "SUCCESS",
        Outcome::Fallback => "FALLBACK",
    };
    if (content.intent.as_str(), content.outcome.as_str()) != (route, outcome) {
        faults.push(format!("{} {} instead of {route} {outcome}", content.intent, content.outcome));
    }
    if content.body["conclusion"].is_object() != (question.conclusion == Conclusion::Present) {
        faults.push(format!("conclusion {}", content.body["conclusion"]));
    }
    for required in &question.required_evidence {
        let shown =
            texts(evidence.iter().filter(|piece| piece["source_type"] == source_type(&required.tool)));
        let missing =
            required.contains.iter().filter(|text| !shown.iter().any(|shown| shown.contains(*text)));
        faults.extend(missing.map(|text| format!("no verified {} shows {text:?}", required.tool)));
    }
    let claims = ["conclusion", "actions", "recommendations", "statements", "text", "message"];
    let claims = texts(claims.iter().map(|field| &content.body[*field]));
    let claimed = question.forbidden.iter().filter(|text| claims.iter().any(|claim| claim.contains(*text)));
    faults.extend(claimed.map(|text| format!("claims {text:?}")));
    faults
}

fn source_type(tool: &str) -> &'static str {
    match tool {
        "lookup_knowledge" => "KNOWLEDGE",
        "query_logs" => "LOGS",
        "query_mysql" => "MYSQL",
        other => panic!("scenario.toml names the tool {other:?}"),
    }
}

/// All strings inside `values`, as a reader would see them: not as JSON writes them.
fn texts<'a>(values: impl Iterator<Item = &'a Value>) -> Vec<&'a str> {
    let mut found = Vec::new();
    let mut left: Vec<&Value> = values.collect();
    while let Some(value) = left.pop() {
        match value {
            Value::String(text) => found.push(text.as_str()),
            Value::Array(items) => left.extend(items),
            Value::Object(fields) => left.extend(fields.values()),
            _ => {}
        }
    }
    found
}

/// A check that finds nothing wrong must be one that would.
#[test]
fn a_wrong_answer_is_noticed() {
    let question = Question {
        query: "checkout 5xx, why?".to_owned(),
        route: Route::Diagnosis,
        outcome: Outcome::Success,
        conclusion: Conclusion::Present,
        required_evidence: vec![RequiredEvidence {
            tool: "query_logs".to_owned(),
            contains: vec!["said \"no\"".to_owned()],
        }],
        forbidden: vec!["database is down".to_owned()],
    };
    let content = |outcome: &str, conclusion: Value, action: &str| Content {
        run_id: String::new(),
        intent: "DIAGNOSIS".to_owned(),
        outcome: outcome.to_owned(),
        body: json!({ "conclusion": conclusion, "actions": [{ "text": action }] }),
    };
    let logs = [json!({ "source_type": "LOGS", "excerpt": "the channel said \"no\"" })];
    let rows = [json!({ "source_type": "MYSQL", "values": ["the channel said \"no\""] })];
    let concluded = || json!({ "text": "The channel fails." });
    let fine = content("SUCCESS", concluded(), "Ask the channel.");
    assert_eq!(faults(&question, &fine, &logs), [""; 0]);
    assert_eq!(faults(&question, &fine, &rows).len(), 1);
    assert_eq!(faults(&question, &content("FALLBACK", Value::Null, ""), &logs).len(), 2);
    let claims = content("SUCCESS", concluded(), "Restart it: the database is down.");
    assert_eq!(faults(&question, &claims, &logs).len(), 1);
}
