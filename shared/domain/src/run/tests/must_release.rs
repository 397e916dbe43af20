//! Valid drafts that must be published as they are: a guard that refuses good reports is broken too.

use serde_json::Value;

use super::*;
use crate::draft::AnalysisKind;
use crate::specimens::a_draft;

#[derive(serde::Deserialize)]
struct Case {
    name: String,
    query: String,
    draft: Value,
}

fn written_by_hand() -> Vec<Case> {
    serde_json::from_str(include_str!("must_release.json")).unwrap()
}

/// Each tool, each kind, each language, with and without a conclusion and the rest.
fn made_by_rule() -> Vec<Case> {
    let mut cases = Vec::new();
    let texts = [("why?", "412 calls failed at 14:05."), ("为什么？", "14:05 有 412 次调用失败。")];
    for (query, text) in texts {
        for calls in [
            &["logs"][..],
            &["db"],
            &["kb"],
            &["logs", "kb"],
            &["no-logs"],
            &["no-db"],
            &["no-kb"],
            &["no-db", "no-logs"],
        ] {
            let kind = if calls[0].starts_with("no-") {
                AnalysisKind::NegativeObservation
            } else {
                AnalysisKind::Normal
            };
            let bare = || a_draft().analysis("a1", kind, text, calls);
            let full =
                bare().concluding(text, &["a1"]).advising(text, true, &["a1"]).recommending(text, &["a1"]);
            for (shape, draft) in [
                ("bare", bare()),
                ("concluded", bare().concluding(text, &["a1"])),
                ("full", full.missing(text).but(text)),
            ] {
                let name = format!("{shape} {calls:?} {query}");
                cases.push(Case { name, query: query.to_owned(), draft: json!(draft.build()) });
            }
        }
    }
    cases
}

#[test]
fn every_valid_draft_is_published_unchanged() {
    let cases: Vec<Case> = written_by_hand().into_iter().chain(made_by_rule()).collect();
    assert!(cases.len() >= 60, "{}", cases.len());
    for Case { name, query, draft } in &cases {
        let mut play = asking(query);
        play.route("DIAGNOSIS");
        play.replies(Role::Diagnose, says(&draft.to_string()));
        play.evidence_is_there();
        play.replies(Role::Review, says(SUPPORTED));
        let Step::Done(Terminal::Released { released, .. }) = play.next() else {
            panic!("{name} was refused")
        };
        assert_eq!(released.outcome(), Outcome::Success, "{name}: {}", released.body_json());
        assert!(!play.run.was_repaired(), "{name}");
        let body: Value = serde_json::from_str(released.body_json()).unwrap();
        for field in ["conclusion", "actions", "recommendations", "limitations"] {
            assert_eq!(body[field], draft[field], "{name}: {field}");
        }
        let (published, drafted) =
            (body["analyses"].as_array().unwrap(), draft["analyses"].as_array().unwrap());
        assert_eq!(published.len(), drafted.len(), "{name}");
        for (published, drafted) in published.iter().zip(drafted) {
            for field in ["analysis_id", "kind", "text"] {
                assert_eq!(published[field], drafted[field], "{name}: {field}");
            }
            assert_ne!(published["sources"], json!([]), "{name}");
        }
        assert!(!released.body_json().contains("tool_call_id"), "{name}");
    }
    println!("{} valid drafts, none refused", cases.len());
}
