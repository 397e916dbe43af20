//! What an emulator is told: the functions, the shape of their events, and how faithful to Lambda it is.

use std::path::PathBuf;
use std::time::Duration;

/// Which event a request becomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventShape {
    /// Payload format 2.0: function URLs and HTTP APIs.
    FunctionUrlV2,
    /// Payload format 1.0: API Gateway REST proxy integration.
    RestProxyV1,
}

/// How header names are written in the event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeaderCase {
    /// Lower case in shape v2, `Title-Case` in shape v1.
    AsGateway,
    Lower,
    Title,
    Upper,
}

/// How a request's body is written in the event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodyEncoding {
    /// Text stays text, anything else is Base64.
    AsGateway,
    AlwaysBase64,
}

/// The value of `lambda-runtime-deadline-ms`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeadlineHeader {
    /// The moment of handing over plus the function's timeout.
    Real,
    /// A constant in milliseconds since 1970: what an emulator without deadlines sends.
    Constant(u64),
}

/// One Lambda function: a binary and its settings.
#[derive(Debug, Clone)]
pub struct FunctionConfig {
    pub name: String,
    pub binary: PathBuf,
    /// Besides these the process sees only what Lambda sets; nothing of this process's environment.
    pub environment: Vec<(String, String)>,
    pub memory_mb: u32,
    /// Of one invocation, counted from the moment the function gets the event.
    pub timeout: Duration,
}

impl FunctionConfig {
    /// A function of 512 MB and 120 s without any environment of its own.
    pub fn new(name: impl Into<String>, binary: impl Into<PathBuf>) -> Self {
        Self {
            name: name.into(),
            binary: binary.into(),
            environment: Vec::new(),
            memory_mb: 512,
            timeout: Duration::from_secs(120),
        }
    }

    pub fn env(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.environment.push((name.into(), value.into()));
        self
    }

    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }
}

/// Settings of an emulator. Start from [`EmulatorConfig::new`] and change fields.
#[derive(Debug, Clone)]
pub struct EmulatorConfig {
    pub functions: Vec<FunctionConfig>,
    /// Exact path → function name, for every method.
    pub routes: Vec<(String, String)>,
    /// The function behind every other path.
    pub default_function: String,
    pub shape: EventShape,
    pub header_case: HeaderCase,
    pub body_encoding: BodyEncoding,
    pub deadline: DeadlineHeader,
    /// The stage name in v1 events, also the first segment of `requestContext.path`.
    pub stage: String,
    /// Kill the sandbox when an invocation exceeds its function's timeout.
    pub enforce_timeout: bool,
    /// `false` as on AWS: a function isn't told that its client has left. `true` as `cargo lambda watch`:
    /// the connection on which the function sends its response is closed. A function notices at its next
    /// write.
    pub propagate_disconnect: bool,
    /// Stop the process between invocations, as Lambda does: work that goes on after the last frame then
    /// stands still.
    pub freeze_idle: bool,
    /// Sandboxes a function may have; a request beyond is throttled with 429.
    pub max_sandboxes: usize,
    /// Longest time from exec to the first poll.
    pub init_timeout: Duration,
    /// Also set the variables that only real Lambda sets (`AWS_LAMBDA_INITIALIZATION_TYPE`,
    /// `LAMBDA_TASK_ROOT`, `LAMBDA_RUNTIME_DIR`, `AWS_REGION`, `AWS_DEFAULT_REGION`). `AWS_EXECUTION_ENV`
    /// doesn't exist in OS-only runtimes.
    pub real_lambda_variables: bool,
    /// Acknowledge every segment of a function at once. The function's HTTP client leaves Nagle's algorithm
    /// on, so with the kernel's delayed ACKs its frames come up to some 40 ms late and merge.
    pub quick_ack: bool,
}

impl EmulatorConfig {
    /// The routes of local development (`/api/chat` → `chat`, everything else → `api`), v2 events, AWS's
    /// behaviour.
    pub fn new(functions: Vec<FunctionConfig>) -> Self {
        Self {
            functions,
            routes: vec![("/api/chat".to_owned(), "chat".to_owned())],
            default_function: "api".to_owned(),
            shape: EventShape::FunctionUrlV2,
            header_case: HeaderCase::AsGateway,
            body_encoding: BodyEncoding::AsGateway,
            deadline: DeadlineHeader::Real,
            stage: "prod".to_owned(),
            enforce_timeout: true,
            propagate_disconnect: false,
            freeze_idle: false,
            max_sandboxes: 10,
            init_timeout: Duration::from_secs(10),
            real_lambda_variables: false,
            quick_ack: false,
        }
    }

    /// The function that answers `path`.
    pub fn function_for(&self, path: &str) -> &str {
        self.routes
            .iter()
            .find(|(route, _)| route == path)
            .map_or(self.default_function.as_str(), |(_, function)| function)
    }
}
