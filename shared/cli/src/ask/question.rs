//! What is asked: words, a file or standard input; a question, or the body of an alert.

use std::io::{IsTerminal, Read};

use serde_json::{Value, json};

use crate::args::Ask;
use crate::exit::Fault;

/// Bytes that are read at most: more than the service accepts, so that it is the service that refuses.
const MAX_BYTES: u64 = 1024 * 1024;

/// The body of `POST /api/chat`.
pub fn body(ask: &Ask) -> Result<String, Fault> {
    of_text(&text(ask)?, ask.session.as_deref())
}

fn text(ask: &Ask) -> Result<String, Fault> {
    let from_input = match &ask.file {
        Some(file) if file.as_os_str() == "-" => true,
        Some(file) => {
            let unreadable = |error| Fault::usage(format!("{} can't be read: {error}", file.display()));
            return read(std::fs::File::open(file).map_err(unreadable)?);
        }
        None if ask.question == ["-"] => true,
        None => ask.question.is_empty(),
    };
    if !from_input {
        return Ok(ask.question.join(" "));
    }
    let input = std::io::stdin();
    if ask.question.is_empty() && ask.file.is_none() && input.is_terminal() {
        return Err(Fault::usage("ask what? Give a question, --file FILE, or something on standard input"));
    }
    read(input.lock())
}

fn read(from: impl Read) -> Result<String, Fault> {
    let mut bytes = Vec::new();
    let read = from.take(MAX_BYTES + 1).read_to_end(&mut bytes);
    read.map_err(|error| Fault::usage(format!("the question can't be read: {error}")))?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(Fault::usage("that is too long for a question: the service takes 8 KiB of text"));
    }
    String::from_utf8(bytes).map_err(|_| Fault::usage("the question is not UTF-8 text"))
}

/// A JSON object without `query` is an alert and goes as it is; one that is a whole request is sent as such.
fn of_text(text: &str, session: Option<&str>) -> Result<String, Fault> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text).trim();
    if text.is_empty() {
        return Err(Fault::usage("the question is empty"));
    }
    let mut request = match serde_json::from_str::<Value>(text) {
        Ok(Value::Object(alert)) if !alert.contains_key("query") => {
            if session.is_some() {
                return Err(Fault::usage("an alert begins a session of its own: leave --session out"));
            }
            return Ok(text.to_owned());
        }
        Ok(Value::Object(request)) if request.keys().all(|name| name == "query" || name == "session_id") => {
            Value::Object(request)
        }
        _ => json!({ "query": text }),
    };
    if let (Some(session), Some(fields)) = (session, request.as_object_mut()) {
        fields.insert("session_id".to_owned(), session.into());
    }
    Ok(request.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(text: &str, session: Option<&str>) -> Value {
        serde_json::from_str(&of_text(text, session).unwrap()).unwrap()
    }

    #[test]
    fn questions_alerts_and_whole_requests() {
        assert_eq!(sent(" why? \n", None), json!({ "query": "why?" }));
        assert_eq!(sent("\u{feff}why?", Some("s1")), json!({ "query": "why?", "session_id": "s1" }));
        let alert = r#"{ "status": "firing",  "alerts": [] }"#;
        assert_eq!(of_text(alert, None).unwrap(), alert, "byte for byte");
        assert_eq!(sent(r#"{"query":"why?"}"#, Some("s1")), json!({ "query": "why?", "session_id": "s1" }));
        let line = r#"{"query":"SELECT 1","level":"ERROR"}"#;
        assert_eq!(sent(line, None), json!({ "query": line }), "a log line is a question");
        assert_eq!(sent("[1]", None), json!({ "query": "[1]" }));
    }

    #[test]
    fn what_can_not_be_asked() {
        for (text, session) in [("", None), (" \n", None), (r#"{"alerts":[]}"#, Some("s1"))] {
            assert!(matches!(of_text(text, session), Err(Fault::Usage(_))), "{text}");
        }
        assert!(matches!(read([0xff_u8].as_slice()), Err(Fault::Usage(_))));
        assert!(matches!(read(std::io::repeat(b'x')), Err(Fault::Usage(_))));
    }
}
