// Owns the runbooks' part of the page: the list, page by page, and which runbook is read or written.

import { getDocuments } from "./api.js";
import { badge, button, el, fill } from "./dom.js";
import { count, time } from "./format.js";
import { t } from "./i18n.js";
import { DocumentView } from "./view-document.js";
import { EditorView } from "./view-editor.js";
import { documentLink } from "./view-evidence.js";
import { problemNote } from "./view-problem.js";
import { SearchView } from "./view-search.js";

/** @typedef {import("./api.js").DocumentSummary} DocumentSummary */

export class DocumentsView {
  /** @type {string | null} The runbook the address names; null is the list. */ #id = null;
  /** What is being written, by id ("" is a new one): leaving and coming back loses nothing. @type {Map<string, EditorView>} */
  #editors = new Map();
  /** @type {DocumentView | null} */ #document = null;
  #search = new SearchView();
  /** @type {DocumentSummary[]} */ #list = [];
  /** @type {string | null} */ #cursor = null;
  /** @type {unknown} */ #fault = null;
  #reading = 0;
  #loaded = false;

  /** @param {HTMLElement} node @param {(words: string) => void} say */
  constructor(node, say) {
    this.node = node;
    this.say = say;
    addEventListener("beforeunload", (event) => {
      if ([...this.#editors.values()].some((editor) => editor.changed)) event.preventDefault();
    });
  }

  /** Shows one runbook, or the list. @param {string | null} id */
  open(id) {
    this.#id = id;
    this.#document = id === null ? null : new DocumentView(id, { edit: (document) => this.#edit(document), removed: (title) => this.#removed(title) });
    this.draw();
    if (id === null) void this.#read(null);
    else void this.#document?.load();
    this.focus();
  }

  focus() {
    const title = this.node.querySelector("h2");
    if (title instanceof HTMLElement) title.focus();
  }

  draw() {
    const editor = this.#editors.get(this.#id ?? "");
    if (editor) {
      editor.draw();
      return fill(this.node, editor.node);
    }
    if (this.#document) {
      this.#document.draw();
      return fill(this.node, this.#document.node);
    }
    this.#search.draw();
    fill(this.node, el("div", { class: "library" }, el("section", { class: "card" }, this.#head(), this.#entries()), this.#search.node));
  }

  #head() {
    return el("div", { class: "ask-row" }, el("h2", { tabindex: -1 }, t("docs.title")), button(t("docs.add"), () => this.#edit(null)));
  }

  #entries() {
    const entry = (/** @type {DocumentSummary} */ d) => el("li", { class: "entry" },
      el("p", { class: "text" }, el("strong", {}, documentLink(d.id, d.title))),
      el("p", { class: "meta" }, el("code", {}, d.id), el("span", {}, t("version", { n: d.version })), time(d.updated_at), el("span", {}, t("docs.bytes", { n: count(d.bytes) }))),
      d.tags.length > 0 && el("p", { class: "tags" }, d.tags.map((tag) => badge(tag))));
    const none = !this.#fault && this.#list.length === 0 && el("p", { class: "muted" }, t(this.#loaded ? "docs.none" : "loading"));
    return [
      el("ul", { class: "plain entries", hidden: this.#list.length === 0 }, this.#list.map(entry)), none,
      this.#cursor && button(t("docs.more"), () => void this.#read(this.#cursor)),
      this.#fault !== null && problemNote(this.#fault, () => void this.#read(null)),
    ];
  }

  /** @param {string | null} cursor */
  async #read(cursor) {
    const reading = (this.#reading += 1);
    const shown = cursor ? this.#list.length : 0;
    try {
      const page = await getDocuments(cursor);
      if (reading !== this.#reading) return;
      this.#list = cursor ? [...this.#list, ...page.documents] : page.documents;
      this.#cursor = page.next_cursor;
      this.#fault = null;
      this.#loaded = true;
    } catch (error) {
      if (reading !== this.#reading) return;
      this.#fault = error;
    }
    if (this.#id !== null || this.#editors.has("")) return;
    this.#redraw(shown);
  }

  /** Draws the list anew, the focus where the reader was: in the search, at the first new entry, or at the top. @param {number} shown */
  #redraw(shown) {
    const { activeElement } = document;
    const had = this.node.contains(activeElement);
    this.draw();
    if (!had || !(activeElement instanceof HTMLElement)) return;
    const next = shown > 0 ? this.node.querySelectorAll(".entry a")[shown] : null;
    if (activeElement.isConnected) activeElement.focus();
    else if (next instanceof HTMLElement) next.focus();
    else this.focus();
  }

  /** @param {import("./api.js").StoredDocument | null} stored null: a new one */
  #edit(stored) {
    const key = stored?.id ?? "";
    this.#editors.set(key, new EditorView(stored, {
      cancel: () => this.#close(key),
      saved: (summary) => {
        this.say(t("docs.saved", { title: summary.title, n: summary.version }));
        this.#close(key);
        if (location.hash !== `#document=${summary.id}`) location.hash = `document=${summary.id}`;
      },
    }));
    this.draw();
    this.node.querySelector("input")?.focus();
  }

  /** @param {string} key */
  #close(key) {
    this.#editors.delete(key);
    if (key === (this.#id ?? "")) this.open(this.#id);
  }

  /** @param {string} title */
  #removed(title) {
    this.say(t("docs.removed", { title }));
    location.hash = "documents";
  }
}
