//! Nothing of a refused draft, a guard's reason, a prompt, a vendor's text, a raw result, an argument or a key gets out of a
//! run, however it ends: not into the stream, not into a log line, not into a column of the ledger.
//!
//! Each text that must stay inside holds the mark, with a word that says where it was planted.

mod places;

use std::io::Write;

use domain::model::Role;
use serde_json::{Value, json};
use sqlx::sqlite::{SqliteConnectOptions, SqlitePool};
use testkit::provider::{Call, Reply, Script};
use testkit::sse::{Event, Transcript};
use time::format_description::well_known::Rfc3339;

use crate::leaks::places::{nothing_leaked, the_marks_were_there};
use crate::world::{World, WorldBuilder, draft, gateway_errors, world};

const MARK: &str = "leakmark";
/// Secrets in log lines that match; they are masked before anything else happens.
const SECRET: &str = "leakmark-secret-5e1f";
const API_KEY: &str = "sk-fake-test-key";
const QUESTION: &str = "checkout 5xx in questionmark, why?";
const FINDING: &str = "payment-gateway logged GATEWAY_TIMEOUT errors, as releasedmark.";

type Replies = Vec<(Role, Reply)>;

/// One way for a run to end, and the replies that lead there.
struct Case {
    name: &'static str,
    status: &'static str,
    /// The fallback's reason or the failure's code; empty for a success.
    reason: &'static str,
    replies: Replies,
}

/// A diagnosis that has made its calls, and what comes then.
fn case(name: &'static str, status: &'static str, reason: &'static str, rest: Replies) -> Case {
    let mut replies =
        vec![(Role::Route, Reply::json(&json!({ "intent": "DIAGNOSIS" }))), (Role::Diagnose, tools())];
    replies.extend(rest);
    Case { name, status, reason, replies }
}

/// Calls of every kind: shown, empty, refused, unknown, malformed; each argument that a model can choose is marked.
fn tools() -> Reply {
    let sql =
        |sql: &str| Call::new("query_mysql", json!({ "data_source": "orders", "sql": sql, "params": [] }));
    Reply::calls([
        gateway_errors().id("call_a"),
        sql("SELECT service, version FROM deployments WHERE service <> 'leakmark-sql'"),
        sql("DELETE FROM orders WHERE id = 'leakmark-refused-sql'"),
        sql("SELECT leakmark_column FROM orders"),
        Call::new("lookup_knowledge", json!({ "query": "leakmark-lookup 支付超时", "top_k": 2 })),
        Call::new(
            "query_logs",
            json!({ "service": "leakmark-service", "query": "leakmark-filter", "level": null, "start": "-1h", "end": "now", "limit": 5 }),
        ),
        Call::new("leakmark-tool", json!({ "leakmark": 1 })),
        Call::new("query_logs", json!({})).raw_arguments(json!("{\"service\": \"leakmark-cut")),
    ])
}

fn marked_draft(call: &str) -> Value {
    let mut marked = draft("NORMAL", "The cause is leakmark-draft 4711.", call);
    marked["actions"][0]["text"] = json!("Do leakmark-action.");
    marked["limitations"]["missing_info"] = json!(["leakmark-missing"]);
    marked
}

fn vendor(status: u16) -> Reply {
    let error = json!({ "error": { "message": "leakmark-vendor", "type": "leakmark_type", "code": "leakmark_code", "param": "leakmark_param" } });
    Reply::status(status, error.to_string())
        .header("retry-after", "0")
        .header("x-request-id", "leakmark-header")
}

/// A verdict whose reason is marked.
fn verdict(verdict: &str) -> Reply {
    Reply::json(&json!({ "verdict": verdict, "reason": "leakmark-reason" }))
}

fn clean() -> Reply {
    Reply::json(&draft("NORMAL", FINDING, "call_a"))
}

fn marked() -> Reply {
    Reply::json(&marked_draft("call_a"))
}

/// A draft that the evidence guard refuses.
fn baseless() -> Reply {
    Reply::json(&marked_draft("call_leakmark_nobody_made"))
}

/// A world whose sources hold marks, told everything by its logs.
async fn marked_world(
    script: Script,
    configure: impl FnOnce(WorldBuilder) -> WorldBuilder,
) -> anyhow::Result<World> {
    let world = configure(world(script).env("LOG_LEVEL", "trace")).start().await?;
    let at = (world.stack.placed.scenario.clock - time::Duration::minutes(1)).format(&Rfc3339)?;
    let add = |service: &str, level: &str, message: String| -> anyhow::Result<()> {
        let path = world.stack.placed.logs.join(format!("{service}.jsonl"));
        let line = json!({ "timestamp": at, "level": level, "service": service, "message": message, "pod": "leakmark-pod" });
        Ok(writeln!(std::fs::OpenOptions::new().append(true).open(path)?, "{line}")?)
    };
    add(
        "payment-gateway",
        "ERROR",
        format!("leakmark-matching login refused password={SECRET} Authorization: Bearer {SECRET}"),
    )?;
    add("payment-gateway", "INFO", "leakmark-unasked".to_owned())?;
    add("order-service", "ERROR", "leakmark-unasked".to_owned())?;
    let pool =
        SqlitePool::connect_with(SqliteConnectOptions::new().filename(&world.stack.placed.database)).await?;
    let row = "UPDATE deployments SET version = 'leakmark-row' WHERE service = 'order-service'";
    assert_eq!(sqlx::query(row).execute(&pool).await?.rows_affected(), 1);
    pool.close().await;
    Ok(world)
}

/// Runs the cases one after another in one world and looks everywhere after each.
async fn leak_nothing(cases: Vec<Case>) -> anyhow::Result<()> {
    let replies = cases.iter().flat_map(|case| case.replies.clone());
    let script = replies.fold(Script::new(), |script, (role, reply)| script.then(role, reply));
    let world = marked_world(script, |world| world).await?;
    for case in &cases {
        let told = if case.reason == "RUN_CANCELLED" {
            cancel_in_review(&world).await?
        } else {
            world.ask(QUESTION).await?
        };
        ended_as(&told, case);
        nothing_leaked(&world, &told, case.name).await?;
    }
    assert_eq!(world.provider.unplayed(), 0);
    the_marks_were_there(&world);
    Ok(())
}

fn ended_as(told: &Transcript, case: &Case) {
    let reason = match (told.content(), told.failure()) {
        (Some(content), None) => content.body["reason_code"].as_str().unwrap_or_default(),
        (None, Some(failure)) => failure.code.as_str(),
        other => panic!("{}: {other:?}", case.name),
    };
    let status = told.done().map(|done| done.status.as_str());
    assert_eq!((status, reason), (Some(case.status), case.reason), "{}: {}", case.name, told.text());
}

async fn cancel_in_review(world: &World) -> anyhow::Result<Transcript> {
    let mut stream = world.open(&json!({ "query": QUESTION }), &[]).await?;
    while let Some(arrived) = stream.next().await? {
        if matches!(&arrived.event, Event::Status(status) if status.stage == "REVIEWING") {
            assert_eq!(world.cancel(arrived.event.run_id()).await?, 202);
            break;
        }
    }
    Ok(stream.collect().await?)
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_that_released_something_leak_nothing() -> anyhow::Result<()> {
    use Role::{Diagnose, Knowledge, Repair, Review, Route, System};
    let chatty = || Reply::text("leakmark-route DIAGNOSIS");
    let knowledge = |rest: Replies| {
        let mut replies = vec![(Route, Reply::json(&json!({ "intent": "KNOWLEDGE_QUERY" })))];
        replies.extend(rest);
        replies
    };
    let statements =
        |text: &str, n: u32| Reply::json(&json!({ "statements": [{ "text": text, "citations": [n] }] }));
    let failed = "EVIDENCE_VALIDATION_FAILED";
    let repaired = Reply::json(&draft("NORMAL", FINDING, "call_leakmark_nobody_made"));
    let mut unrouted = case(
        "router without a route",
        "SUCCESS",
        "",
        vec![(Diagnose, clean()), (Review, verdict("SUPPORTED"))],
    );
    unrouted.replies.splice(..1, [(Route, chatty()), (Route, chatty())]);
    let answer = statements(FINDING, 1);
    leak_nothing(vec![
        case(
            "released",
            "SUCCESS",
            "",
            vec![(Diagnose, clean().from_model("leakmark-model")), (Review, verdict("SUPPORTED"))],
        ),
        unrouted,
        case(
            "repaired",
            "SUCCESS",
            "",
            vec![(Diagnose, repaired), (Repair, clean()), (Review, verdict("SUPPORTED"))],
        ),
        case(
            "unsupported",
            "FALLBACK",
            "SEMANTIC_UNSUPPORTED",
            vec![(Diagnose, marked()), (Review, verdict("UNSUPPORTED"))],
        ),
        case(
            "no verdict",
            "FALLBACK",
            "SEMANTIC_UNAVAILABLE",
            vec![
                (Diagnose, marked()),
                (Review, Reply::text("leakmark-verdict")),
                (Review, verdict("LEAKMARK")),
            ],
        ),
        case(
            "review down",
            "FALLBACK",
            "SEMANTIC_UNAVAILABLE",
            vec![(Diagnose, marked()), (Review, vendor(500)), (Review, vendor(503)), (Review, vendor(500))],
        ),
        case(
            "review refused",
            "FALLBACK",
            "SEMANTIC_UNAVAILABLE",
            vec![(Diagnose, marked()), (Review, vendor(403))],
        ),
        case("repair in vain", "FALLBACK", failed, vec![(Diagnose, baseless()), (Repair, baseless())]),
        case(
            "repair of the words",
            "FALLBACK",
            failed,
            vec![
                (Diagnose, baseless()),
                (Repair, Reply::json(&draft("NORMAL", "leakmark-repair", "call_a"))),
            ],
        ),
        case(
            "repair without a draft",
            "FALLBACK",
            failed,
            vec![(Diagnose, baseless()), (Repair, Reply::text("leakmark-repair"))],
        ),
        case("repair down", "FALLBACK", failed, vec![(Diagnose, baseless()), (Repair, vendor(400))]),
        Case {
            name: "knowledge",
            status: "SUCCESS",
            reason: "",
            replies: knowledge(vec![(Knowledge, answer), (Review, verdict("SUPPORTED"))]),
        },
        Case {
            name: "knowledge without a hit",
            status: "FALLBACK",
            reason: failed,
            replies: knowledge(vec![(Knowledge, statements("leakmark-statement", 99))]),
        },
        Case {
            name: "knowledge unsupported",
            status: "FALLBACK",
            reason: "SEMANTIC_UNSUPPORTED",
            replies: knowledge(vec![
                (Knowledge, statements("leakmark-statement", 1)),
                (Review, verdict("UNSUPPORTED")),
            ]),
        },
        Case {
            name: "system",
            status: "SUCCESS",
            reason: "",
            replies: vec![
                (Route, Reply::json(&json!({ "intent": "SYSTEM_CHAT" }))),
                (System, Reply::text("I diagnose, as releasedmark.")),
            ],
        },
    ])
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_that_failed_leak_nothing() -> anyhow::Result<()> {
    use Role::{Diagnose, Review};
    let (down, invalid) = ("MODEL_UNAVAILABLE", "MODEL_OUTPUT_INVALID");
    let mut unknown_field = marked_draft("call_a");
    unknown_field["leakmark_field"] = json!("leakmark-value");
    let mut wrong_kind = marked_draft("call_a");
    wrong_kind["analyses"][0]["kind"] = json!("LEAKMARK_KIND");
    let too_large = json!({ "error": { "message": "This model's maximum context length is 8192 tokens, leakmark-vendor", "code": "context_length_exceeded" } });
    let html = Reply::status(200, "<html>leakmark-html</html>").header("content-type", "text/html");
    let failed = |name, code, reply| case(name, "FAILED", code, vec![(Diagnose, reply)]);
    leak_nothing(vec![
        case(
            "server error",
            "FAILED",
            down,
            vec![(Diagnose, vendor(500)), (Diagnose, vendor(529)), (Diagnose, vendor(502))],
        ),
        case(
            "rate limit",
            "FAILED",
            down,
            vec![(Diagnose, vendor(429)), (Diagnose, vendor(429)), (Diagnose, vendor(429))],
        ),
        failed("bad key", down, vendor(401)),
        failed("bad request", down, vendor(400)),
        failed("unknown model", down, vendor(404)),
        failed("too large", "CONTEXT_TOO_LARGE", Reply::status(400, too_large.to_string())),
        failed("prose", invalid, Reply::text("The cause is leakmark-prose.")),
        failed("unknown field", invalid, Reply::json(&unknown_field)),
        failed("wrong kind", invalid, Reply::json(&wrong_kind)),
        failed("cut", invalid, Reply::text("{\"conclusion\": {\"text\": \"leakmark-cut").finishing("length")),
        failed("refusal", invalid, Reply::refusal("leakmark-refusal")),
        failed("page", invalid, html),
        failed("broken reply", invalid, Reply::status(200, r#"{"choices": [{"message": leakmark-broken}]}"#)),
        failed(
            "odd reply",
            invalid,
            Reply::status(200, r#"{"choices": [{"message": {"content": {"leakmark": "odd"}}}]}"#),
        ),
        case(
            "cancelled",
            "FAILED",
            "RUN_CANCELLED",
            vec![(Diagnose, marked()), (Review, verdict("SUPPORTED").stalling_halfway())],
        ),
    ])
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_that_were_stopped_leak_nothing() -> anyhow::Result<()> {
    use Role::{Diagnose, Review};
    let calls = || Script::new().routes_to("DIAGNOSIS").then(Diagnose, tools());

    let late = calls().then(Diagnose, marked()).then(Review, verdict("SUPPORTED").stalling_halfway());
    let late = marked_world(late, |world| world.env("RUN_TIMEOUT_SECONDS", "5")).await?;
    let told = late.ask(QUESTION).await?;
    ended_as(&told, &case("late", "FAILED", "DEADLINE_EXCEEDED", Vec::new()));
    nothing_leaked(&late, &told, "late").await?;

    let endless = Script::new().routes_to("DIAGNOSIS").each(Diagnose, |_| tools());
    let endless = marked_world(endless, |world| world.env("BUDGET_MODEL_CALLS", "6")).await?;
    let told = endless.ask(QUESTION).await?;
    ended_as(&told, &case("endless", "FAILED", "BUDGET_EXHAUSTED", Vec::new()));
    nothing_leaked(&endless, &told, "endless").await?;

    let unstored = marked_world(calls(), |world| world).await?;
    std::fs::write(unstored.canonical_folder(), "a file where the folder should be")?;
    let told = unstored.ask(QUESTION).await?;
    ended_as(&told, &case("no canonical store", "FAILED", "STORE_UNAVAILABLE", Vec::new()));
    nothing_leaked(&unstored, &told, "no canonical store").await?;

    let supported = calls().then(Diagnose, marked()).then(Review, verdict("SUPPORTED"));
    let uncommitted = marked_world(supported, |world| world).await?;
    let pool = SqlitePool::connect_with(SqliteConnectOptions::new().filename(uncommitted.database())).await?;
    let broken =
        "CREATE TRIGGER broken BEFORE UPDATE ON diagnosis_run BEGIN SELECT RAISE(ABORT, 'disk is gone'); END";
    sqlx::query(broken).execute(&pool).await?;
    pool.close().await;
    let told = uncommitted.ask(QUESTION).await?;
    ended_as(&told, &case("not committed", "FAILED", "STORE_UNAVAILABLE", Vec::new()));
    nothing_leaked(&uncommitted, &told, "not committed").await?;
    Ok(())
}
