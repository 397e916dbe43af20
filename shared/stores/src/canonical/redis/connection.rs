//! One multiplexed connection, made when first needed, replaced when it is dead, bounded in time around every command.
//!
//! A frozen sandbox wakes up with sockets that are long closed, a failover leaves one on a server that has become read-only, a
//! restart one that is still loading: the command is sent once more, over a new connection. Commands here may be sent twice.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use agent::ports::StoreError;
use redis::aio::{ConnectionLike, MultiplexedConnection};
use redis::cluster::ClusterClient;
use redis::cluster_async::ClusterConnection;
use redis::{AsyncConnectionConfig, Client, Cmd, ErrorKind, FromRedisValue, RedisError};
use redis::{RedisResult, ServerErrorKind, Value};

use super::super::STORE;
use super::address::Address;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);
/// One command on one connection.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(1);
/// A command, the second try and both connections included. Outside of the client, which is not trusted to keep its own times.
const TOTAL_TIMEOUT: Duration = Duration::from_secs(4);
/// Before the second try: a failing-over server needs a moment.
const PAUSE: Duration = Duration::from_millis(100);
const TRIES: u32 = 2;
/// Redirections and reconnections inside one cluster command.
const CLUSTER_RETRIES: u32 = 3;
const CLUSTER_WAIT_MS: (u64, u64) = (20, 200);

pub(super) struct Connection {
    address: Address,
    /// The current one and its number; a failed one is dropped only by who used that very one.
    current: Mutex<Current>,
    connecting: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct Current {
    number: u64,
    socket: Option<Socket>,
}

#[derive(Clone)]
enum Socket {
    Single(MultiplexedConnection),
    Cluster(ClusterConnection),
}

/// What a command was answered.
pub(super) struct Answer<T> {
    pub value: T,
    /// It was sent twice: the first one may have been carried out, too.
    pub repeated: bool,
}

impl Connection {
    pub fn new(address: Address) -> Self {
        Self { address, current: Mutex::default(), connecting: tokio::sync::Mutex::new(()) }
    }

    /// Runs `command`, twice if the first connection turns out to be dead or its server can't serve now.
    pub async fn run<T: FromRedisValue>(
        &self,
        what: &'static str,
        command: &Cmd,
    ) -> Result<Answer<T>, StoreError> {
        let tried = tokio::time::timeout(TOTAL_TIMEOUT, self.tries(what, command)).await;
        let Answer { value, repeated } =
            tried.map_err(|_| StoreError::Unavailable { store: STORE, what, source: None })??;
        let value =
            redis::from_redis_value(value).map_err(|fault| StoreError::unavailable(STORE, what, fault))?;
        Ok(Answer { value, repeated })
    }

    async fn tries(&self, what: &'static str, command: &Cmd) -> Result<Answer<Value>, StoreError> {
        let mut tried = 1;
        let mut repeated = false;
        loop {
            let (number, socket) = match self.socket().await {
                Ok(socket) => socket,
                Err(fault) if tried < TRIES && is_passing(&fault) => {
                    tried += 1;
                    tokio::time::sleep(PAUSE).await;
                    continue;
                }
                Err(fault) => return Err(StoreError::unavailable(STORE, "connection", fault)),
            };
            let fault = match bounded(socket, command).await {
                Ok(value) => return Ok(Answer { value, repeated }),
                Err(fault) => fault,
            };
            repeated = true;
            if spoils_the_connection(&fault) {
                self.drop_socket(number);
            }
            if tried == TRIES || !is_passing(&fault) {
                return Err(StoreError::unavailable(STORE, what, fault));
            }
            tracing::warn!(
                store.name = STORE,
                store.command = what,
                error.code = fault.code(),
                "sent once more"
            );
            tried += 1;
            tokio::time::sleep(PAUSE).await;
        }
    }

    fn existing(&self) -> Option<(u64, Socket)> {
        let current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        current.socket.clone().map(|socket| (current.number, socket))
    }

    async fn socket(&self) -> RedisResult<(u64, Socket)> {
        if let Some(existing) = self.existing() {
            return Ok(existing);
        }
        // One connects, the others wait for it.
        let _connecting = self.connecting.lock().await;
        if let Some(existing) = self.existing() {
            return Ok(existing);
        }
        let socket = connect(&self.address).await?;
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        current.number += 1;
        current.socket = Some(socket.clone());
        Ok((current.number, socket))
    }

    fn drop_socket(&self, number: u64) {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if current.number == number {
            current.socket = None;
        }
    }
}

async fn bounded(mut socket: Socket, command: &Cmd) -> RedisResult<Value> {
    let sent = async {
        match &mut socket {
            Socket::Single(connection) => connection.req_packed_command(command).await,
            Socket::Cluster(connection) => connection.req_packed_command(command).await,
        }
    };
    // The client has this limit, too; it comes first if the client keeps it.
    let value =
        tokio::time::timeout(COMMAND_TIMEOUT + PAUSE, sent).await.unwrap_or_else(|_| Err(timed_out()))?;
    value.extract_error()
}

/// Connects to the one server, or to the cluster that it says it is part of.
async fn connect(address: &Address) -> RedisResult<Socket> {
    let limited = async {
        if let [only] = address.nodes.as_slice() {
            let client = match address.certificates() {
                Some(certificates) => Client::build_with_tls(only.clone(), certificates)?,
                None => Client::open(only.clone())?,
            };
            let config = AsyncConnectionConfig::new()
                .set_connection_timeout(Some(CONNECT_TIMEOUT))
                .set_response_timeout(Some(COMMAND_TIMEOUT));
            let mut connection = client.get_multiplexed_async_connection_with_config(&config).await?;
            if !is_cluster(&mut connection).await? {
                return Ok(Socket::Single(connection));
            }
        }
        let mut builder = ClusterClient::builder(address.nodes.clone())
            .connection_timeout(CONNECT_TIMEOUT)
            .response_timeout(COMMAND_TIMEOUT)
            .overall_response_timeout(Some(COMMAND_TIMEOUT))
            .retries(CLUSTER_RETRIES)
            .min_retry_wait(CLUSTER_WAIT_MS.0)
            .max_retry_wait(CLUSTER_WAIT_MS.1);
        if let Some(certificates) = address.certificates() {
            builder = builder.certs(certificates);
        }
        builder.build()?.get_async_connection().await.map(Socket::Cluster)
    };
    tokio::time::timeout(CONNECT_TIMEOUT * 2, limited).await.unwrap_or_else(|_| Err(timed_out()))
}

/// Whether the server is a node of a cluster; every server since Redis 6 and every Valkey knows `HELLO`.
async fn is_cluster(connection: &mut MultiplexedConnection) -> RedisResult<bool> {
    let facts: HashMap<String, Value> = redis::cmd("HELLO").query_async(connection).await?;
    let mode = facts.get("mode").cloned().map(redis::from_redis_value::<String>).transpose()?;
    Ok(mode.as_deref() == Some("cluster"))
}

fn timed_out() -> RedisError {
    RedisError::from(std::io::Error::from(std::io::ErrorKind::TimedOut))
}

/// Whether the same command may well succeed a moment later, over a new connection.
fn is_passing(fault: &RedisError) -> bool {
    use ServerErrorKind::{Ask, BusyLoading, ClusterDown, MasterDown, Moved, ReadOnly, TryAgain};
    match fault.kind() {
        ErrorKind::Server(BusyLoading | TryAgain | ClusterDown | MasterDown | ReadOnly | Moved | Ask) => true,
        ErrorKind::Io | ErrorKind::ClusterConnectionNotFound => true,
        _ => fault.is_connection_dropped() || fault.is_timeout() || fault.is_unrecoverable_error(),
    }
}

/// Whether another command over the same connection would meet the same fault.
fn spoils_the_connection(fault: &RedisError) -> bool {
    is_passing(fault) || fault.kind() == ErrorKind::AuthenticationFailed
}

/// Whether an error says that the server doesn't know a script (it was restarted, or never had it).
pub(super) fn is_no_script(source: &(dyn std::error::Error + 'static)) -> bool {
    let fault = source.downcast_ref::<RedisError>();
    fault.is_some_and(|fault| fault.kind() == ErrorKind::Server(ServerErrorKind::NoScript))
}
