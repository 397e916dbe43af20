// Owns the reader's language: which one, looking texts up, and the texts of index.html. The texts are in messages.js.

import { messages } from "./messages.js";
import { stored } from "./storage.js";

/** @typedef {"zh" | "en"} Language */

/** @returns {Language} */
function initial() {
  const chosen = stored.language;
  if (chosen === "zh" || chosen === "en") return chosen;
  return /^zh\b/i.test(navigator.language ?? "") ? "zh" : "en";
}

let current = initial();

/** The BCP 47 tag of the chosen language. */
export function language() {
  return current === "zh" ? "zh-CN" : "en";
}

export function toggleLanguage() {
  current = current === "zh" ? "en" : "zh";
  stored.language = current;
}

/**
 * The text for `key`, `{name}` replaced by `values.name`.
 * @param {string} key
 * @param {Record<string, string | number>} [values]
 */
export function t(key, values = {}) {
  const text = messages[current][key] ?? messages.en[key] ?? key;
  return text.replace(/\{(\w+)\}/g, (whole, name) => String(values[name] ?? whole));
}

/** The text for a word of the contract, or the word itself if this page is older than it. @param {string} group @param {string | null | undefined} code */
export function word(group, code) {
  if (!code) return "–";
  const key = `${group}.${code}`;
  return key in messages.en ? t(key) : code;
}

/** Whether there is a text for the word. @param {string} key */
export function known(key) {
  return key in messages.en;
}

/** Puts the static texts of the page into the current language. */
export function applyLanguage() {
  document.documentElement.lang = language();
  for (const node of document.querySelectorAll("[data-label]")) node.setAttribute("aria-label", t(node.getAttribute("data-label") ?? ""));
  for (const node of document.querySelectorAll("[data-t]")) node.textContent = t(node.getAttribute("data-t") ?? "");
}

/** The example questions of the current language. @returns {string[]} */
export function examples() {
  return [1, 2, 3].map((n) => t(`example.${n}`));
}
