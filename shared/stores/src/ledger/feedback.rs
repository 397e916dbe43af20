//! `feedback`: one row a caller and run.

use agent::ports::{Feedback, Rating};
use domain::ids::{CallerId, RunId};
use time::OffsetDateTime;

use super::connection::{Connection, Transaction};
use super::fault::Fault;
use super::values::Value;

/// The update comes first: most ratings of a run are its first, but an insert that fails would spoil the transaction.
pub(super) async fn rate(
    connection: &mut Connection,
    run_id: RunId,
    caller: &CallerId,
    feedback: &Feedback,
    at: OffsetDateTime,
) -> Result<(), Fault> {
    let mut transaction = connection.begin().await?;
    let done = rate_in(&mut transaction, run_id, caller, feedback, at).await;
    transaction.end(done).await
}

async fn rate_in(
    transaction: &mut Transaction<'_>,
    run_id: RunId,
    caller: &CallerId,
    feedback: &Feedback,
    at: OffsetDateTime,
) -> Result<(), Fault> {
    transaction
        .on()
        .execute("DELETE FROM feedback WHERE run_id = ? AND caller = ?", &[run_id.into(), caller.into()])
        .await?;
    let values: [Value; 6] = [
        run_id.into(),
        caller.into(),
        feedback.rating.as_str().into(),
        feedback.reason.as_deref().into(),
        feedback.comment.as_deref().into(),
        at.into(),
    ];
    let sql = "INSERT INTO feedback (run_id, caller, rating, reason, comment, updated_at) VALUES (?, ?, ?, ?, ?, ?)";
    match transaction.on().execute(sql, &values).await {
        // Two ratings at once: the other one's is there now, and this one replaces it.
        Err(fault) if fault.is_duplicate() => Err(Fault::Raced),
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
