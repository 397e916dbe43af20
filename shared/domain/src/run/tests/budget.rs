//! Soft landing: tools are withheld when only the final answer is affordable, by any of the budget's measures.

use super::*;
use crate::specimens::full_draft;

fn offer(play: &mut Play) -> ToolOffer {
    play.asked().call.tools
}

/// One round of one failing tool call whose observation takes `bytes`.
fn round(play: &mut Play, bytes: u64) {
    let planned = play.wants_tools(vec![wants(None, "query_logs")]);
    play.tools_fail(&planned, bytes);
}

fn diagnosing_within(limits: BudgetLimits) -> Play {
    let mut play = with_budget("why is checkout slow?", limits);
    play.route("DIAGNOSIS");
    play
}

/// The withheld call's draft can still be checked, repaired, reviewed twice, and released.
fn lands_with_a_report(mut play: Play) {
    let asked = play.drafts(&full_draft());
    assert_eq!(asked.call.tools, ToolOffer::Withheld);
    play.store_holds(&[]);
    play.replies(Role::Repair, says(&json_of(&full_draft())));
    play.evidence_is_there();
    play.replies(Role::Review, Err(ModelFault::Timeout));
    play.replies(Role::Review, says(SUPPORTED));
    play.body(Outcome::Success);
}

#[test]
fn by_model_calls() {
    // Route, one round, the final answer, and the guards' three.
    let mut play = diagnosing_within(BudgetLimits { model_calls: 6, ..BudgetLimits::default() });
    round(&mut play, 100);
    lands_with_a_report(play);
    let mut play = diagnosing_within(BudgetLimits { model_calls: 7, ..BudgetLimits::default() });
    round(&mut play, 100);
    assert_eq!(offer(&mut play), ToolOffer::Offered);
}

#[test]
fn by_input_tokens() {
    // A quarter is the guards'; of the other 3600 routing took 900, and a call of 1500 fits once, not twice.
    let mut play = diagnosing_within(BudgetLimits { input_tokens: 4800, ..BudgetLimits::default() });
    play.around.prompt = 1500;
    assert_eq!(offer(&mut play), ToolOffer::Withheld);
    let mut play = diagnosing_within(BudgetLimits { input_tokens: 4800, ..BudgetLimits::default() });
    play.around.prompt = 1350;
    assert_eq!(offer(&mut play), ToolOffer::Offered);
    let mut play = diagnosing_within(BudgetLimits { input_tokens: 4800, ..BudgetLimits::default() });
    play.around.prompt = 2701;
    assert_eq!(play.failure(), FailureCode::BudgetExhausted);
}

#[test]
fn by_output_tokens() {
    // Half of 2200 is the guards'; routing took 200, so that 900 are left: one answer of 512, not two.
    let mut play = diagnosing_within(BudgetLimits { output_tokens: 2200, ..BudgetLimits::default() });
    let call = play.asked().call;
    assert_eq!((call.tools, call.max_output_tokens), (ToolOffer::Withheld, 900));
    let mut play = diagnosing_within(BudgetLimits { output_tokens: 1400, ..BudgetLimits::default() });
    assert_eq!(play.failure(), FailureCode::BudgetExhausted, "500 can't hold a report");
}

#[test]
fn by_tool_calls_and_by_tool_bytes() {
    let mut play = diagnosing_within(BudgetLimits { tool_calls: 1, ..BudgetLimits::default() });
    round(&mut play, 100);
    lands_with_a_report(play);
    let mut play = diagnosing_within(BudgetLimits { tool_bytes: 9000, ..BudgetLimits::default() });
    round(&mut play, 7976);
    assert_eq!(offer(&mut play), ToolOffer::Offered, "1024 bytes are one more observation");
    let mut play = diagnosing_within(BudgetLimits { tool_bytes: 9000, ..BudgetLimits::default() });
    round(&mut play, 7977);
    lands_with_a_report(play);
}

#[test]
fn by_time() {
    let mut play = diagnosing();
    play.duration_ms = 20_000;
    round(&mut play, 100);
    play.around.time_left_ms = 60_000;
    assert_eq!(offer(&mut play), ToolOffer::Offered);
    let mut play = diagnosing();
    play.duration_ms = 20_000;
    round(&mut play, 100);
    play.around.time_left_ms = 59_999;
    play.duration_ms = 1000;
    lands_with_a_report(play);
}

#[test]
fn calls_over_the_tool_budget_are_planned_but_not_admitted() {
    let mut play = diagnosing_within(BudgetLimits { tool_calls: 2, ..BudgetLimits::default() });
    let asked = (0..4).map(|_| wants(None, "query_logs")).collect();
    let planned = play.wants_tools(asked);
    let admitted: Vec<_> = planned.iter().map(|c| c.admission != Admission::OverBudget).collect();
    assert_eq!(admitted, [true, true, false, false]);
    play.tools_fail(&planned, 90);
    assert_eq!((play.used().tool_calls, play.used().tool_bytes), (2, 360), "error texts are shown too");
}

#[test]
fn a_model_that_ignores_it_exhausts_its_budget_and_leaves_the_guards_theirs() {
    let mut play = diagnosing();
    let mut withheld = 0;
    while let Step::CallModel { call, .. } = play.next() {
        withheld += u32::from(call.tools == ToolOffer::Withheld);
        let reply = Ok(Reply { text: None, calls: vec![wants(None, "query_logs")], ..Reply::default() });
        play.run.apply_model(ModelResult::new(USAGE, 1, reply));
        let planned = play.run.planned_calls().unwrap().to_vec();
        play.tools_fail(&planned, 100);
    }
    assert_eq!((play.failure(), withheld), (FailureCode::BudgetExhausted, 1));
    assert_eq!(play.used().model_calls, 9, "three of twelve are the guards'");
}

#[test]
fn a_call_that_used_more_than_it_reserved_is_settled_and_ends_the_spending() {
    let mut play = asking("why?");
    play.usage = Usage::counted(u64::MAX, u64::MAX);
    play.route("DIAGNOSIS");
    assert_eq!(
        (play.used().input_tokens, play.used().output_tokens),
        (u64::MAX, u64::MAX),
        "no sum wraps around"
    );
    assert_eq!(play.failure(), FailureCode::BudgetExhausted);
}

#[test]
fn without_any_budget_nothing_is_asked() {
    let none =
        BudgetLimits { model_calls: 0, tool_calls: 0, input_tokens: 0, output_tokens: 0, tool_bytes: 0 };
    let mut play = with_budget("why?", none);
    assert_eq!(play.failure(), FailureCode::BudgetExhausted);
    assert_eq!(play.used(), BudgetUse::default());
}

#[test]
fn a_guard_that_no_longer_fits_fails_the_run_and_never_passes_it() {
    let limits = BudgetLimits { input_tokens: 8000, ..BudgetLimits::default() };
    let mut play = diagnosing_within(limits);
    play.drafts(&full_draft());
    play.evidence_is_there();
    play.around.prompt = 7000;
    assert_eq!(play.failure(), FailureCode::BudgetExhausted);
}
