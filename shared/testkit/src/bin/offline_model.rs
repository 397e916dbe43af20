//! The offline model as a process: `offline_model [--port N]` serves it on 127.0.0.1 until it is interrupted.

use std::io::Write;

use anyhow::{Context, bail};
use testkit::provider::offline;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let port = port(std::env::args().skip(1))?;
    let server = offline::serve(port).await.with_context(|| format!("can't listen on 127.0.0.1:{port}"))?;
    writeln!(
        std::io::stdout(),
        "MODEL_WIRE=openai MODEL_BASE_URL={} MODEL_NAME={}",
        server.base_url(),
        offline::MODEL_NAME
    )?;
    tokio::signal::ctrl_c().await.context("can't wait for an interrupt")
}

/// The port asked for; 0, a free one, without an argument.
fn port(mut arguments: impl Iterator<Item = String>) -> anyhow::Result<u16> {
    match (arguments.next().as_deref(), arguments.next(), arguments.next()) {
        (None, ..) => Ok(0),
        (Some("--port"), Some(number), None) => {
            number.parse().context("--port takes a number from 0 to 65535")
        }
        _ => bail!("usage: offline_model [--port N]"),
    }
}
