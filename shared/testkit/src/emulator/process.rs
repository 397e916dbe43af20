//! One child process: its output, its memory, its end. Threads instead of tasks, so that it also ends cleanly
//! when it is dropped outside a runtime.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::Context as _;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};
use tokio::sync::watch;

use super::logs::{LogBuffer, LogLine, LogStream};

/// Memory of a process in bytes, as the kernel counts it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Memory {
    pub rss: u64,
    /// The highest `rss` so far.
    pub peak_rss: u64,
}

pub(super) struct Process {
    pid: Pid,
    /// `true` once the child was reaped: from then on the pid may belong to somebody else.
    reaped: Arc<Mutex<bool>>,
    exited: watch::Receiver<Option<ExitStatus>>,
    end: Mutex<Option<(Receiver<()>, JoinHandle<()>)>>,
}

impl Process {
    pub(super) fn spawn(mut command: Command, function: &str, logs: &LogBuffer) -> anyhow::Result<Self> {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command
            .spawn()
            .with_context(|| format!("cannot start {}", command.get_program().to_string_lossy()))?;
        let pid = Pid::from_child(&child);
        let out = child.stdout.take().map(|pipe| Box::new(pipe) as Box<dyn Read + Send>);
        let err = child.stderr.take().map(|pipe| Box::new(pipe) as Box<dyn Read + Send>);
        let readers = [(out, LogStream::Stdout), (err, LogStream::Stderr)]
            .into_iter()
            .filter_map(|(pipe, stream)| {
                let (logs, function) = (logs.clone(), function.to_owned());
                let pid = pid.as_raw_pid().unsigned_abs();
                pipe.map(|pipe| std::thread::spawn(move || read_lines(pipe, stream, &function, pid, &logs)))
            })
            .collect::<Vec<_>>();
        let reaped = Arc::new(Mutex::new(false));
        let (exited_sender, exited) = watch::channel(None);
        let (gone_sender, gone) = channel();
        let waiter = std::thread::spawn({
            let reaped = Arc::clone(&reaped);
            move || {
                let status = reap(&mut child, pid, &reaped);
                drop(gone_sender);
                // The exit is announced after the last line, so that whoever waits for it sees a complete
                // log.
                for reader in readers {
                    drop(reader.join());
                }
                exited_sender.send_replace(Some(status));
            }
        });
        Ok(Self { pid, reaped, exited, end: Mutex::new(Some((gone, waiter))) })
    }

    pub(super) fn pid(&self) -> u32 {
        self.pid.as_raw_pid().unsigned_abs()
    }

    pub(super) fn is_running(&self) -> bool {
        self.exited.borrow().is_none()
    }

    /// Waits until the process has ended and its output was read to the end.
    pub(super) async fn exited(&self) -> ExitStatus {
        let mut exited = self.exited.clone();
        match exited.wait_for(Option::is_some).await.map(|status| *status) {
            Ok(Some(status)) => status,
            // Only a panic of the waiter thread gets here.
            _ => ExitStatus::default(),
        }
    }

    pub(super) fn kill(&self) {
        self.signal(Signal::KILL);
    }

    /// Stops the process where it stands.
    pub(super) fn freeze(&self) {
        self.signal(Signal::STOP);
    }

    pub(super) fn thaw(&self) {
        self.signal(Signal::CONT);
    }

    pub(super) fn terminate(&self) {
        self.signal(Signal::TERM);
        self.thaw();
    }

    /// SIGTERM, after `grace` SIGKILL; returns when the process is reaped. Blocks the thread.
    pub(super) fn stop(&self, grace: Duration) {
        let end = self.end.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some((gone, waiter)) = end else { return };
        self.terminate();
        if gone.recv_timeout(grace) == Err(RecvTimeoutError::Timeout) {
            self.kill();
        }
        drop(waiter.join());
    }

    pub(super) fn memory(&self) -> Option<Memory> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid())).ok()?;
        let bytes = |key: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(key))?;
            line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok().map(|kib| kib * 1024)
        };
        Some(Memory { rss: bytes("VmRSS:")?, peak_rss: bytes("VmHWM:")? })
    }

    /// The lock makes sure that the pid still is this child's: reaping takes it too.
    fn signal(&self, signal: Signal) {
        let reaped = self.reaped.lock().unwrap_or_else(PoisonError::into_inner);
        if !*reaped {
            let _ = kill_process(self.pid, signal);
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.stop(Duration::from_secs(1));
    }
}

/// Waits for the end without reaping, then reaps under the lock.
fn reap(child: &mut Child, pid: Pid, reaped: &Mutex<bool>) -> ExitStatus {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    while let Err(rustix::io::Errno::INTR) = waitid(WaitId::Pid(pid), options) {}
    let mut reaped = reaped.lock().unwrap_or_else(PoisonError::into_inner);
    let status = child.wait().unwrap_or_default();
    *reaped = true;
    status
}

fn read_lines(pipe: Box<dyn Read + Send>, stream: LogStream, function: &str, pid: u32, logs: &LogBuffer) {
    let mut pipe = BufReader::new(pipe);
    let mut line = Vec::new();
    while pipe.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
        if line.last() == Some(&b'\n') {
            line.pop();
        }
        let text = String::from_utf8_lossy(&line).into_owned();
        logs.push(LogLine { function: function.to_owned(), pid, stream, text });
        line.clear();
    }
}
