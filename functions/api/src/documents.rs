//! Runbooks over HTTP: list, read, add, replace, remove, search. A document's version is its entity tag.

use agent::boundary::chain;
use agent::ports::documents::{DocumentSummary, Expected};
use app::connect::ApiApp;
use app::library::{DocumentBody, LibraryFault, is_document_id};
use edge::problem::{Code, Problem};
use edge::request::json_text;
use http::header::{ETAG, IF_MATCH, IF_NONE_MATCH, LOCATION};
use http::{HeaderMap, HeaderValue, Response, StatusCode};
use lambda_http::Body;
use serde::Deserialize;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::handler;

const DEFAULT_PAGE: u32 = 50;
const MAX_PAGE: u32 = 100;
const DEFAULT_TOP_K: usize = 5;
const MAX_TOP_K: usize = 50;
const MAX_QUERY_BYTES: usize = 8 * 1024;
/// Bytes of a body: a text of the greatest length with every line break escaped fits.
const MAX_BODY_BYTES: usize = 3 * 1024 * 1024;
const RIGHT: &str = r##"send {"text": "# Title…", "title"?, "tags"?: […], "source"?: "https://…"}"##;

/// A new document may choose its id.
#[derive(Deserialize)]
struct Added {
    #[serde(default)]
    id: Option<String>,
    #[serde(flatten)]
    rest: serde_json::Map<String, Value>,
}

pub async fn list(
    app: &ApiApp,
    limit: Option<String>,
    cursor: Option<String>,
) -> Result<Response<Body>, Problem> {
    let limit = handler::whole(limit, "limit", DEFAULT_PAGE, MAX_PAGE)?;
    if cursor.as_deref().is_some_and(|cursor| !is_document_id(cursor)) {
        return Err(Problem::invalid("cursor must be a next_cursor of an earlier page"));
    }
    let (page, next) = app.library.list(limit, cursor.as_deref()).await.map_err(problem)?;
    let documents: Vec<Value> = page.iter().map(summary).collect();
    Ok(handler::json(StatusCode::OK, &json!({ "documents": documents, "next_cursor": next })))
}

pub async fn read(app: &ApiApp, id: &str, headers: &HeaderMap) -> Result<Response<Body>, Problem> {
    let stored = app.library.get(id).await.map_err(problem)?;
    let version = stored.summary.version;
    if headers.get(IF_NONE_MATCH).is_some_and(|tags| names(tags, version)) {
        let mut response = Response::new(Body::Empty);
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        return Ok(tagged(response, version));
    }
    let mut document = summary(&stored.summary);
    if let Some(map) = document.as_object_mut() {
        map.insert("text".to_owned(), stored.content.into());
    }
    Ok(tagged(handler::json(StatusCode::OK, &document), version))
}

pub async fn add(app: &ApiApp, headers: &HeaderMap, body: &[u8]) -> Result<Response<Body>, Problem> {
    let text = json_text(headers, body, MAX_BODY_BYTES, RIGHT)?;
    let added: Added = serde_json::from_str(text).map_err(|fault| unreadable(&fault))?;
    let id = added.id.unwrap_or_else(|| Uuid::now_v7().to_string());
    if !is_document_id(&id) {
        return Err(Problem::invalid("id must be 1 to 64 characters of A-Z a-z 0-9 _ -"));
    }
    let body: DocumentBody =
        serde_json::from_value(Value::Object(added.rest)).map_err(|fault| unreadable(&fault))?;
    let saved = app.library.put(&id, body, Expected::Absent).await.map_err(|fault| match fault {
        LibraryFault::Changed => Problem::new(
            Code::PreconditionFailed,
            "a document with this id exists; replace it with PUT, or choose another id",
        ),
        fault => problem(fault),
    })?;
    let stored = saved.summary;
    let mut response = tagged(handler::json(StatusCode::CREATED, &summary(&stored)), stored.version);
    if let Ok(location) = HeaderValue::try_from(format!("/api/documents/{id}")) {
        response.headers_mut().insert(LOCATION, location);
    }
    Ok(response)
}

pub async fn put(
    app: &ApiApp,
    id: &str,
    headers: &HeaderMap,
    body: &[u8],
) -> Result<Response<Body>, Problem> {
    let expected = expected(headers)?;
    let text = json_text(headers, body, MAX_BODY_BYTES, RIGHT)?;
    let body: DocumentBody = serde_json::from_str(text).map_err(|fault| unreadable(&fault))?;
    let saved = app.library.put(id, body, expected).await.map_err(problem)?;
    let status = if saved.created { StatusCode::CREATED } else { StatusCode::OK };
    let stored = saved.summary;
    Ok(tagged(handler::json(status, &summary(&stored)), stored.version))
}

pub async fn remove(app: &ApiApp, id: &str, headers: &HeaderMap) -> Result<Response<Body>, Problem> {
    app.library.remove(id, expected(headers)?).await.map_err(problem)?;
    let mut response = Response::new(Body::Empty);
    *response.status_mut() = StatusCode::NO_CONTENT;
    Ok(response)
}

pub async fn search(
    app: &ApiApp,
    query: Option<String>,
    top_k: Option<String>,
) -> Result<Response<Body>, Problem> {
    let query = query.unwrap_or_default();
    if query.trim().is_empty() || query.len() > MAX_QUERY_BYTES {
        return Err(Problem::invalid(format!("q must be a question of 1 to {MAX_QUERY_BYTES} bytes")));
    }
    let top_k = handler::whole(top_k, "top_k", DEFAULT_TOP_K as u32, MAX_TOP_K as u32)?;
    let found = app.library.search(&query, top_k as usize).await.map_err(problem)?;
    Ok(handler::json(
        StatusCode::OK,
        &json!({ "query": query, "hits": found.hits, "duplicates": found.duplicates }),
    ))
}

fn summary(document: &DocumentSummary) -> Value {
    json!({
        "id": document.document_id,
        "version": document.version,
        "title": document.title,
        "tags": document.tags,
        "source": document.source,
        "updated_at": document.updated_at,
        "bytes": document.bytes,
    })
}

fn tagged(mut response: Response<Body>, version: u32) -> Response<Body> {
    if let Ok(tag) = HeaderValue::try_from(format!("\"{version}\"")) {
        response.headers_mut().insert(ETAG, tag);
    }
    response
}

/// Whether a list of entity tags names a version.
fn names(tags: &HeaderValue, version: u32) -> bool {
    let tags = tags.to_str().unwrap_or_default();
    tags.split(',')
        .map(|tag| tag.trim().trim_start_matches("W/"))
        .any(|tag| tag == "*" || tag == format!("\"{version}\""))
}

/// What the client believes to replace, from `If-Match` or `If-None-Match: *`.
fn expected(headers: &HeaderMap) -> Result<Expected, Problem> {
    if headers.get(IF_NONE_MATCH).is_some_and(|tag| tag == "*") {
        return Ok(Expected::Absent);
    }
    let Some(tag) = headers.get(IF_MATCH) else { return Ok(Expected::Anything) };
    let version = tag.to_str().ok().map(str::trim).and_then(|tag| tag.trim_matches('"').parse().ok());
    version.map(Expected::Version).ok_or_else(|| {
        Problem::invalid("If-Match must be the ETag of the version that you want to replace, such as \"3\"")
    })
}

fn unreadable(fault: &serde_json::Error) -> Problem {
    Problem::invalid(format!("the body is no document: {fault}; {RIGHT}"))
}

fn problem(fault: LibraryFault) -> Problem {
    match fault {
        LibraryFault::Invalid(what) => Problem::invalid(what),
        LibraryFault::NotFound => Problem::not_found(),
        LibraryFault::Changed => Problem::new(
            Code::PreconditionFailed,
            "the document is not the version you named; read it again and decide anew",
        ),
        LibraryFault::Store(_) | LibraryFault::Search(_) => {
            tracing::error!(error = %chain(&fault), "the library failed");
            Problem::store_unavailable()
        }
    }
}
