//! Run control on one DynamoDB table: session leases, idempotency keys, caller quotas, cancel flags.
//!
//! | `pk` | attributes | what it is |
//! | --- | --- | --- |
//! | `lease#CALLER#SESSION` | `run_id`, `expires_at` | the session's one active run |
//! | `idem#DIGEST` | `run_id`, `expires_at` | the run that a caller's idempotency key started |
//! | `slots#CALLER` | `runs`, `until_RUN`…, `expires_at` | its active runs, and when each counts as dead |
//! | `rate#CALLER#MINUTE` | `started`, `expires_at` | runs started in that minute |
//! | `tokens#CALLER#DAY` | `used`, `expires_at` | tokens of the caller's runs that ended on that day |
//! | `cancel#RUN` | `expires_at` | the run was asked to stop |
//!
//! `expires_at` (Unix seconds) is the table's TTL attribute. DynamoDB deletes late, so every condition
//! compares it and nothing trusts that an expired item is gone. The key has no sort part: no two items are
//! ever read together.

mod admission;
mod client;
mod items;

use agent::ports::StoreError;
use agent::ports::run_control::{Admission, AdmissionRequest, RunControl, Spent};
use async_trait::async_trait;
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::SdkError;
use aws_sdk_dynamodb::types::{
    AttributeDefinition, AttributeValue, BillingMode, KeySchemaElement, KeyType, ScalarAttributeType,
    TimeToLiveSpecification,
};
use domain::ids::{CallerId, RunId, SessionId};
use time::OffsetDateTime;
use tokio::sync::OnceCell;

pub use client::Endpoint;
use items::{EXPIRES_AT, PARTITION_KEY, Part};

const STORE: &str = "run control";

/// The table. Connects at its first use, once.
pub struct DynamoRunControl {
    table: String,
    endpoint: Endpoint,
    client: OnceCell<Client>,
}

impl DynamoRunControl {
    /// Does no IO and reads no environment.
    pub fn connect_lazy(table: impl Into<String>, endpoint: Endpoint) -> Self {
        Self { table: table.into(), endpoint, client: OnceCell::new() }
    }

    async fn client(&self) -> &Client {
        self.client.get_or_init(|| client::build(&self.endpoint)).await
    }

    /// Creates the table and its TTL if there is none: for the embedded emulator. Deployed tables are made by
    /// the stack.
    ///
    /// # Errors
    /// `Unavailable`.
    pub async fn create_table(&self) -> Result<(), StoreError> {
        let client = self.client().await;
        let attribute = AttributeDefinition::builder()
            .attribute_name(PARTITION_KEY)
            .attribute_type(ScalarAttributeType::S)
            .build()
            .map_err(request_fault)?;
        let key = KeySchemaElement::builder()
            .attribute_name(PARTITION_KEY)
            .key_type(KeyType::Hash)
            .build()
            .map_err(request_fault)?;
        let created = client
            .create_table()
            .table_name(&self.table)
            .attribute_definitions(attribute)
            .key_schema(key)
            .billing_mode(BillingMode::PayPerRequest)
            .send()
            .await;
        match created {
            Err(SdkError::ServiceError(fault)) if fault.err().is_resource_in_use_exception() => return Ok(()),
            done => done.map_err(|fault| unavailable("create table", fault))?,
        };
        let ttl = TimeToLiveSpecification::builder().attribute_name(EXPIRES_AT).enabled(true);
        let ttl = ttl.build().map_err(request_fault)?;
        let update = client.update_time_to_live().table_name(&self.table).time_to_live_specification(ttl);
        update.send().await.map(drop).map_err(|fault| unavailable("time to live", fault))
    }

    /// The unexpired or expired item of a key, read consistently; only the attributes named.
    async fn item(&self, key: &str, attributes: &str) -> Result<Option<items::Item>, StoreError> {
        let get = self.client().await.get_item().table_name(&self.table).consistent_read(true);
        let get = get.key(PARTITION_KEY, AttributeValue::S(key.to_owned())).projection_expression(attributes);
        let got = get.send().await.map_err(|fault| unavailable("read", fault))?;
        Ok(got.item)
    }
}

/// What the SDK says, with its chain; it names operations and error codes, never items.
fn unavailable(what: &'static str, fault: impl std::error::Error + Send + Sync + 'static) -> StoreError {
    StoreError::unavailable(STORE, what, fault)
}

fn request_fault(fault: aws_sdk_dynamodb::error::BuildError) -> StoreError {
    unavailable("request", fault)
}

#[async_trait]
impl RunControl for DynamoRunControl {
    async fn admit(&self, request: &AdmissionRequest) -> Result<Admission, StoreError> {
        self.decide(request).await
    }

    async fn release(
        &self,
        run_id: RunId,
        session: &SessionId,
        caller: &CallerId,
        spent: Spent,
    ) -> Result<(), StoreError> {
        let mut parts = vec![Part::lease(caller, session), Part::slots(caller)];
        if spent.tokens > 0 {
            parts.push(Part::tokens(caller, spent.at, spent.tokens));
        }
        self.give_back(run_id, parts).await
    }

    async fn withdraw(
        &self,
        run_id: RunId,
        session: &SessionId,
        caller: &CallerId,
        idempotency_key: Option<&str>,
    ) -> Result<(), StoreError> {
        let mut parts = vec![Part::lease(caller, session), Part::slots(caller)];
        parts.extend(idempotency_key.map(|key| Part::idempotency(caller, key)));
        self.give_back(run_id, parts).await
    }

    async fn request_cancel(&self, run_id: RunId, until: OffsetDateTime) -> Result<(), StoreError> {
        let put = self.client().await.put_item().table_name(&self.table);
        let put = put.item(PARTITION_KEY, AttributeValue::S(items::cancel_key(run_id)));
        let put = put.item(EXPIRES_AT, items::number(items::ends(until)));
        put.send().await.map(drop).map_err(|fault| unavailable("cancel flag", fault))
    }

    async fn is_cancelled(&self, run_id: RunId, now: OffsetDateTime) -> Result<bool, StoreError> {
        let flag = self.item(&items::cancel_key(run_id), EXPIRES_AT).await?;
        Ok(flag.is_some_and(|item| items::expiry(&item).is_some_and(|at| at > now.unix_timestamp())))
    }

    async fn ping(&self) -> Result<(), StoreError> {
        self.item("ping", PARTITION_KEY).await.map(drop)
    }
}
