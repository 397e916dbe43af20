//! Private Redis (or Valkey) servers on loopback ports, in temporary folders: one plain, one with TLS, a primary with its
//! replica, a cluster of three.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use tempfile::TempDir;

/// For a test to say when [`Redis::start`] gives `None`.
pub const NOT_INSTALLED: &str = "skipped: no redis-server on this machine (apt-get install redis-server)";

const START_TIMEOUT: Duration = Duration::from_secs(30);
const POLL: Duration = Duration::from_millis(30);
/// A port that was free a moment ago may be taken when the server binds it.
const ATTEMPTS: u32 = 3;

/// One running server. Dropping it kills the server and removes its data.
pub struct Redis {
    server: Child,
    port: u16,
    arguments: Vec<String>,
    tls: bool,
    folder: TempDir,
}

impl Redis {
    /// A plain server; `None` if Redis is not installed.
    ///
    /// # Errors
    /// The server is there but does not start.
    pub async fn start() -> Result<Option<Self>> {
        Self::with(&[]).await
    }

    /// A plain server with more arguments, such as `["--maxmemory", "2mb"]`.
    pub async fn with(arguments: &[&str]) -> Result<Option<Self>> {
        Self::launch(arguments, false).await
    }

    /// A server that speaks TLS only, with a certificate of its own authority: see [`Self::authority`].
    pub async fn with_tls() -> Result<Option<Self>> {
        Self::launch(&[], true).await
    }

    async fn launch(arguments: &[&str], tls: bool) -> Result<Option<Self>> {
        let Some(program) = program() else { return Ok(None) };
        for _ in 1..ATTEMPTS {
            if let Ok(server) = Self::start_from(&program, arguments, tls).await {
                return Ok(Some(server));
            }
        }
        Self::start_from(&program, arguments, tls).await.map(Some)
    }

    async fn start_from(program: &Path, arguments: &[&str], tls: bool) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let mut all: Vec<String> =
            ["--bind", "127.0.0.1", "--save", "", "--appendonly", "no"].map(str::to_owned).into();
        all.extend(["--dir".to_owned(), folder.path().display().to_string()]);
        if tls {
            certificates(folder.path())?;
            let file = |name: &str| folder.path().join(name).display().to_string();
            all.extend(["--port", "0", "--tls-port"].map(str::to_owned));
            all.extend([port.to_string(), "--tls-auth-clients".to_owned(), "no".to_owned()]);
            all.extend(["--tls-cert-file".to_owned(), file("server.pem")]);
            all.extend(["--tls-key-file".to_owned(), file("server.key")]);
            all.extend(["--tls-ca-cert-file".to_owned(), file("ca.pem")]);
        } else {
            all.extend(["--port".to_owned(), port.to_string()]);
        }
        all.extend(arguments.iter().map(|argument| (*argument).to_owned()));
        let server = spawn(program, &all, folder.path())?;
        let mut redis = Self { server, port, arguments: all, tls, folder };
        redis.wait_until_ready().await?;
        Ok(redis)
    }

    async fn wait_until_ready(&mut self) -> Result<()> {
        let began = Instant::now();
        while self.cli(&["PING"]).ok().as_deref() != Some("PONG") {
            if let Some(status) = self.server.try_wait()? {
                bail!("redis-server ended at its start: {status}");
            }
            ensure!(began.elapsed() < START_TIMEOUT, "redis-server does not answer");
            tokio::time::sleep(POLL).await;
        }
        Ok(())
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// The address of the server, with its authority if it speaks TLS.
    pub fn url(&self) -> String {
        match self.authority() {
            Some(ca) => format!("rediss://localhost:{}/?ca={}", self.port, ca.display()),
            None => format!("redis://127.0.0.1:{}", self.port),
        }
    }

    /// The file with the certificate that signed the server's.
    pub fn authority(&self) -> Option<PathBuf> {
        self.tls.then(|| self.folder.path().join("ca.pem"))
    }

    /// What `redis-cli` prints for a command.
    ///
    /// # Errors
    /// The server does not answer, or answers with an error.
    pub fn cli(&self, arguments: &[&str]) -> Result<String> {
        let mut command = Command::new("redis-cli");
        command.args(["-h", "127.0.0.1", "-p", &self.port.to_string(), "-e"]);
        if let Some(ca) = self.authority() {
            command.args(["--tls", "--sni", "localhost", "--cacert", &ca.display().to_string()]);
        }
        let output = command.args(arguments).stdin(Stdio::null()).output().context("redis-cli")?;
        ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }

    /// Kills the server as a crash would.
    pub fn kill(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }

    /// Starts it again on the same port, empty.
    pub async fn start_again(&mut self) -> Result<()> {
        self.kill();
        let program = program().context(NOT_INSTALLED)?;
        self.server = spawn(&program, &self.arguments, self.folder.path())?;
        self.wait_until_ready().await
    }

    /// Stops the process without closing its sockets, as a frozen machine does; see [`Self::thaw`].
    pub fn freeze(&self) -> Result<()> {
        self.signal(rustix::process::Signal::STOP)
    }

    pub fn thaw(&self) -> Result<()> {
        self.signal(rustix::process::Signal::CONT)
    }

    fn signal(&self, signal: rustix::process::Signal) -> Result<()> {
        let pid = i32::try_from(self.server.id())?;
        let pid = rustix::process::Pid::from_raw(pid).context("a pid")?;
        Ok(rustix::process::kill_process(pid, signal)?)
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A primary and a replica that follows it.
pub async fn replica_pair() -> Result<Option<(Redis, Redis)>> {
    let Some(primary) = Redis::start().await? else { return Ok(None) };
    let follow = format!("127.0.0.1 {}", primary.port());
    let Some(replica) = Redis::with(&["--replicaof", &follow]).await? else { return Ok(None) };
    let began = Instant::now();
    while !replica.cli(&["INFO", "replication"])?.contains("master_link_status:up") {
        ensure!(began.elapsed() < START_TIMEOUT, "the replica does not follow");
        tokio::time::sleep(POLL).await;
    }
    Ok(Some((primary, replica)))
}

/// Three primaries that share the slots. Ask for the first one's URL to be told of the others.
pub async fn cluster() -> Result<Option<Vec<Redis>>> {
    let mut nodes = Vec::new();
    for _ in 0..3 {
        let node = Redis::with(&["--cluster-enabled", "yes", "--cluster-node-timeout", "2000"]).await?;
        let Some(node) = node else { return Ok(None) };
        nodes.push(node);
    }
    let addresses: Vec<String> = nodes.iter().map(|node| format!("127.0.0.1:{}", node.port())).collect();
    let mut create = vec!["--cluster", "create"];
    create.extend(addresses.iter().map(String::as_str));
    create.extend(["--cluster-replicas", "0", "--cluster-yes"]);
    let output = Command::new("redis-cli").args(&create).stdin(Stdio::null()).output()?;
    ensure!(output.status.success(), "no cluster: {}", String::from_utf8_lossy(&output.stdout));
    let began = Instant::now();
    for node in &nodes {
        while !node.cli(&["CLUSTER", "INFO"])?.contains("cluster_state:ok") {
            ensure!(began.elapsed() < START_TIMEOUT, "the cluster does not form");
            tokio::time::sleep(POLL).await;
        }
    }
    Ok(Some(nodes))
}

fn spawn(program: &Path, arguments: &[String], folder: &Path) -> Result<Child> {
    let log = std::fs::OpenOptions::new().create(true).append(true).open(folder.join("server.log"))?;
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
    command.spawn().context("redis-server")
}

/// An authority and a certificate for `localhost` in PEM files.
fn certificates(folder: &Path) -> Result<()> {
    let mut authority = CertificateParams::new(Vec::new())?;
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    // Another name than the server's: else its certificate would look as if it had signed itself.
    authority.distinguished_name.push(DnType::CommonName, "private test authority");
    let authority = CertifiedIssuer::self_signed(authority, KeyPair::generate()?)?;
    let key = KeyPair::generate()?;
    let server = CertificateParams::new(["localhost".to_owned(), "127.0.0.1".to_owned()])?
        .signed_by(&key, &authority)?;
    std::fs::write(folder.join("ca.pem"), authority.pem())?;
    std::fs::write(folder.join("server.pem"), server.pem())?;
    std::fs::write(folder.join("server.key"), key.serialize_pem())?;
    Ok(())
}

/// Where distributions and package managers put it.
fn program() -> Option<PathBuf> {
    let folders = ["/usr/bin", "/usr/local/bin", "/usr/sbin", "/opt/homebrew/bin"];
    let names = ["redis-server", "valkey-server"];
    let mut paths =
        names.iter().flat_map(|name| folders.iter().map(move |folder| Path::new(folder).join(name)));
    paths.find(|path| path.is_file())
}
