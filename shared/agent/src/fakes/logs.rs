//! Captures everything that is logged on this thread, field by field.

use std::cell::RefCell;
use std::fmt::{Debug, Write};
use std::sync::Once;

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

thread_local! {
    static TEXT: RefCell<String> = const { RefCell::new(String::new()) };
}

/// The log of the thread that began it; a test and its paused runtime have one thread of their own.
pub struct CapturedLog(());

impl CapturedLog {
    pub fn start() -> Self {
        // One subscriber for the whole process: tracing caches per place of logging whether anybody listens, and a subscriber
        // of one thread only would miss the places that another thread reached first.
        static ONCE: Once = Once::new();
        ONCE.call_once(|| tracing::subscriber::set_global_default(Capture).expect("no other subscriber"));
        TEXT.with_borrow_mut(String::clear);
        Self(())
    }

    pub fn text(&self) -> String {
        TEXT.with_borrow(String::clone)
    }
}

struct Capture;

struct Fields<'a>(&'a mut String);

impl Visit for Fields<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        write!(self.0, " {field}={value:?}").unwrap();
    }
}

impl Subscriber for Capture {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        TEXT.with_borrow_mut(|text| span.record(&mut Fields(text)));
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, values: &Record<'_>) {
        TEXT.with_borrow_mut(|text| values.record(&mut Fields(text)));
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        TEXT.with_borrow_mut(|text| {
            event.record(&mut Fields(text));
            text.push('\n');
        });
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}
