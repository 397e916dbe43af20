// Owns the reading of one runbook, and its removal.

import { getDocument, removeDocument } from "./api.js";
import { badge, button, el, fill } from "./dom.js";
import { count, time } from "./format.js";
import { t } from "./i18n.js";
import { place } from "./view-evidence.js";
import { problemNote } from "./view-problem.js";

/** @typedef {import("./api.js").StoredDocument} StoredDocument */

export class DocumentView {
  node = el("article", { class: "card document" });
  /** @type {StoredDocument | null} */ #stored = null;
  /** @type {unknown} */ #fault = null;
  /** Whether the reader is asked if the runbook shall really go. */
  #asking = false;

  /** @param {string} id @param {{edit: (document: StoredDocument) => void, removed: (title: string) => void}} actions */
  constructor(id, actions) {
    this.id = id;
    this.actions = actions;
  }

  async load() {
    this.#fault = null;
    try {
      this.#stored = await getDocument(this.id);
    } catch (error) {
      this.#fault = error;
    }
    this.#redraw("h2");
  }

  draw() {
    const stored = this.#stored;
    const title = stored?.title ?? (this.#fault ? this.id : t("loading"));
    fill(this.node,
      el("p", {}, el("a", { href: "#documents" }, t("docs.back"))),
      el("h2", { tabindex: -1, class: "text" }, title),
      stored && this.#whole(stored),
      this.#fault !== null && problemNote(this.#fault, () => void this.load()));
  }

  /** @param {StoredDocument} stored */
  #whole(stored) {
    const source = stored.source && el("span", {}, t("doc.where"), " ", place(stored.source));
    return [
      el("p", { class: "meta" }, el("code", {}, stored.id), el("span", {}, t("version", { n: stored.version })),
        el("span", {}, t("doc.updated"), " ", time(stored.updated_at)), el("span", {}, t("docs.bytes", { n: count(stored.bytes) })), source),
      stored.tags.length > 0 && el("p", { class: "tags" }, stored.tags.map((tag) => badge(tag))),
      el("pre", { tabindex: 0, role: "region", "aria-label": t("docs.text") }, stored.text),
      this.#asking ? this.#confirmation(stored) : this.#actions(stored),
    ];
  }

  /** @param {StoredDocument} stored */
  #actions(stored) {
    return el("p", { class: "ways" }, button(t("docs.edit"), () => this.actions.edit(stored)), button(t("docs.remove"), () => this.#ask(true), { class: "quiet danger" }));
  }

  /** @param {StoredDocument} stored */
  #confirmation(stored) {
    return el("div", { class: "verdict bad", role: "group", "aria-label": t("docs.remove") },
      el("p", {}, t("docs.removeAsk", { title: stored.title })),
      el("p", { class: "ways" }, button(t("docs.removeYes"), () => void this.#remove(stored)), button(t("docs.removeNo"), () => this.#ask(false))));
  }

  /** @param {boolean} asking */
  #ask(asking) {
    this.#asking = asking;
    this.#redraw(asking ? ".verdict button:last-child" : ".danger");
  }

  /** @param {StoredDocument} stored */
  async #remove(stored) {
    try {
      await removeDocument(stored.id, stored.tag);
      this.actions.removed(stored.title);
    } catch (error) {
      this.#fault = error;
      this.#asking = false;
      this.#redraw("h2");
    }
  }

  /** @param {string} focus what gets the focus, if it was in here */
  #redraw(focus) {
    const had = this.node.contains(document.activeElement);
    this.draw();
    if (had) /** @type {HTMLElement | null} */ (this.node.querySelector(focus))?.focus();
  }
}
