//! A whole answer: its events with their times of arrival, or the problem document.

use std::time::{Duration, Instant};

use reqwest::header::HeaderMap;

use super::{Content, Done, Event, Failure, Metadata, Problem, Status};

/// An event and when its last byte arrived.
#[derive(Debug, Clone, PartialEq)]
pub struct Arrived {
    pub at: Instant,
    pub event: Event,
}

#[derive(Debug, Clone)]
pub struct Transcript {
    pub status: u16,
    pub headers: HeaderMap,
    /// When the request was sent.
    pub asked_at: Instant,
    pub events: Vec<Arrived>,
    /// The body as it came over the wire.
    pub raw_bytes: Vec<u8>,
    pub keep_alives: usize,
    pub(super) problem: Option<Problem>,
}

impl Transcript {
    pub fn metadata(&self) -> Option<&Metadata> {
        self.find(|event| match event {
            Event::Metadata(metadata) => Some(metadata),
            _ => None,
        })
    }

    pub fn statuses(&self) -> Vec<&Status> {
        let statuses = self.events.iter().filter_map(|arrived| match &arrived.event {
            Event::Status(status) => Some(status),
            _ => None,
        });
        statuses.collect()
    }

    pub fn content(&self) -> Option<&Content> {
        self.find(|event| match event {
            Event::Content(content) => Some(content),
            _ => None,
        })
    }

    pub fn failure(&self) -> Option<&Failure> {
        self.find(|event| match event {
            Event::Failure(failure) => Some(failure),
            _ => None,
        })
    }

    pub fn done(&self) -> Option<&Done> {
        self.find(|event| match event {
            Event::Done(done) => Some(done),
            _ => None,
        })
    }

    /// Present exactly when the request was refused before a stream started.
    pub fn problem(&self) -> Option<&Problem> {
        self.problem.as_ref()
    }

    /// The body as text; invalid UTF-8 is replaced.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.raw_bytes).into_owned()
    }

    /// From the request to the first event, then from event to event.
    pub fn gaps(&self) -> Vec<Duration> {
        let before = std::iter::once(self.asked_at).chain(self.events.iter().map(|arrived| arrived.at));
        self.events
            .iter()
            .zip(before)
            .map(|(arrived, before)| arrived.at.saturating_duration_since(before))
            .collect()
    }

    fn find<'a, T>(&'a self, pick: impl Fn(&'a Event) -> Option<&'a T>) -> Option<&'a T> {
        self.events.iter().find_map(|arrived| pick(&arrived.event))
    }
}
