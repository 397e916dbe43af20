//! A tiny Lambda function that the emulator's tests drive: it echoes, streams, panics, hangs and exits on
//! request. With `ECHO_BUFFERED` in its environment it answers buffered, otherwise streamed.

use std::convert::Infallible;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use lambda_http::request::RequestContext;
use lambda_http::{Error, Request, RequestExt as _, Response, run, run_with_streaming_response, service_fn};
use serde_json::{Value, json};

static SEEN: AtomicUsize = AtomicUsize::new(0);

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    if has_variable("ECHO_INIT_EXIT") {
        std::process::exit(3);
    }
    if has_variable("ECHO_BUFFERED") {
        return run(service_fn(buffered)).await;
    }
    run_with_streaming_response(service_fn(streamed)).await
}

async fn buffered(request: Request) -> Result<Response<lambda_http::Body>, Error> {
    let body = match request.uri().path() {
        path if path.ends_with("/binary") => lambda_http::Body::Binary(vec![0, 159, 146, 150]),
        _ => lambda_http::Body::Text(echo(&request).to_string()),
    };
    let kind = if matches!(body, lambda_http::Body::Text(_)) {
        "application/json"
    } else {
        "application/octet-stream"
    };
    Ok(Response::builder().header("content-type", kind).header("set-cookie", "a=1").body(body)?)
}

async fn streamed(request: Request) -> Result<Response<Body>, Error> {
    SEEN.fetch_add(1, Ordering::Relaxed);
    let path = request.raw_http_path().to_owned();
    let response = Response::builder();
    let response = match path.rsplit('/').next().unwrap_or_default() {
        "stream" => {
            response.header("content-type", "text/event-stream").body(Body::from_stream(chunks(&request)))?
        }
        "cookies" => response
            .status(201)
            .header("set-cookie", "a=1; Path=/")
            .header("set-cookie", "b=2")
            .header("x-many", "one")
            .header("x-many", "two")
            .body(Body::from("baked"))?,
        "panic" => fall_over(),
        "exit" => std::process::exit(7),
        "fail" => return Err("refused by the handler".into()),
        "hang" => std::future::pending().await,
        "print" => {
            print("a line on stdout", "eine Zeile auf stderr: 错误");
            response.body(Body::from("printed"))?
        }
        "tick" => {
            tick();
            response.body(Body::from("ticking"))?
        }
        _ => response
            .header("content-type", "application/json")
            .body(Body::from(echo(&request).to_string()))?,
    };
    Ok(response)
}

fn echo(request: &Request) -> Value {
    let headers = request.headers().iter().map(|(name, value)| json!([name.as_str(), value.to_str().ok()]));
    let query = request.query_string_parameters();
    let query = query.iter().map(|(name, value)| json!([name, value])).collect::<Vec<_>>();
    let shape = match request.request_context_ref() {
        Some(RequestContext::ApiGatewayV1(_)) => "v1",
        Some(RequestContext::ApiGatewayV2(_)) => "v2",
        _ => "unknown",
    };
    let context = request.lambda_context_ref();
    let variables = ["AWS_LAMBDA_INITIALIZATION_TYPE", "CARGO_MANIFEST_DIR", "ECHO_OWN"].map(has_variable);
    json!({
        "shape": shape,
        "method": request.method().as_str(),
        "path": request.raw_http_path(),
        "query": query,
        "headers": headers.collect::<Vec<_>>(),
        "body": String::from_utf8_lossy(request.body()),
        "deadline_ms": context.map(|context| context.deadline),
        "request_id": context.map(|context| context.request_id.clone()),
        "function": context.map(|context| context.env_config.function_name.clone()),
        "invocation": SEEN.load(Ordering::Relaxed),
        "pid": std::process::id(),
        "variables": variables,
    })
}

/// `chunks` numbered lines, each held back until the file `<gate>.<number>` exists; `then` says how it ends.
fn chunks(request: &Request) -> impl futures_util::Stream<Item = Result<Bytes, Infallible>> + Send + use<> {
    let query = request.query_string_parameters();
    let count = query.first("chunks").and_then(|text| text.parse::<usize>().ok()).unwrap_or(3);
    let gate = query.first("gate").map(PathBuf::from);
    let then = query.first("then").unwrap_or("end").to_owned();
    let watch = Leaving { finished: false };
    futures_util::stream::unfold((0, watch), move |(sent, mut watch)| {
        let (gate, then) = (gate.clone(), then.clone());
        async move {
            if sent == count {
                match then.as_str() {
                    "exit" => std::process::exit(7),
                    "hang" => std::future::pending::<()>().await,
                    _ => {}
                }
                watch.finish();
                return None;
            }
            if let Some(gate) = gate {
                opened(&gate.with_extension(sent.to_string())).await;
            }
            Some((Ok(Bytes::from(format!("chunk {sent} 一二三\n"))), (sent + 1, watch)))
        }
    })
}

async fn opened(gate: &std::path::Path) {
    while !gate.exists() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Says on stdout whether the stream was read to its end.
struct Leaving {
    finished: bool,
}

impl Leaving {
    fn finish(&mut self) {
        self.finished = true;
    }
}

impl Drop for Leaving {
    fn drop(&mut self) {
        print(if self.finished { "stream finished" } else { "stream dropped" }, "");
    }
}

/// Goes on after the reply, so that a test sees whether the sandbox stands still.
#[expect(clippy::disallowed_methods, reason = "this task is detached on purpose")]
fn tick() {
    tokio::spawn(async {
        for number in 0.. {
            print(&format!("tick {number}"), "");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    });
}

fn print(out: &str, err: &str) {
    drop(writeln!(std::io::stdout(), "{out}"));
    if !err.is_empty() {
        drop(writeln!(std::io::stderr(), "{err}"));
    }
}

#[expect(clippy::panic, reason = "the test asks for a panic")]
fn fall_over() -> Response<Body> {
    panic!("the handler fell over")
}

#[expect(clippy::disallowed_methods, reason = "a test function without app::config")]
fn has_variable(name: &str) -> bool {
    std::env::var_os(name).is_some()
}
