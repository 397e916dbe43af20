//! `superbiz`, the terminal client of the HTTP API: `superbiz ask QUESTION` prints the event stream as it comes.

use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

const USAGE: &str =
    "usage: superbiz ask [--url URL] [--session ID] QUESTION\n  URL defaults to http://127.0.0.1:9000";

/// Silence longer than this is a dead stream: the service sends a keep-alive every 10 s.
const SILENCE: Duration = Duration::from_secs(45);

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let result = match read(&arguments) {
        Ok(ask) => stream(&ask).await,
        Err(fault) => Err(fault),
    };
    match result {
        Ok(code) => code,
        Err(fault) => {
            let _ = writeln!(std::io::stderr(), "superbiz: {fault}");
            ExitCode::from(2)
        }
    }
}

struct Ask {
    url: String,
    body: serde_json::Value,
}

fn read(arguments: &[String]) -> Result<Ask, String> {
    let mut rest = arguments.iter();
    if rest.next().map(String::as_str) != Some("ask") {
        return Err(USAGE.to_owned());
    }
    let (mut url, mut session, mut words) = ("http://127.0.0.1:9000".to_owned(), None, Vec::new());
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            "--url" => url = rest.next().ok_or(USAGE)?.clone(),
            "--session" => session = Some(rest.next().ok_or(USAGE)?.clone()),
            word => words.push(word),
        }
    }
    if words.is_empty() {
        return Err(USAGE.to_owned());
    }
    let mut body = serde_json::json!({ "query": words.join(" ") });
    if let Some(session) = session {
        body["session_id"] = session.into();
    }
    Ok(Ask { url: format!("{}/api/chat", url.trim_end_matches('/')), body })
}

fn client() -> Result<reqwest::Client, Box<dyn std::error::Error>> {
    let roots = rustls::RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    let tls = rustls::ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    let builder = reqwest::Client::builder().tls_backend_preconfigured(tls);
    Ok(builder.connect_timeout(Duration::from_secs(5)).read_timeout(SILENCE).build()?)
}

/// Prints the raw stream. Exit codes: 0 content, 1 failure or refusal, 2 usage or transport.
async fn stream(ask: &Ask) -> Result<ExitCode, String> {
    let client = client().map_err(|fault| fault.to_string())?;
    let response = client.post(&ask.url).json(&ask.body).send().await;
    let mut response =
        response.map_err(|fault| format!("no answer from {}: {fault}; is `make dev` running?", ask.url))?;
    let refused = !response.status().is_success();
    let (mut out, mut seen) = (std::io::stdout().lock(), Vec::new());
    while let Some(chunk) =
        response.chunk().await.map_err(|fault| format!("the stream broke off: {fault}"))?
    {
        out.write_all(&chunk).and_then(|()| out.flush()).map_err(|fault| fault.to_string())?;
        seen.extend_from_slice(&chunk);
    }
    let text = String::from_utf8_lossy(&seen);
    if refused {
        let _ = writeln!(out);
        return Ok(ExitCode::from(1));
    }
    if !text.contains("event: done\n") {
        return Err("the stream ended without `done`".to_owned());
    }
    Ok(if text.contains("event: failure\n") { ExitCode::from(1) } else { ExitCode::SUCCESS })
}
