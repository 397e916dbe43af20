//! Which of the three paths a message takes.

use domain::question::Intent;
use serde_json::Value;

use super::clock_words;
use super::words::contains_any;

const ABOUT_THE_ASSISTANT: &[&str] = &[
    "你能做什么",
    "你会做什么",
    "你是谁",
    "你可以做什么",
    "怎么用你",
    "介绍一下你",
    "你的功能",
    "who are you",
    "what are you",
    "what can you do",
    "what do you do",
    "how do you work",
    "how can you help",
    "introduce yourself",
];
const GREETINGS: &[&str] = &[
    "你好",
    "您好",
    "早上好",
    "晚上好",
    "谢谢",
    "多谢",
    "hello",
    "hi",
    "hey",
    "good morning",
    "thanks",
    "thank you",
];
/// Signs of something that is wrong now.
const INCIDENT: &[&str] = &[
    "why",
    "since",
    "right now",
    "happen",
    "failing",
    "down",
    "alert:",
    "firing",
    "怎么回事",
    "为什么",
    "原因",
    "报错是",
    "一直",
    "正在",
    "突然",
    "目前",
    "刚才",
    "最近",
    "影响了",
    "没有到账",
];
/// Signs of a question that a document answers.
const PROCEDURE: &[&str] = &[
    "how do i",
    "how do we",
    "how to",
    "how should",
    "what are the steps",
    "what is the procedure",
    "what should i check",
    "threshold",
    "runbook",
    "procedure",
    "policy",
    "who approves",
    "who do i",
    "怎么处理",
    "如何处理",
    "怎样处理",
    "处理步骤",
    "处理流程",
    "流程是",
    "步骤",
    "阈值",
    "手册",
    "规定",
    "找谁",
    "联系谁",
];

/// The intent of the user message `{query, previous_turn}`.
pub(super) fn intent(input: &Value) -> Intent {
    let query = input["query"].as_str().unwrap_or_default().to_lowercase();
    let incident = contains_any(&query, INCIDENT) || clock_words::named_time(&query).is_some();
    if !incident && contains_any(&query, ABOUT_THE_ASSISTANT) {
        return Intent::SystemChat;
    }
    if !incident && contains_any(&query, PROCEDURE) {
        return Intent::KnowledgeQuery;
    }
    if !incident && is_greeting(&query) {
        return Intent::SystemChat;
    }
    // A bare follow-up belongs to the turn that it follows.
    let previous = input["previous_turn"]["intent"].as_str().and_then(Intent::parse);
    match previous {
        Some(intent) if query.chars().count() <= 24 && !incident => intent,
        _ => Intent::Diagnosis,
    }
}

/// A greeting and hardly anything else.
fn is_greeting(query: &str) -> bool {
    let starts = |greeting: &&&str| {
        let rest = query.trim().strip_prefix(**greeting);
        rest.is_some_and(|rest| {
            !rest.starts_with(|c: char| c.is_ascii_alphanumeric()) && rest.chars().count() <= 16
        })
    };
    GREETINGS.iter().any(|greeting| starts(&greeting))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn of(query: &str) -> Intent {
        intent(&json!({ "query": query, "previous_turn": null }))
    }

    #[test]
    fn questions_take_the_path_that_a_person_would_choose() {
        for query in ["你好，你能做什么？", "Hello! Who are you?", "谢谢", "hi", "What can you do?"]
        {
            assert_eq!(of(query), Intent::SystemChat, "{query}");
        }
        for query in [
            "缓存击穿应该怎么处理？",
            "队列积压的告警阈值是多少？",
            "What are the steps to rotate a key?",
            "How do we escalate a data incident?",
            "硬盘坏了找谁？",
        ] {
            assert_eq!(of(query), Intent::KnowledgeQuery, "{query}");
        }
        for query in [
            "登录超时是怎么回事",
            "search 5xx since 06:05, why?",
            "Is search-service failing right now?",
            "搜索服务 06:10 的报错是什么？",
            "hello, why is search down?",
            "ERROR OutOfMemoryError in search-service",
            "history-service returns 500",
        ] {
            assert_eq!(of(query), Intent::Diagnosis, "{query}");
        }
    }

    #[test]
    fn a_bare_follow_up_keeps_the_intent_of_its_turn() {
        let follow_up = |previous: &str| {
            intent(&json!({ "query": "and the second step?", "previous_turn": { "intent": previous } }))
        };
        assert_eq!(follow_up("KNOWLEDGE_QUERY"), Intent::KnowledgeQuery);
        assert_eq!(follow_up("DIAGNOSIS"), Intent::Diagnosis);
    }
}
