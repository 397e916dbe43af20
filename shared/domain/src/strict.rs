//! Strict reading of JSON. What serde derives is more lenient than a contract: a struct is also read from an array of its
//! fields, an enum also from `{"VARIANT": null}`, and a missing `Option` becomes `None`.

use serde::Serialize;
use serde::de::{DeserializeOwned, Error};
use serde_json::Value;

/// Reads one `T` and accepts it only in the shape in which it would be written: objects as objects, words as strings, every
/// field present.
///
/// # Errors
/// What `serde_json` refuses (with its position), and any other shape (without one). Unknown fields are errors if `T` says so.
pub(crate) fn from_str<T: DeserializeOwned + Serialize>(text: &str) -> Result<T, serde_json::Error> {
    let read: T = serde_json::from_str(text)?;
    let (given, written) = (serde_json::from_str(text)?, serde_json::to_value(&read)?);
    if same_shape(&given, &written) { Ok(read) } else { Err(Error::custom("not the shape of the type")) }
}

/// Same kinds of values, same keys, same lengths. The values themselves may be spelled differently (`1` and `1.0`).
fn same_shape(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len()
                && a.iter().all(|(key, value)| b.get(key).is_some_and(|other| same_shape(value, other)))
        }
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same_shape(a, b))
        }
        _ => std::mem::discriminant(a) == std::mem::discriminant(b),
    }
}
