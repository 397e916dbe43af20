//! Chunks: pieces of a document that are searched and shown as one, each with the headings that lead to it.
//!
//! Sections are kept whole and small neighbours joined up to a target size; what is too long is split between
//! blocks, then between lines, then between sentences, and only then within one. A split code block or table
//! is complete again in each piece: its fence or header row is repeated.

use super::tokenizer::is_cjk;

/// Sizes in columns: a Chinese character says about as much as two Latin ones.
const TARGET: usize = 1000;
const MAX: usize = 1200;
const MAX_PATH_CHARS: usize = 240;

/// The chunks of `body` as `(section_path, text)` in order. `title` is not repeated in the text when it is
/// the heading too.
pub fn chunks(title: &str, body: &str) -> Vec<(String, String)> {
    let mut units: Vec<Unit> = Vec::new();
    for section in sections(body) {
        section.into_units(title, &mut units);
    }
    let mut joined: Vec<Chunk> = Vec::new();
    for unit in units {
        match joined.last_mut() {
            Some(chunk) if chunk.takes(&unit) => chunk.push(unit),
            _ => joined.push(Chunk::new(unit)),
        }
    }
    joined.into_iter().map(|chunk| (chunk.path(), chunk.text)).collect()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Code,
    Table,
}

#[derive(Debug)]
struct Block {
    kind: Kind,
    lines: Vec<String>,
}

#[derive(Debug, Default)]
struct Section {
    /// Headings from the top; empty before the first one.
    path: Vec<String>,
    heading: Option<String>,
    blocks: Vec<Block>,
}

/// The smallest thing that chunks are joined from.
#[derive(Debug)]
struct Unit {
    path: Vec<String>,
    text: String,
    /// Only a heading, whose sections follow.
    bare: bool,
}

struct Chunk {
    /// Of the sections with text.
    paths: Vec<Vec<String>>,
    /// The first section's topmost heading.
    top: Option<String>,
    text: String,
    width: usize,
}

impl Chunk {
    fn new(unit: Unit) -> Self {
        let mut chunk =
            Self { paths: Vec::new(), top: unit.path.first().cloned(), text: String::new(), width: 0 };
        chunk.push(unit);
        chunk
    }

    fn takes(&self, unit: &Unit) -> bool {
        let same_top = self.top.is_none() || self.top.as_ref() == unit.path.first();
        same_top && self.width + width(&unit.text) <= TARGET
    }

    fn push(&mut self, unit: Unit) {
        self.width += width(&unit.text) + 2;
        if !self.text.is_empty() {
            self.text.push_str("\n\n");
        }
        self.text.push_str(&unit.text);
        // A heading without text of its own is in the paths of the sections below it.
        if !unit.bare && !self.paths.contains(&unit.path) {
            self.paths.push(unit.path);
        }
    }

    /// The headings all its sections share, then what parts them: `Handbook > Steps / Afterwards`.
    fn path(&self) -> String {
        let first = self.paths.first().map_or(&[][..], Vec::as_slice);
        let shared = (0..first.len())
            .take_while(|i| self.paths.iter().all(|path| path.get(*i) == first.get(*i)))
            .count();
        let mut different: Vec<&str> = Vec::new();
        for heading in self.paths.iter().filter_map(|path| path.get(shared)) {
            if !different.contains(&heading.as_str()) {
                different.push(heading);
            }
        }
        let mut levels: Vec<String> = first[..shared].to_vec();
        if !different.is_empty() {
            levels.push(different.join(" / "));
        }
        levels.join(" > ").chars().take(MAX_PATH_CHARS).collect()
    }
}

impl Section {
    fn into_units(self, title: &str, units: &mut Vec<Unit>) {
        let bare = self.blocks.is_empty();
        let heading = self.heading.filter(|line| line.trim_start_matches('#').trim() != title);
        let mut pieces: Vec<String> = self.blocks.into_iter().flat_map(Block::into_pieces).collect();
        if pieces.is_empty() && heading.is_none() {
            return;
        }
        if let Some(heading) = heading {
            match pieces.first_mut() {
                Some(first) if width(first) + width(&heading) <= MAX => {
                    *first = format!("{heading}\n\n{first}")
                }
                _ => pieces.insert(0, heading),
            }
        }
        let mut text = String::new();
        for piece in pieces {
            if !text.is_empty() && width(&text) + width(&piece) > MAX {
                units.push(Unit { path: self.path.clone(), text: std::mem::take(&mut text), bare });
            }
            if !text.is_empty() {
                text.push_str("\n\n");
            }
            text.push_str(&piece);
        }
        units.push(Unit { path: self.path, text, bare });
    }
}

impl Block {
    /// The block, or where it is too long pieces that each stand on their own.
    fn into_pieces(self) -> Vec<String> {
        let whole = self.lines.join("\n");
        if width(&whole) <= MAX {
            return vec![whole];
        }
        let (opening, closing) = match (self.kind, &self.lines[..]) {
            (Kind::Code, [first, .., last]) if last.trim() == fence(first) => (1, Some(last.clone())),
            (Kind::Code, [first, ..]) => (1, Some(fence(first).to_owned())),
            (Kind::Table, [_, second, ..]) if second.contains("--") => (2, None),
            _ => (0, None),
        };
        let end = self.lines.len()
            - usize::from(closing.as_ref().is_some_and(|line| self.lines.last() == Some(line)));
        let head = self.lines[..opening.min(end)].to_vec();
        let mut pieces = Vec::new();
        let mut piece = head.clone();
        for line in self.lines[opening.min(end)..end].iter().flat_map(|line| sentences(line)) {
            if piece.len() > head.len() && width(&piece.join("\n")) + width(&line) > MAX {
                piece.extend(closing.clone());
                pieces.push(piece.join("\n"));
                piece.clone_from(&head);
            }
            piece.push(line);
        }
        piece.extend(closing);
        pieces.push(piece.join("\n"));
        pieces
    }
}

/// The characters that close a code block.
fn fence(line: &str) -> &str {
    let line = line.trim_start();
    let mark = if line.starts_with('~') { '~' } else { '`' };
    let length = line.len() - line.trim_start_matches(mark).len();
    &line[..length]
}

fn opens_code(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("```") || line.starts_with("~~~")
}

/// Splits an over-long line after sentence ends, or hard where there are none.
fn sentences(line: &str) -> Vec<String> {
    if width(line) <= MAX {
        return vec![line.to_owned()];
    }
    let mut parts = Vec::new();
    let mut part = String::new();
    let mut columns = 0;
    for c in line.chars() {
        part.push(c);
        columns += columns_of(c);
        let ends = matches!(c, '。' | '！' | '？' | '；' | '.' | '!' | '?' | ';' | '，' | ',' | ' ');
        if columns >= MAX || (columns >= TARGET * 3 / 4 && ends) {
            parts.push(std::mem::take(&mut part));
            columns = 0;
        }
    }
    if !part.is_empty() {
        parts.push(part);
    }
    parts
}

fn width(text: &str) -> usize {
    text.chars().map(columns_of).sum()
}

fn columns_of(c: char) -> usize {
    if is_cjk(c) { 2 } else { 1 }
}

fn sections(body: &str) -> Vec<Section> {
    let mut sections = vec![Section::default()];
    let mut headings: Vec<(usize, String)> = Vec::new();
    let mut block: Option<Block> = None;
    let mut code_fence: Option<String> = None;
    for line in body.lines().map(str::trim_end) {
        if let Some(closing) = &code_fence {
            let closes = line.trim() == closing;
            if let Some(block) = &mut block {
                block.lines.push(line.to_owned());
            }
            if closes {
                code_fence = None;
                finish(&mut block, &mut sections);
            }
        } else if opens_code(line) {
            finish(&mut block, &mut sections);
            code_fence = Some(fence(line).to_owned());
            block = Some(Block { kind: Kind::Code, lines: vec![line.to_owned()] });
        } else if let Some((level, name)) = heading(line) {
            finish(&mut block, &mut sections);
            headings.retain(|(above, _)| *above < level);
            headings.push((level, name));
            sections.push(Section {
                path: headings.iter().map(|(_, name)| name.clone()).collect(),
                heading: Some(line.to_owned()),
                blocks: Vec::new(),
            });
        } else if line.trim().is_empty() {
            finish(&mut block, &mut sections);
        } else {
            let kind = if line.trim_start().starts_with('|') { Kind::Table } else { Kind::Text };
            if block.as_ref().is_some_and(|block| block.kind != kind) {
                finish(&mut block, &mut sections);
            }
            block.get_or_insert_with(|| Block { kind, lines: Vec::new() }).lines.push(line.to_owned());
        }
    }
    finish(&mut block, &mut sections);
    sections
}

fn finish(block: &mut Option<Block>, sections: &mut [Section]) {
    if let (Some(block), Some(section)) = (block.take(), sections.last_mut()) {
        section.blocks.push(block);
    }
}

/// `## Name` with its level.
fn heading(line: &str) -> Option<(usize, String)> {
    let level = line.bytes().take_while(|b| *b == b'#').count();
    let name = line.get(level..)?.strip_prefix(' ')?.trim().trim_end_matches('#').trim();
    ((1..=6).contains(&level) && !name.is_empty()).then(|| (level, name.to_owned()))
}

#[cfg(test)]
#[path = "chunker_tests.rs"]
mod tests;
