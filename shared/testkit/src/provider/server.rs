//! The HTTP server: one route, real sockets, and the power to break them.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::connect_info::Connected;
use axum::extract::{ConnectInfo, DefaultBodyLimit, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::serve::{IncomingStream, Listener};
use futures_util::stream;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use super::persona::Persona;
use super::reply::{Delivery, Reply};
use super::request::Received;

/// Decides the reply to a request.
pub(super) type Answer = Arc<dyn Fn(&Received) -> Reply + Send + Sync>;

/// A running server on loopback; it stops when it is dropped.
pub struct ModelServer {
    address: SocketAddr,
    _serving: JoinSet<()>,
}

impl ModelServer {
    /// Starts on `port`, or on a free one if that is 0.
    pub(super) async fn start(port: u16, persona: Persona, answer: Answer) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
        let address = listener.local_addr()?;
        let state = Exchange { answer, persona, serial: Arc::new(AtomicU64::new(0)) };
        let routes = Router::new()
            .route("/v1/chat/completions", post(exchange))
            .route("/v1/messages", post(exchange))
            .layer(DefaultBodyLimit::max(16 * 1024 * 1024))
            .with_state(state)
            .into_make_service_with_connect_info::<Fuse>();
        let mut serving = JoinSet::new();
        // An accept loop has no way to fail that would be worth more than the client's own error.
        serving.spawn(async move { axum::serve(Breakable(listener), routes).await.unwrap_or_default() });
        Ok(Self { address, _serving: serving })
    }

    /// What `MODEL_BASE_URL` must be.
    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }
}

#[derive(Clone)]
struct Exchange {
    answer: Answer,
    persona: Persona,
    serial: Arc<AtomicU64>,
}

async fn exchange(
    State(Exchange { answer, persona, serial }): State<Exchange>,
    ConnectInfo(fuse): ConnectInfo<Fuse>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let authorization = headers.get("authorization").and_then(|value| value.to_str().ok()).map(str::to_owned);
    let unreadable =
        || (StatusCode::BAD_REQUEST, r#"{"error":{"message":"no request that I know"}}"#).into_response();
    let Ok(spoken) = serde_json::from_slice::<serde_json::Value>(&body) else { return unreadable() };
    if let Some((status, words)) = persona.refusal(&headers, &spoken) {
        let status = StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_REQUEST);
        return (status, words).into_response();
    }
    // Translated where it came on the other wire; else the very bytes that came.
    let body = persona.translated(&spoken).map_or(body, Bytes::from);
    let Ok(request) = Received::parse(body, authorization) else { return unreadable() };
    let reply = answer(&request);
    let body = reply.body(&request, serial.fetch_add(1, Ordering::Relaxed), persona);
    if !reply.latency.is_zero() {
        tokio::time::sleep(reply.latency).await;
    }
    let reply =
        if reply.is_stream_for(&request) { reply.header("content-type", "text/event-stream") } else { reply };
    deliver(&reply, body, &fuse).await
}

async fn deliver(reply: &Reply, body: String, fuse: &Fuse) -> Response {
    let half = body.len() / 2;
    let declared = body.len();
    let body = Bytes::from(body);
    let content = match reply.delivery {
        Delivery::Stall => std::future::pending().await,
        Delivery::Reset => {
            fuse.blow();
            Body::empty()
        }
        Delivery::Whole => Body::from(body),
        Delivery::Drip(pause) => drip(body, pause),
        Delivery::Truncated => first_half(body.slice(..half), false),
        Delivery::StallHalfway => first_half(body.slice(..half), true),
    };
    let mut response = Response::builder().status(reply.status);
    for (name, value) in &reply.headers {
        response = response.header(name, value);
    }
    if matches!(reply.delivery, Delivery::Truncated | Delivery::StallHalfway) {
        response = response.header("content-length", declared);
    }
    response.body(content).unwrap_or_else(|_| StatusCode::INTERNAL_SERVER_ERROR.into_response())
}

fn drip(body: Bytes, pause: Duration) -> Body {
    const PIECE: usize = 16;
    Body::from_stream(stream::unfold(body, move |mut rest| async move {
        if rest.is_empty() {
            return None;
        }
        tokio::time::sleep(pause).await;
        let piece = rest.split_to(PIECE.min(rest.len()));
        Some((Ok::<_, io::Error>(piece), rest))
    }))
}

/// Sends `half`, then breaks the connection or keeps it open in silence.
fn first_half(half: Bytes, stall: bool) -> Body {
    Body::from_stream(stream::unfold(Some(half), move |unsent| async move {
        match unsent {
            Some(piece) => Some((Ok(piece), None)),
            None if stall => std::future::pending().await,
            None => {
                // Waiting once lets the server flush what it has.
                tokio::task::yield_now().await;
                Some((Err(io::Error::from(io::ErrorKind::ConnectionAborted)), None))
            }
        }
    }))
}

/// Breaks its connection at the next write.
#[derive(Clone, Default)]
struct Fuse(Arc<AtomicBool>);

impl Fuse {
    fn blow(&self) {
        self.0.store(true, Ordering::Release);
    }
}

impl Connected<IncomingStream<'_, Breakable>> for Fuse {
    fn connect_info(stream: IncomingStream<'_, Breakable>) -> Self {
        stream.io().fuse.clone()
    }
}

/// A listener whose connections can be reset from a handler.
struct Breakable(TcpListener);

impl Listener for Breakable {
    type Io = BreakableStream;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        let (stream, address) = Listener::accept(&mut self.0).await;
        // Without it a delayed ACK adds 40 ms to small replies; a failure costs only that.
        stream.set_nodelay(true).unwrap_or_default();
        (BreakableStream { stream, fuse: Fuse::default() }, address)
    }

    fn local_addr(&self) -> io::Result<Self::Addr> {
        self.0.local_addr()
    }
}

struct BreakableStream {
    stream: TcpStream,
    fuse: Fuse,
}

impl AsyncRead for BreakableStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for BreakableStream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, data: &[u8]) -> Poll<io::Result<usize>> {
        if self.fuse.0.load(Ordering::Acquire) {
            // With no time to linger, closing sends RST instead of FIN.
            self.stream.set_zero_linger()?;
            return Poll::Ready(Err(io::ErrorKind::ConnectionReset.into()));
        }
        Pin::new(&mut self.stream).poll_write(cx, data)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
