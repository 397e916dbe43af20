//! A hundred thousand broken drafts and stores, none of which may pass.

use super::*;
use crate::specimens::*;
use crate::tool::{ToolErrorCode, ToolName};

/// A small deterministic generator (xorshift): the same cases on every machine, and no shrinking to pay for.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % n as u64) as usize
    }

    fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }
}

#[derive(Debug, Clone)]
struct Specimen {
    draft: DiagnosisDraft,
    records: Vec<CanonicalRecord>,
}

const TEXTS: [&str; 6] = [
    "payment-gateway logged 412 pool errors from 14:05.",
    "连接池在 14:05 耗尽，412 次调用超时。",
    "orders 表中有 412 行 TIMEOUT。",
    "Calls time out after 5s when the pool is used up.",
    "No trace of a deployment was found.",
    "没有发现退款失败。",
];

/// A valid draft: 1 to 6 analyses of both kinds over all tools, calls shared, both languages.
fn a_valid_specimen(dice: &mut Dice) -> Specimen {
    let (hits, misses) = (["logs", "db", "kb"], ["no-logs", "no-db", "no-kb"]);
    let mut draft = a_draft();
    // More short drafts than long ones.
    let ids = &["a1", "a2", "a3", "a4", "a5", "a6"][..1 + dice.below(6).min(dice.below(6))];
    for id in ids {
        let (kind, pool) = match dice.below(3) {
            0 => (AnalysisKind::NegativeObservation, misses),
            _ => (AnalysisKind::Normal, hits),
        };
        let first = dice.below(3);
        let calls: Vec<&str> = (0..1 + dice.below(2)).map(|n| pool[(first + n) % 3]).collect();
        draft = draft.analysis(id, kind, dice.pick(&TEXTS), &calls);
    }
    if dice.below(4) > 0 {
        draft = draft.concluding(dice.pick(&TEXTS), &[dice.pick(ids), ids[0]]);
    }
    for _ in 0..dice.below(3) {
        draft = draft.advising(dice.pick(&TEXTS), dice.below(2) == 0, &[dice.pick(ids)]);
    }
    if dice.below(2) == 0 {
        draft = draft.recommending(dice.pick(&TEXTS), &[dice.pick(ids)]).missing("链路追踪");
    }
    let draft = draft.but("Only half an hour was read.").build();
    let cited = draft.cited_calls();
    let records = full_store().into_iter().filter(|r| cited.contains(&r.tool_call_id)).collect();
    Specimen { draft, records }
}

/// Breaks a specimen; `false` if this one has nothing to break in that way.
type Mutation = fn(&mut Specimen, &mut Dice) -> bool;

/// Each leaves a fault behind whatever was done before, except the first three: those could undo others, so that they are only
/// ever applied first.
const MUTATIONS: [(&str, Mutation); 28] = [
    ("other kind", |s, d| {
        let kind = &mut analysis(s, d).kind;
        *kind = match kind {
            AnalysisKind::Normal => AnalysisKind::NegativeObservation,
            AnalysisKind::NegativeObservation => AnalysisKind::Normal,
        };
        true
    }),
    ("the opposite result, consistently", |s, d| {
        let record = record(s, d);
        let found = record.evidence_status == Some(EvidenceStatus::NoEvidence);
        let (tool, id, run_id) = (record.tool, record.tool_call_id.as_str(), record.run_id);
        *record = CanonicalRecord { run_id, ..ready(&result_of(tool, id, EvidenceStatus::found(found))) };
        true
    }),
    ("swapped results", |s, d| {
        if s.records.len() < 2 {
            return false;
        }
        let at = d.below(s.records.len() - 1);
        let (left, right) = s.records.split_at_mut(at + 1);
        std::mem::swap(&mut left[at].agent_result, &mut right[0].agent_result);
        true
    }),
    ("unknown call", |s, d| cite(s, d, "call_404")),
    ("near miss of an id", |s, d| {
        let id = analysis(s, d).tool_call_ids.first().cloned();
        id.is_some_and(|id| cite(s, d, &id.to_uppercase()))
    }),
    ("no id at all", |s, d| cite(s, d, "run:1 call:2")),
    ("a call cited twice", |s, d| {
        let calls = &mut analysis(s, d).tool_call_ids;
        calls.extend(calls.first().cloned());
        !calls.is_empty()
    }),
    ("no citation", |s, d| {
        analysis(s, d).tool_call_ids.clear();
        true
    }),
    ("foreign run", |s, d| with(record(s, d), |r| r.run_id = another_run())),
    ("started", |s, d| with(record(s, d), |r| r.status = InvocationStatus::Started)),
    ("projecting", |s, d| with(record(s, d), |r| r.status = InvocationStatus::Projecting)),
    ("failed", |s, d| with(record(s, d), |r| r.status = InvocationStatus::Failed)),
    ("an error on record", |s, d| with(record(s, d), |r| r.error_code = Some(ToolErrorCode::QueryFailed))),
    ("no status on record", |s, d| with(record(s, d), |r| r.evidence_status = None)),
    ("no result", |s, d| with(record(s, d), |r| r.agent_result = None)),
    ("result of another id", |s, d| edited(s, d, |r| r["tool_call_id"] = "other".into())),
    ("extra field", |s, d| edited(s, d, |r| r["note"] = "trust me".into())),
    ("missing field", |s, d| edited(s, d, |r| drop(r.as_object_mut().unwrap().remove("truncated")))),
    ("empty result", |s, d| edited(s, d, |r| *r = serde_json::json!({}))),
    ("another tool's record", |s, d| {
        with(record(s, d), |r| {
            r.tool = if r.tool == ToolName::QueryLogs { ToolName::QueryMysql } else { ToolName::QueryLogs };
            // A tool can't be changed back to the right one: the result keeps the shape it had.
            r.agent_result = Some(raw(&serde_json::json!({ "shape": "of no tool" })));
        })
    }),
    ("removed record", |s, d| {
        // The cited call goes, not just any: an earlier mutation may have left records uncited.
        let id = analysis(s, d).tool_call_ids.first().cloned();
        s.records.retain(|r| Some(r.tool_call_id.as_str()) != id.as_deref());
        true
    }),
    ("stored twice", |s, d| {
        let copy = record(s, d).clone();
        s.records.push(copy);
        true
    }),
    ("repeated analysis id", |s, _| {
        let Some(copy) = s.draft.analyses.first().cloned() else { return false };
        s.draft.analyses.push(copy);
        true
    }),
    ("prose as an analysis id", |s, d| {
        analysis(s, d).analysis_id = "root cause".into();
        true
    }),
    ("blank text", |s, d| {
        analysis(s, d).text = d.pick(&["", " ", "\u{200B}", "\u{3000}\u{FEFF}", "\u{2800}"]).to_owned();
        true
    }),
    ("blank caveat", |s, _| {
        s.draft.limitations.caveats.push("\u{2060}".into());
        true
    }),
    ("open reference", |s, _| match (&mut s.draft.conclusion, s.draft.actions.first_mut()) {
        (Some(conclusion), _) => with(&mut conclusion.based_on_analysis_ids, |ids| ids.push("ghost".into())),
        (None, Some(action)) => with(&mut action.based_on_analysis_ids, |ids| ids.push("ghost".into())),
        (None, None) => false,
    }),
    ("conclusion on nothing", |s, _| match &mut s.draft.conclusion {
        Some(conclusion) => with(&mut conclusion.based_on_analysis_ids, Vec::clear),
        None => false,
    }),
];

fn with<T, R>(it: &mut T, change: impl FnOnce(&mut T) -> R) -> bool {
    change(it);
    true
}

fn analysis<'s>(specimen: &'s mut Specimen, dice: &mut Dice) -> &'s mut Analysis {
    let at = dice.below(specimen.draft.analyses.len());
    &mut specimen.draft.analyses[at]
}

fn record<'s>(specimen: &'s mut Specimen, dice: &mut Dice) -> &'s mut CanonicalRecord {
    let at = dice.below(specimen.records.len());
    &mut specimen.records[at]
}

fn cite(specimen: &mut Specimen, dice: &mut Dice, id: &str) -> bool {
    with(&mut analysis(specimen, dice).tool_call_ids, |calls| calls.push(id.to_owned()))
}

fn edited(specimen: &mut Specimen, dice: &mut Dice, edit: impl FnOnce(&mut serde_json::Value)) -> bool {
    let record = record(specimen, dice);
    let readable = record.agent_result.as_ref().is_some_and(|text| text.get().len() > 100);
    if readable {
        edit_result(record, edit);
    }
    readable
}

/// Applies 1 to 3 different mutations; returns their names.
fn break_it(specimen: &mut Specimen, dice: &mut Dice) -> Vec<&'static str> {
    let wanted = 1 + dice.below(3);
    let mut applied: Vec<&'static str> = Vec::new();
    // Without a record left there is nothing to break any more.
    while applied.len() < wanted && !specimen.records.is_empty() {
        let at = dice.below(MUTATIONS.len());
        let (name, mutate) = MUTATIONS[at];
        let free = !applied.contains(&name) && (at >= 3 || applied.is_empty());
        if free && mutate(specimen, dice) {
            applied.push(name);
        }
    }
    applied
}

const SPECIMENS: usize = 250;
const PER_SPECIMEN: usize = 204;

#[test]
fn no_mutated_draft_or_store_passes() {
    let work = |seed: u64| {
        let mut dice = Dice(seed);
        let (mut mutations, mut cases) = (0, 0);
        for _ in 0..SPECIMENS / 2 {
            let valid = a_valid_specimen(&mut dice);
            assert!(check(this_run(), &valid.draft, &valid.records).is_ok(), "{:?}", valid.draft);
            for _ in 0..PER_SPECIMEN {
                let mut broken = valid.clone();
                let applied = break_it(&mut broken, &mut dice);
                let verdict = check(this_run(), &broken.draft, &broken.records);
                let Err(faults) = verdict else { panic!("passed after {applied:?}: {:?}", broken.draft) };
                assert!(faults.iter().all(|f| is_path(&f.target)), "{applied:?} leaked: {faults:?}");
                mutations += applied.len();
                cases += 1;
            }
        }
        (mutations, cases)
    };
    // One thread a core of the smallest build machine.
    let (a, b) = std::thread::scope(|scope| {
        let other = scope.spawn(|| work(0x9E37_79B9_7F4A_7C15));
        (work(0x2545_F491_4F6C_DD1D), other.join().unwrap())
    });
    let (mutations, cases) = (a.0 + b.0, a.1 + b.1);
    println!("{mutations} mutations in {cases} cases of {} kinds: none passed", MUTATIONS.len());
    assert!(mutations >= 100_000, "{mutations}");
}

/// A place in a draft and nothing else.
fn is_path(target: &str) -> bool {
    target.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "_.[]".contains(c))
}

#[test]
fn every_mutation_breaks_by_itself() {
    let mut dice = Dice(77);
    for (name, mutate) in MUTATIONS {
        let applied = (0..200).filter(|_| {
            let mut specimen = a_valid_specimen(&mut dice);
            let applied = mutate(&mut specimen, &mut dice);
            assert!(
                !applied || check(this_run(), &specimen.draft, &specimen.records).is_err(),
                "{name}: {specimen:?}"
            );
            applied
        });
        assert!(applied.count() > 50, "{name} hardly ever applies");
    }
}
