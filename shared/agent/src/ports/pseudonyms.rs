//! Numbers that stand for masked secrets, the same number for the same secret through a whole run: a reader still sees that two
//! lines, two tools or two calls speak of the same mail address.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};

/// One run's numbers. Lives and dies with the run; the secrets in it are never shown, stored or logged.
#[derive(Default)]
pub struct Pseudonyms {
    numbers: Mutex<HashMap<&'static str, HashMap<String, usize>>>,
}

impl Pseudonyms {
    /// The number of `secret` among those of its kind, from 1.
    pub fn number(&self, kind: &'static str, secret: &str) -> usize {
        let mut kinds = self.numbers.lock().unwrap_or_else(PoisonError::into_inner);
        let known = kinds.entry(kind).or_default();
        let next = known.len() + 1;
        *known.entry(secret.to_owned()).or_insert(next)
    }
}

impl fmt::Debug for Pseudonyms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Pseudonyms")
    }
}
