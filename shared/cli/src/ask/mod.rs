//! `ask`: one question or alert, followed to its end; Ctrl-C cancels the run.

mod follow;
mod progress;
mod question;
mod raw;

use std::time::Duration;

use reqwest::Method;
use serde_json::Value;
use tokio::time::timeout;
use uuid::Uuid;

pub use follow::Ended;
use follow::Follower;
use progress::Progress;

use crate::args::Ask;
use crate::client::Api;
use crate::exit::{Exit, Fault};
use crate::health;
use crate::page::Page;
use crate::plain::one_line;
use crate::report;
use crate::screen::Screen;
use crate::withheld;

/// How long a person who wants to leave waits for the cancelling.
const CANCEL_TIME: Duration = Duration::from_secs(5);

pub async fn run(api: &Api, ask: &Ask, screen: Screen) -> Result<Exit, Fault> {
    if ask.raw && screen.json {
        return Err(Fault::usage("--raw prints the stream as it is; it can't be --json as well"));
    }
    let body = question::body(ask)?;
    let key = Uuid::new_v4().to_string();
    if ask.raw {
        let mut known = Ended::default();
        let printed = or_interrupt(raw::print(api, &body, &key, screen, &mut known)).await;
        return match printed {
            Some(printed) => {
                explain(api, &known, screen).await;
                printed
            }
            None => Ok(cancel(api, &known.run_id, screen).await),
        };
    }
    let (progress, retry) = (Progress::new(screen), !ask.no_retry);
    let mut follower = Follower { api, body, key, retry, progress, known: Ended::default() };
    match or_interrupt(follower.run()).await {
        Some(ended) => tell(api, &ended?, screen).await,
        None => Ok(cancel(api, &follower.known.run_id, screen).await),
    }
}

/// Nothing when Ctrl-C came first.
async fn or_interrupt<T>(work: impl Future<Output = T>) -> Option<T> {
    tokio::select! {
        result = work => Some(result),
        Ok(()) = tokio::signal::ctrl_c() => None,
    }
}

async fn tell(api: &Api, ended: &Ended, screen: Screen) -> Result<Exit, Fault> {
    if screen.json {
        screen.document(&ended.document())?;
    } else {
        screen.note("");
        let mut page = screen.page();
        result(&mut page, ended);
        screen.show(page)?;
    }
    explain(api, ended, screen).await;
    Ok(ended.exit())
}

/// A model that can't be used is an operator's matter: readiness says what is wrong with it.
async fn explain(api: &Api, ended: &Ended, screen: Screen) {
    if ended.failure_code() == "MODEL_UNAVAILABLE" {
        // Whoever waits for it no longer may leave; the outcome is told.
        let _ = or_interrupt(health::tell(api, screen)).await;
    }
}

/// The released body or the failure of a run.
pub fn result(page: &mut Page, ended: &Ended) {
    if let Some(content) = &ended.content {
        report::body(page, content.get("body").unwrap_or(&Value::Null));
    }
    if let Some(failure) = &ended.failure {
        withheld::failure(page, failure);
    }
    if ended.content.is_none() && ended.failure.is_none() {
        page.heading(&format!("{}, and nothing more is known", ended.status));
    }
}

/// Asks the service to stop the run that the person no longer waits for.
async fn cancel(api: &Api, run: &str, screen: Screen) -> Exit {
    if run.is_empty() {
        screen.note("interrupted before the service named a run; if one began, it ends by itself");
        return Exit::Interrupted;
    }
    screen.note(&format!("cancelling run {} …", one_line(run)));
    let asked = api.send(Method::POST, api.of_run(run, &["cancel"]), None);
    let said = match or_interrupt(timeout(CANCEL_TIME, asked)).await {
        Some(Ok(Ok(_))) => "it stops at its next step".to_owned(),
        Some(Ok(Err(fault))) => format!("it could not be cancelled: {fault}"),
        Some(Err(_)) => "the service did not confirm it in time".to_owned(),
        None => "left without confirmation".to_owned(),
    };
    screen.note(&said);
    Exit::Interrupted
}
