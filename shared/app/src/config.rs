//! The environment, read and checked once at start; every fault is reported together.

mod callers;
mod model;
mod prices;

use std::path::PathBuf;
use std::time::Duration;

use domain::budget::BudgetLimits;

pub use callers::{AuthMode, CallersConfig};
pub use model::{ModelConfig, Provider};

/// What a function needs; what it does not need is not required of its environment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Needs {
    pub model: ModelUse,
    pub callers: bool,
}

/// What a function does with the model provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelUse {
    Calls,
    /// Tells whether it can be used; a faulty configuration is what it has to tell, and stops nothing.
    Reports,
    Nothing,
}

impl Needs {
    pub const CHAT: Self = Self { model: ModelUse::Calls, callers: true };
    pub const API: Self = Self { model: ModelUse::Reports, callers: true };
    pub const MAINTENANCE: Self = Self { model: ModelUse::Nothing, callers: false };
}

#[derive(Debug, Clone)]
pub struct Config {
    pub model: Option<ModelConfig>,
    /// What is wrong with the model's configuration, where that is only reported.
    pub model_faults: Vec<String>,
    pub run: RunConfig,
    pub stores: StoresConfig,
    pub callers: Option<CallersConfig>,
    /// The file that declares log sources and business databases; none means that only runbooks can be searched.
    pub data_sources: Option<PathBuf>,
    /// How long the ledger keeps ended runs.
    pub retention: Duration,
    /// In a real Lambda sandbox, where a line on standard output may be a metric.
    pub on_lambda: bool,
}

#[derive(Debug, Clone)]
pub struct RunConfig {
    pub timeout: Duration,
    pub finalise_reserve: Duration,
    pub budget: BudgetLimits,
    pub on_disconnect: OnDisconnect,
}

/// What becomes of a run whose client left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnDisconnect {
    /// It completes and is stored: phones lose networks.
    Finish,
    Cancel,
}

#[derive(Debug, Clone)]
pub struct StoresConfig {
    pub database_url: String,
    /// The secret with the database's user and password, where `database_url` has none.
    pub database_secret: Option<String>,
    pub canonical_store: String,
    pub run_control_table: String,
    /// `AWS_ENDPOINT_URL_DYNAMODB`, as the SDK spells it.
    pub dynamodb_endpoint: Option<String>,
}

/// Everything that is wrong with the environment, one line each.
#[derive(Debug, thiserror::Error)]
#[error("the configuration has {} fault(s):\n  {}", faults.len(), faults.join("\n  "))]
pub struct InvalidConfig {
    pub faults: Vec<String>,
}

impl Config {
    #[expect(clippy::disallowed_methods, reason = "the one reader of the environment")]
    pub fn from_env(needs: Needs) -> Result<Self, InvalidConfig> {
        Self::read(needs, &|name| std::env::var(name).ok())
    }

    /// Reads from any source of variables.
    pub fn read(needs: Needs, get: &dyn Fn(&str) -> Option<String>) -> Result<Self, InvalidConfig> {
        let mut env = Reader { get, faults: Vec::new() };
        let mut model_env = Reader { get, faults: Vec::new() };
        let model = match needs.model {
            ModelUse::Calls => model::read(&mut env),
            // A function that only tells of the model can do without it.
            ModelUse::Reports if env.optional("MODEL_BASE_URL").is_some() => model::read(&mut model_env),
            ModelUse::Reports | ModelUse::Nothing => None,
        };
        // What only a run needs is neither asked of the other functions nor set for them.
        let runs = needs.model == ModelUse::Calls;
        let mut unread = Reader { get: &|_| None, faults: Vec::new() };
        let config = Self {
            model,
            model_faults: model_env.faults,
            run: run(if runs { &mut env } else { &mut unread }),
            stores: StoresConfig {
                database_url: env.or("DATABASE_URL", "sqlite://.local/superbiz.db"),
                database_secret: env.optional("DATABASE_SECRET_ARN"),
                canonical_store: env.or("CANONICAL_STORE", "file://.local/canonical"),
                run_control_table: env.or("RUN_CONTROL_TABLE", "superbiz-run-control"),
                dynamodb_endpoint: env.optional("AWS_ENDPOINT_URL_DYNAMODB"),
            },
            callers: if needs.callers { callers::read(&mut env) } else { None },
            data_sources: if runs { env.optional("DATA_SOURCES").map(PathBuf::from) } else { None },
            on_lambda: on_lambda(&env),
            retention: retention(if needs.callers { &mut unread } else { &mut env }),
        };
        if env.faults.is_empty() { Ok(config) } else { Err(InvalidConfig { faults: env.faults }) }
    }
}

struct Reader<'a> {
    get: &'a dyn Fn(&str) -> Option<String>,
    faults: Vec<String>,
}

impl Reader<'_> {
    /// Set and not blank.
    fn optional(&self, name: &str) -> Option<String> {
        (self.get)(name).filter(|value| !value.trim().is_empty())
    }

    fn or(&self, name: &str, default: &str) -> String {
        self.optional(name).unwrap_or_else(|| default.to_owned())
    }

    fn required(&mut self, name: &str, right: &str) -> Option<String> {
        let value = self.optional(name);
        if value.is_none() {
            self.faults.push(format!("{name} is not set; {right}"));
        }
        value
    }

    /// A whole number of at least `least`.
    fn number(&mut self, name: &str, default: u64, least: u64) -> u64 {
        let Some(text) = self.optional(name) else {
            return default;
        };
        match text.trim().parse() {
            Ok(number) if number >= least => number,
            _ => {
                self.faults.push(format!("{name} must be a whole number of at least {least}"));
                default
            }
        }
    }

    fn seconds(&mut self, name: &str, default: u64) -> Duration {
        Duration::from_secs(self.number(name, default, 1))
    }

    /// `true` or `false`; not set is false.
    fn flag(&mut self, name: &str) -> bool {
        match self.or(name, "false").trim() {
            "true" => true,
            "false" => false,
            _ => {
                self.faults.push(format!("{name} must be true or false"));
                false
            }
        }
    }

    fn small(&mut self, name: &str, default: u32) -> u32 {
        u32::try_from(self.number(name, default.into(), 1)).unwrap_or(u32::MAX)
    }
}

/// Variables that real Lambda sets and local emulators don't.
const LAMBDA_MARKS: [&str; 3] = ["AWS_EXECUTION_ENV", "AWS_LAMBDA_INITIALIZATION_TYPE", "LAMBDA_TASK_ROOT"];

fn on_lambda(env: &Reader<'_>) -> bool {
    LAMBDA_MARKS.iter().any(|mark| env.optional(mark).is_some())
}

fn run(env: &mut Reader<'_>) -> RunConfig {
    RunConfig {
        timeout: env.seconds("RUN_TIMEOUT_SECONDS", 110),
        finalise_reserve: env.seconds("FINALISE_RESERVE_SECONDS", 5),
        budget: budget(env),
        on_disconnect: on_disconnect(env),
    }
}

fn retention(env: &mut Reader<'_>) -> Duration {
    Duration::from_secs(env.number("RETENTION_DAYS", 90, 1).saturating_mul(24 * 60 * 60))
}

fn budget(env: &mut Reader<'_>) -> BudgetLimits {
    let default = BudgetLimits::default();
    BudgetLimits {
        model_calls: env.small("BUDGET_MODEL_CALLS", default.model_calls),
        tool_calls: env.small("BUDGET_TOOL_CALLS", default.tool_calls),
        input_tokens: env.number("BUDGET_INPUT_TOKENS", default.input_tokens, 1),
        output_tokens: env.number("BUDGET_OUTPUT_TOKENS", default.output_tokens, 1),
        tool_bytes: env.number("BUDGET_TOOL_BYTES", default.tool_bytes, 1),
    }
}

fn on_disconnect(env: &mut Reader<'_>) -> OnDisconnect {
    match env.or("ON_DISCONNECT", "finish").as_str() {
        "finish" => OnDisconnect::Finish,
        "cancel" => OnDisconnect::Cancel,
        _ => {
            env.faults.push("ON_DISCONNECT must be finish or cancel".to_owned());
            OnDisconnect::Finish
        }
    }
}

#[cfg(test)]
#[path = "config_tests.rs"]
mod tests;
