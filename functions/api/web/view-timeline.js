// Owns the timeline: the stages and tool calls of a run in the order they came, each with its state and time.

import { badge, el, fill } from "./dom.js";
import { duration } from "./format.js";
import { t, word } from "./i18n.js";

/** @typedef {import("./run.js").Run} Run */
/** @typedef {import("./run.js").Row} Row */

/** @param {Row} row */
function name(row) {
  if (row.index === null) return word("stage", row.stage);
  return `${row.index}. ${row.tool ? word("tool", row.tool) : t("tool.none")}`;
}

/** @param {Row} row */
function outcome(row) {
  if (row.state === "FAILED") return badge(t("state.FAILED"), "bad");
  if (row.state === "LOST") return badge(t("state.LOST"), "warn");
  if (row.evidence) return badge(word("evidence", row.evidence), row.evidence === "EVIDENCE_FOUND" ? "good" : "");
  return null;
}

/** What a screen reader hears when the row changes. @param {Row} row */
export function spoken(row) {
  if (row.index === null) return name(row);
  return `${name(row)}: ${row.evidence ? word("evidence", row.evidence) : t(`state.${row.state}`)}`;
}

/** Draws all rows anew: there are few, and each event may change an old one. @param {HTMLElement} list @param {Run} run */
export function drawTimeline(list, run) {
  const rows = run.rows.map((row) => {
    const state = row.end === null ? "STARTED" : row.state;
    const time = el("span", { class: "row-time" }, duration((row.end ?? run.elapsedMs) - row.start));
    const gap = row.skipped > 0 && el("span", { class: "muted" }, t("skipped", { n: row.skipped }));
    const mark = el("span", { class: "mark", role: "img", "aria-label": t(`state.${state}`) });
    const kind = row.index === null ? "" : "call";
    return el("li", { class: `row ${kind} ${state.toLowerCase()}` }, mark, el("span", { class: "row-name" }, name(row)), outcome(row), gap, time);
  });
  fill(list, rows);
}

/** Moves the clocks of what still runs, and touches nothing else. @param {HTMLElement} list @param {Run} run */
export function tickTimeline(list, run) {
  run.rows.forEach((row, i) => {
    const time = row.end === null && list.children[i]?.querySelector(".row-time");
    if (time) time.textContent = duration(run.elapsedMs - row.start);
  });
}
