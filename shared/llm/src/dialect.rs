//! Which spelling of two request fields a server understands. Compatible servers differ, and only their
//! refusals tell.

/// How the output limit is spelled.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum OutputLimit {
    #[default]
    MaxTokens,
    MaxCompletionTokens,
}

/// How much of structured output is understood. The replies are parsed strictly in any case.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Structured {
    #[default]
    JsonSchema,
    JsonObject,
    Unsupported,
}

/// How the reply is asked for. It is read as whatever it turns out to be.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Streaming {
    #[default]
    WithUsage,
    /// For servers that don't know `stream_options`.
    Plain,
    Buffered,
}

/// What is known of a server so far. It only ever moves away from the default, so adapting ends after five
/// refusals.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Dialect {
    pub output_limit: OutputLimit,
    pub structured: Structured,
    pub streaming: Streaming,
}

/// What servers say that can't stream, or not with tools.
const REFUSES_STREAMS: &[&str] = &[
    "streaming is not supported",
    "not support stream",
    "'stream'",
    "`stream`",
    "\"stream\"",
    "stream=true",
];

impl Dialect {
    /// The next spelling to try after a refusal, or `None` if the refusal is about something else. `error` is
    /// lower-case.
    pub(super) fn after_refusal(self, status: u16, error: &str) -> Option<Self> {
        if !matches!(status, 400 | 422) {
            return None;
        }
        if self.output_limit == OutputLimit::MaxTokens && error.contains("max_completion_tokens") {
            return Some(Self { output_limit: OutputLimit::MaxCompletionTokens, ..self });
        }
        let streaming = match self.streaming {
            Streaming::WithUsage if error.contains("stream_options") || error.contains("include_usage") => {
                Some(Streaming::Plain)
            }
            Streaming::WithUsage | Streaming::Plain if REFUSES_STREAMS.iter().any(|w| error.contains(w)) => {
                Some(Streaming::Buffered)
            }
            _ => None,
        };
        if let Some(streaming) = streaming {
            return Some(Self { streaming, ..self });
        }
        let about_format = ["response_format", "json_schema", "json_object", "structured output"];
        let structured = match self.structured {
            Structured::JsonSchema => Structured::JsonObject,
            Structured::JsonObject => Structured::Unsupported,
            Structured::Unsupported => return None,
        };
        about_format.iter().any(|words| error.contains(words)).then_some(Self { structured, ..self })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streaming_is_given_up_in_two_steps() {
        let plain = Dialect::default().after_refusal(400, "unknown parameter: 'stream_options'").unwrap();
        assert_eq!(plain.streaming, Streaming::Plain);
        let buffered = plain.after_refusal(400, "tools are not supported when stream=true").unwrap();
        assert_eq!(buffered.streaming, Streaming::Buffered);
        assert_eq!(buffered.after_refusal(400, "streaming is not supported"), None);
    }

    #[test]
    fn each_refusal_moves_one_step_and_then_it_ends() {
        let start = Dialect::default();
        let limit = start.after_refusal(400, "use 'max_completion_tokens' instead").unwrap();
        assert_eq!(limit.output_limit, OutputLimit::MaxCompletionTokens);
        assert_eq!(limit.after_refusal(400, "use 'max_completion_tokens' instead"), None);
        let object =
            limit.after_refusal(422, "response_format.type `json_schema` is unavailable now").unwrap();
        assert_eq!(object.structured, Structured::JsonObject);
        let none = object.after_refusal(400, "unknown field response_format").unwrap();
        assert_eq!(none.structured, Structured::Unsupported);
        assert_eq!(none.after_refusal(400, "unknown field response_format"), None);
        assert_eq!(start.after_refusal(400, "messages[2] is empty"), None);
        assert_eq!(start.after_refusal(500, "response_format"), None);
    }
}
