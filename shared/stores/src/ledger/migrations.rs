//! The embedded schema migrations, and applying them when several processes try at once. Rules:
//! `migrations/README.md`.

use std::borrow::Cow;

use agent::ports::StoreError;
#[cfg(feature = "sqlite")]
use sqlx::Connection as _;
use sqlx::migrate::{Migrate, MigrateError, Migration, MigrationType, Migrator};
use sqlx::{MySqlConnection, SqlSafeStr};

use super::Pools;
use super::fault::{Fault, STORE};

/// `(number, name, text)` of each file, in order.
type Files = &'static [(i64, &'static str, &'static str)];

const MYSQL: Files = &[
    (1, "ledger", include_str!("../../../../migrations/mysql/0001_ledger.sql")),
    (2, "step_cost", include_str!("../../../../migrations/mysql/0002_step_cost.sql")),
    (3, "run_cost", include_str!("../../../../migrations/mysql/0003_run_cost.sql")),
];
#[cfg(feature = "sqlite")]
const SQLITE: Files = &[
    (1, "ledger", include_str!("../../../../migrations/sqlite/0001_ledger.sql")),
    (2, "step_cost", include_str!("../../../../migrations/sqlite/0002_step_cost.sql")),
    (3, "run_cost", include_str!("../../../../migrations/sqlite/0003_run_cost.sql")),
];

/// Seconds to wait for another process that is migrating the same schema.
const LOCK_SECONDS: u32 = 60;
const TABLE: &str = "_sqlx_migrations";
const WHAT: &str = "migration";

pub(super) async fn run(pools: &Pools) -> Result<Vec<i64>, StoreError> {
    match pools {
        Pools::MySql(slots) => {
            // The named lock lives as long as the connection: never given back, it frees the lock whatever happened.
            let mut lent = slots.lend().await.map_err(|fault| fault.into_store_error(WHAT))?;
            mysql(&mut lent.connection).await
        }
        #[cfg(feature = "sqlite")]
        Pools::Sqlite(pool) => {
            make_parent(&pool.connect_options()).await?;
            for _ in 1..super::MAX_ATTEMPTS {
                match sqlite(pool).await {
                    // Two processes that create the same file collide even before they can wait for each
                    // other.
                    Err(fault) if fault.is_transient() => {}
                    done => return done.map_err(|fault| fault.into_store_error(WHAT)),
                }
            }
            sqlite(pool).await.map_err(|fault| fault.into_store_error(WHAT))
        }
    }
}

async fn mysql(connection: &mut MySqlConnection) -> Result<Vec<i64>, StoreError> {
    let name = "CONCAT('superbiz-migrate:', LEFT(SHA2(DATABASE(), 256), 40))";
    let lock = sqlx::AssertSqlSafe(format!("SELECT GET_LOCK({name}, {LOCK_SECONDS})"));
    let locked: Option<i64> =
        sqlx::query_scalar(lock).fetch_one(&mut *connection).await.map_err(database_fault)?;
    if locked != Some(1) {
        return Err(StoreError::Unavailable { store: STORE, what: "migration lock", source: None });
    }
    apply(MYSQL, connection).await.map_err(|fault| migrate_fault(fault).into_store_error(WHAT))
}

/// Everything in one immediate transaction: a second process waits for it, and then finds nothing to do.
#[cfg(feature = "sqlite")]
async fn sqlite(pool: &sqlx::SqlitePool) -> Result<Vec<i64>, Fault> {
    let mut connection = pool.acquire().await?;
    let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await?;
    match apply(SQLITE, &mut *transaction).await {
        Ok(applied) => {
            transaction.commit().await?;
            Ok(applied)
        }
        Err(fault) => {
            transaction.rollback().await?;
            Err(migrate_fault(fault))
        }
    }
}

async fn apply<C: Migrate>(files: Files, connection: &mut C) -> Result<Vec<i64>, MigrateError> {
    connection.ensure_migrations_table(TABLE).await?;
    let before = connection.list_applied_migrations(TABLE).await?;
    let migrations = files.iter().map(|(version, name, sql)| {
        Migration::new(*version, Cow::Borrowed(*name), MigrationType::Simple, sql.into_sql_str(), false)
    });
    let mut migrator = Migrator::with_migrations(migrations.collect());
    // The locks are taken above; after a rollback older code meets a newer schema, which only expanded.
    migrator.set_locking(false).set_ignore_missing(true);
    migrator.run_direct(None, connection, false).await?;
    let is_new = |version: &i64| !before.iter().any(|applied| applied.version == *version);
    Ok(files.iter().map(|(version, ..)| *version).filter(is_new).collect())
}

/// `sqlite://.local/superbiz.db` works in a fresh checkout.
#[cfg(feature = "sqlite")]
async fn make_parent(options: &sqlx::sqlite::SqliteConnectOptions) -> Result<(), StoreError> {
    match options.get_filename().parent() {
        Some(folder) if !folder.as_os_str().is_empty() => tokio::fs::create_dir_all(folder)
            .await
            .map_err(|fault| StoreError::unavailable(STORE, "folder", fault)),
        _ => Ok(()),
    }
}

fn database_fault(error: sqlx::Error) -> StoreError {
    Fault::Database(error).into_store_error(WHAT)
}

fn migrate_fault(error: MigrateError) -> Fault {
    match error {
        MigrateError::Execute(error) | MigrateError::ExecuteMigration(error, _) => Fault::Database(error),
        MigrateError::VersionMismatch(_) | MigrateError::Dirty(_) => {
            Fault::Store(StoreError::Conflict { store: STORE, what: "applied migration" })
        }
        _ => Fault::Store(StoreError::Unavailable { store: STORE, what: WHAT, source: None }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_migration_file_is_embedded_and_both_databases_have_the_same_ones() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../migrations");
        let mut listed = vec![("mysql", MYSQL)];
        #[cfg(feature = "sqlite")]
        listed.push(("sqlite", SQLITE));
        for (database, files) in listed {
            let names = std::fs::read_dir(root.join(database)).unwrap().map(|e| e.unwrap().file_name());
            let mut names: Vec<String> = names.map(|name| name.into_string().unwrap()).collect();
            names.sort();
            let embedded: Vec<String> =
                files.iter().map(|(n, name, _)| format!("{n:04}_{name}.sql")).collect();
            assert_eq!(names, embedded, "{database}");
            assert_eq!(
                files.iter().map(|f| f.0).collect::<Vec<_>>(),
                MYSQL.iter().map(|f| f.0).collect::<Vec<_>>()
            );
        }
    }
}
