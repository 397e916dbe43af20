//! `make dev`: a whole installation on this machine. Embedded stores, a scenario that happens now, the offline model (or the
//! one that MODEL_BASE_URL names), and the real functions under `cargo lambda watch`.
//!
//! `dev [--port N] [--scenario NAME] [--emulator lambda|testkit] [--run COMMAND…]`; `--run` serves only for that command,
//! which finds the address in BASE_URL, and exits with its status.

use std::io::Write;
use std::path::Path;
use std::process::ExitStatus;
use std::time::Duration;

use anyhow::{Context, bail};
use testkit::emulator::{DeadlineHeader, Emulator, EmulatorConfig, function_binary};
use testkit::local::{LocalStack, ModelAddress};
use testkit::provider::offline;
use testkit::scenario::Scenario;
use tokio::net::TcpListener;
use tokio::process::{Child, Command};
use tokio::signal::unix::{SignalKind, signal};

struct Options {
    port: u16,
    scenario: String,
    faithful: bool,
    run: Vec<String>,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let options = read(std::env::args().skip(1))?;
    let folder = tempfile::Builder::new().prefix("dev-").tempdir_in(local_folder()?)?;
    let stack = LocalStack::start(folder.path(), &Scenario::load(&options.scenario)?).await?;
    let offline = if variable("MODEL_BASE_URL").is_none() { Some(offline::serve(0).await?) } else { None };
    let model = match &offline {
        Some(server) => {
            ModelAddress { base_url: server.base_url(), name: offline::MODEL_NAME.to_owned(), api_key: None }
        }
        None => ModelAddress {
            base_url: variable("MODEL_BASE_URL").unwrap_or_default(),
            name: variable("MODEL_NAME").context("MODEL_BASE_URL is set; set MODEL_NAME too")?,
            api_key: variable("MODEL_API_KEY"),
        },
    };
    let served = if options.faithful {
        testkit_emulator(&options, &stack, &model).await?
    } else {
        cargo_lambda(&options, &stack, &model).await?
    };
    let status = if options.run.is_empty() {
        announce(&served, &stack, &model)?;
        served.until_ended().await?;
        None
    } else {
        Some(run(&options.run, &served, &stack).await?)
    };
    served.stop().await;
    match status {
        Some(status) if !status.success() => bail!("{} ended with {status}", options.run.join(" ")),
        _ => Ok(()),
    }
}

fn read(mut arguments: impl Iterator<Item = String>) -> anyhow::Result<Options> {
    let mut options =
        Options { port: 9000, scenario: "payment-timeout".to_owned(), faithful: false, run: Vec::new() };
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().with_context(|| format!("{argument} needs a value"));
        match argument.as_str() {
            "--port" => options.port = value()?.parse().context("--port takes a number")?,
            "--scenario" => options.scenario = value()?,
            "--emulator" => options.faithful = value()? == "testkit",
            "--run" => options.run = arguments.by_ref().collect(),
            _ => {
                bail!("usage: dev [--port N] [--scenario NAME] [--emulator lambda|testkit] [--run COMMAND…]")
            }
        }
    }
    Ok(options)
}

#[expect(clippy::disallowed_methods, reason = "the launcher hands MODEL_* on to the functions")]
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.trim().is_empty())
}

fn local_folder() -> anyhow::Result<std::path::PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.local");
    std::fs::create_dir_all(&folder)?;
    Ok(folder.canonicalize()?)
}

/// The running functions.
struct Served {
    url: String,
    by: By,
}

enum By {
    CargoLambda(Box<tokio::sync::Mutex<Child>>),
    Testkit { emulator: Emulator },
}

impl Served {
    /// Returns on an interrupt, or with an error when the emulator ended by itself.
    async fn until_ended(&self) -> anyhow::Result<()> {
        let (mut interrupt, mut terminate) =
            (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
        let child_ended = async {
            match &self.by {
                By::CargoLambda(child) => child.lock().await.wait().await.map(Some),
                By::Testkit { .. } => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = interrupt.recv() => Ok(()),
            _ = terminate.recv() => Ok(()),
            status = child_ended => bail!("cargo lambda watch ended: {:?}", status?),
        }
    }

    /// Ends what was started here, by pid.
    async fn stop(self) {
        let child = match self.by {
            By::CargoLambda(child) => child,
            // What the functions logged, as `cargo lambda watch` shows it while they run.
            By::Testkit { emulator } => {
                let mut out = std::io::stderr().lock();
                for line in emulator.stop().lines() {
                    let _ = writeln!(out, "{}", line.text);
                }
                return;
            }
        };
        let mut child = child.into_inner();
        if let Some(pid) = child.id().and_then(|id| rustix::process::Pid::from_raw(id.cast_signed())) {
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
        }
        let _ = tokio::time::timeout(Duration::from_secs(5), child.wait()).await;
    }
}

async fn testkit_emulator(
    options: &Options,
    stack: &LocalStack,
    model: &ModelAddress,
) -> anyhow::Result<Served> {
    let function = |name: &str| anyhow::Ok(stack.function(name, function_binary(name)?, model, &[]));
    let mut config = EmulatorConfig::new(vec![function("chat")?, function("api")?]);
    config.deadline = DeadlineHeader::Real;
    let listener = TcpListener::bind(("127.0.0.1", options.port)).await.context("the port is taken")?;
    let emulator = Emulator::start_on(listener, config)?;
    Ok(Served { url: emulator.url(), by: By::Testkit { emulator } })
}

async fn cargo_lambda(options: &Options, stack: &LocalStack, model: &ModelAddress) -> anyhow::Result<Served> {
    let port = options.port.to_string();
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut command = Command::new("cargo");
    command.args(["lambda", "watch", "--quiet", "-A", "127.0.0.1", "-P", &port]).current_dir(workspace);
    command.envs(stack.environment(model)).kill_on_drop(true);
    let child = command.spawn().context("cargo lambda can't be started; `make dev` installs it")?;
    let url = format!("http://127.0.0.1:{port}");
    let served = Served { url: url.clone(), by: By::CargoLambda(Box::new(tokio::sync::Mutex::new(child))) };
    // Functions are built and started by their first request.
    for (method, path) in [(reqwest::Method::GET, "/api/health"), (reqwest::Method::OPTIONS, "/api/chat")] {
        wait_for(&served, method, &format!("{url}{path}")).await?;
    }
    Ok(served)
}

async fn wait_for(served: &Served, method: reqwest::Method, url: &str) -> anyhow::Result<()> {
    let client = testkit::sse::loopback_client()?;
    for _ in 0..600 {
        if let By::CargoLambda(child) = &served.by
            && let Some(status) = child.lock().await.try_wait()?
        {
            bail!("cargo lambda watch ended: {status}");
        }
        let answer = client.request(method.clone(), url).timeout(Duration::from_secs(120)).send().await;
        if answer.is_ok_and(|response| response.status().is_success()) {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    bail!("{url} did not answer")
}

fn announce(served: &Served, stack: &LocalStack, model: &ModelAddress) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "\n  SuperBizAgent is at {}   (model: {}; Ctrl-C ends it)", served.url, model.name)?;
    writeln!(
        out,
        "  Scenario {:?} happens now. Ask in the page, or in another terminal:",
        stack.placed.scenario.title
    )?;
    for question in &stack.placed.scenario.questions {
        writeln!(out, "    make ask Q=\"{}\"", question.query)?;
    }
    writeln!(out)?;
    Ok(out.flush()?)
}

async fn run(command: &[String], served: &Served, stack: &LocalStack) -> anyhow::Result<ExitStatus> {
    let (program, arguments) = command.split_first().context("--run needs a command")?;
    let questions: Vec<&str> = stack.placed.scenario.questions.iter().map(|q| q.query.as_str()).collect();
    let status = Command::new(program)
        .args(arguments)
        .env("BASE_URL", &served.url)
        .env("QUESTIONS", serde_json::to_string(&questions)?)
        .kill_on_drop(true)
        .status();
    status.await.with_context(|| format!("{program} can't be started"))
}
