//! Whole runs on Redis, MariaDB and DynamoDB (embedded), each behind a proxy that breaks it at a chosen moment: the stream ends as
//! the contract says, nothing is told that isn't committed, and the next run works without a restart.

use std::sync::Arc;
use std::time::Duration;

use agent::ports::{Clock, Ledger, SystemClock};
use anyhow::{Context, ensure};
use domain::ids::{CallerId, RunId};
use stores::SqlLedger;
use testkit::fault_proxy::Fault;
use testkit::sse::Transcript;

use crate::site::{HANGS, Moment, Servers, Site, Store};

fn caller() -> anyhow::Result<CallerId> {
    Ok(CallerId::parse("local")?)
}

/// What holds whatever broke: one end, and what was told is what is stored.
async fn settled(ledger: &SqlLedger, told: &Transcript, fault: Fault) -> anyhow::Result<()> {
    let Some(metadata) = told.metadata() else {
        let problem = told.problem().context("neither a stream nor a problem")?;
        ensure!((problem.status, problem.code.as_str()) == (503, "STORE_UNAVAILABLE"), "{problem:?}");
        return Ok(());
    };
    let run_id = RunId::parse(&metadata.run_id)?;
    let done = told.done().context("no done")?;
    if let Some(failure) = told.failure() {
        let expected = ["STORE_UNAVAILABLE", "DEADLINE_EXCEEDED"];
        ensure!(expected.contains(&failure.code.as_str()), "{} {fault:?}", failure.code);
        ensure!(!told.text().contains("GATEWAY_TIMEOUT"), "a failure shows nothing of the report");
    }
    // A run that could not commit is the sweep's.
    ledger.sweep(SystemClock.now() + Duration::from_secs(3600), 1000).await?;
    let row = ledger.run(run_id, &caller()?).await?.context("no row")?;
    let outcome = row.outcome.context("no terminal state")?.as_str();
    match told.content() {
        Some(content) => {
            ensure!(outcome == content.outcome && done.status == content.outcome, "{outcome}");
            let stored: serde_json::Value = serde_json::from_str(row.body.context("no body")?.get())?;
            ensure!(stored == content.body, "told and stored differ");
        }
        // Only where the answer to the commit was lost may the row know more than the client was told.
        None => ensure!(
            outcome == "FAILED" || fault == Fault::LostAnswers || fault == Fault::BlackHole,
            "{outcome}"
        ),
    }
    Ok(())
}

/// One cell of the matrix.
async fn cell(servers: &Servers, store: Store, moment: Moment, fault: Fault) -> anyhow::Result<()> {
    let name = format!("{store:?}_{moment:?}_{fault:?}");
    let site = Site::start(servers, &name, "root", moment, move |proxies| proxies[store as usize].set(fault))
        .await?;
    let (told, took) = site.ask().await?;
    let slow = matches!(fault, Fault::Delay(_) | Fault::Throttle(_));
    // The canonical store is done with by the time of the commit.
    let unharmed = slow || (store == Store::Canonical && moment == Moment::Commit);
    if unharmed {
        let content = told.content().with_context(|| told.text().to_owned())?;
        ensure!(content.outcome == "SUCCESS", "{}", content.outcome);
    } else if store != Store::Control || moment == Moment::Start {
        ensure!(told.content().is_none(), "a broken store released a report: {}", told.text());
    }
    ensure!(took < HANGS, "{took:?}");
    settled(&site.ledger, &told, fault).await?;
    site.heal();
    let (next, _) = site.ask().await?;
    let content = next.content().with_context(|| format!("the next run: {}", next.text()))?;
    ensure!(content.outcome == "SUCCESS", "the next run: {}", content.outcome);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn every_store_broken_in_every_way_at_every_moment() -> anyhow::Result<()> {
    let Some(servers) = Servers::start().await? else { return Ok(()) };
    let faults = [
        Fault::Reset,
        Fault::Cut,
        Fault::BlackHole,
        Fault::LostAnswers,
        Fault::Delay(Duration::from_millis(60)),
        Fault::Throttle(40_000),
    ];
    let mut cells = Vec::new();
    for store in [Store::Canonical, Store::Ledger, Store::Control] {
        for moment in [Moment::Start, Moment::Between, Moment::Commit] {
            cells.extend(faults.map(|fault| (store, moment, fault)));
        }
    }
    let mut failed = Vec::new();
    for some in cells.chunks(9) {
        let cells = some.iter().map(|(store, moment, fault)| {
            let servers = &servers;
            async move {
                let done = cell(servers, *store, *moment, *fault).await;
                done.map_err(|error| format!("{store:?} {moment:?} {fault:?}: {error:#}"))
            }
        });
        failed.extend(futures_util::future::join_all(cells).await.into_iter().filter_map(Result::err));
    }
    assert!(failed.is_empty(), "{} of {} cells:\n{}", failed.len(), cells.len(), failed.join("\n"));
    Ok(())
}

/// How a server changes under a run, and what a run makes of it.
struct Change {
    name: &'static str,
    store: Store,
    breaks: &'static [&'static [&'static str]],
    heals: &'static [&'static [&'static str]],
    /// The outcome or code if it comes between the steps.
    told: &'static str,
}

const CHANGES: [Change; 5] = [
    Change {
        name: "full",
        store: Store::Canonical,
        breaks: &[&["CONFIG", "SET", "maxmemory", "1"]],
        heals: &[&["CONFIG", "SET", "maxmemory", "0"]],
        // What is there can still be read: the run succeeds if its records were written before.
        told: "SUCCESS",
    },
    Change {
        name: "failed_over",
        store: Store::Canonical,
        breaks: &[&["REPLICAOF", "127.0.0.1", "1"]],
        heals: &[&["REPLICAOF", "NO", "ONE"]],
        // Records never change once they are ready: what the former primary still has is what was written.
        told: "SUCCESS",
    },
    Change {
        name: "lost_its_data",
        store: Store::Canonical,
        breaks: &[&["FLUSHALL"], &["CLIENT", "KILL", "TYPE", "normal"]],
        heals: &[],
        // A record that is gone proves nothing: repair finds nothing better.
        told: "EVIDENCE_VALIDATION_FAILED",
    },
    Change {
        name: "read_only",
        store: Store::Ledger,
        breaks: &[&["SET GLOBAL read_only = 1"]],
        heals: &[&["SET GLOBAL read_only = 0"]],
        told: "STORE_UNAVAILABLE",
    },
    Change {
        name: "other_password",
        store: Store::Ledger,
        breaks: &[&["ALTER USER app@'%' IDENTIFIED BY 'another'"], &["KILL USER app"]],
        heals: &[&["ALTER USER app@'%' IDENTIFIED BY 'fake-password'"]],
        told: "STORE_UNAVAILABLE",
    },
];

impl Servers {
    fn apply(self: &Arc<Self>, store: Store, commands: &[&[&str]]) -> anyhow::Result<()> {
        for command in commands {
            if store == Store::Canonical {
                self.redis.cli(command)?;
            } else {
                self.mariadb.execute(&command.join(" "))?;
            }
        }
        Ok(())
    }
}

async fn changed(servers: &Arc<Servers>, change: &'static Change, moment: Moment) -> anyhow::Result<()> {
    let name = format!("{}_{moment:?}", change.name);
    let breaking = Arc::clone(servers);
    let site = Site::start(servers, &name, "app:fake-password", moment, move |_| {
        breaking.apply(change.store, change.breaks).expect("the server changes");
    })
    .await?;
    let (told, _) = site.ask().await?;
    servers.apply(change.store, change.heals)?;
    let code = match (told.content(), told.failure(), told.problem()) {
        (Some(content), ..) => content.body["reason_code"].as_str().unwrap_or(&content.outcome).to_owned(),
        (_, Some(failure), _) => failure.code.clone(),
        (.., Some(problem)) => problem.code.clone(),
        _ => anyhow::bail!("nothing was told: {}", told.text()),
    };
    let expected = match moment {
        // The canonical store is done with by then.
        Moment::Commit if change.store == Store::Canonical => "SUCCESS",
        // Lost data that was never written isn't missed.
        Moment::Start if change.name == "lost_its_data" => "SUCCESS",
        Moment::Start => "STORE_UNAVAILABLE",
        Moment::Between | Moment::Commit | Moment::Never => change.told,
    };
    ensure!(code == expected, "{code}");
    settled(&site.ledger, &told, Fault::None).await?;
    let (next, _) = site.ask().await?;
    let outcome = next.content().with_context(|| format!("the next run: {}", next.text()))?.outcome.clone();
    ensure!(outcome == "SUCCESS", "the next run: {outcome}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn servers_that_change_under_a_run() -> anyhow::Result<()> {
    let Some(servers) = Servers::start().await? else { return Ok(()) };
    let servers = Arc::new(servers);
    // As deployed: rights on the data, none on the server.
    servers.mariadb.execute("CREATE USER app@'%' IDENTIFIED BY 'fake-password'")?;
    servers.mariadb.execute("GRANT SELECT, INSERT, UPDATE, DELETE ON *.* TO app@'%'")?;
    let mut failed = Vec::new();
    for change in &CHANGES {
        for moment in [Moment::Start, Moment::Between, Moment::Commit] {
            if let Err(error) = changed(&servers, change, moment).await {
                failed.push(format!("{} {moment:?}: {error:#}", change.name));
            }
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    Ok(())
}
