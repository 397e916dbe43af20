//! A TCP proxy in front of a test server that misbehaves on command.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::Result;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{AbortHandle, JoinSet};

/// What the proxy does, to open connections and to new ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Nothing: bytes pass.
    None,
    /// Each piece of bytes arrives this much later, in both directions.
    Delay(Duration),
    /// At most this many bytes a second from the server.
    Throttle(u32),
    /// Connections are accepted and bytes are swallowed.
    BlackHole,
    /// The server gets everything, its answers are swallowed: what was asked for happens, and nobody is told.
    LostAnswers,
    /// Connections end properly at once.
    Cut,
    /// Connections are reset at once.
    Reset,
}

/// The running proxy. Dropping it ends its connections.
pub struct FaultProxy {
    port: u16,
    fault: watch::Sender<Fault>,
    accepted: Arc<AtomicU64>,
    accepting: AbortHandle,
}

impl FaultProxy {
    /// Forwards to `127.0.0.1:upstream`.
    ///
    /// # Errors
    /// There is no free port.
    #[expect(clippy::disallowed_methods, reason = "the proxy owns its task and aborts it when dropped")]
    pub async fn start(upstream: u16) -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let port = listener.local_addr()?.port();
        let (fault, faults) = watch::channel(Fault::None);
        let accepted = Arc::new(AtomicU64::new(0));
        let accepting = tokio::spawn(accept(listener, upstream, faults, accepted.clone())).abort_handle();
        Ok(Self { port, fault, accepted, accepting })
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// Misbehaves like this from now on.
    pub fn set(&self, fault: Fault) {
        self.fault.send_replace(fault);
    }

    /// Connections so far.
    pub fn accepted(&self) -> u64 {
        self.accepted.load(Ordering::Relaxed)
    }
}

impl Drop for FaultProxy {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

/// The connections live in the set, and the set in this future: whoever aborts it ends them all.
async fn accept(
    listener: TcpListener,
    upstream: u16,
    faults: watch::Receiver<Fault>,
    accepted: Arc<AtomicU64>,
) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            incoming = listener.accept() => if let Ok((client, _)) = incoming {
                accepted.fetch_add(1, Ordering::Relaxed);
                connections.spawn(connection(client, upstream, faults.clone()));
            },
            Some(_) = connections.join_next() => {}
        }
    }
}

async fn connection(client: TcpStream, upstream: u16, mut faults: watch::Receiver<Fault>) {
    // A connection that is reset must not say goodbye first: that is decided before anything else happens to it.
    let reset = socket_of(&client);
    let Ok(server) = TcpStream::connect(SocketAddr::from((Ipv4Addr::LOCALHOST, upstream))).await else {
        return;
    };
    let _ = (client.set_nodelay(true), server.set_nodelay(true));
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    let (asked, answered) = (faults.clone(), faults.clone());
    let passing = async {
        tokio::select! {
            () = pass(from_client, to_server, asked, false) => {}
            () = pass(from_server, to_client, answered, true) => {}
        }
    };
    let ending = async {
        let ended = faults.wait_for(|fault| matches!(fault, Fault::Cut | Fault::Reset)).await;
        let is_reset = ended.is_ok_and(|fault| *fault == Fault::Reset);
        if is_reset && let Some(socket) = &reset {
            let _ = rustix::net::sockopt::set_socket_linger(socket, Some(Duration::ZERO));
        }
    };
    tokio::select! {
        () = passing => {}
        () = ending => {}
    }
}

/// A second handle of the socket, to set its options while its halves are in use.
fn socket_of(stream: &TcpStream) -> Option<std::os::fd::OwnedFd> {
    use std::os::fd::AsFd;
    stream.as_fd().try_clone_to_owned().ok()
}

async fn pass(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    faults: watch::Receiver<Fault>,
    is_answer: bool,
) {
    let mut buffer = vec![0; 16 * 1024];
    while let Ok(read @ 1..) = from.read(&mut buffer).await {
        let fault = *faults.borrow();
        match fault {
            Fault::BlackHole => continue,
            Fault::LostAnswers if is_answer => continue,
            Fault::Delay(time) => tokio::time::sleep(time).await,
            Fault::Throttle(per_second) if is_answer => {
                let time = read as f64 / f64::from(per_second.max(1));
                tokio::time::sleep(Duration::from_secs_f64(time)).await;
            }
            _ => {}
        }
        if to.write_all(&buffer[..read]).await.is_err() {
            return;
        }
    }
    // Half-closed: the other direction may still have something to say.
    let _ = to.shutdown().await;
    if is_answer {
        return;
    }
    std::future::pending::<()>().await;
}
