//! A tiny HTTP server that answers by script and remembers what it was asked, and the client run against it.

use std::collections::{BTreeMap, VecDeque};
use std::process::{Output, Stdio};
use std::sync::{Arc, Mutex};

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::process::Command;
use tokio::task::JoinSet;

#[derive(Debug, Clone)]
pub enum Reply {
    Whole {
        status: u16,
        headers: Vec<(&'static str, String)>,
        body: String,
    },
    /// An event stream in pieces of so many bytes, ended as it should be.
    Stream {
        text: String,
        piece: usize,
    },
    /// An event stream that breaks off after this text.
    BreaksOff(String),
    /// An event stream that says nothing more after this text.
    GoesSilent(String),
    /// The connection is closed without an answer.
    HangsUp,
}

pub fn json(status: u16, body: &Value) -> Reply {
    let headers = vec![("content-type", "application/json".to_owned())];
    Reply::Whole { status, headers, body: body.to_string() }
}

pub fn stream(text: &str) -> Reply {
    Reply::Stream { text: text.to_owned(), piece: usize::MAX }
}

#[derive(Debug, Clone)]
pub struct Asked {
    /// `POST /api/chat`, with the query string.
    pub line: String,
    pub headers: BTreeMap<String, String>,
    pub body: String,
}

type Script = BTreeMap<&'static str, VecDeque<Reply>>;

pub struct Server {
    pub url: String,
    asked: Arc<Mutex<Vec<Asked>>>,
    _connections: JoinSet<()>,
}

impl Server {
    /// Each request is answered by the next reply of its line; the last one stays.
    pub async fn start(script: impl IntoIterator<Item = (&'static str, Vec<Reply>)>) -> Self {
        let script: Script = script.into_iter().map(|(line, replies)| (line, replies.into())).collect();
        let (script, asked) = (Arc::new(Mutex::new(script)), Arc::new(Mutex::new(Vec::new())));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let seen = asked.clone();
        let mut connections = JoinSet::new();
        connections.spawn(async move {
            let mut open = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                open.spawn(answer(stream, script.clone(), seen.clone()));
            }
        });
        Self { url, asked, _connections: connections }
    }

    pub fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }

    pub fn lines(&self) -> Vec<String> {
        self.asked().into_iter().map(|asked| asked.line).collect()
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = command(arguments);
        command.env("SUPERBIZ_URL", &self.url);
        command
    }

    pub async fn run(&self, arguments: &[&str]) -> Told {
        told(self.command(arguments).output().await.unwrap())
    }

    /// With a text on standard input.
    pub async fn run_with(&self, arguments: &[&str], input: &str) -> Told {
        let mut command = self.command(arguments);
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).await.unwrap();
        told(child.wait_with_output().await.unwrap())
    }
}

/// The client with an empty environment: no key, no proxy, no address but the test's.
pub fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_superbiz"));
    command.args(arguments).env_clear().env("COLUMNS", "80").stdin(Stdio::null()).kill_on_drop(true);
    command
}

#[derive(Debug)]
pub struct Told {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Told {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|_| panic!("no JSON: {self:?}"))
    }
}

pub fn told(output: Output) -> Told {
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Told { code: output.status.code().unwrap_or(-1), out: text(output.stdout), err: text(output.stderr) }
}

async fn answer(stream: TcpStream, script: Arc<Mutex<Script>>, seen: Arc<Mutex<Vec<Asked>>>) {
    let mut stream = BufReader::new(stream);
    let Some(asked) = read(&mut stream).await else { return };
    let path = asked.line.split('?').next().unwrap_or_default().to_owned();
    seen.lock().unwrap().push(asked);
    let reply = {
        let mut script = script.lock().unwrap();
        let replies = script.get_mut(path.as_str());
        replies.and_then(
            |replies| if replies.len() > 1 { replies.pop_front() } else { replies.front().cloned() },
        )
    };
    let missing = || {
        json(404, &serde_json::json!({ "code": "NOT_FOUND", "detail": "not in the script", "status": 404 }))
    };
    // A client that has left is part of some tests.
    let _ = write(stream.get_mut(), reply.unwrap_or_else(missing)).await;
}

async fn read(stream: &mut BufReader<TcpStream>) -> Option<Asked> {
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).await.ok()?;
        match line.trim_end() {
            "" => break,
            line => lines.push(line.to_owned()),
        }
    }
    let line = lines.first()?.trim_end_matches(" HTTP/1.1").to_owned();
    let header = |line: &String| {
        line.split_once(": ").map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
    };
    let headers: BTreeMap<String, String> = lines.iter().filter_map(header).collect();
    let mut body = vec![0; headers.get("content-length").and_then(|length| length.parse().ok()).unwrap_or(0)];
    stream.read_exact(&mut body).await.ok()?;
    Some(Asked { line, headers, body: String::from_utf8(body).ok()? })
}

async fn write(stream: &mut TcpStream, reply: Reply) -> std::io::Result<()> {
    let (text, piece, end) = match reply {
        Reply::HangsUp => return Ok(()),
        Reply::Whole { status, headers, body } => {
            let mut head = format!("HTTP/1.1 {status} X\r\nconnection: close\r\n");
            if status != 204 {
                head.push_str(&format!("content-length: {}\r\n", body.len()));
            }
            for (name, value) in headers {
                head.push_str(&format!("{name}: {value}\r\n"));
            }
            stream.write_all(format!("{head}\r\n{body}").as_bytes()).await?;
            return stream.shutdown().await;
        }
        Reply::Stream { text, piece } => (text, piece, true),
        Reply::BreaksOff(text) | Reply::GoesSilent(text) if text.is_empty() => (text, 1, false),
        Reply::BreaksOff(text) => (text, usize::MAX, false),
        Reply::GoesSilent(text) => {
            chunks(stream, &text, usize::MAX).await?;
            std::future::pending::<()>().await;
            return Ok(());
        }
    };
    chunks(stream, &text, piece).await?;
    if end {
        stream.write_all(b"0\r\n\r\n").await?;
    }
    stream.shutdown().await
}

async fn chunks(stream: &mut TcpStream, text: &str, piece: usize) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    stream.write_all(b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n").await?;
    for piece in text.as_bytes().chunks(piece) {
        stream.write_all(format!("{:x}\r\n", piece.len()).as_bytes()).await?;
        stream.write_all(piece).await?;
        stream.write_all(b"\r\n").await?;
    }
    stream.flush().await
}
