//! One model call of a run: its request, its time, its audit row.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use domain::events::FailureCode;
use domain::model::{ModelFault, ModelResult, Usage};
use domain::run::{ModelCall, ToolOffer};
use domain::tool::ToolName;
use tokio::time::Instant;

use crate::context::{Interrupted, millis};
use crate::ports::ledger::StepRow;
use crate::ports::{Message, ModelRequest, ToolChoice};
use crate::prompts::Prompt;
use crate::run::Drive;
use crate::transcript;

/// A model that stops its own work in time needs this long to say so.
const MODEL_GRACE: Duration = Duration::from_secs(1);

impl Drive<'_> {
    /// One model call, with the audit of earlier steps written beside it.
    pub(crate) async fn ask(
        &self,
        call: ModelCall,
        messages: Vec<Message>,
        steps: &AtomicU32,
    ) -> Result<ModelResult, FailureCode> {
        let prompt = self.engine.prompts.of(call.role);
        let sent = Usage::estimated(prompt.tokens + messages.iter().map(transcript::tokens).sum::<u64>(), 0);
        let mut audited = self.audit.open(StepRow {
            run_id: self.ctx.run_id,
            sequence: steps.fetch_add(1, Ordering::Relaxed) + 1,
            kind: call.role.as_str(),
            model: self.engine.model.name(call.provider.unwrap_or(0)).to_owned(),
            message_count: messages.len() as u32 + 1,
            message_roles: transcript::roles(&messages),
            has_text: false,
            tool_names: String::new(),
            input_tokens: sent.input_tokens,
            output_tokens: sent.output_tokens,
            cached_tokens: 0,
            reasoning_tokens: 0,
            usage_estimated: sent.estimated,
            cost_nano_usd: None,
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
        row.cached_tokens = result.usage.cached_tokens;
        row.reasoning_tokens = result.usage.reasoning_tokens;
        row.usage_estimated = result.usage.estimated;
        row.cost_nano_usd = result.cost_nano_usd;
        row.model = self.engine.model.name(result.provider).to_owned();
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
        let late = |_| ModelResult::new(sent, millis(started.elapsed()), Err(ModelFault::Timeout));
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
            provider: call.provider,
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
