//! `business.sql` → a fresh SQLite file.

use std::path::Path;

use anyhow::Context as _;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode};
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _, raw_sql};

/// Runs the whole script in one transaction; afterwards the folder holds the one file and no journal.
pub(super) async fn create(path: &Path, script: String) -> anyhow::Result<()> {
    let options = SqliteConnectOptions::new()
        .filename(path)
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Delete);
    let mut connection = options.connect().await.with_context(|| path.display().to_string())?;
    let mut transaction = connection.begin().await?;
    raw_sql(AssertSqlSafe(script)).execute(&mut *transaction).await.context("business.sql")?;
    transaction.commit().await?;
    connection.close().await?;
    Ok(())
}
