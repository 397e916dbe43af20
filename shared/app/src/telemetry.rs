//! Logs: JSON lines on stdout in Lambda, readable text on a terminal.

use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;

/// Installs the process's one subscriber. `LOG_LEVEL` is error, warn, info, debug or trace; dependencies stay at
/// `warn` whatever it says, because their debug output may hold what ours never does.
#[expect(
    clippy::disallowed_methods,
    reason = "the log level must be known before the configuration's faults can be logged"
)]
pub fn init() {
    let level = std::env::var("LOG_LEVEL").unwrap_or_default();
    let level = level.trim().to_ascii_lowercase();
    let level = if matches!(level.as_str(), "error" | "warn" | "info" | "debug" | "trace") {
        level
    } else {
        "info".to_owned()
    };
    let ours = ["agent", "api", "app", "chat", "domain", "edge", "llm", "maintenance", "stores", "tools"];
    let directives: Vec<String> = ours.iter().map(|name| format!("{name}={level}")).collect();
    let filter = EnvFilter::new(format!("warn,{}", directives.join(",")));
    let subscriber = tracing_subscriber::fmt().with_env_filter(filter);
    if std::io::stdout().is_terminal() {
        subscriber.compact().with_target(false).init();
    } else {
        subscriber.json().flatten_event(true).with_current_span(false).with_span_list(false).init();
    }
}
