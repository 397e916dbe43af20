//! What the service says of its dependencies, for the operator whose run could not be served.

use serde_json::Value;

use crate::client::Api;
use crate::fields::{list, some_text, text};
use crate::plain::one_line;
use crate::screen::Screen;

/// Tells on stderr which dependencies are unavailable, and why; nothing where the service can't say.
pub async fn tell(api: &Api, screen: Screen) {
    if let Some(ready) = api.ready().await {
        unavailable(&ready).iter().for_each(|line| screen.note(line));
    }
}

fn unavailable(ready: &Value) -> Vec<String> {
    let bad = list(ready, "dependencies").iter().filter(|entry| text(entry, "status") != "ok");
    let line = |entry: &Value| {
        let name = some_text(entry, "name").unwrap_or("a dependency");
        let detail = some_text(entry, "detail").map(|detail| format!(": {detail}")).unwrap_or_default();
        one_line(&format!("{name} is unavailable{detail}"))
    };
    bad.map(line).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_unavailable_dependency_with_its_reason() {
        let ready = json!({ "status": "unavailable", "dependencies": [
            { "name": "ledger", "status": "ok", "latency_ms": 3 },
            { "name": "run_control", "status": "unavailable", "latency_ms": 3000 },
            { "name": "model", "status": "unavailable", "detail": "401 from the\u{1b}[1m\nprovider" } ] });
        assert_eq!(
            unavailable(&ready),
            ["run_control is unavailable", "model is unavailable: 401 from the provider"]
        );
        assert!(unavailable(&json!({ "status": "ok", "dependencies": [] })).is_empty());
        assert!(unavailable(&json!("down")).is_empty());
    }
}
