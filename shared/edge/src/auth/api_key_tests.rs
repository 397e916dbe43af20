//! Keys against a store in memory and a clock that is set by hand.

use async_trait::async_trait;
use domain::ids::CallerId;

use super::*;
use crate::problem::Code;

struct Store {
    rows: Mutex<Vec<(ApiKey, KeyHash)>>,
    reads: Mutex<u32>,
    down: Mutex<bool>,
}

#[async_trait]
impl ApiKeys for Store {
    async fn create(&self, key: &ApiKey, hash: &KeyHash) -> Result<(), StoreError> {
        self.rows.lock().unwrap().push((key.clone(), hash.clone()));
        Ok(())
    }

    async fn find(&self, id: &str) -> Result<Option<(ApiKey, KeyHash)>, StoreError> {
        *self.reads.lock().unwrap() += 1;
        if *self.down.lock().unwrap() {
            return Err(StoreError::Unavailable { store: "ledger", what: "API key", source: None });
        }
        Ok(self.rows.lock().unwrap().iter().find(|(key, _)| key.id == id).cloned())
    }

    async fn list(&self, _: u32) -> Result<Vec<ApiKey>, StoreError> {
        Ok(Vec::new())
    }

    async fn revoke(&self, id: &str, at: OffsetDateTime) -> Result<bool, StoreError> {
        let mut rows = self.rows.lock().unwrap();
        let row = rows.iter_mut().find(|(key, _)| key.id == id);
        Ok(row.map(|(key, _)| key.revoked_at = Some(at)).is_some())
    }
}

struct Hand(Mutex<OffsetDateTime>);

impl Clock for Hand {
    fn now(&self) -> OffsetDateTime {
        *self.0.lock().unwrap()
    }
}

struct World {
    store: Arc<Store>,
    clock: Arc<Hand>,
    ring: KeyRing,
}

fn world() -> World {
    let store = Arc::new(Store { rows: Mutex::default(), reads: Mutex::default(), down: Mutex::default() });
    let clock = Arc::new(Hand(Mutex::new(OffsetDateTime::from_unix_timestamp(1_800_000_000).unwrap())));
    let ring = KeyRing::new(store.clone(), clock.clone(), CallerLimits::default());
    World { store, clock, ring }
}

impl World {
    async fn key(&self, expires_in: Option<Duration>) -> NewKey {
        let new = NewKey::mint().unwrap();
        let limits = agent::ports::keys::KeyLimits { runs_per_minute: Some(3), ..Default::default() };
        let key = ApiKey {
            id: new.id.clone(),
            caller: CallerId::parse("alice").unwrap(),
            scopes: vec!["chat".into(), "no-such-scope".into()],
            limits,
            created_at: self.clock.now(),
            expires_at: expires_in.map(|after| self.clock.now() + after),
            revoked_at: None,
        };
        self.store.create(&key, &new.hash).await.unwrap();
        new
    }

    fn passes(&self, time: Duration) {
        *self.clock.0.lock().unwrap() += time;
    }

    async fn refused(&self, key: &str) -> Code {
        self.ring.caller(key).await.unwrap_err().code
    }
}

#[tokio::test]
async fn a_key_names_its_caller_scopes_and_limits_and_is_looked_up_once_a_minute() {
    let world = world();
    let key = world.key(None).await;
    for _ in 0..5 {
        let caller = world.ring.caller(&key.key).await.unwrap();
        assert_eq!((caller.id.as_str(), caller.scopes.as_slice()), ("alice", &[Scope::Chat][..]));
        let defaults = CallerLimits::default();
        assert_eq!(caller.quota, CallerLimits { runs_per_minute: 3, ..defaults });
    }
    assert_eq!(*world.store.reads.lock().unwrap(), 1);
    world.passes(TRUSTED_FOR);
    world.ring.caller(&key.key).await.unwrap();
    assert_eq!(*world.store.reads.lock().unwrap(), 2);
}

#[tokio::test]
async fn what_is_no_key_never_reaches_the_store() {
    let world = world();
    let key = world.key(None).await.key;
    let long = "a".repeat(100_000);
    let upper = key.to_uppercase();
    for none in ["", "sbz_", &key[..key.len() - 1], &key[4..], &long, &upper, "sbz_' OR 1=1 --_", "ключ"]
    {
        assert_eq!(world.refused(none).await, Code::Unauthenticated, "{none}");
    }
    assert_eq!(*world.store.reads.lock().unwrap(), 0);
}

#[tokio::test]
async fn another_secret_an_unknown_id_and_the_stored_hash_open_nothing() {
    let world = world();
    let (key, other) = (world.key(None).await, NewKey::mint().unwrap());
    let secret_of = |key: &str| key.rsplit('_').next().unwrap().to_owned();
    let mixed = format!("sbz_{}_{}", key.id, secret_of(&other.key));
    let hash = format!("sbz_{}_{}", key.id, key.hash.0);
    for wrong in [mixed, hash, other.key] {
        assert_eq!(world.refused(&wrong).await, Code::Unauthenticated);
    }
}

#[tokio::test]
async fn revoked_and_expired_keys_end_and_at_most_a_minute_late() {
    let world = world();
    let (revoked, expired) = (world.key(None).await, world.key(Some(Duration::seconds(30))).await);
    world.ring.caller(&revoked.key).await.unwrap();
    world.ring.caller(&expired.key).await.unwrap();
    world.store.revoke(&revoked.id, world.clock.now()).await.unwrap();
    world.passes(Duration::seconds(30));
    assert_eq!(world.refused(&expired.key).await, Code::Unauthenticated, "not a moment later");
    world.passes(Duration::seconds(30));
    assert_eq!(world.refused(&revoked.key).await, Code::Unauthenticated);
}

#[tokio::test]
async fn a_store_that_is_down_lets_nobody_in() {
    let world = world();
    let key = world.key(None).await;
    *world.store.down.lock().unwrap() = true;
    assert_eq!(world.refused(&key.key).await, Code::StoreUnavailable);
    *world.store.down.lock().unwrap() = false;
    world.ring.caller(&key.key).await.unwrap();
}

#[test]
fn keys_are_not_stored_and_no_two_are_the_same() {
    let keys: Vec<NewKey> = (0..100).map(|_| NewKey::mint().unwrap()).collect();
    let ids: std::collections::HashSet<&str> = keys.iter().map(|key| key.id.as_str()).collect();
    assert_eq!(ids.len(), 100);
    for key in &keys {
        assert!(!key.hash.0.contains(key.key.rsplit('_').next().unwrap()));
        assert_eq!(id_of(&key.key), Some(key.id.as_str()));
    }
}
