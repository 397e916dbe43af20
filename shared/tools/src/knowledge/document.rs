//! A runbook as written: optional front matter, then Markdown or plain text.

use agent::ports::documents::NewDocument;

use super::chunker;

/// Limits of what front matter may say.
const MAX_TITLE_CHARS: usize = 200;
const MAX_ENTRIES: usize = 50;
const MAX_ENTRY_CHARS: usize = 300;
/// Section of the chunk that holds the alert expressions, so that a pasted alert finds its runbook.
const RULES_SECTION: &str = "Alert rules";

/// A document taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParsedDocument {
    pub title: String,
    pub tags: Vec<String>,
    /// Where it lives; empty when it doesn't say.
    pub source: String,
    /// Alert expressions it answers to.
    pub rules: Vec<String>,
    /// `(section_path, text)` in order.
    pub chunks: Vec<(String, String)>,
}

/// Why a text is no document. Lines count from 1.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DocumentFault {
    #[error("the document has no text")]
    Empty,
    #[error("the front matter that begins on line 1 must end with a line of three dashes")]
    Unclosed,
    #[error(
        "line {line}: `{name}` is no field of the front matter; the fields are title, tags, source and rules"
    )]
    UnknownField { line: usize, name: String },
    #[error("line {line}: `{name}` is given twice")]
    Twice { line: usize, name: &'static str },
    #[error(
        "line {line}: front matter has lines like `title: text`, `tags: [a, b]`, or `- entry` below a field"
    )]
    Unreadable { line: usize },
    #[error("`{name}` must be {wanted}")]
    Invalid { name: &'static str, wanted: String },
}

impl ParsedDocument {
    /// What a store keeps; `content` is the text as written.
    pub fn into_new_document(self, document_id: String, content: String) -> NewDocument {
        NewDocument {
            document_id,
            title: self.title,
            tags: self.tags,
            source: self.source,
            content,
            chunks: self.chunks,
        }
    }
}

/// Takes a document apart. Without a title in the front matter the first heading or line is the title.
pub fn parse_document(content: &str) -> Result<ParsedDocument, DocumentFault> {
    let content = content.strip_prefix('\u{feff}').unwrap_or(content);
    let (front, body) = split(content)?;
    if body.trim().is_empty() {
        return Err(DocumentFault::Empty);
    }
    let title = match front.title {
        Some(title) => title,
        None => first_line(body),
    };
    if title.is_empty() || title.chars().count() > MAX_TITLE_CHARS {
        return Err(DocumentFault::Invalid {
            name: "title",
            wanted: format!("1 to {MAX_TITLE_CHARS} characters"),
        });
    }
    bounded("tags", front.tags.as_deref())?;
    bounded("rules", front.rules.as_deref())?;
    let rules = front.rules.unwrap_or_default();
    let mut chunks = chunker::chunks(&title, body);
    if !rules.is_empty() {
        chunks.push((RULES_SECTION.to_owned(), rules.join("\n")));
    }
    Ok(ParsedDocument {
        title,
        tags: front.tags.unwrap_or_default(),
        source: front.source.unwrap_or_default(),
        rules,
        chunks,
    })
}

#[derive(Debug, Default)]
struct FrontMatter {
    title: Option<String>,
    source: Option<String>,
    tags: Option<Vec<String>>,
    rules: Option<Vec<String>>,
}

fn split(content: &str) -> Result<(FrontMatter, &str), DocumentFault> {
    let mut front = FrontMatter::default();
    let Some(rest) =
        content.strip_prefix("---").filter(|rest| rest.starts_with('\n') || rest.starts_with("\r\n"))
    else {
        return Ok((front, content));
    };
    let mut offset = content.len() - rest.len();
    let mut open_list = None;
    for (i, line) in content.split_inclusive('\n').enumerate() {
        if i == 0 {
            offset = line.len();
            continue;
        }
        offset += line.len();
        let line = line.trim_end();
        if line == "---" {
            return Ok((front, &content[offset..]));
        }
        front.read(line, i + 1, &mut open_list)?;
    }
    Err(DocumentFault::Unclosed)
}

impl FrontMatter {
    fn read(
        &mut self,
        line: &str,
        number: usize,
        open_list: &mut Option<&'static str>,
    ) -> Result<(), DocumentFault> {
        let trimmed = line.trim();
        if trimmed.is_empty() || trimmed.starts_with('#') {
            return Ok(());
        }
        if let Some(entry) = trimmed.strip_prefix("- ") {
            let list = match *open_list {
                Some("tags") => &mut self.tags,
                Some("rules") => &mut self.rules,
                _ => return Err(DocumentFault::Unreadable { line: number }),
            };
            list.get_or_insert_default().push(unquoted(entry));
            return Ok(());
        }
        let (name, value) = trimmed.split_once(':').ok_or(DocumentFault::Unreadable { line: number })?;
        let value = value.trim();
        let twice = |name| DocumentFault::Twice { line: number, name };
        *open_list = None;
        match name.trim() {
            "title" if self.title.is_some() => return Err(twice("title")),
            "title" => self.title = Some(unquoted(value)),
            "source" if self.source.is_some() => return Err(twice("source")),
            "source" => self.source = Some(unquoted(value)),
            "tags" if self.tags.is_some() => return Err(twice("tags")),
            "tags" => {
                self.tags = Some(list(value, number)?);
                *open_list = value.is_empty().then_some("tags");
            }
            "rules" if self.rules.is_some() => return Err(twice("rules")),
            "rules" => {
                self.rules = Some(list(value, number)?);
                *open_list = value.is_empty().then_some("rules");
            }
            other => {
                return Err(DocumentFault::UnknownField {
                    line: number,
                    name: other.chars().take(40).collect(),
                });
            }
        }
        Ok(())
    }
}

/// `[a, b]`, or nothing when the entries follow line by line.
fn list(value: &str, line: usize) -> Result<Vec<String>, DocumentFault> {
    if value.is_empty() {
        return Ok(Vec::new());
    }
    let inner = value.strip_prefix('[').and_then(|value| value.strip_suffix(']'));
    let inner = inner.ok_or(DocumentFault::Unreadable { line })?;
    Ok(inner.split(',').map(unquoted).filter(|entry| !entry.is_empty()).collect())
}

fn unquoted(value: &str) -> String {
    let value = value.trim();
    let inner = |quote| value.strip_prefix(quote).and_then(|value| value.strip_suffix(quote));
    inner('"').or_else(|| inner('\'')).unwrap_or(value).to_owned()
}

fn bounded(name: &'static str, entries: Option<&[String]>) -> Result<(), DocumentFault> {
    let entries = entries.unwrap_or_default();
    if entries.len() > MAX_ENTRIES || entries.iter().any(|entry| entry.chars().count() > MAX_ENTRY_CHARS) {
        let wanted = format!("at most {MAX_ENTRIES} entries of at most {MAX_ENTRY_CHARS} characters");
        return Err(DocumentFault::Invalid { name, wanted });
    }
    Ok(())
}

fn first_line(body: &str) -> String {
    let line = body.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    line.trim_start_matches('#').trim().chars().take(MAX_TITLE_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn front_matter_in_both_list_forms() {
        let text = "---\ntitle: \"支付: 手册\"\ntags: [支付, 'a b']\nsource: https://wiki.example/x\nrules:\n  - p99 > 1500 for 3m\n  - lag > 5\n---\n\n# 支付\n\n内容\n";
        let document = parse_document(text).unwrap();
        assert_eq!(
            (document.title.as_str(), document.source.as_str()),
            ("支付: 手册", "https://wiki.example/x")
        );
        assert_eq!(document.tags, ["支付", "a b"]);
        assert_eq!(document.rules, ["p99 > 1500 for 3m", "lag > 5"]);
        assert_eq!(
            document.chunks.last().unwrap(),
            &("Alert rules".to_owned(), "p99 > 1500 for 3m\nlag > 5".to_owned())
        );
        assert_eq!(parse_document(&text.replace('\n', "\r\n")).unwrap().tags, document.tags);
    }

    #[test]
    fn without_front_matter_the_first_heading_or_line_is_the_title() {
        assert_eq!(parse_document("\n## Redis failover\ntext").unwrap().title, "Redis failover");
        assert_eq!(parse_document("plain text\nmore").unwrap().title, "plain text");
        assert_eq!(parse_document("--- a rule\ntext").unwrap().title, "--- a rule");
    }

    #[test]
    fn faults_name_the_line() {
        let table = [
            ("", "the document has no text"),
            ("---\ntitle: a\n---\n \n", "the document has no text"),
            ("---\ntitle: a\n", "must end with a line of three dashes"),
            ("---\ntitle: a\ntext", "line 3: front matter has lines like"),
            ("---\nowner: a\n---\ntext", "line 2: `owner` is no field"),
            ("---\ntitle: a\ntitle: b\n---\ntext", "line 3: `title` is given twice"),
            ("---\ntags: a, b\n---\ntext", "line 2: front matter has lines like"),
            ("---\ntitle: a\n- b\n---\ntext", "line 3: front matter has lines like"),
            ("---\ntitle:\n---\ntext", "`title` must be 1 to 200 characters"),
        ];
        for (text, fault) in table {
            let said = parse_document(text).unwrap_err().to_string();
            assert!(said.contains(fault), "{text:?}: {said}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_survived(text in "\\PC{0,200}|[-\n#`|: a支\\[\\]]{0,200}") {
            let _ = parse_document(&text);
            let _ = parse_document(&format!("---\n{text}\n---\n{text}"));
        }
    }
}
