//! The run driver: performs what the state machine decides and reports what came of it. It decides nothing itself.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use domain::events::{FailureCode, Stage};
use domain::ids::ToolCallId;
use domain::model::{ModelFault, ModelResult, Role, Usage};
use domain::run::{ModelCall, PlannedCall, Run, Step, Surroundings, Terminal, ToolOffer};
use domain::tool::ToolName;
use futures_util::future::try_join_all;
use tokio::time::Instant;

use crate::audit::Audit;
use crate::boundary::ToolBoundary;
use crate::cancel;
use crate::context::{Interrupted, RunContext, millis};
use crate::ports::ledger::StepRow;
use crate::ports::{Message, Model, ModelRequest, RunControl, ToolChoice};
use crate::progress::Progress;
use crate::prompts::{Prompt, Prompts};
use crate::transcript::{self, Transcript};

/// A model that stops its own work in time needs this long to say so.
const MODEL_GRACE: Duration = Duration::from_secs(1);

/// What every run of a process shares.
pub struct Engine {
    pub model: Arc<dyn Model>,
    pub boundary: ToolBoundary,
    pub control: Arc<dyn RunControl>,
    pub prompts: Prompts,
    /// Time for one model call, retries included.
    pub model_timeout: Duration,
}

/// One run being driven.
pub struct Drive<'a> {
    pub engine: &'a Engine,
    pub ctx: &'a RunContext,
    pub progress: &'a Progress,
    pub audit: &'a Audit,
}

struct Sizes<'a> {
    prompts: &'a Prompts,
    transcript_tokens: u64,
    time_left: Duration,
}

impl Surroundings for Sizes<'_> {
    fn prompt_tokens(&self, role: Role) -> u64 {
        let transcript = if role == Role::Diagnose { self.transcript_tokens } else { 0 };
        self.prompts.of(role).tokens + transcript
    }

    fn time_left_ms(&self) -> u64 {
        millis(self.time_left)
    }
}

impl Drive<'_> {
    /// Drives `run` to its terminal state; a cancellation that anybody asked for ends it at the next await.
    pub async fn to_terminal(&self, run: &mut Run) -> Terminal {
        tokio::select! {
            biased;
            terminal = self.steps(run) => terminal,
            never = cancel::watch(self.engine.control.as_ref(), self.ctx) => match never {},
        }
    }

    async fn steps(&self, run: &mut Run) -> Terminal {
        let mut transcript = Transcript::new(run.opening());
        let steps = AtomicU32::new(0);
        loop {
            let time_left = self.ctx.time_left();
            let sizes =
                Sizes { prompts: &self.engine.prompts, transcript_tokens: transcript.tokens(), time_left };
            let step = run.next(&sizes);
            if let Step::Done(terminal) = step {
                return terminal;
            }
            if let Err(code) = self.perform(run, step, &mut transcript, &steps).await {
                run.fail(code);
            }
        }
    }

    async fn perform(
        &self,
        run: &mut Run,
        step: Step,
        transcript: &mut Transcript,
        steps: &AtomicU32,
    ) -> Result<(), FailureCode> {
        let stage = |stage| self.progress.stage(self.ctx, stage);
        match step {
            Step::Route { call, user } => {
                stage(Stage::Routing);
                run.apply_model(self.ask(call, vec![Message::User { text: user }], steps).await?);
            }
            Step::CallModel { call, .. } if call.role == Role::Diagnose => {
                stage(Stage::Diagnosing);
                if call.tools == ToolOffer::Withheld {
                    transcript.only_the_final_answer_is_left();
                }
                let result = self.ask(call, transcript.messages().to_vec(), steps).await?;
                let text = result.reply.as_ref().ok().and_then(|reply| reply.text.clone());
                run.apply_model(result);
                self.gather(run, text, transcript).await?;
            }
            Step::CallModel { call, user } => {
                stage(Stage::Answering);
                run.apply_model(self.ask(call, vec![Message::User { text: user }], steps).await?);
            }
            Step::CallTools(calls) => {
                stage(Stage::Retrieving);
                let observed = self.call_tools(&calls).await?;
                run.apply_tools(observed.into_iter().map(|o| o.result).collect());
            }
            Step::CheckEvidence(ids) => {
                stage(Stage::ValidatingEvidence);
                run.apply_evidence(&self.records(&ids).await?);
            }
            Step::Repair { call, user } => {
                stage(Stage::RepairingEvidence);
                run.apply_model(self.ask(call, vec![Message::User { text: user }], steps).await?);
            }
            Step::Review { call, user } => {
                stage(Stage::Reviewing);
                run.apply_model(self.ask(call, vec![Message::User { text: user }], steps).await?);
            }
            Step::Done(_) => {}
        }
        Ok(())
    }

    /// If the agent asked for tools, runs that round and puts both sides of it into the transcript.
    async fn gather(
        &self,
        run: &mut Run,
        text: Option<String>,
        transcript: &mut Transcript,
    ) -> Result<(), FailureCode> {
        let Some(calls) = run.planned_calls().map(<[PlannedCall]>::to_vec) else {
            return Ok(());
        };
        transcript.asked(text, &calls);
        let observed = self.call_tools(&calls).await?;
        let mut results = Vec::with_capacity(observed.len());
        for (call, observed) in calls.into_iter().zip(observed) {
            transcript.observed(call.id, call.name, observed.content);
            results.push(observed.result);
        }
        run.apply_tools(results);
        Ok(())
    }

    /// All calls of a round at the same time; answers in the order asked.
    async fn call_tools(&self, calls: &[PlannedCall]) -> Result<Vec<crate::boundary::Observed>, FailureCode> {
        let boundary = &self.engine.boundary;
        try_join_all(calls.iter().map(|call| boundary.call(self.ctx, call, self.progress, self.audit))).await
    }

    async fn records(
        &self,
        ids: &[ToolCallId],
    ) -> Result<Vec<domain::evidence::CanonicalRecord>, FailureCode> {
        self.engine.boundary.records(self.ctx, ids).await
    }

    /// One model call, with the audit of earlier steps written beside it.
    async fn ask(
        &self,
        call: ModelCall,
        messages: Vec<Message>,
        steps: &AtomicU32,
    ) -> Result<ModelResult, FailureCode> {
        let prompt = self.engine.prompts.of(call.role);
        let sent = Usage {
            input_tokens: prompt.tokens + messages.iter().map(transcript::tokens).sum::<u64>(),
            output_tokens: 0,
            estimated: true,
        };
        let mut audited = self.audit.open(StepRow {
            run_id: self.ctx.run_id,
            sequence: steps.fetch_add(1, Ordering::Relaxed) + 1,
            kind: call.role.as_str(),
            model: self.engine.model.name().to_owned(),
            message_count: messages.len() as u32 + 1,
            message_roles: transcript::roles(&messages),
            has_text: false,
            tool_names: String::new(),
            input_tokens: sent.input_tokens,
            output_tokens: sent.output_tokens,
            usage_estimated: sent.estimated,
            duration_ms: 0,
            attempt: call.attempt,
            // What is left here if the call panics.
            error_code: Some(FailureCode::Internal.as_str()),
            started_at: self.ctx.now(),
        });
        let answer = self.answer(self.request(call, prompt, messages), sent);
        let both = async { tokio::join!(answer, self.audit.flush()).0 };
        let answered = self.ctx.bound(both).await;
        let row = &mut audited.row;
        row.error_code = step_error(&answered);
        let result = answered?;
        row.input_tokens = result.usage.input_tokens;
        row.output_tokens = result.usage.output_tokens;
        row.usage_estimated = result.usage.estimated;
        if let Ok(reply) = &result.reply {
            row.has_text = reply.text.as_deref().is_some_and(|text| !text.trim().is_empty());
            let names =
                reply.calls.iter().map(|c| ToolName::parse(&c.name).map_or("unknown", ToolName::as_str));
            row.tool_names = names.collect::<Vec<_>>().join(",");
        }
        Ok(result)
    }

    /// The model's answer in its own time; one that does not keep it counts as a timeout.
    async fn answer(&self, request: ModelRequest, sent: Usage) -> ModelResult {
        let (started, limit) = (Instant::now(), request.timeout + MODEL_GRACE);
        let late = |_| ModelResult {
            usage: sent,
            duration_ms: millis(started.elapsed()),
            reply: Err(ModelFault::Timeout),
        };
        tokio::time::timeout(limit, self.engine.model.call(request)).await.unwrap_or_else(late)
    }

    fn request(&self, call: ModelCall, prompt: &Prompt, messages: Vec<Message>) -> ModelRequest {
        ModelRequest {
            role: call.role,
            system: prompt.system.clone(),
            messages,
            tools: prompt.tools.clone(),
            tool_choice: if call.tools == ToolOffer::Withheld {
                ToolChoice::Forbidden
            } else {
                ToolChoice::Auto
            },
            response_schema: prompt.schema.clone(),
            max_output_tokens: call.max_output_tokens,
            timeout: self.engine.model_timeout.min(self.ctx.time_left()),
        }
    }
}

fn step_error(answered: &Result<ModelResult, Interrupted>) -> Option<&'static str> {
    match answered {
        Ok(result) => result.reply.as_ref().err().map(|fault| fault.as_str()),
        Err(Interrupted::Cancelled) => Some("RUN_CANCELLED"),
        Err(Interrupted::DeadlinePassed) => Some("DEADLINE_EXCEEDED"),
    }
}

#[cfg(test)]
#[path = "run_tests.rs"]
mod tests;
