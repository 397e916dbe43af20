//! A model behind an HTTP endpoint, on either wire.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use agent::ports::{Model, ModelRequest};
use async_trait::async_trait;
use bytes::Bytes;
use domain::budget::estimate_tokens;
use domain::model::{ModelFault, ModelResult, Reply, Usage};
use reqwest::header::{AUTHORIZATION, HeaderName, HeaderValue};
use tokio::time::{Instant, timeout_at};

use crate::anthropic;
use crate::dialect::{Dialect, Reasoning, Streaming};
use crate::endpoint::{Endpoint, InvalidEndpoint, Secret};
use crate::faults;
use crate::openai::{self, Intake, Reading};
use crate::price::Price;
use crate::probe::{self, Trouble};
use crate::profile::{KeyHeader, Profile};
use crate::retry::{Exchange, RetryPolicy, exchanges};
use crate::transport::{NoReply, Opened, Transport};

/// The format in which a provider is spoken to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Wire {
    /// Chat Completions and everything compatible.
    #[default]
    OpenAi,
    /// Messages.
    Anthropic,
}

/// How long a silent server is waited for. The time of the call bounds both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// Until the model begins to answer; comments that only keep the connection open do not count.
    pub first_token: Duration,
    /// Between two pieces of an answer that has begun.
    pub idle: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self { first_token: Duration::from_secs(45), idle: Duration::from_secs(20) }
    }
}

/// A model behind an HTTP endpoint.
pub struct HttpModel {
    wire: Wire,
    model: String,
    transport: Transport,
    price: Option<Price>,
    policy: RetryPolicy,
    patience: Patience,
    /// Learnt from refusals once, then used for every call of this process.
    dialect: Mutex<Dialect>,
}

impl HttpModel {
    /// Does no IO: the HTTP client is built at the first call.
    pub fn new(endpoint: &Endpoint) -> Result<Self, InvalidEndpoint> {
        Self::with_policy(endpoint, RetryPolicy::default())
    }

    pub fn with_policy(endpoint: &Endpoint, policy: RetryPolicy) -> Result<Self, InvalidEndpoint> {
        Self::on_wire(Wire::OpenAi, endpoint, policy)
    }

    pub fn on_wire(wire: Wire, endpoint: &Endpoint, policy: RetryPolicy) -> Result<Self, InvalidEndpoint> {
        let path = match wire {
            Wire::OpenAi => "chat/completions",
            Wire::Anthropic => "messages",
        };
        let url = endpoint.url(path)?;
        let profile = endpoint.profile.unwrap_or_else(|| Profile::of(&url));
        Ok(Self {
            wire,
            model: endpoint.model.trim().to_owned(),
            transport: Transport::new(url, headers(wire, profile.key, &endpoint.api_key)?),
            price: endpoint.price,
            policy,
            patience: Patience::default(),
            dialect: Mutex::new(profile.dialect),
        })
    }

    /// The same client with other limits for silence.
    pub fn with_patience(self, patience: Patience) -> Self {
        Self { patience, ..self }
    }

    fn body(&self, request: &ModelRequest, dialect: Dialect) -> Option<Bytes> {
        match self.wire {
            Wire::OpenAi => openai::body(&self.model, request, dialect),
            Wire::Anthropic => {
                anthropic::body(&self.model, request, dialect.streaming != Streaming::Buffered)
            }
        }
    }

    fn dialect(&self) -> Dialect {
        *self.dialect.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn learn(&self, dialect: Dialect) {
        *self.dialect.lock().unwrap_or_else(PoisonError::into_inner) = dialect;
    }

    /// Asks for one word, once, and says what is wrong if none comes.
    pub async fn probe(&self, timeout: Duration) -> Result<(), Trouble> {
        let request = probe::request(timeout);
        let Ok(exchange) = tokio::time::timeout(timeout, self.exchange(&request)).await else {
            return Err(Trouble::Silent);
        };
        match (exchange.not_sent, exchange.reply) {
            (Some(trouble), _) => Err(trouble),
            (None, Err(fault)) => probe::trouble(fault).map_or(Ok(()), Err),
            (None, Ok(_)) => Ok(()),
        }
    }

    /// One exchange; a refusal that is only about spelling is answered at once in the other spelling.
    async fn exchange(&self, request: &ModelRequest) -> Exchange {
        let mut dialect = self.dialect();
        loop {
            let Some(body) = self.body(request, dialect) else {
                return refused(ModelFault::BadRequest);
            };
            let sent = estimated_input(&body);
            let begun_by = Instant::now() + self.patience.first_token;
            let opened = match timeout_at(begun_by, self.transport.post(body)).await {
                Ok(Ok(opened)) => opened,
                Ok(Err(cause)) => return unanswered(cause, sent),
                Err(_) => return silent(sent),
            };
            let (status, retry_after) = (opened.status, opened.retry_after);
            tracing::debug!(
                model.role = request.role.as_str(),
                http.status = status,
                "model endpoint answered"
            );
            if status == 200 {
                return self.answer(opened, begun_by, sent, dialect.reasoning).await;
            }
            let Ok(refusal) = timeout_at(begun_by, opened.whole()).await else { return silent(sent) };
            // The status alone says enough where the words did not arrive.
            let refusal = refusal.unwrap_or_default();
            match dialect.after_refusal(status, &faults::error_text(&refusal)) {
                Some(other) => {
                    tracing::info!(
                        http.status = status,
                        "the model endpoint refused a parameter; it is no longer sent"
                    );
                    dialect = other;
                    self.learn(dialect);
                }
                None => return Exchange { retry_after, ..refused(faults::of_response(status, &refusal)) },
            }
        }
    }

    /// Reads the answer as it comes, until it is complete, breaks, or falls silent.
    async fn answer(
        &self,
        mut opened: Opened,
        begun_by: Instant,
        sent: u64,
        reasoning: Reasoning,
    ) -> Exchange {
        let mut intake = Intake::new(reasoning != Reasoning::Never);
        let clean = loop {
            if intake.is_done() {
                break true;
            }
            let until = if intake.has_begun() { Instant::now() + self.patience.idle } else { begun_by };
            match timeout_at(until, opened.chunk()).await {
                Ok(Ok(Some(bytes))) => intake.push(&bytes),
                Ok(Ok(None)) => break true,
                Ok(Err(NoReply::TooLarge)) => return unanswered(NoReply::TooLarge, sent),
                Ok(Err(_)) => break false,
                Err(_) => return silent(sent),
            }
        };
        answered(intake.finish(clean), opened.retry_after, sent)
    }
}

#[async_trait]
impl Model for HttpModel {
    fn name(&self, _provider: usize) -> &str {
        &self.model
    }

    async fn call(&self, request: ModelRequest) -> ModelResult {
        let lost = self.body(&request, self.dialect()).map(|body| estimated_input(&body));
        let lost = Usage::estimated(lost.unwrap_or_default(), 0);
        let result = exchanges(self.policy, request.timeout, lost, || self.exchange(&request)).await;
        ModelResult { cost_nano_usd: self.price.map(|price| price.of(result.usage)), ..result }
    }
}

fn headers(
    wire: Wire,
    form: KeyHeader,
    key: &Secret,
) -> Result<Vec<(HeaderName, HeaderValue)>, InvalidEndpoint> {
    let (name, prefix) = match (wire, form) {
        (Wire::OpenAi, KeyHeader::Bearer) => (AUTHORIZATION, "Bearer "),
        (Wire::OpenAi, KeyHeader::ApiKey) => (HeaderName::from_static("api-key"), ""),
        (Wire::Anthropic, _) => (HeaderName::from_static("x-api-key"), ""),
    };
    let mut headers = Vec::new();
    if !key.is_empty() {
        headers.push((name, key.header(prefix)?));
    }
    if wire == Wire::Anthropic {
        headers.push((HeaderName::from_static("anthropic-version"), HeaderValue::from_static("2023-06-01")));
    }
    Ok(headers)
}

fn estimated_input(body: &Bytes) -> u64 {
    std::str::from_utf8(body).map(estimate_tokens).unwrap_or_default()
}

/// The provider did no work.
fn refused(fault: ModelFault) -> Exchange {
    Exchange { reply: Err(fault), usage: Usage::default(), retry_after: None, not_sent: None }
}

fn unanswered(cause: NoReply, sent: u64) -> Exchange {
    let fault = match cause {
        NoReply::NotSent(_) | NoReply::Lost => ModelFault::Transport,
        NoReply::TooLarge => ModelFault::ParseError,
        // Nothing that waiting would mend.
        NoReply::NoClient => ModelFault::BadRequest,
    };
    let input_tokens = if matches!(cause, NoReply::Lost | NoReply::TooLarge) { sent } else { 0 };
    let usage = Usage { estimated: input_tokens > 0, ..Usage::counted(input_tokens, 0) };
    let not_sent = if let NoReply::NotSent(trouble) = cause { Some(trouble) } else { None };
    Exchange { usage, not_sent, ..refused(fault) }
}

/// The provider has probably read the request, and nothing more is known.
fn silent(sent: u64) -> Exchange {
    Exchange { usage: Usage::estimated(sent, 0), ..refused(ModelFault::Timeout) }
}

fn answered(reading: Reading, retry_after: Option<Duration>, sent: u64) -> Exchange {
    let Reading { input_tokens, output_tokens, cached_tokens, reasoning_tokens, reply: read } = reading;
    let written = || read.as_ref().map(estimated_output).unwrap_or_default();
    let usage = Usage {
        input_tokens: input_tokens.unwrap_or(sent),
        output_tokens: output_tokens.unwrap_or_else(written),
        cached_tokens: cached_tokens.unwrap_or_default(),
        reasoning_tokens: reasoning_tokens.unwrap_or_default(),
        estimated: input_tokens.is_none() || output_tokens.is_none(),
    };
    Exchange { reply: read, usage, retry_after, not_sent: None }
}

fn estimated_output(reply: &Reply) -> u64 {
    let text = reply.text.as_deref().map(estimate_tokens).unwrap_or_default();
    let calls = reply.calls.iter().map(|call| {
        let arguments = call.arguments.as_ref().map(|a| a.to_string()).unwrap_or_default();
        estimate_tokens(&call.name) + estimate_tokens(&arguments)
    });
    text + calls.sum::<u64>()
}
