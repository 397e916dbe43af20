//! What a question is about, and how much of that a chunk covers: the floor below which a hit is no answer.
//!
//! BM25 ranks, but its scores mean nothing across questions: the best of ten unrelated chunks still has a
//! score. So each candidate is also judged by the share of the question's words that it holds, rare words
//! weighing more.

use std::collections::HashSet;

use super::synonyms;
use super::tokenizer::{Token, is_cjk, tokenize};
use super::vocabulary::{Vocabulary, Words};

/// Words of a question that are looked at.
const MAX_UNITS: usize = 64;
/// Share of the question that a chunk must cover to be a hit.
const FLOOR: f64 = 0.25;
/// The lower floor when a covered word stands in the title, the tags or a heading: then the document is about
/// it.
const TOPICAL_FLOOR: f64 = 0.11;
/// A pair of characters that no document has is as often chance (across two words) as it is a word.
const UNSEEN_PAIR_WEIGHT: f64 = 0.6;
/// What all parts of an identifier are worth when the identifier itself doesn't occur.
const PARTS_WORTH: f64 = 0.7;
/// What a phrase that means the same is worth, in judging and in ranking.
const SYNONYM_WORTH: f64 = 0.8;
const SYNONYM_WEIGHT: f32 = 0.5;

/// Words of a question that say nothing about its topic.
const STOP_WORDS: &str = "\
    a about after again all also am an and any anyone are as at be because been before being but by can \
    could did do does doing for from get gets getting give got had has have having he her here hi hello \
    him his how i if in into is it its just kind know let like make many may me might more most much \
    must my need new no not now of off on once one only or other our out over own people please really \
    right say see seem she should show since so some someone somebody something still such take tell \
    than thank thanks that the their them then there these they thing things this those to too under \
    until up us use very want was way we were what what's when where which while who whom whose why will \
    with within without would you your yours happen happening find first last day days hour hours minute \
    minutes week month year today tomorrow yesterday morning time times left yes ok okay";

/// Chinese phrases that say nothing about the topic, longest first where one holds another.
const STOP_PHRASES: [&str; 60] = [
    "是怎么回事",
    "怎么回事",
    "是什么原因",
    "是什么意思",
    "什么时候",
    "为什么",
    "怎么办",
    "怎么样",
    "是怎么",
    "怎么做",
    "怎么",
    "怎样",
    "如何",
    "什么原因",
    "什么",
    "哪一个",
    "哪些",
    "哪个",
    "哪里",
    "多少",
    "是否",
    "有没有",
    "能不能",
    "可不可以",
    "可以",
    "应该",
    "应当",
    "需要",
    "请问",
    "请教",
    "帮我",
    "一下",
    "看看",
    "告诉",
    "找谁",
    "谁能",
    "我们",
    "你们",
    "他们",
    "最近",
    "现在",
    "目前",
    "一直",
    "已经",
    "因为",
    "所以",
    "以及",
    "或者",
    "还是",
    "但是",
    "如果",
    "的话",
    "之后",
    "之前",
    "了",
    "吗",
    "呢",
    "吧",
    "的",
    "是",
];

/// One word of the question; an identifier with its parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unit {
    pub word: String,
    pub parts: Vec<String>,
    /// Words of phrases that mean the same as the phrase this word is of; each list is one phrase.
    pub others: Vec<Vec<String>>,
}

/// A question as a list of words that matter, each once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    pub units: Vec<Unit>,
}

impl Question {
    pub fn parse(text: &str) -> Self {
        let mut plain = text.to_owned();
        for phrase in STOP_PHRASES {
            if plain.contains(phrase) {
                plain = plain.replace(phrase, " ");
            }
        }
        let mut units: Vec<Unit> = Vec::new();
        for Token { text: word, part, .. } in tokenize(&plain) {
            match units.last_mut() {
                Some(unit) if part => unit.parts.push(word),
                _ => units.push(Unit { word, parts: Vec::new(), others: Vec::new() }),
            }
        }
        let mut seen = HashSet::new();
        units.retain(|unit| !is_stop_word(&unit.word) && seen.insert(unit.word.clone()));
        units.truncate(MAX_UNITS);
        for (phrase, others) in synonyms::of(&plain) {
            let own = phrase_words(phrase);
            let others: Vec<Vec<String>> = others.into_iter().map(phrase_words).collect();
            for unit in units.iter_mut().filter(|unit| own.contains(&unit.word)) {
                unit.others.extend(others.iter().cloned());
            }
        }
        Self { units }
    }

    pub fn is_empty(&self) -> bool {
        self.units.is_empty()
    }

    /// Every word to search for, once, with its weight: parts of identifiers count less than the whole.
    pub fn terms(&self) -> Vec<(&str, f32)> {
        let mut terms: Vec<(&str, f32)> = self.units.iter().map(|unit| (unit.word.as_str(), 1.0)).collect();
        for part in self.units.iter().flat_map(|unit| &unit.parts) {
            if !is_stop_word(part) && !terms.iter().any(|(term, _)| term == part) {
                terms.push((part, 0.5));
            }
        }
        for other in self.units.iter().flat_map(|unit| unit.others.iter().flatten()) {
            if !terms.iter().any(|(term, _)| term == other) {
                terms.push((other, SYNONYM_WEIGHT));
            }
        }
        terms
    }
}

fn phrase_words(phrase: &str) -> Vec<String> {
    tokenize(phrase).into_iter().filter(|token| !token.part).map(|token| token.text).collect()
}

/// Whether a chunk with these words answers to the question.
pub fn is_relevant(question: &Question, words: &Words, vocabulary: &Vocabulary) -> bool {
    let coverage = coverage(question, words, vocabulary);
    coverage.share >= if coverage.topical { TOPICAL_FLOOR } else { FLOOR }
}

/// How much of a question a chunk covers.
#[derive(Debug, Clone, Copy)]
pub struct Coverage {
    /// From 0 to 1.
    pub share: f64,
    /// Whether a covered word is one of the chunk's topics.
    pub topical: bool,
}

pub fn coverage(question: &Question, words: &Words, vocabulary: &Vocabulary) -> Coverage {
    let (mut covered, mut total, mut topical) = (0.0, 0.0, false);
    for unit in &question.units {
        let found = found(unit, words, vocabulary);
        // Times and amounts are details: they help when they are found and say nothing when they aren't.
        let detail = unit.word.bytes().all(|b| b.is_ascii_digit() || b == b'.');
        if detail && found == 0.0 {
            continue;
        }
        let weight = weight(unit, vocabulary);
        covered += weight * found;
        total += weight;
        topical |= found > 0.0 && !detail && is_topic(unit, words, vocabulary);
    }
    Coverage { share: if total > 0.0 { covered / total } else { 0.0 }, topical }
}

/// The share of one unit that the chunk holds.
fn found(unit: &Unit, words: &Words, vocabulary: &Vocabulary) -> f64 {
    let has =
        |word: &String| vocabulary.number(word).is_some_and(|word| words.says(word) || words.is_about(word));
    if has(&unit.word) {
        1.0
    } else if unit.others.iter().any(|phrase| !phrase.is_empty() && phrase.iter().all(has)) {
        SYNONYM_WORTH
    } else if unit.parts.is_empty() {
        0.0
    } else {
        let parts = unit.parts.iter().filter(|part| has(part)).count();
        PARTS_WORTH * parts as f64 / unit.parts.len() as f64
    }
}

fn is_topic(unit: &Unit, words: &Words, vocabulary: &Vocabulary) -> bool {
    let about = |word: &String| vocabulary.number(word).is_some_and(|word| words.is_about(word));
    let synonym = |phrase: &Vec<String>| !phrase.is_empty() && phrase.iter().all(about);
    unit.others.iter().any(synonym) || about(&unit.word) || unit.parts.iter().any(about)
}

fn weight(unit: &Unit, vocabulary: &Vocabulary) -> f64 {
    let with = vocabulary.chunks_with(&unit.word);
    let known = std::iter::once(&unit.word)
        .chain(&unit.parts)
        .map(|word| vocabulary.chunks_with(word))
        .find(|n| *n > 0);
    let rarity = rarity(vocabulary.chunks(), known.unwrap_or(0));
    let is_pair = unit.word.chars().all(is_cjk);
    if is_pair && with == 0 { rarity * UNSEEN_PAIR_WEIGHT } else { rarity }
}

/// BM25's inverse document frequency.
fn rarity(chunks: usize, with: usize) -> f64 {
    let (chunks, with) = (chunks as f64, with as f64);
    (1.0 + (chunks - with + 0.5).max(0.0) / (with + 0.5)).ln()
}

fn is_stop_word(word: &str) -> bool {
    // The list is of words as written; the tokenizer has stemmed the question's.
    thread_stop_words().contains(word) || (word.len() == 1 && word.is_ascii())
}

fn thread_stop_words() -> &'static HashSet<String> {
    static WORDS: std::sync::LazyLock<HashSet<String>> =
        std::sync::LazyLock::new(|| tokenize(STOP_WORDS).into_iter().map(|token| token.text).collect());
    &WORDS
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        Question::parse(text).units.into_iter().map(|unit| unit.word).collect()
    }

    #[test]
    fn a_question_is_reduced_to_its_topic() {
        assert_eq!(words("支付超时是怎么回事"), ["支付", "付超", "超时"]);
        assert_eq!(
            words("Kafka 消费积压的告警阈值是多少？"),
            ["kafka", "消费", "费积", "积压", "告警", "警阈", "阈值"]
        );
        assert_eq!(
            words("How do I roll back a configuration rollout?"),
            ["roll", "back", "configuration", "rollout"]
        );
        assert!(words("这是为什么呢？").len() <= 1 && words("what is it?").is_empty());
    }

    #[test]
    fn identifiers_are_one_unit_and_their_parts_are_searched_too() {
        let question = Question::parse("payment-gateway payment");
        assert_eq!(question.units.len(), 2);
        let terms = question.terms();
        assert_eq!(terms[..3], [("payment-gateway", 1.0), ("payment", 1.0), ("gateway", 0.5)]);
        assert!(terms.contains(&("支付", 0.5)), "and what means the same: {terms:?}");
    }
}
