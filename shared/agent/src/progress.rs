//! The run's side of the event stream: a bounded channel that never lets a slow reader stall the work.

use std::sync::atomic::{AtomicU32, Ordering};

use domain::events::{RunEvent, Stage, Status, ToolProgress};
use domain::tool::ToolName;
use tokio::sync::mpsc;

use crate::context::RunContext;

/// Events that may wait for a slow reader. A run has about 60.
pub const CHANNEL_CAPACITY: usize = 128;
/// Places of the channel that no status takes: metadata, content or failure, and done always find one.
const KEPT: usize = 3;

pub struct Progress {
    events: mpsc::Sender<RunEvent>,
    sequence: AtomicU32,
}

impl Progress {
    pub fn channel() -> (Self, mpsc::Receiver<RunEvent>) {
        let (events, receiver) = mpsc::channel(CHANNEL_CAPACITY);
        (Self { events, sequence: AtomicU32::new(0) }, receiver)
    }

    pub fn stage(&self, ctx: &RunContext, stage: Stage) {
        self.status(ctx, stage, None, None);
    }

    pub fn tool(&self, ctx: &RunContext, tool: Option<ToolName>, progress: ToolProgress) {
        self.status(ctx, Stage::Tool, tool, Some(progress));
    }

    /// Progress is worth nothing late: when the channel is full the status is dropped, and its sequence number shows the gap.
    fn status(
        &self,
        ctx: &RunContext,
        stage: Stage,
        tool: Option<ToolName>,
        tool_call: Option<ToolProgress>,
    ) {
        let sequence = self.sequence.fetch_add(1, Ordering::Relaxed) + 1;
        if self.events.capacity() > KEPT {
            let status =
                Status { run_id: ctx.run_id, sequence, stage, elapsed_ms: ctx.elapsed_ms(), tool, tool_call };
            let _ = self.events.try_send(RunEvent::Status(status));
        }
    }

    /// Tells one of the (at most three) events that must arrive, without waiting. A reader that left is no error.
    pub fn must(&self, event: RunEvent) {
        let _ = self.events.try_send(event);
    }
}
