//! Who calls. Fails closed: a mode that can't be honoured never starts.

use domain::ids::CallerId;

use crate::problem::Problem;

/// How callers are told apart.
#[derive(Debug, Clone)]
pub enum Authenticator {
    /// Everybody is one caller, `local`. Honoured only where `app::config` allows it.
    Anonymous { caller: CallerId },
}

impl Authenticator {
    /// One caller for everybody: local development, or a deployment that explicitly allows it.
    pub fn anonymous() -> Result<Self, domain::ids::InvalidId> {
        Ok(Self::Anonymous { caller: CallerId::parse("local")? })
    }

    /// The caller of a request.
    pub fn caller(&self, _headers: &http::HeaderMap) -> Result<CallerId, Problem> {
        match self {
            Self::Anonymous { caller } => Ok(caller.clone()),
        }
    }
}
