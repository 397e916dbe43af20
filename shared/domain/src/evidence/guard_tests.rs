//! Every violation with its exact target, from valid drafts broken in one place.

use super::*;
use crate::specimens::*;
use crate::tool::{ToolErrorCode, ToolName};
use serde_json::json;

struct Case {
    draft: DiagnosisDraft,
    records: Vec<CanonicalRecord>,
}

impl Case {
    fn valid() -> Self {
        Self { draft: full_draft(), records: full_store() }
    }

    fn record(&mut self, id: &str) -> &mut CanonicalRecord {
        self.records.iter_mut().find(|r| r.tool_call_id.as_str() == id).unwrap()
    }

    fn result(&mut self, id: &str, edit: impl FnOnce(&mut serde_json::Value)) {
        edit_result(self.record(id), edit);
    }

    /// `CODE target` of each violation.
    fn faults(&self) -> Vec<String> {
        let found = check(this_run(), &self.draft, &self.records).err().unwrap_or_default();
        found.iter().map(|v| format!("{} {}", json!(v.code).as_str().unwrap(), v.target)).collect()
    }
}

/// A name, one way to break the valid case, and exactly the violations that it must give.
type Row<'r> = (&'r str, fn(&mut Case), &'r [&'r str]);

fn expect(rows: &[Row]) {
    for (what, break_it, expected) in rows {
        let mut case = Case::valid();
        break_it(&mut case);
        assert_eq!(case.faults(), *expected, "{what}");
    }
}

#[test]
fn the_valid_case_passes_and_its_snapshot_has_only_what_is_cited() {
    let mut case = Case::valid();
    case.records.push(found(ToolName::QueryMysql, "uncited"));
    case.result("uncited", |r| r["data_source"] = "never-cited-db".into());
    let Checked { snapshot, ungrounded } = check(this_run(), &case.draft, &case.records).unwrap();
    let ids: Vec<_> =
        snapshot.analyses.iter().map(|a| (a.analysis_id.as_str(), a.verified_evidence.len())).collect();
    assert_eq!(ids, [("a1", 3), ("a2", 3), ("a3", 2)]);
    assert_eq!(ungrounded, BTreeMap::new());
    let json = serde_json::to_string(&snapshot).unwrap();
    for secret in ["tool_call_id", "no-logs", "\"kb\"", RAW_MARKER, "never-cited-db", "run:"] {
        assert!(!json.contains(secret), "{secret} in {json}");
    }
}

#[test]
fn records_may_come_in_any_order_and_be_shared_between_analyses() {
    let mut case = Case::valid();
    case.records.reverse();
    case.draft.analyses[2].tool_call_ids.push("logs".into());
    assert_eq!(case.faults(), [""; 0]);
}

#[test]
fn the_draft_by_itself() {
    expect(&[
        ("blank analysis", |c| c.draft.analyses[1].text = " \n\t".into(), &["BLANK_TEXT analyses[1].text"]),
        ("no text", |c| c.draft.analyses[0].text.clear(), &["BLANK_TEXT analyses[0].text"]),
        ("blank conclusion", |c| conclusion(c).text = "\u{3000}".into(), &["BLANK_TEXT conclusion.text"]),
        ("blank action", |c| c.draft.actions[0].text.clear(), &["BLANK_TEXT actions[0].text"]),
        (
            "blank recommendation",
            |c| c.draft.recommendations[0].text.clear(),
            &["BLANK_TEXT recommendations[0].text"],
        ),
        (
            "blank note",
            |c| c.draft.limitations.missing_info.push(" ".into()),
            &["BLANK_TEXT limitations.missing_info[1]"],
        ),
        ("blank caveat", |c| c.draft.limitations.caveats[0].clear(), &["BLANK_TEXT limitations.caveats[0]"]),
        (
            "id with text",
            |c| rename(c, 1, "the database is down"),
            &["INVALID_ANALYSIS_ID analyses[1].analysis_id"],
        ),
        ("no id", |c| rename(c, 1, ""), &["INVALID_ANALYSIS_ID analyses[1].analysis_id"]),
        ("over-long id", |c| rename(c, 1, &"a".repeat(65)), &["INVALID_ANALYSIS_ID analyses[1].analysis_id"]),
        ("repeated id", |c| rename(c, 1, "a1"), &["DUPLICATE_ANALYSIS_ID analyses[1].analysis_id"]),
        (
            "open conclusion",
            |c| conclusion(c).based_on_analysis_ids.push("a9".into()),
            &["UNKNOWN_ANALYSIS_ID conclusion.based_on_analysis_ids[2]"],
        ),
        (
            "open action",
            |c| c.draft.actions[0].based_on_analysis_ids = vec!["a1".into(), "A1".into()],
            &["UNKNOWN_ANALYSIS_ID actions[0].based_on_analysis_ids[1]"],
        ),
        (
            "open recommendation",
            |c| c.draft.recommendations[0].based_on_analysis_ids[0] = "a3 ".into(),
            &["UNKNOWN_ANALYSIS_ID recommendations[0].based_on_analysis_ids[0]"],
        ),
        (
            "conclusion on nothing",
            |c| conclusion(c).based_on_analysis_ids.clear(),
            &["CONCLUSION_WITHOUT_ANALYSIS conclusion.based_on_analysis_ids"],
        ),
        ("no conclusion is fine", |c| c.draft.conclusion = None, &[]),
        ("an action may rest on nothing", |c| c.draft.actions[0].based_on_analysis_ids.clear(), &[]),
    ]);
}

fn conclusion(case: &mut Case) -> &mut crate::draft::Conclusion {
    case.draft.conclusion.as_mut().unwrap()
}

fn rename(case: &mut Case, analysis: usize, id: &str) {
    case.draft.analyses[analysis].analysis_id = id.into();
}

#[test]
fn a_draft_without_findings_must_say_what_is_missing() {
    let check =
        |draft: &DiagnosisDraft| check(this_run(), draft, &[]).map(|_| ()).map_err(|faults| faults.len());
    assert_eq!(check(&a_draft().missing("the service's name").build()), Ok(()));
    assert_eq!(check(&a_draft().but("It is probably the database.").build()), Err(1));
    assert_eq!(check(&a_draft().build()), Err(1));
}

#[test]
fn invisible_text_is_blank_and_visible_text_is_not() {
    let invisible = [
        "\u{200B}\u{200D}",
        "\u{FEFF}",
        "\u{AD}",
        "\u{2060} \u{2063}",
        "\u{202E}",
        "\u{3164}",
        "\u{2800}",
        "\u{180E}",
        "\u{FE0F}",
        "\u{E0041}",
        "\u{0}\u{1F}",
        "\u{85}",
        "\u{A0}",
        "\u{FFF9}",
        "\u{17B4}",
        "\u{1D173}",
        "\u{61C}",
    ];
    for text in invisible {
        assert!(is_blank(text), "{text:?}");
        let mut case = Case::valid();
        case.draft.analyses[0].text = text.into();
        assert_eq!(case.faults(), ["BLANK_TEXT analyses[0].text"], "{text:?}");
    }
    for text in ["x", "超", "\u{200B}.\u{200B}", "👍🏽", "é"] {
        assert!(!is_blank(text), "{text:?}");
    }
}

#[test]
fn every_citation_must_resolve() {
    expect(&[
        (
            "no citation",
            |c| c.draft.analyses[2].tool_call_ids.clear(),
            &["ANALYSIS_WITHOUT_TOOL_CALL analyses[2].tool_call_ids"],
        ),
        (
            "no id at all",
            |c| c.draft.analyses[0].tool_call_ids[1] = "run:x/call:y".into(),
            &["INVALID_TOOL_CALL_ID analyses[0].tool_call_ids[1]"],
        ),
        (
            "padded id",
            |c| c.draft.analyses[2].tool_call_ids[0] = "kb ".into(),
            &["INVALID_TOOL_CALL_ID analyses[2].tool_call_ids[0]"],
        ),
        (
            "cited twice",
            |c| c.draft.analyses[0].tool_call_ids.push("logs".into()),
            &["DUPLICATE_TOOL_CALL_ID analyses[0].tool_call_ids[2]"],
        ),
        (
            "never called",
            |c| c.draft.analyses[0].tool_call_ids.push("call_404".into()),
            &["TOOL_CALL_NOT_FOUND analyses[0].tool_call_ids[2]"],
        ),
        (
            "record gone",
            |c| c.records.retain(|r| r.tool_call_id.as_str() != "logs"),
            &["TOOL_CALL_NOT_FOUND analyses[0].tool_call_ids[0]"],
        ),
        (
            "stored twice",
            |c| c.records.push(c.records[0].clone()),
            &["DUPLICATE_TOOL_CALL_ID analyses[0].tool_call_ids[0]"],
        ),
        (
            "foreign run",
            |c| c.record("logs").run_id = another_run(),
            &["TOOL_CALL_OF_ANOTHER_RUN analyses[0].tool_call_ids[0]"],
        ),
        (
            "started",
            |c| c.record("logs").status = InvocationStatus::Started,
            &["TOOL_CALL_NOT_READY analyses[0].tool_call_ids[0]"],
        ),
        (
            "projecting",
            |c| c.record("logs").status = InvocationStatus::Projecting,
            &["TOOL_CALL_NOT_READY analyses[0].tool_call_ids[0]"],
        ),
        (
            "failed",
            |c| c.record("logs").status = InvocationStatus::Failed,
            &["TOOL_CALL_NOT_READY analyses[0].tool_call_ids[0]"],
        ),
        (
            "ready with an error",
            |c| c.record("logs").error_code = Some(ToolErrorCode::Timeout),
            &["TOOL_CALL_NOT_READY analyses[0].tool_call_ids[0]"],
        ),
        (
            "no result",
            |c| c.record("logs").agent_result = None,
            &["RESULT_MISSING analyses[0].tool_call_ids[0]"],
        ),
        (
            "other id inside",
            |c| c.result("logs", |r| r["tool_call_id"] = "kb".into()),
            &["RESULT_ID_MISMATCH analyses[0].tool_call_ids[0]"],
        ),
        (
            "no status stored",
            |c| c.record("logs").evidence_status = None,
            &["RESULT_STATUS_MISMATCH analyses[0].tool_call_ids[0]"],
        ),
        (
            "other status stored",
            |c| c.record("logs").evidence_status = Some(EvidenceStatus::NoEvidence),
            &["RESULT_STATUS_MISMATCH analyses[0].tool_call_ids[0]"],
        ),
        (
            "finding cites an absence",
            |c| c.draft.analyses[0].tool_call_ids[0] = "no-logs".into(),
            &["EVIDENCE_KIND_MISMATCH analyses[0].tool_call_ids[0]"],
        ),
        (
            "absence cites a finding",
            |c| c.draft.analyses[1].tool_call_ids[0] = "logs".into(),
            &["EVIDENCE_KIND_MISMATCH analyses[1].tool_call_ids[0]"],
        ),
    ]);
}

#[test]
fn a_stored_result_is_read_strictly() {
    type Edit = fn(&mut serde_json::Value);
    let unreadable: [(&str, &str, Edit); 14] = [
        ("logs", "extra field", |r| r["verified"] = true.into()),
        ("kb", "extra nested field", |r| r["hits"][0]["rank"] = 1.into()),
        ("logs", "missing field", |r| remove(r, "matched")),
        ("logs", "missing optional field", |r| remove(&mut r["scope"], "query")),
        ("db", "missing rows", |r| remove(r, "rows")),
        ("kb", "wrong type", |r| r["hits"][0]["version"] = "3".into()),
        ("db", "no object", |r| *r = serde_json::Value::Null),
        ("db", "empty object", |r| *r = json!({})),
        ("db", "text", |r| *r = json!(r.to_string())),
        ("db", "a list of the fields", |r| {
            *r = json!(["db", "EVIDENCE_FOUND", "orders-db", ["n"], [[1]], 1, false, []]);
        }),
        ("logs", "a nested list of the fields", |r| {
            r["scope"] = json!(["payment-gateway", null, null, "x", "y"])
        }),
        ("logs", "status as an object", |r| r["evidence_status"] = json!({ "EVIDENCE_FOUND": null })),
        ("kb", "an id that is none", |r| r["tool_call_id"] = "a/b".into()),
        ("logs", "another tool's shape", |r| {
            *r = json!(result_of(ToolName::QueryMysql, "logs", EvidenceStatus::EvidenceFound))
        }),
    ];
    for (id, what, edit) in unreadable {
        let mut case = Case::valid();
        case.result(id, edit);
        assert_eq!(codes(&case), ["RESULT_UNREADABLE"], "{what}");
    }
    let mut twice = Case::valid();
    let text =
        twice.record("logs").agent_result.as_ref().unwrap().get().replacen('{', r#"{"matched":412,"#, 1);
    twice.record("logs").agent_result = Some(serde_json::value::RawValue::from_string(text).unwrap());
    assert_eq!(codes(&twice), ["RESULT_UNREADABLE"], "duplicate key");
    let mut tool = Case::valid();
    tool.record("logs").tool = ToolName::LookupKnowledge;
    assert_eq!(codes(&tool), ["RESULT_UNREADABLE"], "the record's tool decides the shape");
}

fn remove(value: &mut serde_json::Value, key: &str) {
    value.as_object_mut().unwrap().remove(key).unwrap();
}

/// The codes without their targets.
fn codes(case: &Case) -> Vec<String> {
    case.faults().iter().map(|fault| fault.split(' ').next().unwrap().to_owned()).collect()
}

#[test]
fn a_status_must_fit_the_content_for_every_tool() {
    type Edit = fn(&mut serde_json::Value);
    let contradictions: [(&str, &str, Edit); 8] = [
        ("logs", "found, but nothing in it", |r| (r["patterns"], r["events"]) = (json!([]), json!([]))),
        ("db", "found, but no row", |r| (r["rows"], r["row_count"]) = (json!([]), 0.into())),
        ("kb", "found, but no hit", |r| r["hits"] = json!([])),
        ("no-logs", "none, but lines matched", |r| r["matched"] = 3.into()),
        ("no-db", "none, but a row", |r| (r["rows"], r["row_count"]) = (json!([["x", 1]]), 1.into())),
        ("db", "a count that is not the rows'", |r| r["row_count"] = 2.into()),
        ("no-db", "none, but a count", |r| r["row_count"] = 1.into()),
        ("logs", "found, but the projection says none", |r| r["evidence_status"] = "NO_EVIDENCE".into()),
    ];
    for (id, what, edit) in contradictions {
        let mut case = Case::valid();
        case.result(id, edit);
        assert_eq!(codes(&case), ["RESULT_STATUS_MISMATCH"], "{what}");
    }
}

#[test]
fn all_violations_are_told_in_a_fixed_order() {
    let mut case = Case::valid();
    case.records.retain(|r| r.tool_call_id.as_str() != "kb");
    case.record("no-db").run_id = another_run();
    case.draft.limitations.caveats.push(String::new());
    case.draft.actions[0].based_on_analysis_ids.push("ghost".into());
    conclusion(&mut case).text.clear();
    rename(&mut case, 1, "a1");
    case.draft.analyses[1].text.clear();
    let expected = [
        "BLANK_TEXT analyses[1].text",
        "DUPLICATE_ANALYSIS_ID analyses[1].analysis_id",
        "BLANK_TEXT conclusion.text",
        "UNKNOWN_ANALYSIS_ID actions[0].based_on_analysis_ids[1]",
        "BLANK_TEXT limitations.caveats[1]",
        "TOOL_CALL_OF_ANOTHER_RUN analyses[1].tool_call_ids[0]",
        "TOOL_CALL_NOT_FOUND analyses[2].tool_call_ids[0]",
    ];
    assert_eq!(case.faults(), expected);
    case.records.reverse();
    assert_eq!(case.faults(), expected, "the store's order does not matter");
}

#[test]
fn violations_carry_no_content() {
    let marker = "MARKER-4411";
    let mut case = Case::valid();
    for analysis in &mut case.draft.analyses {
        analysis.text = marker.into();
        analysis.analysis_id = format!("{marker} x");
        analysis.tool_call_ids = vec![format!("{marker} y"), format!("{marker}-z")];
    }
    case.result("logs", |r| r["source"] = marker.into());
    case.draft.analyses[0].tool_call_ids.push("logs".into());
    case.record("logs").status = InvocationStatus::Failed;
    let faults = check(this_run(), &case.draft, &case.records).unwrap_err();
    assert!(faults.len() > 9);
    assert!(!serde_json::to_string(&faults).unwrap().contains("MARKER"));
}

#[test]
fn what_the_evidence_does_not_show_is_told_per_analysis_and_is_no_violation() {
    let draft = a_draft()
        .concluding("payment-gateway lost 77% of its calls.", &["a1"])
        .finding("a1", "412 errors, 9911 of them fatal.", &["logs"])
        .finding("a2", "412 rows.", &["db"])
        .build();
    let ungrounded = check(this_run(), &draft, &full_store()).unwrap().ungrounded;
    let expected =
        [(CONCLUSION_KEY.to_owned(), vec!["77%".to_owned()]), ("a1".to_owned(), vec!["9911".to_owned()])];
    assert_eq!(ungrounded, BTreeMap::from(expected));
}

#[test]
fn released_evidence_is_read_again_under_the_same_rules() {
    let mut cited = Cited {
        analysis_id: "s1".into(),
        kind: AnalysisKind::Normal,
        tool_call_ids: vec!["kb".into()],
        hits: vec![2],
    };
    let titles = |cited: &Cited, records: &[CanonicalRecord]| {
        released_evidence(this_run(), cited, records)
            .map(|all| all.into_iter().map(|e| e.source).collect::<Vec<_>>())
    };
    assert_eq!(titles(&cited, &full_store()), Ok(vec!["连接池".to_owned()]));
    cited.hits.clear();
    assert_eq!(titles(&cited, &full_store()).unwrap().len(), 2);
    assert_eq!(titles(&cited, &[]), Err(Violation::ToolCallNotFound));
    assert_eq!(released_evidence(another_run(), &cited, &full_store()), Err(Violation::ToolCallOfAnotherRun));
}
