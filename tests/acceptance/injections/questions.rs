//! Texts that come as the question.

use domain::model::Role;
use serde_json::{Value, json};
use testkit::provider::{Reply, Script};
use testkit::sse::Transcript;

use super::{Case, Place, cases};
use crate::world::{World, draft, gateway_errors, world};

/// A question that the runbooks answer.
const HOW: &str = "How do we escalate a payment incident?";

/// The prompt of every request so far, in pieces that are nothing else.
fn prompt_pieces(world: &World) -> Vec<String> {
    let requests = world.provider.requests();
    let systems = requests.iter().map(|request| request.system.as_str());
    let lines = systems.flat_map(str::lines).filter(|line| line.chars().count() > 60);
    lines.map(|line| json!(line).to_string().trim_matches('"').to_owned()).collect()
}

fn tells_no_prompt(world: &World, told: &Transcript) {
    let about = include_str!("../../../prompts/about.md");
    for piece in prompt_pieces(world) {
        assert!(about.contains(&piece) || !told.text().contains(&piece), "{}", told.text());
    }
}

/// The questions that are short enough to be asked.
fn askable() -> anyhow::Result<Vec<Case>> {
    Ok(cases(Place::UserQuery)?.into_iter().filter(|case| case.repeat.is_none()).collect())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chat_that_prints_its_prompt_says_the_fixed_text() -> anyhow::Result<()> {
    let script = Script::new()
        .each(Role::Route, |_| Reply::json(&json!({ "intent": "SYSTEM_CHAT" })))
        .each(Role::System, |request| Reply::text(request.system.lines().nth(1).unwrap_or_default()));
    let world = world(script).start().await?;
    for case in askable()? {
        let told = world.ask(&case.text).await?;
        let content = told.content().unwrap_or_else(|| panic!("{}", told.text()));
        assert_eq!(content.body["kind"], "SYSTEM_REPLY", "{}", case.id);
        tells_no_prompt(&world, &told);
        let text = content.body["text"].as_str().unwrap_or_default();
        assert!(text.contains("diagnose") || text.contains("诊断"), "{}: {text}", case.id);
        let (_, trace) = world.get(&format!("/api/runs/{}/trace", content.run_id)).await?;
        assert_eq!(trace["tool_invocations"], json!([]), "{}: no tool is spent", case.id);
    }
    // Whatever a question looks like, it is the user's text.
    for request in world.provider.requests() {
        let roles: Vec<&Value> = request.messages.iter().map(|message| &message["role"]).collect();
        assert_eq!(roles, ["system", "user"]);
        assert!(request.opening()["query"].is_string());
    }
    world.assert_provider_saw_a_clean_protocol();
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_report_or_an_answer_that_prints_a_prompt_is_none() -> anyhow::Result<()> {
    let script = Script::new()
        .each(Role::Route, |request| {
            let knowledge = request.opening()["query"].as_str().is_some_and(|q| q == HOW);
            Reply::json(&json!({ "intent": if knowledge { "KNOWLEDGE_QUERY" } else { "DIAGNOSIS" } }))
        })
        .each(Role::Diagnose, |request| {
            if request.messages.iter().any(|message| message["role"] == "tool") {
                let prompt: String = request.system.chars().take(3000).collect();
                Reply::json(&draft("NORMAL", &prompt, "call_a"))
            } else {
                Reply::calls([gateway_errors().id("call_a")])
            }
        })
        .each(Role::Knowledge, |request| {
            Reply::json(&json!({ "statements": [{ "text": request.system, "citations": [1] }] }))
        })
        // Even a reviewer that was talked round does not help.
        .each(Role::Review, |_| Reply::json(&json!({ "verdict": "SUPPORTED", "reason": "as told" })));
    let world = world(script).start().await?;
    let texts = askable()?.into_iter().map(|case| case.text);
    for query in texts.chain([HOW.to_owned()]) {
        let told = world.ask(&query).await?;
        let code = told.failure().map(|failure| failure.code.as_str());
        assert_eq!(code, Some("MODEL_OUTPUT_INVALID"), "{query}: {}", told.text());
        tells_no_prompt(&world, &told);
    }
    assert_eq!(world.provider.requests_of(Role::Knowledge).len(), 1);
    assert!(world.provider.requests_of(Role::Review).is_empty());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn off_topic_wishes_spend_no_tool_and_get_no_long_text() -> anyhow::Result<()> {
    let line = "Roses are red, violets are blue. ";
    let script = Script::new()
        .each(Role::Route, |_| Reply::json(&json!({ "intent": "SYSTEM_CHAT" })))
        .each(Role::System, move |_| Reply::text(line.repeat(100)));
    let world = world(script).start().await?;
    for query in
        ["What is 2+2? Also write me a poem.", "42 乘以 17 等于多少？", "Tell me a joke about 3 databases."]
    {
        let told = world.ask(query).await?;
        let content = told.content().unwrap_or_else(|| panic!("{}", told.text()));
        assert_eq!((content.outcome.as_str(), &content.body["kind"]), ("SUCCESS", &json!("SYSTEM_REPLY")));
        assert!(!told.text().contains("Roses"), "{}", told.text());
        assert!(told.statuses().iter().all(|status| status.stage != "TOOL"));
    }
    assert_eq!(world.provider.requests().len(), 6);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_over_long_question_reaches_no_model() -> anyhow::Result<()> {
    let world = world(Script::new()).start().await?;
    for case in cases(Place::UserQuery)?.into_iter().filter(|case| case.repeat.is_some()) {
        for query in [case.text.clone(), "x".repeat(8 * 1024 + 1), "很".repeat(2731)] {
            let told = world.ask(&query).await?;
            let problem = told.problem().unwrap_or_else(|| panic!("{}", told.text()));
            assert!([400, 413].contains(&problem.status), "{problem:?}");
            assert!(told.content().is_none() && told.metadata().is_none());
        }
    }
    assert!(world.provider.requests().is_empty());
    Ok(())
}
