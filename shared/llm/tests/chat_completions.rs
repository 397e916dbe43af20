//! The model client against a real HTTP server: what it sends, what it understands, and what it does when
//! HTTP goes wrong.

#![expect(clippy::unwrap_used, reason = "the helpers of tests may fail like tests")]

use std::sync::Arc;
use std::time::Duration;

use agent::ports::model::AssistantCall;
use agent::ports::{Message, Model, ModelRequest, ResponseSchema, ToolChoice, ToolSpec};
use domain::ids::ToolCallId;
use domain::model::{ModelFault, ModelResult, Role};
use llm::{Endpoint, HttpModel, Profile, RetryPolicy, Secret, Wire};
use serde_json::{Value, json};
use testkit::provider::{Call, Persona, Reply, Script, ScriptedProvider};

/// No test waits for a pause that it does not examine.
const QUICK: RetryPolicy =
    RetryPolicy { attempts: 3, first_wait: Duration::from_millis(1), longest_wait: Duration::from_millis(1) };
const PLENTY: Duration = Duration::from_secs(60);

fn client(base_url: String) -> HttpModel {
    let api_key = Secret::new("sk-fake-key");
    HttpModel::with_policy(&Endpoint::new(base_url, "some-model", api_key), QUICK).unwrap()
}

fn request(role: Role, messages: Vec<Message>) -> ModelRequest {
    let tool = ToolSpec {
        name: "query_logs",
        description: "Reads logs.".into(),
        parameters: json!({ "type": "object", "properties": { "service": { "type": "string" } } }),
    };
    ModelRequest {
        role,
        system: format!("superbiz/{}\nAnswer with JSON.", role.as_str()).into(),
        messages,
        tools: if role == Role::Diagnose { Arc::from([tool]) } else { Arc::from([]) },
        tool_choice: ToolChoice::Auto,
        response_schema: Some(Arc::new(ResponseSchema {
            name: role.schema_name(),
            schema: json!({ "type": "object" }),
        })),
        max_output_tokens: 512,
        timeout: PLENTY,
        provider: None,
    }
}

fn question() -> Message {
    Message::User { text: json!({ "query": "结算 5xx?", "previous_turn": null }).to_string() }
}

fn route() -> ModelRequest {
    request(Role::Route, vec![question()])
}

async fn after(replies: impl IntoIterator<Item = Reply>) -> (ModelResult, ScriptedProvider) {
    let script = replies.into_iter().fold(Script::new(), |script, reply| script.then(Role::Route, reply));
    let provider = script.start().await.unwrap();
    let result = client(provider.base_url()).call(route()).await;
    assert_eq!(provider.violations(), [""; 0]);
    (result, provider)
}

fn good() -> Reply {
    Reply::json(&json!({ "intent": "DIAGNOSIS" }))
}

#[tokio::test]
async fn a_structured_reply_comes_back_with_its_usage() {
    let (result, provider) = after([good().usage(321, 12)]).await;
    assert_eq!(result.reply.unwrap().text.unwrap(), r#"{"intent":"DIAGNOSIS"}"#);
    assert_eq!(
        (result.usage.input_tokens, result.usage.output_tokens, result.usage.estimated),
        (321, 12, false)
    );
    let sent = &provider.requests()[0];
    assert_eq!(sent.authorization.as_deref(), Some("Bearer sk-fake-key"));
    assert_eq!(sent.schema_name.as_deref(), Some("superbiz_route"));
    assert_eq!((sent.model.as_str(), sent.max_tokens), ("some-model", Some(512)));
}

#[tokio::test]
async fn missing_usage_is_estimated_and_marked() {
    let (result, provider) = after([good().without_usage()]).await;
    let bytes = provider.requests()[0].body.len() as u64;
    assert!(result.usage.estimated && result.usage.output_tokens > 0);
    assert!((bytes / 8..bytes).contains(&result.usage.input_tokens), "{:?}", result.usage);
}

#[tokio::test]
async fn calls_arrive_as_asked_with_good_bad_and_missing_ids() {
    let arguments = json!({ "service": "a" });
    let call = || Call::new("query_logs", arguments.clone());
    let asked = [
        call().id("call_a"),
        call().id("call_a"),
        call().without_id(),
        call().with_over_long_id(),
        call().id(7),
    ];
    let provider = Script::new().asks_for(asked).start().await.unwrap();
    let result = client(provider.base_url()).call(request(Role::Diagnose, vec![question()])).await;
    let calls = result.reply.unwrap().calls;
    let ids: Vec<Option<usize>> = calls.iter().map(|call| call.id.as_ref().map(String::len)).collect();
    assert_eq!(ids, [Some(6), Some(6), None, Some(205), Some(1)]);
    assert!(calls.iter().all(|call| call.name == "query_logs" && call.arguments == Ok(arguments.clone())));
}

#[tokio::test]
async fn a_growing_transcript_repeats_every_byte_before_its_new_messages() {
    let call =
        |n: u32| Reply::calls([Call::new("query_logs", json!({ "service": n })).id(format!("call_{n}"))]);
    let script = (1..=3).fold(Script::new(), |script, n| script.then(Role::Diagnose, call(n)));
    let provider = script.start().await.unwrap();
    let model = client(provider.base_url());
    let mut messages = vec![question()];
    for round in 0..3 {
        let mut next = request(Role::Diagnose, messages.clone());
        // What differs from call to call must not stand before what repeats.
        next.max_output_tokens -= round;
        next.tool_choice = if round == 2 { ToolChoice::Forbidden } else { ToolChoice::Auto };
        let asked = model.call(next).await.reply.unwrap().calls.remove(0);
        let id = ToolCallId::parse(&asked.id.unwrap()).unwrap();
        let arguments = asked.arguments.unwrap().to_string();
        let call = AssistantCall { id: id.clone(), name: asked.name.clone(), arguments };
        messages.push(Message::Assistant { text: None, calls: vec![call], reasoning: None });
        messages.push(Message::Tool {
            id,
            name: asked.name,
            content: json!({ "tool": "query_logs" }).to_string(),
        });
    }
    assert_eq!(provider.violations(), [""; 0]);
    let requests = provider.requests();
    assert!(requests.windows(2).all(|pair| pair[1].body.starts_with(pair[0].prefix())));
    assert!(provider.prefix_share() > 0.9, "{}", provider.prefix_share());
    assert_eq!(requests[2].tool_choice.as_deref(), Some("none"));
    assert_eq!(requests[2].tools.len(), 1, "withheld tools stay listed");
}

#[tokio::test]
async fn temporary_trouble_is_tried_again_within_the_call() {
    for trouble in [
        Reply::status(429, "{}"),
        Reply::status(429, "{}").header("retry-after", "0"),
        Reply::status(500, "{}"),
        Reply::status(503, "<html>busy</html>"),
        Reply::status(504, ""),
        Reply::status(200, r#"{"error":{"code":429,"message":"slow down"}}"#),
        Reply::reset(),
        good().truncated(),
    ] {
        let named = format!("{trouble:?}");
        let (result, provider) = after([trouble, good()]).await;
        assert!(result.reply.is_ok(), "{named}: {:?}", result.reply);
        let sent = provider.requests();
        assert_eq!(sent.len(), 2, "{named}");
        assert_eq!(sent[0].body, sent[1].body, "the same bytes are asked again");
    }
}

#[tokio::test]
async fn tries_end_with_the_fault_of_the_last_one() {
    let (result, provider) =
        after([Reply::status(500, ""), Reply::reset(), Reply::status(429, ""), good()]).await;
    assert_eq!(result.reply, Err(ModelFault::RateLimited));
    assert_eq!((provider.requests().len(), provider.unplayed()), (3, 1));
}

#[tokio::test]
async fn a_pause_longer_than_the_call_is_not_waited_for() {
    let (result, provider) = after([Reply::status(429, "{}").header("retry-after", "3600"), good()]).await;
    assert_eq!((result.reply, provider.requests().len()), (Err(ModelFault::RateLimited), 1));
}

#[tokio::test]
async fn final_faults_are_typed_and_asked_once() {
    let error = |code: &str| json!({ "error": { "message": "no", "code": code } }).to_string();
    for (reply, fault) in [
        (Reply::status(401, error("invalid_api_key")), ModelFault::Auth),
        (Reply::status(403, error("Arrearage")), ModelFault::Quota),
        (Reply::status(429, error("insufficient_quota")), ModelFault::Quota),
        (Reply::status(404, error("model_not_found")), ModelFault::UnknownModel),
        (Reply::status(400, error("context_length_exceeded")), ModelFault::ContextTooLarge),
        (Reply::status(400, error("content_filter")), ModelFault::ContentFiltered),
        (Reply::status(400, error("what")), ModelFault::BadRequest),
        (Reply::status(302, "").header("location", "http://127.0.0.1:9/"), ModelFault::BadRequest),
        (Reply::html(), ModelFault::ParseError),
        (Reply::malformed(), ModelFault::ParseError),
        (Reply::status(200, r#"{"choices":[]}"#), ModelFault::SchemaInvalid),
        (good().finishing("content_filter"), ModelFault::ContentFiltered),
        (Reply::text("{\"intent\":").finishing("length"), ModelFault::Truncated),
        (Reply::refusal("I can't help with that."), ModelFault::Refused),
        (Reply::text("x".repeat(5 * 1024 * 1024)), ModelFault::ParseError),
    ] {
        let (result, provider) = after([reply, good()]).await;
        assert_eq!(result.reply, Err(fault));
        assert_eq!(provider.requests().len(), 1, "{fault:?}");
    }
}

#[tokio::test]
async fn silence_ends_with_the_time_of_the_call() {
    for silent in [Reply::stall(), good().stalling_halfway(), good().dripping(Duration::from_secs(3600))] {
        let provider = Script::new().then(Role::Route, silent).start().await.unwrap();
        let hurried = ModelRequest { timeout: Duration::from_millis(150), ..route() };
        let result = client(provider.base_url()).call(hurried).await;
        assert_eq!(result.reply, Err(ModelFault::Timeout));
        assert!(
            result.usage.estimated && result.usage.input_tokens > 0,
            "the provider may have done the work"
        );
    }
}

#[tokio::test]
async fn a_slow_but_steady_reply_is_complete() {
    let (result, _provider) = after([good().dripping(Duration::from_millis(1))]).await;
    assert!(result.reply.is_ok());
}

#[tokio::test]
async fn nobody_listening_is_a_transport_fault_that_costs_nothing() {
    let result = client("http://127.0.0.1:1/v1".into()).call(route()).await;
    assert_eq!((result.reply, result.usage.input_tokens), (Err(ModelFault::Transport), 0));
}

#[tokio::test]
async fn a_server_that_knows_other_field_names_is_asked_in_its_own_once_and_for_all() {
    let picky = |request: &testkit::provider::Received| {
        let body: Value = serde_json::from_slice(&request.body).unwrap();
        if body.get("max_tokens").is_some() {
            return Reply::status(400, r#"{"error":{"message":"Unsupported: use 'max_completion_tokens'"}}"#);
        }
        match body["response_format"]["type"].as_str() {
            Some("json_schema") => Reply::status(422, "response_format.type `json_schema` is unavailable"),
            _ => good(),
        }
    };
    let provider = Script::new().each(Role::Route, picky).start().await.unwrap();
    let model = client(provider.base_url());
    assert!(model.call(route()).await.reply.is_ok());
    assert!(model.call(route()).await.reply.is_ok());
    assert_eq!(provider.requests().len(), 4, "three to learn, one to use it");
    assert_eq!(provider.violations(), [""; 0]);
}

#[tokio::test]
async fn fences_and_thinking_around_json_are_removed() {
    let (result, _provider) =
        after([Reply::text("<think>hm</think>\n```json\n{\"intent\":\"DIAGNOSIS\"}\n```")]).await;
    assert_eq!(result.reply.unwrap().text.unwrap(), r#"{"intent":"DIAGNOSIS"}"#);
}

#[test]
fn a_client_is_made_without_a_runtime_or_any_io() {
    for base_url in ["https://llm.example/v1", "http://127.0.0.1:1"] {
        let endpoint = Endpoint::new(base_url, "m", Secret::default());
        assert_eq!(HttpModel::new(&endpoint).unwrap().name(0), "m");
    }
}

#[tokio::test]
async fn https_uses_the_built_in_roots_and_one_tls_provider() {
    // Nothing speaks TLS there; that the client could be built and tried is the point.
    let provider = Script::new().start().await.unwrap();
    let model = client(provider.base_url().replace("http://", "https://"));
    assert_eq!(model.call(route()).await.reply, Err(ModelFault::Transport));
}

/// A tool round and the answer to it, asked of a server that speaks as `persona`; the profile is told or has to be learnt.
async fn two_rounds(persona: Persona, profile: Option<&str>) -> (ScriptedProvider, Vec<ModelResult>) {
    let asks = || Reply::calls([Call::new("query_logs", json!({ "service": "shop" })).id("call_a")]);
    let script = Script::new().then(Role::Diagnose, asks()).then(Role::Diagnose, Reply::text("{}"));
    let provider = script.speaking_as(persona).start().await.unwrap();
    let profile = profile.map(|name| Profile::named(name).unwrap());
    let endpoint = Endpoint { profile, ..Endpoint::new(provider.base_url(), "m", Secret::new("sk-fake")) };
    let model = HttpModel::with_policy(&endpoint, QUICK).unwrap();
    let first = model.call(request(Role::Diagnose, vec![question()])).await;
    let reply = first.reply.clone().unwrap();
    let id = ToolCallId::parse("call_a").unwrap();
    let call = AssistantCall { id: id.clone(), name: "query_logs".into(), arguments: "{}".into() };
    let messages = vec![
        question(),
        Message::Assistant { text: None, calls: vec![call], reasoning: reply.reasoning },
        Message::Tool { id, name: "query_logs".into(), content: "[]".into() },
    ];
    let second = model.call(request(Role::Diagnose, messages)).await;
    (provider, vec![first, second])
}

#[tokio::test]
async fn reasoning_goes_back_as_it_came_where_it_is_wanted_and_nowhere_else() {
    let sent_back = |provider: &ScriptedProvider, field: &str| {
        let last = provider.requests().pop().unwrap();
        last.messages.iter().find(|m| m["role"] == "assistant").unwrap()[field].clone()
    };
    // Told by the profile, or learnt from the refusal: the turn has what it needs either way.
    for profile in [Some("deepseek"), None] {
        let (provider, results) = two_rounds(Persona::DeepSeek, profile).await;
        assert!(results[1].reply.is_ok(), "{profile:?}");
        assert_eq!(sent_back(&provider, "reasoning_content"), "Let me think: the logs first.", "{profile:?}");
    }
    let (provider, results) = two_rounds(Persona::OpenRouter, Some("openrouter")).await;
    assert!(results[1].reply.is_ok());
    let details = sent_back(&provider, "reasoning_details");
    assert_eq!((&details[0]["text"], &details[0]["signature"]), (&json!("Hm, the logs."), &json!("c2ln")));
    for (persona, profile) in [(Persona::Glm, "glm"), (Persona::Vllm, "vllm"), (Persona::Bedrock, "bedrock")]
    {
        let (provider, results) = two_rounds(persona, Some(profile)).await;
        assert!(results[1].reply.is_ok(), "{persona:?}");
        let said =
            ["reasoning_content", "reasoning", "reasoning_details"].map(|field| sent_back(&provider, field));
        assert!(said.iter().all(Value::is_null), "{persona:?}: {said:?}");
    }
    // An answer that asks for no tool has no later turn to be told in.
    let (_, results) = two_rounds(Persona::Kimi, Some("kimi")).await;
    assert!(results[1].reply.as_ref().unwrap().reasoning.is_none());
}

#[tokio::test]
async fn cached_and_reasoning_tokens_are_counted_in_every_dialect() {
    for (persona, profile) in [
        (Persona::OpenAi, "openai"),
        (Persona::DeepSeek, "deepseek"),
        (Persona::Kimi, "kimi"),
        (Persona::OpenRouter, "openrouter"),
    ] {
        let (_, results) = two_rounds(persona, Some(profile)).await;
        assert_eq!(results[0].usage.cached_tokens, 5, "{persona:?}");
        assert!(!results[0].usage.estimated && results[0].usage.input_tokens > 5, "{persona:?}");
    }
    let (_, results) = two_rounds(Persona::OpenAi, Some("openai")).await;
    assert_eq!(results[0].usage.reasoning_tokens, 2);
}

#[tokio::test]
async fn a_call_costs_what_its_tokens_cost() {
    let provider = Script::new().then(Role::Route, good().usage(1000, 100)).start().await.unwrap();
    let price = Some(llm::Price { input: 0.4, cached_input: None, output: 1.6 });
    let endpoint = Endpoint { price, ..Endpoint::new(provider.base_url(), "m", Secret::default()) };
    let result = HttpModel::with_policy(&endpoint, QUICK).unwrap().call(route()).await;
    assert_eq!(result.cost_nano_usd, Some(560_000));
    let (unpriced, _provider) = after([good()]).await;
    assert_eq!(unpriced.cost_nano_usd, None);
}

#[tokio::test]
async fn a_key_goes_into_the_header_of_its_server_and_never_to_another_host() {
    let elsewhere = Script::new().then(Role::Route, good()).start().await.unwrap();
    let moved =
        Reply::status(307, "").header("location", &format!("{}/chat/completions", elsewhere.base_url()));
    let (result, _provider) = after([moved]).await;
    assert_eq!(result.reply, Err(ModelFault::BadRequest));
    assert!(elsewhere.requests().is_empty(), "a redirect is not followed");
    let (_, results) = two_rounds(Persona::Azure, Some("azure")).await;
    assert!(results.iter().all(|result| result.reply.is_ok()), "the key stands in `api-key`");
    let provider =
        Script::new().then(Role::Route, good()).speaking_as(Persona::Anthropic).start().await.unwrap();
    let endpoint = Endpoint::new(provider.base_url(), "m", Secret::new("sk-fake"));
    assert!(HttpModel::on_wire(Wire::Anthropic, &endpoint, QUICK).unwrap().call(route()).await.reply.is_ok());
}

#[tokio::test]
async fn milliseconds_to_wait_are_believed_before_seconds() {
    let (result, provider) =
        after([Reply::status(429, "{}").header("retry-after", "3600").header("retry-after-ms", "1"), good()])
            .await;
    assert!(result.reply.is_ok());
    assert_eq!(provider.requests().len(), 2);
}
