//! `keys`: API keys. A key is shown once, alone on stdout, so that it can go into a file and nowhere else.

use reqwest::Method;
use serde_json::{Value, json};

use crate::args::{CreateKey, Keys};
use crate::client::Api;
use crate::exit::{Exit, Fault};
use crate::fields::{joined, list, short_time, some_text, text};
use crate::page::Page;
use crate::plain::one_line;
use crate::screen::Screen;

pub async fn run(api: &Api, keys: &Keys, screen: Screen) -> Result<Exit, Fault> {
    match keys {
        Keys::Create(wanted) => create(api, wanted, screen).await,
        Keys::List => show(api, screen).await,
        Keys::Revoke(key) => {
            api.send(Method::DELETE, api.at(&["api", "keys", &key.id]), None).await?;
            done(screen, &json!({ "revoked": key.id }), &format!("revoked {}", one_line(&key.id)))
        }
    }
}

fn done(screen: Screen, document: &Value, line: &str) -> Result<Exit, Fault> {
    if screen.json {
        screen.document(document)?
    } else {
        screen.print(&format!("{line}\n"))?
    }
    Ok(Exit::Success)
}

async fn create(api: &Api, wanted: &CreateKey, screen: Screen) -> Result<Exit, Fault> {
    let scopes: Vec<&str> =
        wanted.scopes.iter().map(|scope| scope.trim()).filter(|scope| !scope.is_empty()).collect();
    let mut body = json!({ "caller": wanted.caller, "scopes": scopes });
    // What is left out is the service's to decide.
    let rest = [
        ("expires_at", wanted.expires_at.as_deref().map(Value::from)),
        ("concurrent_runs", wanted.concurrent_runs.map(Value::from)),
        ("runs_per_minute", wanted.runs_per_minute.map(Value::from)),
        ("tokens_per_day", wanted.tokens_per_day.map(Value::from)),
    ];
    if let Some(fields) = body.as_object_mut() {
        fields.extend(rest.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))));
    }
    let made = api.send(Method::POST, api.at(&["api", "keys"]), Some(&body)).await?;
    let Some(key) = some_text(&made, "key") else {
        return Err(api.not_ours("no key"));
    };
    if !screen.json {
        let (id, caller) = (text(&made, "id"), text(&made, "caller"));
        screen.note(&one_line(&format!(
            "key {id} for {caller}, may do {}; shown only now:",
            joined(&made, "scopes")
        )));
    }
    done(screen, &made, &one_line(key))
}

async fn show(api: &Api, screen: Screen) -> Result<Exit, Fault> {
    let keys = api.get(api.at(&["api", "keys"])).await?;
    if screen.json {
        screen.document(&keys)?;
        return Ok(Exit::Success);
    }
    let mut page = screen.page();
    table(&mut page, list(&keys, "keys"));
    screen.show(page)?;
    Ok(Exit::Success)
}

fn table(page: &mut Page, keys: &[Value]) {
    let time = |key: &Value, name: &str| some_text(key, name).map_or_else(|| "-".to_owned(), short_time);
    let row = |key: &Value| {
        let state = match (some_text(key, "revoked_at"), some_text(key, "expires_at")) {
            (Some(at), _) => format!("revoked {}", short_time(at)),
            (None, Some(at)) => format!("until {}", short_time(at)),
            (None, None) => "valid".to_owned(),
        };
        vec![
            text(key, "id").to_owned(),
            text(key, "caller").to_owned(),
            joined(key, "scopes"),
            time(key, "created_at"),
            state,
        ]
    };
    page.table(&["id", "caller", "scopes", "created", "state"], &keys.iter().map(row).collect::<Vec<_>>());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::Paint;

    #[test]
    fn a_list_of_keys() {
        let mut page = Page::new(100, Paint(false));
        table(
            &mut page,
            &[
                json!({ "id": "k1", "caller": "ci", "scopes": ["chat", "documents:write"], "created_at": "2026-12-01T01:00:00.5Z", "revoked_at": null }),
                json!({ "id": "k2", "caller": "ops", "scopes": ["chat"], "created_at": "2026-11-01T01:00:00Z", "revoked_at": "2026-11-02T00:00:00Z" }),
            ],
        );
        assert_eq!(
            page.into_text(),
            "  id  caller  scopes                 created               state
  k1  ci      chat, documents:write  2026-12-01T01:00:00Z  valid
  k2  ops     chat                   2026-11-01T01:00:00Z  revoked 2026-11-02T00:00:00Z
"
        );
    }
}
