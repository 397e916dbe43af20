//! `feedback`: one row a caller and run.

use agent::ports::{Feedback, Rating};
use domain::ids::{CallerId, RunId};
use time::OffsetDateTime;

use super::connection::Connection;
use super::fault::Fault;
use super::values::Value;

/// An insert, and an update where that finds a row: each is atomic by itself and may be repeated, and neither locks a gap as a
/// delete of nothing would.
pub(super) async fn rate(
    connection: &mut Connection,
    run_id: RunId,
    caller: &CallerId,
    feedback: &Feedback,
    at: OffsetDateTime,
) -> Result<(), Fault> {
    let values: [Value; 6] = [
        feedback.rating.as_str().into(),
        feedback.reason.as_deref().into(),
        feedback.comment.as_deref().into(),
        at.into(),
        run_id.into(),
        caller.into(),
    ];
    let insert = "INSERT INTO feedback (rating, reason, comment, updated_at, run_id, caller) VALUES (?, ?, ?, ?, ?, ?)";
    let update = "UPDATE feedback SET rating = ?, reason = ?, comment = ?, updated_at = ? WHERE run_id = ? AND caller = ?";
    match connection.on().execute(insert, &values).await {
        Err(fault) if fault.is_duplicate() => connection.on().execute(update, &values).await.map(drop),
        done => done.map(drop),
    }
}

pub(super) async fn rating(
    connection: &mut Connection,
    run_id: RunId,
    caller: &CallerId,
) -> Result<Option<Feedback>, Fault> {
    let sql = "SELECT rating, reason, comment FROM feedback WHERE run_id = ? AND caller = ?";
    let rows = connection.on().fetch(sql, &[run_id.into(), caller.into()]).await?;
    let Some(row) = rows.first() else { return Ok(None) };
    Ok(Some(Feedback {
        rating: Rating::parse(&row.text("rating")?).ok_or(Fault::Unreadable)?,
        reason: row.optional_text("reason")?,
        comment: row.optional_text("comment")?,
    }))
}
