//! The audit: metadata only, one row per call, never in the way.

use std::time::Duration;

use domain::evidence::InvocationStatus;
use domain::model::ModelFault;
use domain::release::Outcome;
use domain::tool::ToolName;

use crate::fakes::{Fault, Line, World, asks_for, draft_citing, log_query, routed_to, says, verdict};

#[tokio::test(start_paused = true)]
async fn each_model_call_is_one_step() {
    let world = World::new();
    world.model.will(Line::fails("route", ModelFault::ParseError).after(1));
    world.model.will(routed_to("DIAGNOSIS").after(2));
    world.model.will(asks_for(&[("call_1", "query_logs", log_query()), ("call_2", "invented", log_query())]));
    world.model.will(says("diagnose", &draft_citing(&["call_1"])));
    world.model.will(Line::fails("review", ModelFault::Timeout));
    world.model.will(verdict("SUPPORTED"));
    world.ask().await.content();
    let line = |s: &crate::ports::ledger::StepRow| {
        format!(
            "{} {} #{} {}ms [{}] {} text={} tools={} {:?}",
            s.sequence,
            s.kind,
            s.attempt,
            s.duration_ms,
            s.message_roles,
            s.message_count,
            s.has_text,
            s.tool_names,
            s.error_code
        )
    };
    let steps = world.ledger.steps();
    assert_eq!(
        steps.iter().map(line).collect::<Vec<_>>(),
        [
            r#"1 route #1 1000ms [system user] 2 text=false tools= Some("PARSE_ERROR")"#,
            "2 route #2 2000ms [system user] 2 text=true tools= None",
            "3 diagnose #1 0ms [system user] 2 text=false tools=query_logs,unknown None",
            "4 diagnose #1 0ms [system user assistant toolx2] 5 text=true tools= None",
            r#"5 review #1 0ms [system user] 2 text=false tools= Some("TIMEOUT")"#,
            "6 review #2 0ms [system user] 2 text=true tools= None",
        ]
    );
    assert!(steps.iter().all(|s| s.model == "scripted-1" && s.input_tokens == 1000 && !s.usage_estimated));
    let budget = world.ledger.only_commit().budget;
    assert_eq!((budget.model_calls, budget.input_tokens, budget.output_tokens), (6, 6000, 600));
}

#[tokio::test(start_paused = true)]
async fn each_planned_call_is_one_invocation() {
    let world = World::new();
    world.script_diagnosis();
    world.ask().await.content();
    let rows = world.ledger.invocations();
    assert_eq!(rows.len(), 1);
    let row = &rows[0];
    assert_eq!((row.sequence, row.tool, row.status), (1, Some(ToolName::QueryLogs), InvocationStatus::Ready));
    assert_eq!(row.request_bytes, log_query().to_string().len() as u64);
    assert_eq!(row.result_bytes, world.ledger.only_commit().budget.tool_bytes);
}

#[tokio::test(start_paused = true)]
async fn a_failed_write_is_repeated_with_the_next() {
    for fault in [Fault::FailsOnce, Fault::LosesItsAnswer] {
        let world = World::new();
        world.script_diagnosis();
        world.ledger.will("ledger.audit", fault);
        assert_eq!(world.ask().await.content().0, Outcome::Success);
        assert_eq!(
            (world.ledger.steps().len(), world.ledger.invocations().len()),
            (4, 1),
            "{fault:?}: all, and none twice"
        );
        let sizes = world.diary.of("ledger.audit");
        assert_eq!(sizes[..2], ["ledger.audit 1", "ledger.audit 3"], "{fault:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_audit_that_fails_or_hangs_never_changes_the_outcome() {
    for (fault, latest) in [(Fault::Fails, 0), (Fault::Panics, 0), (Fault::Hangs, 8)] {
        let world = World::new();
        world.script_diagnosis();
        world.ledger.will("ledger.audit", fault);
        let told = world.ask().await;
        assert_eq!(told.content().0, Outcome::Success, "{fault:?}");
        assert!(told.when("done") <= Duration::from_secs(latest), "{fault:?}: {:?}", told.when("done"));
    }
}
