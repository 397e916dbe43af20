//! A whole world around one chat use case, in memory: scripted model and tools, stores that can be told to fail, and one diary
//! of everything that was done to them.

mod logs;
mod model;
mod stores;
mod texts;
mod tools;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use domain::budget::BudgetLimits;
use domain::events::{FailureCode, RunEvent, Status};
use domain::ids::{CallerId, SessionId};
use domain::question::Query;
use domain::release::Outcome;
use serde_json::Value;
use time::OffsetDateTime;
use time::macros::datetime;
use tokio::time::Instant;
use tokio_util::task::TaskTracker;

pub use logs::CapturedLog;
pub use model::{Line, ScriptedModel};
pub use stores::{Fault, MemoryCanonical, MemoryControl, MemoryLedger};
pub use texts::{asks_for, draft_citing, knowledge_answer, log_query, routed_to, says, verdict};
pub use tools::{ScriptedTool, Will};

use crate::admission::{Question, Refused};
use crate::boundary::ToolBoundary;
use crate::context::{RunContext, TimeLimits};
use crate::ports::run_control::CallerLimits;
use crate::ports::{Clock, EvidenceTool};
use crate::prompts::Prompts;
use crate::run::Engine;
use crate::supervise::{Chat, RunHandle, Started};

/// Work stops after this, and the stream ends after that in every run here, unless a test says otherwise.
pub const RUN_LIMIT: Duration = Duration::from_secs(110);
pub const RESERVE: Duration = Duration::from_secs(5);

/// What was done to the world, in order, each with its moment.
#[derive(Clone)]
pub struct Diary {
    began: Instant,
    entries: Arc<Mutex<Vec<(Duration, String)>>>,
}

impl Diary {
    fn new() -> Self {
        Self { began: Instant::now(), entries: Arc::default() }
    }

    pub fn note(&self, what: impl Into<String>) {
        self.entries.lock().unwrap().push((self.began.elapsed(), what.into()));
    }

    pub fn entries(&self) -> Vec<String> {
        self.entries.lock().unwrap().iter().map(|(_, what)| what.clone()).collect()
    }

    /// The entries that begin with `prefix`, in order.
    pub fn of(&self, prefix: &str) -> Vec<String> {
        self.entries().into_iter().filter(|entry| entry.starts_with(prefix)).collect()
    }

    pub fn count(&self, prefix: &str) -> usize {
        self.of(prefix).len()
    }

    /// When the first entry with this prefix was made.
    pub fn when(&self, prefix: &str) -> Duration {
        let entries = self.entries.lock().unwrap();
        entries.iter().find(|(_, what)| what.starts_with(prefix)).map(|(at, _)| *at).expect("no such entry")
    }
}

/// The wall clock of tests: a fixed day, moved by tokio's paused time.
struct TestClock(Instant);

impl Clock for TestClock {
    fn now(&self) -> OffsetDateTime {
        datetime!(2026-03-02 14:00 UTC) + self.0.elapsed()
    }
}

pub struct World {
    pub diary: Diary,
    pub model: Arc<ScriptedModel>,
    pub canonical: Arc<MemoryCanonical>,
    pub ledger: Arc<MemoryLedger>,
    pub control: Arc<MemoryControl>,
    pub knowledge: Arc<ScriptedTool>,
    pub logs: Arc<ScriptedTool>,
    pub budget: BudgetLimits,
    pub limits: TimeLimits,
    pub clock: Arc<dyn Clock>,
    tasks: TaskTracker,
}

impl World {
    pub fn new() -> Self {
        let diary = Diary::new();
        Self {
            model: Arc::new(ScriptedModel::new(diary.clone())),
            canonical: Arc::new(MemoryCanonical::new(diary.clone())),
            ledger: Arc::new(MemoryLedger::new(diary.clone())),
            control: Arc::new(MemoryControl::new(diary.clone())),
            knowledge: Arc::new(ScriptedTool::knowledge(diary.clone())),
            logs: Arc::new(ScriptedTool::logs(diary.clone())),
            budget: BudgetLimits::default(),
            limits: TimeLimits { run: RUN_LIMIT, finalise: RESERVE },
            clock: Arc::new(TestClock(diary.began)),
            tasks: TaskTracker::new(),
            diary,
        }
    }

    /// The tools alone, for what needs no run.
    pub fn new_tools() -> Vec<Arc<dyn EvidenceTool>> {
        let diary = Diary { began: Instant::now(), entries: Arc::default() };
        vec![Arc::new(ScriptedTool::knowledge(diary.clone())), Arc::new(ScriptedTool::logs(diary))]
    }

    pub fn tools(&self) -> Vec<Arc<dyn EvidenceTool>> {
        vec![self.knowledge.clone(), self.logs.clone()]
    }

    pub fn boundary(&self) -> ToolBoundary {
        ToolBoundary::new(self.tools(), self.canonical.clone())
    }

    pub fn chat(&self) -> Arc<Chat> {
        let engine = Engine {
            model: self.model.clone(),
            boundary: self.boundary(),
            control: self.control.clone(),
            prompts: Prompts::new(&self.tools()),
            model_timeout: Duration::from_secs(60),
        };
        Arc::new(Chat {
            engine,
            ledger: self.ledger.clone(),
            control: self.control.clone(),
            metrics: Arc::new(crate::ports::metrics::NoMetrics),
            clock: self.clock.clone(),
            budget: self.budget,
            tasks: self.tasks.clone(),
        })
    }

    pub fn question(&self) -> Question {
        Question {
            query: Query::parse("checkout 5xx since 14:05, why?").unwrap(),
            session_id: None,
            idempotency_key: None,
            caller: caller("alice"),
            quota: CallerLimits::default(),
            limits: self.limits,
        }
    }

    pub fn context(&self) -> RunContext {
        let run_id = domain::ids::RunId::new(uuid::Uuid::now_v7());
        RunContext::new(run_id, session("s1"), caller("alice"), self.clock.clone(), self.limits)
    }

    pub async fn start(&self) -> RunHandle {
        match self.chat().start(self.question()).await.unwrap() {
            Started::Live(handle) => handle,
            Started::Replay(_) => panic!("a new run was expected"),
        }
    }

    /// Asks the usual question and reads its stream to the end.
    pub async fn ask(&self) -> Told {
        let handle = self.start().await;
        self.listen(handle).await
    }

    /// Reads a stream to its end, and waits for the run's task.
    pub async fn listen(&self, mut handle: RunHandle) -> Told {
        let mut told = Told { events: Vec::new() };
        while let Some(event) = handle.events.recv().await {
            told.events.push((self.diary.began.elapsed(), event));
        }
        self.settled().await;
        told
    }

    /// Waits until no run's task is left.
    pub async fn settled(&self) {
        self.tasks.close();
        self.tasks.wait().await;
        self.tasks.reopen();
    }

    pub async fn refused(&self, question: Question) -> Refused {
        match self.chat().start(question).await {
            Err(refused) => refused,
            Ok(_) => panic!("a refusal was expected"),
        }
    }

    /// A diagnosis with one log query, a draft that cites it, and a verdict.
    pub fn script_diagnosis(&self) {
        self.model.will(routed_to("DIAGNOSIS"));
        self.model.will(asks_for(&[("call_1", "query_logs", log_query())]));
        self.model.will(says("diagnose", &draft_citing(&["call_1"])));
        self.model.will(verdict("SUPPORTED"));
    }
}

pub fn caller(id: &str) -> CallerId {
    CallerId::parse(id).unwrap()
}

pub fn session(id: &str) -> SessionId {
    SessionId::parse(id).unwrap()
}

/// A stream as its reader saw it.
pub struct Told {
    pub events: Vec<(Duration, RunEvent)>,
}

impl Told {
    pub fn names(&self) -> Vec<&'static str> {
        self.events.iter().map(|(_, event)| event.name()).collect()
    }

    pub fn json(&self) -> String {
        self.events.iter().map(|(_, event)| serde_json::to_string(event).unwrap() + "\n").collect()
    }

    pub fn statuses(&self) -> Vec<&Status> {
        let status = |(_, event): &'_ (Duration, RunEvent)| matches!(event, RunEvent::Status(_));
        self.events
            .iter()
            .filter(|e| status(e))
            .filter_map(|(_, e)| if let RunEvent::Status(s) = e { Some(s) } else { None })
            .collect()
    }

    pub fn when(&self, name: &str) -> Duration {
        self.events.iter().find(|(_, event)| event.name() == name).map(|(at, _)| *at).expect("no such event")
    }

    /// The stages in order, repeats left out.
    pub fn stages(&self) -> Vec<String> {
        let mut stages: Vec<String> = Vec::new();
        for status in self.statuses() {
            let stage = serde_json::to_value(status.stage).unwrap().as_str().unwrap().to_owned();
            if stages.last() != Some(&stage) {
                stages.push(stage);
            }
        }
        stages
    }

    /// The contract of every stream: metadata, statuses with growing numbers, one content or failure, done, and nothing else.
    #[track_caller]
    pub fn is_well_formed(&self) -> &Self {
        let names = self.names();
        assert_eq!(names.first(), Some(&"metadata"), "{names:?}");
        assert_eq!(names.last(), Some(&"done"), "{names:?}");
        assert!(matches!(names[names.len() - 2], "content" | "failure"), "{names:?}");
        assert!(names[1..names.len() - 2].iter().all(|name| *name == "status"), "{names:?}");
        let sequences: Vec<u32> = self.statuses().iter().map(|s| s.sequence).collect();
        assert!(sequences.windows(2).all(|pair| pair[0] < pair[1]), "{sequences:?}");
        let RunEvent::Metadata { run_id, .. } = &self.events[0].1 else { panic!("no metadata") };
        for (_, event) in &self.events {
            assert_eq!(serde_json::to_value(event).unwrap()["run_id"], run_id.to_string());
        }
        self
    }

    fn done(&self) -> Outcome {
        match &self.events.last().unwrap().1 {
            RunEvent::Done { status, .. } => *status,
            other => panic!("{} is no done", other.name()),
        }
    }

    /// The one content's outcome and body; the stream is well formed and its last word agrees.
    #[track_caller]
    pub fn content(&self) -> (Outcome, Value) {
        self.is_well_formed();
        let (outcome, body) = match &self.events[self.events.len() - 2].1 {
            RunEvent::Content { outcome, body, .. } => (*outcome, serde_json::to_value(body).unwrap()),
            RunEvent::Failure { code, .. } => panic!("failed with {}", code.as_str()),
            other => panic!("{} is no content", other.name()),
        };
        assert_eq!(self.done(), outcome);
        (outcome, body)
    }

    #[track_caller]
    pub fn failure(&self) -> FailureCode {
        self.is_well_formed();
        assert_eq!(self.done(), Outcome::Failed);
        match &self.events[self.events.len() - 2].1 {
            RunEvent::Failure { code, message, retryable, .. } => {
                assert_eq!((*message, *retryable), (code.message(), code.retryable()));
                *code
            }
            other => panic!("{} is no failure", other.name()),
        }
    }
}
