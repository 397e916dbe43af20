//! The response body: it owns the run's handle, so that run and stream live and die together.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use agent::supervise::RunHandle;
use app::config::OnDisconnect;
use bytes::Bytes;
use domain::events::RunEvent;
use http_body::{Body, Frame};
use tokio::time::{Instant, Sleep};

use crate::sse::{Frames, KEEP_ALIVE};

/// Gateways cut idle streams; the strictest known do so after 30 s.
const SILENCE: Duration = Duration::from_secs(10);

/// Never fails: an error here would be written into the body as text by the runtime.
pub enum StreamBody {
    /// Frames that exist already: a problem document, or a finished run told again.
    Whole(VecDeque<Bytes>),
    Live(Live),
}

/// A running run's stream.
pub struct Live {
    handle: RunHandle,
    frames: Frames,
    silence: Pin<Box<Sleep>>,
    on_disconnect: OnDisconnect,
    done: bool,
}

impl StreamBody {
    pub fn whole(text: String) -> Self {
        Self::Whole(VecDeque::from([Bytes::from(text)]))
    }

    pub fn replay(events: &[RunEvent]) -> Self {
        let mut frames = Frames::default();
        Self::Whole(events.iter().map(|event| frames.frame(event)).collect())
    }

    pub fn live(handle: RunHandle, on_disconnect: OnDisconnect) -> Self {
        let silence = Box::pin(tokio::time::sleep(SILENCE));
        Self::Live(Live { handle, frames: Frames::default(), silence, on_disconnect, done: false })
    }
}

impl Body for StreamBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let next = match self.get_mut() {
            Self::Whole(frames) => Poll::Ready(frames.pop_front()),
            Self::Live(live) => live.poll_next(cx),
        };
        next.map(|bytes| bytes.map(|bytes| Ok(Frame::data(bytes))))
    }
}

impl Live {
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let next = match self.handle.events.poll_recv(cx) {
            Poll::Ready(Some(event)) => {
                self.done |= matches!(event, RunEvent::Done { .. });
                Some(self.frames.frame(&event))
            }
            Poll::Ready(None) => {
                self.done = true;
                return Poll::Ready(None);
            }
            Poll::Pending if self.silence.as_mut().poll(cx).is_ready() => Some(KEEP_ALIVE),
            Poll::Pending => return Poll::Pending,
        };
        self.silence.as_mut().reset(Instant::now() + SILENCE);
        Poll::Ready(next)
    }
}

impl Drop for Live {
    /// The client left early. The run's task has its own owner, the tracker: it finishes there unless the policy says no.
    fn drop(&mut self) {
        if !self.done && self.on_disconnect == OnDisconnect::Cancel {
            self.handle.cancel.cancel();
        }
    }
}

#[cfg(test)]
#[path = "body_tests.rs"]
mod tests;
