//! Cancel requests: the flag that a client sets in run control, as its run sees it.

use std::convert::Infallible;
use std::time::Duration;

use crate::context::RunContext;
use crate::ports::RunControl;

/// How often a run looks whether it was asked to stop.
const POLL: Duration = Duration::from_secs(1);
/// Time for one look.
const POLL_TIMEOUT: Duration = Duration::from_secs(2);

/// Looks for a request beside the run, so that no step waits for it. What it finds ends the run through its token: the
/// interrupted step still settles its budget and is audited.
pub(crate) async fn watch(control: &dyn RunControl, ctx: &RunContext) -> Infallible {
    loop {
        tokio::time::sleep(POLL).await;
        if requested(control, ctx, POLL_TIMEOUT).await {
            ctx.cancellation().cancel();
            return std::future::pending().await;
        }
    }
}

/// One look at the run's flag. A flag that can't be read is no request.
pub(crate) async fn requested(control: &dyn RunControl, ctx: &RunContext, within: Duration) -> bool {
    match tokio::time::timeout(within, control.is_cancelled(ctx.run_id, ctx.now())).await {
        Ok(Ok(asked)) => asked,
        Ok(Err(error)) => {
            tracing::warn!(run.id = %ctx.run_id, error = %error, "cancel flag unreadable");
            false
        }
        Err(_) => {
            tracing::warn!(run.id = %ctx.run_id, "cancel flag not read in time");
            false
        }
    }
}
