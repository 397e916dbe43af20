//! The two output streams: results on stdout, everything else on stderr.

use std::io::{IsTerminal, Write};

use serde_json::Value;

use crate::args::Cli;
use crate::environment;
use crate::exit::Fault;
use crate::page::{Page, Paint};
use crate::plain;

#[derive(Debug, Clone, Copy)]
pub struct Screen {
    pub json: bool,
    pub width: usize,
    pub out_is_terminal: bool,
    pub err_is_terminal: bool,
    out_paint: Paint,
    /// For stderr.
    pub paint: Paint,
}

impl Screen {
    pub fn open(cli: &Cli) -> Self {
        let (out, err) = (std::io::stdout(), std::io::stderr());
        Self {
            json: cli.json,
            width: environment::width(cli.surroundings.columns.as_deref()),
            out_is_terminal: out.is_terminal(),
            err_is_terminal: err.is_terminal(),
            out_paint: Paint(environment::colours(&out, cli)),
            paint: Paint(environment::colours(&err, cli)),
        }
    }

    pub fn page(&self) -> Page {
        Page::new(self.width, self.out_paint)
    }

    /// A result: text that a [`Page`] or [`plain`] made.
    pub fn print(&self, text: &str) -> Result<(), Fault> {
        self.bytes(text.as_bytes())
    }

    pub fn bytes(&self, bytes: &[u8]) -> Result<(), Fault> {
        let mut out = std::io::stdout().lock();
        Ok(out.write_all(bytes).and_then(|()| out.flush())?)
    }

    pub fn show(&self, page: Page) -> Result<(), Fault> {
        self.print(&page.into_text())
    }

    pub fn document(&self, value: &Value) -> Result<(), Fault> {
        self.print(&format!("{}\n", plain::json(value)))
    }

    /// A line on stderr. Nobody may be reading there, which is no fault.
    pub fn note(&self, line: &str) {
        let _ = writeln!(std::io::stderr(), "{line}");
    }
}
