// Owns how verified evidence is shown: runbook excerpts, log patterns and events, rows of a query, or an exact "nothing found".

import { badge, el, fill, table } from "./dom.js";
import { count, time } from "./format.js";
import { t, word } from "./i18n.js";
import { ApiProblem, getEvidence } from "./api.js";
import { chart } from "./view-chart.js";
import { problemNote } from "./view-problem.js";

/** @typedef {import("./api.js").Evidence} Evidence */
/** @typedef {import("./dom.js").Child} Child */

/** The evidence of one run: read once, when first asked for. */
export class EvidenceReader {
  /** @type {Promise<import("./api.js").EvidenceDocument> | null} */ #document = null;

  /** @param {string} runId */
  constructor(runId) {
    this.runId = runId;
  }

  /** @param {string} analysisId @returns {Promise<Evidence[]>} */
  async of(analysisId) {
    this.#document ??= getEvidence(this.runId);
    try {
      const document = await this.#document;
      return document.analyses.find((a) => a.analysis_id === analysisId)?.evidence ?? [];
    } catch (error) {
      this.#document = null;
      throw error;
    }
  }
}

/** Reads and shows one analysis' evidence. @param {HTMLElement} into @param {EvidenceReader} reader @param {string} analysisId */
export async function showEvidence(into, reader, analysisId) {
  fill(into, el("p", { class: "muted" }, t("loading")));
  try {
    const evidence = await reader.of(analysisId);
    fill(into, evidence.length > 0 ? groups(evidence).map(group) : el("p", { class: "muted" }, t("evidenceNone")));
  } catch (error) {
    const expired = error instanceof ApiProblem && error.code === "EVIDENCE_EXPIRED";
    const again = () => showEvidence(into, reader, analysisId);
    fill(into, expired ? el("p", { class: "note warn" }, t("evidenceExpired")) : problemNote(error, again));
  }
}

/** Neighbours that answer the same request belong together. @param {Evidence[]} evidence @returns {Evidence[][]} */
function groups(evidence) {
  /** @type {Map<string, Evidence[]>} */
  const groups = new Map();
  for (const item of evidence) {
    const alone = item.source_type === "KNOWLEDGE" ? groups.size : "";
    const key = JSON.stringify([item.source_type, item.source, item.scope, alone]);
    groups.set(key, [...(groups.get(key) ?? []), item]);
  }
  return [...groups.values()];
}

/** @param {Evidence[]} items */
function group(items) {
  const [first] = items;
  /** @type {Record<string, (items: Evidence[]) => Child[]>} */
  const views = { KNOWLEDGE: knowledge, LOGS: logs, MYSQL: mysql };
  const head = el("p", { class: "source" }, badge(word("source", first.source_type), "info"), el("strong", {}, first.source));
  const view = views[first.source_type] ?? ((all) => [el("pre", {}, JSON.stringify(all, null, 2))]);
  return el("section", { class: "evidence" }, head, view(items));
}

/** Name and value pairs; those without a value are left out. @param {[string, Child][]} pairs */
function facts(pairs) {
  const present = pairs.filter(([, value]) => value !== null && value !== undefined && value !== "");
  return el("dl", {}, present.map(([name, value]) => el("div", {}, el("dt", {}, t(name)), el("dd", {}, value))));
}

/** @param {Evidence[]} items @returns {Child[]} */
function knowledge([item]) {
  const { document_id: id, version, section, source, query } = item.scope ?? {};
  if (!item.excerpt) return [facts([["doc.searched", query]]), el("p", {}, t("doc.none"))];
  const document = id && [documentLink(id, id), `, ${t("version", { n: version })}`];
  return [
    facts([["doc.section", section], ["doc.document", document && el("span", {}, document)], ["doc.where", place(source)], ["doc.updated", time(item.timestamp)]]),
    el("blockquote", { class: "text" }, item.excerpt),
  ];
}

/** A runbook as this page shows it, which may be a newer version. @param {string} id @param {string} label */
export function documentLink(id, label) {
  return el("a", { href: `#document=${encodeURIComponent(id)}` }, label);
}

/** Where a document is kept: a link only if it is a web address. @param {string | undefined} source */
export function place(source) {
  if (!source || !/^https?:\/\//i.test(source)) return source;
  return el("a", { href: source, rel: "noopener noreferrer", target: "_blank" }, source);
}

/** @param {Evidence[]} items @returns {Child[]} */
function logs(items) {
  const { service, query, level, start, end } = items[0].scope ?? {};
  const patterns = items.filter((i) => i.values?.template !== undefined);
  const events = items.filter((i) => i.values?.template === undefined && i.excerpt);
  const matched = items.find((i) => i.values?.matched !== undefined)?.values.matched;
  const span = start && el("span", {}, time(start), " – ", time(end));
  return [
    facts([["logs.service", service], ["logs.query", query && el("code", {}, query)], ["logs.level", level], ["logs.window", span],
      ["logs.matched", matched === undefined ? null : count(matched)]]),
    patterns.length + events.length === 0 && el("p", {}, t("logs.none")),
    patterns.length > 0 && [el("h5", {}, t("logs.patterns")), chart({ start, end }, patterns, events), el("ol", { class: "items" }, patterns.map(pattern))],
    events.length > 0 && [el("h5", {}, t("logs.events")), el("ul", { class: "plain" }, events.map(event))],
  ].flat();
}

/** @param {Evidence} item */
function pattern({ values, excerpt }) {
  const seen = el("span", { class: "muted" }, time(values.first_seen), " – ", time(values.last_seen));
  const head = el("p", {}, badge(t("logs.times", { n: count(values.count) })), " ", before(values), seen);
  const sample = excerpt && el("p", { class: "muted" }, t("logs.sample"), ": ", el("code", {}, excerpt));
  return el("li", {}, head, el("pre", {}, values.template), sample);
}

/** How it compares with the equally long window before. @param {any} values */
function before({ count_before: earlier }) {
  if (earlier === undefined || earlier === null) return null;
  return earlier === 0 ? [badge(t("logs.new"), "bad"), " "] : [el("span", { class: "muted" }, t("logs.before", { n: count(earlier) })), " "];
}

/** @param {Evidence} item */
function event({ values, excerpt, timestamp }) {
  const { level, service, trace_id: trace } = values ?? {};
  const tone = /^(error|fatal)$/i.test(level ?? "") ? "bad" : "";
  const head = el("p", { class: "muted" }, time(timestamp), " ", level && badge(level, tone), " ", service, trace && ` · ${t("logs.trace")} ${trace}`);
  return el("li", {}, head, el("pre", {}, excerpt));
}

/** @param {Evidence[]} items @returns {Child[]} */
function mysql(items) {
  return items.flatMap(({ scope, values, timestamp, source }) => {
    const { columns = [], rows = [], row_count: shown = 0, truncated = false } = values ?? {};
    const caption = t("sql.rows", { n: count(shown) });
    const params = (scope?.params ?? []).length > 0 && el("code", {}, JSON.stringify(scope.params));
    return [
      el("pre", { tabindex: 0, "aria-label": `SQL, ${source}` }, scope?.sql),
      facts([["sql.params", params || null], ["sql.at", time(timestamp)]]),
      rows.length > 0 ? table(caption, columns, rows.map((/** @type {any[]} */ row) => row.map(cell))) : el("p", {}, t("sql.none")),
      truncated && el("p", { class: "note warn" }, t("sql.cut")),
    ];
  });
}

/** @param {any} value */
function cell(value) {
  if (value === null) return el("em", { class: "muted" }, "NULL");
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}
