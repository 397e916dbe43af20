//! Templates of log messages, mined online in one pass and bounded memory.
//!
//! The method is that of Drain: numbers and ids are masked first, messages of the same group, length and
//! first word share a leaf, and within it a message joins the most similar template or founds a new one. Two
//! rules of our own keep what an engineer looks for: different `UPPER_CASE` codes never join, and `key=`
//! stays when only its value differs.

use std::collections::HashMap;

use super::mask::{self, VARIABLE};

/// Words of a message that take part; the rest is cut.
const MAX_WORDS: usize = 40;
/// Share of the words that must agree to join a template.
const SIMILARITY: f64 = 0.75;
/// Share of the words that must agree literally.
const LITERAL: f64 = 0.5;
/// Templates within one leaf; bounds the comparisons per line.
const MAX_PER_LEAF: usize = 48;
/// Masked texts whose template is remembered.
const MAX_REMEMBERED: usize = 8192;

/// A template's number, from 0, in order of first appearance.
pub type TemplateId = usize;

/// Assigns messages to templates.
#[derive(Debug)]
pub struct Miner {
    templates: Vec<Template>,
    leaves: HashMap<String, Vec<TemplateId>>,
    /// Most lines repeat a masked text exactly; this spares them the comparisons.
    remembered: HashMap<String, TemplateId>,
    overflow: HashMap<String, TemplateId>,
    max_templates: usize,
    scratch: String,
}

#[derive(Debug)]
struct Template {
    words: Vec<Box<str>>,
    cut: bool,
}

impl Miner {
    /// Keeps at most `max_templates`; what comes after goes into one catch-all template per group.
    pub fn new(max_templates: usize) -> Self {
        Self {
            templates: Vec::new(),
            leaves: HashMap::new(),
            remembered: HashMap::new(),
            overflow: HashMap::new(),
            max_templates,
            scratch: String::new(),
        }
    }

    /// The template of `message`. Messages of different groups never share one.
    pub fn assign(&mut self, group: &str, message: &str) -> TemplateId {
        let mut key = std::mem::take(&mut self.scratch);
        key.clear();
        key.push_str(group);
        key.push('\u{1f}');
        let text_start = key.len();
        let cut = masked(message, &mut key);
        let id = match self.remembered.get(&key) {
            Some(id) => *id,
            None => {
                let id = self.compare(group, &key[text_start..], cut);
                if self.remembered.len() < MAX_REMEMBERED {
                    self.remembered.insert(key.clone(), id);
                }
                id
            }
        };
        self.scratch = key;
        id
    }

    /// The template's text, variables as `<*>`; ends with `…` when messages had more.
    pub fn text(&self, id: TemplateId) -> String {
        self.templates.get(id).map_or_else(String::new, |template| {
            let mut text = template.words.join(" ");
            if template.cut {
                text.push_str(" …");
            }
            text
        })
    }

    pub fn len(&self) -> usize {
        self.templates.len()
    }

    pub fn is_empty(&self) -> bool {
        self.templates.is_empty()
    }

    fn compare(&mut self, group: &str, text: &str, cut: bool) -> TemplateId {
        let words: Vec<&str> = text.split(' ').collect();
        let first = words.first().filter(|word| !word.contains(VARIABLE) && !is_path(word)).copied();
        let first = first.map_or("", |word| numbered(word).unwrap_or(word));
        let leaf = format!("{group}\u{1f}{}\u{1f}{first}", words.len());
        let ids = self.leaves.get(&leaf).map_or(&[][..], Vec::as_slice);
        let best = ids
            .iter()
            .filter_map(|id| similarity(&self.templates.get(*id)?.words, &words).map(|score| (*id, score)))
            .max_by(|a, b| a.1.total_cmp(&b.1));
        if let Some((id, _)) = best {
            if let Some(template) = self.templates.get_mut(id) {
                template.join(&words, cut);
            }
            return id;
        }
        if self.templates.len() >= self.max_templates || ids.len() >= MAX_PER_LEAF {
            return self.catch_all(group);
        }
        let id = self.add(words.into_iter().map(Box::from).collect(), cut);
        self.leaves.entry(leaf).or_default().push(id);
        id
    }

    fn catch_all(&mut self, group: &str) -> TemplateId {
        if let Some(id) = self.overflow.get(group) {
            return *id;
        }
        let id = self.add(vec![VARIABLE.into()], false);
        self.overflow.insert(group.to_owned(), id);
        id
    }

    fn add(&mut self, words: Vec<Box<str>>, cut: bool) -> TemplateId {
        self.templates.push(Template { words, cut });
        self.templates.len() - 1
    }
}

impl Template {
    fn join(&mut self, words: &[&str], cut: bool) {
        self.cut |= cut;
        for (own, word) in self.words.iter_mut().zip(words) {
            if **own != **word && &**own != VARIABLE {
                *own = common(own, word).into();
            }
        }
    }
}

/// What one message's own template would be.
pub fn template_of(message: &str) -> String {
    let mut text = String::new();
    if masked(message, &mut text) {
        text.push_str(" …");
    }
    text
}

/// The first line of `message` masked, words parted by single spaces; returns whether there was more.
fn masked(message: &str, out: &mut String) -> bool {
    let message = message.trim_start();
    let (line, more) =
        message.split_once('\n').map_or((message, false), |(line, rest)| (line, !rest.trim().is_empty()));
    let mut words = line.split_whitespace();
    let start = out.len();
    for word in words.by_ref().take(MAX_WORDS) {
        let before = out.len();
        if before > start {
            out.push(' ');
        }
        let at = out.len();
        mask::word(word, out);
        // A list of values is one variable, however long it is.
        let is_value = out[at..].trim_matches(|c: char| matches!(c, ',' | '[' | ']' | '(' | ')')) == VARIABLE;
        if is_value && out[start..before].ends_with("<*>,") {
            out.truncate(before - ','.len_utf8());
            if word.ends_with(',') {
                out.push(',');
            }
        }
    }
    more || words.next().is_some()
}

/// How well `words` fit a template, or `None` when they don't belong to it.
fn similarity(template: &[Box<str>], words: &[&str]) -> Option<f64> {
    if template.len() != words.len() {
        return None;
    }
    let (mut literal, mut fitting) = (0usize, 0usize);
    for (own, word) in template.iter().zip(words) {
        if **own == **word {
            literal += 1;
            fitting += 1;
        } else if (is_code(value(own)) && is_code(value(word))) || (is_event(own) && is_event(word)) {
            return None;
        } else if &**own == VARIABLE || same_key(own, word) || same_form(own, word) {
            fitting += 1;
        } else if is_code(own) || is_code(word) {
            return None;
        }
    }
    let share = |n: usize| n as f64 / words.len() as f64;
    (share(fitting) >= SIMILARITY && share(literal) >= LITERAL)
        .then(|| share(fitting) + share(literal) / 100.0)
}

/// What stands after `key=`, or the whole word.
fn value(word: &str) -> &str {
    word.find(['=', ':']).map_or(word, |i| &word[i + 1..])
}

/// Whether two words give the same key a value.
fn same_key(own: &str, word: &str) -> bool {
    let key = |sign: char| own.find(sign).filter(|i| *i > 0).and_then(|i| own.get(..=i));
    let kept = own.strip_suffix(VARIABLE).filter(|key| key.ends_with(':'));
    key('=').or(kept).is_some_and(|key| word.starts_with(key))
}

/// Whether two words are of a form that varies: paths and addresses, quoted texts, names that differ only in their number.
fn same_form(own: &str, word: &str) -> bool {
    let quoted = |text: &str| {
        let text = text.trim_end_matches([',', '.', ';', ':', ')']);
        let mut ends = text.chars().next().into_iter().chain(text.chars().last());
        text.len() > 2
            && matches!((ends.next(), ends.next()), (Some('"'), Some('"')) | (Some('\''), Some('\'')))
    };
    (is_path(own) && is_path(word)) || (quoted(own) && quoted(word)) || {
        let stem = numbered(own);
        stem.is_some() && stem == numbered(word)
    }
}

fn is_path(text: &str) -> bool {
    let text = text.trim_start_matches(['(', '[', '"', '\'', '<']);
    text.contains("://") || (text.starts_with('/') && text.len() > 1) || text.matches('/').count() > 1
}

/// `eth0:` without its number.
fn numbered(word: &str) -> Option<&str> {
    let name = word.trim_end_matches(|c: char| !c.is_alphanumeric());
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
    (!stem.is_empty() && stem.len() < name.len()).then_some(stem)
}

/// What two words share: `key=<*>` for the same key, else `<*>`.
fn common(own: &str, word: &str) -> String {
    let key = own.find(['=', ':']).filter(|i| *i > 0 && word.get(..=*i) == own.get(..=*i));
    match key {
        Some(i) if !is_path(own) => format!("{}{VARIABLE}", &own[..=i]),
        _ => VARIABLE.to_owned(),
    }
}

/// Words that say what happened: two that differ are two kinds of lines, however much the rest agrees.
fn is_event(word: &str) -> bool {
    const EVENTS: [&str; 34] = [
        "start", "stop", "open", "close", "up", "down", "success", "failure", "begin", "end", "add",
        "remove", "found", "lost", "sent", "on", "off", "enter", "exit", "acquire", "release", "get", "put",
        "post", "delete", "patch", "head", "allow", "deny", "ok", "true", "false", "low", "high",
    ];
    let word = word.trim_matches(|c: char| !c.is_alphanumeric());
    let letters = word.len() >= 2 && word.bytes().all(|b| b.is_ascii_alphabetic());
    let verb = word.len() >= 5 && (word.ends_with("ed") || word.ends_with("ing"));
    letters && (verb || EVENTS.iter().any(|event| word.eq_ignore_ascii_case(event)))
}

/// `GATEWAY_TIMEOUT`, `QUOTA_EXCEEDED,`, `ECONNREFUSED`: names of what happened. A bare word in capitals may as well be a state or
/// a name, and those vary.
fn is_code(word: &str) -> bool {
    let word = word.trim_matches(|c: char| !c.is_ascii_alphanumeric());
    let capitals =
        word.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_' || b == b'-');
    let parted = word.contains(['_', '-']);
    let errno = word.len() >= 6 && word.starts_with('E') && word.bytes().all(|b| b.is_ascii_uppercase());
    word.len() >= 4 && capitals && word.bytes().any(|b| b.is_ascii_uppercase()) && (parted || errno)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn mined(messages: &[&str]) -> Vec<String> {
        let mut miner = Miner::new(100);
        for message in messages {
            miner.assign("g", message);
        }
        (0..miner.len()).map(|id| miner.text(id)).collect()
    }

    #[test]
    fn what_varies_becomes_a_variable_and_codes_stay_apart() {
        let texts = mined(&[
            "Charge order=88041305 channel=acquirer-b failed: GATEWAY_TIMEOUT after 6029 ms",
            "Charge order=88041306 channel=acquirer-b failed: GATEWAY_TIMEOUT after 6055 ms",
            "Charge order=88041307 channel=acquirer-c failed: GATEWAY_TIMEOUT after 6001 ms",
            "Charge order=88041308 channel=acquirer-b failed: CHANNEL_UNAVAILABLE after 1 ms",
            "mail to a@example.com bounced: 550 mailbox unavailable",
            "mail to b@example.com bounced: 550 mailbox unavailable",
        ]);
        assert_eq!(
            texts,
            [
                "Charge order=<*> channel=<*> failed: GATEWAY_TIMEOUT after <*> ms",
                "Charge order=<*> channel=acquirer-b failed: CHANNEL_UNAVAILABLE after <*> ms",
                "mail to <*> bounced: <*> mailbox unavailable",
            ]
        );
    }

    #[test]
    fn groups_stay_apart_and_traces_show_their_first_line() {
        let mut miner = Miner::new(10);
        let a = miner.assign("svc|ERROR", "boom 1\n\tat a.b(C.java:1)");
        let b = miner.assign("svc|WARN", "boom 2");
        assert_ne!(a, b);
        assert_eq!((miner.text(a), miner.text(b)), ("boom <*> …".to_owned(), "boom <*>".to_owned()));
    }

    #[test]
    fn chinese_messages_keep_their_words() {
        assert_eq!(
            mined(&["订单 88041305 支付超时，渠道 acquirer-b", "订单 88041306 支付超时，渠道 acquirer-c"])
                .len(),
            1
        );
        assert_eq!(mined(&["库存不足", "支付超时"]), ["库存不足", "支付超时"]);
    }

    #[test]
    fn the_number_of_templates_is_bounded() {
        let mut miner = Miner::new(20);
        for i in 0..10_000u32 {
            let letters: String = i.to_string().bytes().map(|b| char::from(b - b'0' + b'a')).collect();
            miner.assign(if i % 2 == 0 { "a" } else { "b" }, &format!("{letters} happened to {letters}"));
        }
        assert!(miner.len() <= 22 && miner.remembered.len() <= MAX_REMEMBERED, "{}", miner.len());
        assert_eq!(miner.text(21), "<*>");
    }

    proptest! {
        #[test]
        fn any_message_is_survived(messages in proptest::collection::vec("\\PC{0,60}|[a-zA-Z0-9=:. _-]{0,60}", 0..30)) {
            let mut miner = Miner::new(8);
            for message in &messages {
                let id = miner.assign("g", message);
                prop_assert!(id < miner.len());
            }
        }
    }
}
