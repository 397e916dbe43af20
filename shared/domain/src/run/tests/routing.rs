//! Which path each router reply leads to.

use super::*;

#[test]
fn each_intent_takes_its_path() {
    let mut diagnosis = asking("why?");
    let asked = diagnosis.route("DIAGNOSIS");
    assert_eq!((asked.call.attempt, asked.call.tools), (1, ToolOffer::None));
    assert_eq!(asked.user, r#"{"previous_turn":null,"query":"why?"}"#);
    let agent = diagnosis.asked().call;
    assert_eq!((agent.role, agent.tools), (Role::Diagnose, ToolOffer::Offered));

    let mut knowledge = asking("how do I scale the pool?");
    knowledge.route("KNOWLEDGE_QUERY");
    let Step::CallTools(calls) = knowledge.next() else { panic!("no lookup") };
    assert_eq!((calls.len(), calls[0].name.as_str(), calls[0].index), (1, "lookup_knowledge", 1));
    assert_eq!(calls[0].arguments, Ok(json!({ "query": "how do I scale the pool?", "top_k": 6 })));
    assert_eq!(knowledge.run.intent(), Some(Intent::KnowledgeQuery));

    let mut system = asking("who are you?");
    system.route("SYSTEM_CHAT");
    assert_eq!(system.asked().call.role, Role::System);
}

#[test]
fn a_bad_reply_is_asked_again_once_and_then_the_most_guarded_path_is_taken() {
    let bad = [
        "",
        "DIAGNOSIS",
        r#"{"intent":"DIAGNOSE"}"#,
        r#"{"intent":"SYSTEM_CHAT","why":"x"}"#,
        r#"["SYSTEM_CHAT"]"#,
        r#"{"intent":{"SYSTEM_CHAT":null}}"#,
        r#"{"intent":"SYSTEM_CHAT"} ok"#,
        r#"{"intent":"DIAGNOSIS","intent":"SYSTEM_CHAT"}"#,
    ];
    for text in bad {
        let mut play = asking("why?");
        let first = play.replies(Role::Route, says(text)).user;
        let second = play.asked();
        assert_eq!((second.call.role, second.call.attempt, &second.user), (Role::Route, 2, &first), "{text}");
        play.run.apply_model(ModelResult::new(USAGE, 1, says(r#"{"intent":"SYSTEM_CHAT"}"#)));
        assert_eq!(play.run.intent(), Some(Intent::SystemChat), "{text}");

        let mut play = asking("why?");
        play.replies(Role::Route, says(text));
        play.replies(Role::Route, says(text));
        assert_eq!(play.run.intent(), Some(Intent::Diagnosis), "{text}");
        assert_eq!(
            play.used(),
            BudgetUse { model_calls: 2, input_tokens: 1800, output_tokens: 400, ..BudgetUse::default() }
        );
    }
}

#[test]
fn only_passing_faults_are_asked_again() {
    use ModelFault as F;
    let (again, final_) = (
        [F::Timeout, F::Transport, F::ParseError, F::SchemaInvalid],
        [
            F::Truncated,
            F::RateLimited,
            F::Overloaded,
            F::ServerError,
            F::ContextTooLarge,
            F::ContentFiltered,
            F::Refused,
            F::Auth,
            F::Quota,
            F::UnknownModel,
            F::BadRequest,
        ],
    );
    for fault in again {
        let mut play = asking("why?");
        play.replies(Role::Route, Err(fault));
        assert_eq!((play.run.intent(), play.asked().call.attempt), (None, 2), "{fault:?}");
    }
    for fault in final_ {
        let mut play = asking("why?");
        play.replies(Role::Route, Err(fault));
        assert_eq!((play.run.intent(), play.used().model_calls), (Some(Intent::Diagnosis), 1), "{fault:?}");
    }
}

#[test]
fn a_router_that_asks_for_a_tool_is_no_way_to_one() {
    let mut play = asking("why?");
    for _ in 0..2 {
        play.replies(
            Role::Route,
            Ok(Reply { text: None, calls: vec![wants(None, "query_mysql")], ..Reply::default() }),
        );
        assert!(play.run.planned_calls().is_none());
    }
    assert_eq!(play.run.intent(), Some(Intent::Diagnosis));
}

#[test]
fn the_assistant_speaks_about_itself_in_words_of_its_fact_sheet_or_in_the_fixed_ones() {
    let reply = |query: &str, text: &str| {
        let mut play = asking(query);
        play.route("SYSTEM_CHAT");
        let asked = play.replies(Role::System, says(text));
        assert_eq!(asked.call.tools, ToolOffer::None);
        let (intent, released) = play.released();
        assert_eq!((intent, released.conclusion(), released.cites().len()), (Intent::SystemChat, None, 0));
        let body: Value = serde_json::from_str(released.body_json()).unwrap();
        assert_eq!((body["kind"].as_str(), released.outcome()), (Some("SYSTEM_REPLY"), Outcome::Success));
        body["text"].as_str().unwrap().to_owned()
    };
    let plain = "I read runbooks, logs and allow-listed tables; I change nothing.";
    assert_eq!(reply("who are you?", plain), plain);
    let lies = [
        "payment-gateway-7d9f is down.",
        "Latency rose to 5003 ms.",
        "It broke at 14:05.",
        "The log says \"pool exhausted\".",
        "",
        " \u{200B}\u{2060} ",
        "见 ERR_POOL_4411",
    ];
    for text in lies {
        assert!(reply("who are you?", text).starts_with("I diagnose incidents."), "{text}");
        assert!(reply("你是谁？", text).starts_with("我是故障诊断助手。"), "{text}");
    }
    assert!(reply("who?", &"word ".repeat(600)).starts_with("I diagnose incidents."), "over-long");
}

#[test]
fn a_system_chat_without_a_model_fails_with_its_code() {
    let mut play = asking("who are you?");
    play.route("SYSTEM_CHAT");
    play.replies(Role::System, Err(ModelFault::Timeout));
    assert_eq!(play.failure(), FailureCode::ModelUnavailable);
}
