//! Whole runs: each outcome, each failure code, each place where the time can run out.

use std::time::Duration;

use domain::budget::BudgetLimits;
use domain::events::FailureCode;
use domain::model::{ModelFault, Role};
use domain::release::Outcome;
use domain::tool::ToolErrorCode;
use serde_json::json;

use crate::fakes::{
    Fault, Line, RESERVE, RUN_LIMIT, Told, Will, World, asks_for, draft_citing, knowledge_answer, log_query,
    routed_to, says, verdict,
};
use crate::ports::ledger::TerminalState;

#[tokio::test(start_paused = true)]
async fn a_verified_diagnosis_is_released_word_for_word() {
    let world = World::new();
    world.script_diagnosis();
    let told = world.ask().await;
    let (outcome, body) = told.content();
    assert_eq!((outcome, &body["kind"]), (Outcome::Success, &json!("DIAGNOSIS_REPORT")));
    assert_eq!(body["conclusion"]["text"], "checkout times out at the bank");
    assert_eq!(body["analyses"][0]["sources"][0]["source"], "prod-logs");
    assert!(!told.json().contains("call_1"), "tool call ids are internal");
    let stages =
        ["ROUTING", "DIAGNOSING", "TOOL", "DIAGNOSING", "VALIDATING_EVIDENCE", "REVIEWING", "RELEASING"];
    assert_eq!(told.stages(), stages);
    let states: Vec<_> =
        told.statuses().iter().filter_map(|s| s.tool_call.clone()).map(|t| json!(t)).collect();
    let ready = json!({ "index": 1, "state": "READY", "evidence_status": "EVIDENCE_FOUND" });
    assert_eq!(states, [json!({ "index": 1, "state": "STARTED" }), ready]);
    let stored = world.ledger.row().body.unwrap();
    assert!(told.json().contains(stored.get()), "the stored body is the published one, byte for byte");
    assert_eq!(world.control.leases(), 0);
}

#[tokio::test(start_paused = true)]
async fn an_unsupported_report_becomes_a_fallback_with_its_verified_sources() {
    let world = World::new();
    world.model.will(routed_to("DIAGNOSIS"));
    world.model.will(asks_for(&[("call_1", "query_logs", log_query())]));
    world.model.will(says("diagnose", &draft_citing(&["call_1"])));
    world.model.will(verdict("UNSUPPORTED"));
    let (outcome, body) = world.ask().await.content();
    assert_eq!((outcome, &body["reason_code"]), (Outcome::Fallback, &json!("SEMANTIC_UNSUPPORTED")));
    assert_eq!(body["verified_sources"][0]["source"], "prod-logs");
    assert_eq!(world.model.requests(Role::Review).len(), 1, "a verdict is never asked for twice");
}

#[tokio::test(start_paused = true)]
async fn a_guard_that_does_not_answer_is_asked_twice_in_the_same_bytes() {
    let world = World::new();
    world.model.will(routed_to("DIAGNOSIS"));
    world.model.will(asks_for(&[("call_1", "query_logs", log_query())]));
    world.model.will(says("diagnose", &draft_citing(&["call_1"])));
    world.model.will(Line::fails("review", ModelFault::Timeout).after(2));
    world.model.will(says("review", "SUPPORTED"));
    let (_, body) = world.ask().await.content();
    assert_eq!(body["reason_code"], "SEMANTIC_UNAVAILABLE");
    let asked = world.model.requests(Role::Review);
    assert_eq!(asked.len(), 2);
    let bytes = |i: usize| {
        let r = &asked[i];
        format!("{} {:?} {:?} {}", r.system, r.messages, r.response_schema, r.max_output_tokens)
    };
    assert_eq!(bytes(0), bytes(1));
}

#[tokio::test(start_paused = true)]
async fn wrong_references_are_repaired_once() {
    let world = World::new();
    world.model.will(routed_to("DIAGNOSIS"));
    world.model.will(asks_for(&[("call_1", "query_logs", log_query())]));
    world.model.will(says("diagnose", &draft_citing(&["call_9"])));
    world.model.will(says("repair", &draft_citing(&["call_1"])));
    world.model.will(verdict("SUPPORTED"));
    let told = world.ask().await;
    assert_eq!(told.content().0, Outcome::Success);
    assert!(told.stages().contains(&"REPAIRING_EVIDENCE".to_owned()));
    assert!(world.ledger.only_commit().repaired);

    let world = World::new();
    world.model.will(routed_to("DIAGNOSIS"));
    world.model.will(says("diagnose", &draft_citing(&["call_9"])));
    world.model.will(says("repair", &draft_citing(&["call_8"])));
    let (_, body) = world.ask().await.content();
    assert_eq!(body["reason_code"], "EVIDENCE_VALIDATION_FAILED");
    assert_eq!(world.model.requests(Role::Repair).len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_knowledge_question_is_answered_from_hits_or_not_at_all() {
    let world = World::new();
    world.model.will(routed_to("KNOWLEDGE_QUERY"));
    world.model.will(knowledge_answer("calls timed out at the bank"));
    world.model.will(verdict("SUPPORTED"));
    let told = world.ask().await;
    assert_eq!(told.content().1["kind"], "KNOWLEDGE_ANSWER");
    assert_eq!(told.stages()[..4], ["ROUTING", "RETRIEVING", "TOOL", "ANSWERING"]);

    let world = World::new();
    world.model.will(routed_to("KNOWLEDGE_QUERY"));
    world.knowledge.will(Will::FindNothing);
    let (_, body) = world.ask().await.content();
    assert_eq!(body["reason_code"], "EVIDENCE_VALIDATION_FAILED");
    assert_eq!(body["attempted"], json!([{ "tool": "lookup_knowledge", "evidence_status": "NO_EVIDENCE" }]));
}

#[tokio::test(start_paused = true)]
async fn a_greeting_is_answered_without_tools() {
    let world = World::new();
    world.model.will(routed_to("SYSTEM_CHAT"));
    world.model.will(says("system", "Hello, I help with incidents."));
    let (outcome, body) = world.ask().await.content();
    assert_eq!((outcome, &body["text"]), (Outcome::Success, &json!("Hello, I help with incidents.")));
    assert!(world.canonical.records().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_router_that_fails_twice_routes_to_diagnosis() {
    let world = World::new();
    world.model.will(Line::fails("route", ModelFault::Transport));
    world.model.will(Line::fails("route", ModelFault::Timeout));
    world.model.will(asks_for(&[("call_1", "query_logs", log_query())]));
    world.model.will(says("diagnose", &draft_citing(&["call_1"])));
    world.model.will(verdict("SUPPORTED"));
    assert_eq!(world.ask().await.content().0, Outcome::Success);
    assert_eq!(world.model.requests(Role::Route).len(), 2);
}

#[track_caller]
fn failed_with(world: &World, told: &Told, code: FailureCode) {
    assert_eq!(told.failure(), code);
    match world.ledger.only_commit().state {
        TerminalState::Failed { code: stored, .. } => assert_eq!(stored, code),
        TerminalState::Released { .. } => panic!("a failed run was stored as released"),
    }
    assert_eq!(world.control.leases(), 0);
    assert!(!told.stages().contains(&"RELEASING".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn faults_of_the_model_end_the_run_with_their_code() {
    for (fault, code) in [
        (ModelFault::Auth, FailureCode::ModelUnavailable),
        (ModelFault::ServerError, FailureCode::ModelUnavailable),
        (ModelFault::SchemaInvalid, FailureCode::ModelOutputInvalid),
        (ModelFault::Truncated, FailureCode::ModelOutputInvalid),
        (ModelFault::ContextTooLarge, FailureCode::ContextTooLarge),
    ] {
        let world = World::new();
        world.model.will(routed_to("DIAGNOSIS"));
        world.model.will(Line::fails("diagnose", fault));
        failed_with(&world, &world.ask().await, code);
    }
    let world = World::new();
    world.model.will(routed_to("DIAGNOSIS"));
    world.model.will(says("diagnose", "I think it is the bank."));
    failed_with(&world, &world.ask().await, FailureCode::ModelOutputInvalid);
}

#[tokio::test(start_paused = true)]
async fn a_run_without_budget_fails_before_it_spends() {
    let mut world = World::new();
    world.budget = BudgetLimits { input_tokens: 10, ..BudgetLimits::default() };
    failed_with(&world, &world.ask().await, FailureCode::BudgetExhausted);
    assert!(world.model.all_requests().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_tool_may_end_the_run() {
    let world = World::new();
    world.model.will(routed_to("DIAGNOSIS"));
    world.model.will(asks_for(&[("call_1", "query_logs", log_query())]));
    world.logs.will(Will::End(FailureCode::StoreUnavailable));
    failed_with(&world, &world.ask().await, FailureCode::StoreUnavailable);
}

#[tokio::test(start_paused = true)]
async fn a_model_that_keeps_no_time_limit_is_a_timeout() {
    let world = World::new();
    world.model.will(Line::hangs("route"));
    world.script_diagnosis();
    let told = world.ask().await;
    assert_eq!(told.content().0, Outcome::Success, "the router asks once more");
    let steps = world.ledger.steps();
    assert_eq!((steps[0].error_code, steps[0].duration_ms), (Some("TIMEOUT"), 61_000));
    assert!(steps[0].usage_estimated && steps[0].input_tokens > 0, "its prompt was sent");
}

#[track_caller]
fn out_of_time(world: &World, told: &Told) {
    failed_with(world, told, FailureCode::DeadlineExceeded);
    assert_eq!(told.when("failure"), RUN_LIMIT);
    assert!(told.when("done") <= RUN_LIMIT + RESERVE);
}

#[tokio::test(start_paused = true)]
async fn the_deadline_ends_a_model_call() {
    let world = World::new();
    world.model.will(routed_to("DIAGNOSIS").after(55));
    world.model.will(Line::hangs("diagnose"));
    let told = world.ask().await;
    out_of_time(&world, &told);
    let asked = world.model.requests(Role::Diagnose);
    assert_eq!(asked[0].timeout, Duration::from_secs(55), "no longer than the run may take");
    let steps = world.ledger.steps();
    assert_eq!(steps[1].error_code, Some("DEADLINE_EXCEEDED"));
    let budget = world.ledger.only_commit().budget;
    assert_eq!(
        (budget.model_calls, budget.output_tokens),
        (2, 100),
        "the dropped call's reservation is settled"
    );
}

#[tokio::test(start_paused = true)]
async fn the_deadline_ends_a_tool_call() {
    let world = World::new();
    world.model.will(routed_to("DIAGNOSIS").after(50));
    world.model.will(asks_for(&[("call_1", "query_logs", log_query())]).after(45));
    world.logs.will(Will::Hang);
    let told = world.ask().await;
    out_of_time(&world, &told);
    assert!(
        world.logs.token.lock().unwrap().as_ref().unwrap().is_cancelled(),
        "what it started elsewhere is stopped"
    );
}

#[tokio::test(start_paused = true)]
async fn the_deadline_ends_a_canonical_write() {
    let world = World::new();
    world.model.will(routed_to("DIAGNOSIS").after(54));
    world.model.will(asks_for(&[("call_1", "query_logs", log_query())]).after(54));
    world.canonical.will("canonical.start", Fault::Hangs);
    let told = world.ask().await;
    out_of_time(&world, &told);
    let asked = world.model.requests(domain::model::Role::Diagnose).len();
    assert_eq!(asked, 1, "what the tool said without its record reached nobody");
}

#[tokio::test(start_paused = true)]
async fn the_deadline_ends_a_review_and_its_late_verdict_counts_for_nothing() {
    let world = World::new();
    world.model.will(routed_to("DIAGNOSIS").after(30));
    world.model.will(asks_for(&[("call_1", "query_logs", log_query())]).after(30));
    world.model.will(says("diagnose", &draft_citing(&["call_1"])).after(30));
    world.model.will(verdict("SUPPORTED").after(30));
    let told = world.ask().await;
    out_of_time(&world, &told);
    assert!(!told.json().contains("checkout times out"));
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_does_not_answer_costs_its_time_and_not_the_run() {
    let world = World::new();
    world.model.will(routed_to("DIAGNOSIS"));
    world
        .model
        .will(asks_for(&[("call_1", "query_logs", log_query()), ("call_2", "query_logs", log_query())]));
    world.logs.will(Will::Hang);
    world.model.will(says("diagnose", &draft_citing(&["call_2"])));
    world.model.will(verdict("UNSUPPORTED"));
    let (_, body) = world.ask().await.content();
    assert_eq!(body["attempted"][0], json!({ "tool": "query_logs", "error_code": "TIMEOUT" }));
    assert_eq!(world.canonical.record("call_1").error_code, Some(ToolErrorCode::Timeout));
}
