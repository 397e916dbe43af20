//! Where a provider is and what opens it.

use std::fmt;

use reqwest::header::HeaderValue;
use url::Url;

use crate::price::Price;
use crate::profile::Profile;

/// A credential. It has no `Display` and its `Debug` says nothing, so that it can't reach a log by accident.
#[derive(Clone, Default)]
pub struct Secret(String);

impl Secret {
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// `prefix` and the secret as a header value that HTTP code must not print either.
    pub(crate) fn header(&self, prefix: &str) -> Result<HeaderValue, InvalidEndpoint> {
        let mut value =
            HeaderValue::try_from(format!("{prefix}{}", self.0)).map_err(|_| InvalidEndpoint::ApiKey)?;
        value.set_sensitive(true);
        Ok(value)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_empty() { "Secret(none)" } else { "Secret(redacted)" })
    }
}

/// One provider and one of its models.
#[derive(Debug, Clone)]
pub struct Endpoint {
    /// `http://` or `https://`, ending before `/chat/completions` or `/messages`.
    pub base_url: String,
    pub model: String,
    /// Empty for a server that asks for none.
    pub api_key: Secret,
    /// What is known of the provider; `None` leaves it to the address.
    pub profile: Option<&'static Profile>,
    /// What it costs, if that is known.
    pub price: Option<Price>,
}

/// Why an endpoint can't be used. Names the part, never its value: a URL may hold a password.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidEndpoint {
    #[error("the base URL must be an absolute http:// or https:// URL")]
    BaseUrl,
    #[error("the base URL must not carry a user, a password, a query or a fragment")]
    BaseUrlExtras,
    #[error("the model name is empty")]
    ModelName,
    #[error("the API key has characters that no HTTP header may carry")]
    ApiKey,
}

impl Endpoint {
    /// Of a provider that its address tells, at no known price.
    pub fn new(base_url: impl Into<String>, model: impl Into<String>, api_key: Secret) -> Self {
        Self { base_url: base_url.into(), model: model.into(), api_key, profile: None, price: None }
    }

    /// The URL of `path` under the base URL.
    pub(crate) fn url(&self, path: &str) -> Result<Url, InvalidEndpoint> {
        if self.model.trim().is_empty() {
            return Err(InvalidEndpoint::ModelName);
        }
        let mut url = Url::parse(self.base_url.trim()).map_err(|_| InvalidEndpoint::BaseUrl)?;
        if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
            return Err(InvalidEndpoint::BaseUrl);
        }
        let bare = url.username().is_empty() && url.password().is_none();
        if !bare || url.query().is_some() || url.fragment().is_some() {
            return Err(InvalidEndpoint::BaseUrlExtras);
        }
        let joined = format!("{}/{path}", url.path().trim_end_matches('/'));
        url.set_path(&joined);
        Ok(url)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn endpoint(base_url: &str) -> Endpoint {
        Endpoint::new(base_url, "m", Secret::new("sk-fake"))
    }

    #[test]
    fn the_path_is_added_once_whatever_the_base_ends_with() {
        for base in ["https://llm.example/v1", "https://llm.example/v1/", " https://llm.example/v1// "] {
            let url = endpoint(base).url("chat/completions").unwrap();
            assert_eq!(url.as_str(), "https://llm.example/v1/chat/completions");
        }
        let bare = endpoint("http://127.0.0.1:9").url("chat/completions").unwrap();
        assert_eq!(bare.as_str(), "http://127.0.0.1:9/chat/completions");
    }

    #[test]
    fn what_is_no_plain_http_url_is_refused_by_part() {
        for base in ["", "llm.example/v1", "ftp://llm.example", "file:///etc/hosts"] {
            assert_eq!(endpoint(base).url("x"), Err(InvalidEndpoint::BaseUrl), "{base}");
        }
        for base in ["https://u:p@llm.example", "https://llm.example/?a=1", "https://llm.example/#f"] {
            assert_eq!(endpoint(base).url("x"), Err(InvalidEndpoint::BaseUrlExtras), "{base}");
        }
    }

    #[test]
    fn a_secret_is_never_printed() {
        let printed =
            format!("{:?} {:?}", endpoint("https://llm.example"), Secret::new("sk-fake").header("Bearer "));
        assert!(!printed.contains("sk-fake"), "{printed}");
        assert_eq!(Secret::new("a\nb").header("Bearer ").unwrap_err(), InvalidEndpoint::ApiKey);
    }
}
