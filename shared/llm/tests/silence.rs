//! Servers that fall silent, and whether they notice that nobody listens any more.

#![expect(clippy::unwrap_used, reason = "the helpers of tests may fail like tests")]

use std::sync::Arc;
use std::time::Duration;

use agent::ports::{Message, Model, ModelRequest, ToolChoice};
use domain::model::{ModelFault, Role};
use llm::{Endpoint, HttpModel, Patience, RetryPolicy, Secret, Wire};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

const HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";
const DELTA: &str = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"{\"}}]}\n\n";

fn request() -> ModelRequest {
    ModelRequest {
        role: Role::Route,
        system: "superbiz/route".into(),
        messages: vec![Message::User { text: "{}".to_owned() }],
        tools: Arc::from([]),
        tool_choice: ToolChoice::Auto,
        response_schema: None,
        max_output_tokens: 16,
        timeout: Duration::from_secs(60),
        provider: None,
    }
}

/// The fault of a call to a server that sends `sent` and then stays silent; it also waits until that server has seen the
/// client hang up.
async fn fault_after(sent: String, patience: Patience, wire: Wire) -> (ModelFault, String) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base_url = format!("http://{}/v1", listener.local_addr().unwrap());
    let endpoint = Endpoint::new(base_url, "m", Secret::new("sk-fake"));
    let once = RetryPolicy { attempts: 1, ..RetryPolicy::default() };
    let model = HttpModel::on_wire(wire, &endpoint, once).unwrap().with_patience(patience);
    let server = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut seen = vec![0; 64 * 1024];
        let read = stream.read(&mut seen).await.unwrap();
        stream.write_all(sent.as_bytes()).await.unwrap();
        // Ends only when the client closes its side.
        let mut rest = Vec::new();
        stream.read_to_end(&mut rest).await.unwrap_or_default();
        String::from_utf8_lossy(&seen[..read]).into_owned()
    };
    let (result, head) = tokio::join!(model.call(request()), server);
    (result.reply.unwrap_err(), head)
}

const LONG: Duration = Duration::from_secs(3600);
const SHORT: Duration = Duration::from_millis(50);

#[tokio::test]
async fn a_model_that_never_begins_is_given_up_and_comments_do_not_count() {
    let impatient = Patience { first_token: SHORT, idle: LONG };
    for sent in [String::new(), HEAD.to_owned(), format!("{HEAD}: PROCESSING\n\n")] {
        let (fault, _) = fault_after(sent, impatient, Wire::OpenAi).await;
        assert_eq!(fault, ModelFault::Timeout);
    }
}

#[tokio::test]
async fn a_model_that_stops_in_the_middle_is_given_up() {
    let (fault, _) =
        fault_after(format!("{HEAD}{DELTA}"), Patience { first_token: LONG, idle: SHORT }, Wire::OpenAi)
            .await;
    assert_eq!(fault, ModelFault::Timeout);
}

#[tokio::test]
async fn each_wire_has_its_own_path_and_credential() {
    let impatient = Patience { first_token: SHORT, idle: SHORT };
    let (_, head) = fault_after(String::new(), impatient, Wire::Anthropic).await;
    assert!(head.starts_with("POST /v1/messages HTTP/1.1\r\n"), "{head}");
    assert!(head.contains("x-api-key: sk-fake\r\n") && head.contains("anthropic-version: "), "{head}");
    assert!(!head.to_lowercase().contains("authorization"), "{head}");
}

#[tokio::test]
async fn a_redirect_is_never_followed() {
    let elsewhere = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let to = elsewhere.local_addr().unwrap();
    let moved = format!(
        "HTTP/1.1 307 Moved\r\nlocation: http://{to}/v1\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
    );
    let patience = Patience { first_token: LONG, idle: LONG };
    tokio::select! {
        (fault, _) = fault_after(moved, patience, Wire::OpenAi) => assert_eq!(fault, ModelFault::BadRequest),
        _ = elsewhere.accept() => panic!("the credentials went elsewhere"),
    }
}
