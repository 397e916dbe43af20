//! A model that says its lines, one queue per role, and remembers every request.

use std::collections::{HashMap, VecDeque};
use std::sync::Mutex;
use std::time::Duration;

use async_trait::async_trait;
use domain::model::{ModelFault, ModelResult, Reply, Role, Usage};

use super::Diary;
use crate::ports::{Model, ModelRequest};

/// What one call costs here.
pub const USAGE: Usage = Usage::counted(1000, 100);

/// One scripted answer.
pub struct Line {
    pub role: &'static str,
    pub delay: Duration,
    pub reply: Result<Reply, ModelFault>,
    pub panics: bool,
}

impl Line {
    pub fn new(role: &'static str, reply: Result<Reply, ModelFault>) -> Self {
        Self { role, delay: Duration::ZERO, reply, panics: false }
    }

    pub fn panics(role: &'static str) -> Self {
        Self { panics: true, ..Self::new(role, Err(ModelFault::Transport)) }
    }

    /// Never answers.
    pub fn hangs(role: &'static str) -> Self {
        Self { delay: Duration::from_secs(86_400), ..Self::new(role, Err(ModelFault::Transport)) }
    }
}

pub struct ScriptedModel {
    diary: Diary,
    lines: Mutex<HashMap<&'static str, VecDeque<Line>>>,
    requests: Mutex<Vec<ModelRequest>>,
}

impl ScriptedModel {
    pub fn new(diary: Diary) -> Self {
        Self { diary, lines: Mutex::default(), requests: Mutex::default() }
    }

    pub fn will(&self, line: Line) {
        self.lines.lock().unwrap().entry(line.role).or_default().push_back(line);
    }

    pub fn requests(&self, role: Role) -> Vec<ModelRequest> {
        self.requests.lock().unwrap().iter().filter(|r| r.role == role).cloned().collect()
    }

    pub fn all_requests(&self) -> Vec<ModelRequest> {
        self.requests.lock().unwrap().clone()
    }
}

#[async_trait]
impl Model for ScriptedModel {
    fn name(&self, _provider: usize) -> &str {
        "scripted-1"
    }

    async fn call(&self, request: ModelRequest) -> ModelResult {
        let role = request.role.as_str();
        self.diary.note(format!("model {role}"));
        self.requests.lock().unwrap().push(request);
        let line = self.lines.lock().unwrap().get_mut(role).and_then(VecDeque::pop_front);
        let line = line.unwrap_or_else(|| panic!("the script has no line for {role}"));
        tokio::time::sleep(line.delay).await;
        assert!(!line.panics, "the model panics as scripted");
        let duration_ms = u64::try_from(line.delay.as_millis()).unwrap();
        ModelResult::new(USAGE, duration_ms, line.reply)
    }
}
