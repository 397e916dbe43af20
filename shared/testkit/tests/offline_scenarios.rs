//! The offline model answers the questions of every scenario correctly, over real HTTP, with the real tools
//! and guards.

#![expect(clippy::panic, clippy::unwrap_used, reason = "the helpers of tests may fail like tests")]

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use agent::observation::Observed;
use agent::ports::documents::{DocumentStore, Expected};
use agent::ports::tool::{EvidenceTool, ToolCallContext};
use agent::ports::{Message, Model, ModelRequest, ToolChoice};
use agent::prompts::Prompts;
use agent::transcript::Transcript;
use app::data_sources::DataSources;
use domain::budget::BudgetLimits;
use domain::evidence::{CanonicalRecord, InvocationStatus};
use domain::ids::RunId;
use domain::model::Role;
use domain::question::Query;
use domain::release::{Outcome, Released};
use domain::run::{
    Admission, Limits, ModelCall, PlannedCall, Run, Step, Surroundings, Terminal, ToolOffer, ToolResult,
};
use domain::tool::ToolErrorCode;
use llm::{Endpoint, HttpModel, RetryPolicy, Secret, Wire};
use serde_json::{Value, json, value::RawValue};
use stores::SqlLedger;
use testkit::provider::{Persona, Script, ScriptedProvider, offline};
use testkit::scenario::{self, Conclusion, Materialised, Question, Scenario};
use time::OffsetDateTime;
use tools::knowledge::{KnowledgeTool, Searcher, parse_document};
use tools::logs::{FolderSource, LogsTool};
use tools::mysql::{BusinessDatabase, MysqlTool, TableNote};

/// One scenario, ready to be asked.
struct Stage {
    provider: ScriptedProvider,
    model: HttpModel,
    tools: Vec<Arc<dyn EvidenceTool>>,
    prompts: Prompts,
    now: OffsetDateTime,
}

/// How a question ended.
struct Answered {
    released: Released,
    records: Vec<CanonicalRecord>,
    run: Run,
}

struct Around<'a>(&'a Prompts, u64);

impl Surroundings for Around<'_> {
    fn prompt_tokens(&self, role: Role) -> u64 {
        self.0.of(role).tokens + if role == Role::Diagnose { self.1 } else { 0 }
    }

    fn time_left_ms(&self) -> u64 {
        100_000
    }
}

impl Stage {
    async fn set(placed: &Materialised, folder: &Path) -> Self {
        let now = placed.scenario.clock;
        let ledger =
            SqlLedger::connect_lazy(&format!("sqlite://{}", folder.join("ledger.db").display())).unwrap();
        ledger.migrate().await.unwrap();
        for entry in std::fs::read_dir(&placed.runbooks).unwrap() {
            let path = entry.unwrap().path();
            let text = std::fs::read_to_string(&path).unwrap();
            let id = path.file_stem().unwrap().to_string_lossy().into_owned();
            let document = parse_document(&text).unwrap().into_new_document(id, text);
            ledger.put(&document, Expected::Anything, now).await.unwrap();
        }
        let sources = DataSources::load(&placed.data_sources).unwrap();
        let logs = sources
            .logs
            .into_iter()
            .map(|l| Arc::new(FolderSource::new(l.name, l.description, l.path, l.services)) as _);
        let databases = sources.databases.iter().map(|d| {
            let note = |t: &app::data_sources::Table| TableNote {
                name: t.name.clone(),
                description: t.description.clone(),
                columns: t.columns.clone(),
            };
            let tables = d.tables.iter().map(note).collect();
            BusinessDatabase::new(
                &d.name,
                &d.description,
                &d.address().unwrap(),
                d.policy(),
                tables,
                d.max_rows,
            )
            .unwrap()
        });
        let tools: Vec<Arc<dyn EvidenceTool>> = vec![
            Arc::new(KnowledgeTool::new(Arc::new(Searcher::new(Arc::new(ledger))))),
            Arc::new(LogsTool::new(logs.collect())),
            Arc::new(MysqlTool::new(databases.collect())),
        ];
        let (provider, model) = provider(Persona::Plain, None).await;
        Self { provider, model, prompts: Prompts::new(&tools), tools, now }
    }

    /// Drives one run to its end.
    async fn ask(&self, query: &str) -> Answered {
        let id = RunId::new(uuid::Uuid::new_v4());
        let query = Query::parse(query).unwrap();
        let mut run = Run::new(id, query, None, BudgetLimits::default(), Limits::default());
        let mut transcript = Transcript::new(run.opening());
        let mut records = Vec::new();
        loop {
            match run.next(&Around(&self.prompts, transcript.tokens())) {
                Step::Done(Terminal::Released { released, .. }) => {
                    return Answered { released, records, run };
                }
                Step::Done(Terminal::Failed(code)) => {
                    panic!("{code:?} after {:?}", self.provider.violations())
                }
                Step::CheckEvidence(_) => run.apply_evidence(&records),
                Step::CallTools(calls) => {
                    let mut results = Vec::new();
                    for call in &calls {
                        let observed = self.use_tool(id, call, &mut records).await;
                        transcript.observed(call.id.clone(), call.name.clone(), observed.content);
                        results.push(observed.result);
                    }
                    run.apply_tools(results);
                }
                Step::CallModel { call, .. } if call.role == Role::Diagnose => {
                    if call.tools == ToolOffer::Withheld {
                        transcript.only_the_final_answer_is_left();
                    }
                    let result = self.model.call(self.request(call, transcript.messages().to_vec())).await;
                    let reply = result.reply.clone();
                    run.apply_model(result);
                    if let (Ok(reply), Step::CallTools(calls)) =
                        (reply, run.next(&Around(&self.prompts, transcript.tokens())))
                    {
                        transcript.asked(reply.text, reply.reasoning, &calls);
                    }
                }
                Step::Route { call, user }
                | Step::CallModel { call, user }
                | Step::Repair { call, user }
                | Step::Review { call, user } => {
                    run.apply_model(
                        self.model.call(self.request(call, vec![Message::User { text: user }])).await,
                    );
                }
            }
        }
    }

    fn request(&self, call: ModelCall, messages: Vec<Message>) -> ModelRequest {
        let prompt = self.prompts.of(call.role);
        let withheld = call.tools == ToolOffer::Withheld;
        ModelRequest {
            role: call.role,
            system: prompt.system.clone(),
            messages,
            tools: prompt.tools.clone(),
            tool_choice: if withheld { ToolChoice::Forbidden } else { ToolChoice::Auto },
            response_schema: prompt.schema.clone(),
            max_output_tokens: call.max_output_tokens,
            timeout: Duration::from_secs(60),
            provider: None,
        }
    }

    async fn use_tool(
        &self,
        run_id: RunId,
        call: &PlannedCall,
        records: &mut Vec<CanonicalRecord>,
    ) -> Observed {
        let refused = |code: ToolErrorCode, message: String| {
            let json =
                json!({ "tool": call.name, "error": { "code": code, "message": message } }).to_string();
            let content = domain::fence::around(None, &json);
            Observed { result: ToolResult { shown_bytes: content.len() as u64, outcome: Err(code) }, content }
        };
        let Admission::Admitted { max_bytes } = call.admission else {
            return refused(ToolErrorCode::BudgetExhausted, "no budget".into());
        };
        let tool = self.tools.iter().find(|tool| tool.name().as_str() == call.name).unwrap();
        let arguments = call.arguments.clone().unwrap();
        if let Err(fault) = tool.check(&arguments) {
            return refused(ToolErrorCode::InvalidArguments, fault);
        }
        let context = ToolCallContext {
            id: call.id.clone(),
            arguments: arguments.clone(),
            max_bytes: usize::try_from(max_bytes).unwrap(),
            timeout: Duration::from_secs(20),
            now: self.now,
            cancelled: Default::default(),
            pseudonyms: Default::default(),
        };
        let output = match tool.run(context).await {
            Ok(output) => output,
            Err(failure) => return refused(ToolErrorCode::QueryFailed, format!("{failure:?}")),
        };
        let (projection, shown) =
            output.projection.to_bounded_json(usize::try_from(max_bytes).unwrap()).unwrap();
        records.push(CanonicalRecord {
            run_id,
            tool_call_id: call.id.clone(),
            tool: tool.name(),
            status: InvocationStatus::Ready,
            evidence_status: Some(projection.evidence_status()),
            request: arguments,
            raw_response: None,
            agent_result: Some(RawValue::from_string(shown.clone()).unwrap()),
            error_code: None,
            started_at: "2026-11-30T06:30:00Z".into(),
            finished_at: Some("2026-11-30T06:30:00Z".into()),
        });
        let json = format!(r#"{{"tool":"{}","data":{shown}}}"#, call.name);
        let content = domain::fence::around(Some(tool.name()), &json);
        Observed {
            result: ToolResult { shown_bytes: content.len() as u64, outcome: Ok(projection) },
            content,
        }
    }
}

/// The offline model behind a server that speaks as `persona`, and a client that was told its profile.
async fn provider(persona: Persona, profile: Option<&str>) -> (ScriptedProvider, HttpModel) {
    let provider = Script::new().otherwise_offline().speaking_as(persona).start().await.unwrap();
    let profile = profile.map(|name| llm::Profile::named(name).unwrap());
    let key = Secret::new("sk-fake");
    let endpoint = Endpoint { profile, ..Endpoint::new(provider.base_url(), offline::MODEL_NAME, key) };
    let wire = if persona == Persona::Anthropic { Wire::Anthropic } else { Wire::OpenAi };
    let model = HttpModel::on_wire(wire, &endpoint, RetryPolicy::default()).unwrap();
    (provider, model)
}

/// What is wrong with an answer, in words.
fn faults(question: &Question, answered: &Answered) -> Vec<String> {
    let body: Value = serde_json::from_str(answered.released.body_json()).unwrap();
    let mut faults = Vec::new();
    let mut expect = |fine: bool, fault: String| {
        if !fine {
            faults.push(fault);
        }
    };
    let route = json!(answered.run.intent());
    let wanted = format!("{:?}", question.route).to_lowercase();
    expect(route.as_str().unwrap().replace('_', "").to_lowercase() == wanted, format!("routed to {route}"));
    let outcome = if answered.released.outcome() == Outcome::Success { "Success" } else { "Fallback" };
    expect(outcome == format!("{:?}", question.outcome), format!("outcome {outcome}"));
    let concluded = body["conclusion"].is_object();
    expect(
        concluded == (question.conclusion == Conclusion::Present),
        format!("conclusion {}", body["conclusion"]),
    );
    let cited: Vec<&str> =
        answered.released.cites().iter().flat_map(|cited| &cited.tool_call_ids).map(String::as_str).collect();
    for required in &question.required_evidence {
        let of_tool = |r: &&CanonicalRecord| {
            r.tool.as_str() == required.tool && cited.contains(&r.tool_call_id.as_str())
        };
        let shown: String = answered
            .records
            .iter()
            .filter(of_tool)
            .map(|record| record.agent_result.as_ref().unwrap().get())
            .collect();
        for text in &required.contains {
            let escaped = Value::from(text.as_str()).to_string();
            expect(
                shown.contains(escaped.trim_matches('"')),
                format!("no cited {} shows {text:?}", required.tool),
            );
        }
    }
    let claims = ["conclusion", "actions", "recommendations", "statements", "text"]
        .map(|field| body[field].to_string());
    for forbidden in &question.forbidden {
        expect(!claims.iter().any(|claim| claim.contains(forbidden)), format!("claims {forbidden:?}"));
    }
    faults
}

/// Everything that is wrong with the answers to one scenario's questions.
async fn wrong_answers(stage: &Stage, placed: &Materialised, by: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    for question in &placed.scenario.questions {
        let answered = stage.ask(&question.query).await;
        let found = faults(question, &answered);
        if !found.is_empty() {
            let used = answered.run.budget_used();
            let calls: Vec<String> = answered
                .records
                .iter()
                .map(|r| format!("{} {} {:?}", r.tool.as_str(), r.request, r.evidence_status))
                .collect();
            wrong.push(format!(
                "{by}: {}\n  {found:#?}\n  {}\n  {used:?}\n  {}",
                question.query,
                answered.released.body_json(),
                calls.join("\n  ")
            ));
        }
    }
    wrong
}

/// Everything that is wrong with the answers to one scenario, whoever the provider is.
async fn wrong_answers_to(name: String) -> Vec<String> {
    let scenario = Scenario::load(&name).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let placed = scenario.materialise(&folder.path().join("case"), scenario.clock).await.unwrap();
    let mut stage = Stage::set(&placed, folder.path()).await;
    let mut wrong = Vec::new();
    let profiled = Persona::PROFILED.map(|(persona, profile)| (persona, Some(profile)));
    // Those of which nothing is known are learnt from what they refuse.
    let unknown = [Persona::Plain, Persona::Anthropic, Persona::DeepSeek, Persona::Glm].map(|p| (p, None));
    for (persona, profile) in unknown.into_iter().chain(profiled) {
        (stage.provider, stage.model) = provider(persona, profile).await;
        let by = format!("{name} by {persona:?}");
        wrong.extend(wrong_answers(&stage, &placed, &by).await);
        assert_eq!(stage.provider.violations(), [""; 0], "{by}");
    }
    wrong
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_question_of_every_scenario_is_answered_whoever_the_provider_is() {
    let scenarios: tokio::task::JoinSet<_> =
        scenario::names().unwrap().into_iter().map(wrong_answers_to).collect();
    let wrong = scenarios.join_all().await.concat();
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}
