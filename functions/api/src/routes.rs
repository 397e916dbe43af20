//! Every path of the api function in one table: its methods, and what a caller needs for each.

use app::library::is_document_id;
use domain::ids::{RunId, SessionId};
use edge::auth::Scope;
use edge::problem::Problem;
use http::Method;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Route {
    Page(String),
    OpenApi,
    Health,
    Ready,
    Run(RunId),
    CancelRun(RunId),
    Trace(RunId),
    Evidence(RunId),
    Rate(RunId),
    SessionRuns(SessionId),
    Documents,
    AddDocument,
    Document(String),
    PutDocument(String),
    RemoveDocument(String),
    Search,
    Quality,
    Keys,
    AddKey,
    RevokeKey(String),
}

/// What a route asks of its caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Everybody: the page and the health checks.
    Open,
    /// Anybody who says who they are.
    Caller,
    Scope(Scope),
}

/// The methods of one path, as `Allow` lists them, and their routes.
type Methods = (&'static str, Vec<(Method, Route)>);

impl Route {
    pub fn access(&self) -> Access {
        match self {
            Self::Page(_) | Self::OpenApi | Self::Health | Self::Ready => Access::Open,
            Self::Documents | Self::Document(_) | Self::Search => Access::Caller,
            Self::Run(_)
            | Self::CancelRun(_)
            | Self::Trace(_)
            | Self::Evidence(_)
            | Self::Rate(_)
            | Self::SessionRuns(_) => Access::Scope(Scope::Chat),
            Self::AddDocument | Self::PutDocument(_) | Self::RemoveDocument(_) => {
                Access::Scope(Scope::DocumentsWrite)
            }
            Self::Quality | Self::Keys | Self::AddKey | Self::RevokeKey(_) => Access::Scope(Scope::Admin),
        }
    }

    /// Finds the route, or says whether the path or the method is wrong. An id that is none is not found: it names nothing.
    pub fn find(method: &Method, path: &str) -> Result<Self, Problem> {
        let (allow, routes) = Self::of_path(path)?;
        let method = if method == Method::HEAD { &Method::GET } else { method };
        let route = routes.into_iter().find(|(answered, _)| answered == method);
        route.map(|(_, route)| route).ok_or_else(|| Problem::method_not_allowed(allow))
    }

    /// The methods of a path, as `Allow` lists them, and their routes.
    fn of_path(path: &str) -> Result<Methods, Problem> {
        let segments: Vec<&str> = path.trim_start_matches('/').trim_end_matches('/').split('/').collect();
        let run = |text: &str| RunId::parse(text).map_err(|_| Problem::not_found());
        let get = |route| ("GET, HEAD", vec![(Method::GET, route)]);
        let post = |route| ("POST", vec![(Method::POST, route)]);
        Ok(match segments.as_slice() {
            [""] => get(Self::Page("index.html".to_owned())),
            ["openapi.json"] => get(Self::OpenApi),
            ["assets", name] => get(Self::Page((*name).to_owned())),
            ["api", "health"] => get(Self::Health),
            ["api", "health", "ready"] => get(Self::Ready),
            ["api", "runs", id] => get(Self::Run(run(id)?)),
            ["api", "runs", id, "cancel"] => post(Self::CancelRun(run(id)?)),
            ["api", "runs", id, "trace"] => get(Self::Trace(run(id)?)),
            ["api", "runs", id, "evidence"] => get(Self::Evidence(run(id)?)),
            ["api", "runs", id, "feedback"] => post(Self::Rate(run(id)?)),
            ["api", "sessions", id, "runs"] => {
                get(Self::SessionRuns(SessionId::parse(id).map_err(|_| Problem::not_found())?))
            }
            ["api", "documents"] => {
                ("GET, HEAD, POST", vec![(Method::GET, Self::Documents), (Method::POST, Self::AddDocument)])
            }
            ["api", "documents", id] if is_document_id(id) => {
                let id = (*id).to_owned();
                let routes = vec![
                    (Method::GET, Self::Document(id.clone())),
                    (Method::PUT, Self::PutDocument(id.clone())),
                    (Method::DELETE, Self::RemoveDocument(id)),
                ];
                ("GET, HEAD, PUT, DELETE", routes)
            }
            ["api", "search"] => get(Self::Search),
            ["api", "quality"] => get(Self::Quality),
            ["api", "keys"] => {
                ("GET, HEAD, POST", vec![(Method::GET, Self::Keys), (Method::POST, Self::AddKey)])
            }
            ["api", "keys", id] if is_key_id(id) => {
                ("DELETE", vec![(Method::DELETE, Self::RevokeKey((*id).to_owned()))])
            }
            _ => return Err(Problem::not_found()),
        })
    }
}

fn is_key_id(text: &str) -> bool {
    (1..=64).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_alphanumeric())
}

#[cfg(test)]
mod tests {
    use edge::problem::Code;

    use super::*;

    const ID: &str = "0190b3c4-0000-7000-8000-000000000000";

    #[test]
    fn paths_and_methods() {
        let find = |method, path: &str| Route::find(&method, path).map_err(|p| p.code);
        assert_eq!(find(Method::GET, "/"), Ok(Route::Page("index.html".to_owned())));
        assert_eq!(
            find(Method::GET, &format!("/api/runs/{ID}/trace")),
            Ok(Route::Trace(RunId::parse(ID).unwrap()))
        );
        assert_eq!(find(Method::GET, &format!("/api/runs/{ID}/cancel")), Err(Code::MethodNotAllowed));
        assert_eq!(find(Method::POST, "/api/health"), Err(Code::MethodNotAllowed));
        assert_eq!(find(Method::PATCH, "/api/documents/pay"), Err(Code::MethodNotAllowed));
        assert_eq!(find(Method::HEAD, "/api/documents/pay"), Ok(Route::Document("pay".to_owned())));
        for path in [
            "/api/runs/1",
            "/api/runs/",
            "/api/sessions/a b/runs",
            "/api/nothing",
            "/assets/../x",
            "/api/runs/a/b/c",
            "/api/documents/a%2Fb",
            "/api/documents/..",
        ] {
            assert_eq!(find(Method::GET, path), Err(Code::NotFound), "{path}");
        }
    }

    /// Every endpoint and what it asks of its caller.
    #[test]
    fn every_endpoint_has_its_rule() {
        let [chat, write, admin] = Scope::ALL.map(Access::Scope);
        let run = |end: &str| format!("/api/runs/{ID}{end}");
        let table = [
            (Method::GET, "/".to_owned(), Access::Open),
            (Method::GET, "/assets/app.js".to_owned(), Access::Open),
            (Method::GET, "/openapi.json".to_owned(), Access::Open),
            (Method::GET, "/api/health".to_owned(), Access::Open),
            (Method::GET, "/api/health/ready".to_owned(), Access::Open),
            (Method::GET, run(""), chat),
            (Method::POST, run("/cancel"), chat),
            (Method::GET, run("/trace"), chat),
            (Method::GET, run("/evidence"), chat),
            (Method::POST, run("/feedback"), chat),
            (Method::GET, "/api/sessions/s/runs".to_owned(), chat),
            (Method::GET, "/api/documents".to_owned(), Access::Caller),
            (Method::GET, "/api/documents/a".to_owned(), Access::Caller),
            (Method::GET, "/api/search".to_owned(), Access::Caller),
            (Method::POST, "/api/documents".to_owned(), write),
            (Method::PUT, "/api/documents/a".to_owned(), write),
            (Method::DELETE, "/api/documents/a".to_owned(), write),
            (Method::GET, "/api/quality".to_owned(), admin),
            (Method::GET, "/api/keys".to_owned(), admin),
            (Method::POST, "/api/keys".to_owned(), admin),
            (Method::DELETE, "/api/keys/0123456789ab".to_owned(), admin),
        ];
        for (method, path, access) in table {
            assert_eq!(Route::find(&method, &path).unwrap().access(), access, "{method} {path}");
        }
    }
}
