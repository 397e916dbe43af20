//! Every response of the api function against the document that it serves itself: a status that isn't documented, another media
//! type, or a body that breaks its schema fails the test that saw it.

use std::collections::HashMap;

use anyhow::{Context, bail};
use jsonschema::Validator;
use reqwest::Response;
use serde_json::{Value, json};
use testkit::sse::loopback_client;
use tokio::sync::OnceCell;

/// The document is the binary's: one for all tests.
static CONTRACT: OnceCell<Contract> = OnceCell::const_new();

struct Contract {
    document: Value,
    /// By the pointer to the schema.
    validators: HashMap<String, Validator>,
}

/// Statuses of paths or methods that there aren't are nobody's contract.
async fn check(
    url: &str,
    method: &str,
    path: &str,
    status: u16,
    media: &str,
    body: &Value,
) -> anyhow::Result<()> {
    let contract = CONTRACT.get_or_try_init(|| Contract::of(url)).await?;
    contract
        .check(method, path, status, media, body)
        .with_context(|| format!("{method} {path}: {status} {body}"))
}

/// The same response, checked.
pub async fn checked(url: &str, method: &str, path: &str, response: Response) -> anyhow::Result<Response> {
    let media = media_type(&response);
    let mut whole = http::Response::new(());
    *whole.status_mut() = response.status();
    *whole.headers_mut() = response.headers().clone();
    let bytes = response.bytes().await?;
    let json = if bytes.is_empty() {
        Value::Null
    } else {
        serde_json::from_slice(&bytes).unwrap_or_else(|_| json!(String::from_utf8_lossy(&bytes)))
    };
    check(url, method, path, whole.status().as_u16(), &media, &json).await?;
    Ok(Response::from(whole.map(|()| bytes)))
}

/// The media type of a response with its parameters.
fn media_type(response: &Response) -> String {
    let value = response.headers().get(reqwest::header::CONTENT_TYPE);
    value.and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned()
}

impl Contract {
    async fn of(url: &str) -> anyhow::Result<Self> {
        let document: Value =
            loopback_client()?.get(format!("{url}/openapi.json")).send().await?.json().await?;
        let mut validators = HashMap::new();
        for (path, methods) in document["paths"].as_object().context("no paths")? {
            for (method, operation) in methods.as_object().context("no methods")? {
                for (status, answer) in operation["responses"].as_object().context("no responses")? {
                    for (media, content) in answer["content"].as_object().into_iter().flatten() {
                        let schema =
                            json!({ "allOf": [content["schema"]], "components": document["components"] });
                        let validator = jsonschema::options().should_validate_formats(true).build(&schema);
                        let validator = validator.map_err(|fault| anyhow::anyhow!("{path}: {fault}"))?;
                        validators.insert(format!("{method} {path} {status} {media}"), validator);
                    }
                }
            }
        }
        Ok(Self { document, validators })
    }

    fn check(&self, method: &str, path: &str, status: u16, media: &str, body: &Value) -> anyhow::Result<()> {
        let method = method.to_lowercase();
        let path = path.split('?').next().unwrap_or_default();
        let paths = self.document["paths"].as_object().context("no paths")?;
        let fits = |template: &str| {
            let (parts, found): (Vec<_>, Vec<_>) = (template.split('/').collect(), path.split('/').collect());
            let is =
                |(part, found): (&&str, &&str)| part == found || (part.starts_with('{') && !found.is_empty());
            parts.len() == found.len() && parts.iter().zip(&found).all(is)
        };
        let Some((template, methods)) = paths.iter().find(|(template, _)| fits(template)) else {
            return Ok(());
        };
        let Some(operation) = methods.get(&method) else { return Ok(()) };
        let answer =
            operation["responses"].get(status.to_string()).context("this status isn't documented")?;
        let media = media.split(';').next().unwrap_or_default().trim();
        let Some(contents) = answer["content"].as_object() else {
            return if body.is_null() { Ok(()) } else { bail!("a body where none is documented") };
        };
        let media = if contents.contains_key("*/*") { "*/*" } else { media };
        if !contents.contains_key(media) {
            bail!("{media:?} isn't documented");
        }
        let validator =
            self.validators.get(&format!("{method} {template} {status} {media}")).context("no schema")?;
        let faults: Vec<String> =
            validator.iter_errors(body).map(|fault| format!("{}: {fault}", fault.instance_path())).collect();
        if faults.is_empty() { Ok(()) } else { bail!(faults.join("; ")) }
    }
}
