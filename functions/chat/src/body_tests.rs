//! Keep-alives, and what an early drop does under both policies.

use domain::events::FailureCode;
use domain::ids::RunId;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::*;

fn live(policy: OnDisconnect) -> (mpsc::Sender<RunEvent>, CancellationToken, StreamBody) {
    let run_id = RunId::parse("0190b3c4-0000-7000-8000-000000000000").unwrap();
    let (sender, events) = mpsc::channel(8);
    let cancel = CancellationToken::new();
    (sender, cancel.clone(), StreamBody::live(RunHandle { run_id, events, cancel }, policy))
}

async fn next(body: &mut StreamBody) -> Option<Bytes> {
    let frame = std::future::poll_fn(|cx| Pin::new(&mut *body).poll_frame(cx)).await;
    frame.map(|frame| frame.unwrap().into_data().unwrap())
}

#[tokio::test(start_paused = true)]
async fn silence_is_filled_every_ten_seconds_and_events_end_it() {
    let (sender, _, mut body) = live(OnDisconnect::Finish);
    let started = Instant::now();
    assert_eq!(next(&mut body).await.unwrap(), KEEP_ALIVE);
    assert_eq!(next(&mut body).await.unwrap(), KEEP_ALIVE);
    assert_eq!(started.elapsed(), SILENCE * 2);
    let run_id = RunId::parse("0190b3c4-0000-7000-8000-000000000000").unwrap();
    sender.send(RunEvent::failure(run_id, FailureCode::Internal)).await.unwrap();
    assert!(next(&mut body).await.unwrap().starts_with(b"id: 1\nevent: failure\n"));
    drop(sender);
    assert_eq!(next(&mut body).await, None);
}

#[tokio::test]
async fn an_early_drop_cancels_only_if_the_policy_says_so() {
    for (policy, cancelled) in [(OnDisconnect::Finish, false), (OnDisconnect::Cancel, true)] {
        let (_sender, cancel, body) = live(policy);
        drop(body);
        assert_eq!(cancel.is_cancelled(), cancelled, "{policy:?}");
    }
}
