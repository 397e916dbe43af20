//! The Redis store against real servers: plain, TLS, a cluster.

use std::sync::Arc;

use agent::ports::{CanonicalStore, StoreError, SystemClock};
use domain::evidence::CanonicalRecord;
use testkit::redis::{self, NOT_INSTALLED, Redis};

use crate::{OTHER_RUN, RUN, behaviour, id, ready, run, started};

pub fn open(url: &str) -> Arc<dyn CanonicalStore> {
    stores::canonical::open(url, Arc::new(SystemClock)).unwrap()
}

fn key(run_id: &str, call: &str) -> String {
    format!("superbiz:1:run:{{{run_id}}}:call:{call}")
}

#[tokio::test]
async fn a_plain_server() {
    let Some(server) = Redis::start().await.unwrap() else { return eprintln!("{NOT_INSTALLED}") };
    behaviour::all(&|| open(&server.url())).await;
}

#[tokio::test]
async fn a_server_that_speaks_tls_with_an_authority_of_its_own() {
    let Some(server) = Redis::with_tls().await.unwrap() else { return eprintln!("{NOT_INSTALLED}") };
    behaviour::all(&|| open(&server.url())).await;
    let without_authority = format!("rediss://localhost:{}", server.port());
    assert!(matches!(open(&without_authority).ping().await, Err(StoreError::Unavailable { .. })));
    let in_the_clear = format!("redis://localhost:{}", server.port());
    assert!(matches!(open(&in_the_clear).ping().await, Err(StoreError::Unavailable { .. })));
}

#[tokio::test]
async fn a_cluster_found_through_one_of_its_nodes() {
    let Some(nodes) = redis::cluster().await.unwrap() else { return eprintln!("{NOT_INSTALLED}") };
    let one = nodes[0].url();
    behaviour::all(&|| open(&one)).await;
    let several = format!("redis://127.0.0.1:{},127.0.0.1:{}", nodes[1].port(), nodes[2].port());
    let store = open(&several);
    // Runs fall on different nodes; the calls of one run are read in one command.
    for n in 0..20 {
        let run_id = format!("0197a000-0000-7000-8000-1000000000{n:02}");
        for call in ["a", "b", "c"] {
            store.start(&started(&run_id, call)).await.unwrap();
            store.finish(&ready(&run_id, call, "{}")).await.unwrap();
        }
        assert_eq!(store.read(run(&run_id), &["a", "b", "c"].map(id)).await.unwrap().len(), 3);
    }
    let held = nodes.iter().filter(|node| node.cli(&["DBSIZE"]).unwrap() != "0").count();
    assert!(held > 1, "more than one node holds records");
}

#[tokio::test]
async fn every_record_has_a_time_to_live_and_costs_few_round_trips() {
    let Some(server) = Redis::start().await.unwrap() else { return eprintln!("{NOT_INSTALLED}") };
    let store = open(&server.url());
    store.start(&started(RUN, "call_1")).await.unwrap();
    let left = |call: &str| server.cli(&["PTTL", &key(RUN, call)]).unwrap().parse::<i64>().unwrap();
    assert!((86_000_000..=86_400_000).contains(&left("call_1")));
    store.finish(&ready(RUN, "call_1", "{}")).await.unwrap();
    assert!((86_000_000..=86_400_000).contains(&left("call_1")), "the second write keeps it");

    server.cli(&["CONFIG", "RESETSTAT"]).unwrap();
    for call in ["x", "y", "z"] {
        store.start(&started(RUN, call)).await.unwrap();
        store.finish(&ready(RUN, call, "{}")).await.unwrap();
    }
    store.read(run(RUN), &["x", "y", "z"].map(id)).await.unwrap();
    let stats = server.cli(&["INFO", "commandstats"]).unwrap();
    let calls = |command: &str| {
        let line = stats.lines().find_map(|line| line.strip_prefix(&format!("cmdstat_{command}:calls=")));
        line.and_then(|rest| rest.split(',').next()).map_or(0, |n| n.parse::<u32>().unwrap())
    };
    // The script's own GET and SET are counted with ours: three a call, no read-back.
    let counts = ["evalsha", "eval", "mget", "set", "get"].map(calls);
    assert_eq!(counts, [3, 0, 1, 6, 3], "{stats}");
}

/// What another run or another program left under the key is never believed.
#[tokio::test]
async fn what_is_not_this_calls_record_is_corrupt() {
    let Some(server) = Redis::start().await.unwrap() else { return eprintln!("{NOT_INSTALLED}") };
    let store = open(&server.url());
    let json = |record: &CanonicalRecord| serde_json::to_string(record).unwrap();
    let wrong = [
        String::new(),
        "S".to_owned(),
        format!("T{}", json(&ready(OTHER_RUN, "call_1", "{}"))),
        format!("T{}", json(&ready(RUN, "call_2", "{}"))),
        format!("T{}", json(&started(RUN, "call_1"))),
        format!("S{}", json(&ready(RUN, "call_1", "{}"))),
        json(&started(RUN, "call_1")),
    ];
    for value in wrong {
        server.cli(&["SET", &key(RUN, "call_1"), &value]).unwrap();
        let read = store.read(run(RUN), &[id("call_1")]).await;
        assert!(matches!(read, Err(StoreError::Corrupt { .. })), "{value:.80}");
    }
    server.cli(&["DEL", &key(RUN, "call_1")]).unwrap();
    assert!(store.read(run(RUN), &[id("call_1")]).await.unwrap().is_empty(), "an evicted record is absent");
}
