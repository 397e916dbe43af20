//! The model provider, and a second one for when the first can't answer.

use std::time::Duration;

use llm::{Endpoint, Profile, Secret, Wire};

use super::Reader;
use super::prices::Prices;

#[derive(Debug, Clone)]
pub struct ModelConfig {
    pub first: Provider,
    /// Asked for what the first one can't answer.
    pub fallback: Option<Provider>,
    /// Whether it may answer the second attempt of a guard whose first was another's.
    pub fallback_in_guards: bool,
    /// Time for one call.
    pub timeout: Duration,
}

#[derive(Debug, Clone)]
pub struct Provider {
    pub wire: Wire,
    pub endpoint: Endpoint,
    /// The secret that holds the key, where the endpoint has none.
    pub key_secret: Option<String>,
}

pub(super) fn read(env: &mut Reader<'_>) -> Option<ModelConfig> {
    let prices = prices(env);
    let first = provider(env, "MODEL_", &prices);
    let names = ["WIRE", "PROFILE", "BASE_URL", "NAME", "API_KEY", "API_KEY_SECRET_ARN"];
    let is_set = |name: &&str| env.optional(&format!("MODEL_FALLBACK_{name}")).is_some();
    // One of them alone is a mistake that is told, not a chain that isn't there when it is needed.
    let wanted = names.iter().any(is_set);
    let fallback = if wanted { provider(env, "MODEL_FALLBACK_", &prices) } else { None };
    let fallback_in_guards = env.flag("MODEL_FALLBACK_IN_GUARDS");
    let timeout = env.seconds("MODEL_TIMEOUT_SECONDS", 60);
    Some(ModelConfig { first: first?, fallback, fallback_in_guards, timeout })
}

fn prices(env: &mut Reader<'_>) -> Prices {
    let own = env.optional("MODEL_PRICES").map(std::path::PathBuf::from);
    Prices::load(own.as_deref()).unwrap_or_else(|fault| {
        env.faults.push(format!("MODEL_PRICES: {fault}"));
        Prices::default()
    })
}

/// The provider whose variables begin with `prefix`.
fn provider(env: &mut Reader<'_>, prefix: &str, prices: &Prices) -> Option<Provider> {
    let named = |name: &str| format!("{prefix}{name}");
    let wire = match env.or(&named("WIRE"), "openai").as_str() {
        "openai" => Wire::OpenAi,
        "anthropic" => Wire::Anthropic,
        _ => {
            env.faults.push(format!("{prefix}WIRE must be openai or anthropic"));
            Wire::OpenAi
        }
    };
    let profile = env.optional(&named("PROFILE")).and_then(|name| {
        let profile = Profile::named(name.trim());
        if profile.is_none() {
            let names = Profile::names().collect::<Vec<_>>().join(", ");
            env.faults
                .push(format!("{prefix}PROFILE must be one of {names}; without it the address decides"));
        }
        profile
    });
    let key_secret = env.optional(&named("API_KEY_SECRET_ARN"));
    if key_secret.is_some() && env.optional(&named("API_KEY")).is_some() {
        env.faults
            .push(format!("{prefix}API_KEY and {prefix}API_KEY_SECRET_ARN are both set; set one of them"));
    }
    let base_url = env.required(
        &named("BASE_URL"),
        "set the provider's URL up to before /chat/completions or /messages, such as https://api.example.com/v1",
    );
    let model = env.required(&named("NAME"), "set the model's name as the provider spells it");
    let api_key = Secret::new(env.or(&named("API_KEY"), "").trim());
    let base_url = base_url.and_then(|text| match url::Url::parse(text.trim()) {
        Ok(url) if matches!(url.scheme(), "http" | "https") && url.has_host() => Some(text.trim().to_owned()),
        _ => {
            env.faults.push(format!("{prefix}BASE_URL must be an http or https URL"));
            None
        }
    });
    let (base_url, model) = (base_url?, model?);
    let price = prices.of(&model);
    Some(Provider { wire, endpoint: Endpoint { base_url, model, api_key, profile, price }, key_secret })
}
