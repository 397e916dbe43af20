//! The DynamoDB client: region, credentials and endpoint as every AWS tool finds them; few attempts, short
//! times.

use std::time::Duration;

use aws_config::retry::RetryConfig;
use aws_config::timeout::TimeoutConfig;
use aws_config::{BehaviorVersion, Region};
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::Config;
use aws_sdk_dynamodb::config::{Credentials, SharedHttpClient};
use aws_smithy_http_client::Builder;
use aws_smithy_http_client::tls::Provider;
use aws_smithy_http_client::tls::rustls_provider::CryptoMode;

/// Attempts of one call, the first included: the run's deadline must not go into retries.
const ATTEMPTS: u32 = 2;
const FIRST_BACKOFF: Duration = Duration::from_millis(50);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);
/// One call, its attempts and the waits between them included.
const OPERATION_TIMEOUT: Duration = Duration::from_secs(2);
/// An emulator shares its machine with builds and tests.
const EMULATOR_TIMEOUT: Duration = Duration::from_secs(20);

/// Where the table is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Endpoint {
    /// Found by the SDK (environment, profile, role). A known `http://` endpoint (from
    /// `AWS_ENDPOINT_URL_DYNAMODB`) is passed here to spare the reading of root certificates; the SDK would
    /// find it, too.
    Aws { endpoint_url: Option<String> },
    /// An emulator at this URL, with a fixed region and credentials that are none. Looks at nothing else.
    Emulator { endpoint_url: String },
}

pub(super) async fn build(endpoint: &Endpoint) -> Client {
    let version = BehaviorVersion::v2026_01_12();
    let retries = RetryConfig::standard().with_max_attempts(ATTEMPTS).with_initial_backoff(FIRST_BACKOFF);
    match endpoint {
        Endpoint::Aws { endpoint_url } => {
            let loader = aws_config::defaults(version)
                .http_client(http_client(endpoint_url.as_deref()))
                .timeout_config(timeouts(OPERATION_TIMEOUT))
                .retry_config(retries);
            let loader = match endpoint_url {
                Some(url) => loader.endpoint_url(url),
                None => loader,
            };
            Client::new(&loader.load().await)
        }
        Endpoint::Emulator { endpoint_url } => Client::from_conf(
            Config::builder()
                .behavior_version(version)
                .region(Region::from_static("us-east-1"))
                .credentials_provider(Credentials::new("emulator", "emulator", None, None, "emulator"))
                .endpoint_url(endpoint_url)
                .http_client(http_client(Some(endpoint_url)))
                .timeout_config(timeouts(EMULATOR_TIMEOUT))
                .retry_config(retries)
                .build(),
        ),
    }
}

fn timeouts(operation: Duration) -> TimeoutConfig {
    TimeoutConfig::builder().connect_timeout(CONNECT_TIMEOUT).operation_timeout(operation).build()
}

/// A client for `https://` reads the system's root certificates once; one for a plain endpoint has no use for
/// them.
fn http_client(endpoint_url: Option<&str>) -> SharedHttpClient {
    match endpoint_url {
        Some(url) if url.starts_with("http://") => Builder::new().build_http(),
        _ => Builder::new().tls_provider(Provider::Rustls(CryptoMode::Ring)).build_https(),
    }
}
