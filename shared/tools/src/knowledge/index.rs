//! The in-memory full-text index of one corpus revision: BM25 over title, tags, headings and body.

use agent::ports::Chunk;
use tantivy::collector::TopDocs;
use tantivy::directory::RamDirectory;
use tantivy::query::{BooleanQuery, BoostQuery, Occur, Query, TermQuery};
use tantivy::schema::{Field, IndexRecordOption, Schema, TextFieldIndexing, TextOptions};
use tantivy::tokenizer::PreTokenizedString;
use tantivy::{Index, IndexSettings, ReloadPolicy, TantivyDocument, TantivyError, Term};

use super::relevance::Question;
use super::tokenizer::tokenize;
use super::vocabulary::{Vocabulary, Words};
use crate::blocking::{Stop, Stopped};

/// How much a word counts by where it stands.
const TITLE_WEIGHT: f32 = 3.0;
const TAGS_WEIGHT: f32 = 2.5;
const HEADINGS_WEIGHT: f32 = 2.0;
const BODY_WEIGHT: f32 = 1.0;
/// Of the writer; a segment of runbooks needs a fraction of it.
const WRITER_BYTES: usize = 15_000_000;
const DOCUMENTS_PER_CHECK: usize = 64;

/// Why there is no index.
#[derive(Debug, thiserror::Error)]
pub enum IndexError {
    #[error("the index could not be built or read")]
    Engine(#[from] TantivyError),
    #[error("building the index was stopped")]
    Stopped(#[from] Stopped),
}

#[derive(Debug, Clone, Copy)]
struct Fields {
    title: Field,
    tags: Field,
    headings: Field,
    body: Field,
}

/// A chunk that a question's words are in.
#[derive(Debug, Clone, Copy)]
pub struct Candidate<'i> {
    pub chunk: &'i Chunk,
    pub words: &'i Words,
    pub score: f32,
}

/// Searchable chunks of one revision.
pub struct KnowledgeIndex {
    chunks: Vec<Chunk>,
    /// Of each chunk.
    words: Vec<Words>,
    vocabulary: Vocabulary,
    searcher: tantivy::Searcher,
    fields: Fields,
}

impl KnowledgeIndex {
    /// Builds the index on the calling thread.
    pub fn build(chunks: Vec<Chunk>, stop: &Stop) -> Result<Self, IndexError> {
        let (schema, fields) = schema();
        // No second thread: nothing is stored that would have to be compressed.
        let settings =
            IndexSettings { docstore_compress_dedicated_thread: false, ..IndexSettings::default() };
        let mut writer = Index::builder()
            .schema(schema)
            .settings(settings)
            .single_segment_index_writer::<TantivyDocument>(RamDirectory::create(), WRITER_BYTES)?;
        let mut vocabulary = Vocabulary::default();
        let mut words = Vec::with_capacity(chunks.len());
        for (i, chunk) in chunks.iter().enumerate() {
            if i % DOCUMENTS_PER_CHECK == 0 {
                stop.check()?;
            }
            // One segment numbers its documents in the order they are added: the number is the chunk's place.
            writer.add_document(fields.document(chunk))?;
            words.push(vocabulary.add(chunk));
        }
        let index = writer.finalize()?;
        let reader = index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into()?;
        Ok(Self { chunks, words, vocabulary, searcher: reader.searcher(), fields })
    }

    pub fn vocabulary(&self) -> &Vocabulary {
        &self.vocabulary
    }

    /// The best `limit` chunks with their scores, best first; equal scores in corpus order.
    pub fn best(&self, question: &Question, limit: usize) -> Result<Vec<Candidate<'_>>, IndexError> {
        if question.is_empty() || self.chunks.is_empty() || limit == 0 {
            return Ok(Vec::new());
        }
        let clauses = question
            .terms()
            .into_iter()
            .flat_map(|(word, weight)| self.fields.clauses(word, weight))
            .collect();
        let query = BooleanQuery::new(clauses);
        let found = self.searcher.search(&query, &TopDocs::with_limit(limit).order_by_score())?;
        Ok(found
            .into_iter()
            .filter_map(|(score, address)| {
                let place = address.doc_id as usize;
                Some(Candidate { chunk: self.chunks.get(place)?, words: self.words.get(place)?, score })
            })
            .collect())
    }
}

fn schema() -> (Schema, Fields) {
    let mut schema = Schema::builder();
    let options = || {
        let indexing = TextFieldIndexing::default()
            .set_tokenizer("raw")
            .set_index_option(IndexRecordOption::WithFreqs)
            .set_fieldnorms(true);
        TextOptions::default().set_indexing_options(indexing)
    };
    let fields = Fields {
        title: schema.add_text_field("title", options()),
        tags: schema.add_text_field("tags", options()),
        headings: schema.add_text_field("headings", options()),
        body: schema.add_text_field("body", options()),
    };
    (schema.build(), fields)
}

impl Fields {
    fn document(self, chunk: &Chunk) -> TantivyDocument {
        let mut document = TantivyDocument::default();
        document.add_pre_tokenized_text(self.title, tokenized(&chunk.title));
        document.add_pre_tokenized_text(self.tags, tokenized(&chunk.tags.join("\n")));
        document.add_pre_tokenized_text(self.headings, tokenized(&chunk.section_path));
        document.add_pre_tokenized_text(self.body, tokenized(&chunk.text));
        document
    }

    fn clauses(self, word: &str, weight: f32) -> impl Iterator<Item = (Occur, Box<dyn Query>)> {
        let fields = [
            (self.title, TITLE_WEIGHT),
            (self.tags, TAGS_WEIGHT),
            (self.headings, HEADINGS_WEIGHT),
            (self.body, BODY_WEIGHT),
        ];
        let word = word.to_owned();
        fields.into_iter().map(move |(field, field_weight)| {
            let term = TermQuery::new(Term::from_field_text(field, &word), IndexRecordOption::WithFreqs);
            let boosted: Box<dyn Query> = Box::new(BoostQuery::new(Box::new(term), field_weight * weight));
            (Occur::Should, boosted)
        })
    }
}

/// Our own words in the engine's shape.
fn tokenized(text: &str) -> PreTokenizedString {
    let tokens = tokenize(text)
        .into_iter()
        .enumerate()
        .map(|(position, token)| tantivy::tokenizer::Token {
            offset_from: token.start,
            offset_to: token.end,
            position,
            text: token.text,
            position_length: 1,
        })
        .collect();
    PreTokenizedString { text: text.to_owned(), tokens }
}
