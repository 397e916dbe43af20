//! Secrets by reference: read once at start from Secrets Manager, and only where the configuration names them, so that no key stands in
//! a function's environment.

use anyhow::{Context, bail};
use aws_sdk_secretsmanager::Client;
use aws_smithy_http_client::Builder;
use aws_smithy_http_client::tls::Provider;
use aws_smithy_http_client::tls::rustls_provider::CryptoMode;
use llm::Secret;
use serde::Deserialize;
use url::Url;

use crate::config::Config;

/// What RDS writes into a secret of its own.
#[derive(Deserialize)]
struct Login {
    username: String,
    password: String,
}

/// The configuration with what its references lead to. Does nothing where there is none.
///
/// # Errors
/// A secret that can't be read, or that holds something else; the message names the variable, never the content.
pub async fn resolve(mut config: Config) -> anyhow::Result<Config> {
    let has_references = config.stores.database_secret.is_some()
        || config.model.as_ref().is_some_and(|model| {
            let fallback = model.fallback.as_ref().and_then(|fallback| fallback.key_secret.as_ref());
            model.first.key_secret.is_some() || fallback.is_some()
        });
    if !has_references {
        return Ok(config);
    }
    let client = client().await;
    if let Some(model) = &mut config.model {
        for provider in std::iter::once(&mut model.first).chain(model.fallback.as_mut()) {
            if let Some(reference) = provider.key_secret.take() {
                let text = read(&client, &reference).await.context("MODEL_API_KEY_SECRET_ARN")?;
                provider.endpoint.api_key = Secret::new(api_key(&text)?);
            }
        }
    }
    if let Some(reference) = config.stores.database_secret.take() {
        let text = read(&client, &reference).await.context("DATABASE_SECRET_ARN")?;
        config.stores.database_url = with_login(&config.stores.database_url, &text)?;
    }
    Ok(config)
}

async fn client() -> Client {
    let http = Builder::new().tls_provider(Provider::Rustls(CryptoMode::Ring)).build_https();
    let loaded =
        aws_config::defaults(aws_config::BehaviorVersion::v2026_01_12()).http_client(http).load().await;
    Client::new(&loaded)
}

async fn read(client: &Client, reference: &str) -> anyhow::Result<String> {
    let answer = client.get_secret_value().secret_id(reference).send().await;
    // The SDK's chain names the operation and the service's code, never a content.
    let answer = answer.map_err(anyhow::Error::new).context("the secret can't be read")?;
    answer.secret_string().map(str::to_owned).context("the secret has no text")
}

/// The text itself, or the one value of a JSON object, as consoles make them.
fn api_key(text: &str) -> anyhow::Result<String> {
    let Ok(serde_json::Value::Object(fields)) = serde_json::from_str(text) else {
        return Ok(text.trim().to_owned());
    };
    let mut values = fields.values().filter_map(serde_json::Value::as_str);
    match (values.next(), values.next()) {
        (Some(key), None) => Ok(key.trim().to_owned()),
        _ => bail!(
            "MODEL_API_KEY_SECRET_ARN: the secret must be the key, or a JSON object with the key as its only value"
        ),
    }
}

fn with_login(url: &str, text: &str) -> anyhow::Result<String> {
    const RIGHT: &str = "DATABASE_SECRET_ARN: the secret must be a JSON object with username and password";
    let login: Login = serde_json::from_str(text).map_err(|_| anyhow::anyhow!(RIGHT))?;
    let mut url = Url::parse(url).context("DATABASE_URL must be a URL")?;
    let set = url.set_username(&login.username).and_then(|()| url.set_password(Some(&login.password)));
    set.map_err(|()| anyhow::anyhow!("DATABASE_URL must have a host"))?;
    Ok(url.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_the_text_or_the_only_value() {
        assert_eq!(api_key(" sk-fake \n").unwrap(), "sk-fake");
        assert_eq!(api_key(r#"{"api_key":"sk-fake"}"#).unwrap(), "sk-fake");
        for wrong in [r#"{"a":"sk-fake-1","b":"sk-fake-2"}"#, "{}", r#"{"a":1}"#] {
            let told = api_key(wrong).unwrap_err().to_string();
            assert!(!told.contains("sk-fake"), "{told}");
        }
    }

    #[test]
    fn a_login_is_put_into_the_address_whatever_it_is_made_of() {
        let url = with_login(
            "mysql://db.example:3306/superbiz?ssl-mode=VERIFY_CA",
            r#"{"username":"app","password":"p@ss/w:rd#%","host":"x"}"#,
        );
        let url = Url::parse(&url.unwrap()).unwrap();
        assert_eq!((url.username(), url.host_str(), url.port()), ("app", Some("db.example"), Some(3306)));
        assert_eq!(url.password(), Some("p%40ss%2Fw%3Ard%23%"), "encoded, so that the rest stays the rest");
        let told = with_login("mysql://h/s", r#"{"password":"fake-password"}"#).unwrap_err().to_string();
        assert!(told.contains("username and password") && !told.contains("fake-password"), "{told}");
    }
}
