//! One behaviour suite for the ledger and its documents, on SQLite and on MariaDB.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking, in its helpers, too")]

mod admin;
mod documents;
mod lossy;
mod report;

use agent::ports::StoreError;
use agent::ports::documents::{DocumentSource, DocumentStore, Expected};
use agent::ports::ledger::{
    AuditBatch, CommitOutcome, InvocationRow, Ledger, NewRun, StepRow, TerminalCommit, TerminalState,
};
use documents::document;
use domain::budget::{BudgetLimits, BudgetUse};
use domain::events::FailureCode;
use domain::evidence::InvocationStatus;
use domain::ids::{CallerId, RunId, SessionId, ToolCallId};
use domain::question::{Intent, Query};
use domain::release::Outcome;
use domain::tool::{ToolErrorCode, ToolName};
use lossy::LossyProxy;
use stores::SqlLedger;
use testkit::mariadb::{MariaDb, NOT_INSTALLED};
use time::{Duration, OffsetDateTime};

#[tokio::test]
async fn sqlite() {
    let folder = tempfile::tempdir().unwrap();
    let url = |name: &str| format!("sqlite://{}", folder.path().join("new folder").join(name).display());
    suite(&url("suite.db")).await;
    migrations_at_once(&url("migrations.db")).await;
}

#[tokio::test]
async fn mariadb() {
    let Some(server) = MariaDb::start().await.unwrap() else {
        println!("{NOT_INSTALLED}");
        return;
    };
    suite(&server.create_schema("suite").await.unwrap()).await;
    migrations_at_once(&server.create_schema("migrations").await.unwrap()).await;
    lost_connections(&server.create_schema("lost").await.unwrap(), &server).await;
    lost_answers(&server.create_schema("answers").await.unwrap(), &server).await;
}

/// A real MySQL at `MYSQL_URL`, such as `mysql://root@127.0.0.1:3306`: distributions that have MariaDB rarely have it, too.
#[tokio::test]
#[expect(clippy::disallowed_methods, reason = "a test's own switch")]
async fn mysql() {
    let Ok(server) = std::env::var("MYSQL_URL") else {
        println!("skipped: MYSQL_URL names no server");
        return;
    };
    let server = server.trim_end_matches('/');
    let administrator =
        sqlx::mysql::MySqlPool::connect(&format!("{server}/mysql?ssl-mode=disabled")).await.unwrap();
    for (name, part) in [("superbiz_suite", 0), ("superbiz_migrations", 1)] {
        for sql in [
            format!("DROP DATABASE IF EXISTS {name}"),
            format!("CREATE DATABASE {name} CHARACTER SET utf8mb4"),
        ] {
            sqlx::raw_sql(sqlx::AssertSqlSafe(sql)).execute(&administrator).await.unwrap();
        }
        let url = format!("{server}/{name}?ssl-mode=disabled");
        if part == 0 { suite(&url).await } else { migrations_at_once(&url).await }
    }
}

async fn suite(url: &str) {
    let ledger = SqlLedger::connect_lazy(url).unwrap();
    assert!(ledger.run(run(1), &alice()).await.is_err(), "no tables yet");
    assert_eq!(ledger.migrate().await.unwrap(), [1, 2, 3]);
    assert_eq!(ledger.migrate().await.unwrap(), Vec::<i64>::new());
    ledger.ping().await.unwrap();
    admission(&ledger).await;
    terminal_states(&ledger).await;
    previous_turns(&ledger).await;
    pages(&ledger).await;
    audits(&ledger).await;
    sweeping(&ledger).await;
    documents::all(&ledger).await;
    concurrency(&ledger).await;
    admin::all(&ledger).await;
    ledger.close().await;
}

/// Two processes that start on an empty database.
async fn migrations_at_once(url: &str) {
    let mut work = tokio::task::JoinSet::new();
    for _ in 0..4 {
        let ledger = SqlLedger::connect_lazy(url).unwrap();
        work.spawn(async move { ledger.migrate().await.unwrap() });
    }
    let applied: Vec<i64> = work.join_all().await.concat();
    assert_eq!(applied, [1, 2, 3], "each applied by one of them, in order");
}

fn run(n: u32) -> RunId {
    RunId::parse(&format!("0197a000-0000-7000-8000-{n:012}")).unwrap()
}

fn alice() -> CallerId {
    CallerId::parse("alice").unwrap()
}

fn bob() -> CallerId {
    CallerId::parse("Alice").unwrap()
}

fn session(text: &str) -> SessionId {
    SessionId::parse(text).unwrap()
}

/// With more digits than are kept.
fn start() -> OffsetDateTime {
    OffsetDateTime::from_unix_timestamp_nanos(1_800_000_000_123_456_789).unwrap()
}

fn kept(at: OffsetDateTime) -> OffsetDateTime {
    at.replace_nanosecond(at.nanosecond() / 1000 * 1000).unwrap()
}

fn new_run(n: u32, session_id: &str) -> NewRun {
    let at = start() + Duration::seconds(n.into());
    NewRun {
        run_id: run(n),
        session_id: session(session_id),
        new_session: false,
        caller: alice(),
        query: Query::parse("支付超时 😀 𠮷野家 why?").unwrap(),
        started_at: at,
        deadline: at + Duration::seconds(60),
        budget_limits: BudgetLimits { output_tokens: 7, ..BudgetLimits::default() },
    }
}

fn released(n: u32, conclusion: &str) -> TerminalCommit {
    let state = TerminalState::Released {
        intent: Intent::Diagnosis,
        released: report::body(run(n), Some(conclusion)),
    };
    TerminalCommit {
        run_id: run(n),
        state,
        budget: BudgetUse {
            model_calls: 3,
            tool_calls: 2,
            input_tokens: 9_000,
            output_tokens: 400,
            tool_bytes: 1234,
        },
        ungrounded_literals: 5,
        repaired: true,
        cost_nano_usd: Some(1_234_567),
        ended_at: start() + Duration::seconds(i64::from(n) + 30),
    }
}

fn failed(n: u32) -> TerminalCommit {
    TerminalCommit {
        state: TerminalState::Failed { intent: None, code: FailureCode::BudgetExhausted },
        repaired: false,
        cost_nano_usd: None,
        ..released(n, "never stored")
    }
}

fn is_conflict<T: std::fmt::Debug>(result: &Result<T, StoreError>) -> bool {
    matches!(result, Err(StoreError::Conflict { .. }))
}

async fn admission(ledger: &SqlLedger) {
    assert!(ledger.admit(&new_run(1, "admission")).await.unwrap().is_none());
    let row = ledger.run(run(1), &alice()).await.unwrap().unwrap();
    assert_eq!(row.query, "支付超时 😀 𠮷野家 why?");
    assert_eq!((row.outcome, row.intent, row.ended_at), (None, None, None));
    assert!(row.body.is_none() && row.cites.is_empty() && row.reason.is_none());
    assert_eq!(row.started_at, kept(new_run(1, "admission").started_at));
    assert_eq!(row.deadline, kept(new_run(1, "admission").deadline));
    assert_eq!(row.budget_limits, new_run(1, "admission").budget_limits);
    assert_eq!(row.budget_used, BudgetUse::default());

    assert!(is_conflict(&ledger.admit(&new_run(1, "admission")).await), "the same run id");
    // Callers and sessions that differ in case only are different ones.
    assert!(ledger.run(run(1), &bob()).await.unwrap().is_none());
    assert!(is_conflict(&ledger.admit(&NewRun { caller: bob(), ..new_run(2, "admission") }).await));
    assert!(ledger.run(run(2), &bob()).await.unwrap().is_none(), "nothing of a refused run is kept");
    ledger.admit(&NewRun { caller: bob(), ..new_run(2, "Admission") }).await.unwrap();

    // A session made for its run: nothing is looked for, and a second run finds both.
    let fresh = |n| NewRun { new_session: true, ..new_run(n, "fresh") };
    assert!(ledger.admit(&fresh(4)).await.unwrap().is_none());
    assert!(is_conflict(&ledger.admit(&fresh(4)).await), "the same run id");
    assert_eq!(ledger.commit(&failed(4)).await.unwrap(), CommitOutcome::Committed);
    let page = ledger.session_runs(&session("fresh"), &alice(), 9, None).await.unwrap().unwrap();
    assert_eq!(page.runs.len(), 1);
}

async fn terminal_states(ledger: &SqlLedger) {
    let commit = released(1, "连接池耗尽 😀");
    let TerminalState::Released { released: body, .. } = &commit.state else { panic!() };
    assert_eq!(ledger.commit(&commit).await.unwrap(), CommitOutcome::Committed);
    assert_eq!(ledger.commit(&failed(1)).await.unwrap(), CommitOutcome::AlreadyTerminal);
    assert_eq!(ledger.commit(&commit).await.unwrap(), CommitOutcome::AlreadyTerminal);
    let row = ledger.run(run(1), &alice()).await.unwrap().unwrap();
    assert_eq!(
        (row.outcome, row.intent, row.reason),
        (Some(Outcome::Success), Some(Intent::Diagnosis), None)
    );
    assert_eq!(row.body.unwrap().get(), body.body_json(), "byte for byte");
    assert_eq!(row.cites, body.cites());
    assert_eq!((row.budget_used, row.ungrounded_literals, row.repaired), (commit.budget, 5, true));
    assert_eq!(row.cost_nano_usd, Some(1_234_567));
    assert_eq!(row.ended_at, Some(kept(commit.ended_at)));

    ledger.admit(&new_run(3, "failing")).await.unwrap();
    assert_eq!(ledger.commit(&failed(3)).await.unwrap(), CommitOutcome::Committed);
    let row = ledger.run(run(3), &alice()).await.unwrap().unwrap();
    assert_eq!((row.outcome, row.reason.as_deref()), (Some(Outcome::Failed), Some("BUDGET_EXHAUSTED")));
    assert!(row.body.is_none() && !row.repaired);
    assert!(is_conflict(&ledger.commit(&failed(99)).await), "no such run");
}

async fn previous_turns(ledger: &SqlLedger) {
    assert!(ledger.admit(&new_run(10, "turns")).await.unwrap().is_none());
    ledger.commit(&released(10, "first")).await.unwrap();
    let turn = ledger.admit(&new_run(11, "turns")).await.unwrap().unwrap();
    assert_eq!((turn.conclusion.as_deref(), turn.intent), (Some("first"), Intent::Diagnosis));
    assert_eq!((turn.outcome, turn.query.as_str()), (Outcome::Success, "支付超时 😀 𠮷野家 why?"));
    // Neither a failed nor a running turn counts; the latest released one does, fallbacks included.
    ledger.commit(&failed(11)).await.unwrap();
    let turn = ledger.admit(&new_run(12, "turns")).await.unwrap().unwrap();
    assert_eq!(turn.conclusion.as_deref(), Some("first"));
    let state = TerminalState::Released { intent: Intent::SystemChat, released: report::body(run(12), None) };
    ledger.commit(&TerminalCommit { state, ..failed(12) }).await.unwrap();
    let turn = ledger.admit(&new_run(13, "turns")).await.unwrap().unwrap();
    assert_eq!((turn.conclusion, turn.intent), (None, Intent::SystemChat));
}

async fn pages(ledger: &SqlLedger) {
    let ids = |page: &agent::ports::ledger::RunPage| page.runs.iter().map(|r| r.run_id).collect::<Vec<_>>();
    let page = ledger.session_runs(&session("turns"), &alice(), 3, None).await.unwrap().unwrap();
    assert_eq!((ids(&page), page.next), (vec![run(13), run(12), run(11)], Some(run(11))));
    let page = ledger.session_runs(&session("turns"), &alice(), 3, page.next).await.unwrap().unwrap();
    assert_eq!((ids(&page), page.next), (vec![run(10)], None));
    let page = ledger.session_runs(&session("turns"), &alice(), 4, None).await.unwrap().unwrap();
    assert_eq!((page.runs.len(), page.next), (4, None), "an exactly full page is the last one");
    assert!(ledger.session_runs(&session("turns"), &bob(), 3, None).await.unwrap().is_none());
    assert!(ledger.session_runs(&session("unknown"), &alice(), 3, None).await.unwrap().is_none());
}

fn batch(n: u32) -> AuditBatch {
    let step = |sequence| StepRow {
        run_id: run(n),
        sequence,
        kind: "diagnose",
        model: "模型".repeat(200),
        message_count: 4,
        message_roles: "system user assistant toolx2".to_owned(),
        has_text: sequence == 2,
        tool_names: "query_logs,query_mysql".to_owned(),
        input_tokens: u64::MAX,
        output_tokens: 12,
        cached_tokens: 3,
        reasoning_tokens: 4,
        cost_nano_usd: Some(1_500_000),
        usage_estimated: true,
        duration_ms: 1500,
        attempt: 1,
        error_code: (sequence == 1).then_some("TIMEOUT"),
        started_at: start(),
    };
    let invocation = |sequence, tool, id: &str| InvocationRow {
        run_id: run(n),
        tool_call_id: ToolCallId::parse(id).unwrap(),
        sequence,
        tool,
        status: InvocationStatus::Failed,
        evidence_status: None,
        error_code: Some(ToolErrorCode::Timeout),
        duration_ms: 10,
        request_bytes: 20,
        result_bytes: 30,
        started_at: start(),
    };
    AuditBatch {
        steps: vec![step(2), step(1)],
        invocations: vec![invocation(1, Some(ToolName::QueryLogs), "call_1"), invocation(2, None, "Call_1")],
    }
}

async fn audits(ledger: &SqlLedger) {
    ledger.audit(&AuditBatch::default()).await.unwrap();
    ledger.audit(&batch(1)).await.unwrap();
    ledger.audit(&batch(1)).await.unwrap();
    let more = AuditBatch {
        steps: vec![StepRow { sequence: 3, ..batch(1).steps.remove(0) }],
        invocations: Vec::new(),
    };
    ledger.audit(&more).await.unwrap();
    let trace = ledger.trace(run(1)).await.unwrap();
    let sequences: Vec<_> = trace.steps.iter().map(|row| row["sequence"].as_u64().unwrap()).collect();
    assert_eq!(sequences, [1, 2, 3], "once each and in order");
    assert_eq!(trace.steps[0]["error_code"], "TIMEOUT");
    assert_eq!(trace.steps[1]["has_text"], true);
    assert_eq!(trace.steps[1]["input_tokens"], i64::MAX);
    assert!(trace.steps[0]["model"].as_str().unwrap().ends_with('…'), "cut to its column");
    assert_eq!(trace.invocations.len(), 2);
    assert_eq!(trace.invocations[1]["tool"], serde_json::Value::Null);
    assert_eq!(trace.invocations[1]["started_at"], "2027-01-15T08:00:00.123456Z");
    assert!(ledger.trace(run(77)).await.unwrap().steps.is_empty());
}

async fn sweeping(ledger: &SqlLedger) {
    for n in 20..24 {
        ledger.admit(&new_run(n, &format!("sweep{n}"))).await.unwrap();
    }
    ledger.commit(&failed(21)).await.unwrap();
    let deadline = |n| new_run(n, "x").deadline;
    let swept = ledger.sweep(deadline(23), 100).await.unwrap();
    // Earlier tests left runs 2 and 13 running; 23 has not passed its deadline yet.
    assert_eq!(swept, [run(2), run(13), run(20), run(22)]);
    let row = ledger.run(run(20), &alice()).await.unwrap().unwrap();
    assert_eq!((row.outcome, row.reason.as_deref()), (Some(Outcome::Failed), Some("ABANDONED")));
    assert_eq!(ledger.commit(&released(20, "late")).await.unwrap(), CommitOutcome::AlreadyTerminal);
    assert!(
        ledger.run(run(20), &alice()).await.unwrap().unwrap().body.is_none(),
        "a swept run never releases"
    );
    assert_eq!(ledger.sweep(deadline(23) + Duration::seconds(1), 1).await.unwrap(), [run(23)]);
    assert!(ledger.sweep(deadline(23), 1).await.unwrap().is_empty());
}

async fn concurrency(ledger: &SqlLedger) {
    // One new session, many first runs: each is stored, none fails.
    let mut work = tokio::task::JoinSet::new();
    for n in 30..40 {
        let ledger = ledger.clone();
        work.spawn(async move { ledger.admit(&new_run(n, "crowd")).await.map(drop) });
    }
    work.join_all().await.into_iter().for_each(Result::unwrap);
    let page = ledger.session_runs(&session("crowd"), &alice(), 50, None).await.unwrap().unwrap();
    assert_eq!(page.runs.len(), 10);

    // Many endings of one run: one is written.
    let mut work = tokio::task::JoinSet::new();
    for n in 0..10 {
        let ledger = ledger.clone();
        work.spawn(async move {
            let commit = if n % 2 == 0 { released(30, &n.to_string()) } else { failed(30) };
            ledger.commit(&commit).await.unwrap()
        });
    }
    let outcomes = work.join_all().await;
    assert_eq!(outcomes.iter().filter(|o| **o == CommitOutcome::Committed).count(), 1);

    // Readers see one version of a document, whole.
    let mut work = tokio::task::JoinSet::new();
    for n in 0..6 {
        let ledger = ledger.clone();
        work.spawn(async move {
            ledger
                .put(
                    &document(&[n.to_string(), n.to_string(), n.to_string()].join("\n")),
                    Expected::Anything,
                    start(),
                )
                .await
                .unwrap();
            for _ in 0..5 {
                let chunks = ledger.chunks().await.unwrap().1;
                assert!(chunks.len() == 1 || chunks.len() == 3);
                assert!(chunks.iter().all(|c| c.text == chunks[0].text && c.version == chunks[0].version));
            }
        });
    }
    work.join_all().await;
    assert_eq!(
        ledger.put(&document("last"), Expected::Anything, start()).await.unwrap().summary.version,
        11,
        "4 before, 6 here, this one"
    );
}

/// The server drops every connection between two calls, as it does with a sandbox that was frozen.
async fn lost_connections(url: &str, server: &MariaDb) {
    let ledger = SqlLedger::connect_lazy(url).unwrap();
    ledger.migrate().await.unwrap();
    let (first, second) = (new_run(1, "a"), new_run(2, "b"));
    let (first, second) = tokio::join!(ledger.admit(&first), ledger.admit(&second));
    first.and(second).unwrap();
    kill_connections(server).await;
    assert_eq!(ledger.commit(&released(1, "x")).await.unwrap(), CommitOutcome::Committed);
    kill_connections(server).await;
    ledger.audit(&batch(1)).await.unwrap();
    kill_connections(server).await;
    ledger.admit(&new_run(3, "a")).await.unwrap();
}

/// The server carries a write out, and its answer never arrives.
async fn lost_answers(url: &str, server: &MariaDb) {
    let direct = SqlLedger::connect_lazy(url).unwrap();
    direct.migrate().await.unwrap();
    let proxy = LossyProxy::start(server.port()).await;
    let ledger =
        SqlLedger::connect_lazy(&url.replace(&server.port().to_string(), &proxy.port.to_string())).unwrap();

    // Only the run's own row carries its question.
    proxy.lose_answer_to("why?");
    ledger.admit(&NewRun { new_session: true, ..new_run(1, "a") }).await.unwrap();
    assert!(proxy.has_lost());
    assert!(direct.run(run(1), &alice()).await.unwrap().is_some());
    // A stranger's run with the same id is no answer that was lost.
    proxy.lose_answer_to("stranger");
    assert!(is_conflict(&ledger.admit(&new_run(1, "stranger")).await));
    assert!(proxy.has_lost());

    proxy.lose_answer_to("RELEASED");
    assert_eq!(ledger.commit(&released(1, "x")).await.unwrap(), CommitOutcome::Committed);
    assert!(proxy.has_lost());
    proxy.lose_answer_to("BUDGET_EXHAUSTED");
    assert_eq!(ledger.commit(&failed(1)).await.unwrap(), CommitOutcome::AlreadyTerminal);
    assert!(proxy.has_lost());
    proxy.lose_answer_to("query_logs,query_mysql");
    ledger.audit(&batch(1)).await.unwrap();
    assert!(proxy.has_lost());
    assert_eq!(direct.trace(run(1)).await.unwrap().steps.len(), 2);
}

async fn kill_connections(server: &MariaDb) {
    use sqlx::{Connection, Row};
    let mut connection = sqlx::MySqlConnection::connect(&server.url("mysql")).await.unwrap();
    let sql = "SELECT id FROM information_schema.processlist WHERE id <> CONNECTION_ID() AND db = 'lost'";
    for row in sqlx::query(sql).fetch_all(&mut connection).await.unwrap() {
        let kill = format!("KILL {}", row.get::<i64, _>(0));
        let _ = sqlx::raw_sql(sqlx::AssertSqlSafe(kill)).execute(&mut connection).await;
    }
}

#[test]
fn addresses_are_checked_without_repeating_them() {
    for url in ["postgres://u:secret@h/db", "secret", "mysql://u:secret@h:port/db", "sqlite://x?secret=1"] {
        let Err(error) = SqlLedger::connect_lazy(url) else { panic!("{url}") };
        assert!(error.to_string().starts_with("DATABASE_URL"), "{error}");
        assert!(!format!("{error:?}").contains("secret"), "{error:?}");
    }
}

#[tokio::test]
async fn an_unreachable_ledger_is_unavailable_and_says_nothing_of_its_address() {
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let ledger = SqlLedger::connect_lazy(&format!("mysql://someone:secret@127.0.0.1:{port}/db")).unwrap();
    let Err(error) = ledger.ping().await else { panic!() };
    assert!(matches!(error, StoreError::Unavailable { .. }));
    let text = format!("{error:?} {error}");
    assert!(!text.contains("secret") && !text.contains("someone"), "{text}");
}
