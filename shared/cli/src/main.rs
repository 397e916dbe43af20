//! `superbiz`, the terminal client of the HTTP API: arguments to one command, its result to an exit code.

mod args;
mod ask;
mod cause;
mod client;
mod docs;
mod environment;
mod evidence;
mod exit;
mod feedback;
mod fields;
mod health;
mod keys;
mod page;
mod plain;
mod quality;
mod refusal;
mod report;
mod runs;
mod screen;
mod sse;
mod trace;
mod withheld;

use std::process::ExitCode;

use args::{Cli, Command};
use client::Api;
use exit::{Exit, Fault, Lost};
use screen::Screen;
use serde_json::json;

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let cli = match Cli::read(std::env::args_os()) {
        Ok(cli) => cli,
        Err(told) => {
            let _ = told.print();
            return if told.use_stderr() { Exit::Usage.into() } else { Exit::Success.into() };
        }
    };
    let screen = Screen::open(&cli);
    match run(cli, screen).await {
        Ok(exit) => exit.into(),
        Err(fault) => {
            tell(&fault, screen);
            fault.exit().into()
        }
    }
}

async fn run(cli: Cli, screen: Screen) -> Result<Exit, Fault> {
    let key = environment::key(cli.key_file.as_deref(), cli.surroundings.api_key)?;
    let api = Api::new(&environment::url(cli.url), key.as_deref())?;
    if api.tells_key() {
        screen.note("warning: the key crosses the network unprotected; use https://");
    }
    let done = command(&api, &cli.command, screen).await;
    if let Err(fault @ Fault::Lost { how: Lost::Unexplained, .. }) = &done {
        tell(fault, screen);
        health::tell(&api, screen).await;
        return Ok(fault.exit());
    }
    done
}

async fn command(api: &Api, command: &Command, screen: Screen) -> Result<Exit, Fault> {
    match command {
        Command::Ask(ask) => ask::run(api, ask, screen).await,
        Command::Runs(runs) => runs::run(api, runs, screen).await,
        Command::Trace(of) => trace::run(api, &of.run, screen).await,
        Command::Evidence(of) => evidence::run(api, &of.run, screen).await,
        Command::Quality(wanted) => quality::run(api, wanted, screen).await,
        Command::Feedback(feedback) => feedback::run(api, feedback, screen).await,
        Command::Docs(docs) => docs::run(api, docs, screen).await,
        Command::Keys(keys) => keys::run(api, keys, screen).await,
    }
}

/// A fault in words on stderr; for programs a refusal is on stdout too, as the service sent it.
fn tell(fault: &Fault, screen: Screen) {
    if fault.is_closed_pipe() {
        return;
    }
    screen.note(&format!("superbiz: {}", plain::plain(&fault.to_string())));
    if let (true, Fault::Refused(problem)) = (screen.json, fault)
        && let Err(fault) = screen.document(&json!({ "problem": problem.document }))
    {
        screen.note(&format!("superbiz: {fault}"));
    }
}
