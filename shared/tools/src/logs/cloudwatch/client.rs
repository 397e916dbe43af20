//! The CloudWatch Logs client: region, credentials and endpoint as every AWS tool finds them; short times.

use std::time::Duration;

use aws_config::retry::RetryConfig;
use aws_config::timeout::TimeoutConfig;
use aws_config::{BehaviorVersion, Region};
use aws_sdk_cloudwatchlogs::Client;
use aws_smithy_http_client::Builder;
use aws_smithy_http_client::tls::Provider;
use aws_smithy_http_client::tls::rustls_provider::CryptoMode;

/// Attempts of one call; throttling beyond them is waited out by the query itself.
const ATTEMPTS: u32 = 3;
const FIRST_BACKOFF: Duration = Duration::from_millis(100);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
const OPERATION_TIMEOUT: Duration = Duration::from_secs(5);

pub async fn build(region: Option<&str>) -> Client {
    let version = BehaviorVersion::v2026_01_12();
    let timeouts =
        TimeoutConfig::builder().connect_timeout(CONNECT_TIMEOUT).operation_timeout(OPERATION_TIMEOUT);
    let retries = RetryConfig::standard().with_max_attempts(ATTEMPTS).with_initial_backoff(FIRST_BACKOFF);
    let mut loader = aws_config::defaults(version)
        .http_client(Builder::new().tls_provider(Provider::Rustls(CryptoMode::Ring)).build_https())
        .timeout_config(timeouts.build())
        .retry_config(retries);
    if let Some(region) = region {
        loader = loader.region(Region::new(region.to_owned()));
    }
    Client::new(&loader.load().await)
}
