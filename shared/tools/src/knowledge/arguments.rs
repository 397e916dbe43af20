//! The arguments of `lookup_knowledge`, as the model sees and writes them.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::arguments;

/// Hits when `top_k` is null.
pub const DEFAULT_TOP_K: u32 = 4;

#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LookupArguments {
    /// What to look up: symptoms, error codes, service names or a question, in Chinese or English.
    #[schemars(length(min = 1, max = 1000))]
    pub query: String,
    /// Excerpts wanted, at most 8; null for 4.
    #[schemars(range(min = 1, max = 8))]
    pub top_k: Option<u32>,
}

/// Reads the arguments; `Err` names the field, what is wrong and what would be right.
pub fn understand(arguments: &Value) -> Result<LookupArguments, String> {
    let read: LookupArguments = arguments::read(arguments)?;
    if read.query.trim().is_empty() {
        return Err("`query` is blank; write what to look up".to_owned());
    }
    Ok(read)
}
