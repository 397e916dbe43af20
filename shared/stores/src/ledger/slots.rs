//! The few MySQL connections of one process.
//!
//! Ours, not the driver's pool: that one asks a returned connection for a sign of life before it lends it again. On the way of a run this
//! is a round trip more, and towards a server that has stopped answering it keeps the place until the network gives up.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use sqlx::ConnectOptions as _;
use sqlx::mysql::{MySqlConnectOptions, MySqlConnection};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::fault::Fault;
use super::{ACQUIRE_TIMEOUT, MAX_CONNECTIONS, MAX_IDLE, MAX_LIFETIME};

/// Cheap to clone; clones share their connections.
#[derive(Clone)]
pub(super) struct Slots {
    options: Arc<MySqlConnectOptions>,
    places: Arc<Semaphore>,
    idle: Arc<Mutex<Vec<Idle>>>,
}

/// Ages go by the wall clock: it goes on while the sandbox is frozen, and servers and proxies count by it.
struct Idle {
    connection: MySqlConnection,
    made: SystemTime,
    used: SystemTime,
}

/// A connection and its place; both are free when this is dropped, and the connection is closed unless it was given back.
pub(super) struct Lent {
    pub connection: MySqlConnection,
    made: SystemTime,
    slots: Slots,
    _place: OwnedSemaphorePermit,
}

impl Slots {
    pub(super) fn new(options: MySqlConnectOptions) -> Self {
        let places = Arc::new(Semaphore::new(MAX_CONNECTIONS as usize));
        Self { options: Arc::new(options), places, idle: Arc::default() }
    }

    /// A connection that was used lately, or a new one.
    pub(super) async fn lend(&self) -> Result<Lent, Fault> {
        let lent = tokio::time::timeout(ACQUIRE_TIMEOUT, async {
            let place = self.places.clone().acquire_owned().await.map_err(|_| sqlx::Error::PoolClosed)?;
            if let Some(idle) = self.fresh() {
                let Idle { connection, made, .. } = idle;
                return Ok(Lent { connection, made, slots: self.clone(), _place: place });
            }
            let connection = self.options.connect().await?;
            Ok(Lent { connection, made: now(), slots: self.clone(), _place: place })
        });
        lent.await.unwrap_or(Err(sqlx::Error::PoolTimedOut)).map_err(Fault::Database)
    }

    /// The connection that was used last, if it isn't too old; the others that are go.
    fn fresh(&self) -> Option<Idle> {
        let mut idle = self.idle();
        idle.retain(|idle| age(idle.made) < MAX_LIFETIME && age(idle.used) < MAX_IDLE);
        idle.pop()
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<Idle>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// No connection is lent any more; those that wait are closed.
    pub(super) fn close(&self) {
        self.places.close();
        self.idle().clear();
    }
}

impl Lent {
    /// For whoever comes next. Only a connection on which nothing is on its way any more.
    pub(super) fn give_back(self) {
        let Self { connection, made, slots, _place } = self;
        if !slots.places.is_closed() {
            slots.idle().push(Idle { connection, made, used: now() });
        }
    }
}

fn now() -> SystemTime {
    SystemTime::now()
}

/// A clock that was set back makes nothing young: it counts as old.
fn age(since: SystemTime) -> Duration {
    now().duration_since(since).unwrap_or(Duration::MAX)
}
