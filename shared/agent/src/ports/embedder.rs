//! The embedder port: texts to vectors that lie near each other when they mean the same. Optional: without one, runbooks are found
//! by their words alone.

use std::time::Duration;

use async_trait::async_trait;

/// Why there are no vectors. Holds no vendor text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum EmbedderError {
    #[error("the embeddings endpoint did not answer in time")]
    Timeout,
    #[error("the embeddings endpoint could not be reached")]
    Unreachable,
    #[error("the embeddings endpoint refused with status {0}")]
    Refused(u16),
    #[error("the embeddings endpoint answered with something else than one vector a text")]
    Unusable,
}

#[async_trait]
pub trait Embedder: Send + Sync {
    /// The name of the vector space: vectors of different ones can't be compared.
    fn space(&self) -> &str;

    /// One vector a text, in the order of the texts, each of length 1.
    async fn embed(&self, texts: &[String], timeout: Duration) -> Result<Vec<Vec<f32>>, EmbedderError>;
}
