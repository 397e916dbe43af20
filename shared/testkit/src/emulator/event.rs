//! An HTTP request as the JSON event that the gateway in front of a function makes of it.

use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

use axum::http::request::Parts;
use axum::http::{HeaderMap, header};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use serde_json::{Map, Value, json};
use time::OffsetDateTime;
use time::macros::format_description;

use super::config::{BodyEncoding, EmulatorConfig, EventShape, HeaderCase};

const API_ID: &str = "emulated00";
const ACCOUNT_ID: &str = "000000000000";
const CLIENT_IP: &str = "127.0.0.1";

/// The event of one request. The path and the v2 query string stay percent-encoded as the client sent them.
pub(super) fn event(config: &EmulatorConfig, parts: &Parts, body: &Bytes, request_id: &str) -> Value {
    let request = Request {
        parts,
        headers: headers(config, &parts.headers),
        query: query_pairs(parts),
        host: text(&parts.headers, &header::HOST).unwrap_or("localhost").to_owned(),
        user_agent: text(&parts.headers, &header::USER_AGENT).unwrap_or_default().to_owned(),
        request_id,
        now: SystemTime::now(),
    };
    let (body, is_base64) = encode_body(config, &parts.headers, body);
    let mut event = match config.shape {
        EventShape::FunctionUrlV2 => request.v2(),
        EventShape::RestProxyV1 => request.v1(&config.stage),
    };
    // A missing body is absent in v2 and null in v1.
    if body.is_some() || config.shape == EventShape::RestProxyV1 {
        event.insert("body".to_owned(), body.map_or(Value::Null, Value::String));
    }
    event.insert("isBase64Encoded".to_owned(), is_base64.into());
    Value::Object(event)
}

struct Request<'a> {
    parts: &'a Parts,
    /// In order of arrival, one pair per value, names in the wanted case.
    headers: Vec<(String, String)>,
    query: Vec<(String, String)>,
    host: String,
    user_agent: String,
    request_id: &'a str,
    now: SystemTime,
}

impl Request<'_> {
    fn v2(&self) -> Map<String, Value> {
        let cookies = self
            .headers
            .iter()
            .filter(|(name, _)| name.eq_ignore_ascii_case("cookie"))
            .flat_map(|(_, value)| value.split(';').map(|cookie| cookie.trim().to_owned()))
            .collect::<Vec<_>>();
        let headers = self.headers.iter().filter(|(name, _)| !name.eq_ignore_ascii_case("cookie"));
        let mut event = object(json!({
            "version": "2.0",
            "routeKey": "$default",
            "rawPath": self.parts.uri.path(),
            "rawQueryString": self.parts.uri.query().unwrap_or_default(),
            "headers": joined(headers),
            "requestContext": {
                "accountId": "anonymous",
                "apiId": API_ID,
                "domainName": self.host,
                "domainPrefix": API_ID,
                "http": {
                    "method": self.parts.method.as_str(),
                    "path": self.parts.uri.path(),
                    "protocol": "HTTP/1.1",
                    "sourceIp": CLIENT_IP,
                    "userAgent": self.user_agent,
                },
                "requestId": self.request_id,
                "routeKey": "$default",
                "stage": "$default",
                "time": self.request_time(),
                "timeEpoch": self.epoch_ms(),
            },
        }));
        if !cookies.is_empty() {
            event.insert("cookies".to_owned(), json!(cookies));
        }
        if !self.query.is_empty() {
            event.insert("queryStringParameters".to_owned(), joined(self.query.iter()));
        }
        event
    }

    fn v1(&self, stage: &str) -> Map<String, Value> {
        let path = self.parts.uri.path();
        object(json!({
            "resource": "/{proxy+}",
            "path": path,
            "httpMethod": self.parts.method.as_str(),
            "headers": last_values(&self.headers),
            "multiValueHeaders": all_values(&self.headers),
            "queryStringParameters": or_null(&self.query, last_values),
            "multiValueQueryStringParameters": or_null(&self.query, all_values),
            "pathParameters": { "proxy": path.trim_start_matches('/') },
            "stageVariables": null,
            "requestContext": {
                "accountId": ACCOUNT_ID,
                "apiId": API_ID,
                "domainName": self.host,
                "domainPrefix": API_ID,
                "extendedRequestId": self.request_id,
                "httpMethod": self.parts.method.as_str(),
                "identity": { "sourceIp": CLIENT_IP, "userAgent": self.user_agent },
                "path": format!("/{stage}{path}"),
                "protocol": "HTTP/1.1",
                "requestId": self.request_id,
                "requestTime": self.request_time(),
                "requestTimeEpoch": self.epoch_ms(),
                "resourceId": "emulat",
                "resourcePath": "/{proxy+}",
                "stage": stage,
            },
        }))
    }

    /// As access logs write it: `30/Nov/2026:06:30:00 +0000`.
    fn request_time(&self) -> String {
        let format = format_description!("[day]/[month repr:short]/[year]:[hour]:[minute]:[second] +0000");
        OffsetDateTime::from(self.now).format(format).unwrap_or_default()
    }

    fn epoch_ms(&self) -> u64 {
        epoch_ms(self.now)
    }
}

/// Milliseconds since 1970.
pub(super) fn epoch_ms(at: SystemTime) -> u64 {
    let since = at.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// The client's headers and those that a gateway adds, without what belongs to the connection.
fn headers(config: &EmulatorConfig, client: &HeaderMap) -> Vec<(String, String)> {
    let case = match (config.header_case, config.shape) {
        (HeaderCase::AsGateway, EventShape::FunctionUrlV2) => HeaderCase::Lower,
        (HeaderCase::AsGateway, EventShape::RestProxyV1) => HeaderCase::Title,
        (case, _) => case,
    };
    let hop_by_hop =
        [header::CONNECTION, header::TRANSFER_ENCODING, header::UPGRADE, header::TE, header::TRAILER];
    let own = client
        .iter()
        .filter(|(name, _)| !hop_by_hop.contains(name))
        .map(|(name, value)| (name.as_str(), String::from_utf8_lossy(value.as_bytes()).into_owned()));
    let added = [("x-forwarded-for", CLIENT_IP), ("x-forwarded-port", "443"), ("x-forwarded-proto", "https")]
        .map(|(name, value)| (name, value.to_owned()));
    own.chain(added).map(|(name, value)| (in_case(name, case), value)).collect()
}

fn in_case(name: &str, case: HeaderCase) -> String {
    match case {
        HeaderCase::AsGateway | HeaderCase::Lower => name.to_ascii_lowercase(),
        HeaderCase::Upper => name.to_ascii_uppercase(),
        HeaderCase::Title => {
            let words = name.split('-').map(|word| {
                let (first, rest) = word.split_at(word.len().min(1));
                first.to_ascii_uppercase() + &rest.to_ascii_lowercase()
            });
            words.collect::<Vec<_>>().join("-")
        }
    }
}

/// Decoded, in order.
fn query_pairs(parts: &Parts) -> Vec<(String, String)> {
    let Some(query) = parts.uri.query() else { return Vec::new() };
    let Ok(url) = reqwest::Url::parse(&format!("http://localhost/?{query}")) else { return Vec::new() };
    url.query_pairs().map(|(name, value)| (name.into_owned(), value.into_owned())).collect()
}

/// The body as the event's string, and whether that string is Base64.
fn encode_body(config: &EmulatorConfig, headers: &HeaderMap, body: &Bytes) -> (Option<String>, bool) {
    if body.is_empty() {
        return (None, false);
    }
    let content_type = text(headers, &header::CONTENT_TYPE).unwrap_or_default().to_ascii_lowercase();
    let is_text = content_type.starts_with("text/")
        || ["json", "xml", "javascript", "x-www-form-urlencoded"]
            .iter()
            .any(|kind| content_type.contains(kind));
    match std::str::from_utf8(body) {
        Ok(plain) if is_text && config.body_encoding == BodyEncoding::AsGateway => {
            (Some(plain.to_owned()), false)
        }
        _ => (Some(BASE64_STANDARD.encode(body)), true),
    }
}

fn text<'a>(headers: &'a HeaderMap, name: &header::HeaderName) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

/// Values of the same name joined with a comma, as payload 2.0 has them.
fn joined<'a>(pairs: impl Iterator<Item = &'a (String, String)>) -> Value {
    let mut map = BTreeMap::<&str, String>::new();
    for (name, value) in pairs {
        map.entry(name)
            .and_modify(|all| {
                all.push(',');
                all.push_str(value);
            })
            .or_insert_with(|| value.clone());
    }
    json!(map)
}

fn last_values(pairs: &[(String, String)]) -> Value {
    json!(pairs.iter().map(|(name, value)| (name, value)).collect::<BTreeMap<_, _>>())
}

fn all_values(pairs: &[(String, String)]) -> Value {
    let mut map = BTreeMap::<&str, Vec<&str>>::new();
    for (name, value) in pairs {
        map.entry(name).or_default().push(value);
    }
    json!(map)
}

fn or_null(pairs: &[(String, String)], values: fn(&[(String, String)]) -> Value) -> Value {
    if pairs.is_empty() { Value::Null } else { values(pairs) }
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}
