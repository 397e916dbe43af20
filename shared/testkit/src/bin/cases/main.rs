//! The case runner: `cases KIND [options] < in.jsonl > out.jsonl` passes each line through the product's own code and prints a
//! JSON verdict a line, in the same order. A line that can't be read gives `{"id"?, "error"}`; no input can abort it.

mod alert;
mod evidence;
mod patterns;
mod provider;
mod redact;
mod retrieval;
mod sql;

use std::io::{BufRead, Write};

use serde_json::{Value, json};

/// Judges one line.
type Judge = Box<dyn Fn(&Value) -> anyhow::Result<Value>>;

const USAGE: &str = "usage: cases sql --policy FILE [--source NAME] | alert | evidence | patterns | provider | redact | retrieval --documents FILE --top-k K   (reads JSON lines from standard input)";

/// Bytes of one line at most.
const MAX_LINE: usize = 16 * 1024 * 1024;

fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (kind, options) = arguments.split_first().ok_or_else(|| anyhow::anyhow!(USAGE))?;
    let judge: Judge = match kind.as_str() {
        "sql" => sql::judge(options)?,
        "alert" => Box::new(alert::judge),
        "provider" => provider::judge()?,
        "evidence" => Box::new(evidence::judge),
        "patterns" => patterns::judge(),
        "redact" => Box::new(redact::judge),
        "retrieval" => retrieval::judge(options)?,
        _ => anyhow::bail!("unknown kind {kind:?}; {USAGE}"),
    };
    let (mut input, mut output) = (std::io::stdin().lock(), std::io::stdout().lock());
    let mut line = Vec::new();
    loop {
        line.clear();
        if input.read_until(b'\n', &mut line)? == 0 {
            return Ok(output.flush()?);
        }
        let text = String::from_utf8_lossy(&line);
        if text.trim().is_empty() {
            continue;
        }
        writeln!(output, "{}", one_line(verdict(&judge, text.trim()).to_string()))?;
    }
}

/// JSON in which nothing that any reader takes for the end of a line stands unescaped.
fn one_line(json: String) -> String {
    ['\u{85}', '\u{2028}', '\u{2029}'].into_iter().fold(json, |json, separator| {
        let escaped = format!("\\u{:04x}", u32::from(separator));
        json.replace(separator, &escaped)
    })
}

fn verdict(judge: &Judge, text: &str) -> Value {
    if text.len() > MAX_LINE {
        return json!({ "error": format!("the line is over {MAX_LINE} bytes") });
    }
    let case: Value = match serde_json::from_str(text) {
        Ok(case) => case,
        Err(fault) => return json!({ "error": format!("not JSON: {fault}") }),
    };
    // A fault in one case must not take the rest with it.
    let judged = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| judge(&case)));
    let mut verdict = match judged {
        Ok(Ok(verdict)) => verdict,
        Ok(Err(fault)) => json!({ "error": fault.to_string() }),
        Err(_) => json!({ "error": "the case panicked" }),
    };
    if let (Some(id), Some(map)) = (case.get("id"), verdict.as_object_mut()) {
        map.insert("id".to_owned(), id.clone());
    }
    verdict
}
