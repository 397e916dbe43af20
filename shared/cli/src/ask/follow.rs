//! A run followed to its end: one POST and its stream; when it is lost, the same POST again or the stored run.

use std::time::Duration;

use reqwest::Response;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::progress::Progress;
use crate::client::{Api, media_type};
use crate::exit::{Exit, Fault, Lost};
use crate::fields::{some_text, text};
use crate::sse::{Decoder, Event};

/// Times the question is sent again before any run is known.
const RESENDS: u32 = 3;
const FIRST_WAIT: Duration = Duration::from_millis(500);
const POLL: Duration = Duration::from_secs(2);
const MAX_POLL: Duration = Duration::from_secs(15);
/// Polls at the first pace before it slows down: most runs end within a minute.
const QUICK_POLLS: u32 = 30;
/// Errors in a row before polling gives up.
const MAX_ERRORS: u32 = 8;
/// No run lives longer than a function can (15 min).
const GIVE_UP: Duration = Duration::from_secs(16 * 60);

/// A run that has ended, from its stream or from the store.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Ended {
    pub run_id: String,
    pub session_id: String,
    pub status: String,
    /// `{intent, outcome, body}`
    pub content: Option<Value>,
    /// `{code, message, retryable}`
    pub failure: Option<Value>,
}

impl Ended {
    pub fn exit(&self) -> Exit {
        Exit::of_status(&self.status)
    }

    pub fn failure_code(&self) -> &str {
        self.failure.as_ref().map(|failure| text(failure, "code")).unwrap_or_default()
    }

    /// For `--json`: either `content` or `failure`.
    pub fn document(&self) -> Value {
        let mut document =
            json!({ "run_id": self.run_id, "session_id": self.session_id, "status": self.status });
        if let Some(fields) = document.as_object_mut() {
            let content = self.content.iter().map(|content| ("content", content));
            for (name, value) in content.chain(self.failure.iter().map(|failure| ("failure", failure))) {
                fields.insert(name.to_owned(), value.clone());
            }
        }
        document
    }

    /// A stored run, if it has ended.
    pub fn of_run(run: &Value) -> Option<Self> {
        let status = text(run, "status");
        if status.is_empty() || status == "RUNNING" {
            return None;
        }
        let whole = |name: &str| run.get(name).filter(|value| !value.is_null()).cloned();
        let content = whole("body")
            .map(|body| json!({ "intent": run.get("intent"), "outcome": run.get("outcome"), "body": body }));
        Some(Self {
            run_id: text(run, "run_id").to_owned(),
            session_id: text(run, "session_id").to_owned(),
            status: status.to_owned(),
            content,
            failure: whole("failure"),
        })
    }

    /// Takes one event; `true` when the stream has told everything.
    pub fn take(&mut self, event: &Event, progress: Option<&Progress>) -> Result<bool, Fault> {
        let unreadable = |_| Fault::broken("the event stream can't be read");
        let data: Value = serde_json::from_str(&event.data).map_err(unreadable)?;
        match event.name.as_str() {
            "metadata" => {
                self.run_id = text(&data, "run_id").to_owned();
                self.session_id = text(&data, "session_id").to_owned();
                progress.inspect(|progress| progress.began(&data));
            }
            "status" => {
                progress.inspect(|progress| progress.status(&data));
            }
            "content" => {
                self.status = text(&data, "outcome").to_owned();
                self.content = Some(without_run(data));
            }
            "failure" => {
                self.status = "FAILED".to_owned();
                self.failure = Some(without_run(data));
            }
            "done" => {
                self.status = text(&data, "status").to_owned();
                return Ok(true);
            }
            _ => {}
        }
        Ok(false)
    }
}

fn without_run(mut data: Value) -> Value {
    if let Some(fields) = data.as_object_mut() {
        fields.remove("run_id");
    }
    data
}

pub struct Follower<'a> {
    pub api: &'a Api,
    pub body: String,
    /// The same for every sending: the service starts one run for it, whatever is lost.
    pub key: String,
    pub retry: bool,
    pub progress: Progress,
    /// What is known of the run so far; its id is empty until the stream has named it.
    pub known: Ended,
}

impl Follower<'_> {
    pub async fn run(&mut self) -> Result<Ended, Fault> {
        let mut sent = 0;
        loop {
            sent += 1;
            let fault = match self.stream().await {
                Ok(()) => return Ok(self.known.clone()),
                Err(fault) => fault,
            };
            match &fault {
                // An earlier sending, whose answer was lost, started the run.
                Fault::Refused(problem) if problem.code == "RUN_IN_PROGRESS" && sent > 1 => {
                    let Some(run_id) = &problem.run_id else { return Err(fault) };
                    self.known.run_id.clone_from(run_id);
                    return self.poll().await;
                }
                // The outcome is committed before it is sent: only the farewell is missing.
                Fault::Lost { .. } if self.known.content.is_some() || self.known.failure.is_some() => {
                    return Ok(self.known.clone());
                }
                Fault::Lost { how: Lost::Broken, .. } if self.retry && !self.known.run_id.is_empty() => {
                    self.progress
                        .note(&format!("{fault}; the run goes on, and is asked after every few seconds"));
                    return self.poll().await;
                }
                Fault::Lost { how: Lost::Broken | Lost::Unexplained | Lost::Unreachable, .. }
                    if self.retry && sent <= RESENDS =>
                {
                    // Nobody was there at all: more likely a wrong address than a moment's trouble.
                    if matches!(&fault, Fault::Lost { how: Lost::Unreachable, .. }) && sent == 1 {
                        return Err(fault);
                    }
                    self.progress.note(&format!("{fault}; sending again (it can't start a second run)"));
                    sleep(FIRST_WAIT * 2_u32.pow(sent - 1)).await;
                }
                _ => return Err(self.with_hint(fault)),
            }
        }
    }

    async fn stream(&mut self) -> Result<(), Fault> {
        let response = self.api.chat(&self.body, &self.key).await?;
        let mut response = event_stream(self.api, response).await?;
        let mut decoder = Decoder::default();
        while let Some(chunk) = response.chunk().await.map_err(|error| self.api.lost(error))? {
            let events =
                decoder.push(&chunk).map_err(|_| Fault::broken("the event stream has an endless line"))?;
            for event in events {
                if self.known.take(&event, Some(&self.progress))? {
                    return Ok(());
                }
            }
        }
        Err(Fault::broken("the event stream broke off"))
    }

    /// Asks for the stored run until it has ended.
    async fn poll(&mut self) -> Result<Ended, Fault> {
        let since = Instant::now();
        let (mut errors, mut polls) = (0_u32, 0_u32);
        let mut last = None;
        while since.elapsed() < GIVE_UP {
            polls += 1;
            let mut wait = if polls <= QUICK_POLLS { POLL } else { POLL * 3 };
            match self.api.get(self.api.of_run(&self.known.run_id, &[])).await {
                Ok(run) => {
                    if let Some(ended) = Ended::of_run(&run) {
                        return Ok(ended);
                    }
                    if let Some(session) = some_text(&run, "session_id") {
                        session.clone_into(&mut self.known.session_id);
                    }
                    errors = 0;
                }
                Err(fault) => {
                    errors += 1;
                    let again = match &fault {
                        Fault::Refused(problem) => problem.status == 429 || problem.status >= 500,
                        Fault::Lost { how, .. } => *how != Lost::ForGood,
                        _ => false,
                    };
                    if !again || errors >= MAX_ERRORS {
                        return Err(self.with_hint(fault));
                    }
                    wait = (POLL * 2_u32.pow(errors)).min(MAX_POLL).max(retry_after(&fault));
                    last = Some(fault);
                }
            }
            sleep(wait).await;
        }
        Err(self.with_hint(last.unwrap_or_else(|| Fault::broken("the run has not ended for a long time"))))
    }

    /// How the run can be looked at later, where there is one.
    fn with_hint(&self, fault: Fault) -> Fault {
        let run = &self.known.run_id;
        match fault {
            Fault::Lost { text, how } if !run.is_empty() => {
                Fault::Lost { text: format!("{text}\n  see later how it ended: superbiz runs {run}"), how }
            }
            fault => fault,
        }
    }
}

fn retry_after(fault: &Fault) -> Duration {
    match fault {
        Fault::Refused(problem) => Duration::from_secs(problem.retry_after.unwrap_or(0).min(60)),
        _ => Duration::ZERO,
    }
}

/// The response, if it is an event stream.
pub async fn event_stream(api: &Api, response: Response) -> Result<Response, Fault> {
    let response = api.accepted(response).await?;
    match media_type(&response).as_str() {
        "text/event-stream" => Ok(response),
        kind => Err(api.not_ours(&format!("no event stream ({})", crate::plain::one_line(kind)))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(events: &[(&str, &str)]) -> (Ended, bool) {
        let mut ended = Ended::default();
        let mut done = false;
        for (name, data) in events {
            let event = Event { name: (*name).to_owned(), data: (*data).to_owned() };
            done = ended.take(&event, None).unwrap();
        }
        (ended, done)
    }

    #[test]
    fn stream_and_store_tell_the_same() {
        let (streamed, done) = take(&[
            ("metadata", r#"{"session_id":"s","run_id":"r","time_limit_ms":1}"#),
            ("status", r#"{"stage":"ROUTING"}"#),
            (
                "content",
                r#"{"run_id":"r","intent":"DIAGNOSIS","outcome":"FALLBACK","body":{"kind":"SAFE_FALLBACK"}}"#,
            ),
            ("done", r#"{"run_id":"r","status":"FALLBACK"}"#),
        ]);
        assert!(done);
        let stored = json!({ "run_id": "r", "session_id": "s", "status": "FALLBACK", "intent": "DIAGNOSIS", "outcome": "FALLBACK", "body": { "kind": "SAFE_FALLBACK" }, "failure": null });
        assert_eq!(Ended::of_run(&stored), Some(streamed.clone()));
        assert_eq!(streamed.exit(), Exit::Fallback);
        assert_eq!(
            streamed.document(),
            json!({ "run_id": "r", "session_id": "s", "status": "FALLBACK",
                "content": { "intent": "DIAGNOSIS", "outcome": "FALLBACK", "body": { "kind": "SAFE_FALLBACK" } } })
        );
        assert_eq!(Ended::of_run(&json!({ "status": "RUNNING" })), None);
    }

    #[test]
    fn a_failure_has_its_code() {
        let (ended, done) =
            take(&[("failure", r#"{"run_id":"r","code":"INTERNAL","message":"m","retryable":true}"#)]);
        assert_eq!((ended.failure_code(), ended.exit(), done), ("INTERNAL", Exit::Failed, false));
        assert_eq!(
            ended.document()["failure"],
            json!({ "code": "INTERNAL", "message": "m", "retryable": true })
        );
    }
}
