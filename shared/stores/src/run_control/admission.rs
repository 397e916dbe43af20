//! Admitting a run: one transaction, and what its refusal means.

use std::time::Duration;

use agent::ports::StoreError;
use agent::ports::run_control::{Admission, AdmissionRequest};
use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::types::{CancellationReason, TransactWriteItem};
use domain::ids::RunId;
use sha2::{Digest, Sha256};

use super::items::{self, EXPIRES_AT, Item, Kind, Part, RUN_ID, dead_slots, expiry, owner};
use super::{DynamoRunControl, STORE, unavailable};

/// Transactions on one item at the same time cancel each other; the waits between attempts grow from 10 to
/// 160 ms.
const ATTEMPTS: u32 = 6;
const FIRST_WAIT_MS: u64 = 10;
/// Dead slots removed at once, within DynamoDB's limits on expressions.
const MAX_REMOVED: usize = 50;
/// There is no knowing when another run of the caller ends.
const RETRY_AFTER_SECONDS: u32 = 5;

/// What came of one transaction.
enum Written {
    Done,
    /// Per part, in the order sent: `Some` if its condition failed, with the item that stood in the way.
    Refused(Vec<Option<Item>>),
    /// Other transactions were in the way: nothing changed, and another attempt may succeed.
    Contended,
    /// It may have been carried out or not.
    Unknown(StoreError),
}

/// What a refusal means for the request.
enum Verdict {
    Decided(Admission),
    /// The slots are full, but these belong to the dead.
    Dead(Vec<String>),
}

impl DynamoRunControl {
    pub(super) async fn decide(&self, request: &AdmissionRequest) -> Result<Admission, StoreError> {
        let parts = parts(request);
        if let Some(kind) = closed(request) {
            return Ok(rate_limited(kind, request));
        }
        for attempt in 1..=ATTEMPTS {
            let writes =
                parts.iter().map(|part| part.take(&self.table, request)).collect::<Result<_, _>>()?;
            match self.transact(writes).await? {
                Written::Done => return Ok(Admission::Admitted),
                Written::Unknown(fault) => return self.read_back(request, fault).await,
                Written::Contended => wait(request.run_id, attempt).await,
                Written::Refused(refused) => match verdict(request, &parts, &refused)? {
                    Verdict::Decided(admission) => return Ok(admission),
                    Verdict::Dead(runs) => self.bury(request, &runs).await?,
                },
            }
        }
        Err(contention())
    }

    /// Gives parts back; one that has another owner by now is left to it.
    pub(super) async fn give_back(&self, run_id: RunId, mut parts: Vec<Part>) -> Result<(), StoreError> {
        for attempt in 1..=ATTEMPTS {
            let writes =
                parts.iter().map(|part| part.give_back(&self.table, run_id)).collect::<Result<_, _>>()?;
            match self.transact(writes).await? {
                Written::Done => return Ok(()),
                // Repeating it is harmless, but its time is used up: the lease ends by itself.
                Written::Unknown(fault) => return Err(fault),
                Written::Contended => wait(run_id, attempt).await,
                Written::Refused(refused) => {
                    // Whose lease is gone was given back before: its tokens are counted.
                    let counted = parts
                        .iter()
                        .zip(&refused)
                        .any(|(part, refused)| part.kind == Kind::Lease && refused.is_some());
                    let mut refused = refused.iter().map(Option::is_some);
                    parts.retain(|part| {
                        let given_back =
                            refused.next().unwrap_or(false) || (counted && part.kind == Kind::Tokens);
                        !given_back
                    });
                    if parts.is_empty() {
                        return Ok(());
                    }
                }
            }
        }
        Err(contention())
    }

    async fn transact(&self, writes: Vec<TransactWriteItem>) -> Result<Written, StoreError> {
        let sent = self.client().await.transact_write_items().set_transact_items(Some(writes)).send().await;
        let fault = match sent {
            Ok(_) => return Ok(Written::Done),
            Err(fault) => fault,
        };
        match &fault {
            SdkError::ServiceError(answer) => match answer.err() {
                TransactWriteItemsError::TransactionCanceledException(cancelled) => {
                    return read_reasons(cancelled.cancellation_reasons())
                        .ok_or_else(|| unavailable("transaction", fault));
                }
                TransactWriteItemsError::TransactionInProgressException(_) => return Ok(Written::Contended),
                TransactWriteItemsError::InternalServerError(_) => {}
                // Refused as a whole: no such table, no rights, throttled.
                error if error.code().is_some() => return Err(unavailable("transaction", fault)),
                _ => {}
            },
            SdkError::ConstructionFailure(_) => return Err(unavailable("request", fault)),
            _ => {}
        }
        Ok(Written::Unknown(unavailable("transaction", fault)))
    }

    /// The answer was lost, the lease says what happened: all parts were written, or none.
    async fn read_back(
        &self,
        request: &AdmissionRequest,
        fault: StoreError,
    ) -> Result<Admission, StoreError> {
        let lease = Part::lease(&request.caller, &request.session_id);
        let attributes = format!("{RUN_ID}, {EXPIRES_AT}");
        let Ok(Some(item)) = self.item(&lease.key, &attributes).await else { return Err(fault) };
        let is_active = expiry(&item).is_some_and(|at| at > request.now.unix_timestamp());
        match owner(&item) {
            Some(run_id) if run_id == request.run_id => Ok(Admission::Admitted),
            Some(run_id) if is_active => Ok(Admission::SessionBusy { run_id }),
            _ => Err(fault),
        }
    }

    /// Frees slots of runs that died. Their leases ended long ago, so nothing can bring them back.
    async fn bury(&self, request: &AdmissionRequest, runs: &[String]) -> Result<(), StoreError> {
        let runs = runs.get(..MAX_REMOVED).unwrap_or(runs);
        let removal = Part::slots(&request.caller).remove_slots(&self.table, runs);
        let removal = removal.build().map_err(super::request_fault)?;
        let write = TransactWriteItem::builder().update(removal).build();
        match self.transact(vec![write]).await? {
            Written::Unknown(fault) => Err(fault),
            Written::Done | Written::Refused(_) | Written::Contended => Ok(()),
        }
    }
}

fn parts(request: &AdmissionRequest) -> Vec<Part> {
    let mut parts = Vec::new();
    parts.extend(request.idempotency_key.as_deref().map(|key| Part::idempotency(&request.caller, key)));
    parts.push(Part::lease(&request.caller, &request.session_id));
    parts.push(Part::slots(&request.caller));
    if request.limits.runs_per_minute != u32::MAX {
        parts.push(Part::rate(&request.caller, request.now));
    }
    if request.limits.tokens_per_day != u64::MAX {
        parts.push(Part::tokens(&request.caller, request.now, 0));
    }
    parts
}

/// A limit of nothing is not for the table to decide.
fn closed(request: &AdmissionRequest) -> Option<Kind> {
    match (request.limits.concurrent_runs, request.limits.runs_per_minute, request.limits.tokens_per_day) {
        (0, ..) => Some(Kind::Slots),
        (_, 0, _) => Some(Kind::Rate),
        (.., 0) => Some(Kind::Tokens),
        _ => None,
    }
}

/// `None` if the reasons are nothing that this code's writes can meet.
fn read_reasons(reasons: &[CancellationReason]) -> Option<Written> {
    let is = |reason: &CancellationReason, code: &str| reason.code() == Some(code);
    if reasons.iter().any(|reason| is(reason, "ConditionalCheckFailed")) {
        let refused = reasons.iter().map(|reason| {
            is(reason, "ConditionalCheckFailed").then(|| reason.item().cloned().unwrap_or_default())
        });
        return Some(Written::Refused(refused.collect()));
    }
    let passing = ["TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded"];
    let contended = reasons.iter().any(|reason| passing.iter().any(|code| is(reason, code)));
    contended.then_some(Written::Contended)
}

/// The first refused part decides: a replay is no busy session, and a busy session is no lack of slots.
fn verdict(
    request: &AdmissionRequest,
    parts: &[Part],
    refused: &[Option<Item>],
) -> Result<Verdict, StoreError> {
    let corrupt = |what| StoreError::Corrupt { store: STORE, what };
    let first =
        parts.iter().zip(refused).find_map(|(part, item)| item.as_ref().map(|item| (part.kind, item)));
    let (kind, item) = first.ok_or_else(|| corrupt("refusal"))?;
    let admission = match kind {
        Kind::Idempotency => {
            Admission::Replay { run_id: owner(item).ok_or_else(|| corrupt("idempotency key"))? }
        }
        Kind::Lease => {
            Admission::SessionBusy { run_id: owner(item).ok_or_else(|| corrupt("session lease"))? }
        }
        Kind::Slots => {
            let dead = dead_slots(item, request.now);
            if !dead.is_empty() {
                return Ok(Verdict::Dead(dead));
            }
            rate_limited(kind, request)
        }
        Kind::Rate | Kind::Tokens => rate_limited(kind, request),
    };
    Ok(Verdict::Decided(admission))
}

fn rate_limited(kind: Kind, request: &AdmissionRequest) -> Admission {
    let now = request.now.unix_timestamp();
    let left = |period: i64| u32::try_from(period - now.rem_euclid(period)).unwrap_or(u32::MAX);
    let (limit, retry_after_seconds) = match kind {
        Kind::Rate => ("runs_per_minute", left(60)),
        Kind::Tokens => ("tokens_per_day", left(items::DAY_SECONDS)),
        Kind::Slots | Kind::Lease | Kind::Idempotency => ("concurrent_runs", RETRY_AFTER_SECONDS),
    };
    Admission::RateLimited { limit, retry_after_seconds }
}

fn contention() -> StoreError {
    StoreError::Unavailable { store: STORE, what: "transaction among many at once", source: None }
}

/// Doubles with each attempt; between half and all of it, by the run's id, so that rivals part.
async fn wait(run_id: RunId, attempt: u32) {
    let whole = FIRST_WAIT_MS << attempt.saturating_sub(1).min(6);
    let digest = Sha256::digest(format!("{run_id} {attempt}"));
    let share = u64::from(digest.first().copied().unwrap_or(0));
    tokio::time::sleep(Duration::from_millis(whole / 2 + whole * share / 512)).await;
}
