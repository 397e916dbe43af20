//! Keys by reference: the real functions with their real SDK against a service that gives secrets.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::Context;
use serde_json::json;
use testkit::provider::Script;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use crate::world::{files_below, world};

/// Answers each request with the secret that it names, or as the service does where there is none.
async fn secrets(content: &'static str) -> anyhow::Result<(String, Arc<AtomicU32>, JoinSet<()>)> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let (url, asked) = (format!("http://{}", listener.local_addr()?), Arc::new(AtomicU32::new(0)));
    let counted = asked.clone();
    let mut serving = JoinSet::new();
    serving.spawn(async move {
        while let Ok((mut connection, _)) = listener.accept().await {
            let mut request = Vec::new();
            let mut buffer = [0; 4096];
            // The SDK sends head and body together or one after the other; the body ends with the object.
            while let Ok(n) = connection.read(&mut buffer).await {
                request.extend_from_slice(&buffer[..n]);
                if n == 0 || request.ends_with(b"}") {
                    break;
                }
            }
            counted.fetch_add(1, Ordering::Relaxed);
            let known = String::from_utf8_lossy(&request).contains("arn:aws:secretsmanager:us-east-1:0:secret:known");
            let (status, body) = if known {
                ("200 OK", json!({ "ARN": "a", "Name": "n", "SecretString": content }))
            } else {
                ("400 Bad Request", json!({ "__type": "ResourceNotFoundException", "message": "no such secret" }))
            };
            let body = body.to_string();
            let head = format!("HTTP/1.1 {status}\r\ncontent-type: application/x-amz-json-1.1\r\nconnection: close\r\ncontent-length: {}\r\n\r\n", body.len());
            // A client that went away wants no answer.
            let _ = connection.write_all(format!("{head}{body}").as_bytes()).await;
        }
    });
    Ok((url, asked, serving))
}

#[tokio::test(flavor = "multi_thread")]
async fn the_models_key_is_read_from_its_secret_once_and_shown_nowhere() -> anyhow::Result<()> {
    let (url, asked, _serving) = secrets(r#"{"api_key":"sk-fake-from-the-secret"}"#).await?;
    let world = world(Script::new().routes_to("SYSTEM_CHAT").says("Hello."))
        .env("MODEL_API_KEY", "")
        .env("MODEL_API_KEY_SECRET_ARN", "arn:aws:secretsmanager:us-east-1:0:secret:known")
        .env("AWS_ENDPOINT_URL_SECRETS_MANAGER", &url)
        .start()
        .await?;
    let told = world.ask("hello").await?;
    assert!(told.content().is_some(), "{}", told.text());
    for request in world.provider.requests() {
        assert_eq!(request.authorization.as_deref(), Some("Bearer sk-fake-from-the-secret"));
    }
    assert_eq!(asked.load(Ordering::Relaxed), 1);
    let mut seen = world.emulator.logs().text();
    for (_, bytes) in files_below(world.stack.folder()) {
        seen.push_str(&String::from_utf8_lossy(&bytes));
    }
    assert!(!seen.contains("sk-fake-from-the-secret"));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_that_cannot_be_read_keeps_the_function_from_starting_and_says_which() -> anyhow::Result<()>
{
    let (url, _, _serving) = secrets("{}").await?;
    let world = world(Script::new())
        .env("MODEL_API_KEY", "")
        .env("MODEL_API_KEY_SECRET_ARN", "arn:aws:secretsmanager:us-east-1:0:secret:unknown")
        .env("AWS_ENDPOINT_URL_SECRETS_MANAGER", &url)
        .start()
        .await?;
    let answer = testkit::sse::loopback_client()?
        .post(format!("{}/api/chat", world.emulator.url()))
        .json(&json!({ "query": "hello" }))
        .send()
        .await?;
    assert!(answer.status().is_server_error(), "{}", answer.status());
    let logs = world.emulator.logs().text();
    let told = logs.lines().find(|line| line.contains("MODEL_API_KEY_SECRET_ARN"));
    told.with_context(|| format!("nothing says which secret: {logs}"))?;
    Ok(())
}
