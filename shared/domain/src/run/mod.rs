//! A run as a state machine without IO: [`Run::next`] says what to do, [`Run::apply`] takes what came of it.
//!
//! All safety logic of the product is here or called from here: which path a question takes, what the budget allows, when tools
//! are withheld, which drafts are checked, repaired, reviewed, and what may be published. The driver (`agent::run`) only
//! performs steps and reports results, so every rule is a table test.

mod steps;
#[cfg(test)]
mod tests;
mod transitions;

use serde_json::json;

use crate::budget::{Affordable, Budget, BudgetLimits, BudgetUse, estimate_tokens};
use crate::draft::DiagnosisDraft;
use crate::events::FailureCode;
use crate::evidence::EvidenceViolation;
use crate::evidence::guard::{self, Checked};
use crate::evidence::record::CanonicalRecord;
use crate::fallback::ReasonCode;
use crate::ids::{CallIds, RunId, ToolCallId};
use crate::knowledge::{self, KnowledgeDraft, VerifiedAnswer};
use crate::model::{ModelResult, Role, Usage};
use crate::question::{Intent, PreviousTurn, Query};
use crate::release::{Released, VerifiedDraft};
use crate::semantic;
use crate::tool::{Attempted, ToolName};
use crate::verbatim::ForeignReports;

pub use steps::{
    ABOUT, Admission, Attempts, Limits, ModelCall, PlannedCall, RouteReply, Step, Surroundings, Terminal,
    ToolOffer, ToolResult,
};

/// One run, from the question to its terminal state.
pub struct Run {
    id: RunId,
    query: Query,
    previous: Option<PreviousTurn>,
    limits: Limits,
    budget: Budget,
    phase: Phase,
    intent: Option<Intent>,
    in_flight: Option<crate::budget::Reservation>,
    /// The agent was told that only its final answer is left; calls that it makes all the same are not run.
    told_final: bool,
    call_ids: CallIds,
    calls_planned: u32,
    attempted: Vec<Attempted>,
    slowest_round_ms: u64,
    ungrounded: u32,
    repaired: bool,
    foreign: ForeignReports,
    /// Who answered last.
    provider: usize,
    /// `None` once a call's price was not known.
    cost_nano_usd: Option<u64>,
}

enum Phase {
    Routing { attempt: u32 },
    Diagnosing,
    GatheringEvidence(Vec<PlannedCall>),
    Checking { draft: DiagnosisDraft },
    Repairing { draft: DiagnosisDraft, violations: Vec<EvidenceViolation> },
    Retrieving(Vec<PlannedCall>),
    Answering { lookup: ToolCallId, hits: serde_json::Value },
    CheckingAnswer { draft: KnowledgeDraft, lookup: ToolCallId },
    Reviewing { candidate: Candidate, input: String, attempt: u32 },
    Introducing,
    Done(Terminal),
}

/// What the semantic guard is asked about.
enum Candidate {
    Report(VerifiedDraft),
    Answer { answer: VerifiedAnswer, checked: Checked, lookup: ToolCallId },
}

impl Candidate {
    fn checked(&self) -> &Checked {
        match self {
            Self::Report(verified) => &verified.checked,
            Self::Answer { checked, .. } => checked,
        }
    }

    fn release(self, proof: semantic::Supported) -> Released {
        match self {
            Self::Report(verified) => Released::report(verified, proof),
            Self::Answer { answer, lookup, .. } => Released::knowledge(&answer, lookup.as_str(), proof),
        }
    }
}

/// Hits that a knowledge answer may use.
const KNOWLEDGE_TOP_K: u32 = 6;
/// Characters of the query that go to the search: BM25 gains nothing from a pasted stack trace.
const SEARCH_QUERY_BYTES: usize = 512;

impl Run {
    pub fn new(
        id: RunId,
        query: Query,
        previous: Option<PreviousTurn>,
        budget: BudgetLimits,
        limits: Limits,
    ) -> Self {
        Self {
            id,
            query,
            previous,
            limits,
            budget: Budget::new(budget),
            phase: Phase::Routing { attempt: 1 },
            intent: None,
            in_flight: None,
            told_final: false,
            call_ids: CallIds::default(),
            calls_planned: 0,
            attempted: Vec::new(),
            slowest_round_ms: 0,
            ungrounded: 0,
            repaired: false,
            foreign: ForeignReports::default(),
            provider: 0,
            cost_nano_usd: Some(0),
        }
    }

    pub fn id(&self) -> RunId {
        self.id
    }

    pub fn intent(&self) -> Option<Intent> {
        self.intent
    }

    pub fn budget_used(&self) -> BudgetUse {
        self.budget.used()
    }

    pub fn budget_limits(&self) -> BudgetLimits {
        self.budget.limits()
    }

    /// Literals that no cited evidence shows, counted for the trace.
    pub fn ungrounded_literals(&self) -> u32 {
        self.ungrounded
    }

    /// The tool of each call that failed so far; `None` for a tool that doesn't exist.
    pub fn failed_tools(&self) -> Vec<Option<ToolName>> {
        self.attempted.iter().filter(|tried| tried.error_code.is_some()).map(|tried| tried.tool).collect()
    }

    /// What all model calls cost, in billionths of a dollar; `None` if the price of one is not known.
    pub fn cost_nano_usd(&self) -> Option<u64> {
        self.cost_nano_usd
    }

    pub fn was_repaired(&self) -> bool {
        self.repaired
    }

    /// The user message that opens a conversation with the router, the diagnosis agent and the system chat.
    pub fn opening(&self) -> String {
        json!({ "query": self.query, "previous_turn": self.previous }).to_string()
    }

    /// What to do now. Reserves the budget of a model call before it is made; asking again without applying a result is a
    /// driver's fault and ends the run.
    pub fn next(&mut self, around: &dyn Surroundings) -> Step {
        if self.in_flight.is_some() {
            self.fail(FailureCode::Internal);
        }
        let step = match &self.phase {
            Phase::Routing { attempt } => self.model_step(Role::Route, *attempt, self.opening(), around),
            Phase::Introducing => self.model_step(Role::System, 1, self.opening(), around),
            Phase::Diagnosing => self.diagnose_step(around),
            Phase::GatheringEvidence(calls) | Phase::Retrieving(calls) => Ok(Step::CallTools(calls.clone())),
            Phase::Checking { draft } => Ok(Step::CheckEvidence(draft.cited_calls())),
            Phase::CheckingAnswer { lookup, .. } => Ok(Step::CheckEvidence(vec![lookup.clone()])),
            Phase::Repairing { draft, violations } => {
                let input =
                    json!({ "query": self.query, "draft": draft, "violations": violations }).to_string();
                self.model_step(Role::Repair, 1, input, around)
            }
            Phase::Answering { hits, .. } => {
                let input = json!({ "query": self.query, "hits": hits }).to_string();
                self.model_step(Role::Knowledge, 1, input, around)
            }
            Phase::Reviewing { input, attempt, .. } => {
                self.model_step(Role::Review, *attempt, input.clone(), around)
            }
            Phase::Done(terminal) => return Step::Done(terminal.clone()),
        };
        step.unwrap_or_else(|code| {
            self.fail(code);
            Step::Done(Terminal::Failed(code))
        })
    }

    fn model_step(
        &mut self,
        role: Role,
        attempt: u32,
        user: String,
        around: &dyn Surroundings,
    ) -> Result<Step, FailureCode> {
        let input = around.prompt_tokens(role).saturating_add(estimate_tokens(&user));
        let reserved = self.budget.reserve_model_call(role, input).ok_or(FailureCode::BudgetExhausted)?;
        self.in_flight = Some(reserved);
        let call = ModelCall {
            role,
            attempt,
            tools: ToolOffer::None,
            max_output_tokens: reserved.max_output_tokens,
            provider: (attempt > 1).then_some(self.provider),
        };
        Ok(match role {
            Role::Route => Step::Route { call, user },
            Role::Repair => Step::Repair { call, user },
            Role::Review => Step::Review { call, user },
            Role::Diagnose | Role::Knowledge | Role::System => Step::CallModel { call, user },
        })
    }

    fn diagnose_step(&mut self, around: &dyn Surroundings) -> Result<Step, FailureCode> {
        let input = around.prompt_tokens(Role::Diagnose);
        let affordable = self.budget.affordable(input);
        if affordable == Affordable::Nothing {
            return Err(FailureCode::BudgetExhausted);
        }
        // Time is a budget too: one more round, the final answer and the review must all fit.
        let hurried = around.time_left_ms() < self.slowest_round_ms.saturating_mul(3);
        let last = affordable == Affordable::FinalOnly || hurried || !self.budget.has_tool_call();
        let reserved =
            self.budget.reserve_model_call(Role::Diagnose, input).ok_or(FailureCode::BudgetExhausted)?;
        self.in_flight = Some(reserved);
        self.told_final |= last;
        let tools = if self.told_final { ToolOffer::Withheld } else { ToolOffer::Offered };
        let call = ModelCall {
            role: Role::Diagnose,
            attempt: 1,
            tools,
            max_output_tokens: reserved.max_output_tokens,
            provider: None,
        };
        // The transcript is the driver's; its opening message was built from `opening()`.
        Ok(Step::CallModel { call, user: String::new() })
    }

    /// Ends the run without content, from outside: cancelled, out of time, a store that failed. A run that is done stays so.
    pub fn fail(&mut self, code: FailureCode) {
        if let Some(reserved) = self.in_flight.take() {
            // The call was dropped on its way: its prompt was sent, of its reply nothing is known.
            let usage = Usage::estimated(reserved.input_tokens, 0);
            self.budget.settle_model_call(reserved, usage);
        }
        if let Phase::GatheringEvidence(calls) | Phase::Retrieving(calls) = &self.phase {
            // Nothing of an interrupted round was shown to the model.
            for call in calls {
                if let Admission::Admitted { max_bytes } = call.admission {
                    self.budget.settle_tool_call(max_bytes, 0);
                }
            }
        }
        if !matches!(self.phase, Phase::Done(_)) {
            self.phase = Phase::Done(Terminal::Failed(code));
        }
    }

    /// Takes the result of the model call that [`Run::next`] asked for.
    pub fn apply_model(&mut self, result: ModelResult) {
        let Some(reserved) = self.in_flight.take() else {
            return self.fail(FailureCode::Internal);
        };
        self.budget.settle_model_call(reserved, result.usage);
        self.provider = result.provider;
        self.cost_nano_usd =
            self.cost_nano_usd.zip(result.cost_nano_usd).map(|(sum, more)| sum.saturating_add(more));
        if matches!(self.phase, Phase::Diagnosing) && result.reply.is_ok() {
            self.slowest_round_ms = self.slowest_round_ms.max(result.duration_ms);
        }
        // The phase is moved out and a new one put in; what is not decided below is a driver's fault.
        let phase = std::mem::replace(&mut self.phase, Phase::Done(Terminal::Failed(FailureCode::Internal)));
        self.phase = match phase {
            Phase::Routing { attempt } => self.routed(attempt, result.reply),
            Phase::Diagnosing => self.diagnosed(result.reply),
            Phase::Repairing { draft, .. } => self.repair_replied(&draft, result.reply),
            Phase::Answering { lookup, .. } => self.answered(lookup, result.reply),
            Phase::Reviewing { candidate, input, attempt } => {
                self.reviewed(candidate, input, attempt, result.reply)
            }
            Phase::Introducing => transitions::introduced(&self.query, result.reply),
            other => other,
        };
    }

    /// The round of tool calls that must run now, if there is one.
    pub fn planned_calls(&self) -> Option<&[PlannedCall]> {
        match &self.phase {
            Phase::GatheringEvidence(calls) | Phase::Retrieving(calls) => Some(calls),
            _ => None,
        }
    }

    /// Takes the results of a round of tool calls, in the order they were planned.
    pub fn apply_tools(&mut self, results: Vec<ToolResult>) {
        let phase = std::mem::replace(&mut self.phase, Phase::Done(Terminal::Failed(FailureCode::Internal)));
        match phase {
            Phase::GatheringEvidence(calls) if results.len() == calls.len() => {
                self.settle_tools(&calls, &results);
                self.phase = Phase::Diagnosing;
            }
            Phase::Retrieving(calls) if results.len() == 1 && calls.len() == 1 => {
                self.settle_tools(&calls, &results);
                self.phase = self.retrieved(&calls, results);
            }
            other if matches!(other, Phase::Done(_)) => self.phase = other,
            _ => {}
        }
    }

    /// Takes what the canonical store holds for the ids that [`Step::CheckEvidence`] named.
    pub fn apply_evidence(&mut self, records: &[CanonicalRecord]) {
        let phase = std::mem::replace(&mut self.phase, Phase::Done(Terminal::Failed(FailureCode::Internal)));
        self.phase = match phase {
            Phase::Checking { draft } => match guard::check(self.id, &draft, records) {
                Ok(checked) => self.review(Candidate::Report(VerifiedDraft { draft, checked })),
                Err(violations) if !self.repaired => {
                    self.repaired = true;
                    Phase::Repairing { draft, violations }
                }
                Err(_) => self.fallback(ReasonCode::EvidenceValidationFailed, None),
            },
            Phase::CheckingAnswer { draft, lookup } => {
                match knowledge::check(self.id, &draft, &lookup, records) {
                    Ok((answer, checked)) => self.review(Candidate::Answer { answer, checked, lookup }),
                    Err(_) => self.fallback(ReasonCode::EvidenceValidationFailed, None),
                }
            }
            done @ Phase::Done(_) => done,
            // Nobody asked for evidence now: a driver's fault.
            _ => Phase::Done(Terminal::Failed(FailureCode::Internal)),
        };
    }
}
