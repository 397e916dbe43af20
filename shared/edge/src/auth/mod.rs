//! Who calls, and what they may do. Fails closed: a mode that can't be honoured never starts, and what can't be checked now is
//! refused.

mod api_key;
mod oidc;
mod token;

use agent::ports::run_control::CallerLimits;
use domain::ids::CallerId;
use http::HeaderMap;
use http::header::AUTHORIZATION;

use crate::problem::{Code, Problem};

pub use api_key::{KeyRing, MintFault, NewKey};
pub use oidc::{InvalidProvider, Oidc, Provider};

/// What a caller may do beyond reading what is its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scope {
    /// Ask, and read, cancel and rate its own runs.
    Chat,
    /// Change runbooks.
    DocumentsWrite,
    /// Read what concerns all callers, without their contents; make and revoke API keys.
    Admin,
}

impl Scope {
    pub const ALL: [Self; 3] = [Self::Chat, Self::DocumentsWrite, Self::Admin];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Chat => "chat",
            Self::DocumentsWrite => "documents:write",
            Self::Admin => "admin",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scope| scope.as_str() == text)
    }
}

/// A named caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    pub id: CallerId,
    pub scopes: Vec<Scope>,
    pub quota: CallerLimits,
}

impl Caller {
    /// # Errors
    /// `FORBIDDEN`, naming the scope that is missing.
    pub fn require(&self, scope: Scope) -> Result<(), Problem> {
        if self.scopes.contains(&scope) {
            return Ok(());
        }
        Err(Problem::new(Code::Forbidden, format!("this needs the scope {}", scope.as_str())))
    }
}

/// How callers are told apart.
pub enum Authenticator {
    /// Everybody is one caller, `local`, who may do everything. Honoured only where `app::config` allows it.
    Anonymous {
        caller: Caller,
    },
    ApiKey(KeyRing),
    Oidc(Oidc),
}

impl Authenticator {
    /// One caller for everybody: local development, or a deployment that explicitly allows it.
    pub fn anonymous(quota: CallerLimits) -> Result<Self, domain::ids::InvalidId> {
        let caller = Caller { id: CallerId::parse("local")?, scopes: Scope::ALL.to_vec(), quota };
        Ok(Self::Anonymous { caller })
    }

    /// The caller of a request.
    ///
    /// # Errors
    /// `UNAUTHENTICATED`, or `STORE_UNAVAILABLE` where nobody can say who it is.
    pub async fn caller(&self, headers: &HeaderMap) -> Result<Caller, Problem> {
        match self {
            Self::Anonymous { caller } => Ok(caller.clone()),
            Self::ApiKey(ring) => ring.caller(credential(headers, "an API key")?).await,
            Self::Oidc(oidc) => oidc.caller(credential(headers, "an access token")?).await,
        }
    }
}

/// The bearer of `Authorization`, once; `x-api-key` means the same to clients that can't set that.
fn credential<'h>(headers: &'h HeaderMap, what: &str) -> Result<&'h str, Problem> {
    let right = format!("send {what} as `Authorization: Bearer …`");
    let mut given = headers.get_all(AUTHORIZATION).iter().chain(headers.get_all("x-api-key").iter());
    let Some(value) = given.next() else {
        return Err(unauthenticated(format!("this needs a caller; {right}")));
    };
    if given.next().is_some() {
        return Err(unauthenticated(format!("more than one credential was sent; {right}, once")));
    }
    let text = value.to_str().map_err(|_| unauthenticated(format!("the credential is no text; {right}")))?;
    if headers.contains_key("x-api-key") {
        return Ok(text.trim());
    }
    let bearer = text.split_once(' ').filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
    let bearer = bearer.map(|(_, credential)| credential.trim()).filter(|credential| !credential.is_empty());
    bearer.ok_or_else(|| unauthenticated(format!("the credential is no bearer token; {right}")))
}

fn unauthenticated(detail: impl Into<String>) -> Problem {
    Problem::new(Code::Unauthenticated, detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_scope_is_forbidden_by_name() {
        let quota = CallerLimits::default();
        let caller = Caller { id: CallerId::parse("alice").unwrap(), scopes: vec![Scope::Chat], quota };
        assert_eq!(caller.require(Scope::Chat), Ok(()));
        let refused = caller.require(Scope::DocumentsWrite).unwrap_err();
        assert_eq!(
            (refused.code, refused.detail.as_str()),
            (Code::Forbidden, "this needs the scope documents:write")
        );
    }

    #[test]
    fn one_credential_in_one_place_and_no_other() {
        let headers = |pairs: &[(&str, &str)]| {
            let mut headers = HeaderMap::new();
            for (name, value) in pairs {
                let name = http::HeaderName::try_from(*name).unwrap();
                headers.append(name, value.parse().unwrap());
            }
            headers
        };
        for good in
            [("authorization", "Bearer abc"), ("authorization", "bEARER  abc "), ("x-api-key", " abc")]
        {
            assert_eq!(credential(&headers(&[good]), "a key").unwrap(), "abc", "{good:?}");
        }
        let twice = [("authorization", "Bearer abc"), ("authorization", "Bearer abc")];
        let both = [("authorization", "Bearer abc"), ("x-api-key", "abc")];
        for bad in
            [&[][..], &[("authorization", "Basic abc")], &[("authorization", "Bearer ")], &twice, &both]
        {
            let refused = credential(&headers(bad), "a key").unwrap_err();
            assert_eq!(refused.code, Code::Unauthenticated, "{bad:?}");
            assert!(refused.detail.contains("send a key as"), "{}", refused.detail);
        }
    }
}
