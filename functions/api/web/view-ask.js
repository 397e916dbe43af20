// Owns the question box: what may be sent, keyboard, examples. What happens to a question is the caller's concern.

import { button, byId, el, fill } from "./dom.js";
import { count } from "./format.js";
import { examples, t } from "./i18n.js";

/** The contract's limit, in bytes of UTF-8 after trimming. */
const MAX_BYTES = 8192;

export class AskView {
  #box = /** @type {HTMLTextAreaElement} */ (byId("query"));
  #fault = byId("ask-fault");

  /** @param {(query: string) => string | null} submit sends a question, or says why it can't be sent now */
  constructor(submit) {
    this.submit = submit;
    byId("ask").addEventListener("submit", (event) => {
      event.preventDefault();
      this.#send();
    });
    this.#box.addEventListener("keydown", (event) => {
      // Enter that chooses an input method's candidate (keyCode 229 in Safari) is not the reader's Enter.
      if (event.key !== "Enter" || event.shiftKey || event.isComposing || event.keyCode === 229) return;
      event.preventDefault();
      this.#send();
    });
    this.#box.addEventListener("input", () => this.#complain(""));
  }

  #send() {
    const raw = this.#box.value.trim();
    // Half a surrogate pair has no UTF-8 form; it would be refused for a reason no reader could guess.
    const query = raw.toWellFormed?.() ?? raw;
    const bytes = new TextEncoder().encode(query).length;
    if (bytes === 0) return this.#complain(t("faultEmpty"));
    if (bytes > MAX_BYTES) return this.#complain(t("faultLong", { bytes: count(bytes), max: count(MAX_BYTES) }));
    const fault = this.submit(query);
    this.#complain(fault ?? "");
    if (!fault) this.#box.value = "";
  }

  /** @param {string} fault */
  #complain(fault) {
    this.#fault.textContent = fault;
    if (fault) this.#box.setAttribute("aria-invalid", "true");
    else this.#box.removeAttribute("aria-invalid");
  }

  /** Puts a question into the box for the reader to change. @param {string} query */
  edit(query) {
    this.#box.value = query;
    this.#complain("");
    this.#box.focus();
  }

  drawExamples() {
    const example = (/** @type {string} */ query) => button(query, () => this.edit(query));
    fill(byId("examples"), el("span", { class: "muted" }, t("examplesLabel")), examples().map(example));
    this.#complain("");
  }
}
