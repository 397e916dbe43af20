//! A second provider for when the first can't answer.

use std::sync::Arc;
use std::time::Duration;

use agent::ports::{Model, ModelRequest};
use async_trait::async_trait;
use domain::model::{ModelFault, ModelResult};

/// The least time in which another provider is worth asking.
const LEAST_TIME: Duration = Duration::from_secs(2);

/// Providers in the order in which they are asked. Decided anew for each call: a provider that recovers is used again at once.
pub struct Chain {
    links: Vec<Arc<dyn Model>>,
    /// Whether the second attempt of a guard may be answered by another provider than the first.
    may_change_in_guards: bool,
}

impl Chain {
    /// `first`, and `others` for when it can't answer.
    pub fn new(
        first: Arc<dyn Model>,
        others: impl IntoIterator<Item = Arc<dyn Model>>,
        may_change_in_guards: bool,
    ) -> Self {
        Self { links: std::iter::once(first).chain(others).collect(), may_change_in_guards }
    }
}

/// Whether another provider may well answer what this one didn't. What is wrong with the request, or what a model declines, is
/// not: asking around for another answer would make the guards a matter of luck.
fn is_unavailable(fault: ModelFault) -> bool {
    match fault {
        ModelFault::Transport
        | ModelFault::Timeout
        | ModelFault::RateLimited
        | ModelFault::Overloaded
        | ModelFault::ServerError
        | ModelFault::Auth
        | ModelFault::Quota
        | ModelFault::UnknownModel => true,
        ModelFault::ParseError
        | ModelFault::SchemaInvalid
        | ModelFault::Truncated
        | ModelFault::ContextTooLarge
        | ModelFault::ContentFiltered
        | ModelFault::Refused
        | ModelFault::BadRequest => false,
    }
}

#[async_trait]
impl Model for Chain {
    fn name(&self, provider: usize) -> &str {
        self.links.get(provider).or(self.links.first()).map_or("", |link| link.name(0))
    }

    async fn call(&self, request: ModelRequest) -> ModelResult {
        let pinned = request.provider.filter(|_| !self.may_change_in_guards);
        let first = pinned.filter(|place| *place < self.links.len()).unwrap_or(0);
        let last = if pinned.is_some() { first } else { self.links.len() - 1 };
        let mut left = request.timeout;
        let mut spent: Option<ModelResult> = None;
        for place in first..=last {
            let mut result = self.links[place].call(ModelRequest { timeout: left, ..request.clone() }).await;
            result.provider = place;
            left = left.saturating_sub(Duration::from_millis(result.duration_ms));
            if let Some(before) = spent.take() {
                result.follow(before);
            }
            let unavailable = result.reply.as_ref().err().is_some_and(|fault| is_unavailable(*fault));
            if !unavailable || place == last || left < LEAST_TIME {
                return result;
            }
            tracing::warn!(
                model.provider = place,
                model.fault = result.reply.as_ref().err().map(|fault| fault.as_str()),
                "the model provider can't answer; the next one is asked"
            );
            spent = Some(result);
        }
        spent.unwrap_or_else(|| ModelResult::failed(ModelFault::BadRequest))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use agent::ports::ToolChoice;
    use domain::model::{Reply, Role, Usage};

    use super::*;

    struct Link(&'static str, Result<Reply, ModelFault>, Mutex<Vec<Duration>>);

    #[async_trait]
    impl Model for Link {
        fn name(&self, _provider: usize) -> &str {
            self.0
        }

        async fn call(&self, request: ModelRequest) -> ModelResult {
            self.2.lock().unwrap().push(request.timeout);
            ModelResult {
                cost_nano_usd: Some(5),
                ..ModelResult::new(Usage::counted(10, 1), 4_000, self.1.clone())
            }
        }
    }

    fn link(name: &'static str, reply: Result<Reply, ModelFault>) -> Arc<Link> {
        Arc::new(Link(name, reply, Mutex::default()))
    }

    fn said(text: &str) -> Result<Reply, ModelFault> {
        Ok(Reply { text: Some(text.to_owned()), ..Reply::default() })
    }

    fn request(seconds: u64, provider: Option<usize>) -> ModelRequest {
        ModelRequest {
            role: Role::Review,
            system: "superbiz/review".into(),
            messages: Vec::new(),
            tools: Arc::from([]),
            tool_choice: ToolChoice::Auto,
            response_schema: None,
            max_output_tokens: 9,
            timeout: Duration::from_secs(seconds),
            provider,
        }
    }

    #[tokio::test]
    async fn only_unavailability_moves_on_and_everything_is_paid_for() {
        for fault in [ModelFault::Overloaded, ModelFault::Transport, ModelFault::Auth, ModelFault::Quota] {
            let (first, second) = (link("a", Err(fault)), link("b", said("x")));
            let chain = Chain::new(first.clone(), [second.clone() as Arc<dyn Model>], false);
            let result = chain.call(request(60, None)).await;
            assert_eq!((result.provider, chain.name(result.provider)), (1, "b"));
            assert_eq!((result.reply, result.usage.input_tokens, result.duration_ms), (said("x"), 20, 8_000));
            assert_eq!(result.cost_nano_usd, Some(10));
            assert_eq!(*second.2.lock().unwrap(), [Duration::from_secs(56)], "what the first one left");
        }
        for fault in [ModelFault::Refused, ModelFault::SchemaInvalid, ModelFault::ContextTooLarge] {
            let (first, second) = (link("a", Err(fault)), link("b", said("x")));
            let chain = Chain::new(first, [second.clone() as Arc<dyn Model>], false);
            assert_eq!(chain.call(request(60, None)).await.reply, Err(fault));
            assert!(second.2.lock().unwrap().is_empty());
        }
    }

    #[tokio::test]
    async fn a_guards_second_attempt_stays_with_the_provider_of_its_first() {
        let (first, second) = (link("a", Err(ModelFault::Overloaded)), link("b", said("x")));
        let others = || [second.clone() as Arc<dyn Model>];
        let chain = Chain::new(first.clone(), others(), false);
        assert_eq!(chain.call(request(60, Some(0))).await.reply, Err(ModelFault::Overloaded));
        assert_eq!(chain.call(request(60, Some(1))).await.reply, said("x"));
        assert_eq!(first.2.lock().unwrap().len(), 1, "the second call went to the second provider alone");
        let free = Chain::new(first, others(), true);
        assert_eq!(free.call(request(60, Some(0))).await.reply, said("x"));
    }

    #[tokio::test]
    async fn without_time_nobody_else_is_asked() {
        let (first, second) = (link("a", Err(ModelFault::Timeout)), link("b", said("x")));
        let chain = Chain::new(first, [second.clone() as Arc<dyn Model>], false);
        assert_eq!(chain.call(request(5, None)).await.reply, Err(ModelFault::Timeout));
        assert!(second.2.lock().unwrap().is_empty());
    }
}
