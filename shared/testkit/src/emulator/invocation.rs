//! One invocation on its way: the event for the function, and the place for its reply.

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use tokio::sync::oneshot;

use super::reply::Reply;

/// One invocation on its way to the function.
pub(super) struct Offer {
    pub(super) request_id: String,
    pub(super) event: Bytes,
    pub(super) reply: ReplySlot,
    /// Told when the function has taken the event.
    pub(super) handed_over: oneshot::Sender<()>,
    /// Told when the function's whole response has arrived.
    pub(super) finished: oneshot::Sender<()>,
}

/// The place for the one reply of an invocation; whoever comes first fills it.
#[derive(Clone)]
pub(super) struct ReplySlot(Arc<Mutex<Option<oneshot::Sender<Reply>>>>);

impl ReplySlot {
    pub(super) fn new(sender: oneshot::Sender<Reply>) -> Self {
        Self(Arc::new(Mutex::new(Some(sender))))
    }

    /// Does nothing when there already was a reply or nobody waits any more.
    pub(super) fn fill(&self, reply: Reply) {
        if let Some(sender) = self.0.lock().unwrap_or_else(PoisonError::into_inner).take() {
            drop(sender.send(reply));
        }
    }
}
