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
    "api.js": "text/javascript; charset=utf-8",
    "app.css": "text/css; charset=utf-8",
    "app.js": "text/javascript; charset=utf-8",
    "dom.js": "text/javascript; charset=utf-8",
    "follow.js": "text/javascript; charset=utf-8",
    "format.js": "text/javascript; charset=utf-8",
    "i18n.js": "text/javascript; charset=utf-8",
    "index.html": "text/html; charset=utf-8",
    "messages.js": "text/javascript; charset=utf-8",
    "run.js": "text/javascript; charset=utf-8",
    "sse.js": "text/javascript; charset=utf-8",
    "storage.js": "text/javascript; charset=utf-8",
    "view-ask.js": "text/javascript; charset=utf-8",
    "view-chart.js": "text/javascript; charset=utf-8",
    "view-document.js": "text/javascript; charset=utf-8",
    "view-documents.js": "text/javascript; charset=utf-8",
    "view-editor.js": "text/javascript; charset=utf-8",
    "view-evidence.js": "text/javascript; charset=utf-8",
    "view-feedback.js": "text/javascript; charset=utf-8",
    "view-history.js": "text/javascript; charset=utf-8",
    "view-problem.js": "text/javascript; charset=utf-8",
    "view-report.js": "text/javascript; charset=utf-8",
    "view-run.js": "text/javascript; charset=utf-8",
    "view-search.js": "text/javascript; charset=utf-8",
    "view-timeline.js": "text/javascript; charset=utf-8",
    "view-trace.js": "text/javascript; charset=utf-8",
}

pub fn asset(name: &str) -> Result<Response<Body>, Problem> {
    let (_, media_type, content) =
        ASSETS.iter().find(|(known, ..)| *known == name).ok_or_else(Problem::not_found)?;
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

#[cfg(test)]
mod tests {
    use super::*;

    fn known(name: &str) -> bool {
        ASSETS.iter().any(|(known, ..)| *known == name)
    }

    #[test]
    fn every_file_is_listed_and_every_reference_leads_to_one() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("web");
        let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
        let files: Vec<String> = files.map(|name| name.into_string().unwrap()).collect();
        assert!(files.iter().all(|name| known(name)), "not listed: {files:?}");
        let mut references = 0;
        for (file, _, content) in ASSETS {
            let separator = if file.ends_with(".js") { "\"./" } else { "\"/assets/" };
            for rest in content.split(separator).skip(1) {
                let name = rest.split('"').next().unwrap();
                assert!(known(name), "{file} refers to {name}");
                references += 1;
            }
        }
        assert!(references > 20, "the search found only {references} references");
    }
}
