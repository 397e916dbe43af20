//! The Lambda Runtime API of one sandbox, as the function's runtime client sees it: `next`, `response`,
//! `error`.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use axum::Router;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, Response, StatusCode};
use axum::routing::{get, post};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};
use tokio_util::task::{AbortOnDropHandle, TaskTracker};

use super::config::DeadlineHeader;
use super::event::epoch_ms;
use super::invocation::{Offer, ReplySlot};
use super::process::Process;
use super::reply::{Chunk, Failure, Reply, StreamBroken, Streamed};

/// Lambda's limit for a buffered response, in bytes.
const MAX_BUFFERED: usize = 6 * 1024 * 1024;

struct Current {
    request_id: String,
    reply: ReplySlot,
    finished: oneshot::Sender<()>,
}

pub(super) struct RuntimeApi {
    offers: tokio::sync::Mutex<mpsc::Receiver<Offer>>,
    current: Mutex<Option<Current>>,
    first_poll: OnceLock<Instant>,
    /// Set when this sandbox is frozen while it waits.
    freezable: OnceLock<Arc<Process>>,
    /// Reads on from a response whose client has left, until the function has seen our answer.
    abandoned: Mutex<Option<AbortOnDropHandle<()>>>,
    tasks: TaskTracker,
    arn: String,
    deadline: DeadlineHeader,
    timeout: Duration,
    propagate_disconnect: bool,
}

impl RuntimeApi {
    pub(super) fn new(
        offers: mpsc::Receiver<Offer>,
        function: &super::FunctionConfig,
        config: &super::EmulatorConfig,
        tasks: &TaskTracker,
    ) -> Self {
        Self {
            offers: tokio::sync::Mutex::new(offers),
            current: Mutex::new(None),
            first_poll: OnceLock::new(),
            freezable: OnceLock::new(),
            abandoned: Mutex::new(None),
            tasks: tasks.clone(),
            arn: format!("arn:aws:lambda:us-east-1:000000000000:function:{}", function.name),
            deadline: config.deadline,
            timeout: function.timeout,
            propagate_disconnect: config.propagate_disconnect,
        }
    }

    pub(super) fn first_poll(&self) -> Option<Instant> {
        self.first_poll.get().copied()
    }

    pub(super) fn freeze_when_idle(&self, process: Arc<Process>) {
        drop(self.freezable.set(process));
    }

    pub(super) fn router(self: &Arc<Self>) -> Router {
        Router::new()
            .route("/2018-06-01/runtime/invocation/next", get(next))
            .route("/2018-06-01/runtime/invocation/{id}/response", post(response))
            .route("/2018-06-01/runtime/invocation/{id}/error", post(error))
            .route("/2018-06-01/runtime/init/error", post(init_error))
            .with_state(Arc::clone(self))
    }

    /// The invocation, when `id` is the one the function works on and it has not answered yet.
    fn take_current(&self, id: &str) -> Option<Current> {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        current.take_if(|current| current.request_id == id)
    }

    fn deadline_ms(&self) -> u64 {
        match self.deadline {
            DeadlineHeader::Real => epoch_ms(SystemTime::now() + self.timeout),
            DeadlineHeader::Constant(value) => value,
        }
    }

    /// Closing a connection with unread bytes on it resets it, and a function that loses our answer that way
    /// exits. So the rest is read until it polls again; then it has the answer, and the connection is closed.
    fn abandon(&self, mut body: Body) {
        let reading = self.tasks.spawn(async move { while let Some(Ok(_)) = body.frame().await {} });
        let mut abandoned = self.abandoned.lock().unwrap_or_else(PoisonError::into_inner);
        *abandoned = Some(AbortOnDropHandle::new(reading));
    }

    /// The next event; a function that must wait for it may be frozen meanwhile.
    async fn next_offer(&self) -> Option<Offer> {
        let mut offers = self.offers.lock().await;
        if let Ok(offer) = offers.try_recv() {
            return Some(offer);
        }
        let Some(process) = self.freezable.get() else { return offers.recv().await };
        process.freeze();
        let offer = offers.recv().await;
        process.thaw();
        offer
    }
}

async fn next(State(api): State<Arc<RuntimeApi>>) -> Response<Body> {
    api.first_poll.get_or_init(Instant::now);
    drop(api.abandoned.lock().unwrap_or_else(PoisonError::into_inner).take());
    let Some(offer) = api.next_offer().await else {
        return answer(StatusCode::GONE, "SandboxClosed");
    };
    let current =
        Current { request_id: offer.request_id.clone(), reply: offer.reply, finished: offer.finished };
    *api.current.lock().unwrap_or_else(PoisonError::into_inner) = Some(current);
    let _ = offer.handed_over.send(());
    let trace = offer.request_id.replace('-', "");
    Response::builder()
        .header("content-type", "application/json")
        .header("lambda-runtime-aws-request-id", &offer.request_id)
        .header("lambda-runtime-deadline-ms", api.deadline_ms())
        .header("lambda-runtime-invoked-function-arn", &api.arn)
        .header("lambda-runtime-trace-id", trace_id(&trace))
        .body(Body::from(offer.event))
        .unwrap_or_default()
}

async fn response(
    State(api): State<Arc<RuntimeApi>>,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Body,
) -> Response<Body> {
    let Some(current) = api.take_current(&id) else {
        return answer(StatusCode::BAD_REQUEST, "InvalidRequestID");
    };
    let is = |name: &str, value: &str| headers.get(name).is_some_and(|found| found == value);
    let status = if is("lambda-runtime-function-response-mode", "streaming") {
        let prelude = is("content-type", "application/vnd.awslambda.http-integration-response");
        let (sender, chunks) = mpsc::channel(8);
        current.reply.fill(Reply::Streamed(Streamed { prelude, chunks }));
        match forward(body, sender, api.propagate_disconnect).await {
            End::Whole => {}
            // Whoever waits for the end of the invocation will see the end of the process.
            End::Broken => return answer(StatusCode::BAD_REQUEST, "TruncatedResponse"),
            End::Abandoned(body) => api.abandon(body),
        }
        StatusCode::ACCEPTED
    } else {
        match Limited::new(body, MAX_BUFFERED).collect().await {
            Ok(whole) => {
                current.reply.fill(Reply::Buffered(whole.to_bytes()));
                StatusCode::ACCEPTED
            }
            Err(fault) if fault.is::<LengthLimitError>() => {
                current.reply.fill(Reply::Failed(Failure::ResponseTooLarge));
                StatusCode::PAYLOAD_TOO_LARGE
            }
            Err(_) => return answer(StatusCode::BAD_REQUEST, "TruncatedResponse"),
        }
    };
    let _ = current.finished.send(());
    answer(status, "OK")
}

/// How a streamed response ended.
enum End {
    Whole,
    /// The function's connection broke: most likely it died.
    Broken,
    /// The client has left and the function shall notice.
    Abandoned(Body),
}

/// Passes frames on as they come. When the client has left, the rest is read and thrown away, unless
/// `stop_early`.
async fn forward(mut body: Body, sender: mpsc::Sender<Chunk>, stop_early: bool) -> End {
    loop {
        let frame = tokio::select! {
            frame = body.frame() => frame,
            () = sender.closed(), if stop_early => return End::Abandoned(body),
        };
        let (chunk, end) = match frame {
            None => return End::Whole,
            Some(Err(_)) => (Err(StreamBroken), Some(End::Broken)),
            Some(Ok(frame)) => match frame.into_data() {
                Ok(data) => (Ok(data), None),
                // Trailers report a fault in mid-stream.
                Err(frame) => match frame.into_trailers() {
                    Ok(trailers) if trailers.contains_key("lambda-runtime-function-error-type") => {
                        (Err(StreamBroken), Some(End::Whole))
                    }
                    _ => continue,
                },
            },
        };
        // A client that has left is noticed at the top.
        let _ = sender.send(chunk).await;
        if let Some(end) = end {
            return end;
        }
    }
}

async fn error(State(api): State<Arc<RuntimeApi>>, Path(id): Path<String>, body: Body) -> Response<Body> {
    let Some(current) = api.take_current(&id) else {
        return answer(StatusCode::BAD_REQUEST, "InvalidRequestID");
    };
    let diagnostic = match Limited::new(body, MAX_BUFFERED).collect().await {
        Ok(whole) => serde_json::from_slice(&whole.to_bytes()).unwrap_or(Value::Null),
        Err(_) => Value::Null,
    };
    current.reply.fill(Reply::Failed(Failure::FunctionError(diagnostic)));
    let _ = current.finished.send(());
    answer(StatusCode::ACCEPTED, "OK")
}

/// The process is expected to exit now; the one who waits for its first poll sees that.
async fn init_error() -> Response<Body> {
    answer(StatusCode::ACCEPTED, "OK")
}

fn answer(status: StatusCode, word: &str) -> Response<Body> {
    let key = if status.is_success() { "status" } else { "errorType" };
    let mut response = Response::new(Body::from(json!({ key: word }).to_string()));
    *response.status_mut() = status;
    response
}

/// An X-Ray trace header that is not sampled, from 32 hex digits.
fn trace_id(hex: &str) -> String {
    let (time, rest) = hex.split_at(hex.len().min(8));
    let parent = hex.get(..16).unwrap_or(hex);
    format!("Root=1-{time}-{};Parent={parent};Sampled=0", rest.get(..24).unwrap_or(rest))
}
