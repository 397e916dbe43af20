//! One execution environment: a process with its own Runtime API that serves one invocation at a time.

use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use bytes::Bytes;
use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot};
use tokio_util::task::{AbortOnDropHandle, TaskTracker};

use super::config::{EmulatorConfig, FunctionConfig};
use super::invocation::{Offer, ReplySlot};
use super::logs::LogBuffer;
use super::process::{Memory, Process};
use super::quick_ack::QuickAckListener;
use super::reply::{Failure, Reply};
use super::runtime_api::RuntimeApi;

/// What a test may know of a running sandbox.
#[derive(Debug, Clone)]
pub struct SandboxInfo {
    pub function: String,
    pub pid: u32,
    /// `None` when the process has just ended.
    pub memory: Option<Memory>,
    /// From exec to the first `next`; `None` while it starts.
    pub exec_to_first_poll: Option<Duration>,
    /// Invocations so far.
    pub invocations: usize,
    pub busy: bool,
}

pub(super) struct Sandbox {
    function: Arc<FunctionConfig>,
    config: Arc<EmulatorConfig>,
    pub(super) process: Arc<Process>,
    api: Arc<RuntimeApi>,
    offers: mpsc::Sender<Offer>,
    started: Instant,
    pub(super) busy: AtomicBool,
    invocations: AtomicUsize,
    _server: AbortOnDropHandle<()>,
}

impl Sandbox {
    /// Starts the process; it counts as busy with the invocation that it is started for.
    pub(super) async fn start(
        function: &Arc<FunctionConfig>,
        config: &Arc<EmulatorConfig>,
        logs: &LogBuffer,
        tasks: &TaskTracker,
    ) -> anyhow::Result<Self> {
        let inner = TcpListener::bind(("127.0.0.1", 0)).await.context("no port for a Runtime API")?;
        let address = inner.local_addr()?.to_string();
        let (offers, receiver) = mpsc::channel(1);
        let api = Arc::new(RuntimeApi::new(receiver, function, config, tasks));
        let listener = QuickAckListener { inner, quick_ack: config.quick_ack };
        let router = api.router();
        let server = tasks.spawn(async move {
            drop(axum::serve(listener, router).await);
        });
        let started = Instant::now();
        let process = Process::spawn(command(function, config, &address), &function.name, logs)?;
        let process = Arc::new(process);
        if config.freeze_idle {
            api.freeze_when_idle(Arc::clone(&process));
        }
        Ok(Self {
            function: Arc::clone(function),
            config: Arc::clone(config),
            process,
            api,
            offers,
            started,
            busy: AtomicBool::new(true),
            invocations: AtomicUsize::new(0),
            _server: AbortOnDropHandle::new(server),
        })
    }

    /// Has the function handle one event; ends when it has sent its whole response, crashed or was killed.
    pub(super) async fn run(&self, request_id: String, event: Bytes, reply: ReplySlot) {
        self.invocations.fetch_add(1, Ordering::Relaxed);
        let (handed_over, taken) = oneshot::channel();
        let (finished, done) = oneshot::channel();
        let offer = Offer { request_id, event, reply: reply.clone(), handed_over, finished };
        drop(self.offers.send(offer).await);
        let handed_over = tokio::select! {
            taken = taken => taken.is_ok(),
            _ = self.process.exited() => false,
            () = tokio::time::sleep(self.config.init_timeout) => false,
        };
        if !handed_over {
            return self.end(&reply, Failure::Crashed).await;
        }
        let timeout = async {
            if self.config.enforce_timeout {
                tokio::time::sleep(self.function.timeout).await;
            } else {
                std::future::pending().await
            }
        };
        tokio::select! {
            biased;
            Ok(()) = done => {}
            _ = self.process.exited() => reply.fill(Reply::Failed(Failure::Crashed)),
            () = timeout => self.end(&reply, Failure::TimedOut).await,
        }
    }

    pub(super) fn info(&self) -> SandboxInfo {
        SandboxInfo {
            function: self.function.name.clone(),
            pid: self.process.pid(),
            memory: self.process.memory(),
            exec_to_first_poll: self.exec_to_first_poll(),
            invocations: self.invocations.load(Ordering::Relaxed),
            busy: self.busy.load(Ordering::Relaxed),
        }
    }

    pub(super) fn exec_to_first_poll(&self) -> Option<Duration> {
        self.api.first_poll().map(|polled| polled.saturating_duration_since(self.started))
    }

    /// Kills the process, as Lambda does with a sandbox that it can't use any more.
    async fn end(&self, reply: &ReplySlot, failure: Failure) {
        self.process.kill();
        self.process.exited().await;
        reply.fill(Reply::Failed(failure));
    }
}

/// The function's process with Lambda's environment and nothing of ours.
fn command(function: &FunctionConfig, config: &EmulatorConfig, runtime_api: &str) -> Command {
    let mut command = Command::new(&function.binary);
    let name = function.name.as_str();
    command
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin:/opt/bin")
        .env("LANG", "en_US.UTF-8")
        .env("TZ", ":UTC")
        .env("_HANDLER", "bootstrap")
        .env("AWS_LAMBDA_RUNTIME_API", runtime_api)
        .env("AWS_LAMBDA_FUNCTION_NAME", name)
        .env("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", function.memory_mb.to_string())
        .env("AWS_LAMBDA_FUNCTION_VERSION", "$LATEST")
        .env("AWS_LAMBDA_LOG_GROUP_NAME", format!("/aws/lambda/{name}"))
        .env("AWS_LAMBDA_LOG_STREAM_NAME", format!("emulated/[$LATEST]{}", uuid::Uuid::new_v4().simple()));
    if config.real_lambda_variables {
        command
            .env("AWS_LAMBDA_INITIALIZATION_TYPE", "on-demand")
            .env("LAMBDA_TASK_ROOT", "/var/task")
            .env("LAMBDA_RUNTIME_DIR", "/var/runtime")
            .env("AWS_REGION", "us-east-1")
            .env("AWS_DEFAULT_REGION", "us-east-1");
    }
    command.envs(function.environment.iter().map(|(name, value)| (name, value)));
    command
}
