//! Who may call, and how much.

use agent::ports::run_control::CallerLimits;
use edge::auth::{InvalidProvider, Provider};

use super::Reader;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallersConfig {
    pub mode: AuthMode,
    /// Of a caller for whom nothing else is said.
    pub quota: CallerLimits,
}

/// How callers are told apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AuthMode {
    /// Everybody is the same caller.
    Anonymous,
    ApiKey,
    Oidc(Provider),
}

pub(super) fn read(env: &mut Reader<'_>) -> Option<CallersConfig> {
    let default = CallerLimits::default();
    let quota = CallerLimits {
        concurrent_runs: env.small("CALLER_CONCURRENT_RUNS", default.concurrent_runs),
        runs_per_minute: env.small("CALLER_RUNS_PER_MINUTE", default.runs_per_minute),
        tokens_per_day: env.number("CALLER_TOKENS_PER_DAY", default.tokens_per_day, 1),
    };
    Some(CallersConfig { mode: mode(env)?, quota })
}

fn mode(env: &mut Reader<'_>) -> Option<AuthMode> {
    let on_lambda = super::on_lambda(env);
    let allowed = env.flag("ALLOW_ANONYMOUS");
    let right = "set api_key, oidc, or none for local development";
    let text = env.required("AUTH_MODE", right)?;
    match text.trim() {
        "none" if on_lambda && !allowed => {
            env.faults.push("AUTH_MODE=none is refused on Lambda; it would open the service to everybody (ALLOW_ANONYMOUS=true to do that)".to_owned());
            None
        }
        "none" => Some(AuthMode::Anonymous),
        "api_key" => Some(AuthMode::ApiKey),
        "oidc" => {
            let part = |name| env.optional(name).map(|text| text.trim().to_owned()).unwrap_or_default();
            match Provider::new(&part("OIDC_ISSUER"), &part("OIDC_AUDIENCE")) {
                Ok(provider) => Some(AuthMode::Oidc(provider)),
                Err(fault @ (InvalidProvider::Issuer | InvalidProvider::Audience)) => {
                    env.faults.push(fault.to_string());
                    None
                }
            }
        }
        _ => {
            env.faults.push("AUTH_MODE must be api_key, oidc or none".to_owned());
            None
        }
    }
}
