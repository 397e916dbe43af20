// Owns the list of this session's runs, newest first, page by page.

import { ApiProblem, asProblem, getSessionRuns } from "./api.js";
import { button, el, fill } from "./dom.js";
import { time } from "./format.js";
import { t } from "./i18n.js";
import { problemNote } from "./view-problem.js";
import { statusBadge } from "./view-run.js";

/** @typedef {import("./api.js").RunSummary} RunSummary */

export class HistoryView {
  /** @type {RunSummary[]} */ #runs = [];
  /** @type {string | null} */ #cursor = null;
  /** @type {unknown} */ #fault = null;
  /** Counts readings: an answer to an older one is dropped. */
  #reading = 0;

  /** @param {HTMLElement} node @param {() => {sessionId: string | null, openId: string | null}} current */
  constructor(node, current) {
    this.node = node;
    this.current = current;
  }

  /** Reads the first page anew. */
  async refresh() {
    await this.#read(null);
  }

  /** @param {string | null} cursor */
  async #read(cursor) {
    const reading = (this.#reading += 1);
    const { sessionId } = this.current();
    let page = { runs: /** @type {RunSummary[]} */ ([]), next_cursor: /** @type {string | null} */ (null) };
    let fault = null;
    try {
      if (sessionId) page = await getSessionRuns(sessionId, cursor);
    } catch (error) {
      // A session that the service has not seen yet has no runs.
      if (!(error instanceof ApiProblem && error.status === 404)) fault = error;
    }
    if (reading !== this.#reading) return;
    this.#fault = fault;
    if (!fault) {
      this.#runs = cursor ? [...this.#runs, ...page.runs] : page.runs;
      this.#cursor = page.next_cursor;
    }
    this.draw();
  }

  draw() {
    const { openId } = this.current();
    const items = this.#runs.map((run) => {
      const link = el("a", { href: `#run=${encodeURIComponent(run.run_id)}`, "aria-current": run.run_id === openId && "true" }, el("span", { class: "query text" }, run.query));
      return el("li", {}, link, el("p", { class: "muted" }, statusBadge(run.status, run.intent, run.reason), " ", time(run.started_at)));
    });
    const more = this.#cursor && button(t("historyMore"), () => void this.#read(this.#cursor));
    const empty = items.length === 0 && !this.#fault && el("p", { class: "muted" }, t("historyEmpty"));
    fill(this.node, el("ol", { class: "plain", hidden: items.length === 0 }, items), empty, more, this.#fault !== null && this.#trouble());
  }

  /** One place to enter the key is enough: where the run asks for it, the history only says that it waits. */
  #trouble() {
    const waits = asProblem(this.#fault).code === "UNAUTHENTICATED" && document.querySelector("#run .key");
    if (waits) return el("p", { class: "muted" }, t("historyKey"));
    return [el("p", {}, t("historyFault")), problemNote(this.#fault, () => void this.refresh())];
  }
}
