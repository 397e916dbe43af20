//! What the model is shown of a tool call that ended, well or not, and what the record and the audit keep of it.
//!
//! What is shown is fenced ([`domain::fence`]) and never read back: nothing in it can ask the harness for anything.

use domain::evidence::{EvidenceStatus, InvocationStatus, Projection};
use domain::fence;
use domain::question::cut;
use domain::run::ToolResult;
use domain::tool::{ToolErrorCode, ToolName};
use serde_json::json;

/// Bytes of an error observation's text, and of the name that it repeats.
const MAX_ERROR_BYTES: usize = 1024;
const MAX_NAME_BYTES: usize = 64;

/// What the model is shown of one call, and what the run is told.
pub struct Observed {
    pub content: String,
    pub result: ToolResult,
}

/// A call that was answered without evidence.
pub(crate) struct Refused {
    pub code: ToolErrorCode,
    pub message: String,
}

/// How a call went, for the record and the audit.
pub(crate) struct Ended {
    pub observed: Observed,
    pub status: InvocationStatus,
    pub evidence_status: Option<EvidenceStatus>,
    pub error_code: Option<ToolErrorCode>,
}

impl Ended {
    /// `shown` is the projection's JSON as it is stored.
    pub fn ready(tool: ToolName, shown: &str, projection: Projection) -> Self {
        let json = format!(r#"{{"tool":"{}","data":{shown}}}"#, tool.as_str());
        let content = fence::around(Some(tool), &json);
        let evidence_status = Some(projection.evidence_status());
        let observed = Observed::new(content, Ok(projection));
        Self { observed, status: InvocationStatus::Ready, evidence_status, error_code: None }
    }

    pub fn failed(name: &str, refused: Refused) -> Self {
        let Refused { code, message } = refused;
        let error = json!({ "code": code, "message": cut(&message, MAX_ERROR_BYTES) });
        // An unknown name is model text; it is repeated to that model and to nobody else.
        let json = json!({ "tool": cut(name, MAX_NAME_BYTES), "error": error }).to_string();
        let content = fence::around(ToolName::parse(name), &json);
        let observed = Observed::new(content, Err(code));
        Self { observed, status: InvocationStatus::Failed, evidence_status: None, error_code: Some(code) }
    }
}

impl Observed {
    fn new(content: String, outcome: Result<Projection, ToolErrorCode>) -> Self {
        let result = ToolResult { shown_bytes: content.len() as u64, outcome };
        Self { content, result }
    }
}
