//! An embedded DynamoDB emulator with the run-control table: in this process, in memory, on a loopback port of its own.

use std::thread::JoinHandle;

use anyhow::{Context, Result, anyhow};
use dynoxide::Database;
use stores::DynamoRunControl;
use stores::run_control::Endpoint;
use tokio::net::TcpListener;
use tokio::sync::oneshot;

/// The running emulator. It stops, and forgets everything, when this is dropped.
pub struct DynamoDb {
    endpoint_url: String,
    table: String,
    /// Dropped first: the server's thread ends when its sender is gone.
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl DynamoDb {
    /// Starts an emulator and creates `table` in it. It has a thread and a runtime of its own, so that a test's paused clock or
    /// busy runtime does not reach it.
    ///
    /// # Errors
    /// No port, no memory, or the table can't be made.
    pub async fn start(table: &str) -> Result<Self> {
        let database = Database::memory().map_err(|fault| anyhow!("emulator: {fault}"))?;
        let listener =
            std::net::TcpListener::bind("127.0.0.1:0").context("a port for the DynamoDB emulator")?;
        listener.set_nonblocking(true)?;
        let endpoint_url = format!("http://{}", listener.local_addr()?);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (stop, stopped) = oneshot::channel::<()>();
        let thread = std::thread::Builder::new().name("dynamodb-emulator".to_owned()).spawn(move || {
            runtime.block_on(async {
                let Ok(listener) = TcpListener::from_std(listener) else { return };
                let serving =
                    dynoxide::server::serve_with_shutdown(listener, database, std::future::pending());
                // Open connections end with the runtime; nobody waits for their clients.
                tokio::select! {
                    _ = serving => {}
                    _ = stopped => {}
                }
            });
        })?;
        let emulator = Self { endpoint_url, table: table.to_owned(), stop: Some(stop), thread: Some(thread) };
        emulator.run_control().create_table().await.context("the run-control table")?;
        Ok(emulator)
    }

    /// For `AWS_ENDPOINT_URL_DYNAMODB`.
    pub fn endpoint_url(&self) -> &str {
        &self.endpoint_url
    }

    /// A new client of the emulated table.
    pub fn run_control(&self) -> DynamoRunControl {
        let endpoint = Endpoint::Emulator { endpoint_url: self.endpoint_url.clone() };
        DynamoRunControl::connect_lazy(&self.table, endpoint)
    }
}

impl Drop for DynamoDb {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A panic in it was a failed request, and some test has said so.
            let _ = thread.join();
        }
    }
}
