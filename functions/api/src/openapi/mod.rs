//! `GET /openapi.json`: every endpoint in one table, every schema generated from a type.

mod schemas;

use std::sync::OnceLock;

use edge::auth::Scope;
use http::Method;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

use crate::routes::{Access, Route};

/// The document, made once.
pub fn document() -> &'static Value {
    static DOCUMENT: OnceLock<Value> = OnceLock::new();
    DOCUMENT.get_or_init(build)
}

/// Makes the schema of a type.
type SchemaOf = fn(&mut SchemaGenerator) -> Schema;

fn schema<T: JsonSchema>() -> SchemaOf {
    |generator| generator.subschema_for::<T>()
}

/// A response: status, what it means, and its body.
struct Answer(u16, &'static str, Content);

enum Content {
    Nothing,
    Json(SchemaOf),
    Other(&'static str),
}

struct Operation {
    method: Method,
    path: &'static str,
    /// For programs that generate clients.
    id: &'static str,
    summary: &'static str,
    /// Names of query parameters with their schemas.
    query: &'static [(&'static str, &'static str)],
    headers: &'static [(&'static str, &'static str)],
    body: Option<SchemaOf>,
    answers: Vec<Answer>,
    /// Codes of problem documents beyond those that its access and body bring.
    problems: &'static [u16],
}

fn get(path: &'static str, id: &'static str, summary: &'static str, answer: Content) -> Operation {
    let answers = vec![Answer(200, "as asked", answer)];
    Operation {
        method: Method::GET,
        path,
        id,
        summary,
        query: &[],
        headers: &[],
        body: None,
        answers,
        problems: &[],
    }
}

const LIMIT: (&str, &str) = ("limit", r#"{"type":"integer","minimum":1,"maximum":100}"#);
const CURSOR: (&str, &str) =
    ("cursor", r#"{"type":"string","description":"a next_cursor of an earlier page"}"#);
const IF_MATCH: (&str, &str) =
    ("If-Match", r#"{"type":"string","description":"the ETag of the version that you want to replace"}"#);
const MOMENT: &str = r#"{"type":"string","format":"date-time"}"#;

fn operations() -> Vec<Operation> {
    use schemas as s;
    let json = Content::Json;
    let run = |path, id, summary, answer| Operation { problems: &[404], ..get(path, id, summary, answer) };
    vec![
        chat(),
        get("/", "page", "The web page.", Content::Other("text/html")),
        Operation {
            problems: &[404],
            ..get("/assets/{name}", "asset", "A file of the web page.", Content::Other("*/*"))
        },
        get("/openapi.json", "openapi", "This document.", json(schema::<Value>())),
        get(
            "/api/health",
            "health",
            "Whether the function runs; asks nobody.",
            json(schema::<s::HealthAnswer>()),
        ),
        Operation {
            answers: vec![
                Answer(200, "all answer", json(schema::<s::Ready>())),
                Answer(503, "at least one doesn't", json(schema::<s::Ready>())),
            ],
            ..get("/api/health/ready", "ready", "Each dependency with its latency.", Content::Nothing)
        },
        run(
            "/api/runs/{run_id}",
            "run",
            "A run's state and, once it ended, what it published.",
            json(schema::<s::Run>()),
        ),
        Operation {
            method: Method::POST,
            answers: vec![Answer(
                202,
                "asked to stop; an ended run stays as it is",
                json(schema::<s::RunSummary>()),
            )],
            ..run("/api/runs/{run_id}/cancel", "cancelRun", "Asks a run to stop.", Content::Nothing)
        },
        run(
            "/api/runs/{run_id}/trace",
            "trace",
            "A run's steps and tool calls: metadata only.",
            json(schema::<s::Trace>()),
        ),
        Operation {
            problems: &[404, 410],
            ..get(
                "/api/runs/{run_id}/evidence",
                "evidence",
                "What the released report cites, for 24 hours.",
                json(schema::<s::Evidence>()),
            )
        },
        Operation {
            method: Method::POST,
            body: Some(schema::<s::FeedbackBody>()),
            problems: &[404, 409],
            ..get(
                "/api/runs/{run_id}/feedback",
                "rate",
                "One rating a caller and run; a later one replaces it.",
                json(schema::<s::Rated>()),
            )
        },
        Operation {
            query: &[LIMIT, CURSOR],
            problems: &[400, 404],
            ..get(
                "/api/sessions/{session_id}/runs",
                "sessionRuns",
                "Newest first.",
                json(schema::<s::RunPage>()),
            )
        },
        Operation {
            query: &[LIMIT, CURSOR],
            problems: &[400],
            ..get("/api/documents", "documents", "Runbooks by id.", json(schema::<s::DocumentPage>()))
        },
        Operation {
            method: Method::POST,
            body: Some(schema::<s::NewDocumentBody>()),
            answers: vec![Answer(201, "added", json(schema::<s::DocumentSummary>()))],
            problems: &[412],
            ..get("/api/documents", "addDocument", "Adds a runbook.", Content::Nothing)
        },
        Operation {
            headers: &[("If-None-Match", r#"{"type":"string"}"#)],
            answers: vec![
                Answer(200, "its current version", json(schema::<s::Document>())),
                Answer(304, "still the version that was named", Content::Nothing),
            ],
            ..run("/api/documents/{document_id}", "document", "A runbook.", Content::Nothing)
        },
        Operation {
            method: Method::PUT,
            headers: &[IF_MATCH, ("If-None-Match", r#"{"const":"*"}"#)],
            body: Some(schema::<s::DocumentBody>()),
            answers: vec![
                Answer(200, "replaced", json(schema::<s::DocumentSummary>())),
                Answer(201, "added", json(schema::<s::DocumentSummary>())),
            ],
            problems: &[404, 412],
            ..get(
                "/api/documents/{document_id}",
                "putDocument",
                "Adds or replaces a runbook.",
                Content::Nothing,
            )
        },
        Operation {
            method: Method::DELETE,
            headers: &[IF_MATCH],
            answers: vec![Answer(204, "removed", Content::Nothing)],
            problems: &[400, 404, 412],
            ..get("/api/documents/{document_id}", "removeDocument", "Removes a runbook.", Content::Nothing)
        },
        Operation {
            query: &[
                ("q", r#"{"type":"string","minLength":1}"#),
                ("top_k", r#"{"type":"integer","minimum":1,"maximum":50}"#),
            ],
            problems: &[400],
            ..get("/api/search", "search", "Searches runbooks as the agent does.", json(schema::<s::Hits>()))
        },
        Operation {
            query: &[("from", MOMENT), ("to", MOMENT)],
            problems: &[400],
            ..get("/api/quality", "quality", "How well runs went, in numbers.", json(schema::<s::Quality>()))
        },
        get(
            "/api/keys",
            "keys",
            "API keys, newest first; never the keys themselves.",
            json(schema::<s::Keys>()),
        ),
        Operation {
            method: Method::POST,
            body: Some(schema::<s::KeyBody>()),
            answers: vec![Answer(
                201,
                "made; this answer alone shows the key",
                json(schema::<s::CreatedKey>()),
            )],
            ..get("/api/keys", "createKey", "Makes an API key.", Content::Nothing)
        },
        Operation {
            method: Method::DELETE,
            answers: vec![Answer(204, "revoked", Content::Nothing)],
            ..run("/api/keys/{key_id}", "revokeKey", "Revokes an API key.", Content::Nothing)
        },
    ]
}

/// Answered by the chat function.
fn chat() -> Operation {
    Operation {
        method: Method::POST,
        headers: &[(
            "Idempotency-Key",
            r#"{"type":"string","pattern":"^[!-~]{1,128}$","description":"the same key within 24 hours never starts a second run"}"#,
        )],
        body: Some(schema::<schemas::AskBody>()),
        answers: vec![Answer(
            200,
            "`metadata` first, then `status` events, then exactly one of `content` and `failure`, then `done`. The schemas of their data are MetadataEvent, StatusEvent, ContentEvent, FailureEvent and DoneEvent.",
            Content::Other("text/event-stream"),
        )],
        problems: &[404, 409, 429],
        ..get("/api/chat", "ask", "Asks a question; answers with a stream of events.", Content::Nothing)
    }
}

fn build() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|s| {
        s.meta_schema = None;
        s.definitions_path = "/components/schemas".into();
    });
    let mut generator = settings.into_generator();
    let mut paths = Map::new();
    for operation in operations() {
        let described = described(&operation, &mut generator);
        let path = paths.entry(operation.path).or_insert_with(|| json!({}));
        path[operation.method.as_str().to_lowercase()] = described;
    }
    // Named in the chat stream's description, referred to by nothing.
    generator.subschema_for::<schemas::MetadataEvent>();
    generator.subschema_for::<schemas::StatusEvent>();
    generator.subschema_for::<schemas::ContentEvent>();
    generator.subschema_for::<schemas::FailureEvent>();
    generator.subschema_for::<schemas::DoneEvent>();
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "SuperBizAgent",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Incident diagnosis whose every claim was checked against what the tools returned.",
        },
        "paths": paths,
        "components": {
            "schemas": generator.take_definitions(true),
            "securitySchemes": { "bearer": { "type": "http", "scheme": "bearer", "description": "an API key or an OIDC access token" } },
        },
    })
}

fn described(operation: &Operation, generator: &mut SchemaGenerator) -> Value {
    let mut answers = Map::new();
    for Answer(status, means, content) in &operation.answers {
        answers.insert(status.to_string(), answer(means, content, generator));
    }
    let access = access(operation);
    let (by_access, security): (&[u16], Value) = match access {
        Access::Open => (&[], json!([])),
        Access::Caller | Access::Scope(_) => (&[401, 403, 503], json!([{ "bearer": [] }])),
    };
    let by_body: &[u16] = if operation.body.is_some() { &[400, 413, 415] } else { &[] };
    for status in by_access.iter().chain(by_body).chain(operation.problems) {
        let problem = || {
            let schema = generator.subschema_for::<schemas::Problem>();
            json!({ "description": "a problem document", "content": { "application/problem+json": { "schema": schema } } })
        };
        answers.entry(status.to_string()).or_insert_with(problem);
    }
    let mut described = json!({
        "operationId": operation.id,
        "summary": operation.summary,
        "parameters": parameters(operation),
        "responses": answers,
        "security": security,
    });
    if let Access::Scope(scope) = access {
        described["description"] = format!("Needs the scope `{}`.", scope.as_str()).into();
    }
    if let Some(body) = operation.body {
        described["requestBody"] =
            json!({ "required": true, "content": { "application/json": { "schema": body(generator) } } });
    }
    described
}

/// By the routes' own table: what is documented is what is asked. The one other path is the chat function's.
fn access(operation: &Operation) -> Access {
    let route = Route::find(&operation.method, &example(operation.path));
    route.map_or(Access::Scope(Scope::Chat), |route| route.access())
}

/// The path with a value for each parameter.
fn example(path: &str) -> String {
    let path =
        path.replace("{run_id}", "0190b3c4-0000-7000-8000-000000000000").replace("{key_id}", "0123456789ab");
    path.replace(['{', '}'], "")
}

fn answer(means: &str, content: &Content, generator: &mut SchemaGenerator) -> Value {
    match content {
        Content::Nothing => json!({ "description": means }),
        Content::Json(schema) => {
            json!({ "description": means, "content": { "application/json": { "schema": schema(generator) } } })
        }
        Content::Other(media) => {
            json!({ "description": means, "content": { *media: { "schema": { "type": "string" } } } })
        }
    }
}

fn parameters(operation: &Operation) -> Vec<Value> {
    let read = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_default();
    let named = operation.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    let in_path = named.map(|name| {
        let schema = if name == "run_id" {
            json!({ "type": "string", "format": "uuid" })
        } else {
            json!({ "type": "string" })
        };
        json!({ "name": name, "in": "path", "required": true, "schema": schema })
    });
    let in_query = operation.query.iter().map(|(name, schema)| {
        json!({ "name": name, "in": "query", "required": *name == "q", "schema": read(schema) })
    });
    let in_headers = operation.headers.iter().map(
        |(name, schema)| json!({ "name": name, "in": "header", "required": false, "schema": read(schema) }),
    );
    in_path.chain(in_query).chain(in_headers).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_documented_path_is_a_route_and_every_reference_leads_somewhere() {
        let document = document();
        for operation in operations().iter().filter(|operation| operation.id != "ask") {
            Route::find(&operation.method, &example(operation.path))
                .unwrap_or_else(|_| panic!("{}", operation.path));
        }
        let text = document.to_string();
        let schemas = document["components"]["schemas"].as_object().unwrap();
        for rest in text.split("#/components/schemas/").skip(1) {
            let name = rest.split('"').next().unwrap();
            assert!(schemas.contains_key(name), "{name}");
        }
        assert!(!text.contains("#/$defs"), "references point into the components");
    }

    #[test]
    fn the_document_is_the_reviewed_one() {
        insta::assert_snapshot!(serde_json::to_string_pretty(document()).unwrap());
    }

    /// The other way round: `routes.rs` has no path that the document leaves out.
    #[test]
    fn every_route_is_documented() {
        let ids: Vec<&str> = operations().iter().map(|operation| operation.id).collect();
        // A new route doesn't compile here until somebody says which operation it is.
        let id = |route: &Route| match route {
            Route::Page(name) if name == "index.html" => "page",
            Route::Page(_) => "asset",
            Route::OpenApi => "openapi",
            Route::Health => "health",
            Route::Ready => "ready",
            Route::Run(_) => "run",
            Route::CancelRun(_) => "cancelRun",
            Route::Trace(_) => "trace",
            Route::Evidence(_) => "evidence",
            Route::Rate(_) => "rate",
            Route::SessionRuns(_) => "sessionRuns",
            Route::Documents => "documents",
            Route::AddDocument => "addDocument",
            Route::Document(_) => "document",
            Route::PutDocument(_) => "putDocument",
            Route::RemoveDocument(_) => "removeDocument",
            Route::Search => "search",
            Route::Quality => "quality",
            Route::Keys => "keys",
            Route::AddKey => "createKey",
            Route::RevokeKey(_) => "revokeKey",
        };
        for operation in operations().iter().filter(|operation| operation.id != "ask") {
            let route = Route::find(&operation.method, &example(operation.path)).unwrap();
            assert_eq!(id(&route), operation.id);
        }
        assert_eq!(ids.len(), 22);
    }
}
