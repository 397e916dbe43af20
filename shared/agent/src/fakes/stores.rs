//! Stores in memory that can be told to fail, hang, panic or be slow, per operation.

use std::collections::{HashMap, HashSet};
use std::sync::Mutex;
use std::time::Duration;

use async_trait::async_trait;
use domain::budget::BudgetUse;
use domain::evidence::{CanonicalRecord, InvocationStatus};
use domain::ids::{CallerId, RunId, SessionId, ToolCallId};
use domain::question::PreviousTurn;
use domain::release::Outcome;
use serde_json::value::RawValue;
use time::OffsetDateTime;

use super::Diary;
use crate::ports::ledger::{
    AuditBatch, CommitOutcome, InvocationRow, NewRun, RunPage, RunRow, StepRow, TerminalCommit,
    TerminalState, TraceRows,
};
use crate::ports::run_control::{AdmissionRequest, Spent};
use crate::ports::{Admission, CanonicalStore, Ledger, RunControl, StoreError};

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Fault {
    Fails,
    FailsOnce,
    Conflicts,
    Hangs,
    Panics,
    /// Does its work after this.
    Slow(Duration),
    /// Does its work, and then its answer is lost.
    LosesItsAnswer,
}

fn store_failure() -> StoreError {
    StoreError::Unavailable { store: "store", what: "operation", source: None }
}

/// One store's faults by operation, and the diary of what was asked of it.
struct Faults {
    diary: Diary,
    of: Mutex<HashMap<&'static str, Fault>>,
}

impl Faults {
    fn new(diary: Diary) -> Self {
        Self { diary, of: Mutex::default() }
    }

    fn set(&self, operation: &'static str, fault: Fault) {
        self.of.lock().unwrap().insert(operation, fault);
    }

    /// Notes the operation and lets its fault, if there is one, happen.
    async fn meet(&self, operation: &'static str, detail: &str) -> Result<(), StoreError> {
        self.diary.note(format!("{operation} {detail}"));
        let fault = self.of.lock().unwrap().get(operation).copied();
        match fault {
            None | Some(Fault::LosesItsAnswer) => Ok(()),
            Some(Fault::Fails) => Err(store_failure()),
            Some(Fault::FailsOnce) => {
                self.of.lock().unwrap().remove(operation);
                Err(store_failure())
            }
            Some(Fault::Conflicts) => Err(StoreError::Conflict { store: "store", what: "operation" }),
            Some(Fault::Hangs) => std::future::pending().await,
            Some(Fault::Panics) => panic!("{operation} panics as scripted"),
            Some(Fault::Slow(delay)) => {
                tokio::time::sleep(delay).await;
                Ok(())
            }
        }
    }

    fn answer<T>(&self, operation: &'static str, answer: T) -> Result<T, StoreError> {
        let lost = self.of.lock().unwrap().get(operation) == Some(&Fault::LosesItsAnswer);
        if lost { Err(store_failure()) } else { Ok(answer) }
    }
}

macro_rules! fallible {
    ($store:ident) => {
        impl $store {
            /// From now on `operation` has this fault.
            pub fn will(&self, operation: &'static str, fault: Fault) {
                self.faults.set(operation, fault);
            }
        }
    };
}

fallible!(MemoryCanonical);
fallible!(MemoryLedger);
fallible!(MemoryControl);

pub struct MemoryCanonical {
    faults: Faults,
    records: Mutex<Vec<CanonicalRecord>>,
}

impl MemoryCanonical {
    pub fn new(diary: Diary) -> Self {
        Self { faults: Faults::new(diary), records: Mutex::default() }
    }

    pub fn records(&self) -> Vec<CanonicalRecord> {
        self.records.lock().unwrap().clone()
    }

    pub fn record(&self, id: &str) -> CanonicalRecord {
        self.records().into_iter().find(|r| r.tool_call_id.as_str() == id).expect("no such record")
    }
}

#[async_trait]
impl CanonicalStore for MemoryCanonical {
    async fn start(&self, record: &CanonicalRecord) -> Result<(), StoreError> {
        self.faults.meet("canonical.start", record.tool_call_id.as_str()).await?;
        let mut records = self.records.lock().unwrap();
        if records.iter().any(|r| r.run_id == record.run_id && r.tool_call_id == record.tool_call_id) {
            return Err(StoreError::Conflict { store: "canonical store", what: "record" });
        }
        records.push(record.clone());
        Ok(())
    }

    async fn finish(&self, record: &CanonicalRecord) -> Result<(), StoreError> {
        let detail = format!("{} {}", record.tool_call_id, record.status.as_str());
        self.faults.meet("canonical.finish", &detail).await?;
        let mut records = self.records.lock().unwrap();
        let stored =
            records.iter_mut().find(|r| r.run_id == record.run_id && r.tool_call_id == record.tool_call_id);
        match stored {
            Some(stored) if stored.status == InvocationStatus::Started => {
                *stored = record.clone();
                Ok(())
            }
            _ => Err(StoreError::Conflict { store: "canonical store", what: "record" }),
        }
    }

    async fn read(&self, run_id: RunId, ids: &[ToolCallId]) -> Result<Vec<CanonicalRecord>, StoreError> {
        self.faults.meet("canonical.read", &ids.len().to_string()).await?;
        Ok(self
            .records()
            .into_iter()
            .filter(|r| r.run_id == run_id && ids.contains(&r.tool_call_id))
            .collect())
    }

    async fn ping(&self) -> Result<(), StoreError> {
        Ok(())
    }
}

pub struct MemoryLedger {
    faults: Faults,
    rows: Mutex<Vec<(CallerId, RunRow)>>,
    pub commits: Mutex<Vec<TerminalCommit>>,
    pub steps: Mutex<Vec<StepRow>>,
    pub invocations: Mutex<Vec<InvocationRow>>,
    pub previous: Mutex<Option<PreviousTurn>>,
}

impl MemoryLedger {
    pub fn new(diary: Diary) -> Self {
        Self {
            faults: Faults::new(diary),
            rows: Mutex::default(),
            commits: Mutex::default(),
            steps: Mutex::default(),
            invocations: Mutex::default(),
            previous: Mutex::default(),
        }
    }

    /// The only run's row.
    pub fn row(&self) -> RunRow {
        let rows = self.rows.lock().unwrap();
        assert_eq!(rows.len(), 1);
        rows[0].1.clone()
    }

    /// The one terminal state that was ever written.
    #[track_caller]
    pub fn only_commit(&self) -> TerminalCommit {
        let commits = self.commits.lock().unwrap();
        assert_eq!(commits.len(), 1);
        commits[0].clone()
    }

    /// What the sweeper does to runs that died.
    pub fn abandon(&self) {
        for (_, row) in self.rows.lock().unwrap().iter_mut() {
            (row.outcome, row.reason) = (Some(Outcome::Failed), Some("ABANDONED".to_owned()));
        }
    }

    pub fn steps(&self) -> Vec<StepRow> {
        self.steps.lock().unwrap().clone()
    }

    pub fn invocations(&self) -> Vec<InvocationRow> {
        self.invocations.lock().unwrap().clone()
    }

    /// Everything it holds, as text.
    pub fn dump(&self) -> String {
        format!("{:?} {:?}", self.steps(), self.invocations())
    }
}

#[async_trait]
impl Ledger for MemoryLedger {
    async fn admit(&self, run: &NewRun) -> Result<Option<PreviousTurn>, StoreError> {
        self.faults.meet("ledger.admit", "").await?;
        let mut rows = self.rows.lock().unwrap();
        if rows.iter().any(|(caller, row)| row.session_id == run.session_id && *caller != run.caller) {
            return Err(StoreError::Conflict { store: "ledger", what: "session" });
        }
        let row = RunRow {
            run_id: run.run_id,
            session_id: run.session_id.clone(),
            query: run.query.as_str().to_owned(),
            started_at: run.started_at,
            deadline: run.deadline,
            ended_at: None,
            intent: None,
            outcome: None,
            reason: None,
            body: None,
            cites: Vec::new(),
            budget_used: BudgetUse::default(),
            budget_limits: run.budget_limits,
            ungrounded_literals: 0,
            repaired: false,
            cost_nano_usd: None,
        };
        rows.push((run.caller.clone(), row));
        Ok(self.previous.lock().unwrap().clone())
    }

    async fn commit(&self, terminal: &TerminalCommit) -> Result<CommitOutcome, StoreError> {
        self.faults.meet("ledger.commit", "").await?;
        let mut rows = self.rows.lock().unwrap();
        let (_, row) = rows.iter_mut().find(|(_, row)| row.run_id == terminal.run_id).expect("no such run");
        if row.outcome.is_some() {
            return Ok(CommitOutcome::AlreadyTerminal);
        }
        match &terminal.state {
            TerminalState::Released { intent, released } => {
                row.intent = Some(*intent);
                row.outcome = Some(released.outcome());
                row.reason = released.reason().map(str::to_owned);
                row.body = Some(RawValue::from_string(released.body_json().to_owned()).unwrap());
                row.cites = released.cites().to_vec();
            }
            TerminalState::Failed { intent, code } => {
                (row.intent, row.outcome, row.reason) =
                    (*intent, Some(Outcome::Failed), Some(code.as_str().to_owned()));
            }
        }
        self.commits.lock().unwrap().push(terminal.clone());
        self.faults.diary.note("ledger.committed");
        self.faults.answer("ledger.commit", CommitOutcome::Committed)
    }

    async fn audit(&self, batch: &AuditBatch) -> Result<(), StoreError> {
        self.faults.meet("ledger.audit", &(batch.steps.len() + batch.invocations.len()).to_string()).await?;
        let (mut steps, mut invocations) = (self.steps.lock().unwrap(), self.invocations.lock().unwrap());
        let new_step =
            |row: &&StepRow| !steps.iter().any(|s| s.sequence == row.sequence && s.run_id == row.run_id);
        let new_steps: Vec<_> = batch.steps.iter().filter(new_step).cloned().collect();
        let new_call = |row: &&InvocationRow| {
            !invocations.iter().any(|i| i.sequence == row.sequence && i.run_id == row.run_id)
        };
        let new_calls: Vec<_> = batch.invocations.iter().filter(new_call).cloned().collect();
        steps.extend(new_steps);
        invocations.extend(new_calls);
        drop((steps, invocations));
        self.faults.answer("ledger.audit", ())
    }

    async fn run(&self, run_id: RunId, caller: &CallerId) -> Result<Option<RunRow>, StoreError> {
        self.faults.meet("ledger.run", "").await?;
        let rows = self.rows.lock().unwrap();
        Ok(rows
            .iter()
            .find(|(owner, row)| owner == caller && row.run_id == run_id)
            .map(|(_, row)| row.clone()))
    }

    async fn session_runs(
        &self,
        _: &SessionId,
        _: &CallerId,
        _: u32,
        _: Option<RunId>,
    ) -> Result<Option<RunPage>, StoreError> {
        Ok(None)
    }

    async fn trace(&self, _: RunId) -> Result<TraceRows, StoreError> {
        Ok(TraceRows { steps: Vec::new(), invocations: Vec::new() })
    }

    async fn retain(&self, _: OffsetDateTime, _: u32) -> Result<u32, StoreError> {
        Ok(0)
    }

    async fn sweep(&self, _: OffsetDateTime, _: u32) -> Result<Vec<RunId>, StoreError> {
        Ok(Vec::new())
    }

    async fn ping(&self) -> Result<(), StoreError> {
        Ok(())
    }
}

pub struct MemoryControl {
    faults: Faults,
    leases: Mutex<HashMap<(CallerId, SessionId), RunId>>,
    keys: Mutex<HashMap<(CallerId, String), RunId>>,
    cancelled: Mutex<HashSet<RunId>>,
}

impl MemoryControl {
    pub fn new(diary: Diary) -> Self {
        Self {
            faults: Faults::new(diary),
            leases: Mutex::default(),
            keys: Mutex::default(),
            cancelled: Mutex::default(),
        }
    }

    pub fn leases(&self) -> usize {
        self.leases.lock().unwrap().len()
    }

    pub fn keys(&self) -> usize {
        self.keys.lock().unwrap().len()
    }

    /// As if `run_id` had been admitted with this key by the usual caller.
    pub fn holds_key(&self, key: &str, run_id: RunId) {
        self.keys.lock().unwrap().insert((super::caller("alice"), key.to_owned()), run_id);
    }
}

#[async_trait]
impl RunControl for MemoryControl {
    async fn admit(&self, request: &AdmissionRequest) -> Result<Admission, StoreError> {
        self.faults.meet("control.admit", "").await?;
        if let Some(key) = &request.idempotency_key {
            let mut keys = self.keys.lock().unwrap();
            let owner = *keys.entry((request.caller.clone(), key.clone())).or_insert(request.run_id);
            if owner != request.run_id {
                return Ok(Admission::Replay { run_id: owner });
            }
        }
        let lease = (request.caller.clone(), request.session_id.clone());
        let owner = *self.leases.lock().unwrap().entry(lease).or_insert(request.run_id);
        if owner != request.run_id {
            return Ok(Admission::SessionBusy { run_id: owner });
        }
        self.faults.answer("control.admit", Admission::Admitted)
    }

    async fn release(&self, run_id: RunId, _: &SessionId, _: &CallerId, _: Spent) -> Result<(), StoreError> {
        self.faults.meet("control.release", "").await?;
        self.leases.lock().unwrap().retain(|_, owner| *owner != run_id);
        Ok(())
    }

    async fn withdraw(
        &self,
        run_id: RunId,
        _: &SessionId,
        _: &CallerId,
        key: Option<&str>,
    ) -> Result<(), StoreError> {
        self.faults.meet("control.withdraw", key.unwrap_or("-")).await?;
        self.leases.lock().unwrap().retain(|_, owner| *owner != run_id);
        self.keys.lock().unwrap().retain(|_, owner| *owner != run_id);
        Ok(())
    }

    async fn request_cancel(&self, run_id: RunId, _: OffsetDateTime) -> Result<(), StoreError> {
        self.faults.meet("control.request_cancel", "").await?;
        self.cancelled.lock().unwrap().insert(run_id);
        Ok(())
    }

    async fn is_cancelled(&self, run_id: RunId, _: OffsetDateTime) -> Result<bool, StoreError> {
        self.faults.meet("control.is_cancelled", "").await?;
        Ok(self.cancelled.lock().unwrap().contains(&run_id))
    }

    async fn ping(&self) -> Result<(), StoreError> {
        Ok(())
    }
}
