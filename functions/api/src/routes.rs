//! Every path of the api function in one table: what it is, and whether it needs a caller.

use domain::ids::{RunId, SessionId};
use edge::problem::Problem;
use http::Method;

#[derive(Debug, PartialEq, Eq)]
pub enum Route {
    Page(String),
    Health,
    Ready,
    Run(RunId),
    CancelRun(RunId),
    Trace(RunId),
    Evidence(RunId),
    SessionRuns(SessionId),
}

impl Route {
    /// The page and the health checks are for everybody; everything else belongs to a caller.
    pub fn needs_caller(&self) -> bool {
        match self {
            Self::Page(_) | Self::Health | Self::Ready => false,
            Self::Run(_) | Self::CancelRun(_) | Self::Trace(_) | Self::Evidence(_) | Self::SessionRuns(_) => {
                true
            }
        }
    }

    /// Finds the route, or says whether the path or the method is wrong. An id that is none is not found: it names nothing.
    pub fn find(method: &Method, path: &str) -> Result<Self, Problem> {
        let segments: Vec<&str> = path.trim_start_matches('/').trim_end_matches('/').split('/').collect();
        let run = |text: &str| RunId::parse(text).map_err(|_| Problem::not_found());
        let (wanted, route) = match segments.as_slice() {
            [""] => (Method::GET, Self::Page("index.html".to_owned())),
            ["assets", name] => (Method::GET, Self::Page((*name).to_owned())),
            ["api", "health"] => (Method::GET, Self::Health),
            ["api", "health", "ready"] => (Method::GET, Self::Ready),
            ["api", "runs", id] => (Method::GET, Self::Run(run(id)?)),
            ["api", "runs", id, "cancel"] => (Method::POST, Self::CancelRun(run(id)?)),
            ["api", "runs", id, "trace"] => (Method::GET, Self::Trace(run(id)?)),
            ["api", "runs", id, "evidence"] => (Method::GET, Self::Evidence(run(id)?)),
            ["api", "sessions", id, "runs"] => {
                (Method::GET, Self::SessionRuns(SessionId::parse(id).map_err(|_| Problem::not_found())?))
            }
            _ => return Err(Problem::not_found()),
        };
        if method == wanted || (wanted == Method::GET && method == Method::HEAD) {
            Ok(route)
        } else {
            Err(Problem::method_not_allowed(if wanted == Method::GET { "GET, HEAD" } else { "POST" }))
        }
    }
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
        for path in [
            "/api/runs/1",
            "/api/runs/",
            "/api/sessions/a b/runs",
            "/api/nothing",
            "/assets/../x",
            "/api/runs/a/b/c",
        ] {
            assert_eq!(find(Method::GET, path), Err(Code::NotFound), "{path}");
        }
    }

    #[test]
    fn only_the_page_and_health_are_open() {
        let open = |path: &str| !Route::find(&Method::GET, path).unwrap().needs_caller();
        assert!(open("/") && open("/assets/app.js") && open("/api/health") && open("/api/health/ready"));
        let closed = [
            format!("/api/runs/{ID}"),
            format!("/api/runs/{ID}/evidence"),
            "/api/sessions/s/runs".to_owned(),
        ];
        assert!(closed.iter().all(|path| !open(path)));
    }
}
