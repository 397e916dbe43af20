//! A proxy before a database that can lose one answer: the server does the work, the client never knows.

use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

pub struct LossyProxy {
    pub port: u16,
    needle: Arc<Mutex<Option<String>>>,
    _tasks: JoinSet<()>,
}

impl LossyProxy {
    pub async fn start(upstream: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let needle = Arc::new(Mutex::new(None));
        let (mut tasks, watched) = (JoinSet::new(), Arc::clone(&needle));
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            loop {
                let (client, _) = listener.accept().await.unwrap();
                let server = TcpStream::connect(("127.0.0.1", upstream)).await.unwrap();
                connections.spawn(forward(client, server, Arc::clone(&watched)));
            }
        });
        Self { port, needle, _tasks: tasks }
    }

    /// The connection that next sends these bytes is cut when its answer is there.
    pub fn lose_answer_to(&self, needle: &str) {
        *self.needle.lock().unwrap() = Some(needle.to_owned());
    }

    pub fn has_lost(&self) -> bool {
        self.needle.lock().unwrap().is_none()
    }
}

async fn forward(mut client: TcpStream, mut server: TcpStream, needle: Arc<Mutex<Option<String>>>) {
    let (mut asked, mut answered) = (vec![0; 64 * 1024], vec![0; 64 * 1024]);
    loop {
        tokio::select! {
            read = client.read(&mut asked) => {
                let Ok(bytes @ 1..) = read else { return };
                if server.write_all(&asked[..bytes]).await.is_err() {
                    return;
                }
                let sent = String::from_utf8_lossy(&asked[..bytes]);
                let lose = needle.lock().unwrap().take_if(|text| sent.contains(text.as_str())).is_some();
                if lose {
                    let _ = server.read(&mut answered).await;
                    return;
                }
            }
            read = server.read(&mut answered) => {
                let Ok(bytes @ 1..) = read else { return };
                if client.write_all(&answered[..bytes]).await.is_err() {
                    return;
                }
            }
        }
    }
}
