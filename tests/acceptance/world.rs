//! The harness: one private installation per test — scripted or offline model, embedded stores, the real function binaries
//! under the emulator — spoken to over HTTP in the terms of the product.

use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use serde_json::{Value, json};
use testkit::emulator::{Emulator, EmulatorConfig, RawReply, function_binary};
use testkit::local::{LocalStack, ModelAddress};
use testkit::provider::{Script, ScriptedProvider};
use testkit::scenario::Scenario;
use testkit::sse::{self, Stream, Transcript};

pub use testkit::provider::Call;

use crate::contract;

/// What a test sets before its world starts.
pub struct WorldBuilder {
    script: Script,
    scenario: String,
    environment: Vec<(String, String)>,
    configure: Box<dyn FnOnce(&mut EmulatorConfig)>,
    lambda_timeout: Duration,
}

pub struct World {
    pub emulator: Emulator,
    pub provider: ScriptedProvider,
    pub stack: LocalStack,
    _folder: tempfile::TempDir,
}

/// A world whose model plays `script`.
pub fn world(script: Script) -> WorldBuilder {
    WorldBuilder {
        script,
        scenario: "payment-timeout".to_owned(),
        environment: Vec::new(),
        configure: Box::new(|_| {}),
        lambda_timeout: Duration::from_secs(120),
    }
}

impl WorldBuilder {
    pub fn scenario(mut self, name: &str) -> Self {
        self.scenario = name.to_owned();
        self
    }

    /// A variable of both functions.
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    pub fn lambda_timeout(mut self, timeout: Duration) -> Self {
        self.lambda_timeout = timeout;
        self
    }

    pub fn emulator(mut self, configure: impl FnOnce(&mut EmulatorConfig) + 'static) -> Self {
        self.configure = Box::new(configure);
        self
    }

    pub async fn start(self) -> anyhow::Result<World> {
        let folder = tempfile::tempdir()?;
        let stack = LocalStack::start(folder.path(), &Scenario::load(&self.scenario)?).await?;
        let provider = self.script.start().await?;
        let model = ModelAddress {
            base_url: provider.base_url(),
            name: "scripted".to_owned(),
            api_key: Some("sk-fake-test-key".to_owned()),
        };
        let function = |name: &str| {
            let binary = function_binary(name)?;
            anyhow::Ok(stack.function(name, binary, &model, &self.environment).timeout(self.lambda_timeout))
        };
        let mut config =
            EmulatorConfig::new(vec![function("chat")?, function("api")?, function("maintenance")?]);
        (self.configure)(&mut config);
        let emulator = Emulator::start(config).await?;
        Ok(World { emulator, provider, stack, _folder: folder })
    }
}

impl World {
    /// Asks and reads the whole stream; a protocol fault is an error.
    pub async fn ask(&self, query: &str) -> anyhow::Result<Transcript> {
        self.post(&json!({ "query": query }), &[]).await
    }

    pub async fn ask_in(&self, session: &str, query: &str) -> anyhow::Result<Transcript> {
        self.post(&json!({ "query": query, "session_id": session }), &[]).await
    }

    pub async fn post(&self, body: &Value, headers: &[(&str, &str)]) -> anyhow::Result<Transcript> {
        Ok(self.open(body, headers).await?.collect().await?)
    }

    /// Asks and returns the stream once its head is there.
    pub async fn open(&self, body: &Value, headers: &[(&str, &str)]) -> anyhow::Result<Stream> {
        Ok(sse::ask(&format!("{}/api/chat", self.emulator.url()), body.to_string(), headers).await?)
    }

    /// `GET` of the api function: status and JSON.
    pub async fn get(&self, path: &str) -> anyhow::Result<(u16, Value)> {
        self.call(reqwest::Method::GET, path).await
    }

    pub async fn call(&self, method: reqwest::Method, path: &str) -> anyhow::Result<(u16, Value)> {
        let url = format!("{}{path}", self.emulator.url());
        let request = sse::loopback_client()?.request(method.clone(), url).timeout(Duration::from_secs(20));
        let response = request.send().await?;
        let response = contract::checked(&self.emulator.url(), method.as_str(), path, response).await?;
        let status = response.status().as_u16();
        let text = response.text().await?;
        let json = serde_json::from_str(&text).with_context(|| format!("{path} answered no JSON: {text}"));
        Ok((status, json?))
    }

    pub async fn cancel(&self, run_id: &str) -> anyhow::Result<u16> {
        Ok(self.call(reqwest::Method::POST, &format!("/api/runs/{run_id}/cancel")).await?.0)
    }

    /// The run as `GET /api/runs/{id}` shows it.
    pub async fn run(&self, run_id: &str) -> anyhow::Result<Value> {
        let (status, run) = self.get(&format!("/api/runs/{run_id}")).await?;
        anyhow::ensure!(status == 200, "run {run_id}: {status} {run}");
        Ok(run)
    }

    /// Polls until the run is terminal.
    pub async fn terminal(&self, run_id: &str) -> anyhow::Result<Value> {
        for _ in 0..200 {
            let run = self.run(run_id).await?;
            if run["status"] != "RUNNING" {
                return Ok(run);
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        anyhow::bail!("run {run_id} did not end")
    }

    pub async fn sweep(&self) -> anyhow::Result<u64> {
        let reply = self.emulator.invoke_raw("maintenance", &json!({ "task": "sweep" })).await?;
        let RawReply::Buffered(reply) = reply else { anyhow::bail!("the sweep failed: {reply:?}") };
        reply["abandoned"].as_u64().with_context(|| reply.to_string())
    }

    /// What no test may leave behind: a request that a real provider would refuse.
    pub fn assert_provider_saw_a_clean_protocol(&self) {
        assert_eq!(self.provider.violations(), Vec::<String>::new());
    }

    pub fn database(&self) -> std::path::PathBuf {
        self.stack.folder().join("superbiz.db")
    }

    /// Every file of the canonical store.
    pub fn canonical_folder(&self) -> std::path::PathBuf {
        self.stack.canonical_folder()
    }
}

/// The query_logs call that finds the payment gateway's errors.
pub fn gateway_errors() -> Call {
    let arguments = json!({ "service": "payment-gateway", "query": null, "level": "ERROR", "start": "-2h", "end": "now", "limit": 20 });
    Call::new("query_logs", arguments)
}

/// A draft with one analysis of `call` and a conclusion that rests on it.
pub fn draft(kind: &str, text: &str, call: &str) -> Value {
    json!({
        "conclusion": { "text": text, "based_on_analysis_ids": ["a1"] },
        "analyses": [{ "analysis_id": "a1", "kind": kind, "text": text, "tool_call_ids": [call] }],
        "actions": [{ "text": "Look at the channel's status page.", "requires_human_confirmation": false, "based_on_analysis_ids": ["a1"] }],
        "recommendations": [],
        "limitations": { "missing_info": [], "caveats": [] },
    })
}

/// All files below a folder, as bytes.
pub fn files_below(folder: &Path) -> Vec<(std::path::PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    let Ok(entries) = std::fs::read_dir(folder) else { return found };
    for entry in entries.flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files_below(&path));
        } else if let Ok(bytes) = std::fs::read(&path) {
            found.push((path, bytes));
        }
    }
    found
}
