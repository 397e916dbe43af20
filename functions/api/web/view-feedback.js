// Owns what the reader says of a run that has ended: a rating, a reason, a comment. The last word sent replaces the ones before.

import { rateRun } from "./api.js";
import { badge, button, el, fill, freshId } from "./dom.js";
import { t, word } from "./i18n.js";
import { problemNote } from "./view-problem.js";

/** @typedef {import("./api.js").Feedback} Feedback */

const REASONS = ["WRONG_CAUSE", "INCOMPLETE", "UNCLEAR"];
const MAX_COMMENT_CHARS = 2000;

export class FeedbackView {
  node = el("section", { class: "feedback", "aria-live": "polite" });
  /** What is being written; null while nothing is. @type {Feedback | null} */ #draft = null;
  #sending = false;
  /** @type {unknown} */ #fault = null;

  /** @param {import("./run.js").Run} run */
  constructor(run) {
    this.run = run;
  }

  draw() {
    const { feedback } = this.run;
    fill(this.node, feedback && !this.#draft ? this.#sent(feedback) : this.#question(), this.#draft && this.#form(this.#draft),
      this.#fault !== null && this.#draft && problemNote(this.#fault, () => this.#draft && void this.#send(this.#draft)));
  }

  /** @param {Feedback} feedback */
  #sent({ rating, reason, comment }) {
    const change = () => this.#choose({ rating, reason, comment });
    return [
      el("p", { tabindex: -1, class: "said" }, t("feedback.sent"), " ", badge(t(`rating.${rating}`), rating === "UP" ? "good" : "warn"), " ", reason && word("fault", reason)),
      comment && el("blockquote", { class: "text" }, comment),
      button(t("feedback.change"), change),
    ];
  }

  #question() {
    const choice = (/** @type {Feedback["rating"]} */ rating) =>
      button(t(`rating.${rating}`), () => this.#choose({ ...this.#draft, rating }), { "aria-pressed": String(this.#draft?.rating === rating), class: "quiet choice" });
    const title = freshId("feedback");
    return el("div", { class: "ways", role: "group", "aria-labelledby": title }, el("strong", { id: title }, t("feedback.ask")), choice("UP"), choice("DOWN"));
  }

  /** @param {Feedback} draft */
  #form(draft) {
    const [reasonId, commentId] = [freshId("reason"), freshId("comment")];
    const option = (/** @type {string} */ code) => el("option", { value: code, selected: draft.reason === code }, code ? word("fault", code) : t("feedback.noReason"));
    const reason = el("select", { id: reasonId, onchange: () => { draft.reason = reason.value; } }, ["", ...REASONS].map(option));
    const comment = el("textarea", { id: commentId, rows: 2, maxlength: MAX_COMMENT_CHARS, oninput: () => { draft.comment = comment.value; } });
    comment.value = draft.comment ?? "";
    const send = (/** @type {Event} */ event) => {
      event.preventDefault();
      void this.#send(draft);
    };
    return el("form", { class: "fields", onsubmit: send },
      draft.rating === "DOWN" && [el("label", { for: reasonId }, t("feedback.reason")), reason],
      el("label", { for: commentId }, t("feedback.comment")), comment,
      el("p", { class: "ways" }, el("button", { type: "submit", disabled: this.#sending }, t("feedback.send")), button(t("dismiss"), () => this.#choose(null))));
  }

  /** @param {Feedback | null} draft */
  #choose(draft) {
    this.#draft = draft;
    this.#fault = null;
    this.draw();
    this.#focus(draft ? "textarea" : ".said, .choice");
  }

  /** @param {Feedback} draft */
  async #send({ rating, reason, comment }) {
    this.#sending = true;
    this.draw();
    try {
      const body = { rating, ...(rating === "DOWN" && reason ? { reason } : {}), ...(comment?.trim() ? { comment: comment.trim() } : {}) };
      this.run.feedback = (await rateRun(this.run.runId ?? "", body)).feedback;
      this.#draft = null;
      this.#fault = null;
    } catch (error) {
      this.#fault = error;
    }
    this.#sending = false;
    this.draw();
    this.#focus(this.#draft ? "button[type=submit]" : ".said");
  }

  /** @param {string} selector */
  #focus(selector) {
    /** @type {HTMLElement | null} */ (this.node.querySelector(selector))?.focus();
  }
}
