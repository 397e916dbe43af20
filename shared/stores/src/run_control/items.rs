//! The table's items: keys, attributes, and the conditional writes that take and give back one part of an
//! admission.

use std::collections::HashMap;

use agent::ports::StoreError;
use agent::ports::run_control::AdmissionRequest;
use aws_sdk_dynamodb::types::{
    AttributeValue, ConditionCheck, Delete, Put, ReturnValuesOnConditionCheckFailure, TransactWriteItem,
    Update,
};
use domain::ids::{CallerId, RunId, SessionId};
use sha2::{Digest, Sha256};
use time::OffsetDateTime;

use super::request_fault;

pub(super) type Item = HashMap<String, AttributeValue>;

pub(super) const PARTITION_KEY: &str = "pk";
pub(super) const EXPIRES_AT: &str = "expires_at";
pub(super) const RUN_ID: &str = "run_id";
const RUNS: &str = "runs";
const UNTIL: &str = "until_";

pub(super) const DAY_SECONDS: i64 = 24 * 60 * 60;
/// More slots than this are never needed by one caller, and one item must stay far below DynamoDB's 400 kB.
pub(super) const MAX_SLOTS: u32 = 1000;

/// One part of an admission: one item of the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Part {
    pub kind: Kind,
    pub key: String,
    /// What is counted when it is given back.
    pub amount: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Idempotency,
    Lease,
    Slots,
    Rate,
    Tokens,
}

impl Part {
    /// The key is digested with its caller: it is up to 128 characters of the caller's choice.
    pub(super) fn idempotency(caller: &CallerId, key: &str) -> Self {
        let mut digest = Sha256::new();
        digest.update(caller.as_str());
        digest.update([0]);
        digest.update(key);
        let digest: String = digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        Self { kind: Kind::Idempotency, key: format!("idem#{digest}"), amount: 0 }
    }

    /// Neither id may hold a `#`, so two pairs never share a key; the caller in it keeps callers apart.
    pub(super) fn lease(caller: &CallerId, session: &SessionId) -> Self {
        Self { kind: Kind::Lease, key: format!("lease#{caller}#{session}"), amount: 0 }
    }

    pub(super) fn slots(caller: &CallerId) -> Self {
        Self { kind: Kind::Slots, key: format!("slots#{caller}"), amount: 0 }
    }

    pub(super) fn rate(caller: &CallerId, now: OffsetDateTime) -> Self {
        Self {
            kind: Kind::Rate,
            key: format!("rate#{caller}#{}", now.unix_timestamp().div_euclid(60)),
            amount: 0,
        }
    }

    pub(super) fn tokens(caller: &CallerId, at: OffsetDateTime, amount: u64) -> Self {
        let day = at.unix_timestamp().div_euclid(DAY_SECONDS);
        Self { kind: Kind::Tokens, key: format!("tokens#{caller}#{day}"), amount }
    }

    /// The write that takes this part for the request's run, or is refused by its condition. Taking twice is
    /// taking once, except that a rate counts again.
    pub(super) fn take(
        &self,
        table: &str,
        request: &AdmissionRequest,
    ) -> Result<TransactWriteItem, StoreError> {
        match self.kind {
            Kind::Idempotency => {
                self.claim(table, request, request.now.unix_timestamp().saturating_add(DAY_SECONDS))
            }
            Kind::Lease => self.claim(table, request, ends(request.lease_until)),
            Kind::Slots => self.take_slot(table, request),
            Kind::Rate => self.count(table, request),
            Kind::Tokens => self.check_tokens(table, request),
        }
    }

    /// Create-if-absent-or-expired, with the run as owner.
    fn claim(
        &self,
        table: &str,
        request: &AdmissionRequest,
        until: i64,
    ) -> Result<TransactWriteItem, StoreError> {
        let run = AttributeValue::S(request.run_id.to_string());
        let put = Put::builder()
            .table_name(table)
            .item(PARTITION_KEY, AttributeValue::S(self.key.clone()))
            .item(RUN_ID, run.clone())
            .item(EXPIRES_AT, number(until))
            .condition_expression("attribute_not_exists(pk) OR expires_at <= :now OR run_id = :run")
            .expression_attribute_values(":now", number(request.now.unix_timestamp()))
            .expression_attribute_values(":run", run)
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld);
        let put = put.build().map_err(request_fault)?;
        Ok(TransactWriteItem::builder().put(put).build())
    }

    fn take_slot(&self, table: &str, request: &AdmissionRequest) -> Result<TransactWriteItem, StoreError> {
        let until = ends(request.lease_until);
        let run = request.run_id.to_string();
        let update = self
            .update(table)
            .update_expression("ADD runs :me SET #until = :until, expires_at = :forget")
            .condition_expression("attribute_not_exists(runs) OR size(runs) < :limit OR contains(runs, :run)")
            .expression_attribute_names("#until", format!("{UNTIL}{run}"))
            .expression_attribute_values(":me", AttributeValue::Ss(vec![run.clone()]))
            .expression_attribute_values(":run", AttributeValue::S(run))
            .expression_attribute_values(":until", number(until))
            .expression_attribute_values(":forget", number(until.saturating_add(DAY_SECONDS)))
            .expression_attribute_values(
                ":limit",
                number(request.limits.concurrent_runs.min(MAX_SLOTS).into()),
            );
        let update = update.build().map_err(request_fault)?;
        Ok(TransactWriteItem::builder().update(update).build())
    }

    fn count(&self, table: &str, request: &AdmissionRequest) -> Result<TransactWriteItem, StoreError> {
        let update = self
            .update(table)
            .update_expression("ADD started :one SET expires_at = :forget")
            .condition_expression("attribute_not_exists(started) OR started < :limit")
            .expression_attribute_values(":one", number(1))
            .expression_attribute_values(
                ":forget",
                number(request.now.unix_timestamp().saturating_add(DAY_SECONDS)),
            )
            .expression_attribute_values(":limit", number(request.limits.runs_per_minute.into()));
        let update = update.build().map_err(request_fault)?;
        Ok(TransactWriteItem::builder().update(update).build())
    }

    /// Takes nothing: what a run will use is known only when it has ended.
    fn check_tokens(&self, table: &str, request: &AdmissionRequest) -> Result<TransactWriteItem, StoreError> {
        let check = ConditionCheck::builder()
            .table_name(table)
            .key(PARTITION_KEY, AttributeValue::S(self.key.clone()))
            .condition_expression("attribute_not_exists(used) OR used < :limit")
            .expression_attribute_values(":limit", count_of(request.limits.tokens_per_day))
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld);
        let check = check.build().map_err(request_fault)?;
        Ok(TransactWriteItem::builder().condition_check(check).build())
    }

    fn add_tokens(&self, table: &str) -> Result<TransactWriteItem, StoreError> {
        let update = self
            .update(table)
            .update_expression("ADD used :amount SET expires_at = :forget")
            .expression_attribute_values(":amount", count_of(self.amount))
            .expression_attribute_values(":forget", number(self.forgotten_at()));
        let update = update.build().map_err(request_fault)?;
        Ok(TransactWriteItem::builder().update(update).build())
    }

    /// The end of the day after the key's own.
    fn forgotten_at(&self) -> i64 {
        let day = self.key.rsplit('#').next().and_then(|day| day.parse::<i64>().ok());
        day.unwrap_or_default().saturating_add(2).saturating_mul(DAY_SECONDS)
    }

    /// The write that gives this part back if the run still owns it. Tokens are counted by it.
    pub(super) fn give_back(&self, table: &str, run_id: RunId) -> Result<TransactWriteItem, StoreError> {
        if self.kind == Kind::Slots {
            let update = self.remove_slots(table, &[run_id.to_string()]).build().map_err(request_fault)?;
            return Ok(TransactWriteItem::builder().update(update).build());
        }
        if self.kind == Kind::Tokens {
            return self.add_tokens(table);
        }
        let delete = Delete::builder()
            .table_name(table)
            .key(PARTITION_KEY, AttributeValue::S(self.key.clone()))
            .condition_expression("run_id = :run")
            .expression_attribute_values(":run", AttributeValue::S(run_id.to_string()));
        let delete = delete.build().map_err(request_fault)?;
        Ok(TransactWriteItem::builder().delete(delete).build())
    }

    /// Frees the slots of these runs; a run that has none changes nothing, and a missing item is not created.
    pub(super) fn remove_slots(
        &self,
        table: &str,
        runs: &[String],
    ) -> aws_sdk_dynamodb::types::builders::UpdateBuilder {
        let names: Vec<String> = (0..runs.len()).map(|i| format!("#until{i}")).collect();
        let mut update = self
            .update(table)
            .update_expression(format!("DELETE runs :dead REMOVE {}", names.join(", ")))
            .condition_expression("attribute_exists(pk)")
            .expression_attribute_values(":dead", AttributeValue::Ss(runs.to_vec()));
        for (name, run) in names.into_iter().zip(runs) {
            update = update.expression_attribute_names(name, format!("{UNTIL}{run}"));
        }
        update
    }

    fn update(&self, table: &str) -> aws_sdk_dynamodb::types::builders::UpdateBuilder {
        Update::builder()
            .table_name(table)
            .key(PARTITION_KEY, AttributeValue::S(self.key.clone()))
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld)
    }
}

pub(super) fn cancel_key(run_id: RunId) -> String {
    format!("cancel#{run_id}")
}

pub(super) fn number(value: i64) -> AttributeValue {
    AttributeValue::N(value.to_string())
}

fn count_of(value: u64) -> AttributeValue {
    AttributeValue::N(value.to_string())
}

/// Whole seconds, rounded up: nothing ends before its time.
pub(super) fn ends(at: OffsetDateTime) -> i64 {
    at.unix_timestamp().saturating_add(i64::from(at.nanosecond() > 0))
}

fn int(item: &Item, attribute: &str) -> Option<i64> {
    item.get(attribute)?.as_n().ok()?.parse().ok()
}

pub(super) fn expiry(item: &Item) -> Option<i64> {
    int(item, EXPIRES_AT)
}

pub(super) fn owner(item: &Item) -> Option<RunId> {
    RunId::parse(item.get(RUN_ID)?.as_s().ok()?).ok()
}

/// The slots of runs that died without giving them back.
pub(super) fn dead_slots(item: &Item, now: OffsetDateTime) -> Vec<String> {
    let Some(Ok(runs)) = item.get(RUNS).map(AttributeValue::as_ss) else { return Vec::new() };
    let is_dead =
        |run: &&String| int(item, &format!("{UNTIL}{run}")).is_none_or(|at| at <= now.unix_timestamp());
    runs.iter().filter(is_dead).cloned().collect()
}
