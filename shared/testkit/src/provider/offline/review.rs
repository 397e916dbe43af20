//! The semantic verdict by rule: a report is supported if everything that it names is in its evidence.

use domain::question::Language;
use serde_json::{Value, json};

/// The verdict on `{query, draft, snapshot, ungrounded_literals}`.
pub(super) fn verdict(input: &Value) -> Value {
    let language = Language::of(input["query"].as_str().unwrap_or_default());
    let analyses = input["snapshot"]["analyses"].as_array().map(Vec::as_slice).unwrap_or_default();
    let any_evidence =
        analyses.iter().any(|a| a["verified_evidence"].as_array().is_some_and(|list| !list.is_empty()));
    let concluded = !input["draft"]["conclusion"].is_null();
    let mut shown = String::new();
    for analysis in analyses {
        collect(&analysis["verified_evidence"], &mut shown);
    }
    let shown = normalised(&shown);
    let named =
        input["ungrounded_literals"].as_object().into_iter().flat_map(|by_analysis| by_analysis.values());
    let literals = named.filter_map(Value::as_array).flatten().filter_map(Value::as_str);
    let all_shown = literals
        .map(|literal| normalised(literal.trim_end_matches('…')))
        .all(|literal| shown.contains(&literal));
    let supported = all_shown && (any_evidence || !concluded);
    let (verdict, zh, en) = match (supported, all_shown) {
        (true, _) => (
            "SUPPORTED",
            "报告中的数字、时间和名称都能在证据中找到。",
            "All numbers, times and names of the report are in its evidence.",
        ),
        (false, false) => (
            "UNSUPPORTED",
            "报告中有证据里找不到的内容。",
            "The report names something that its evidence does not show.",
        ),
        (false, true) => ("UNSUPPORTED", "结论没有任何证据。", "The conclusion rests on no evidence."),
    };
    json!({ "verdict": verdict, "reason": if language == Language::Chinese { zh } else { en } })
}

/// All scalars of `value`, one after the other.
fn collect(value: &Value, into: &mut String) {
    match value {
        Value::Object(fields) => fields.values().for_each(|field| collect(field, into)),
        Value::Array(items) => items.iter().for_each(|item| collect(item, into)),
        Value::String(text) => {
            into.push(' ');
            into.push_str(text);
        }
        Value::Null => {}
        scalar => {
            into.push(' ');
            into.push_str(&scalar.to_string());
        }
    }
}

fn normalised(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(ungrounded: Value, evidence: Value, conclusion: Value) -> String {
        let snapshot = json!({ "analyses": [{ "verified_evidence": evidence }] });
        let input = json!({ "query": "why?", "draft": { "conclusion": conclusion }, "snapshot": snapshot, "ungrounded_literals": ungrounded });
        verdict(&input)["verdict"].as_str().unwrap().to_owned()
    }

    #[test]
    fn what_the_evidence_does_not_show_is_unsupported() {
        let evidence = json!([{ "excerpt": "took\n 6029 ms", "values": { "count": 39 } }]);
        assert_eq!(judged(json!({}), evidence.clone(), json!("x")), "SUPPORTED");
        assert_eq!(judged(json!({ "a1": ["took 6029 ms …"] }), evidence.clone(), json!("x")), "SUPPORTED");
        assert_eq!(judged(json!({ "a1": ["40 times"] }), evidence, json!("x")), "UNSUPPORTED");
        assert_eq!(judged(json!({}), json!([]), json!("x")), "UNSUPPORTED");
        assert_eq!(judged(json!({}), json!([]), Value::Null), "SUPPORTED");
    }
}
