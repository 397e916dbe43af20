//! The embedder port over an OpenAI-compatible `/embeddings` endpoint.

use std::time::Duration;

use agent::ports::{Embedder, EmbedderError};
use async_trait::async_trait;
use bytes::Bytes;
use reqwest::header::AUTHORIZATION;
use serde::Deserialize;
use serde_json::json;

use crate::endpoint::{Endpoint, InvalidEndpoint};
use crate::transport::Transport;

/// Texts in one request; providers take between 10 (DashScope) and 2048.
const MAX_BATCH: usize = 10;
/// Characters of a text that are sent; chunks are shorter.
const MAX_CHARS: usize = 8000;
/// Numbers of one vector at most.
const MAX_DIMENSIONS: usize = 8192;

/// An embedding model behind an endpoint.
pub struct Embeddings {
    model: String,
    transport: Transport,
}

#[derive(Deserialize)]
struct Answer {
    data: Vec<Vector>,
}

#[derive(Deserialize)]
struct Vector {
    index: Option<usize>,
    embedding: Vec<f32>,
}

impl Embeddings {
    /// Does no IO: the HTTP client is built at the first call.
    ///
    /// # Errors
    /// A base URL, a model name or a key that can't be used.
    pub fn new(endpoint: &Endpoint) -> Result<Self, InvalidEndpoint> {
        let url = endpoint.url("embeddings")?;
        let key = &endpoint.api_key;
        let secret = if key.is_empty() { None } else { Some((AUTHORIZATION, key.header("Bearer ")?)) };
        Ok(Self { model: endpoint.model.trim().to_owned(), transport: Transport::new(url, secret) })
    }

    async fn batch(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, EmbedderError> {
        let input: Vec<&str> = texts.iter().map(|text| cut(text)).collect();
        let body = json!({ "model": self.model, "input": input, "encoding_format": "float" }).to_string();
        let reply = self.transport.post(Bytes::from(body)).await.map_err(|_| EmbedderError::Unreachable)?;
        if reply.status != 200 {
            return Err(EmbedderError::Refused(reply.status));
        }
        let body = reply.whole().await.map_err(|_| EmbedderError::Unreachable)?;
        let answer: Answer = serde_json::from_slice(&body).map_err(|_| EmbedderError::Unusable)?;
        in_order(answer.data, texts.len()).ok_or(EmbedderError::Unusable)
    }
}

#[async_trait]
impl Embedder for Embeddings {
    fn space(&self) -> &str {
        &self.model
    }

    async fn embed(&self, texts: &[String], timeout: Duration) -> Result<Vec<Vec<f32>>, EmbedderError> {
        let all = async {
            let mut vectors = Vec::with_capacity(texts.len());
            for batch in texts.chunks(MAX_BATCH) {
                vectors.extend(self.batch(batch).await?);
            }
            // One space has one number of dimensions.
            let same = vectors.windows(2).all(|pair| matches!(pair, [a, b] if a.len() == b.len()));
            if same { Ok(vectors) } else { Err(EmbedderError::Unusable) }
        };
        tokio::time::timeout(timeout, all).await.unwrap_or(Err(EmbedderError::Timeout))
    }
}

fn cut(text: &str) -> &str {
    text.char_indices().nth(MAX_CHARS).map_or(text, |(end, _)| &text[..end])
}

/// The vectors by their index, each normalised; `None` unless there is exactly one sound vector a text.
fn in_order(vectors: Vec<Vector>, wanted: usize) -> Option<Vec<Vec<f32>>> {
    let mut places: Vec<Option<Vec<f32>>> = vec![None; wanted];
    for (position, vector) in vectors.into_iter().enumerate() {
        let place = places.get_mut(vector.index.unwrap_or(position))?;
        if place.is_some() {
            return None;
        }
        *place = Some(normalised(vector.embedding)?);
    }
    places.into_iter().collect()
}

fn normalised(mut vector: Vec<f32>) -> Option<Vec<f32>> {
    let length = vector.iter().map(|x| f64::from(*x) * f64::from(*x)).sum::<f64>().sqrt();
    if vector.is_empty() || vector.len() > MAX_DIMENSIONS || !length.is_finite() || length <= f64::EPSILON {
        return None;
    }
    for x in &mut vector {
        *x = (f64::from(*x) / length) as f32;
    }
    Some(vector)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vectors(json: &str) -> Option<Vec<Vec<f32>>> {
        let answer: Answer = serde_json::from_str(json).ok()?;
        in_order(answer.data, 2)
    }

    #[test]
    fn vectors_are_put_in_order_and_normalised() {
        let swapped = r#"{"data":[{"index":1,"embedding":[0,2]},{"index":0,"embedding":[3,4]}],"model":"m"}"#;
        assert_eq!(vectors(swapped), Some(vec![vec![0.6, 0.8], vec![0.0, 1.0]]));
        let plain = r#"{"data":[{"embedding":[1]},{"embedding":[-2]}]}"#;
        assert_eq!(vectors(plain), Some(vec![vec![1.0], vec![-1.0]]));
    }

    #[test]
    fn anything_else_is_unusable() {
        for json in [
            r#"{"data":[]}"#,
            r#"{"data":[{"embedding":[1]}]}"#,
            r#"{"data":[{"index":0,"embedding":[1]},{"index":0,"embedding":[1]}]}"#,
            r#"{"data":[{"index":0,"embedding":[1]},{"index":2,"embedding":[1]}]}"#,
            r#"{"data":[{"embedding":[0,0]},{"embedding":[1,0]}]}"#,
            r#"{"data":[{"embedding":[]},{"embedding":[1]}]}"#,
            r#"{"data":[{"embedding":"AAAA"},{"embedding":[1]}]}"#,
            r#"{"error":{"message":"no"}}"#,
        ] {
            assert_eq!(vectors(json), None, "{json}");
        }
    }
}
