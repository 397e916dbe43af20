// Owns the form that a runbook is written in: fields, a file to take the text from, and what to do when another was faster.

import { addDocument, ApiProblem, getDocument, replaceDocument } from "./api.js";
import { button, disclosure, el, fill, freshId } from "./dom.js";
import { t } from "./i18n.js";
import { problemNote } from "./view-problem.js";

/** @typedef {import("./api.js").StoredDocument} StoredDocument */
/** @typedef {import("./api.js").DocumentSummary} DocumentSummary */

/** The service's own limit. */
const MAX_BYTES = 1024 * 1024;

export class EditorView {
  node = el("section", { class: "card" });
  #id = el("input", { id: freshId("doc"), maxlength: 64, autocomplete: "off", spellcheck: "false" });
  #title = el("input", { id: freshId("doc"), maxlength: 200, autocomplete: "off" });
  #tags = el("input", { id: freshId("doc"), autocomplete: "off" });
  #source = el("input", { id: freshId("doc"), type: "url", autocomplete: "off" });
  #text = el("textarea", { id: freshId("doc"), rows: 16, spellcheck: "false", class: "code" });
  #file = el("input", { id: freshId("doc"), type: "file", accept: ".md,.markdown,.txt,text/markdown,text/plain" });
  /** Why it can't be saved as it is, in words. */
  #complaint = "";
  /** @type {unknown} */ #fault = null;
  /** What another has stored meanwhile. @type {StoredDocument | null} */ #theirs = null;
  #saving = false;

  /** @param {StoredDocument | null} stored null: a new runbook @param {{cancel: () => void, saved: (summary: DocumentSummary) => void}} actions */
  constructor(stored, actions) {
    this.stored = stored;
    this.actions = actions;
    if (stored) this.#take(stored);
    this.#file.addEventListener("change", () => void this.#read());
  }

  /** Whether leaving the page would lose something. */
  get changed() {
    return this.#text.value !== (this.stored?.text ?? "");
  }

  /** @param {StoredDocument} stored */
  #take({ title, tags, source, text }) {
    this.#title.value = title;
    this.#tags.value = tags.join(", ");
    this.#source.value = source;
    this.#text.value = text;
  }

  draw() {
    const { stored } = this;
    const id = freshId("editor");
    const submit = (/** @type {Event} */ event) => {
      event.preventDefault();
      void this.#save();
    };
    const field = (/** @type {string} */ name, /** @type {HTMLElement} */ input, /** @type {string} */ hint = "") => {
      const note = hint && el("p", { class: "muted", id: `${input.id}-hint` }, t(hint));
      if (note) input.setAttribute("aria-describedby", note.id);
      return el("div", { class: "field" }, el("label", { for: input.id }, t(name)), input, note);
    };
    fill(this.node,
      el("h2", { tabindex: -1, class: "text" }, stored ? t("docs.editing", { title: stored.title, n: stored.version }) : t("docs.add")),
      el("form", { class: "fields", id, novalidate: true, onsubmit: submit },
        !stored && field("docs.id", this.#id, "docs.idHint"),
        field("docs.name", this.#title, "docs.nameHint"),
        field("docs.tags", this.#tags, "docs.tagsHint"),
        field("docs.source", this.#source, "docs.sourceHint"),
        field("docs.file", this.#file, "docs.fileHint"),
        field("docs.text", this.#text)),
      el("div", { role: "alert" }, this.#complaint && el("p", { class: "fault" }, this.#complaint), this.#theirs && this.#conflict(this.#theirs),
        this.#fault !== null && problemNote(this.#fault, () => void this.#save())),
      el("p", { class: "ways" },
        el("button", { type: "submit", form: id, disabled: this.#saving }, t(this.#theirs ? "docs.saveOver" : "docs.save")),
        button(t("dismiss"), this.actions.cancel)));
  }

  /** @param {StoredDocument} theirs */
  #conflict(theirs) {
    const adopt = () => {
      this.#take(theirs);
      this.stored = theirs;
      this.#theirs = null;
      this.draw();
      this.#text.focus();
    };
    return el("div", { class: "verdict warn" },
      el("p", {}, el("strong", {}, t("docs.conflict", { n: theirs.version }))),
      el("p", {}, t("docs.conflictWays")),
      disclosure(t("docs.theirs", { n: theirs.version }), (body) => fill(body, el("pre", { tabindex: 0 }, theirs.text))),
      button(t("docs.adopt"), adopt));
  }

  async #save() {
    const text = this.#text.value;
    const id = this.#id.value.trim();
    this.#fault = null;
    this.#complaint = complaint(text, id);
    if (this.#complaint) return this.#stay();
    const tags = this.#tags.value.split(/[,，、]/).map((tag) => tag.trim()).filter(Boolean);
    const [title, source] = [this.#title.value.trim(), this.#source.value.trim()];
    const body = { text, ...(title && { title }), ...(tags.length > 0 && { tags }), ...(source && { source }) };
    this.#saving = true;
    this.draw();
    try {
      const expected = this.#theirs ?? this.stored;
      const summary = expected ? await replaceDocument(expected.id, body, expected.tag) : await addDocument(id, body);
      return this.actions.saved(summary);
    } catch (error) {
      await this.#explain(error);
    }
    this.#saving = false;
    this.#stay();
  }

  /** Says why nothing was saved; the reader goes on where they were. */
  #stay() {
    this.draw();
    /** @type {HTMLElement | null} */ (this.node.querySelector("[type=submit]"))?.focus();
  }

  /** @param {unknown} error */
  async #explain(error) {
    if (!(error instanceof ApiProblem && error.status === 412)) {
      this.#fault = error;
    } else if (!this.stored) {
      this.#complaint = t("docs.exists");
    } else {
      this.#theirs = await getDocument(this.stored.id).catch((fault) => {
        this.#fault = fault;
        return null;
      });
    }
  }

  /** Puts a file's text into the form; nothing is sent before the reader saves. */
  async #read() {
    const file = this.#file.files?.[0];
    if (!file) return;
    this.#complaint = "";
    if (!/\.(md|markdown|txt)$/i.test(file.name)) this.#complaint = t("docs.fileKind");
    else if (file.size > MAX_BYTES) this.#complaint = t("docs.long");
    else {
      try {
        this.#text.value = new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer());
        if (!this.stored && !this.#id.value) this.#id.value = file.name.replace(/\.\w+$/, "").replace(/[^\w-]+/g, "-").replace(/^-+|-+$/g, "").slice(0, 64);
      } catch {
        this.#complaint = t("docs.fileCoding");
      }
    }
    if (this.#complaint) this.#file.value = "";
    this.draw();
    this.#file.focus();
  }
}

/** @param {string} text @param {string} id */
function complaint(text, id) {
  if (!text.trim()) return t("docs.empty");
  if (new TextEncoder().encode(text).length > MAX_BYTES) return t("docs.long");
  return id && !/^[\w-]{1,64}$/.test(id) ? t("docs.idBad") : "";
}
