//! The safe fallback: fixed words and verified facts. There is no parameter that could carry what a model wrote.

use serde::Serialize;

use crate::evidence::snapshot::{SourceType, VerifiedSnapshot};
use crate::question::Language;
use crate::tool::Attempted;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ReasonCode {
    SemanticUnsupported,
    SemanticUnavailable,
    EvidenceValidationFailed,
}

impl ReasonCode {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::SemanticUnsupported => "SEMANTIC_UNSUPPORTED",
            Self::SemanticUnavailable => "SEMANTIC_UNAVAILABLE",
            Self::EvidenceValidationFailed => "EVIDENCE_VALIDATION_FAILED",
        }
    }

    fn message(self, language: Language) -> &'static str {
        match (self, language) {
            (Self::SemanticUnsupported, Language::English) => {
                "The draft report said more than the evidence shows, so it was withheld. The verified sources below are what was found; please continue from them."
            }
            (Self::SemanticUnsupported, Language::Chinese) => {
                "报告草稿的说法超出了证据所能支持的范围，因此没有发布。下面列出的是已核实的证据来源，请据此继续排查。"
            }
            (Self::SemanticUnavailable, Language::English) => {
                "The report could not be reviewed against its evidence, so it was withheld. The verified sources below are what was found; please continue from them or ask again."
            }
            (Self::SemanticUnavailable, Language::Chinese) => {
                "报告未能完成证据一致性审查，因此没有发布。下面列出的是已核实的证据来源，请据此继续排查，或稍后重试。"
            }
            (Self::EvidenceValidationFailed, Language::English) => {
                "No answer could be verified against what this run found, so none is given. What was tried is listed below; please check those sources directly or ask again with a narrower question."
            }
            (Self::EvidenceValidationFailed, Language::Chinese) => {
                "没有得到能用本次查询结果核实的答案，因此不予发布。下面列出了已尝试的查询，请直接查看相关系统，或缩小问题范围后重试。"
            }
        }
    }
}

/// A verified source by harness facts only: no query text, no excerpt, no values.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct FallbackSource {
    pub source_type: SourceType,
    pub source: String,
    pub timestamp: Option<String>,
}

/// What is published instead of a report that can't be backed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SafeFallback {
    kind: &'static str,
    reason_code: ReasonCode,
    conclusion: Option<()>,
    message: &'static str,
    verified_sources: Vec<FallbackSource>,
    attempted: Vec<Attempted>,
}

/// Sources listed at most.
const MAX_SOURCES: usize = 20;

impl SafeFallback {
    /// `snapshot` gives only where evidence came from; an evidence failure has none to give.
    pub(crate) fn new(
        reason_code: ReasonCode,
        language: Language,
        snapshot: Option<&VerifiedSnapshot>,
        attempted: Vec<Attempted>,
    ) -> Self {
        let verified_sources = match reason_code {
            ReasonCode::EvidenceValidationFailed => Vec::new(),
            ReasonCode::SemanticUnsupported | ReasonCode::SemanticUnavailable => {
                snapshot.map(sources_of).unwrap_or_default()
            }
        };
        Self {
            kind: "SAFE_FALLBACK",
            reason_code,
            conclusion: None,
            message: reason_code.message(language),
            verified_sources,
            attempted,
        }
    }

    pub(crate) fn reason_code(&self) -> ReasonCode {
        self.reason_code
    }
}

/// Each source once, with the latest time evidence was seen there.
fn sources_of(snapshot: &VerifiedSnapshot) -> Vec<FallbackSource> {
    let mut sources: Vec<FallbackSource> = Vec::new();
    for evidence in snapshot.analyses.iter().flat_map(|a| &a.verified_evidence) {
        let same =
            sources.iter().position(|s| s.source_type == evidence.source_type && s.source == evidence.source);
        let timestamp = evidence.timestamp.clone();
        if let Some(source) = same.and_then(|i| sources.get_mut(i)) {
            source.timestamp = source.timestamp.take().max(timestamp);
        } else if sources.len() < MAX_SOURCES {
            let (source_type, source) = (evidence.source_type, evidence.source.clone());
            sources.push(FallbackSource { source_type, source, timestamp });
        }
    }
    sources
}
