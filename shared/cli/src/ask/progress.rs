//! Live progress on stderr: one line a stage or tool call, with the time since the run began.

use serde_json::Value;

use crate::fields::{duration, number, some_text, text};
use crate::page::Paint;
use crate::plain::one_line;
use crate::screen::Screen;

pub struct Progress {
    screen: Screen,
    quiet: bool,
}

impl Progress {
    /// Programs that read JSON want no progress; a person who watches one does.
    pub fn new(screen: Screen) -> Self {
        Self { screen, quiet: screen.json && !screen.err_is_terminal }
    }

    pub fn began(&self, metadata: &Value) {
        let limit = duration(number(metadata, "time_limit_ms"));
        let (run, session) = (text(metadata, "run_id"), text(metadata, "session_id"));
        self.say(
            &self.screen.paint.dim(&one_line(&format!("run {run}, session {session}, at most {limit}"))),
        );
    }

    pub fn status(&self, status: &Value) {
        self.say(&line(status, self.screen.paint));
    }

    pub fn note(&self, text: &str) {
        self.say(&self.screen.paint.doubtful(&one_line(text)));
    }

    fn say(&self, line: &str) {
        if !self.quiet {
            self.screen.note(line);
        }
    }
}

/// `   0.6 s  Logs, call 2: evidence found`
fn line(status: &Value, paint: Paint) -> String {
    let ms = number(status, "elapsed_ms");
    let elapsed = format!("{:>4}.{} s", ms / 1000, ms % 1000 / 100);
    format!("{}  {}", paint.dim(&elapsed), what(status, paint))
}

fn what(status: &Value, paint: Paint) -> String {
    let stage = text(status, "stage");
    let Some(call) = status.get("tool_call").filter(|call| call.is_object()) else {
        let tool = some_text(status, "tool").map(tool_name);
        return one_line(tool.unwrap_or_else(|| stage_words(stage)));
    };
    let tool = one_line(some_text(status, "tool").map_or("Unknown tool", tool_name));
    let named = format!("{tool}, call {}", number(call, "index"));
    match (text(call, "state"), text(call, "evidence_status")) {
        ("STARTED", _) => format!("{named} …"),
        ("FAILED", _) => format!("{named}: {}", paint.bad("failed")),
        (_, "EVIDENCE_FOUND") => format!("{named}: {}", paint.good("evidence found")),
        (_, "NO_EVIDENCE") => format!("{named}: {}", paint.doubtful("nothing found")),
        (state, _) => format!("{named}: {}", one_line(state)),
    }
}

fn tool_name(tool: &str) -> &str {
    match tool {
        "lookup_knowledge" => "Runbooks",
        "query_logs" => "Logs",
        "query_mysql" => "Business database",
        other => other,
    }
}

fn stage_words(stage: &str) -> &str {
    match stage {
        "ROUTING" => "Understanding what kind of question this is",
        "RETRIEVING" => "Looking into the runbooks",
        "ANSWERING" => "Writing an answer",
        "DIAGNOSING" => "Working on the diagnosis",
        "TOOL" => "Tool call",
        "VALIDATING_EVIDENCE" => "Checking that each claim cites real evidence",
        "REPAIRING_EVIDENCE" => "Correcting citations (the text may not change)",
        "REVIEWING" => "Reviewing the claims against the evidence",
        "RELEASING" => "Recording the outcome",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn one_readable_line_a_step() {
        let call = |state: &str, evidence: Option<&str>| json!({ "stage": "TOOL", "elapsed_ms": 12_640, "tool": "query_logs", "tool_call": { "index": 2, "state": state, "evidence_status": evidence } });
        for (status, shown) in [
            (
                json!({ "stage": "ROUTING", "elapsed_ms": 22 }),
                "   0.0 s  Understanding what kind of question this is",
            ),
            (call("STARTED", None), "  12.6 s  Logs, call 2 …"),
            (call("READY", Some("EVIDENCE_FOUND")), "  12.6 s  Logs, call 2: evidence found"),
            (call("READY", Some("NO_EVIDENCE")), "  12.6 s  Logs, call 2: nothing found"),
            (call("FAILED", None), "  12.6 s  Logs, call 2: failed"),
            (json!({ "stage": "NEW\u{1b}[2J", "elapsed_ms": 100 }), "   0.1 s  NEW"),
        ] {
            assert_eq!(line(&status, Paint(false)), shown);
        }
        let coloured = line(&call("FAILED", None), Paint(true));
        assert_eq!(coloured, "\u{1b}[2m  12.6 s\u{1b}[0m  Logs, call 2: \u{1b}[31mfailed\u{1b}[0m");
    }
}
