//! Numbers over many runs: outcomes, feedback, tools and durations, one query each.
//!
//! Run ids are UUIDv7: a span of time is a range of the primary key, and no other index is needed.

use agent::ports::quality::{Durations, Quality};
use time::OffsetDateTime;

use super::connection::Connection;
use super::fault::Fault;
use super::values::Value;

pub(super) async fn read(
    connection: &mut Connection,
    from: OffsetDateTime,
    to: OffsetDateTime,
) -> Result<Quality, Fault> {
    let range = [Value::from(first_id(from)), Value::from(first_id(to))];
    let mut quality = Quality::default();
    outcomes(connection, &range, &mut quality).await?;
    feedback(connection, &range, &mut quality).await?;
    tools(connection, &range, &mut quality).await?;
    quality.duration_ms = durations(connection, &range).await?;
    Ok(quality)
}

/// The least run id of a run that starts at `at` or later.
pub(super) fn first_id(at: OffsetDateTime) -> String {
    let millis = u64::try_from(at.unix_timestamp_nanos() / 1_000_000).unwrap_or(0).min((1 << 48) - 1);
    format!("{:08x}-{:04x}", millis >> 16, millis & 0xffff)
}

async fn outcomes(connection: &mut Connection, range: &[Value], quality: &mut Quality) -> Result<(), Fault> {
    let sql = "SELECT COALESCE(outcome, 'RUNNING') AS ended, COALESCE(reason, '') AS why, COUNT(*) AS n, \
               CAST(SUM(CASE WHEN repaired THEN 1 ELSE 0 END) AS SIGNED) AS repairs, \
               CAST(SUM(used_input_tokens) AS SIGNED) AS tokens_in, CAST(SUM(used_output_tokens) AS SIGNED) AS tokens_out, \
               CAST(COALESCE(SUM(cost_nano_usd), 0) AS SIGNED) AS cost, COUNT(cost_nano_usd) AS priced \
               FROM diagnosis_run WHERE run_id >= ? AND run_id < ? GROUP BY ended, why";
    for row in connection.on().fetch(sql, range).await? {
        let (ended, why, n) = (row.text("ended")?, row.text("why")?, row.u64("n")?);
        quality.runs += n;
        match ended.as_str() {
            "FALLBACK" => *quality.fallback_reasons.entry(why).or_default() += n,
            "FAILED" => *quality.failure_codes.entry(why).or_default() += n,
            _ => {}
        }
        *quality.outcomes.entry(ended).or_default() += n;
        quality.repaired += row.u64("repairs")?;
        quality.input_tokens += row.u64("tokens_in")?;
        quality.output_tokens += row.u64("tokens_out")?;
        quality.cost_nano_usd += row.u64("cost")?;
        quality.priced_runs += row.u64("priced")?;
    }
    Ok(())
}

async fn feedback(connection: &mut Connection, range: &[Value], quality: &mut Quality) -> Result<(), Fault> {
    let sql = "SELECT r.outcome AS ended, f.rating AS rating, COUNT(*) AS n FROM feedback f \
               JOIN diagnosis_run r ON r.run_id = f.run_id \
               WHERE r.run_id >= ? AND r.run_id < ? AND r.outcome IS NOT NULL GROUP BY r.outcome, f.rating";
    for row in connection.on().fetch(sql, range).await? {
        let of_outcome = quality.feedback.entry(row.text("ended")?).or_default();
        of_outcome.insert(row.text("rating")?, row.u64("n")?);
    }
    Ok(())
}

async fn tools(connection: &mut Connection, range: &[Value], quality: &mut Quality) -> Result<(), Fault> {
    let sql = "SELECT COALESCE(tool, 'unknown') AS name, COUNT(*) AS n, \
               CAST(SUM(CASE WHEN status = 'FAILED' THEN 1 ELSE 0 END) AS SIGNED) AS failed, \
               CAST(SUM(CASE WHEN evidence_status = 'NO_EVIDENCE' THEN 1 ELSE 0 END) AS SIGNED) AS empty_ones \
               FROM tool_invocation WHERE run_id >= ? AND run_id < ? GROUP BY name";
    for row in connection.on().fetch(sql, range).await? {
        let tool = quality.tools.entry(row.text("name")?).or_default();
        tool.calls = row.u64("n")?;
        tool.failed = row.u64("failed")?;
        tool.no_evidence = row.u64("empty_ones")?;
    }
    Ok(())
}

async fn durations(connection: &mut Connection, range: &[Value]) -> Result<Durations, Fault> {
    // The nearest rank: the smallest duration that at least so many percent do not exceed.
    let ranked = connection.dialect().elapsed_ms();
    let sql = format!(
        "SELECT MIN(CASE WHEN place * 100 >= total * 50 THEN ms END) AS p50, \
         MIN(CASE WHEN place * 100 >= total * 95 THEN ms END) AS p95 \
         FROM (SELECT ms, ROW_NUMBER() OVER (ORDER BY ms) AS place, COUNT(*) OVER () AS total \
         FROM (SELECT {ranked} AS ms FROM diagnosis_run \
         WHERE run_id >= ? AND run_id < ? AND ended_at IS NOT NULL) AS ended) AS ranked"
    );
    let rows = connection.on().fetch(super::connection::Statement::composed(sql), range).await?;
    let Some(row) = rows.first() else { return Ok(Durations::default()) };
    let millis = |column| -> Result<Option<u64>, Fault> {
        Ok(row.optional_int(column)?.map(|ms| u64::try_from(ms).unwrap_or(0)))
    };
    Ok(Durations { p50: millis("p50")?, p95: millis("p95")? })
}

#[cfg(test)]
mod tests {
    use domain::ids::RunId;

    use super::*;

    #[test]
    fn a_moment_is_before_the_runs_that_start_with_it_and_behind_all_earlier_ones() {
        let at = OffsetDateTime::from_unix_timestamp(1_764_547_200).unwrap();
        let id_at = |millis: i64| {
            let uuid = uuid::Builder::from_unix_timestamp_millis(u64::try_from(millis).unwrap(), &[0; 10]);
            RunId::new(uuid.into_uuid()).to_string()
        };
        let (before, with) = (id_at(1_764_547_200_000 - 1), id_at(1_764_547_200_000));
        assert!(before < first_id(at) && first_id(at) < with, "{before} {} {with}", first_id(at));
        assert_eq!(first_id(OffsetDateTime::UNIX_EPOCH - time::Duration::DAY), "00000000-0000");
    }
}
