//! Removing the folders of expired runs. Bounded and never a reason to fail: reads check the expiry
//! themselves.

use std::fs;
use std::path::Path;

use agent::ports::canonical::RECORD_TTL_SECONDS;
use domain::ids::RunId;

/// One sweep's bounds: folders looked at, and folders removed.
const LOOKS: usize = 4096;
const REMOVALS: usize = 64;

/// Removes runs whose last write is older than any record's life; `now` in Unix seconds.
pub(super) fn remove_expired(folder: &Path, now: i64) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    let expired = entries.take(LOOKS).flatten().map(|entry| entry.path()).filter(|run| {
        let name = run.file_name().and_then(|name| name.to_str());
        name.is_some_and(|name| RunId::parse(name).is_ok())
            && last_write(run).is_some_and(|at| at.saturating_add(RECORD_TTL_SECONDS) < now.unsigned_abs())
    });
    for run in expired.take(REMOVALS) {
        // Another process may be sweeping the same run.
        let _ = fs::remove_dir_all(run);
    }
}

/// When something was last added to the folder, in Unix seconds.
fn last_write(folder: &Path) -> Option<u64> {
    let modified = fs::symlink_metadata(folder).ok().filter(fs::Metadata::is_dir)?.modified().ok()?;
    modified.duration_since(std::time::UNIX_EPOCH).ok().map(|age| age.as_secs())
}
