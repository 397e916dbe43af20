//! A man in the middle that changes what the client says to the server, as a badly configured proxy could.

use anyhow::Result;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// Ends when it is dropped.
pub struct Relay {
    pub port: u16,
    _work: JoinSet<()>,
}

type Changes = &'static [(&'static str, &'static str)];

impl Relay {
    /// Each change keeps the length, so that packets stay whole.
    pub async fn start(server: u16, changes: Changes) -> Result<Self> {
        assert!(changes.iter().all(|(from, to)| from.len() == to.len()));
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let port = listener.local_addr()?.port();
        let mut work = JoinSet::new();
        work.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((client, _)) = listener.accept().await {
                connections.spawn(relay(client, server, changes));
            }
        });
        Ok(Self { port, _work: work })
    }
}

async fn relay(client: TcpStream, server: u16, changes: Changes) -> Result<()> {
    let (from_client, mut to_client) = client.into_split();
    let (mut from_server, to_server) = TcpStream::connect(("127.0.0.1", server)).await?.into_split();
    let answers = async { Ok(tokio::io::copy(&mut from_server, &mut to_client).await.map(|_| ())?) };
    tokio::try_join!(changed(from_client, to_server, changes), answers)?;
    Ok(())
}

async fn changed(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, changes: Changes) -> Result<()> {
    let mut chunk = vec![0; 16 * 1024];
    loop {
        let count = from.read(&mut chunk).await?;
        if count == 0 {
            return Ok(());
        }
        for (old, new) in changes {
            let found = chunk[..count].windows(old.len()).position(|part| part == old.as_bytes());
            if let Some(at) = found {
                chunk[at..at + new.len()].copy_from_slice(new.as_bytes());
            }
        }
        to.write_all(&chunk[..count]).await?;
    }
}
