//! The conversation so far: which calls were made, and what each of them returned.

use std::collections::HashMap;

use domain::evidence::Projection;
use domain::evidence::projection::{MysqlToolResult, QueryLogsToolResult, RagToolResult};
use domain::tool::ToolName;
use serde_json::Value;

use crate::provider::request::Received;

/// One call that was answered.
#[derive(Debug)]
pub(super) struct Observation {
    pub call_id: String,
    pub tool: String,
    pub arguments: Value,
    /// `None` if the call was answered with an error, or with something unreadable.
    pub result: Option<Projection>,
}

#[derive(Debug, Default)]
pub(super) struct Transcript {
    /// Rounds of calls that were answered.
    pub rounds: usize,
    pub observations: Vec<Observation>,
}

impl Transcript {
    pub(super) fn read(request: &Received) -> Self {
        let mut transcript = Self::default();
        let mut asked: HashMap<String, (String, Value)> = HashMap::new();
        for message in &request.messages {
            let calls = message["tool_calls"].as_array().map(Vec::as_slice).unwrap_or_default();
            transcript.rounds += usize::from(!calls.is_empty());
            for call in calls {
                let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
                let arguments =
                    serde_json::from_str(&text(&call["function"]["arguments"])).unwrap_or_default();
                asked.insert(text(&call["id"]), (text(&call["function"]["name"]), arguments));
            }
            if message["role"] == "tool"
                && let Some(id) = message["tool_call_id"].as_str()
                && let Some((tool, arguments)) = asked.remove(id)
            {
                let result = result(&tool, message["content"].as_str().unwrap_or_default());
                transcript.observations.push(Observation { call_id: id.to_owned(), tool, arguments, result });
            }
        }
        transcript
    }

    /// Whether this very call was already made.
    pub(super) fn asked(&self, tool: &str, arguments: &Value) -> bool {
        self.observations.iter().any(|o| o.tool == tool && o.arguments == *arguments)
    }

    pub(super) fn logs(&self) -> impl Iterator<Item = (&str, &QueryLogsToolResult)> {
        self.observations.iter().filter_map(|o| match &o.result {
            Some(Projection::Logs(result)) => Some((o.call_id.as_str(), result)),
            _ => None,
        })
    }

    pub(super) fn knowledge(&self) -> impl Iterator<Item = (&str, &RagToolResult)> {
        self.observations.iter().filter_map(|o| match &o.result {
            Some(Projection::Knowledge(result)) => Some((o.call_id.as_str(), result)),
            _ => None,
        })
    }

    pub(super) fn rows(&self) -> impl Iterator<Item = (&Observation, &MysqlToolResult)> {
        self.observations.iter().filter_map(|o| match &o.result {
            Some(Projection::Mysql(result)) => Some((o, result)),
            _ => None,
        })
    }
}

/// An observation is a fence around `{"tool", "data": {…}}` or `{"tool", "error": {…}}`.
fn result(tool: &str, content: &str) -> Option<Projection> {
    let mut observation: Value = serde_json::from_str(domain::fence::inside(content)?).ok()?;
    let data = observation.get_mut("data")?.take();
    Projection::parse(ToolName::parse(tool)?, &data.to_string()).ok()
}
