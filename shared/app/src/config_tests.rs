//! Defaults, and every fault at once.

use super::*;

fn read(needs: Needs, pairs: &[(&str, &str)]) -> Result<Config, InvalidConfig> {
    Config::read(needs, &|name| {
        pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
    })
}

const LOCAL: [(&str, &str); 3] =
    [("MODEL_BASE_URL", "http://127.0.0.1:1/v1"), ("MODEL_NAME", "m"), ("AUTH_MODE", "none")];

#[test]
fn the_defaults_are_the_contracts() {
    let config = read(Needs::CHAT, &LOCAL).unwrap();
    assert_eq!(config.run.budget, BudgetLimits::default());
    assert_eq!((config.run.timeout.as_secs(), config.run.finalise_reserve.as_secs()), (110, 5));
    assert_eq!(config.model.unwrap().timeout.as_secs(), 60);
    assert_eq!(config.stores.database_url, "sqlite://.local/superbiz.db");
    assert_eq!(config.run.on_disconnect, OnDisconnect::Finish);
}

#[test]
fn both_wires_can_be_chosen() {
    for (name, wire) in [("openai", llm::Wire::OpenAi), ("anthropic", llm::Wire::Anthropic)] {
        let pairs = [LOCAL.as_slice(), &[("MODEL_WIRE", name)]].concat();
        assert_eq!(read(Needs::CHAT, &pairs).unwrap().model.unwrap().first.wire, wire);
    }
}

#[test]
fn a_second_provider_is_whole_or_a_fault() {
    assert!(read(Needs::CHAT, &LOCAL).unwrap().model.unwrap().fallback.is_none());
    let second = [
        ("MODEL_FALLBACK_BASE_URL", "https://b.example/v1"),
        ("MODEL_FALLBACK_NAME", "gpt-4.1-mini"),
        ("MODEL_FALLBACK_PROFILE", "litellm"),
    ];
    let config = read(Needs::CHAT, &[LOCAL.as_slice(), &second].concat()).unwrap().model.unwrap();
    let fallback = config.fallback.unwrap().endpoint;
    assert_eq!(fallback.profile.map(llm::Profile::name), Some("litellm"));
    assert!(fallback.price.is_some() && !config.fallback_in_guards);
    for half in [&second[..1], &second[1..2], &[("MODEL_FALLBACK_API_KEY", "sk-fake")]] {
        let faults = read(Needs::CHAT, &[LOCAL.as_slice(), half].concat()).unwrap_err().to_string();
        assert!(faults.contains("MODEL_FALLBACK_"), "{faults}");
    }
}

#[test]
fn an_unknown_profile_is_told_with_the_known_ones() {
    let pairs =
        [LOCAL.as_slice(), &[("MODEL_PROFILE", "Azure OpenAI"), ("MODEL_PRICES", "/nonexistent")]].concat();
    let faults = read(Needs::CHAT, &pairs).unwrap_err().to_string();
    assert!(faults.contains("MODEL_PROFILE must be one of generic, openai, azure"), "{faults}");
    assert!(faults.contains("MODEL_PRICES: the file can't be read"), "{faults}");
}

#[test]
fn all_faults_are_told_together() {
    let pairs = [
        ("MODEL_WIRE", "smoke-signals"),
        ("MODEL_BASE_URL", "ftp://x"),
        ("RUN_TIMEOUT_SECONDS", "soon"),
        ("BUDGET_TOOL_CALLS", "0"),
        ("ON_DISCONNECT", "panic"),
        ("AUTH_MODE", "maybe"),
    ];
    let faults = read(Needs::CHAT, &pairs).unwrap_err().faults.join("\n");
    for name in [
        "MODEL_WIRE",
        "MODEL_BASE_URL",
        "MODEL_NAME",
        "RUN_TIMEOUT_SECONDS",
        "BUDGET_TOOL_CALLS",
        "ON_DISCONNECT",
        "AUTH_MODE",
    ] {
        assert!(faults.contains(name), "{name} missing from:\n{faults}");
    }
}

#[test]
fn a_deployed_function_without_a_working_mode_refuses_to_start() {
    for mark in ["AWS_EXECUTION_ENV", "AWS_LAMBDA_INITIALIZATION_TYPE", "LAMBDA_TASK_ROOT"] {
        let deployed = [LOCAL.as_slice(), &[(mark, "AWS_Lambda_provided.al2023")]].concat();
        assert!(read(Needs::CHAT, &deployed).is_err(), "{mark}");
        let allowed = [deployed.as_slice(), &[("ALLOW_ANONYMOUS", "true")]].concat();
        assert!(read(Needs::CHAT, &allowed).is_ok());
    }
    assert!(read(Needs::API, &[]).is_err(), "no mode at all");
    let oidc = |issuer: &str, audience: &str| {
        read(Needs::API, &[("AUTH_MODE", "oidc"), ("OIDC_ISSUER", issuer), ("OIDC_AUDIENCE", audience)])
    };
    assert!(oidc("", "a").unwrap_err().to_string().contains("OIDC_ISSUER must be"));
    assert!(oidc("https://issuer.example/", "").unwrap_err().to_string().contains("OIDC_AUDIENCE must be"));
    assert!(matches!(oidc("https://issuer.example/", "a").unwrap().callers.unwrap().mode, AuthMode::Oidc(_)));
}

#[test]
fn callers_have_limits_that_can_be_set() {
    let pairs = [("AUTH_MODE", "api_key"), ("CALLER_TOKENS_PER_DAY", "7"), ("LAMBDA_TASK_ROOT", "/var/task")];
    let callers = read(Needs::API, &pairs).unwrap().callers.unwrap();
    assert_eq!((callers.mode, callers.quota.tokens_per_day), (AuthMode::ApiKey, 7));
    assert_eq!(callers.quota.concurrent_runs, 10);
    let faults = read(Needs::API, &[("AUTH_MODE", "none"), ("CALLER_RUNS_PER_MINUTE", "0")]).unwrap_err();
    assert!(faults.to_string().contains("CALLER_RUNS_PER_MINUTE must be a whole number of at least 1"));
}

#[test]
fn what_a_function_does_not_need_is_not_asked_of_it() {
    assert!(read(Needs::API, &[("AUTH_MODE", "none")]).is_ok());
    assert!(read(Needs::MAINTENANCE, &[]).is_ok());
}

#[test]
fn a_secret_never_shows() {
    let pairs = [LOCAL.as_slice(), &[("MODEL_API_KEY", "sk-fake-0000")]].concat();
    assert!(!format!("{:?}", read(Needs::CHAT, &pairs).unwrap()).contains("sk-fake"));
}

/// `infra/environment.json` tells the stack which variables each function reads. `UPDATE_ENVIRONMENT=1` writes it anew.
#[test]
#[expect(clippy::disallowed_methods, reason = "a test's own switch")]
fn the_stack_is_told_every_variable_that_is_read() {
    use std::collections::{BTreeMap, BTreeSet};
    let names = |needs: Needs| -> Vec<String> {
        let seen = std::cell::RefCell::new(BTreeSet::from(["LOG_LEVEL".to_owned()]));
        // Some are looked at only where others are set.
        for mode in ["none", "api_key", "oidc"] {
            let _ = Config::read(needs, &|name| {
                seen.borrow_mut().insert(name.to_owned());
                match name {
                    "AUTH_MODE" => Some(mode.to_owned()),
                    "MODEL_BASE_URL" | "MODEL_FALLBACK_BASE_URL" => Some("https://x.example/v1".to_owned()),
                    "MODEL_API_KEY_SECRET_ARN" | "MODEL_FALLBACK_API_KEY_SECRET_ARN" => {
                        Some("arn".to_owned())
                    }
                    _ => None,
                }
            });
        }
        // What Lambda sets itself is not for the stack to set.
        let seen = seen.into_inner().into_iter();
        seen.filter(|name| !super::LAMBDA_MARKS.contains(&name.as_str())).collect()
    };
    let all = BTreeMap::from([
        ("chat", names(Needs::CHAT)),
        ("api", names(Needs::API)),
        ("maintenance", names(Needs::MAINTENANCE)),
    ]);
    let text = serde_json::to_string_pretty(&all).unwrap() + "\n";
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../infra/environment.json");
    if std::env::var("UPDATE_ENVIRONMENT").is_ok() {
        std::fs::write(&path, &text).unwrap();
    }
    assert_eq!(std::fs::read_to_string(&path).unwrap_or_default(), text, "run it with UPDATE_ENVIRONMENT=1");
}
