// Owns how times, durations and sizes are written. Times stay UTC, as the evidence has them; the local time is a tooltip.

import { el } from "./dom.js";
import { language, t } from "./i18n.js";

/** @param {number} ms */
export function duration(ms) {
  if (!Number.isFinite(ms)) return "–";
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000);
  return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}

/** @param {number} n */
export function count(n) {
  return Number(n).toLocaleString(language());
}

/** Money as the service reckons it from list prices. @param {number | null | undefined} usd null: the model's price is unknown */
export function dollars(usd) {
  if (usd === null || usd === undefined) return t("priceUnknown");
  return usd.toLocaleString(language(), { style: "currency", currency: "USD", maximumFractionDigits: 6 });
}

/** @param {string | null | undefined} iso RFC 3339 */
export function time(iso) {
  if (!iso) return null;
  const at = new Date(iso);
  if (Number.isNaN(at.getTime())) return el("span", {}, iso);
  const utc = at.toISOString().replace("T", " ").replace(/(\.\d+)?Z$/, " UTC");
  return el("time", { datetime: iso, title: t("localTime", { time: at.toLocaleString(language()) }) }, utc);
}

/** @param {string | null} from @param {string | null} to */
export function between(from, to) {
  return from && to ? Date.parse(to) - Date.parse(from) : NaN;
}
