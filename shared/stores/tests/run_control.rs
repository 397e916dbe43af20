//! Run control on the embedded DynamoDB: one run per session, replays, quotas that never leak, expiry.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking, in its helpers, too")]

use std::sync::Arc;

use agent::ports::StoreError;
use agent::ports::run_control::{Admission, AdmissionRequest, CallerLimits, RunControl, Spent};
use domain::ids::{CallerId, RunId, SessionId};
use stores::DynamoRunControl;
use stores::run_control::Endpoint;
use testkit::dynamo::DynamoDb;
use time::{Duration, OffsetDateTime};

const TABLE: &str = "run-control";

fn run(n: u32) -> RunId {
    RunId::parse(&format!("0197a000-0000-7000-8000-{n:012}")).unwrap()
}

fn caller(text: &str) -> CallerId {
    CallerId::parse(text).unwrap()
}

fn session(text: &str) -> SessionId {
    SessionId::parse(text).unwrap()
}

/// A whole minute, so that a test's seconds stay within it.
fn noon() -> OffsetDateTime {
    OffsetDateTime::from_unix_timestamp(1_800_000_000).unwrap()
}

fn spent(tokens: u64) -> Spent {
    Spent { at: noon(), tokens }
}

fn request(n: u32, session_id: &str) -> AdmissionRequest {
    AdmissionRequest {
        run_id: run(n),
        session_id: session(session_id),
        caller: caller("alice"),
        idempotency_key: None,
        now: noon(),
        lease_until: noon() + Duration::seconds(120),
        limits: CallerLimits { concurrent_runs: 1000, runs_per_minute: u32::MAX, tokens_per_day: u64::MAX },
    }
}

async fn emulator() -> DynamoDb {
    DynamoDb::start(TABLE).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_fifty_runs_of_one_session_exactly_one_is_admitted() {
    let dynamo = emulator().await;
    let control = Arc::new(dynamo.run_control());
    let mut work = tokio::task::JoinSet::new();
    for n in 0..50 {
        let control = Arc::clone(&control);
        work.spawn(async move { (run(n), control.admit(&request(n, "s")).await.unwrap()) });
    }
    let outcomes = work.join_all().await;
    let admitted: Vec<RunId> =
        outcomes.iter().filter(|(_, a)| *a == Admission::Admitted).map(|(n, _)| *n).collect();
    assert_eq!(admitted.len(), 1);
    for (_, outcome) in outcomes.iter().filter(|(n, _)| *n != admitted[0]) {
        assert_eq!(*outcome, Admission::SessionBusy { run_id: admitted[0] });
    }
}

#[tokio::test]
async fn a_session_is_busy_until_release_or_until_its_lease_ends() {
    let dynamo = emulator().await;
    let control = dynamo.run_control();
    assert_eq!(control.admit(&request(1, "s")).await.unwrap(), Admission::Admitted);
    assert_eq!(control.admit(&request(1, "s")).await.unwrap(), Admission::Admitted, "its own run again");
    assert_eq!(control.admit(&request(2, "s")).await.unwrap(), Admission::SessionBusy { run_id: run(1) });
    assert_eq!(control.admit(&request(2, "other")).await.unwrap(), Admission::Admitted);

    // A stranger's release changes nothing; the owner's frees; both may be repeated.
    control.release(run(3), &session("s"), &caller("alice"), spent(0)).await.unwrap();
    assert_eq!(control.admit(&request(4, "s")).await.unwrap(), Admission::SessionBusy { run_id: run(1) });
    for _ in 0..2 {
        control.release(run(1), &session("s"), &caller("alice"), spent(0)).await.unwrap();
    }
    assert_eq!(control.admit(&request(4, "s")).await.unwrap(), Admission::Admitted);

    // Run 4 dies. Its lease holds to the second, then ends by itself, though its item is still there.
    let at = |seconds| AdmissionRequest { now: noon() + Duration::seconds(seconds), ..request(5, "s") };
    let later = |seconds| AdmissionRequest { lease_until: noon() + Duration::seconds(300), ..at(seconds) };
    assert_eq!(control.admit(&later(119)).await.unwrap(), Admission::SessionBusy { run_id: run(4) });
    assert_eq!(control.admit(&later(120)).await.unwrap(), Admission::Admitted);
    // A late release by the dead run leaves its successor alone.
    control.release(run(4), &session("s"), &caller("alice"), spent(0)).await.unwrap();
    assert_eq!(
        control.admit(&AdmissionRequest { run_id: run(6), ..at(121) }).await.unwrap(),
        Admission::SessionBusy { run_id: run(5) }
    );
}

#[tokio::test]
async fn callers_with_the_same_session_id_or_key_do_not_meet() {
    let dynamo = emulator().await;
    let control = dynamo.run_control();
    let keyed = |n, name: &str| AdmissionRequest {
        caller: caller(name),
        idempotency_key: Some("k".to_owned()),
        ..request(n, "s")
    };
    assert_eq!(control.admit(&keyed(1, "alice")).await.unwrap(), Admission::Admitted);
    assert_eq!(control.admit(&keyed(2, "bob")).await.unwrap(), Admission::Admitted);
    assert_eq!(control.admit(&keyed(3, "bob")).await.unwrap(), Admission::Replay { run_id: run(2) });
}

#[tokio::test]
async fn a_key_replays_its_first_run_for_a_day_and_a_refusal_or_withdrawal_keeps_none() {
    let dynamo = emulator().await;
    let control = dynamo.run_control();
    let keyed = |n, key: &str, session_id: &str| AdmissionRequest {
        idempotency_key: Some(key.to_owned()),
        ..request(n, session_id)
    };
    assert_eq!(control.admit(&keyed(1, "k", "s")).await.unwrap(), Admission::Admitted);
    // Both the key and the session are taken: the replay is the answer.
    assert_eq!(control.admit(&keyed(2, "k", "s")).await.unwrap(), Admission::Replay { run_id: run(1) });
    control.release(run(1), &session("s"), &caller("alice"), spent(0)).await.unwrap();
    assert_eq!(control.admit(&keyed(3, "k", "s")).await.unwrap(), Admission::Replay { run_id: run(1) });
    let tomorrow = |n, seconds: i64| AdmissionRequest {
        now: noon() + Duration::seconds(86_400 + seconds),
        lease_until: noon() + Duration::seconds(86_600),
        ..keyed(n, "k", "s")
    };
    assert_eq!(control.admit(&tomorrow(4, -1)).await.unwrap(), Admission::Replay { run_id: run(1) });
    assert_eq!(control.admit(&tomorrow(5, 0)).await.unwrap(), Admission::Admitted);

    assert_eq!(control.admit(&request(6, "busy")).await.unwrap(), Admission::Admitted);
    assert_eq!(
        control.admit(&keyed(7, "unused", "busy")).await.unwrap(),
        Admission::SessionBusy { run_id: run(6) }
    );
    assert_eq!(control.admit(&keyed(8, "unused", "free")).await.unwrap(), Admission::Admitted);

    control.withdraw(run(9), &session("free"), &caller("alice"), Some("unused")).await.unwrap();
    assert_eq!(control.admit(&keyed(9, "unused", "x")).await.unwrap(), Admission::Replay { run_id: run(8) });
    control.withdraw(run(8), &session("free"), &caller("alice"), Some("unused")).await.unwrap();
    assert_eq!(control.admit(&keyed(9, "unused", "free")).await.unwrap(), Admission::Admitted);
}

#[tokio::test]
async fn concurrent_runs_are_limited_and_dead_runs_do_not_count_for_ever() {
    let dynamo = emulator().await;
    let control = dynamo.run_control();
    let limits = CallerLimits { concurrent_runs: 3, runs_per_minute: u32::MAX, tokens_per_day: u64::MAX };
    let limited = |n: u32| AdmissionRequest { limits, ..request(n, &format!("s{n}")) };
    let full = Admission::RateLimited { limit: "concurrent_runs", retry_after_seconds: 5 };
    for n in 1..=3 {
        assert_eq!(control.admit(&limited(n)).await.unwrap(), Admission::Admitted);
    }
    assert_eq!(control.admit(&limited(4)).await.unwrap(), full);
    assert_eq!(
        control.admit(&AdmissionRequest { caller: caller("bob"), ..limited(5) }).await.unwrap(),
        Admission::Admitted
    );
    control.release(run(2), &session("s2"), &caller("alice"), spent(0)).await.unwrap();
    control.release(run(2), &session("s2"), &caller("alice"), spent(0)).await.unwrap();
    assert_eq!(control.admit(&limited(4)).await.unwrap(), Admission::Admitted);
    assert_eq!(control.admit(&limited(6)).await.unwrap(), full, "a repeated release frees one slot, not two");

    // Runs 1, 3 and 4 die.
    let at = |n, seconds| AdmissionRequest {
        now: noon() + Duration::seconds(seconds),
        lease_until: noon() + Duration::seconds(seconds + 120),
        ..limited(n)
    };
    assert_eq!(control.admit(&at(7, 119)).await.unwrap(), full);
    for n in 7..=9 {
        assert_eq!(control.admit(&at(n, 120)).await.unwrap(), Admission::Admitted);
    }
    assert_eq!(control.admit(&at(10, 121)).await.unwrap(), full);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn parallel_runs_of_one_caller_never_exceed_its_slots() {
    let dynamo = emulator().await;
    let control = Arc::new(dynamo.run_control());
    let limits = CallerLimits { concurrent_runs: 4, runs_per_minute: u32::MAX, tokens_per_day: u64::MAX };
    let mut work = tokio::task::JoinSet::new();
    for n in 0..20 {
        let control = Arc::clone(&control);
        work.spawn(async move {
            control.admit(&AdmissionRequest { limits, ..request(n, &format!("s{n}")) }).await.unwrap()
        });
    }
    let outcomes = work.join_all().await;
    assert_eq!(outcomes.iter().filter(|outcome| **outcome == Admission::Admitted).count(), 4);
}

#[tokio::test]
async fn starts_are_counted_by_the_minute_and_refused_ones_are_not() {
    let dynamo = emulator().await;
    let control = dynamo.run_control();
    let limits = CallerLimits { concurrent_runs: u32::MAX, runs_per_minute: 2, tokens_per_day: u64::MAX };
    let at = |n: u32, seconds| AdmissionRequest {
        now: noon() + Duration::seconds(seconds),
        limits,
        ..request(n, &format!("s{n}"))
    };
    assert_eq!(control.admit(&at(1, 0)).await.unwrap(), Admission::Admitted);
    let busy = AdmissionRequest { session_id: session("s1"), ..at(2, 1) };
    assert_eq!(control.admit(&busy).await.unwrap(), Admission::SessionBusy { run_id: run(1) });
    assert_eq!(control.admit(&at(3, 2)).await.unwrap(), Admission::Admitted);
    let refused = Admission::RateLimited { limit: "runs_per_minute", retry_after_seconds: 57 };
    assert_eq!(control.admit(&at(4, 3)).await.unwrap(), refused);
    assert_eq!(control.admit(&at(4, 60)).await.unwrap(), Admission::Admitted);

    for (limits, limit) in [
        (CallerLimits { concurrent_runs: 0, ..limits }, "concurrent_runs"),
        (CallerLimits { runs_per_minute: 0, ..limits }, "runs_per_minute"),
    ] {
        let closed = control.admit(&AdmissionRequest { limits, ..at(9, 120) }).await.unwrap();
        assert!(matches!(closed, Admission::RateLimited { limit: l, .. } if l == limit), "{closed:?}");
    }
}

#[tokio::test]
async fn tokens_are_counted_once_by_the_day_of_the_end_and_close_the_door_until_midnight() {
    let dynamo = emulator().await;
    let control = dynamo.run_control();
    let limits = CallerLimits { tokens_per_day: 1000, ..CallerLimits::default() };
    let at = |n: u32, seconds| AdmissionRequest {
        now: noon() + Duration::seconds(seconds),
        limits,
        ..request(n, &format!("s{n}"))
    };
    let ends = |n: u32, tokens| {
        let control = &control;
        async move { control.release(run(n), &session(&format!("s{n}")), &caller("alice"), spent(tokens)).await }
    };
    assert_eq!(control.admit(&at(1, 0)).await.unwrap(), Admission::Admitted);
    assert_eq!(control.admit(&at(2, 0)).await.unwrap(), Admission::Admitted);
    for _ in 0..3 {
        ends(1, 999).await.unwrap();
    }
    assert_eq!(control.admit(&at(3, 0)).await.unwrap(), Admission::Admitted, "counted once");
    ends(2, 1).await.unwrap();
    let midnight = 86_400 - noon().unix_timestamp().rem_euclid(86_400);
    let refused = Admission::RateLimited {
        limit: "tokens_per_day",
        retry_after_seconds: u32::try_from(midnight).unwrap(),
    };
    assert_eq!(control.admit(&at(4, 0)).await.unwrap(), refused);
    let other = AdmissionRequest { caller: caller("bob"), ..at(5, 0) };
    assert_eq!(control.admit(&other).await.unwrap(), Admission::Admitted, "another caller's day");
    assert_eq!(control.admit(&at(6, midnight)).await.unwrap(), Admission::Admitted, "a new day");
    let none = CallerLimits { tokens_per_day: 0, ..limits };
    let closed = control.admit(&AdmissionRequest { limits: none, ..at(7, midnight) }).await.unwrap();
    assert!(matches!(closed, Admission::RateLimited { limit: "tokens_per_day", .. }), "{closed:?}");
}

#[tokio::test]
async fn cancel_flags_belong_to_one_run_and_end() {
    let dynamo = emulator().await;
    let control = dynamo.run_control();
    assert!(!control.is_cancelled(run(1), noon()).await.unwrap());
    control.request_cancel(run(1), noon() + Duration::seconds(60)).await.unwrap();
    assert!(control.is_cancelled(run(1), noon() + Duration::seconds(59)).await.unwrap());
    assert!(!control.is_cancelled(run(2), noon()).await.unwrap());
    assert!(!control.is_cancelled(run(1), noon() + Duration::seconds(60)).await.unwrap());
}

#[tokio::test]
async fn the_table_can_be_created_again_and_a_missing_one_is_unavailable() {
    let dynamo = emulator().await;
    let control = dynamo.run_control();
    control.create_table().await.unwrap();
    control.ping().await.unwrap();

    let endpoint = || Endpoint::Emulator { endpoint_url: dynamo.endpoint_url().to_owned() };
    let absent = DynamoRunControl::connect_lazy("absent", endpoint());
    assert!(matches!(absent.ping().await, Err(StoreError::Unavailable { .. })));
    assert!(matches!(absent.admit(&request(1, "s")).await, Err(StoreError::Unavailable { .. })));
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let unreachable = DynamoRunControl::connect_lazy(
        TABLE,
        Endpoint::Emulator { endpoint_url: format!("http://{closed}") },
    );
    assert!(matches!(unreachable.admit(&request(1, "s")).await, Err(StoreError::Unavailable { .. })));
}

/// Forwards to the emulator; the answer to the `lose`th request is lost after the emulator carried it out.
async fn lossy_proxy(upstream: &str, lose: std::ops::Range<usize>) -> (String, tokio::task::JoinSet<()>) {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let upstream = upstream.trim_start_matches("http://").to_owned();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let mut tasks = tokio::task::JoinSet::new();
    tasks.spawn(async move {
        // One request per connection is enough: whoever lost an answer has to connect again.
        for count in 0.. {
            let (mut client, _) = listener.accept().await.unwrap();
            let mut server = tokio::net::TcpStream::connect(&upstream).await.unwrap();
            let mut buffer = vec![0; 64 * 1024];
            let mut got = Vec::new();
            let whole = |got: &[u8]| {
                let text = String::from_utf8_lossy(got).to_lowercase();
                let head = text.find("\r\n\r\n")?;
                let length =
                    text.split("content-length:").nth(1)?.lines().next()?.trim().parse::<usize>().ok()?;
                (got.len() >= head + 4 + length).then_some(())
            };
            while whole(&got).is_none() {
                let n = client.read(&mut buffer).await.unwrap();
                got.extend_from_slice(&buffer[..n]);
            }
            server.write_all(&got).await.unwrap();
            let mut answer = Vec::new();
            while whole(&answer).is_none() {
                let n = server.read(&mut buffer).await.unwrap();
                answer.extend_from_slice(&buffer[..n]);
            }
            if !lose.contains(&count) {
                client.write_all(&answer).await.unwrap();
            }
        }
    });
    (url, tasks)
}

#[tokio::test]
async fn a_lost_answer_is_an_admission_when_the_lease_says_so() {
    let dynamo = emulator().await;
    // One loss: the SDK repeats the transaction with the same token. Two: the lease is read back.
    for (n, lost) in [(1, 0..1), (2, 0..2)] {
        let (url, _proxy) = lossy_proxy(dynamo.endpoint_url(), lost.clone()).await;
        let control = DynamoRunControl::connect_lazy(TABLE, Endpoint::Emulator { endpoint_url: url });
        let limits = CallerLimits { concurrent_runs: 10, runs_per_minute: 10, tokens_per_day: u64::MAX };
        let admitted = control.admit(&AdmissionRequest { limits, ..request(n, &format!("s{n}")) }).await;
        assert_eq!(admitted.unwrap(), Admission::Admitted, "{lost:?}");
        assert_eq!(
            dynamo.run_control().admit(&request(100, &format!("s{n}"))).await.unwrap(),
            Admission::SessionBusy { run_id: run(n) }
        );
    }
}
