//! The run driver: performs what the state machine decides and reports what came of it. It decides nothing itself.

use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::time::Duration;

use domain::events::{FailureCode, Stage};
use domain::ids::ToolCallId;
use domain::model::Role;
use domain::run::{PlannedCall, Run, Step, Surroundings, Terminal, ToolOffer};
use futures_util::future::try_join_all;

use crate::audit::Audit;
use crate::boundary::ToolBoundary;
use crate::cancel;
use crate::context::{RunContext, millis};
use crate::observation::Observed;
use crate::ports::{Message, Model, RunControl};
use crate::progress::Progress;
use crate::prompts::Prompts;
use crate::transcript::Transcript;

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
        if let Err(interrupted) = self.ctx.bound(self.engine.prompts.prepare()).await {
            run.fail(interrupted.into());
        }
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
                let turn = result.reply.as_ref().ok();
                let said = turn.map(|turn| (turn.text.clone(), turn.reasoning.clone())).unwrap_or_default();
                run.apply_model(result);
                self.gather(run, said, transcript).await?;
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
        (text, reasoning): (Option<String>, Option<serde_json::Value>),
        transcript: &mut Transcript,
    ) -> Result<(), FailureCode> {
        let Some(calls) = run.planned_calls().map(<[PlannedCall]>::to_vec) else {
            return Ok(());
        };
        transcript.asked(text, reasoning, &calls);
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
    async fn call_tools(&self, calls: &[PlannedCall]) -> Result<Vec<Observed>, FailureCode> {
        let boundary = &self.engine.boundary;
        try_join_all(calls.iter().map(|call| boundary.call(self.ctx, call, self.progress, self.audit))).await
    }

    async fn records(
        &self,
        ids: &[ToolCallId],
    ) -> Result<Vec<domain::evidence::CanonicalRecord>, FailureCode> {
        self.engine.boundary.records(self.ctx, ids).await
    }
}

#[cfg(test)]
#[path = "run_tests.rs"]
mod tests;
