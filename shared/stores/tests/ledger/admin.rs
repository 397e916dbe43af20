//! API keys, numbers over many runs, and retention.

use agent::ports::keys::{ApiKey, ApiKeys, KeyHash, KeyLimits};
use agent::ports::ledger::Ledger;
use agent::ports::quality::{Durations, Quality, QualityStore, ToolQuality};
use agent::ports::{Feedback, FeedbackStore, Rating};
use domain::ids::{CallerId, RunId};
use stores::SqlLedger;
use time::{Duration, OffsetDateTime};

use crate::{alice, batch, failed, is_conflict, kept, new_run, released, session, start};

pub async fn all(ledger: &SqlLedger) {
    keys(ledger).await;
    quality(ledger).await;
    retention(ledger).await;
}

async fn keys(ledger: &SqlLedger) {
    let key = |id: &str, days| ApiKey {
        id: id.to_owned(),
        caller: CallerId::parse("ops:alice").unwrap(),
        scopes: vec!["chat".to_owned(), "documents:write".to_owned()],
        limits: KeyLimits { runs_per_minute: Some(7), tokens_per_day: Some(u64::MAX), concurrent_runs: None },
        created_at: kept(start() + Duration::days(days)),
        expires_at: (days == 1).then(|| kept(start() + Duration::days(30))),
        revoked_at: None,
    };
    let hash = |c: &str| KeyHash(c.repeat(64));
    assert!(ledger.find("aaaaaaaaaaaa").await.unwrap().is_none());
    ledger.create(&key("aaaaaaaaaaaa", 1), &hash("a")).await.unwrap();
    ledger.create(&key("bbbbbbbbbbbb", 2), &hash("b")).await.unwrap();
    assert!(is_conflict(&ledger.create(&key("aaaaaaaaaaaa", 3), &hash("c")).await), "the same id");
    let (found, stored) = ledger.find("aaaaaaaaaaaa").await.unwrap().unwrap();
    let limits = KeyLimits { tokens_per_day: Some(i64::MAX as u64), ..key("", 1).limits };
    assert_eq!((found, stored), (ApiKey { limits, ..key("aaaaaaaaaaaa", 1) }, hash("a")));
    assert!(ledger.find("AAAAAAAAAAAA").await.unwrap().is_none(), "ids are compared byte by byte");
    let listed: Vec<String> = ledger.list(10).await.unwrap().into_iter().map(|key| key.id).collect();
    assert_eq!(listed, ["bbbbbbbbbbbb", "aaaaaaaaaaaa"], "newest first");
    assert_eq!(ledger.list(1).await.unwrap().len(), 1);

    let (first, later) = (kept(start()), kept(start() + Duration::days(1)));
    assert!(ledger.revoke("aaaaaaaaaaaa", first).await.unwrap());
    assert!(ledger.revoke("aaaaaaaaaaaa", later).await.unwrap(), "revoked is revoked");
    assert_eq!(ledger.find("aaaaaaaaaaaa").await.unwrap().unwrap().0.revoked_at, Some(first));
    assert!(!ledger.revoke("cccccccccccc", first).await.unwrap());
}

/// A run id of its own moment: numbers over time go by the ids.
fn run_at(at: OffsetDateTime, n: u8) -> RunId {
    let millis = u64::try_from(at.unix_timestamp_nanos() / 1_000_000).unwrap();
    RunId::new(uuid::Builder::from_unix_timestamp_millis(millis, &[n; 10]).into_uuid())
}

fn day() -> OffsetDateTime {
    OffsetDateTime::from_unix_timestamp(1_900_000_000).unwrap()
}

/// Four ended runs and one that still runs, ten minutes apart, each in a session of its own but the first two.
async fn five_runs(ledger: &SqlLedger) -> Vec<RunId> {
    let mut ids = Vec::new();
    for n in 0..5u8 {
        let started_at = day() + Duration::minutes(10 * i64::from(n));
        let run_id = run_at(started_at, n);
        let name = format!("quality-{}", n.max(1));
        let run = agent::ports::ledger::NewRun {
            run_id,
            session_id: session(&name),
            started_at,
            deadline: started_at + Duration::minutes(2),
            ..new_run(1, "x")
        };
        ledger.admit(&run).await.unwrap();
        ids.push(run_id);
        if n == 4 {
            break;
        }
        let ended_at = started_at + Duration::seconds(i64::from(n) + 1);
        let commit = if n < 3 { released(1, "c") } else { failed(1) };
        let state = commit.state.clone();
        let commit = agent::ports::ledger::TerminalCommit { run_id, ended_at, state, ..commit };
        ledger.commit(&commit).await.unwrap();
    }
    ids
}

async fn quality(ledger: &SqlLedger) {
    let empty = ledger.quality(day() - Duration::days(2), day()).await.unwrap();
    assert_eq!(empty, Quality::default());
    let ids = five_runs(ledger).await;
    let mut rows = batch(1);
    rows.steps.clear();
    rows.invocations.iter_mut().for_each(|row| row.run_id = ids[0]);
    ledger.audit(&rows).await.unwrap();
    for (n, rating) in [(0, Rating::Up), (1, Rating::Up), (2, Rating::Down), (3, Rating::Down)] {
        let feedback = Feedback { rating, reason: None, comment: None };
        ledger.rate(ids[n], &alice(), &feedback, day()).await.unwrap();
    }
    let all = ledger.quality(day(), day() + Duration::days(1)).await.unwrap();
    let counts = |pairs: &[(&str, u64)]| pairs.iter().map(|(name, n)| ((*name).to_owned(), *n)).collect();
    assert_eq!((all.runs, all.repaired), (5, 3));
    assert_eq!(all.outcomes, counts(&[("FAILED", 1), ("RUNNING", 1), ("SUCCESS", 3)]));
    assert_eq!(all.failure_codes, counts(&[("BUDGET_EXHAUSTED", 1)]));
    assert_eq!((all.input_tokens, all.output_tokens), (4 * 9_000, 4 * 400));
    assert_eq!((all.cost_nano_usd, all.priced_runs), (3 * 1_234_567, 3));
    assert_eq!(all.feedback["SUCCESS"], counts(&[("UP", 2), ("DOWN", 1)]));
    assert_eq!(all.feedback["FAILED"], counts(&[("DOWN", 1)]));
    assert_eq!(all.tools["query_logs"], ToolQuality { calls: 1, failed: 1, no_evidence: 0 });
    assert_eq!(all.tools["unknown"].calls, 1);
    assert_eq!(all.duration_ms, Durations { p50: Some(2000), p95: Some(4000) });
    let part = ledger.quality(day() + Duration::minutes(10), day() + Duration::minutes(20)).await.unwrap();
    assert_eq!((part.runs, part.duration_ms.p50), (1, Some(2000)), "from is included, to is not");
}

async fn retention(ledger: &SqlLedger) {
    let before = day() + Duration::hours(1);
    let page = |name: &'static str| async move {
        ledger.session_runs(&session(name), &alice(), 10, None).await.unwrap()
    };
    let old = page("quality-2").await.unwrap().runs[0].run_id;
    // Earlier tests' runs have older ids; all of them that ended go first.
    let mut deleted = 0;
    for _ in 0..1000 {
        let n = ledger.retain(before, 3).await.unwrap();
        assert!(n <= 3);
        if n == 0 {
            break;
        }
        deleted += n;
    }
    assert!(deleted >= 4, "{deleted}");
    assert!(
        page("quality-1").await.is_none() && page("quality-2").await.is_none(),
        "sessions go with their last run"
    );
    assert_eq!(
        page("quality-4").await.unwrap().runs.len(),
        1,
        "a run that has no end is the sweep's, not ours"
    );
    assert!(ledger.run(old, &alice()).await.unwrap().is_none());
    assert!(ledger.rating(old, &alice()).await.unwrap().is_none());
    let left = ledger.quality(day(), day() + Duration::days(1)).await.unwrap();
    assert_eq!((left.runs, left.feedback.len(), left.tools.len()), (1, 0, 0));
    assert_eq!(ledger.list(10).await.unwrap().len(), 2, "keys are no runs");
}
