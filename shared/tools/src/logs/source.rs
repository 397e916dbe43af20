//! The port of a log source. It reads; what a line means for the search is the [`Collector`]'s business.

use async_trait::async_trait;

use super::collect::Collector;
use super::level::Level;
use super::terms::Terms;
use super::window::Window;
use crate::blocking::{Lost, Stop, Stopped};

/// One search, resolved and checked.
#[derive(Debug, Clone)]
pub struct LogSearch {
    /// Configured names; a line of any of them is looked at.
    pub services: Vec<String>,
    pub terms: Option<Terms>,
    /// Minimum severity; lines without a level don't pass it.
    pub min_level: Option<Level>,
    pub window: Window,
    /// Events to keep, at most 200.
    pub limit: usize,
}

/// Why a source gave no answer. The chain goes to the log only.
#[derive(Debug, thiserror::Error)]
pub enum LogSourceError {
    #[error("the search was stopped")]
    Stopped(#[from] Stopped),
    #[error("the log source can't be read: {what}")]
    Unavailable {
        what: &'static str,
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    #[error("the search ended abnormally")]
    Lost(#[from] Lost),
}

#[async_trait]
pub trait LogSource: Send + Sync {
    /// The configured name, shown in results.
    fn name(&self) -> &str;

    /// What is in it, for the model.
    fn description(&self) -> &str;

    /// The services whose lines it holds; no others can be asked for.
    fn services(&self) -> &[String];

    /// Offers every line that may match `search` to `collector` and gives it back. A source may leave out
    /// what surely doesn't match (a server-side filter), but never decides that a line does.
    async fn search(
        &self,
        search: &LogSearch,
        collector: Collector,
        stop: &Stop,
    ) -> Result<Collector, LogSourceError>;
}
