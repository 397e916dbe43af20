//! The HTTP client: addresses, the key, time limits, and every failure in clear words.

use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use reqwest::{Method, RequestBuilder, Response, StatusCode, Url};
use serde_json::Value;

use crate::cause::{hung_up, root_cause, tls_cause};
use crate::exit::{Fault, Lost};
use crate::plain::one_line;
use crate::refusal::refusal;

/// Silence longer than this is a dead stream: the service sends a keep-alive every 10 s.
const SILENCE: Duration = Duration::from_secs(45);
const CONNECT: Duration = Duration::from_secs(5);
/// For everything but the event stream; a cold start and a long document fit.
const WHOLE: Duration = Duration::from_secs(30);
/// For the readiness check, which asks the model itself.
const READY: Duration = Duration::from_secs(12);
/// Bytes of a buffered answer at most.
const MAX_BODY: usize = 32 * 1024 * 1024;
const MAX_REFUSAL: usize = 64 * 1024;

pub struct Api {
    http: reqwest::Client,
    base: Url,
    key: Option<HeaderValue>,
}

impl Api {
    pub fn new(url: &str, key: Option<&str>) -> Result<Self, Fault> {
        let base =
            Url::parse(url).ok().filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
        let base = base.ok_or_else(|| {
            Fault::usage(format!("`{url}` is no address; give one such as https://superbiz.example.com"))
        })?;
        let bearer = |key: &str| {
            let mut value = HeaderValue::try_from(format!("Bearer {key}"))
                .ok()
                .filter(|_| !key.is_empty() && key.bytes().all(|b| b.is_ascii_graphic()))?;
            value.set_sensitive(true);
            Some(value)
        };
        let key = key
            .map(|key| bearer(key).ok_or_else(|| Fault::usage("the API key has characters that no key has")));
        let http = http(&base).map_err(|error| Fault::usage(format!("no HTTP client: {error}")))?;
        Ok(Self { http, base, key: key.transpose()? })
    }

    /// Whether the key would cross a network in the clear.
    pub fn tells_key(&self) -> bool {
        self.key.is_some() && self.base.scheme() == "http" && !is_local(&self.base)
    }

    /// The address of a path, its segments encoded.
    pub fn at(&self, path: &[&str]) -> Url {
        let mut url = self.base.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(path);
        }
        url.set_query(None);
        url
    }

    pub fn of_run(&self, run: &str, rest: &[&str]) -> Url {
        self.at(&[&["api", "runs", run], rest].concat())
    }

    fn request(&self, method: Method, url: Url) -> RequestBuilder {
        let request = self.http.request(method, url);
        match &self.key {
            Some(key) => request.header(AUTHORIZATION, key),
            None => request,
        }
    }

    /// Starts a run; the response is its event stream.
    pub async fn chat(&self, body: &str, idempotency_key: &str) -> Result<Response, Fault> {
        let request = self.request(Method::POST, self.at(&["api", "chat"]));
        let request = request
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "text/event-stream")
            .header("idempotency-key", idempotency_key);
        request.body(body.to_owned()).send().await.map_err(|error| self.lost(error))
    }

    /// One JSON answer.
    pub async fn get(&self, url: Url) -> Result<Value, Fault> {
        self.json(self.request(Method::GET, url)).await
    }

    /// Sends a JSON body; an answer without one is null.
    pub async fn send(&self, method: Method, url: Url, body: Option<&Value>) -> Result<Value, Fault> {
        self.send_if(method, url, None, body).await
    }

    /// [`Api::send`] under a precondition: a header's name and value.
    pub async fn send_if(
        &self,
        method: Method,
        url: Url,
        condition: Option<(&'static str, String)>,
        body: Option<&Value>,
    ) -> Result<Value, Fault> {
        let mut request = self.request(method, url);
        if let Some((name, value)) = condition {
            request = request.header(name, value);
        }
        if let Some(body) = body {
            request = request.header(CONTENT_TYPE, "application/json").body(body.to_string());
        }
        self.json(request).await
    }

    async fn json(&self, request: RequestBuilder) -> Result<Value, Fault> {
        let request = request.header(ACCEPT, "application/json").timeout(WHOLE);
        let response = request.send().await.map_err(|error| self.lost(error))?;
        let response = self.accepted(response).await?;
        if response.status() == StatusCode::NO_CONTENT {
            return Ok(Value::Null);
        }
        self.body(response).await
    }

    /// What the service says of its dependencies, whatever its status says.
    pub async fn ready(&self) -> Option<Value> {
        let request = self.request(Method::GET, self.at(&["api", "health", "ready"]));
        let response = request.timeout(READY).send().await.ok()?;
        self.body(response).await.ok()
    }

    async fn body(&self, response: Response) -> Result<Value, Fault> {
        let kind = media_type(&response);
        let bytes = self.bytes(response, MAX_BODY).await?;
        serde_json::from_slice(&bytes)
            .map_err(|_| self.not_ours(&format!("something that is not JSON ({kind})")))
    }

    async fn bytes(&self, mut response: Response, max: usize) -> Result<Vec<u8>, Fault> {
        let mut bytes = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| self.lost(error))? {
            if bytes.len() + chunk.len() > max {
                return Err(self.not_ours(&format!("more than {max} bytes")));
            }
            bytes.extend_from_slice(&chunk);
        }
        Ok(bytes)
    }

    /// The response if it is a success, or else the refusal that it is.
    pub async fn accepted(&self, response: Response) -> Result<Response, Fault> {
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        if status.is_redirection() {
            let to =
                response.headers().get("location").and_then(|to| to.to_str().ok()).unwrap_or("elsewhere");
            let to = one_line(to);
            return Err(Fault::for_good(format!(
                "{} points to {to}; name that address by --url",
                self.origin()
            )));
        }
        let retry_after = response.headers().get(RETRY_AFTER);
        let retry_after =
            retry_after.and_then(|value| value.to_str().ok()).and_then(|text| text.trim().parse().ok());
        let bytes = self.bytes(response, MAX_REFUSAL).await.unwrap_or_default();
        Err(refusal(status, &bytes, retry_after).map_or_else(
            || Fault::unexplained(format!("{} answered {status} and no reason", self.origin())),
            |problem| Fault::Refused(Box::new(problem)),
        ))
    }

    pub fn not_ours(&self, what: &str) -> Fault {
        Fault::for_good(format!("{} answered {what}; is it the address of the service?", self.origin()))
    }

    /// Scheme, host and port: an address without what may be secret in it.
    pub fn origin(&self) -> String {
        self.base.origin().ascii_serialization()
    }

    /// A failed request or a broken answer, in clear words.
    pub fn lost(&self, error: reqwest::Error) -> Fault {
        let origin = self.origin();
        if let Some(tls) = tls_cause(&error) {
            let hint = match tls {
                rustls::Error::InvalidMessage(_) => "; does it speak https? try http://",
                rustls::Error::InvalidCertificate(_) => {
                    "; only certificates of public authorities are trusted"
                }
                _ => "",
            };
            return Fault::for_good(format!("no secure connection to {origin}: {tls}{hint}"));
        }
        let cause = one_line(&root_cause(&error));
        if error.is_connect() && self.base.scheme() == "https" && hung_up(&error) {
            return Fault::for_good(format!(
                "no secure connection to {origin}: it hung up; does it speak https? try http://"
            ));
        }
        if error.is_connect() {
            let hint = if is_local(&self.base) { "is `make dev` running?" } else { "is the address right?" };
            return Fault::Lost {
                text: format!("{origin} is not reachable ({cause}); {hint}"),
                how: Lost::Unreachable,
            };
        }
        if error.is_timeout() {
            return Fault::broken(format!("{origin} did not answer in time"));
        }
        Fault::broken(format!("the connection to {origin} broke off ({cause})"))
    }
}

fn http(base: &Url) -> Result<reqwest::Client, Box<dyn std::error::Error>> {
    let roots = rustls::RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    let tls = rustls::ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    // A redirect could carry the key or the question elsewhere, or turn a POST into a GET: it is told, not followed.
    let builder = reqwest::Client::builder()
        .tls_backend_preconfigured(tls)
        .redirect(reqwest::redirect::Policy::none())
        .user_agent(concat!("superbiz/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(CONNECT)
        .read_timeout(SILENCE);
    Ok(if is_local(base) { builder.no_proxy() } else { builder }.build()?)
}

fn is_local(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let ip = host.trim_matches(['[', ']']).parse::<std::net::IpAddr>();
    host == "localhost" || ip.is_ok_and(|ip| ip.is_loopback())
}

pub fn media_type(response: &Response) -> String {
    let value =
        response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or("no type");
    value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_encoded_below_the_base() {
        let api = Api::new("http://h:1/stage/", None).unwrap();
        assert_eq!(api.of_run("a/b c", &["trace"]).as_str(), "http://h:1/stage/api/runs/a%2Fb%20c/trace");
        assert_eq!(Api::new("http://u:p@h", None).unwrap().origin(), "http://h");
        for bad in ["", "h:9000", "ftp://h", "/x"] {
            assert!(matches!(Api::new(bad, None), Err(Fault::Usage(_))), "{bad}");
        }
        assert!(matches!(Api::new("http://h", Some("a\nb")), Err(Fault::Usage(_))));
    }

    #[test]
    fn a_key_in_the_clear_is_noticed() {
        for (url, tells) in
            [("http://h", true), ("https://h", false), ("http://127.0.0.1:1", false), ("http://[::1]", false)]
        {
            assert_eq!(Api::new(url, Some("k")).unwrap().tells_key(), tells, "{url}");
        }
        assert!(!Api::new("http://h", None).unwrap().tells_key());
    }
}
