//! What each reply leads to: the next phase, a fallback, a failure, or a release.

use serde_json::json;

use super::{Candidate, KNOWLEDGE_TOP_K, Phase, Run, SEARCH_QUERY_BYTES, steps};
use crate::draft::{DiagnosisDraft, SemanticDraftView};
use crate::events::FailureCode;
use crate::evidence::EvidenceStatus;
use crate::fallback::{ReasonCode, SafeFallback};
use crate::ids::ToolCallId;
use crate::knowledge::{self, KnowledgeDraft};
use crate::model::{ModelFault, Reply, RequestedCall};
use crate::question::{Intent, Query};
use crate::release::Released;
use crate::run::{Admission, PlannedCall, Terminal, ToolResult};
use crate::semantic::{self, SemanticInput, Verdict};
use crate::tool::{Attempted, ToolName};
use crate::verbatim;

impl Run {
    pub(super) fn routed(&mut self, attempt: u32, reply: Result<Reply, ModelFault>) -> Phase {
        let intent = reply.and_then(|reply| steps::parse_route(&reply));
        let intent = match intent {
            Ok(intent) => intent,
            Err(fault) if fault.asks_again() && attempt < self.limits.attempts.router => {
                return Phase::Routing { attempt: attempt + 1 };
            }
            // A router that fails technically routes to the most guarded path.
            Err(_) => Intent::Diagnosis,
        };
        self.intent = Some(intent);
        match intent {
            Intent::Diagnosis => Phase::Diagnosing,
            Intent::SystemChat => Phase::Introducing,
            Intent::KnowledgeQuery => {
                let query = crate::question::cut(self.query.as_str(), SEARCH_QUERY_BYTES);
                let arguments = json!({ "query": query, "top_k": KNOWLEDGE_TOP_K });
                let lookup = RequestedCall {
                    id: None,
                    name: ToolName::LookupKnowledge.as_str().to_owned(),
                    arguments: Ok(arguments),
                };
                Phase::Retrieving(self.plan(vec![lookup]))
            }
        }
    }

    pub(super) fn diagnosed(&mut self, reply: Result<Reply, ModelFault>) -> Phase {
        let reply = match reply {
            Ok(reply) => reply,
            Err(fault) => return failed(steps::failure_of(fault)),
        };
        if !reply.calls.is_empty() {
            return Phase::GatheringEvidence(self.plan(reply.calls));
        }
        let text = reply.text.as_deref().unwrap_or_default();
        match DiagnosisDraft::parse(text) {
            // What the sources wrote or the harness said is not the agent's report, however well-formed.
            Ok(draft) if self.foreign.hold(text) || verbatim::draft_repeats_instructions(&draft) => {
                failed(FailureCode::ModelOutputInvalid)
            }
            Ok(draft) => Phase::Checking { draft },
            Err(_) => failed(FailureCode::ModelOutputInvalid),
        }
    }

    /// Gives each asked call its id and its share of the budget, in the order asked.
    pub(super) fn plan(&mut self, calls: Vec<RequestedCall>) -> Vec<PlannedCall> {
        let count = calls.len() as u64;
        let planned = calls.into_iter().enumerate().map(|(i, asked)| {
            self.calls_planned += 1;
            let reserved =
                if self.told_final { None } else { self.budget.reserve_tool_call(count - i as u64) };
            let admission =
                reserved.map_or(Admission::OverBudget, |max_bytes| Admission::Admitted { max_bytes });
            PlannedCall {
                id: self.call_ids.assign(asked.id.as_deref()),
                index: self.calls_planned,
                name: asked.name,
                arguments: asked.arguments,
                admission,
            }
        });
        planned.collect()
    }

    pub(super) fn settle_tools(&mut self, calls: &[PlannedCall], results: &[ToolResult]) {
        for (call, result) in calls.iter().zip(results) {
            match call.admission {
                Admission::Admitted { max_bytes } => {
                    self.budget.settle_tool_call(max_bytes, result.shown_bytes)
                }
                Admission::OverBudget => self.budget.charge_observation(result.shown_bytes),
            }
            if let Ok(shown) = &result.outcome {
                self.foreign.note(shown);
            }
            let (evidence_status, error_code) = match &result.outcome {
                Ok(projection) => (Some(projection.evidence_status()), None),
                Err(code) => (None, Some(*code)),
            };
            self.attempted.push(Attempted { tool: ToolName::parse(&call.name), evidence_status, error_code });
        }
    }

    pub(super) fn retrieved(&mut self, calls: &[PlannedCall], results: Vec<ToolResult>) -> Phase {
        for (call, result) in calls.iter().zip(results) {
            if let Ok(crate::evidence::Projection::Knowledge(found)) = result.outcome
                && found.evidence_status == EvidenceStatus::EvidenceFound
                && found.tool_call_id == call.id
            {
                return Phase::Answering {
                    lookup: found.tool_call_id.clone(),
                    hits: steps::numbered_hits(&found),
                };
            }
        }
        self.fallback(ReasonCode::EvidenceValidationFailed, None)
    }

    pub(super) fn answered(&mut self, lookup: ToolCallId, reply: Result<Reply, ModelFault>) -> Phase {
        match reply {
            Err(fault) => failed(steps::failure_of(fault)),
            Ok(reply) => match KnowledgeDraft::parse(reply.text.as_deref().unwrap_or_default()) {
                Ok(draft) if !verbatim::answer_repeats_instructions(&draft) => {
                    Phase::CheckingAnswer { draft, lookup }
                }
                _ => failed(FailureCode::ModelOutputInvalid),
            },
        }
    }

    pub(super) fn repair_replied(
        &mut self,
        original: &DiagnosisDraft,
        reply: Result<Reply, ModelFault>,
    ) -> Phase {
        let accepted = reply
            .ok()
            .and_then(|reply| reply.text)
            .and_then(|text| crate::repair::accept(original, &text).ok());
        match accepted {
            Some(draft) => Phase::Checking { draft },
            None => self.fallback(ReasonCode::EvidenceValidationFailed, None),
        }
    }

    pub(super) fn review(&mut self, candidate: Candidate) -> Phase {
        let checked = candidate.checked();
        self.ungrounded = checked.ungrounded.values().map(|literals| literals.len() as u32).sum();
        let draft = match &candidate {
            Candidate::Report(verified) => json!(SemanticDraftView::of(&verified.draft)),
            Candidate::Answer { answer, .. } => json!(SemanticDraftView::of(&knowledge::as_draft(answer))),
        };
        let (snapshot, ungrounded_literals) = (&checked.snapshot, &checked.ungrounded);
        let input = json!(SemanticInput { query: self.query.as_str(), draft, snapshot, ungrounded_literals })
            .to_string();
        if input.len() > semantic::MAX_INPUT_BYTES {
            return self.fallback(ReasonCode::SemanticUnavailable, Some(&candidate));
        }
        Phase::Reviewing { candidate, input, attempt: 1 }
    }

    pub(super) fn reviewed(
        &mut self,
        candidate: Candidate,
        input: String,
        attempt: u32,
        reply: Result<Reply, ModelFault>,
    ) -> Phase {
        let verdict = reply.and_then(|reply| {
            Verdict::parse(reply.text.as_deref().unwrap_or_default()).map_err(|_| ModelFault::SchemaInvalid)
        });
        match verdict {
            Ok(Verdict::Supported(proof)) => self.released(candidate.release(proof)),
            Ok(Verdict::Unsupported) => self.fallback(ReasonCode::SemanticUnsupported, Some(&candidate)),
            Err(fault) if fault.asks_again() && attempt < self.limits.attempts.semantic_guard => {
                Phase::Reviewing { candidate, input, attempt: attempt + 1 }
            }
            Err(_) => self.fallback(ReasonCode::SemanticUnavailable, Some(&candidate)),
        }
    }

    pub(super) fn fallback(&self, reason: ReasonCode, candidate: Option<&Candidate>) -> Phase {
        let snapshot = candidate.map(|c| &c.checked().snapshot);
        let fallback = SafeFallback::new(reason, self.query.language(), snapshot, self.attempted.clone());
        self.released(Released::fallback(&fallback))
    }

    pub(super) fn released(&self, released: Released) -> Phase {
        Phase::Done(Terminal::Released { intent: self.intent.unwrap_or(Intent::Diagnosis), released })
    }
}

fn failed(code: FailureCode) -> Phase {
    Phase::Done(Terminal::Failed(code))
}

pub(super) fn introduced(query: &Query, reply: Result<Reply, ModelFault>) -> Phase {
    match reply {
        Err(fault) => failed(steps::failure_of(fault)),
        Ok(reply) => {
            let text = reply.text.unwrap_or_default();
            let checked = crate::system::check(&text, steps::ABOUT, query.language());
            Phase::Done(Terminal::Released {
                intent: Intent::SystemChat,
                released: Released::system(&checked),
            })
        }
    }
}
