//! `cases provider`: responses of model providers, served on loopback to the product's own model client.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use agent::ports::{Message, Model, ModelRequest, ResponseSchema, ToolChoice, ToolSpec};
use anyhow::Context;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use domain::ids::CallIds;
use domain::model::{ModelResult, RequestedCall, Role};
use domain::tool::ToolName;
use llm::{Endpoint, HttpModel, RetryPolicy, Secret};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::Judge;

/// Nothing in a case is worth waiting for: one that is silent has failed.
const PATIENCE: Duration = Duration::from_secs(20);

pub fn judge() -> anyhow::Result<Judge> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    Ok(Box::new(move |case| {
        let response = CannedResponse::read(case)?;
        let result = runtime.block_on(exchange(response))?;
        Ok(told(result))
    }))
}

/// A response as the case has it, ready to be written.
struct CannedResponse {
    head: String,
    pieces: Vec<Vec<u8>>,
}

impl CannedResponse {
    fn read(case: &Value) -> anyhow::Result<Self> {
        let status = case.get("status").and_then(Value::as_u64).context("status must be a number")?;
        let decode = |piece: &Value| -> anyhow::Result<Vec<u8>> {
            let text = piece.as_str().context("base64 must be a string")?;
            BASE64_STANDARD.decode(text).context("not base64")
        };
        let pieces = if let Some(chunks) = case.get("chunks_b64").and_then(Value::as_array) {
            chunks.iter().map(decode).collect::<anyhow::Result<Vec<_>>>()?
        } else if let Some(body) = case.get("body_b64") {
            vec![decode(body)?]
        } else {
            let body = case.get("body").context("body, body_b64 or chunks_b64 is missing")?;
            vec![body.as_str().map_or_else(|| body.to_string(), str::to_owned).into_bytes()]
        };
        let mut head = format!("HTTP/1.1 {status} Case\r\nconnection: close\r\n");
        for (name, value) in case.get("headers").and_then(Value::as_object).into_iter().flatten() {
            let value = value.as_str().context("a header's value must be a string")?;
            anyhow::ensure!(
                !format!("{name}{value}").contains(['\r', '\n']),
                "a header may have one line only"
            );
            let is_framing = ["content-length", "transfer-encoding", "connection"];
            if !is_framing.contains(&name.to_lowercase().as_str()) {
                head += &format!("{name}: {value}\r\n");
            }
        }
        // The end of the connection is the end of the body, as it is for many event streams.
        head += "\r\n";
        Ok(Self { head, pieces })
    }

    async fn serve(&self, listener: TcpListener) -> std::io::Result<()> {
        loop {
            let (mut stream, _) = listener.accept().await?;
            stream.set_nodelay(true)?;
            // A client that has what it needs may hang up early.
            self.answer(&mut stream).await.unwrap_or_default();
        }
    }

    async fn answer(&self, stream: &mut TcpStream) -> std::io::Result<()> {
        read_request(stream).await?;
        stream.write_all(self.head.as_bytes()).await?;
        for piece in &self.pieces {
            stream.write_all(piece).await?;
            stream.flush().await?;
            tokio::task::yield_now().await;
        }
        stream.shutdown().await
    }
}

/// Reads one request to its end, so that closing does not reset the connection.
async fn read_request(stream: &mut TcpStream) -> std::io::Result<()> {
    let mut seen = Vec::new();
    loop {
        if stream.read_buf(&mut seen).await? == 0 {
            return Ok(());
        }
        let Some(end) = seen.windows(4).position(|bytes| bytes == b"\r\n\r\n") else { continue };
        let head = String::from_utf8_lossy(&seen[..end]).to_lowercase();
        let declared = head.lines().find_map(|line| line.strip_prefix("content-length:"));
        let length: usize = declared.and_then(|text| text.trim().parse().ok()).unwrap_or_default();
        if seen.len() >= end + 4 + length {
            return Ok(());
        }
    }
}

async fn exchange(response: CannedResponse) -> anyhow::Result<ModelResult> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let base_url = format!("http://{}/v1", listener.local_addr()?);
    let endpoint = Endpoint::new(base_url, "m", Secret::default());
    // The same response would come each time, so one attempt tells all.
    let client = HttpModel::with_policy(&endpoint, RetryPolicy { attempts: 1, ..RetryPolicy::default() })?;
    tokio::select! {
        result = client.call(request()) => Ok(result),
        ended = response.serve(listener) => { ended?; anyhow::bail!("the server ended") }
    }
}

fn request() -> ModelRequest {
    let tool = |name: ToolName| ToolSpec {
        name: name.as_str(),
        description: "A tool.".to_owned(),
        parameters: json!({ "type": "object" }),
    };
    let tools = [ToolName::LookupKnowledge, ToolName::QueryLogs, ToolName::QueryMysql];
    ModelRequest {
        role: Role::Diagnose,
        system: "superbiz/diagnose\nAnswer with JSON.".into(),
        messages: vec![Message::User { text: "{}".to_owned() }],
        tools: tools.into_iter().map(tool).collect(),
        tool_choice: ToolChoice::Auto,
        response_schema: Some(Arc::new(ResponseSchema {
            name: Role::Diagnose.schema_name(),
            schema: json!({ "type": "object" }),
        })),
        max_output_tokens: 4096,
        timeout: PATIENCE,
        provider: None,
    }
}

fn told(result: ModelResult) -> Value {
    let mut usage = json!({
        "input": result.usage.input_tokens,
        "output": result.usage.output_tokens,
        "estimated": result.usage.estimated,
    });
    for (name, count) in
        [("cached", result.usage.cached_tokens), ("reasoning", result.usage.reasoning_tokens)]
    {
        if count > 0 {
            usage[name] = count.into();
        }
    }
    match result.reply {
        Err(fault) => json!({
            "result": "error", "calls": [], "code": fault.as_str(),
            "retryable": llm::is_temporary(fault), "usage": usage,
        }),
        Ok(reply) => {
            let mut ids = CallIds::default();
            let calls: Vec<Value> = reply.calls.into_iter().map(|call| told_call(&mut ids, call)).collect();
            let result = if calls.is_empty() { "text" } else { "calls" };
            let mut told = json!({ "result": result, "calls": calls, "text": reply.text, "usage": usage });
            if let Some(finish) = reply.finish {
                told["finish"] = finish.as_str().into();
            }
            told
        }
    }
}

fn told_call(ids: &mut CallIds, call: RequestedCall) -> Value {
    let id = ids.assign(call.id.as_deref());
    let known = ToolName::parse(&call.name).is_some();
    let mut told = json!({ "id": id.as_str(), "name": call.name });
    let fault = match (known, &call.arguments) {
        (false, _) => Some("unknown_tool"),
        (true, Err(_)) => Some("bad_arguments"),
        (true, Ok(_)) => None,
    };
    told["arguments"] = call.arguments.unwrap_or_else(|_| json!({}));
    if let Some(fault) = fault {
        told["fault"] = fault.into();
    }
    told
}
