//! Whether the model providers can be used as configured, asked of them at most once in a while.

use std::time::Duration;

use llm::HttpModel;
use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::config::{Config, Provider};

/// One word is a quick answer, and readiness is asked with little patience.
const PROBE_TIMEOUT: Duration = Duration::from_secs(8);
/// How long an answer holds. A probe costs a few tokens and anybody may ask for readiness, so both kinds hold for a while;
/// what is wrong is looked at again sooner, for the operator who mends it.
const GOOD_FOR: Duration = Duration::from_secs(300);
const BAD_FOR: Duration = Duration::from_secs(10);

/// The providers of this deployment and what is known of them.
pub struct ModelCheck {
    links: Vec<Link>,
    faults: Vec<String>,
}

/// One provider's state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelState {
    /// `model`, or `model_fallback`.
    pub name: &'static str,
    /// What is wrong and what would be right; `None` if it answers.
    pub trouble: Option<String>,
    /// Of the call that told.
    pub latency: Duration,
}

struct Link {
    name: &'static str,
    model: HttpModel,
    known: Mutex<Option<(Instant, ModelState)>>,
}

impl ModelCheck {
    pub(crate) fn new(config: &Config) -> Self {
        let (mut links, mut faults) = (Vec::new(), config.model_faults.clone());
        if let Some(model) = &config.model {
            let fallback = model.fallback.as_ref().map(|fallback| ("model_fallback", fallback));
            for (name, provider) in std::iter::once(("model", &model.first)).chain(fallback) {
                match client(provider) {
                    Ok(model) => links.push(Link { name, model, known: Mutex::new(None) }),
                    Err(fault) => faults.push(format!("{name}: {fault}")),
                }
            }
        }
        Self { links, faults }
    }

    /// The state of each provider; none if this function was told of none.
    pub async fn states(&self) -> Vec<ModelState> {
        if !self.faults.is_empty() {
            let trouble = Some(self.faults.join("; "));
            return vec![ModelState { name: "model", trouble, latency: Duration::ZERO }];
        }
        let mut states = Vec::new();
        for link in &self.links {
            states.push(link.state().await);
        }
        states
    }
}

impl Link {
    /// Holding the lock while asking makes everybody who asks meanwhile wait for the same answer.
    async fn state(&self) -> ModelState {
        let mut known = self.known.lock().await;
        let holds = |state: &ModelState| if state.trouble.is_none() { GOOD_FOR } else { BAD_FOR };
        if let Some((told, state)) = known.as_ref()
            && told.elapsed() < holds(state)
        {
            return state.clone();
        }
        let asked = Instant::now();
        let trouble = self.model.probe(PROBE_TIMEOUT).await.err().map(|trouble| trouble.to_string());
        if let Some(trouble) = &trouble {
            tracing::warn!(dependency = self.name, trouble, "not ready");
        }
        let state = ModelState { name: self.name, trouble, latency: asked.elapsed() };
        *known = Some((Instant::now(), state.clone()));
        state
    }
}

fn client(provider: &Provider) -> Result<HttpModel, llm::InvalidEndpoint> {
    HttpModel::on_wire(provider.wire, &provider.endpoint, llm::RetryPolicy::default())
}
