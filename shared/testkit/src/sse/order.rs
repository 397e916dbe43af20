//! The order of events and what must agree between them.

use super::{Event, Fault};

#[derive(Debug, Default)]
pub(super) struct Order {
    ids: u64,
    last: Option<&'static str>,
    run_id: Option<String>,
    status: Option<(u64, u64)>,
    /// The status that `done` must have.
    expected: Option<String>,
}

impl Order {
    pub(super) fn accept(&mut self, id: String, event: &Event) -> Result<(), Fault> {
        self.ids += 1;
        if id != self.ids.to_string() {
            return Err(Fault::Id { found: id, expected: self.ids });
        }
        self.check_order(event)?;
        match &self.run_id {
            Some(run_id) if run_id != event.run_id() => {
                return Err(Fault::RunIdChanged(event.run_id().to_owned()));
            }
            Some(_) => {}
            None => self.run_id = Some(event.run_id().to_owned()),
        }
        match event {
            Event::Metadata(_) => {}
            Event::Status(status) => self.check_status(status.sequence, status.elapsed_ms)?,
            Event::Content(content) => self.expected = Some(content.outcome.clone()),
            Event::Failure(_) => self.expected = Some("FAILED".to_owned()),
            Event::Done(done) => {
                let expected = self.expected.as_deref().unwrap_or_default();
                if done.status != expected {
                    let text = format!("done says {}, what came before means {expected}", done.status);
                    return Err(Fault::Inconsistent(text));
                }
            }
        }
        self.last = Some(event.name());
        Ok(())
    }

    pub(super) fn is_done(&self) -> bool {
        self.last == Some("done")
    }

    pub(super) fn finish(&self) -> Result<(), Fault> {
        if self.is_done() { Ok(()) } else { Err(Fault::NoDone(self.last.unwrap_or("nothing"))) }
    }

    fn check_order(&self, event: &Event) -> Result<(), Fault> {
        let allowed: &[&str] = match self.last {
            None => &["metadata"],
            Some("metadata" | "status") => &["status", "content", "failure"],
            Some("content" | "failure") => &["done"],
            Some(_) => &[],
        };
        if allowed.contains(&event.name()) {
            return Ok(());
        }
        Err(Fault::Order { found: event.name(), after: self.last.unwrap_or("nothing") })
    }

    /// Sequences count up; a reader that was too slow may see a gap.
    fn check_status(&mut self, sequence: u64, elapsed_ms: u64) -> Result<(), Fault> {
        let (previous, previous_ms) = self.status.unwrap_or_default();
        if sequence <= previous {
            return Err(Fault::Sequence { found: sequence, previous });
        }
        if elapsed_ms < previous_ms {
            return Err(Fault::ElapsedBack { found: elapsed_ms, previous: previous_ms });
        }
        self.status = Some((sequence, elapsed_ms));
        Ok(())
    }
}
