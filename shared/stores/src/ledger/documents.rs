//! `document` and `document_chunk`: runbooks, replaced whole in one transaction, read as one consistent
//! revision.

use agent::ports::StoreError;
use agent::ports::documents::{
    Chunk, CorpusRevision, DocumentSummary, Expected, NewDocument, SavedDocument, StoredDocument,
};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::audit::insert_rows;
use super::connection::{Connection, Statement, Transaction};
use super::fault::{Fault, bounded, conflict};
use super::values::{Row, Value, stored_time};

const MAX_ID_BYTES: usize = 128;
/// 200 characters of any script.
const MAX_TITLE_BYTES: usize = 800;
const MAX_SOURCE_BYTES: usize = 2048;
const MAX_TAGS_BYTES: usize = 60 * 1024;
const MAX_SECTION_BYTES: usize = 2048;
const MAX_CONTENT_BYTES: usize = 1024 * 1024;
/// Chunks of one insert statement: with 1 MiB of content a packet stays below every server's default limit.
const CHUNKS_PER_STATEMENT: usize = 100;

/// Grows with every change: a new version adds two (one, if the document was removed before), a removal adds
/// one.
const REVISION: &str =
    "SELECT CAST(COALESCE(SUM(version * 2 + removed), 0) AS CHAR) AS revision FROM document";

pub(super) fn check_sizes(document: &NewDocument) -> Result<(), StoreError> {
    bounded(&document.document_id, "document id", MAX_ID_BYTES)?;
    bounded(&document.title, "document title", MAX_TITLE_BYTES)?;
    bounded(&document.source, "document source", MAX_SOURCE_BYTES)?;
    bounded(&document.content, "document", MAX_CONTENT_BYTES)?;
    bounded(&tags_json(document), "document's list of tags", MAX_TAGS_BYTES)?;
    for (section, text) in &document.chunks {
        bounded(section, "section path", MAX_SECTION_BYTES)?;
        bounded(text, "chunk", MAX_CONTENT_BYTES)?;
    }
    Ok(())
}

fn tags_json(document: &NewDocument) -> String {
    serde_json::Value::from(document.tags.clone()).to_string()
}

pub(super) async fn revision(connection: &mut Connection) -> Result<CorpusRevision, Fault> {
    let rows = connection.on().fetch(REVISION, &[]).await?;
    rows.first().map_or(Err(Fault::Unreadable), |row| Ok(CorpusRevision(row.text("revision")?)))
}

/// One statement sees one state of the database, whatever the isolation level.
pub(super) async fn chunks(connection: &mut Connection) -> Result<(CorpusRevision, Vec<Chunk>), Fault> {
    let sql = format!(
        "SELECT r.revision, d.document_id, d.version, d.title, d.tags, d.source, d.updated_at, \
         c.ordinal, c.section_path, c.content AS chunk_text FROM ({REVISION}) r \
         LEFT JOIN (document d JOIN document_chunk c ON c.document_id = d.document_id) ON d.removed = FALSE \
         ORDER BY d.document_id, c.ordinal"
    );
    let rows = connection.on().fetch(Statement::composed(sql), &[]).await?;
    let revision = rows.first().ok_or(Fault::Unreadable)?.text("revision")?;
    let chunks = rows.iter().filter_map(|row| chunk(row).transpose()).collect::<Result<_, _>>()?;
    Ok((CorpusRevision(revision), chunks))
}

fn chunk(row: &Row) -> Result<Option<Chunk>, Fault> {
    let Some(document_id) = row.optional_text("document_id")? else { return Ok(None) };
    Ok(Some(Chunk {
        document_id,
        version: row.u32("version")?,
        ordinal: row.u32("ordinal")?,
        title: row.text("title")?,
        tags: serde_json::from_str(&row.text("tags")?).map_err(|_| Fault::Unreadable)?,
        section_path: row.text("section_path")?,
        source: row.text("source")?,
        updated_at: row.time("updated_at")?.format(&Rfc3339).map_err(|_| Fault::Unreadable)?,
        text: row.text("chunk_text")?,
    }))
}

pub(super) async fn put(
    connection: &mut Connection,
    document: &NewDocument,
    expected: Expected,
    at: OffsetDateTime,
) -> Result<SavedDocument, Fault> {
    let mut transaction = connection.begin().await?;
    let done = put_in(&mut transaction, document, expected, at).await;
    transaction.end(done).await
}

async fn put_in(
    transaction: &mut Transaction<'_>,
    document: &NewDocument,
    expected: Expected,
    at: OffsetDateTime,
) -> Result<SavedDocument, Fault> {
    let sql = format!(
        "SELECT version, removed, title, tags, source, content, updated_at FROM document WHERE document_id = ?{}",
        transaction.dialect().for_update()
    );
    let id = document.document_id.as_str();
    let rows = transaction.on().fetch(Statement::composed(sql), &[id.into()]).await?;
    let current = rows.first();
    let present =
        current.map(|row| Ok::<_, Fault>((row.flag("removed")?, row.u32("version")?))).transpose()?;
    check(expected, present.filter(|(removed, _)| !removed).map(|(_, version)| version))?;
    if let Some(row) = current
        && is_same(row, document)?
    {
        let summary = saved(document, row.u32("version")?, row.time("updated_at")?)?;
        return Ok(SavedDocument { summary, created: false });
    }
    let version = current.map_or(Ok(0), |row| row.u32("version"))?.saturating_add(1);
    let values: [Value; 7] = [
        version.into(),
        document.title.as_str().into(),
        tags_json(document).into(),
        document.source.as_str().into(),
        document.content.as_str().into(),
        at.into(),
        id.into(),
    ];
    let sql = match current {
        Some(_) => {
            "UPDATE document SET version = ?, removed = FALSE, title = ?, tags = ?, source = ?, \
             content = ?, updated_at = ? \
             WHERE document_id = ?"
        }
        None => {
            "INSERT INTO document (version, title, tags, source, content, updated_at, document_id) \
             VALUES (?, ?, ?, ?, ?, ?, ?)"
        }
    };
    match transaction.on().execute(sql, &values).await {
        Err(fault) if fault.is_duplicate() => return Err(Fault::Raced),
        done => done?,
    };
    replace_chunks(transaction, document).await?;
    let created = present.is_none_or(|(removed, _)| removed);
    Ok(SavedDocument { summary: saved(document, version, at)?, created })
}

/// The summary of a document that is stored as it was given.
fn saved(document: &NewDocument, version: u32, at: OffsetDateTime) -> Result<DocumentSummary, Fault> {
    Ok(DocumentSummary {
        document_id: document.document_id.clone(),
        version,
        title: document.title.clone(),
        tags: document.tags.clone(),
        source: document.source.clone(),
        updated_at: stored_time(at).assume_utc().format(&Rfc3339).map_err(|_| Fault::Unreadable)?,
        bytes: document.content.len() as u64,
    })
}

/// Whether the current version, if there is one, is what the writer believes to replace.
fn check(expected: Expected, current: Option<u32>) -> Result<(), Fault> {
    let right = match expected {
        Expected::Anything => true,
        Expected::Absent => current.is_none(),
        Expected::Version(version) => current == Some(version),
    };
    if right { Ok(()) } else { Err(conflict("document")) }
}

fn is_same(row: &Row, document: &NewDocument) -> Result<bool, Fault> {
    Ok(!row.flag("removed")?
        && row.text("title")? == document.title
        && row.text("tags")? == tags_json(document)
        && row.text("source")? == document.source
        && row.text("content")? == document.content)
}

async fn replace_chunks(transaction: &mut Transaction<'_>, document: &NewDocument) -> Result<(), Fault> {
    let id = document.document_id.as_str();
    transaction.on().execute("DELETE FROM document_chunk WHERE document_id = ?", &[id.into()]).await?;
    let numbered: Vec<_> = (0_u32..).zip(&document.chunks).collect();
    for chunks in numbered.chunks(CHUNKS_PER_STATEMENT) {
        let columns = ["document_id", "ordinal", "section_path", "content"];
        let sql = insert_rows("document_chunk", &columns, chunks.len());
        let row = |(ordinal, (section, text)): &(u32, &(String, String))| -> [Value; 4] {
            [id.into(), (*ordinal).into(), section.as_str().into(), text.as_str().into()]
        };
        let values: Vec<Value> = chunks.iter().flat_map(row).collect();
        transaction.on().execute(Statement::composed(sql), &values).await?;
    }
    Ok(())
}

pub(super) async fn remove(
    connection: &mut Connection,
    document_id: &str,
    expected: Expected,
    at: OffsetDateTime,
) -> Result<bool, Fault> {
    let mut transaction = connection.begin().await?;
    let done = remove_in(&mut transaction, document_id, expected, at).await;
    transaction.end(done).await
}

async fn remove_in(
    transaction: &mut Transaction<'_>,
    document_id: &str,
    expected: Expected,
    at: OffsetDateTime,
) -> Result<bool, Fault> {
    let sql = format!(
        "SELECT version FROM document WHERE document_id = ? AND removed = FALSE{}",
        transaction.dialect().for_update()
    );
    let rows = transaction.on().fetch(Statement::composed(sql), &[document_id.into()]).await?;
    let Some(row) = rows.first() else { return Ok(false) };
    check(expected, Some(row.u32("version")?))?;
    let sql = "UPDATE document SET removed = TRUE, title = '', tags = '[]', source = '', content = '', updated_at = ? \
               WHERE document_id = ?";
    transaction.on().execute(sql, &[at.into(), document_id.into()]).await?;
    transaction
        .on()
        .execute("DELETE FROM document_chunk WHERE document_id = ?", &[document_id.into()])
        .await?;
    Ok(true)
}

pub(super) async fn get(
    connection: &mut Connection,
    document_id: &str,
) -> Result<Option<StoredDocument>, Fault> {
    let sql = "SELECT document_id, version, title, tags, source, updated_at, content, \
               CAST(OCTET_LENGTH(content) AS CHAR) AS bytes \
               FROM document WHERE document_id = ? AND removed = FALSE";
    let rows = connection.on().fetch(sql, &[document_id.into()]).await?;
    let Some(row) = rows.first() else { return Ok(None) };
    Ok(Some(StoredDocument { summary: summary(row)?, content: row.text("content")? }))
}

pub(super) async fn list(
    connection: &mut Connection,
    limit: u32,
    after: Option<&str>,
) -> Result<Vec<DocumentSummary>, Fault> {
    let sql = "SELECT document_id, version, title, tags, source, updated_at, \
               CAST(OCTET_LENGTH(content) AS CHAR) AS bytes \
               FROM document WHERE removed = FALSE AND document_id > ? ORDER BY document_id LIMIT ?";
    let rows = connection.on().fetch(sql, &[after.unwrap_or_default().into(), limit.into()]).await?;
    rows.iter().map(summary).collect()
}

fn summary(row: &Row) -> Result<DocumentSummary, Fault> {
    Ok(DocumentSummary {
        document_id: row.text("document_id")?,
        version: row.u32("version")?,
        title: row.text("title")?,
        tags: serde_json::from_str(&row.text("tags")?).map_err(|_| Fault::Unreadable)?,
        source: row.text("source")?,
        updated_at: row.time("updated_at")?.format(&Rfc3339).map_err(|_| Fault::Unreadable)?,
        bytes: row.text("bytes")?.parse().map_err(|_| Fault::Unreadable)?,
    })
}
