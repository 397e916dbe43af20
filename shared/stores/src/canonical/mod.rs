//! The canonical store, chosen by its address: `file://DIR` (a folder that both functions' processes share).

pub mod file;
mod sweep;

use std::sync::Arc;

use agent::ports::{CanonicalStore, Clock};

use crate::AddressError;
pub use file::FileStore;

/// Opens the store at `url` (`file://DIR`, relative or absolute). Does no IO: folders are made by the first
/// write.
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
        Some(("redis" | "rediss", _)) => Err(AddressError::Invalid {
            variable: VARIABLE,
            why: "this build has no Redis store yet; use file://DIR",
        }),
        _ => Err(AddressError::Scheme { variable: VARIABLE, expected: "file://DIR" }),
    }
}
