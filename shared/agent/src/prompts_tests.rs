//! What the model is sent: reviewed prompts, stable prefixes, tools that stay listed when they are withheld.

use domain::budget::BudgetLimits;
use domain::model::Role;
use domain::release::Outcome;
use serde_json::json;

use crate::fakes::{World, asks_for, draft_citing, knowledge_answer, log_query, routed_to, says, verdict};
use crate::ports::{Message, ModelRequest, ToolChoice};
use crate::prompts::Prompts;

const ROLES: [Role; 6] =
    [Role::Route, Role::Diagnose, Role::Repair, Role::Review, Role::Knowledge, Role::System];

#[test]
fn every_prompt_names_its_role_first_and_its_schema_after_it() {
    let prompts = Prompts::new(&World::new_tools());
    for role in ROLES {
        let prompt = prompts.of(role);
        assert_eq!(prompt.system.lines().next(), Some(format!("superbiz/{}", role.as_str()).as_str()));
        let schema = prompt.schema.as_ref().map(|s| s.name.clone());
        let expected = (role != Role::System).then(|| format!("superbiz_{}", role.as_str()));
        assert_eq!(schema, expected);
        assert_eq!(prompt.tools.is_empty(), role != Role::Diagnose);
        assert!(prompt.tokens > 100);
    }
}

#[test]
fn the_rendered_prompts() {
    let prompts = Prompts::new(&World::new_tools());
    for role in ROLES {
        let prompt = prompts.of(role);
        let schema = prompt
            .schema
            .as_ref()
            .map(|s| format!("\n# schema {}\n{:#}\n", s.name, s.schema))
            .unwrap_or_default();
        let tools: String = prompt
            .tools
            .iter()
            .map(|t| format!("\n# tool {}\n{}\n{}\n", t.name, t.description, t.parameters))
            .collect();
        insta::assert_snapshot!(role.as_str(), format!("{}{schema}{tools}", prompt.system));
    }
}

fn text(message: &Message) -> String {
    format!("{message:?}")
}

fn fixed_part(request: &ModelRequest) -> String {
    format!("{}\n{:?}\n{:?}", request.system, request.tools, request.response_schema)
}

#[tokio::test(start_paused = true)]
async fn each_request_of_the_agent_repeats_the_one_before_it() {
    let world = World::new();
    world.model.will(routed_to("DIAGNOSIS"));
    for id in ["call_1", "call_2", "call_3"] {
        world.model.will(asks_for(&[(id, "query_logs", log_query())]).after(3));
    }
    world.model.will(says("diagnose", &draft_citing(&["call_1"])));
    world.model.will(verdict("SUPPORTED"));
    world.ask().await.content();
    let asked = world.model.requests(Role::Diagnose);
    assert_eq!(asked.len(), 4);
    for pair in asked.windows(2) {
        assert_eq!(fixed_part(&pair[0]), fixed_part(&pair[1]));
        let earlier: Vec<_> = pair[0].messages.iter().map(text).collect();
        let later: Vec<_> = pair[1].messages.iter().map(text).collect();
        assert_eq!(later[..earlier.len()], earlier, "only appended to");
        assert_eq!(later.len(), earlier.len() + 2);
    }
    let opening = json!({ "query": "checkout 5xx since 14:05, why?", "previous_turn": null }).to_string();
    let Message::User { text } = &asked[0].messages[0] else { panic!("no user message") };
    assert_eq!(*text, opening);
}

#[tokio::test(start_paused = true)]
async fn withheld_tools_stay_listed_and_are_forbidden_with_one_note() {
    let mut world = World::new();
    world.budget = BudgetLimits { tool_calls: 1, ..BudgetLimits::default() };
    world.model.will(routed_to("DIAGNOSIS"));
    world.model.will(asks_for(&[("call_1", "query_logs", log_query())]));
    // It asks once more against the rule, and is told so.
    world.model.will(asks_for(&[("call_2", "query_logs", log_query())]));
    world.model.will(says("diagnose", &draft_citing(&["call_1"])));
    world.model.will(verdict("SUPPORTED"));
    let told = world.ask().await;
    assert_eq!(told.content().0, Outcome::Success);
    let asked = world.model.requests(Role::Diagnose);
    let choices: Vec<_> = asked.iter().map(|r| r.tool_choice).collect();
    assert_eq!(choices, [ToolChoice::Auto, ToolChoice::Forbidden, ToolChoice::Forbidden]);
    assert!(asked.iter().all(|r| fixed_part(r) == fixed_part(&asked[0])));
    for (request, notes) in asked.iter().zip([0, 1, 1]) {
        let said = request.messages.iter().filter(|m| text(m).contains("FINAL_ANSWER_ONLY")).count();
        assert_eq!(said, notes);
    }
    assert_eq!(world.diary.count("canonical.start"), 1, "nothing ran after that");
}

#[tokio::test(start_paused = true)]
async fn requests_carry_no_clock_and_no_ids_where_they_must_not() {
    let world = World::new();
    world.script_diagnosis();
    let handle = world.start().await;
    let run_id = handle.run_id.to_string();
    world.listen(handle).await.content();
    for request in world.model.all_requests() {
        let whole = format!("{}{:?}", fixed_part(&request), request.messages);
        assert!(!whole.contains(&run_id), "{:?}", request.role);
        assert!(!fixed_part(&request).contains("2026"), "no date in a prefix that should be cached");
        assert_eq!(request.tools.is_empty(), request.role != Role::Diagnose);
        assert_eq!(request.tool_choice, ToolChoice::Auto);
    }
    let review = &world.model.requests(Role::Review)[0];
    assert_eq!(review.messages.len(), 1, "a fresh conversation");
    assert!(!text(&review.messages[0]).contains("call_1"), "no tool call ids");
}

#[tokio::test(start_paused = true)]
async fn the_knowledge_role_sees_numbered_hits_only() {
    let world = World::new();
    world.model.will(routed_to("KNOWLEDGE_QUERY"));
    world.model.will(knowledge_answer("calls timed out at the bank"));
    world.model.will(verdict("SUPPORTED"));
    world.ask().await.content();
    let asked = text(&world.model.requests(Role::Knowledge)[0].messages[0]);
    assert!(asked.contains(r#"\"n\":1"#) && !asked.contains("sbz_1") && !asked.contains("doc-1"), "{asked}");
}
