// Owns the released bodies: report, knowledge answer, system reply and safe fallback; and the failure that stands in for one.

import { badge, disclosure, el } from "./dom.js";
import { time } from "./format.js";
import { t, word } from "./i18n.js";
import { documentLink, EvidenceReader, place, showEvidence } from "./view-evidence.js";

/** @typedef {import("./run.js").Run} Run */
/** @typedef {import("./dom.js").Child} Child */

/** What a terminal run has to say. @param {Run} run @returns {Child[]} */
export function outcomeOf(run) {
  if (run.failure || !run.body) return failure(run);
  const evidence = new EvidenceReader(run.runId ?? "");
  switch (run.body.kind) {
    case "DIAGNOSIS_REPORT": return report(run.body, evidence);
    case "KNOWLEDGE_ANSWER": return answer(run.body, evidence);
    case "SYSTEM_REPLY": return [heading(t("reply")), text(run.body.text), el("p", { class: "muted" }, t("replyNote"))];
    case "SAFE_FALLBACK": return fallback(run.body);
    default: return [el("p", {}, t("unknownBody")), el("pre", {}, JSON.stringify(run.body, null, 2))];
  }
}

/** @param {string} title @param {...Child} more */
function heading(title, ...more) {
  return el("h3", { tabindex: -1 }, title, ...more);
}

/** A model's or a person's words, line breaks kept. @param {string} words */
function text(words) {
  return el("p", { class: "text" }, words);
}

/** @param {any} body @param {EvidenceReader} evidence @returns {Child[]} */
function report(body, evidence) {
  const { conclusion, analyses = [], actions = [], recommendations = [], limitations = {} } = body;
  const targets = new Map(analyses.map((/** @type {any} */ a) => [a.analysis_id, analysis(a, evidence)]));
  const confirm = (/** @type {any} */ a) => a.requires_human_confirmation && badge(t("confirm"), "warn");
  const item = (/** @type {any} */ i) => el("li", {}, confirm(i), text(i.text), basis(i, targets));
  return [
    conclusion
      ? el("div", { class: "verdict good" }, heading(t("conclusion")), text(conclusion.text), basis(conclusion, targets))
      : el("div", { class: "verdict warn" }, heading(t("noConclusion")), el("p", {}, t("noConclusionWhy"))),
    part("analyses", [...targets.values()], "ol"),
    part("actions", actions.map(item), "ol"),
    part("recommendations", recommendations.map(item), "ul"),
    limits(limitations),
  ];
}

/** A titled list, or nothing if it has no items. @param {string} title @param {Child[]} items @param {"ol" | "ul"} kind */
function part(title, items, kind) {
  if (items.length === 0) return null;
  return el("section", { class: "part" }, el("h3", {}, t(title)), el(kind, { class: `items ${title}` }, items));
}

/** @param {any} limitations */
function limits({ missing_info: missing = [], caveats = [] }) {
  if (missing.length + caveats.length === 0) return null;
  const list = (/** @type {string} */ title, /** @type {string[]} */ items) =>
    items.length > 0 && [el("h4", {}, t(title)), el("ul", {}, items.map((i) => el("li", { class: "text" }, i)))];
  return el("section", { class: "part" }, el("h3", {}, t("limitations")), [list("missingInfo", missing), list("caveats", caveats)].flat());
}

/** @param {any} a @param {EvidenceReader} evidence */
function analysis(a, evidence) {
  const negative = a.kind === "NEGATIVE_OBSERVATION";
  const head = el("h4", {}, el("span", { class: "id" }, a.analysis_id), negative && badge(t("negative"), "info"));
  const names = new Set((a.sources ?? []).map((/** @type {any} */ s) => `${word("source", s.source_type)}: ${s.source}`));
  const sources = names.size > 0 && el("p", { class: "muted" }, [...names].join(" · "));
  return el("li", { class: "analysis", tabindex: -1 }, head, text(a.text), sources, evidenceOf(a.analysis_id, evidence));
}

/** @param {string} id @param {EvidenceReader} evidence @param {string} [label] */
function evidenceOf(id, evidence, label = t("evidenceOf", { id })) {
  return disclosure(label, (body) => void showEvidence(body, evidence, id), { class: "opens-evidence" });
}

/** Buttons that lead to the analyses something rests on. @param {any} claim @param {Map<string, HTMLElement>} targets */
function basis(claim, targets) {
  const ids = (claim.based_on_analysis_ids ?? []).filter((/** @type {string} */ id) => targets.has(id));
  if (ids.length === 0) return null;
  const button = (/** @type {string} */ id) => jump(id, () => targets.get(id));
  return el("p", { class: "basis" }, t("basedOn"), " ", ids.map(button));
}

/** @param {string} label @param {() => HTMLElement | undefined} target @param {string} [spoken] */
function jump(label, target, spoken) {
  return el("button", { type: "button", class: "ref", "aria-label": spoken, onclick: () => target()?.focus() }, label);
}

/** @param {any} body @param {EvidenceReader} evidence @returns {Child[]} */
function answer({ statements = [], sources = [] }, evidence) {
  const targets = new Map(sources.map((/** @type {any} */ s) => [s.n, citedSource(s)]));
  const cite = (/** @type {number} */ n) => jump(`[${n}]`, () => targets.get(n), t("statementSource", { n }));
  const statement = (/** @type {any} */ s, /** @type {number} */ i) =>
    el("li", {}, el("p", { class: "text" }, s.text, " ", (s.citations ?? []).map(cite)), evidenceOf(`s${i + 1}`, evidence, t("evidence")));
  return [
    el("div", { class: "verdict good" }, heading(t("answer")), el("ul", { class: "items statements" }, statements.map(statement))),
    part("sources", [...targets.values()], "ul"),
  ];
}

/** @param {any} s */
function citedSource(s) {
  const where = el("p", { class: "muted" }, s.section, " · ", place(s.source));
  return el("li", { tabindex: -1 }, el("p", {}, `[${s.n}] `, el("strong", {}, documentLink(s.document_id, s.title)), ` · ${t("version", { n: s.version })}`), where);
}

/** @param {any} body @returns {Child[]} */
function fallback({ reason_code: reason, message, verified_sources: sources = [], attempted = [] }) {
  const source = (/** @type {any} */ s) =>
    el("li", {}, badge(word("source", s.source_type), "info"), " ", s.source, " ", el("span", { class: "muted" }, time(s.timestamp)));
  return [
    el("div", { class: "verdict warn" }, heading(t("fallbackTitle")), text(message), el("p", {}, word("reason", reason)), el("p", { class: "muted" }, t("fallbackNote"))),
    part("verifiedSources", sources.map(source), "ul"),
    part("attempted", attempted.length > 0 ? attempted.map(attempt) : [el("li", {}, t("nothingTried"))], "ol"),
  ];
}

/** @param {any} a */
function attempt({ tool, evidence_status: status, error_code: code }) {
  const found = status && badge(word("evidence", status), status === "EVIDENCE_FOUND" ? "good" : "");
  return el("li", {}, tool ? word("tool", tool) : t("tool.none"), " ", found, code && [badge(t("state.FAILED"), "bad"), " ", word("toolError", code)]);
}

/** @param {Run} run @returns {Child[]} */
function failure(run) {
  const code = run.failure?.code ?? "INTERNAL";
  const cancelled = code === "RUN_CANCELLED";
  const title = heading(t(cancelled ? "cancelledTitle" : "failureTitle"), " ", el("code", {}, code));
  const retry = cancelled ? null : el("p", {}, t(run.failure?.retryable ? "retryYes" : "retryNo"));
  const what = el("p", {}, t("nothingPublished"), " ", word("failure", code));
  return [el("div", { class: `verdict ${cancelled ? "" : "bad"}` }, title, what, retry)];
}
