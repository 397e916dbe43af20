//! Replies about the assistant itself. The one text that rests on no evidence, so it may name nothing that needs any.

use crate::evidence::guard::is_blank;
use crate::evidence::literals::Haystack;
use crate::question::Language;
use crate::verbatim;

/// A reply that names only what the assistant's own fact sheet names. Made only by [`check`].
#[derive(Debug, Clone)]
pub struct SystemReply {
    text: String,
}

impl SystemReply {
    pub fn text(&self) -> &str {
        &self.text
    }
}

/// Bytes of a reply at most: it introduces an assistant, it writes no reports.
pub const MAX_BYTES: usize = 2 * 1024;

/// Accepts a model's reply about the assistant, or replaces it by the fixed one.
///
/// A router that was talked into SYSTEM_CHAT must not become a way around the guards: a reply with a number, a time, an id,
/// an error code, a host name or a quotation that `facts` does not hold, one that repeats
/// the harness's instructions, or an over-long one, is not published.
pub fn check(reply: &str, facts: &str, language: Language) -> SystemReply {
    let text = reply.trim();
    let plain = !is_blank(text)
        && text.len() <= MAX_BYTES
        && !verbatim::repeats_instructions(text)
        && Haystack::of_text(facts).missing_from(text).is_empty();
    if plain {
        SystemReply { text: text.to_owned() }
    } else {
        SystemReply { text: fixed(language).to_owned() }
    }
}

fn fixed(language: Language) -> &'static str {
    match language {
        Language::English => {
            "I diagnose incidents. Paste an alert or describe a symptom: I look into runbooks, logs and the business database, and publish a report in which each claim was checked against what they returned."
        }
        Language::Chinese => {
            "我是故障诊断助手。请粘贴告警或描述现象：我会查询运行手册、日志和业务数据库，并发布一份逐条核对过证据的诊断报告。"
        }
    }
}
