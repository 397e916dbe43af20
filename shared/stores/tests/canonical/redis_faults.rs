//! What a Redis that fails does to the store: it recovers by itself where the next command can, fails closed where not, and never
//! hangs.

use std::time::Duration;

use agent::ports::StoreError;
use testkit::fault_proxy::{Fault, FaultProxy};
use testkit::redis::{self, NOT_INSTALLED, Redis};

use crate::redis::open;
use crate::{RUN, id, ready, run, started};

fn is_unavailable<T: std::fmt::Debug>(result: &Result<T, StoreError>) -> bool {
    matches!(result, Err(StoreError::Unavailable { .. }))
}

#[tokio::test]
async fn nobody_listens() {
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let store = open(&format!("redis://127.0.0.1:{port}"));
    assert!(is_unavailable(&store.ping().await));
    assert!(is_unavailable(&store.start(&started(RUN, "call_1")).await));
    assert!(is_unavailable(&store.read(run(RUN), &[id("call_1")]).await));
}

/// Sockets of a sandbox that was frozen are closed by the server meanwhile.
#[tokio::test]
async fn a_dead_socket_is_replaced_without_an_error() {
    let Some(server) = Redis::start().await.unwrap() else { return eprintln!("{NOT_INSTALLED}") };
    let store = open(&server.url());
    store.start(&started(RUN, "call_1")).await.unwrap();
    for _ in 0..3 {
        server.cli(&["CLIENT", "KILL", "TYPE", "normal"]).unwrap();
        store.ping().await.unwrap();
    }
    server.cli(&["CLIENT", "KILL", "TYPE", "normal"]).unwrap();
    store.finish(&ready(RUN, "call_1", "{}")).await.unwrap();
    assert_eq!(store.read(run(RUN), &[id("call_1")]).await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_server_that_was_restarted_is_used_again_and_its_lost_records_are_absent() {
    let Some(mut server) = Redis::start().await.unwrap() else { return eprintln!("{NOT_INSTALLED}") };
    let store = open(&server.url());
    store.start(&started(RUN, "call_1")).await.unwrap();
    store.finish(&ready(RUN, "call_1", "{}")).await.unwrap();
    server.kill();
    assert!(is_unavailable(&store.ping().await));
    server.start_again().await.unwrap();
    assert!(store.read(run(RUN), &[id("call_1")]).await.unwrap().is_empty());
    store.start(&started(RUN, "call_2")).await.unwrap();
    store.finish(&ready(RUN, "call_2", "{}")).await.unwrap();
}

#[tokio::test]
async fn a_server_that_answers_nothing_is_given_up() {
    let Some(server) = Redis::start().await.unwrap() else { return eprintln!("{NOT_INSTALLED}") };
    let store = open(&server.url());
    store.ping().await.unwrap();
    server.freeze().unwrap();
    assert!(is_unavailable(&store.start(&started(RUN, "call_1")).await));
    server.thaw().unwrap();
    store.ping().await.unwrap();
}

/// A failover turns the server behind an open connection into a replica.
#[tokio::test]
async fn a_connection_to_what_became_a_replica_is_given_up() {
    let Some((primary, replica)) = redis::replica_pair().await.unwrap() else {
        return eprintln!("{NOT_INSTALLED}");
    };
    let store = open(&primary.url());
    store.start(&started(RUN, "call_1")).await.unwrap();
    replica.cli(&["REPLICAOF", "NO", "ONE"]).unwrap();
    primary.cli(&["REPLICAOF", "127.0.0.1", &replica.port().to_string()]).unwrap();
    assert!(is_unavailable(&store.finish(&ready(RUN, "call_1", "{}")).await));
    // The old primary comes back: the store connects anew instead of keeping its grudge.
    primary.cli(&["REPLICAOF", "NO", "ONE"]).unwrap();
    store.start(&started(RUN, "call_2")).await.unwrap();
}

#[tokio::test]
async fn a_full_server_fails_the_write_and_keeps_the_records() {
    let arguments = ["--maxmemory-policy", "noeviction"];
    let Some(server) = Redis::with(&arguments).await.unwrap() else { return eprintln!("{NOT_INSTALLED}") };
    let store = open(&server.url());
    store.start(&started(RUN, "call_1")).await.unwrap();
    server.cli(&["CONFIG", "SET", "maxmemory", "1"]).unwrap();
    assert!(is_unavailable(&store.start(&started(RUN, "call_2")).await));
    assert!(is_unavailable(&store.finish(&ready(RUN, "call_1", "{}")).await));
    assert_eq!(store.read(run(RUN), &[id("call_1")]).await.unwrap().len(), 1);
    server.cli(&["CONFIG", "SET", "maxmemory", "0"]).unwrap();
    store.finish(&ready(RUN, "call_1", "{}")).await.unwrap();
}

#[tokio::test]
async fn a_password_that_is_wrong_or_was_changed_is_a_refusal_without_the_password() {
    let Some(server) = Redis::start().await.unwrap() else { return eprintln!("{NOT_INSTALLED}") };
    let known = open(&format!("redis://:obviously-fake@127.0.0.1:{}", server.port()));
    server.cli(&["CONFIG", "SET", "requirepass", "obviously-fake"]).unwrap();
    known.ping().await.unwrap();
    let store = open(&format!("redis://:not-the-one@127.0.0.1:{}", server.port()));
    let refused = store.ping().await.unwrap_err();
    let mut told = format!("{refused:?} {refused}");
    let mut cause = std::error::Error::source(&refused);
    while let Some(error) = cause {
        told.push_str(&error.to_string());
        cause = error.source();
    }
    assert!(!told.contains("not-the-one"), "{told}");
}

/// What a proxy in front of the server does to a write, and what the store says of it.
#[tokio::test]
async fn networks_that_fail_in_every_way() {
    let Some(server) = Redis::start().await.unwrap() else { return eprintln!("{NOT_INSTALLED}") };
    for (fault, survives) in [
        (Fault::Delay(Duration::from_millis(30)), true),
        (Fault::Throttle(2000), true),
        (Fault::BlackHole, false),
        (Fault::LostAnswers, false),
        (Fault::Cut, false),
        (Fault::Reset, false),
    ] {
        let proxy = FaultProxy::start(server.port()).await.unwrap();
        let store = open(&format!("redis://127.0.0.1:{}", proxy.port()));
        let call = format!("{fault:?}").replace(['(', ')'], "-");
        store.ping().await.unwrap();
        proxy.set(fault);
        let written = store.start(&started(RUN, &call)).await;
        assert_eq!(written.is_ok(), survives, "{fault:?}: {written:?}");
        assert!(survives || is_unavailable(&written), "{fault:?}");
        proxy.set(Fault::None);
        // Whether the lost write happened is read, not guessed; and the store works again by itself.
        let stored = store.read(run(RUN), &[id(&call)]).await.unwrap();
        assert_eq!(stored.len(), usize::from(survives || fault == Fault::LostAnswers), "{fault:?}");
    }
}

/// The first try is carried out but its answer is lost with the connection; the second one finds its own write.
#[tokio::test]
async fn a_write_whose_answer_was_lost_is_recognised_as_its_own() {
    let Some(server) = Redis::start().await.unwrap() else { return eprintln!("{NOT_INSTALLED}") };
    let proxy = FaultProxy::start(server.port()).await.unwrap();
    let store = open(&format!("redis://127.0.0.1:{}", proxy.port()));
    store.ping().await.unwrap();
    for call in ["call_1", "call_2"] {
        proxy.set(Fault::LostAnswers);
        let record = started(RUN, call);
        let writing = store.start(&record);
        let mending = async {
            while server.cli(&["EXISTS", &format!("superbiz:1:run:{{{RUN}}}:call:{call}")]).unwrap() != "1" {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            proxy.set(Fault::Cut);
            tokio::time::sleep(Duration::from_millis(20)).await;
            proxy.set(Fault::None);
        };
        let (written, ()) = tokio::join!(writing, mending);
        written.unwrap();
    }
    let mut other = started(RUN, "call_1");
    other.started_at = "2026-01-01T00:00:09Z".to_owned();
    assert!(matches!(store.start(&other).await, Err(StoreError::Conflict { .. })));
}
