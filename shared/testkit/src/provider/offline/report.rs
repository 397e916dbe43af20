//! The diagnosis draft: what was found, in the words of the evidence, and a conclusion only where errors
//! carry one.

use domain::draft::{
    Action, Analysis, AnalysisKind, Conclusion, DiagnosisDraft, Limitations, Recommendation,
};
use domain::evidence::projection::{MysqlToolResult, QueryLogsToolResult};
use domain::question::Language;
use serde_json::Value;

use super::phrases::Phrases;
use super::plan::Case;
use super::signs::{self, Sign};
use super::transcript::{Observation, Transcript};
use super::words::{addresses_the_reader, first_line, overlap, terms};

/// Errors and warnings that a report lists.
const MAX_ERRORS: usize = 4;
const MAX_WARNINGS: usize = 3;
/// Rows and cells of one result that a text repeats.
const MAX_ROWS: usize = 3;
const MAX_CELL_CHARS: usize = 60;

pub(super) fn draft(case: &Case, transcript: &Transcript) -> DiagnosisDraft {
    let errors = signs::errors(case, transcript);
    let report = Report { say: Phrases(case.language), analyses: Vec::new() };
    match errors.first().filter(|first| carries_a_conclusion(case, transcript, first)) {
        Some(first) => report.incident(case, transcript, &errors, first),
        None => report.nothing_established(case, transcript),
    }
}

/// One line may be chance; repeated lines, or rows with the same error, are not. What was there all along is
/// an answer only to a question about that very service.
fn carries_a_conclusion(case: &Case, transcript: &Transcript, first: &Sign) -> bool {
    let repeated = first.count >= 2 || corroborating_rows(transcript, first).is_some();
    repeated && (!first.earlier || case.focused)
}

struct Report {
    say: Phrases,
    analyses: Vec<Analysis>,
}

impl Report {
    fn add(&mut self, kind: AnalysisKind, text: String, call_id: &str) -> String {
        let analysis_id = format!("a{}", self.analyses.len() + 1);
        let tool_call_ids = vec![call_id.to_owned()];
        self.analyses.push(Analysis { analysis_id: analysis_id.clone(), kind, text, tool_call_ids });
        analysis_id
    }

    fn incident(
        mut self,
        case: &Case,
        transcript: &Transcript,
        errors: &[Sign],
        first: &Sign,
    ) -> DiagnosisDraft {
        let say = self.say;
        let mut basis = vec![self.add(AnalysisKind::Normal, say.error(first), &first.call_id)];
        let later =
            errors.iter().skip(1).filter(|sign| !sign.earlier || case.services.contains(&sign.service));
        for sign in later.take(MAX_ERRORS - 1) {
            self.add(AnalysisKind::Normal, say.error(sign), &sign.call_id);
        }
        for sign in signs::warnings_before(case, transcript, errors, first).iter().take(MAX_WARNINGS) {
            self.add(AnalysisKind::Normal, say.warning(sign), &sign.call_id);
        }
        let corroborating = corroborating_rows(transcript, first);
        for (observation, result) in transcript.rows().filter(|(_, result)| !result.rows.is_empty()) {
            let id = self.add(AnalysisKind::Normal, rows(say, observation, result), &observation.call_id);
            if corroborating == Some(observation.call_id.as_str()) {
                basis.push(id);
            }
        }
        self.silent_services(transcript, true);
        let runbook = self.runbook(case, transcript, first);
        let conclusion =
            Conclusion { text: say.conclusion(first, basis.len() > 1), based_on_analysis_ids: basis.clone() };
        let mut actions = vec![Action {
            text: say.look_at(&first.service),
            requires_human_confirmation: false,
            based_on_analysis_ids: basis[..1].to_vec(),
        }];
        actions.extend(runbook.map(|(title, id)| Action {
            text: say.follow_runbook(&title),
            requires_human_confirmation: true,
            based_on_analysis_ids: vec![id],
        }));
        DiagnosisDraft {
            conclusion: Some(conclusion),
            analyses: self.analyses,
            actions,
            recommendations: vec![Recommendation { text: say.alert_earlier(), based_on_analysis_ids: basis }],
            limitations: Limitations {
                missing_info: vec![say.beginning_only()],
                caveats: vec![say.caveat()],
            },
        }
    }

    fn nothing_established(mut self, case: &Case, transcript: &Transcript) -> DiagnosisDraft {
        let say = self.say;
        self.silent_services(transcript, case.focused);
        for (id, result) in transcript.logs().filter(|(_, result)| !result.patterns.is_empty()) {
            let scope = &result.scope;
            if case.services.contains(&scope.service) && scope.level.is_none() {
                let text = say.alive(&scope.service, result.matched, &scope.start, &scope.end);
                self.add(AnalysisKind::Normal, text, id);
            }
        }
        let missing = if case.services.is_empty() { say.missing_services() } else { say.missing_errors() };
        DiagnosisDraft {
            conclusion: None,
            analyses: self.analyses,
            actions: Vec::new(),
            recommendations: Vec::new(),
            limitations: Limitations { missing_info: vec![missing], caveats: vec![say.caveat()] },
        }
    }

    /// What was looked for in logs and not found.
    fn silent_services(&mut self, transcript: &Transcript, all_levels: bool) {
        let empty = |result: &QueryLogsToolResult| result.patterns.is_empty() && result.events.is_empty();
        let silent = transcript.logs().filter(|(_, result)| empty(result));
        for (id, result) in silent.filter(|(_, result)| all_levels || signs::has_level(result, "ERROR")) {
            let scope = &result.scope;
            let text = self.say.no_lines(&scope.service, scope.level.as_deref(), &scope.start, &scope.end);
            self.add(AnalysisKind::NegativeObservation, text, id);
        }
    }

    /// Names the runbook section that shares most with the question and the first error; returns its title
    /// and analysis.
    fn runbook(&mut self, case: &Case, transcript: &Transcript, first: &Sign) -> Option<(String, String)> {
        let wanted = terms(&format!("{} {}", case.query, first.quote));
        let hits =
            transcript.knowledge().flat_map(|(id, result)| result.hits.iter().map(move |hit| (id, hit)));
        let readable = hits.filter(|(_, hit)| !addresses_the_reader(&hit.excerpt));
        let scored = readable.map(|(id, hit)| {
            (overlap(&wanted, &format!("{} {} {}", hit.title, hit.section_path, hit.excerpt)), id, hit)
        });
        // On equal scores the earlier hit stays: it is the search's own preference.
        let best = scored.reduce(|best, next| if next.0 > best.0 { next } else { best });
        let (_, id, hit) = best.filter(|(shared, ..)| *shared > 0)?;
        let section = hit.section_path.rsplit(" > ").next().unwrap_or(&hit.title);
        let analysis = self.add(AnalysisKind::Normal, self.say.runbook(&hit.title, section), id);
        // The other search is evidence of its own: what it found is named too.
        let others: Vec<(String, String)> = transcript
            .knowledge()
            .filter(|(other, result)| *other != id && !result.hits.is_empty())
            .filter_map(|(other, result)| {
                let found = result.hits.iter().find(|other| !addresses_the_reader(&other.excerpt))?;
                let hit = Some(found).filter(|other| other.title != hit.title)?;
                let section = hit.section_path.rsplit(" > ").next().unwrap_or(&hit.title);
                Some((other.to_owned(), self.say.runbook_also(&hit.title, section)))
            })
            .collect();
        for (other, text) in others {
            self.add(AnalysisKind::Normal, text, &other);
        }
        Some((hit.title.clone(), analysis))
    }
}

/// The call whose rows carry an error code that the sign's line has too.
fn corroborating_rows<'t>(transcript: &'t Transcript, sign: &Sign) -> Option<&'t str> {
    let mentions = |result: &MysqlToolResult| {
        let column = result.columns.iter().position(|name| name == "error_code");
        let code = |row: &Vec<Value>| {
            column
                .and_then(|i| row.get(i)?.as_str())
                .is_some_and(|code| !code.is_empty() && sign.quote.contains(code))
        };
        result.rows.iter().any(code)
    };
    transcript
        .rows()
        .find(|(_, result)| mentions(result))
        .map(|(observation, _)| observation.call_id.as_str())
}

/// The first rows, as `column=value` pairs. Text that users wrote is not in the columns asked for.
fn rows(say: Phrases, observation: &Observation, result: &MysqlToolResult) -> String {
    let sql = observation.arguments["sql"].as_str().unwrap_or_default();
    let table = sql.split_once(" FROM ").and_then(|(_, rest)| rest.split_whitespace().next()).unwrap_or("?");
    let row = |row: &Vec<Value>| {
        let cells = result.columns.iter().zip(row).filter(|(_, cell)| !cell.is_null());
        cells.map(|(name, cell)| format!("{name}={}", cell_text(cell))).collect::<Vec<_>>().join(", ")
    };
    let shown: Vec<String> = result.rows.iter().take(MAX_ROWS).map(row).collect();
    let separator = if say.0 == Language::Chinese { "；" } else { "; " };
    say.rows(&result.data_source, table, &shown.join(separator))
}

fn cell_text(cell: &Value) -> String {
    match cell {
        Value::String(text) => first_line(text, MAX_CELL_CHARS),
        other => other.to_string(),
    }
}
