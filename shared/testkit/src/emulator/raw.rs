//! The reply to an event that was handed over as it is, outside HTTP.

use bytes::BytesMut;
use serde_json::Value;

use super::reply::{Failure, Reply, StreamBroken, read_prelude};

/// What came back.
#[derive(Debug, Clone, PartialEq)]
pub enum RawReply {
    /// The function's JSON document.
    Buffered(Value),
    Streamed {
        /// `statusCode`, `headers`, `cookies`; null for a stream without prelude.
        prelude: Value,
        body: Vec<u8>,
        /// `false` when the function broke off.
        complete: bool,
    },
    Failed(Failure),
}

impl RawReply {
    /// Status and body of an HTTP reply, buffered or streamed; `None` when it isn't one.
    pub fn http(&self) -> Option<(u16, Vec<u8>)> {
        let status = |document: &Value| document.get("statusCode")?.as_u64()?.try_into().ok();
        match self {
            Self::Streamed { prelude, body, complete: true } => Some((status(prelude)?, body.clone())),
            Self::Buffered(document) => {
                let body = document.get("body").and_then(Value::as_str).unwrap_or_default();
                Some((status(document)?, body.as_bytes().to_vec()))
            }
            Self::Streamed { .. } | Self::Failed(_) => None,
        }
    }

    pub(super) async fn collect(reply: Reply) -> Self {
        let mut streamed = match reply {
            Reply::Failed(failure) => return Self::Failed(failure),
            Reply::Buffered(bytes) => {
                return serde_json::from_slice(&bytes).map_or_else(
                    |fault| Self::Failed(Failure::Malformed(format!("the response is not JSON: {fault}"))),
                    Self::Buffered,
                );
            }
            Reply::Streamed(streamed) => streamed,
        };
        let mut body = BytesMut::new();
        let mut prelude = Value::Null;
        if streamed.prelude {
            match read_prelude(&mut streamed.chunks).await {
                Ok((fields, first)) => {
                    prelude = Value::Object(fields);
                    body.extend_from_slice(&first);
                }
                Err(failure) => return Self::Failed(failure),
            }
        }
        let mut complete = true;
        while let Some(chunk) = streamed.chunks.recv().await {
            match chunk {
                Ok(chunk) => body.extend_from_slice(&chunk),
                Err(StreamBroken) => complete = false,
            }
        }
        Self::Streamed { prelude, body: body.to_vec(), complete }
    }
}
