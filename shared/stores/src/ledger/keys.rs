//! `api_key`: hashed keys, whose they are and what they may do.

use agent::ports::keys::{ApiKey, KeyHash, KeyLimits};
use domain::ids::CallerId;
use time::OffsetDateTime;

use super::connection::Connection;
use super::fault::{Fault, conflict};
use super::values::{Row, Value};

pub(super) async fn create(
    connection: &mut Connection,
    key: &ApiKey,
    hash: &KeyHash,
    repeated: bool,
) -> Result<(), Fault> {
    let sql = "INSERT INTO api_key (key_id, key_hash, name, scopes, concurrent_runs, runs_per_minute, tokens_per_day, \
               created_at, expires_at, revoked_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
    let values: [Value; 10] = [
        key.id.as_str().into(),
        hash.0.as_str().into(),
        (&key.caller).into(),
        key.scopes.join(" ").into(),
        key.limits.concurrent_runs.map(u64::from).into(),
        key.limits.runs_per_minute.map(u64::from).into(),
        key.limits.tokens_per_day.into(),
        key.created_at.into(),
        key.expires_at.into(),
        key.revoked_at.into(),
    ];
    match connection.on().execute(sql, &values).await {
        Err(fault) if fault.is_duplicate() => match find(connection, &key.id).await? {
            // An attempt was carried out and its answer lost: the very key is there.
            Some((_, stored)) if repeated && stored == *hash => Ok(()),
            _ => Err(conflict("API key id")),
        },
        done => done.map(drop),
    }
}

pub(super) async fn find(connection: &mut Connection, id: &str) -> Result<Option<(ApiKey, KeyHash)>, Fault> {
    let sql = "SELECT * FROM api_key WHERE key_id = ?";
    let rows = connection.on().fetch(sql, &[id.into()]).await?;
    let Some(row) = rows.first() else { return Ok(None) };
    Ok(Some((key(row)?, KeyHash(row.text("key_hash")?))))
}

pub(super) async fn list(connection: &mut Connection, limit: u32) -> Result<Vec<ApiKey>, Fault> {
    let sql = "SELECT * FROM api_key ORDER BY created_at DESC, key_id LIMIT ?";
    connection.on().fetch(sql, &[limit.into()]).await?.iter().map(key).collect()
}

pub(super) async fn revoke(connection: &mut Connection, id: &str, at: OffsetDateTime) -> Result<bool, Fault> {
    let sql = "UPDATE api_key SET revoked_at = ? WHERE key_id = ? AND revoked_at IS NULL";
    if connection.on().execute(sql, &[at.into(), id.into()]).await? > 0 {
        return Ok(true);
    }
    Ok(find(connection, id).await?.is_some())
}

fn key(row: &Row) -> Result<ApiKey, Fault> {
    let limit = |column: &str| -> Result<Option<u64>, Fault> {
        let stored = row.optional_int(column)?;
        stored.map(|limit| u64::try_from(limit).map_err(|_| Fault::Unreadable)).transpose()
    };
    let small = |limit: u64| u32::try_from(limit).unwrap_or(u32::MAX);
    Ok(ApiKey {
        id: row.text("key_id")?,
        caller: CallerId::parse(&row.text("name")?).map_err(|_| Fault::Unreadable)?,
        scopes: row.text("scopes")?.split_whitespace().map(str::to_owned).collect(),
        limits: KeyLimits {
            concurrent_runs: limit("concurrent_runs")?.map(small),
            runs_per_minute: limit("runs_per_minute")?.map(small),
            tokens_per_day: limit("tokens_per_day")?,
        },
        created_at: row.time("created_at")?,
        expires_at: row.optional_time("expires_at")?,
        revoked_at: row.optional_time("revoked_at")?,
    })
}
