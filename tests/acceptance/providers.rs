//! Providers through whole runs of the real function: both wires, a server with quirks, a second provider, ids used twice,
//! and a configuration that can't work, told apart by readiness.

use anyhow::Context;
use domain::model::Role;
use serde_json::{Value, json};
use testkit::provider::{Call, Persona, Received, Reply, Script};
use testkit::sse::Transcript;

use crate::world::{World, draft, gateway_errors, world};

const QUESTION: &str = "checkout 5xx, why?";
const FINDING: &str = "payment-gateway logged GATEWAY_TIMEOUT errors.";

fn standard(call: &str) -> Script {
    Script::new()
        .routes_to("DIAGNOSIS")
        .asks_for([gateway_errors().id(call)])
        .reports(&draft("NORMAL", FINDING, call))
        .judges("SUPPORTED")
}

async fn succeeds(world: &World) -> anyhow::Result<Transcript> {
    let told = world.ask(QUESTION).await?;
    assert_eq!(told.content().with_context(|| told.text().to_owned())?.outcome, "SUCCESS");
    world.assert_provider_saw_a_clean_protocol();
    Ok(told)
}

/// The ids that tool messages of a request answer, in order.
fn answered(request: &Received) -> Vec<String> {
    let tools = request.messages.iter().filter(|message| message["role"] == "tool");
    tools.filter_map(|message| message["tool_call_id"].as_str().map(str::to_owned)).collect()
}

async fn trace(world: &World, told: &Transcript) -> anyhow::Result<Value> {
    let run_id = &told.metadata().context("no metadata")?.run_id;
    Ok(world.get(&format!("/api/runs/{run_id}/trace")).await?.1)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_on_the_messages_wire_succeeds_and_costs_what_the_table_says() -> anyhow::Result<()> {
    let script = standard("toolu_1").speaking_as(Persona::Anthropic);
    let world =
        world(script).env("MODEL_WIRE", "anthropic").env("MODEL_NAME", "claude-haiku-4-5").start().await?;
    let told = succeeds(&world).await?;
    let trace = trace(&world, &told).await?;
    let steps = trace["steps"].as_array().context("no steps")?;
    assert!(steps.iter().all(|step| step["model"] == "claude-haiku-4-5"), "{trace}");
    let of_steps: f64 = steps.iter().filter_map(|step| step["cost_usd"].as_f64()).sum();
    let of_run = trace["cost_usd"].as_f64().context("no cost")?;
    assert!(of_run > 0.0 && (of_steps - of_run).abs() < 1e-9, "{trace}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_succeeds_on_a_server_that_wants_its_reasoning_back() -> anyhow::Result<()> {
    let world = world(standard("call_a").speaking_as(Persona::DeepSeek))
        .env("MODEL_PROFILE", "deepseek")
        .start()
        .await?;
    let told = succeeds(&world).await?;
    // The server itself refuses a second round without it; nobody else is told of it.
    assert!(!told.text().contains("reasoning"), "{}", told.text());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_provider_takes_over_and_each_step_says_who_answered() -> anyhow::Result<()> {
    let second = standard("call_b").start().await?;
    let broken = |_: &Received| Reply::status(401, "{}");
    let first =
        Script::new().each(Role::Route, broken).each(Role::Diagnose, broken).each(Role::Review, broken);
    let world = world(first)
        .env("MODEL_FALLBACK_BASE_URL", &second.base_url())
        .env("MODEL_FALLBACK_NAME", "second-model")
        .start()
        .await?;
    let told = succeeds(&world).await?;
    assert_eq!((second.violations(), second.unplayed()), (Vec::new(), 0));
    let trace = trace(&world, &told).await?;
    let models: Vec<&str> =
        trace["steps"].as_array().into_iter().flatten().filter_map(|step| step["model"].as_str()).collect();
    assert_eq!(models, ["second-model"; 4], "{trace}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_id_used_again_in_the_next_round_names_two_calls() -> anyhow::Result<()> {
    let quiet = || {
        let arguments = json!({ "service": "payment-gateway", "query": "nothing says this", "level": null, "start": "-2h", "end": "now", "limit": 5 });
        Call::new("query_logs", arguments)
    };
    // Found the minted id in what the model was last sent, as a real model would cite it.
    let cites_the_second = |request: &Received| {
        let ids = answered(request);
        Reply::json(&draft(
            "NEGATIVE_OBSERVATION",
            "payment-gateway logged no such words.",
            ids.last().map_or("", String::as_str),
        ))
    };
    let script = Script::new()
        .routes_to("DIAGNOSIS")
        .asks_for([gateway_errors().id("call_0")])
        .asks_for([quiet().id("call_0")])
        .each(Role::Diagnose, cites_the_second)
        .judges("SUPPORTED");
    let world = world(script).start().await?;
    let told = succeeds(&world).await?;
    let last = world.provider.requests_of(Role::Diagnose).pop().context("no request")?;
    let ids = answered(&last);
    assert!(ids.len() == 2 && ids[0] == "call_0" && ids[1] != "call_0", "{ids:?}");
    let run_id = &told.metadata().context("no metadata")?.run_id;
    let (_, evidence) = world.get(&format!("/api/runs/{run_id}/evidence")).await?;
    let source = &evidence["analyses"][0]["evidence"][0];
    assert_eq!(
        source["scope"]["query"], "nothing says this",
        "the second call's evidence, not the first's: {evidence}"
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_configuration_that_cannot_work_is_told_by_readiness_in_words() -> anyhow::Result<()> {
    let refusing = |status: u16, words: &'static str| {
        Script::new().each(Role::System, move |_| Reply::status(status, words))
    };
    let nobody = std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?;
    let plain = Script::new().start().await?;
    let no_tls = plain.base_url().replace("http:", "https:");
    let nowhere = format!("http://{}.example/v1", "x".repeat(64));
    type Case<'a> = (Script, Vec<(&'a str, String)>, &'a str);
    let cases: [Case<'_>; 7] = [
        (refusing(401, "vendor words sk-live-leak"), vec![], "refused the API key"),
        (refusing(404, r#"{"error":{"code":"model_not_found"}}"#), vec![], "doesn't know the model"),
        (refusing(404, "<html>nginx</html>"), vec![], "isn't this API"),
        (Script::new(), vec![("MODEL_BASE_URL", format!("http://{nobody}/v1"))], "refuses connections"),
        (Script::new(), vec![("MODEL_BASE_URL", nowhere)], "can't be resolved"),
        (Script::new(), vec![("MODEL_BASE_URL", no_tls)], "TLS"),
        (
            Script::new(),
            vec![("MODEL_WIRE", "smoke-signals".into())],
            "MODEL_WIRE must be openai or anthropic",
        ),
    ];
    for (script, environment, words) in cases {
        let world = environment.iter().fold(world(script), |world, (name, value)| world.env(name, value));
        let world = world.start().await?;
        let (status, ready) = world.get("/api/health/ready").await?;
        let model = ready["dependencies"].as_array().into_iter().flatten().find(|d| d["name"] == "model");
        let detail = model.and_then(|model| model["detail"].as_str()).unwrap_or_default();
        assert!(status == 503 && detail.contains(words), "{words}: {ready}");
        assert!(!ready.to_string().contains("vendor"), "{ready}");
    }
    let world = world(Script::new().says("Pong.")).start().await?;
    for _ in 0..3 {
        let (status, ready) = world.get("/api/health/ready").await?;
        assert_eq!((status, &ready["dependencies"][3]["status"]), (200, &json!("ok")), "{ready}");
    }
    assert_eq!(world.provider.requests_of(Role::System).len(), 1, "asked once, then remembered");
    Ok(())
}
