//! A private MariaDB on a loopback port, in a temporary folder. Its initialised data folder is made once and kept under `target/`.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use sqlx::{AssertSqlSafe, Connection, MySqlConnection};
use tempfile::TempDir;

/// For a test to say when [`MariaDb::start`] gives `None`.
pub const NOT_INSTALLED: &str = "skipped: no mariadbd on this machine (apt-get install mariadb-server)";

const START_TIMEOUT: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(50);
/// A port that was free a moment ago may be taken when the server binds it.
const ATTEMPTS: u32 = 3;

/// A running server. Dropping it kills the server and removes its data.
pub struct MariaDb {
    server: Child,
    port: u16,
    _folder: TempDir,
}

impl MariaDb {
    /// `None` if MariaDB is not installed.
    ///
    /// # Errors
    /// The server is there but does not start.
    pub async fn start() -> Result<Option<Self>> {
        let Some(program) = installed("mariadbd") else { return Ok(None) };
        let template = tokio::task::spawn_blocking(template).await??;
        for _ in 1..ATTEMPTS {
            if let Ok(server) = Self::start_from(&program, &template).await {
                return Ok(Some(server));
            }
        }
        Self::start_from(&program, &template).await.map(Some)
    }

    async fn start_from(program: &Path, template: &Path) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let data = folder.path().join("data");
        copy_folder(template, &data)?;
        // A starting server clears its temporary folder, so servers must not share one.
        let temporary = folder.path().join("tmp");
        fs::create_dir(&temporary)?;
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let log = fs::File::create(folder.path().join("server.log"))?;
        let server = Command::new(program)
            .args(["--no-defaults", "--user=root", "--bind-address=127.0.0.1", "--skip-name-resolve"])
            .args(["--character-set-server=utf8mb4", "--innodb-flush-log-at-trx-commit=0"])
            .args(["--innodb-buffer-pool-size=64M", "--performance-schema=OFF"])
            .arg(format!("--datadir={}", data.display()))
            .arg(format!("--tmpdir={}", temporary.display()))
            .arg(format!("--port={port}"))
            .arg(format!("--socket={}", folder.path().join("s").display()))
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()
            .context("mariadbd")?;
        let mut server = Self { server, port, _folder: folder };
        server.wait_until_ready().await?;
        Ok(server)
    }

    async fn wait_until_ready(&mut self) -> Result<()> {
        let began = Instant::now();
        loop {
            if let Some(status) = self.server.try_wait()? {
                bail!("mariadbd ended at its start: {status}");
            }
            match MySqlConnection::connect(&self.url("mysql")).await {
                Ok(connection) => return Ok(connection.close().await?),
                Err(fault) if began.elapsed() > START_TIMEOUT => {
                    return Err(fault).context("mariadbd does not answer");
                }
                Err(_) => tokio::time::sleep(POLL).await,
            }
        }
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// The administrator's address of a schema.
    pub fn url(&self, schema: &str) -> String {
        format!("mysql://root@127.0.0.1:{}/{schema}?ssl-mode=disabled", self.port)
    }

    /// Makes an empty schema and returns its address. `name` is a plain identifier.
    ///
    /// # Errors
    /// The server does not answer, or has such a schema.
    pub async fn create_schema(&self, name: &str) -> Result<String> {
        let mut connection = MySqlConnection::connect(&self.url("mysql")).await?;
        let sql = format!("CREATE DATABASE `{name}` CHARACTER SET utf8mb4");
        sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut connection).await?;
        connection.close().await?;
        Ok(self.url(name))
    }
}

impl MariaDb {
    /// Runs statements as the administrator, from code that can't wait for a future.
    ///
    /// # Errors
    /// There is no client program, or the server refuses.
    pub fn execute(&self, sql: &str) -> Result<()> {
        let output = Command::new("mariadb")
            .args(["--no-defaults", "--protocol=tcp", "--host=127.0.0.1", "--user=root", "--execute", sql])
            .arg(format!("--port={}", self.port))
            .stdin(Stdio::null())
            .output()
            .context("mariadb")?;
        ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Ok(())
    }
}

impl Drop for MariaDb {
    fn drop(&mut self) {
        // Nothing of it is wanted any more, so there is nothing to shut down in order.
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

/// Where distributions and package managers put it.
fn installed(program: &str) -> Option<PathBuf> {
    let folders = ["/usr/sbin", "/usr/bin", "/usr/local/sbin", "/usr/local/bin", "/opt/homebrew/bin"];
    folders.iter().map(|folder| Path::new(folder).join(program)).find(|path| path.is_file())
}

/// An initialised data folder, made if there is none. Processes that make it at the same time do not disturb each other: the
/// first to rename its own into place wins.
fn template() -> Result<PathBuf> {
    let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target");
    let template = target.join("mariadb-template");
    if template.is_dir() {
        return Ok(template);
    }
    fs::create_dir_all(&target)?;
    let folder = tempfile::Builder::new().prefix("mariadb-template-").tempdir_in(&target)?;
    let data = folder.path().join("data");
    let program = installed("mariadb-install-db").context("mariadb-install-db is missing beside mariadbd")?;
    let made = Command::new(program)
        .args(["--no-defaults", "--user=root", "--auth-root-authentication-method=normal", "--skip-test-db"])
        .arg("--basedir=/usr")
        .arg(format!("--datadir={}", data.display()))
        .stdin(Stdio::null())
        .output()?;
    if !made.status.success() {
        bail!("mariadb-install-db failed: {}", String::from_utf8_lossy(&made.stderr));
    }
    match fs::rename(&data, &template) {
        Err(_) if template.is_dir() => Ok(template),
        renamed => renamed.map(|()| template).context("the MariaDB template"),
    }
}

fn copy_folder(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_folder(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}
