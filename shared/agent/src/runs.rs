//! Reading runs back: state, session history, trace, released evidence; and asking a run to stop. Always for one caller.

use std::sync::Arc;
use std::time::Duration;

use domain::evidence::VerifiedEvidence;
use domain::evidence::guard::{Violation, released_evidence};
use domain::ids::{CallerId, RunId, SessionId, ToolCallId};
use serde::Serialize;

use crate::ports::ledger::{RunPage, RunRow, TraceRows};
use crate::ports::{CanonicalStore, Clock, Ledger, RunControl, StoreError};

pub struct Runs {
    pub ledger: Arc<dyn Ledger>,
    pub canonical: Arc<dyn CanonicalStore>,
    pub control: Arc<dyn RunControl>,
    pub clock: Arc<dyn Clock>,
}

/// Why a run or its evidence can't be shown.
#[derive(Debug, thiserror::Error)]
pub enum Unreadable {
    /// There is none, or it is another caller's; which of the two is not said.
    #[error("not found")]
    NotFound,
    #[error("the evidence of this run has expired")]
    EvidenceExpired,
    #[error("a store is unavailable")]
    Store(#[source] StoreError),
}

impl From<StoreError> for Unreadable {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// One analysis' (or statement's) verified evidence.
#[derive(Debug, Serialize)]
pub struct AnalysisEvidence {
    pub analysis_id: String,
    pub evidence: Vec<VerifiedEvidence>,
}

/// How long a cancel flag stays after the run's deadline.
const CANCEL_FLAG_SLACK: Duration = Duration::from_secs(60);

impl Runs {
    pub async fn run(&self, run_id: RunId, caller: &CallerId) -> Result<RunRow, Unreadable> {
        self.ledger.run(run_id, caller).await?.ok_or(Unreadable::NotFound)
    }

    pub async fn of_session(
        &self,
        session: &SessionId,
        caller: &CallerId,
        limit: u32,
        before: Option<RunId>,
    ) -> Result<RunPage, Unreadable> {
        self.ledger.session_runs(session, caller, limit, before).await?.ok_or(Unreadable::NotFound)
    }

    pub async fn trace(&self, run_id: RunId, caller: &CallerId) -> Result<(RunRow, TraceRows), Unreadable> {
        let row = self.run(run_id, caller).await?;
        let trace = self.ledger.trace(run_id).await?;
        Ok((row, trace))
    }

    /// What the released report cites, verified again against the canonical store.
    pub async fn evidence(
        &self,
        run_id: RunId,
        caller: &CallerId,
    ) -> Result<Vec<AnalysisEvidence>, Unreadable> {
        let row = self.run(run_id, caller).await?;
        let mut ids: Vec<ToolCallId> = Vec::new();
        for text in row.cites.iter().flat_map(|cited| &cited.tool_call_ids) {
            match ToolCallId::parse(text) {
                Ok(id) if !ids.contains(&id) => ids.push(id),
                _ => {}
            }
        }
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let records = self.canonical.read(run_id, &ids).await?;
        let evidence = |cited: &domain::release::Cited| match released_evidence(run_id, cited, &records) {
            Ok(evidence) => Ok(AnalysisEvidence { analysis_id: cited.analysis_id.clone(), evidence }),
            Err(Violation::ToolCallNotFound) => Err(Unreadable::EvidenceExpired),
            Err(_) => {
                Err(Unreadable::Store(StoreError::Corrupt { store: "canonical store", what: "record" }))
            }
        };
        row.cites.iter().map(evidence).collect()
    }

    /// Asks a run to stop; one that has ended stays as it is.
    pub async fn cancel(&self, run_id: RunId, caller: &CallerId) -> Result<RunRow, Unreadable> {
        let row = self.run(run_id, caller).await?;
        if row.outcome.is_none() {
            let until = row.deadline.max(self.clock.now()) + CANCEL_FLAG_SLACK;
            self.control.request_cancel(run_id, until).await?;
        }
        Ok(row)
    }
}
