// Owns the chart of log patterns over time. The evidence has no line-by-line times: what is drawn is what is known of each
// pattern, that is how many lines it has, when it was first and last seen, and the times of the lines that are shown.

import { el, svg } from "./dom.js";
import { count, time } from "./format.js";
import { t } from "./i18n.js";

/** @typedef {import("./api.js").Evidence} Evidence */

const WIDTH = 600;
const HEIGHT = 28;
/** A burst shorter than this part of the window is drawn as wide as this. */
const NARROWEST = 1 / 100;

/**
 * @param {{start: string, end: string}} window
 * @param {Evidence[]} patterns
 * @param {Evidence[]} events
 */
export function chart({ start, end }, patterns, events) {
  const [from, to] = [Date.parse(start), Date.parse(end)];
  if (!(to > from)) return null;
  const place = (/** @type {string | null} */ at) => Math.min(1, Math.max(0, (Date.parse(at ?? "") - from) / (to - from)));
  const blocks = patterns.map(({ values }) => {
    const left = place(values.first_seen);
    const width = Math.max(place(values.last_seen) - left, NARROWEST);
    return { left: Math.min(left, 1 - width), width, rate: values.count / width, values };
  });
  const most = Math.max(...blocks.map((block) => block.rate));
  if (!Number.isFinite(most)) return null;
  const lanes = blocks.map(({ left, width, rate, values }, i) => {
    const height = Math.max(2, (rate / most) * HEIGHT);
    const block = svg("rect", { class: "block", x: left * WIDTH, y: HEIGHT - height, width: width * WIDTH, height });
    const shown = events.filter((event) => matches(values.template, event.excerpt ?? ""));
    const marks = shown.map(({ timestamp }) => {
      const x = place(timestamp) * WIDTH;
      return svg("line", { class: "shown", x1: x, x2: x, y1: 0, y2: HEIGHT, "vector-effect": "non-scaling-stroke" });
    });
    const words = t("chart.lane", { n: i + 1, count: count(values.count), first: values.first_seen, last: values.last_seen });
    const lane = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img", "aria-label": words }, block, ...marks);
    return el("div", { class: "lane" }, el("span", { class: "muted", "aria-hidden": "true" }, i + 1), lane);
  });
  return el("figure", { class: "chart" },
    el("figcaption", { class: "muted" }, t("chart.caption")),
    lanes,
    el("p", { class: "axis muted" }, time(start), time(end)));
}

/** Whether a line is one of a pattern's: a template's `<*>` stands for anything. @param {string} template @param {string} line */
function matches(template, line) {
  const [first, ...between] = template.split("<*>");
  const last = between.pop();
  if (last === undefined) return line === first;
  if (!line.startsWith(first) || !line.endsWith(last)) return false;
  let at = first.length;
  for (const part of between) {
    const next = line.indexOf(part, at);
    if (next < 0) return false;
    at = next + part.length;
  }
  return at <= line.length - last.length;
}
