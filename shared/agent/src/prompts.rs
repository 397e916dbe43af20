//! The prompts and schemas of every role, each rendered once a process: no clock, no ids, byte-identical from call to call.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use domain::budget::estimate_tokens;
use domain::draft::DiagnosisDraft;
use domain::knowledge::KnowledgeDraft;
use domain::model::Role;
use domain::run::{ABOUT, RouteReply};
use domain::schema::strict;
use domain::semantic::VerdictReply;

use futures_util::future::join_all;
use tokio::sync::OnceCell;

use crate::ports::{EvidenceTool, ResponseSchema, ToolSpec};

/// What one role's calls all begin with.
#[derive(Debug, Clone)]
pub struct Prompt {
    pub system: Arc<str>,
    pub schema: Option<Arc<ResponseSchema>>,
    pub tools: Arc<[ToolSpec]>,
    /// Tokens of all that, estimated once.
    pub tokens: u64,
}

impl Prompt {
    fn new(role: Role, system: String, schema: Option<serde_json::Value>, tools: Vec<ToolSpec>) -> Self {
        let schema = schema.map(|schema| Arc::new(ResponseSchema { name: role.schema_name(), schema }));
        let schema_tokens = schema.as_ref().map_or(0, |s| estimate_tokens(&s.schema.to_string()));
        let tool_tokens =
            |t: &ToolSpec| estimate_tokens(&t.description) + estimate_tokens(&t.parameters.to_string());
        let tokens = estimate_tokens(&system) + schema_tokens + tools.iter().map(tool_tokens).sum::<u64>();
        Self { system: system.into(), schema, tools: tools.into(), tokens }
    }
}

/// Time for all tools to learn what their descriptions need.
const PREPARE_TIME: Duration = Duration::from_secs(3);

pub struct Prompts {
    tools: Vec<Arc<dyn EvidenceTool>>,
    prepared: OnceCell<()>,
    route: Prompt,
    /// Rendered at its first use, with what the tools have learnt until then, and never again.
    diagnose: OnceLock<Prompt>,
    repair: Prompt,
    review: Prompt,
    knowledge: Prompt,
    system: Prompt,
}

impl Prompts {
    pub fn new(tools: &[Arc<dyn EvidenceTool>]) -> Self {
        let draft = strict::<DiagnosisDraft>();
        let prompt = |role, text: &str, schema| Prompt::new(role, text.to_owned(), schema, Vec::new());
        Self {
            tools: tools.to_vec(),
            prepared: OnceCell::new(),
            route: prompt(
                Role::Route,
                include_str!("../../../prompts/route.md"),
                Some(strict::<RouteReply>()),
            ),
            diagnose: OnceLock::new(),
            repair: prompt(Role::Repair, include_str!("../../../prompts/repair.md"), Some(draft)),
            review: prompt(
                Role::Review,
                include_str!("../../../prompts/review.md"),
                Some(strict::<VerdictReply>()),
            ),
            knowledge: prompt(
                Role::Knowledge,
                include_str!("../../../prompts/knowledge.md"),
                Some(strict::<KnowledgeDraft>()),
            ),
            system: prompt(
                Role::System,
                &format!("{}{ABOUT}", include_str!("../../../prompts/system.md")),
                None,
            ),
        }
    }

    /// Lets the tools learn what their descriptions need; once a process, before its first run's first call.
    pub async fn prepare(&self) {
        let learn = async {
            let all = join_all(self.tools.iter().map(|tool| tool.prepare()));
            if tokio::time::timeout(PREPARE_TIME, all).await.is_err() {
                tracing::warn!("tools took too long to describe their sources; descriptions are shorter");
            }
        };
        self.prepared.get_or_init(|| learn).await;
    }

    fn diagnose(&self) -> Prompt {
        let spec = |tool: &Arc<dyn EvidenceTool>| ToolSpec {
            name: tool.name().as_str(),
            description: tool.description(),
            parameters: tool.parameters(),
        };
        let text = include_str!("../../../prompts/diagnose.md").to_owned();
        let specs = self.tools.iter().map(spec).collect();
        Prompt::new(Role::Diagnose, text, Some(strict::<DiagnosisDraft>()), specs)
    }

    pub fn of(&self, role: Role) -> &Prompt {
        match role {
            Role::Route => &self.route,
            Role::Diagnose => self.diagnose.get_or_init(|| self.diagnose()),
            Role::Repair => &self.repair,
            Role::Review => &self.review,
            Role::Knowledge => &self.knowledge,
            Role::System => &self.system,
        }
    }
}

#[cfg(test)]
#[path = "prompts_tests.rs"]
mod tests;
