//! What providers insist on, checked on every request: a mock that accepts anything would prove nothing.

use std::collections::BTreeSet;

use domain::model::Role;
use serde_json::Value;

use super::request::Received;

/// The account of one server's requests.
#[derive(Debug, Default)]
pub(super) struct Invariants {
    violations: Vec<String>,
    /// Per diagnosis conversation: its latest request's prefix and whole length.
    conversations: Vec<Conversation>,
    shared_bytes: u64,
    compared_bytes: u64,
}

#[derive(Debug)]
struct Conversation {
    prefix: Vec<u8>,
    body: Vec<u8>,
}

impl Invariants {
    pub(super) fn check(&mut self, request: &Received) {
        let mut faults = Vec::new();
        check_frame(request, &mut faults);
        check_calls(&request.messages, &mut faults);
        if request.role == Some(Role::Diagnose) {
            self.check_prefix(request, &mut faults);
        }
        let role = request.role.map_or("unknown role", Role::as_str);
        self.violations.extend(faults.into_iter().map(|fault| format!("{role}: {fault}")));
    }

    pub(super) fn add(&mut self, violation: String) {
        self.violations.push(violation);
    }

    pub(super) fn violations(&self) -> &[String] {
        &self.violations
    }

    /// The share of a diagnosis request's bytes that the conversation's next request repeats from the start;
    /// 0 without a pair.
    pub(super) fn prefix_share(&self) -> f64 {
        if self.compared_bytes == 0 { 0.0 } else { self.shared_bytes as f64 / self.compared_bytes as f64 }
    }

    /// A request opens a conversation, or it continues the one whose latest prefix it begins with (or repeats
    /// it: a retry). A longer one that does neither has rewritten history. Runs that ask the same question at
    /// once open one conversation each.
    fn check_prefix(&mut self, request: &Received, faults: &mut Vec<String>) {
        let (prefix, body) = (request.prefix().to_vec(), request.body.to_vec());
        let continued = self.conversations.iter_mut().filter(|c| request.body.starts_with(&c.prefix));
        match continued.max_by_key(|c| c.prefix.len()) {
            Some(conversation) if request.messages.len() > 2 => {
                // A retry is the same request, not the next one.
                if conversation.prefix != prefix {
                    let shared = conversation.body.iter().zip(&body).take_while(|(a, b)| a == b).count();
                    self.shared_bytes += shared as u64;
                    self.compared_bytes += conversation.body.len() as u64;
                }
                *conversation = Conversation { prefix, body };
            }
            _ => {
                if request.messages.len() > 2 {
                    faults.push(
                        "tools, system prompt or earlier messages changed within a conversation".into(),
                    );
                }
                self.conversations.push(Conversation { prefix, body });
            }
        }
    }
}

fn check_frame(request: &Received, faults: &mut Vec<String>) {
    match request.role {
        None => faults.push("the system prompt's first line names no known role".into()),
        Some(role) => {
            if request.schema_name.as_ref().is_some_and(|name| *name != role.schema_name()) {
                faults.push("the reply schema's name is not the role's".into());
            }
        }
    }
    if request.messages.first().is_none_or(|message| message["role"] != "system") {
        faults.push("the first message is not the system prompt".into());
    }
    if request.model.is_empty() {
        faults.push("no model is named".into());
    }
    if request.max_tokens.is_none_or(|limit| limit == 0) {
        faults.push("no output limit is declared".into());
    }
    if request.tool_choice.is_some() && request.tools.is_empty() {
        faults.push("tool_choice without tools".into());
    }
}

/// Each assistant call is answered exactly once, in the order asked and before anything else is said; ids are
/// unique in the conversation, and no answer lacks its call.
fn check_calls(messages: &[Value], faults: &mut Vec<String>) {
    let mut seen = BTreeSet::new();
    let mut open: std::collections::VecDeque<&str> = Default::default();
    for (i, message) in messages.iter().enumerate() {
        if message["role"] == "tool" {
            let id = message["tool_call_id"].as_str().unwrap_or_default();
            match open.front() {
                Some(next) if *next == id => {
                    open.pop_front();
                }
                Some(_) => faults.push(format!("message {i} answers a call out of order or twice")),
                None => faults.push(format!("message {i} answers no open call")),
            }
            continue;
        }
        if !open.is_empty() {
            faults.push(format!("{} calls are unanswered before message {i}", open.len()));
            open.clear();
        }
        for call in message["tool_calls"].as_array().into_iter().flatten() {
            let id = call["id"].as_str().unwrap_or_default();
            if id.is_empty() || !seen.insert(id) {
                faults.push(format!("message {i} has an empty or repeated call id"));
            }
            let function = &call["function"];
            if !function["name"].is_string() || !function["arguments"].is_string() {
                faults.push(format!("message {i} has a call without name or arguments text"));
            }
            open.push_back(id);
        }
    }
    if !open.is_empty() {
        faults.push(format!("{} calls are unanswered at the end", open.len()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use serde_json::json;

    fn request(messages: Value) -> Received {
        let body = json!({ "model": "m", "messages": messages, "max_tokens": 9 }).to_string();
        // serde_json sorts keys here, so `messages` is not last; the prefix is found wherever it stands.
        Received::parse(Bytes::from(body), None).unwrap()
    }

    fn asked(ids: &[&str]) -> Value {
        let call = |id: &&str| json!({ "id": id, "type": "function", "function": { "name": "t", "arguments": "{}" } });
        json!({ "role": "assistant", "content": null, "tool_calls": ids.iter().map(call).collect::<Vec<_>>() })
    }

    fn told(id: &str) -> Value {
        json!({ "role": "tool", "tool_call_id": id, "content": "{}" })
    }

    fn faults(rest: Vec<Value>) -> usize {
        let mut messages = vec![
            json!({ "role": "system", "content": "superbiz/route\n" }),
            json!({ "role": "user", "content": "{}" }),
        ];
        messages.extend(rest);
        let mut invariants = Invariants::default();
        invariants.check(&request(json!(messages)));
        invariants.violations().len()
    }

    #[test]
    fn calls_must_be_answered_once_each_and_in_order() {
        assert_eq!(faults(vec![]), 0);
        assert_eq!(faults(vec![asked(&["a", "b"]), told("a"), told("b")]), 0);
        assert_ne!(faults(vec![asked(&["a", "b"]), told("b"), told("a")]), 0);
        assert_ne!(faults(vec![asked(&["a"])]), 0);
        assert_ne!(faults(vec![asked(&["a"]), told("a"), told("a")]), 0);
        assert_ne!(faults(vec![told("a")]), 0);
        assert_ne!(faults(vec![asked(&["a", "a"]), told("a"), told("a")]), 0);
        assert_ne!(faults(vec![asked(&["a"]), told("a"), asked(&["a"]), told("a")]), 0);
        assert_ne!(faults(vec![asked(&["a"]), json!({ "role": "user", "content": "x" }), told("a")]), 0);
    }

    #[test]
    fn a_conversation_may_only_grow() {
        let system = json!({ "role": "system", "content": "superbiz/diagnose\nx" });
        let user = |text: &str| json!({ "role": "user", "content": text });
        let mut invariants = Invariants::default();
        let first = json!([system, user("q")]);
        let second = json!([system, user("q"), asked(&["a"]), told("a")]);
        for messages in [&first, &second, &second, &json!([system, user("other")])] {
            invariants.check(&request(messages.clone()));
        }
        assert_eq!(invariants.violations(), [""; 0]);
        assert!(invariants.prefix_share() > 0.8);
        invariants.check(&request(json!([system, user("q"), asked(&["z"]), told("z")])));
        assert_eq!(invariants.violations().len(), 1);
    }

    #[test]
    fn the_frame_is_checked() {
        let mut invariants = Invariants::default();
        let body = json!({ "model": "", "messages": [{ "role": "system", "content": "hello" }], "tool_choice": "none" });
        invariants.check(&Received::parse(Bytes::from(body.to_string()), None).unwrap());
        assert_eq!(invariants.violations().len(), 4, "{:?}", invariants.violations());
    }
}
