// Owns the trace: budget bars and the tables of model and tool calls. Metadata only, as the service keeps no more.

import { getTrace } from "./api.js";
import { button, el, fill, table } from "./dom.js";
import { count, dollars, duration } from "./format.js";
import { t, word } from "./i18n.js";
import { problemNote } from "./view-problem.js";

const BUDGETS = ["model_calls", "tool_calls", "input_tokens", "output_tokens", "tool_bytes"];

/** @param {HTMLElement} into @param {string} runId */
export async function showTrace(into, runId) {
  fill(into, el("p", { class: "muted" }, t("loading")));
  const again = () => void showTrace(into, runId);
  try {
    const trace = await getTrace(runId);
    fill(into, el("p", { class: "muted" }, t("traceNote")), bars(trace.budget), facts(trace), modelCalls(trace.steps ?? []),
      toolCalls(trace.tool_invocations ?? []), button(t("refresh"), again));
  } catch (error) {
    fill(into, problemNote(error, again));
  }
}

/** @param {any} budget */
function bars(budget) {
  const bar = (/** @type {string} */ key) => {
    const used = budget?.used?.[key] ?? 0;
    const limit = budget?.limits?.[key] ?? 0;
    const words = t("usedOf", { used: count(used), limit: count(limit) });
    const label = t(`budget.${key}`);
    const progress = el("progress", { max: limit || 1, value: Math.min(used, limit), "aria-label": `${label}: ${words}`, class: used > limit * 0.8 ? "high" : "" });
    return el("li", {}, el("span", {}, label), el("span", { class: "muted" }, words), progress);
  };
  return el("ul", { class: "budget", "aria-label": t("budget") }, BUDGETS.map(bar));
}

/** @param {any} trace */
function facts({ cost_usd: cost, repaired, ungrounded_literals: ungrounded }) {
  const fact = (/** @type {string} */ name, /** @type {string} */ value) => el("div", {}, el("dt", {}, t(name)), el("dd", {}, value));
  return el("dl", {},
    fact("trace.cost", dollars(cost)),
    fact("trace.repaired", t(repaired ? "yes" : "no")),
    Number.isFinite(ungrounded) && fact("trace.ungrounded", count(ungrounded)));
}

/** @param {any[]} steps */
function modelCalls(steps) {
  const columns = ["step", "time", "tokens", "cost", "attempt", "error", "model", "asked", "messages"];
  const rows = steps.map((s) => [
    `${s.sequence}. ${s.kind}`, duration(s.duration_ms), `${count(s.input_tokens)} / ${count(s.output_tokens)}`, dollars(s.cost_usd), s.attempt,
    s.error_code ?? "–", s.model, s.tool_names || "–", `${s.message_count} (${s.message_roles})`,
  ]);
  return listed(t("modelSteps"), columns, rows);
}

/** @param {any[]} calls */
function toolCalls(calls) {
  const columns = ["tool", "state", "evidence", "time", "bytes", "error"];
  const rows = calls.map((c) => [
    `${c.sequence}. ${c.tool ? word("tool", c.tool) : t("tool.none")}`, word("state", c.status), word("evidence", c.evidence_status),
    duration(c.duration_ms), `${count(c.request_bytes)} / ${count(c.result_bytes)}`, word("toolError", c.error_code),
  ]);
  return listed(t("toolSteps"), columns, rows);
}

/** @param {string} title @param {string[]} columns @param {any[][]} rows */
function listed(title, columns, rows) {
  if (rows.length === 0) return el("p", { class: "muted" }, `${title}: ${t("noSteps")}`);
  return table(title, columns.map((c) => t(`col.${c}`)), rows);
}
