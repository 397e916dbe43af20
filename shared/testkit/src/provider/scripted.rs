//! A provider that plays a script and keeps every request it got.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use domain::model::Role;
use serde_json::{Value, json};

use super::invariants::Invariants;
use super::persona::Persona;
use super::reply::{Call, Reply};
use super::request::Received;
use super::server::ModelServer;

type Rule = Box<dyn Fn(&Received) -> Reply + Send + Sync>;

/// What to answer, per role and in order.
#[derive(Default)]
pub struct Script {
    queues: HashMap<Role, VecDeque<Reply>>,
    rules: HashMap<Role, Rule>,
    otherwise: Option<Rule>,
    persona: Persona,
}

impl Script {
    pub fn new() -> Self {
        Self::default()
    }

    /// The next unanswered request of `role` gets `reply`.
    pub fn then(mut self, role: Role, reply: Reply) -> Self {
        self.queues.entry(role).or_default().push_back(reply);
        self
    }

    /// Requests of `role` that no queued reply is left for are answered by `rule`.
    pub fn each(mut self, role: Role, rule: impl Fn(&Received) -> Reply + Send + Sync + 'static) -> Self {
        self.rules.insert(role, Box::new(rule));
        self
    }

    /// Requests that neither a queue nor a rule answers go to the offline model.
    pub fn otherwise_offline(mut self) -> Self {
        self.otherwise = Some(Box::new(super::offline::answer));
        self
    }

    /// The router chooses `intent`, for example `"DIAGNOSIS"`.
    pub fn routes_to(self, intent: &str) -> Self {
        self.then(Role::Route, Reply::json(&json!({ "intent": intent })))
    }

    /// The diagnosis agent asks for tools.
    pub fn asks_for(self, calls: impl IntoIterator<Item = Call>) -> Self {
        self.then(Role::Diagnose, Reply::calls(calls))
    }

    /// The diagnosis agent returns its draft.
    pub fn reports(self, draft: &Value) -> Self {
        self.then(Role::Diagnose, Reply::json(draft))
    }

    pub fn repairs(self, draft: &Value) -> Self {
        self.then(Role::Repair, Reply::json(draft))
    }

    /// The semantic guard says `verdict`, `"SUPPORTED"` or `"UNSUPPORTED"`.
    pub fn judges(self, verdict: &str) -> Self {
        self.then(Role::Review, Reply::json(&json!({ "verdict": verdict, "reason": "scripted" })))
    }

    /// The knowledge answer's statements.
    pub fn answers(self, statements: &Value) -> Self {
        self.then(Role::Knowledge, Reply::json(&json!({ "statements": statements })))
    }

    /// The system chat's reply.
    pub fn says(self, text: &str) -> Self {
        self.then(Role::System, Reply::text(text))
    }

    /// Speaks and refuses as this server does.
    pub fn speaking_as(self, persona: Persona) -> Self {
        Self { persona, ..self }
    }

    pub async fn start(self) -> io::Result<ScriptedProvider> {
        let persona = self.persona;
        let stage = Arc::new(Mutex::new(Stage {
            script: self,
            requests: Vec::new(),
            invariants: Invariants::default(),
        }));
        let acting = Arc::clone(&stage);
        let server =
            ModelServer::start(0, persona, Arc::new(move |request| lock(&acting).perform(request))).await?;
        Ok(ScriptedProvider { server, stage })
    }
}

struct Stage {
    script: Script,
    requests: Vec<Received>,
    invariants: Invariants,
}

impl Stage {
    fn perform(&mut self, request: &Received) -> Reply {
        self.invariants.check(request);
        self.requests.push(request.clone());
        let queued = request.role.and_then(|role| self.script.queues.get_mut(&role)?.pop_front());
        let ruled = || {
            let rule = request.role.and_then(|role| self.script.rules.get(&role));
            rule.or(self.script.otherwise.as_ref()).map(|rule| rule(request))
        };
        queued.or_else(ruled).unwrap_or_else(|| {
            self.invariants.add("a request came that the script has no reply for".into());
            Reply::status(400, r#"{"error":{"message":"the script has no reply for this request"}}"#)
        })
    }
}

/// A poisoned lock only means that another test thread failed; what was recorded is still true.
fn lock(stage: &Mutex<Stage>) -> MutexGuard<'_, Stage> {
    stage.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A running scripted provider; it stops when it is dropped.
pub struct ScriptedProvider {
    server: ModelServer,
    stage: Arc<Mutex<Stage>>,
}

impl ScriptedProvider {
    pub fn base_url(&self) -> String {
        self.server.base_url()
    }

    /// Everything received so far, in order.
    pub fn requests(&self) -> Vec<Received> {
        lock(&self.stage).requests.clone()
    }

    pub fn requests_of(&self, role: Role) -> Vec<Received> {
        self.requests().into_iter().filter(|request| request.role == Some(role)).collect()
    }

    /// What was wrong with the requests, in words; a test asserts that it is empty.
    pub fn violations(&self) -> Vec<String> {
        lock(&self.stage).invariants.violations().to_vec()
    }

    /// Replies that were scripted and never asked for.
    pub fn unplayed(&self) -> usize {
        lock(&self.stage).script.queues.values().map(VecDeque::len).sum()
    }

    /// The share of each diagnosis request's bytes that the conversation's next request repeats from its
    /// first byte on: what a provider's prompt cache can reuse. 0 when no conversation had two requests.
    pub fn prefix_share(&self) -> f64 {
        lock(&self.stage).invariants.prefix_share()
    }
}
