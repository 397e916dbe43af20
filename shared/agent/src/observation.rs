//! What the model is shown of a tool call that ended, well or not, and what the record and the audit keep of it.
//!
//! What is shown is fenced ([`domain::fence`]) and never read back: nothing in it can ask the harness for anything.

use domain::evidence::projection::DoesNotFit;
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

/// Bytes that a result may take of `max_bytes`: its fence is shown to the model too.
pub(crate) fn room(max_bytes: usize) -> usize {
    max_bytes.saturating_sub(fence::MAX_OVERHEAD_BYTES)
}

/// The projection within the bytes that it will take in its fence.
pub(crate) fn bounded(projection: Projection, max_bytes: usize) -> Result<(Projection, String), DoesNotFit> {
    let (projection, json) = projection.to_bounded_json(max_bytes)?;
    if fence::defused(&json).len() <= max_bytes {
        return Ok((projection, json));
    }
    // Escaping makes ten bytes or more (`<untrusted`) into five more.
    projection.to_bounded_json(max_bytes / 3 * 2)
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
