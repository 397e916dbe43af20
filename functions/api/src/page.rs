//! The web page: static files embedded in the binary, served under a policy that lets nothing else run.

use edge::problem::Problem;
use http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY};
use http::{HeaderValue, Response};
use lambda_http::Body;

const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

macro_rules! assets {
    ($($name:literal: $media_type:literal),* $(,)?) => {
        /// Name, media type, content.
        const ASSETS: &[(&str, &str, &str)] = &[$(($name, $media_type, include_str!(concat!("../web/", $name)))),*];
    };
}

assets! {
    "index.html": "text/html; charset=utf-8",
}

pub fn asset(name: &str) -> Result<Response<Body>, Problem> {
    let (_, media_type, content) = ASSETS.iter().find(|(known, ..)| *known == name).ok_or_else(Problem::not_found)?;
    let mut response = Response::new(Body::from(*content));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    headers.insert("x-content-type-options", HeaderValue::from_static("nosniff"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    // Assets change with the binary and have no versioned names: ask again each time.
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    Ok(response)
}
