//! How a server wants to be spoken to, where servers of one wire differ. A profile says where to begin; refusals tell the rest.

/// How the output limit is spelled.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum OutputLimit {
    #[default]
    MaxTokens,
    MaxCompletionTokens,
}

/// How much of structured output is understood. The replies are parsed strictly in any case.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Structured {
    #[default]
    JsonSchema,
    JsonObject,
    Unsupported,
}

/// How the reply is asked for. It is read as whatever it turns out to be.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Streaming {
    #[default]
    WithUsage,
    /// For servers that don't know `stream_options`.
    Plain,
    Buffered,
}

/// Whether a turn's reasoning goes back to the provider with the turn.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Reasoning {
    /// It is kept, and sent from the moment a refusal asks for it.
    #[default]
    IfAsked,
    SentBack,
    /// It is not even kept.
    Never,
}

/// What is known of a server so far. Each refusal only ever moves it away from where it began, so adapting ends after eight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Dialect {
    pub output_limit: OutputLimit,
    pub structured: Structured,
    pub streaming: Streaming,
    pub reasoning: Reasoning,
    /// Whether `tool_choice: none` may be sent. Without it a call that must not be made is only not run.
    pub tool_choice: bool,
}

impl Dialect {
    /// Everything that a compatible server may know.
    pub const WIDEST: Self = Self {
        output_limit: OutputLimit::MaxTokens,
        structured: Structured::JsonSchema,
        streaming: Streaming::WithUsage,
        reasoning: Reasoning::IfAsked,
        tool_choice: true,
    };
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
    pub(crate) fn after_refusal(self, status: u16, error: &str) -> Option<Self> {
        if !matches!(status, 400 | 422) {
            return None;
        }
        if self.output_limit == OutputLimit::MaxTokens && error.contains("max_completion_tokens") {
            return Some(Self { output_limit: OutputLimit::MaxCompletionTokens, ..self });
        }
        if error.contains("reasoning_content") || error.contains("reasoning_details") {
            let reasoning = match self.reasoning {
                Reasoning::IfAsked => Reasoning::SentBack,
                Reasoning::SentBack => Reasoning::Never,
                Reasoning::Never => return None,
            };
            return Some(Self { reasoning, ..self });
        }
        // `"auto" tool choice requires …` is a server started without tools, which nothing we leave out would mend.
        if self.tool_choice && error.contains("tool_choice") && !error.contains("auto-tool-choice") {
            return Some(Self { tool_choice: false, ..self });
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
        let plain = Dialect::WIDEST.after_refusal(400, "unknown parameter: 'stream_options'").unwrap();
        assert_eq!(plain.streaming, Streaming::Plain);
        let buffered = plain.after_refusal(400, "tools are not supported when stream=true").unwrap();
        assert_eq!(buffered.streaming, Streaming::Buffered);
        assert_eq!(buffered.after_refusal(400, "streaming is not supported"), None);
    }

    #[test]
    fn reasoning_is_sent_once_it_is_asked_for_and_never_again_once_it_is_refused() {
        let asked = "thinking is enabled but reasoning_content is missing in assistant tool call message";
        let sent = Dialect::WIDEST.after_refusal(400, asked).unwrap();
        assert_eq!(sent.reasoning, Reasoning::SentBack);
        let refused = sent.after_refusal(400, "unknown field reasoning_content").unwrap();
        assert_eq!(refused.reasoning, Reasoning::Never);
        assert_eq!(refused.after_refusal(400, asked), None);
    }

    #[test]
    fn a_tool_choice_is_given_up_unless_tools_are_switched_off() {
        let without = Dialect::WIDEST.after_refusal(400, "tool_choice only supports auto").unwrap();
        assert!(!without.tool_choice);
        assert_eq!(without.after_refusal(400, "tool_choice only supports auto"), None);
        let off = "\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set";
        assert_eq!(Dialect::WIDEST.after_refusal(400, off), None);
    }

    #[test]
    fn each_refusal_moves_one_step_and_then_it_ends() {
        let start = Dialect::WIDEST;
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
