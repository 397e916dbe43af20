// Owns how refusals and broken reads are explained: plain words first, the service's own detail after.

import { ApiProblem, asProblem } from "./api.js";
import { button, el, freshId } from "./dom.js";
import { known, t } from "./i18n.js";
import { stored } from "./storage.js";

/**
 * @param {unknown} error
 * @param {() => void} [again] what "try again" does; left out, there is no such button
 */
export function problemNote(error, again) {
  const problem = asProblem(error);
  const retry = again && button(t("tryAgain"), again);
  const action = problem.code === "UNAUTHENTICATED" && again ? keyForm(again) : retry;
  return el("div", { class: "problem" }, explain(problem), action);
}

/** @param {ApiProblem} problem */
export function explain(problem) {
  const refusedKey = problem.code === "UNAUTHENTICATED" && stored.accessKey !== null;
  const key = refusedKey ? "problem.KEY_REFUSED" : `problem.${problem.code}`;
  const words = t(known(key) ? key : "problem.HTTP", { status: problem.status });
  return [
    el("p", {}, words),
    problem.retryAfter !== null && el("p", {}, t("retryAfter", { n: problem.retryAfter })),
    problem.detail && el("p", { class: "muted text" }, t("serverSays", { detail: problem.detail })),
  ];
}

/** Asks for the access key and goes on with it. @param {() => void} again */
export function keyForm(again) {
  const id = freshId("key");
  const input = el("input", { id, type: "password", autocomplete: "off", required: true });
  const use = (/** @type {Event} */ event) => {
    event.preventDefault();
    // Keys are visible ASCII; what else a copy brought along would make the header invalid.
    const key = input.value.replace(/[^!-~]/g, "");
    if (key) stored.accessKey = key;
  };
  const form = el("form", { class: "key", onsubmit: use }, el("label", { for: id }, t("accessKey")), input, el("button", { type: "submit" }, t("useKey")));
  // Whichever form of the page is given the key, all that waits for it goes on.
  addEventListener("accesskey", () => form.isConnected && again(), { once: true });
  return form;
}
