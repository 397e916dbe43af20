//! What is known of each provider before the first call. Whatever is missing or wrong here is learnt from refusals
//! (`dialect.rs`), so a profile saves round trips; it is never the only way.

use url::Url;

use crate::dialect::{Dialect, OutputLimit, Reasoning, Structured};

/// How the key is told on the Chat Completions wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyHeader {
    Bearer,
    /// Azure's.
    ApiKey,
}

/// A provider, or a server that many run themselves.
#[derive(Debug, PartialEq, Eq)]
pub struct Profile {
    name: &'static str,
    /// The hosts it answers at; a leading dot stands for any host below.
    hosts: &'static [&'static str],
    /// The port that tells it where the host doesn't.
    port: Option<u16>,
    pub(crate) key: KeyHeader,
    /// Where adapting begins.
    pub(crate) dialect: Dialect,
}

/// A server of which nothing is known: the widest dialect, narrowed by what it refuses.
const GENERIC: Profile =
    Profile { name: "generic", hosts: &[], port: None, key: KeyHeader::Bearer, dialect: Dialect::WIDEST };

const PROFILES: [Profile; 12] = [
    GENERIC,
    Profile {
        name: "openai",
        hosts: &["api.openai.com"],
        dialect: Dialect {
            output_limit: OutputLimit::MaxCompletionTokens,
            reasoning: Reasoning::Never,
            ..Dialect::WIDEST
        },
        ..GENERIC
    },
    Profile {
        name: "azure",
        hosts: &[".openai.azure.com", ".services.ai.azure.com", ".cognitiveservices.azure.com"],
        key: KeyHeader::ApiKey,
        dialect: Dialect {
            output_limit: OutputLimit::MaxCompletionTokens,
            reasoning: Reasoning::Never,
            ..Dialect::WIDEST
        },
        ..GENERIC
    },
    // Thinks between tool calls and refuses a history that lost its thoughts.
    Profile {
        name: "deepseek",
        hosts: &["api.deepseek.com"],
        dialect: Dialect {
            structured: Structured::JsonObject,
            reasoning: Reasoning::SentBack,
            ..Dialect::WIDEST
        },
        ..GENERIC
    },
    Profile {
        name: "qwen",
        hosts: &["dashscope.aliyuncs.com", "dashscope-intl.aliyuncs.com", "dashscope-us.aliyuncs.com"],
        dialect: Dialect { structured: Structured::JsonObject, ..Dialect::WIDEST },
        ..GENERIC
    },
    Profile {
        name: "kimi",
        hosts: &["api.moonshot.cn", "api.moonshot.ai"],
        dialect: Dialect {
            structured: Structured::JsonObject,
            reasoning: Reasoning::SentBack,
            ..Dialect::WIDEST
        },
        ..GENERIC
    },
    // Knows no tool choice but `auto`.
    Profile {
        name: "glm",
        hosts: &["open.bigmodel.cn", "api.z.ai"],
        dialect: Dialect { structured: Structured::JsonObject, tool_choice: false, ..Dialect::WIDEST },
        ..GENERIC
    },
    Profile { name: "vllm", ..GENERIC },
    Profile {
        name: "ollama",
        port: Some(11434),
        dialect: Dialect { tool_choice: false, reasoning: Reasoning::Never, ..Dialect::WIDEST },
        ..GENERIC
    },
    Profile {
        name: "openrouter",
        hosts: &["openrouter.ai"],
        dialect: Dialect { reasoning: Reasoning::SentBack, ..Dialect::WIDEST },
        ..GENERIC
    },
    Profile { name: "litellm", ..GENERIC },
    Profile {
        name: "bedrock",
        hosts: &[".amazonaws.com"],
        dialect: Dialect { reasoning: Reasoning::Never, ..Dialect::WIDEST },
        ..GENERIC
    },
];

impl Profile {
    /// The profile of this name (`MODEL_PROFILE`).
    pub fn named(name: &str) -> Option<&'static Self> {
        PROFILES.iter().find(|profile| profile.name == name)
    }

    /// The profile that an address tells, else the generic one.
    pub fn of(base_url: &Url) -> &'static Self {
        let host = base_url.host_str().unwrap_or_default().to_ascii_lowercase();
        let answers_at = |known: &&str| {
            if known.starts_with('.') { host.ends_with(*known) } else { host == **known }
        };
        let known = PROFILES.iter().find(|profile| profile.hosts.iter().any(answers_at));
        let by_port =
            || PROFILES.iter().find(|profile| profile.port.is_some() && profile.port == base_url.port());
        known.or_else(by_port).unwrap_or(&PROFILES[0])
    }

    pub fn name(&self) -> &'static str {
        self.name
    }

    /// All names, for an operator who wrote another.
    pub fn names() -> impl Iterator<Item = &'static str> {
        PROFILES.iter().map(Self::name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_provider_is_known_by_its_address() {
        for (url, name) in [
            ("https://api.openai.com/v1", "openai"),
            ("https://shop.openai.azure.com/openai/v1/", "azure"),
            ("https://API.DeepSeek.com", "deepseek"),
            ("https://dashscope-intl.aliyuncs.com/compatible-mode/v1", "qwen"),
            ("https://api.moonshot.ai/v1", "kimi"),
            ("https://open.bigmodel.cn/api/paas/v4", "glm"),
            ("http://127.0.0.1:11434/v1", "ollama"),
            ("https://openrouter.ai/api/v1", "openrouter"),
            ("https://bedrock-runtime.eu-west-1.amazonaws.com/openai/v1", "bedrock"),
            ("http://vllm.internal:8000/v1", "generic"),
            // Another host whose name only contains a known one.
            ("https://api.openai.com.evil.example/v1", "generic"),
            ("https://notopenrouter.ai/v1", "generic"),
        ] {
            assert_eq!(Profile::of(&Url::parse(url).unwrap()).name(), name, "{url}");
        }
    }

    #[test]
    fn names_are_unique_and_found() {
        let names: std::collections::HashSet<_> = Profile::names().collect();
        assert_eq!(names.len(), PROFILES.len());
        assert!(names.iter().all(|name| Profile::named(name).is_some_and(|profile| profile.name() == *name)));
        assert_eq!(Profile::named("OpenAI"), None);
    }
}
