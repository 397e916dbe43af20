// Owns one run on the page: its head, timeline, outcome and trace, drawn from the run's state whenever that changes.

import { badge, button, disclosure, el, fill } from "./dom.js";
import { between, duration, time } from "./format.js";
import { t, word } from "./i18n.js";
import { FeedbackView } from "./view-feedback.js";
import { explain, keyForm } from "./view-problem.js";
import { outcomeOf } from "./view-report.js";
import { drawTimeline, tickTimeline } from "./view-timeline.js";
import { showTrace } from "./view-trace.js";

/** @typedef {import("./run.js").Run} Run */

/**
 * What the reader may do with a run.
 * @typedef {{cancel: (run: Run) => void, retry: (run: Run) => void, check: (run: Run) => void, edit: (query: string) => void,
 *   open: (runId: string) => void}} Actions
 */

/** Characters of a question that make a heading; a pasted alert goes below it. */
const HEADING_CHARS = 160;
const TICK_MS = 200;

export class RunView {
  /** @type {number | undefined} */ #ticker;

  /** @param {Run} run @param {Actions} actions */
  constructor(run, actions) {
    this.run = run;
    this.actions = actions;
    this.node = el("article", { class: "card run" });
    this.clock = el("span", { class: "clock" });
    this.list = el("ol", { class: "timeline" });
    this.feedback = new FeedbackView(run);
    this.draw();
    run.listen((what) => (what === "stage" ? drawTimeline(this.list, run) : this.draw()));
  }

  /** Draws everything anew, for a new phase or another language. Focus within goes to the outcome. */
  draw() {
    const { run } = this;
    this.node.dataset.phase = run.phase;
    this.node.dataset.kind = run.body?.kind ?? run.failure?.code ?? "";
    const hadFocus = this.node.contains(document.activeElement);
    fill(this.node, this.#head(), this.#state(), this.#timeline(), this.#outcome(), this.#feedback(), this.#trace());
    if (hadFocus) this.focus();
    clearInterval(this.#ticker);
    drawTimeline(this.list, run);
    if (run.live) this.#ticker = setInterval(() => this.#tick(), TICK_MS);
    this.#tick();
  }

  /** To the outcome if there is one, else to the question. */
  focus() {
    const target = this.node.querySelector("h3[tabindex]") ?? this.node.querySelector("h2");
    if (target instanceof HTMLElement) target.focus();
  }

  #tick() {
    const { run } = this;
    const elapsed = duration(run.elapsedMs);
    const words = run.timeLimitMs ? t("ofAtMost", { elapsed, limit: duration(run.timeLimitMs) }) : elapsed;
    this.clock.textContent = run.live ? words : "";
    tickTimeline(this.list, run);
  }

  #head() {
    const { query } = this.run;
    const long = query.length > HEADING_CHARS || query.includes("\n");
    const short = long ? `${query.slice(0, HEADING_CHARS).split("\n")[0]} …` : query || t("loading");
    const whole = long && disclosure(t("wholeQuestion"), (body) => fill(body, el("pre", { tabindex: 0, "aria-label": t("wholeQuestion") }, query)));
    return [el("h2", { tabindex: -1, class: "text" }, short), whole, this.#facts()].filter(Boolean);
  }

  #facts() {
    const { run } = this;
    const took = between(run.startedAt, run.endedAt);
    return el("p", { class: "meta" },
      this.#badge(),
      run.intent && badge(word("intent", run.intent)),
      run.startedAt && el("span", {}, t("began"), " ", time(run.startedAt)),
      Number.isFinite(took) && el("span", {}, t("took"), " ", duration(took)),
      run.runId && el("span", {}, t("runId"), " ", el("code", {}, run.runId)));
  }

  #badge() {
    const { run } = this;
    if (run.phase === "REFUSED") return badge(t("phase.REFUSED"), "bad");
    return statusBadge(run.status ?? "RUNNING", run.intent, run.failure?.code);
  }

  #state() {
    const { run, actions } = this;
    if (!run.live) return null;
    const cancel = button(t(run.cancelling ? "cancelling" : "cancel"), () => actions.cancel(run), { disabled: run.cancelling });
    const line = el("p", { class: "state" }, el("span", { class: "pulse" }), el("span", {}, t(`phase.${run.phase}`)), this.clock, run.runId && cancel);
    return el("div", {}, line, run.phase === "POLLING" && el("p", { class: "muted" }, t("pollingNote")), run.problem && explain(run.problem));
  }

  #timeline() {
    const { run } = this;
    if (run.phase === "REFUSED" || (run.rows.length === 0 && run.phase !== "STREAMING")) return null;
    return el("details", { open: run.live, class: "progress" }, el("summary", {}, t("progress")), this.list);
  }

  #outcome() {
    const { run, actions } = this;
    if (run.live) return null;
    if (run.phase === "ENDED") {
      const again = run.status !== "SUCCESS" && button(t("askAgain"), () => actions.edit(run.query));
      return el("div", { class: "outcome" }, outcomeOf(run), again);
    }
    const { problem } = run;
    const refused = run.phase === "REFUSED";
    const wantsKey = problem?.code === "UNAUTHENTICATED";
    const title = wantsKey ? "keyTitle" : refused ? "problemTitle" : "unknownTitle";
    const go = () => (refused ? actions.retry(run) : actions.check(run));
    return el("div", { class: `verdict ${wantsKey ? "warn" : "bad"}` },
      el("h3", { tabindex: -1 }, t(title)),
      problem && explain(problem),
      refused && problem?.code === "NETWORK" && el("p", {}, t("askSafe")),
      wantsKey ? keyForm(go) : this.#ways(refused, go));
  }

  /** @param {boolean} refused @param {() => void} go */
  #ways(refused, go) {
    const { run, actions } = this;
    const { code = "", runId = null, status = 0 } = run.problem ?? {};
    const hopeless = ["INVALID_REQUEST", "PAYLOAD_TOO_LARGE", "FORBIDDEN"].includes(code) || (!refused && status === 404);
    return el("p", { class: "ways" },
      !hopeless && button(t(refused ? "tryAgain" : "checkAgain"), go),
      runId && button(t("openRunning"), () => actions.open(runId)),
      refused && button(t("askAgain"), () => actions.edit(run.query)));
  }

  #feedback() {
    const { phase, runId } = this.run;
    if (phase !== "ENDED" || !runId) return null;
    this.feedback.draw();
    return this.feedback.node;
  }

  #trace() {
    const { runId } = this.run;
    if (!runId || this.run.phase === "UNKNOWN") return null;
    return disclosure(t("trace"), (body) => void showTrace(body, runId), { class: "trace" });
  }
}

/** How a run stands, in one word. @param {string} status @param {string | null} intent @param {string | null} [failure] */
export function statusBadge(status, intent, failure) {
  const shown = statusWord(status, intent, failure);
  const tone = { SUCCESS: "good", FALLBACK: "warn", FAILED: "bad", RUNNING: "info" }[shown] ?? "";
  return badge(word("status", shown), tone);
}

/**
 * A reply about the assistant rests on no evidence, so it is answered but not verified; a cancelled run did not fail.
 * @param {string} status @param {string | null} intent @param {string | null} [failure]
 */
export function statusWord(status, intent, failure) {
  if (status === "SUCCESS" && intent === "SYSTEM_CHAT") return "ANSWERED";
  return failure === "RUN_CANCELLED" ? "CANCELLED" : status;
}
