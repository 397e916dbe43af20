//! The words of a corpus as numbers, so that what each chunk says is looked up instead of read again for each question.

use std::collections::HashMap;

use agent::ports::Chunk;

use super::tokenizer::tokenize;

/// Every word of a corpus, and how many chunks hold it.
#[derive(Debug, Default)]
pub struct Vocabulary {
    numbers: HashMap<String, u32>,
    /// By a word's number.
    chunks_with: Vec<usize>,
    chunks: usize,
}

/// The distinct words of a chunk, as sorted numbers.
#[derive(Debug, Default)]
pub struct Words {
    body: Box<[u32]>,
    /// Title, tags and headings.
    topic: Box<[u32]>,
}

impl Vocabulary {
    /// Takes up a chunk.
    pub fn add(&mut self, chunk: &Chunk) -> Words {
        let body = self.numbers_of([chunk.text.as_str()]);
        let heads = [chunk.title.as_str(), &chunk.section_path];
        let topic = self.numbers_of(heads.into_iter().chain(chunk.tags.iter().map(String::as_str)));
        let words = Words { body, topic };
        self.chunks += 1;
        let only_topic = words.topic.iter().filter(|word| !words.says(**word));
        for word in words.body.iter().chain(only_topic) {
            if let Some(count) = self.chunks_with.get_mut(*word as usize) {
                *count += 1;
            }
        }
        words
    }

    fn numbers_of<'t>(&mut self, texts: impl IntoIterator<Item = &'t str>) -> Box<[u32]> {
        let mut numbers = Vec::new();
        for token in texts.into_iter().flat_map(tokenize) {
            let next = self.chunks_with.len() as u32;
            let number = *self.numbers.entry(token.text).or_insert(next);
            if number == next {
                self.chunks_with.push(0);
            }
            numbers.push(number);
        }
        numbers.sort_unstable();
        numbers.dedup();
        numbers.into_boxed_slice()
    }

    /// The number of a word, if any chunk has it.
    pub fn number(&self, word: &str) -> Option<u32> {
        self.numbers.get(word).copied()
    }

    /// How many chunks hold a word.
    pub fn chunks_with(&self, word: &str) -> usize {
        self.number(word).and_then(|number| self.chunks_with.get(number as usize)).copied().unwrap_or(0)
    }

    /// Of how many.
    pub fn chunks(&self) -> usize {
        self.chunks
    }
}

impl Words {
    /// Whether the word stands in the text.
    pub fn says(&self, word: u32) -> bool {
        self.body.binary_search(&word).is_ok()
    }

    /// Whether the word stands in the title, the tags or a heading.
    pub fn is_about(&self, word: u32) -> bool {
        self.topic.binary_search(&word).is_ok()
    }

    /// The share of the words of both texts that both have, from 0 to 1.
    pub fn likeness(&self, other: &Self) -> f64 {
        let shared = self.body.iter().filter(|word| other.says(**word)).count();
        let all = self.body.len() + other.body.len() - shared;
        if all == 0 { 0.0 } else { shared as f64 / all as f64 }
    }
}
