//! One function and its sandboxes: idle ones are used again, more are started while all are busy.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::oneshot;
use tokio_util::task::TaskTracker;

use super::config::{EmulatorConfig, FunctionConfig};
use super::invocation::ReplySlot;
use super::logs::LogBuffer;
use super::reply::{Failure, Reply};
use super::sandbox::{Sandbox, SandboxInfo};

pub(super) struct Function {
    config: Arc<FunctionConfig>,
    emulator: Arc<EmulatorConfig>,
    logs: LogBuffer,
    tasks: TaskTracker,
    pool: Mutex<Pool>,
}

#[derive(Default)]
struct Pool {
    sandboxes: Vec<Arc<Sandbox>>,
    starting: usize,
    closed: bool,
    /// Exec to first poll of every sandbox that was used, also of those that are gone.
    cold_starts: Vec<Duration>,
}

enum Place {
    Idle(Arc<Sandbox>),
    New,
}

impl Function {
    pub(super) fn new(
        config: FunctionConfig,
        emulator: &Arc<EmulatorConfig>,
        logs: &LogBuffer,
        tasks: &TaskTracker,
    ) -> Self {
        Self {
            config: Arc::new(config),
            emulator: Arc::clone(emulator),
            logs: logs.clone(),
            tasks: tasks.clone(),
            pool: Mutex::default(),
        }
    }

    /// The function's reply. The invocation goes on by itself when the caller stops waiting, as it does on
    /// AWS.
    pub(super) async fn invoke(self: &Arc<Self>, request_id: String, event: Bytes) -> Reply {
        let Some(place) = self.reserve() else { return Reply::Failed(Failure::Throttled) };
        let (sender, reply) = oneshot::channel();
        let slot = ReplySlot::new(sender);
        let function = Arc::clone(self);
        self.tasks.spawn(async move {
            let sandbox = match place {
                Place::Idle(sandbox) => sandbox,
                Place::New => match function.start().await {
                    Ok(sandbox) => sandbox,
                    Err(fault) => return slot.fill(Reply::Failed(Failure::NotStarted(format!("{fault:#}")))),
                },
            };
            sandbox.run(request_id, event, slot).await;
            function.release(&sandbox);
        });
        reply.await.unwrap_or(Reply::Failed(Failure::Crashed))
    }

    pub(super) fn sandboxes(&self) -> Vec<SandboxInfo> {
        let pool = self.pool();
        pool.sandboxes
            .iter()
            .filter(|sandbox| sandbox.process.is_running())
            .map(|sandbox| sandbox.info())
            .collect()
    }

    pub(super) fn find(&self, pid: u32) -> Option<Arc<Sandbox>> {
        self.pool().sandboxes.iter().find(|sandbox| sandbox.process.pid() == pid).cloned()
    }

    pub(super) fn cold_starts(&self) -> Vec<Duration> {
        self.pool().cold_starts.clone()
    }

    /// Ends all processes; none is started afterwards. Blocks the thread until they are gone.
    pub(super) fn shut_down(&self) {
        let sandboxes = {
            let mut pool = self.pool();
            pool.closed = true;
            std::mem::take(&mut pool.sandboxes)
        };
        for sandbox in &sandboxes {
            sandbox.process.terminate();
        }
        for sandbox in &sandboxes {
            sandbox.process.stop(Duration::from_secs(1));
        }
    }

    fn reserve(&self) -> Option<Place> {
        let mut pool = self.pool();
        pool.sandboxes.retain(|sandbox| sandbox.process.is_running());
        if let Some(idle) = pool.sandboxes.iter().find(|sandbox| !sandbox.busy.load(Ordering::Relaxed)) {
            idle.busy.store(true, Ordering::Relaxed);
            return Some(Place::Idle(Arc::clone(idle)));
        }
        if pool.closed || pool.sandboxes.len() + pool.starting >= self.emulator.max_sandboxes {
            return None;
        }
        pool.starting += 1;
        Some(Place::New)
    }

    async fn start(&self) -> anyhow::Result<Arc<Sandbox>> {
        let started = Sandbox::start(&self.config, &self.emulator, &self.logs, &self.tasks).await;
        let mut pool = self.pool();
        pool.starting -= 1;
        let sandbox = Arc::new(started?);
        anyhow::ensure!(!pool.closed, "the emulator is shutting down");
        pool.sandboxes.push(Arc::clone(&sandbox));
        Ok(sandbox)
    }

    fn release(&self, sandbox: &Arc<Sandbox>) {
        let mut pool = self.pool();
        if sandbox.info().invocations == 1 {
            pool.cold_starts.extend(sandbox.exec_to_first_poll());
        }
        pool.sandboxes.retain(|sandbox| sandbox.process.is_running());
        sandbox.busy.store(false, Ordering::Relaxed);
    }

    fn pool(&self) -> MutexGuard<'_, Pool> {
        self.pool.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
