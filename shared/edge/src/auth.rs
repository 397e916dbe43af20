//! Who calls, and what they may do. Fails closed: a mode that can't be honoured never starts.

use domain::ids::CallerId;

use crate::problem::{Code, Problem};

/// What a caller may do beyond reading what is its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scope {
    /// Ask, and read, cancel and rate its own runs.
    Chat,
    /// Change runbooks.
    DocumentsWrite,
    /// Read what concerns all callers, without their contents.
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
}

/// A named caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    pub id: CallerId,
    pub scopes: Vec<Scope>,
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
#[derive(Debug, Clone)]
pub enum Authenticator {
    /// Everybody is one caller, `local`, who may do everything. Honoured only where `app::config` allows it.
    Anonymous { caller: Caller },
}

impl Authenticator {
    /// One caller for everybody: local development, or a deployment that explicitly allows it.
    pub fn anonymous() -> Result<Self, domain::ids::InvalidId> {
        let caller = Caller { id: CallerId::parse("local")?, scopes: Scope::ALL.to_vec() };
        Ok(Self::Anonymous { caller })
    }

    /// The caller of a request.
    pub fn caller(&self, _headers: &http::HeaderMap) -> Result<Caller, Problem> {
        match self {
            Self::Anonymous { caller } => Ok(caller.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_scope_is_forbidden_by_name() {
        let caller = Caller { id: CallerId::parse("alice").unwrap(), scopes: vec![Scope::Chat] };
        assert_eq!(caller.require(Scope::Chat), Ok(()));
        let refused = caller.require(Scope::DocumentsWrite).unwrap_err();
        assert_eq!(
            (refused.code, refused.detail.as_str()),
            (Code::Forbidden, "this needs the scope documents:write")
        );
    }
}
