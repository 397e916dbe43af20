// Owns the search preview: what the assistant would find in the runbooks for a question.

import { search } from "./api.js";
import { el, fill, freshId } from "./dom.js";
import { t } from "./i18n.js";
import { documentLink } from "./view-evidence.js";
import { problemNote } from "./view-problem.js";

/** @typedef {import("./api.js").Hit} Hit */

export class SearchView {
  node = el("section", { class: "card" });
  #input = el("input", { id: freshId("search"), type: "search", autocomplete: "off" });
  #results = el("div", { class: "results", role: "status" });
  /** @type {{hits: Hit[], duplicates: number} | null} */ #found = null;
  /** @type {unknown} */ #fault = null;
  #asking = 0;

  draw() {
    const ask = (/** @type {Event} */ event) => {
      event.preventDefault();
      void this.#ask();
    };
    fill(this.node,
      el("h3", {}, t("search.title")),
      el("form", { class: "search", role: "search", onsubmit: ask },
        el("label", { for: this.#input.id }, t("search.label")),
        el("div", { class: "search-row" }, this.#input, el("button", { type: "submit" }, t("search.go")))),
      this.#results);
    this.#drawResults();
  }

  async #ask() {
    const query = this.#input.value.trim();
    if (!query) return this.#input.focus();
    const asking = (this.#asking += 1);
    fill(this.#results, el("p", { class: "muted" }, t("loading")));
    let found = null;
    let fault = null;
    try {
      found = await search(query);
    } catch (error) {
      fault = error;
    }
    if (asking !== this.#asking) return;
    this.#found = found;
    this.#fault = fault;
    this.#drawResults();
  }

  #drawResults() {
    if (this.#fault !== null) return fill(this.#results, problemNote(this.#fault, () => void this.#ask()));
    if (!this.#found) return fill(this.#results);
    const { hits, duplicates } = this.#found;
    const hit = (/** @type {Hit} */ h) => el("li", {},
      el("p", {}, el("strong", {}, documentLink(h.document_id, h.title)), " ", el("span", { class: "muted" }, `${h.section_path} · ${t("search.score", { n: h.score.toFixed(2) })}`)),
      el("blockquote", { class: "text", tabindex: 0 }, h.excerpt));
    fill(this.#results,
      el("p", { class: "muted" }, t(hits.length > 0 ? "search.found" : "doc.none", { n: hits.length })),
      el("ol", { class: "items", hidden: hits.length === 0 }, hits.map(hit)),
      duplicates > 0 && el("p", { class: "muted" }, t("search.duplicates", { n: duplicates })));
  }
}
