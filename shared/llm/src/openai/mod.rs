//! The Chat Completions wire and everything compatible with it.

mod arguments;
mod dialect;
mod reader;
mod request;
mod text;

use std::sync::{Mutex, PoisonError};

use agent::ports::{Model, ModelRequest};
use async_trait::async_trait;
use bytes::Bytes;
use domain::budget::estimate_tokens;
use domain::model::{ModelFault, ModelResult, Reply, Usage};
use reqwest::header::AUTHORIZATION;

use self::dialect::Dialect;
use self::reader::Reading;
use crate::endpoint::{Endpoint, InvalidEndpoint};
use crate::faults;
use crate::retry::{Exchange, RetryPolicy, exchanges};
use crate::transport::{HttpReply, NoReply, Transport};

/// A model behind a Chat Completions endpoint.
pub struct OpenAi {
    model: String,
    transport: Transport,
    policy: RetryPolicy,
    /// Learnt from refusals once, then used for every call of this process.
    dialect: Mutex<Dialect>,
}

impl OpenAi {
    /// Does no IO: the HTTP client is built at the first call.
    pub fn new(endpoint: &Endpoint) -> Result<Self, InvalidEndpoint> {
        Self::with_policy(endpoint, RetryPolicy::default())
    }

    pub fn with_policy(endpoint: &Endpoint, policy: RetryPolicy) -> Result<Self, InvalidEndpoint> {
        let url = endpoint.url("chat/completions")?;
        let key = &endpoint.api_key;
        let secret = if key.is_empty() { None } else { Some((AUTHORIZATION, key.header("Bearer ")?)) };
        Ok(Self {
            model: endpoint.model.trim().to_owned(),
            transport: Transport::new(url, secret),
            policy,
            dialect: Mutex::new(Dialect::default()),
        })
    }

    fn dialect(&self) -> Dialect {
        *self.dialect.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn learn(&self, dialect: Dialect) {
        *self.dialect.lock().unwrap_or_else(PoisonError::into_inner) = dialect;
    }

    /// One exchange; a refusal that is only about spelling is answered at once in the other spelling.
    async fn exchange(&self, request: &ModelRequest) -> Exchange {
        let mut dialect = self.dialect();
        loop {
            let Some(body) = request::body(&self.model, request, dialect) else {
                return refused(ModelFault::BadRequest);
            };
            let sent = estimated_input(&body);
            let reply = match self.transport.post(body).await {
                Ok(reply) => reply,
                Err(cause) => return unanswered(cause, sent),
            };
            tracing::debug!(
                model.role = request.role.as_str(),
                http.status = reply.status,
                "model endpoint answered"
            );
            if reply.status == 200 {
                return answered(&reply, sent);
            }
            match dialect.after_refusal(reply.status, &faults::error_text(&reply.body)) {
                Some(other) => {
                    dialect = other;
                    self.learn(dialect);
                }
                None => {
                    let fault = faults::of_response(reply.status, &reply.body);
                    return Exchange { retry_after: reply.retry_after, ..refused(fault) };
                }
            }
        }
    }
}

#[async_trait]
impl Model for OpenAi {
    fn name(&self) -> &str {
        &self.model
    }

    async fn call(&self, request: ModelRequest) -> ModelResult {
        let lost = request::body(&self.model, &request, self.dialect()).map(|body| estimated_input(&body));
        let lost = Usage { input_tokens: lost.unwrap_or_default(), output_tokens: 0, estimated: true };
        exchanges(self.policy, request.timeout, lost, || self.exchange(&request)).await
    }
}

fn estimated_input(body: &Bytes) -> u64 {
    std::str::from_utf8(body).map(estimate_tokens).unwrap_or_default()
}

/// The provider did no work.
fn refused(fault: ModelFault) -> Exchange {
    Exchange { reply: Err(fault), usage: Usage::default(), retry_after: None }
}

fn unanswered(cause: NoReply, sent: u64) -> Exchange {
    let fault = match cause {
        NoReply::NotSent | NoReply::Lost => ModelFault::Transport,
        NoReply::TooLarge => ModelFault::ParseError,
        // Nothing that waiting would mend.
        NoReply::NoClient => ModelFault::BadRequest,
    };
    let input_tokens = if matches!(cause, NoReply::Lost | NoReply::TooLarge) { sent } else { 0 };
    let usage = Usage { input_tokens, output_tokens: 0, estimated: input_tokens > 0 };
    Exchange { reply: Err(fault), usage, retry_after: None }
}

fn answered(reply: &HttpReply, sent: u64) -> Exchange {
    let Reading { input_tokens, output_tokens, reply: read } = reader::read(&reply.body);
    let written = || read.as_ref().map(estimated_output).unwrap_or_default();
    let usage = Usage {
        input_tokens: input_tokens.unwrap_or(sent),
        output_tokens: output_tokens.unwrap_or_else(written),
        estimated: input_tokens.is_none() || output_tokens.is_none(),
    };
    Exchange { reply: read, usage, retry_after: reply.retry_after }
}

fn estimated_output(reply: &Reply) -> u64 {
    let text = reply.text.as_deref().map(estimate_tokens).unwrap_or_default();
    let calls = reply.calls.iter().map(|call| {
        let arguments = call.arguments.as_ref().map(|a| a.to_string()).unwrap_or_default();
        estimate_tokens(&call.name) + estimate_tokens(&arguments)
    });
    text + calls.sum::<u64>()
}
