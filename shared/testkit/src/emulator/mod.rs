//! A local AWS Lambda that behaves like the real one: the real function binaries as child processes, a
//! Runtime API for each, and an HTTP front door that turns requests into events and replies into responses.
//!
//! What it can't do: limit CPU or memory, and send `SHUTDOWN` to extensions. Timeouts count from the moment
//! the function takes the event, as on Lambda.

mod binaries;
mod config;
mod event;
mod front;
mod function;
mod invocation;
mod logs;
mod process;
mod quick_ack;
mod raw;
mod reply;
mod runtime_api;
mod sandbox;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use serde_json::Value;
use tokio::net::TcpListener;
use tokio_util::task::{AbortOnDropHandle, TaskTracker};

pub use binaries::function_binary;
pub use config::{BodyEncoding, DeadlineHeader, EmulatorConfig, EventShape, FunctionConfig, HeaderCase};
pub use logs::{LogBuffer, LogLine, LogStream};
pub use process::Memory;
pub use raw::RawReply;
pub use reply::Failure;
pub use sandbox::SandboxInfo;

use function::Function;

/// A running emulator. Dropping it ends all processes it started.
pub struct Emulator {
    address: SocketAddr,
    functions: Arc<BTreeMap<String, Arc<Function>>>,
    logs: LogBuffer,
    _front_door: AbortOnDropHandle<()>,
}

impl Emulator {
    /// Opens the front door; sandboxes start with the first requests.
    ///
    /// # Errors
    /// When a binary is missing, a route names an unknown function, or no port is free.
    pub async fn start(config: EmulatorConfig) -> anyhow::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.context("no port for the front door")?;
        Self::start_on(listener, config)
    }

    /// As [`Emulator::start`], on a listener of the caller's choice.
    ///
    /// # Errors
    /// As `start`.
    pub fn start_on(listener: TcpListener, config: EmulatorConfig) -> anyhow::Result<Self> {
        let names = config.functions.iter().map(|function| function.name.as_str()).collect::<Vec<_>>();
        let targets = config.routes.iter().map(|(_, function)| function).chain([&config.default_function]);
        for target in targets {
            ensure!(names.contains(&target.as_str()), "a route leads to {target}, which is no function");
        }
        for function in &config.functions {
            ensure!(
                function.binary.is_file(),
                "{} does not exist: build it first",
                function.binary.display()
            );
        }
        let address = listener.local_addr()?;
        let (logs, tasks) = (LogBuffer::new(), TaskTracker::new());
        let config = Arc::new(config);
        let functions = config.functions.iter().map(|function| {
            let name = function.name.clone();
            (name, Arc::new(Function::new(function.clone(), &config, &logs, &tasks)))
        });
        let functions = Arc::new(functions.collect::<BTreeMap<_, _>>());
        let front = tasks.spawn(front::serve(listener, Arc::clone(&config), Arc::clone(&functions)));
        Ok(Self { address, functions, logs, _front_door: AbortOnDropHandle::new(front) })
    }

    /// `http://127.0.0.1:PORT`, without a final slash.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The sandboxes that are alive.
    pub fn sandboxes(&self) -> Vec<SandboxInfo> {
        self.functions.values().flat_map(|function| function.sandboxes()).collect()
    }

    /// Exec to first poll of every sandbox of a function that has served at least one invocation to its end.
    pub fn exec_to_first_poll(&self, function: &str) -> Vec<Duration> {
        self.functions.get(function).map(|function| function.cold_starts()).unwrap_or_default()
    }

    /// Everything the functions printed so far.
    pub fn logs(&self) -> &LogBuffer {
        &self.logs
    }

    /// SIGKILL for one sandbox; returns when it is gone and its output was read.
    ///
    /// # Errors
    /// When no living sandbox has this pid.
    pub async fn kill9(&self, pid: u32) -> anyhow::Result<()> {
        let sandbox = self.functions.values().find_map(|function| function.find(pid));
        let sandbox = sandbox.with_context(|| format!("no sandbox has the pid {pid}"))?;
        sandbox.process.kill();
        sandbox.process.exited().await;
        Ok(())
    }

    /// Hands an event to a function as it is and waits for the whole reply.
    ///
    /// # Errors
    /// When there is no such function.
    pub async fn invoke_raw(&self, function: &str, event: &Value) -> anyhow::Result<RawReply> {
        let function = self.functions.get(function).with_context(|| format!("no function {function}"))?;
        let request_id = uuid::Uuid::new_v4().to_string();
        let reply = function.invoke(request_id, event.to_string().into()).await;
        Ok(RawReply::collect(reply).await)
    }

    /// Ends all processes and returns their complete output.
    pub fn stop(self) -> LogBuffer {
        self.logs.clone()
    }
}

impl Drop for Emulator {
    fn drop(&mut self) {
        for function in self.functions.values() {
            function.shut_down();
        }
    }
}
