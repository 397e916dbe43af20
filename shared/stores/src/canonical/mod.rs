//! The canonical store, chosen by its address: `redis://` or `rediss://` (one server, a primary's endpoint or a cluster), or
//! `file://DIR` (a folder that both functions' processes share).

pub mod file;
mod redis;
mod sweep;

use std::sync::Arc;

use agent::ports::{CanonicalStore, Clock};

use crate::AddressError;
pub use file::FileStore;
pub use redis::RedisStore;

/// What errors call this store, and what it holds.
const STORE: &str = "canonical store";
const RECORD: &str = "record";

/// Opens the store at `url` (`rediss://HOST…`, or `file://DIR`, relative or absolute). Connects to nothing and makes no folder: the first
/// use does.
///
/// # Errors
/// An address of another kind.
pub fn open(url: &str, clock: Arc<dyn Clock>) -> Result<Arc<dyn CanonicalStore>, AddressError> {
    const VARIABLE: &str = "CANONICAL_STORE";
    match url.split_once("://") {
        Some(("file", "")) => {
            Err(AddressError::Invalid { variable: VARIABLE, why: "file:// needs a folder after it" })
        }
        Some(("file", folder)) => Ok(Arc::new(FileStore::new(folder, clock))),
        Some(("redis" | "rediss", _)) => Ok(Arc::new(RedisStore::new(url)?)),
        _ => Err(AddressError::Scheme { variable: VARIABLE, expected: "rediss://HOST or file://DIR" }),
    }
}
