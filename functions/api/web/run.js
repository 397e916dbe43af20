// Owns the state of one run as this page knows it: what the stream or the stored run said, in order. No network, no DOM.

/** @typedef {import("./api.js").ApiProblem} ApiProblem */
/** @typedef {import("./api.js").RunDocument} RunDocument */
/** @typedef {import("./api.js").Failure} Failure */

/**
 * One line of the timeline. `start` and `end` are ms since the run began; `end` is null while it goes on.
 * `skipped` counts updates that were lost just before it.
 * @typedef {{stage: string, tool: string | null, index: number | null, state: "STARTED" | "READY" | "FAILED" | "LOST",
 *   evidence: string | null, start: number, end: number | null, skipped: number}} Row
 */

/**
 * ASKING: sent, nothing heard. STREAMING. POLLING: the stream was lost or never ours. UNKNOWN: gave up asking.
 * ENDED: terminal. REFUSED: it never began, `problem` says why.
 * @typedef {"ASKING" | "STREAMING" | "POLLING" | "UNKNOWN" | "ENDED" | "REFUSED"} Phase
 */

export class Run {
  /** @type {string | null} */ runId = null;
  /** @type {string | null} */ sessionId = null;
  query = "";
  /** @type {string | null} Sent once per question; a retry of the same question repeats it. */ key = null;
  /** @type {Phase} */ phase = "ASKING";
  /** @type {Row[]} */ rows = [];
  /** @type {number | null} */ timeLimitMs = null;
  /** @type {string | null} */ intent = null;
  /** @type {string | null} SUCCESS, FALLBACK or FAILED */ status = null;
  /** @type {any} */ body = null;
  /** @type {Failure | null} */ failure = null;
  /** @type {import("./api.js").Feedback | null} What this caller said of it. */ feedback = null;
  /** @type {ApiProblem | null} */ problem = null;
  /** @type {string | null} */ startedAt = null;
  /** @type {string | null} */ endedAt = null;
  cancelling = false;
  /** The clock's reading when the run began, ms of performance.now(). */
  #origin = performance.now();
  #sequence = 0;
  /** @type {Set<(what: "phase" | "stage") => void>} */ #listeners = new Set();

  /** @param {{query?: string, runId?: string, sessionId?: string | null}} known */
  constructor(known) {
    Object.assign(this, known);
  }

  /** @param {(what: "phase" | "stage") => void} listener */
  listen(listener) {
    this.#listeners.add(listener);
  }

  /** @param {"phase" | "stage"} what */
  #tell(what) {
    for (const listener of this.#listeners) listener(what);
  }

  get live() {
    return this.phase === "ASKING" || this.phase === "STREAMING" || this.phase === "POLLING";
  }

  get elapsedMs() {
    return performance.now() - this.#origin;
  }

  /** @param {Phase} phase */
  enter(phase) {
    this.phase = phase;
    this.#tell("phase");
  }

  /** @param {ApiProblem} problem @param {Phase} phase */
  stop(problem, phase) {
    this.problem = problem;
    this.enter(phase);
  }

  /** What is in the way for now, without an end to the waiting; null: nothing any more. @param {ApiProblem | null} problem */
  setTrouble(problem) {
    if (this.problem?.code === problem?.code) return;
    this.problem = problem;
    this.#tell("phase");
  }

  /** @param {boolean} cancelling */
  setCancelling(cancelling) {
    this.cancelling = cancelling;
    this.#tell("phase");
  }

  /** @param {any} data the `metadata` event */
  begin(data) {
    this.runId = data.run_id;
    this.sessionId = data.session_id;
    this.timeLimitMs = data.time_limit_ms;
    this.startedAt = new Date().toISOString();
    this.enter("STREAMING");
  }

  /** @param {any} data a `status` event */
  progress(data) {
    if (data.sequence <= this.#sequence) return;
    const skipped = data.sequence - this.#sequence - 1;
    this.#sequence = data.sequence;
    this.#origin = performance.now() - data.elapsed_ms;
    const call = data.tool_call ?? null;
    const known = call && this.rows.find((row) => row.index === call.index);
    if (!known) this.#closeStage(data.elapsed_ms);
    const row = known || this.#addRow(data, skipped);
    if (call) {
      row.state = call.state;
      row.evidence = call.evidence_status ?? null;
      row.end = call.state === "STARTED" ? null : data.elapsed_ms;
    }
    this.#tell("stage");
  }

  /** @param {any} data @param {number} skipped @returns {Row} */
  #addRow(data, skipped) {
    /** @type {Row} */
    const row = {
      stage: data.stage, tool: data.tool ?? null, index: data.tool_call?.index ?? null,
      state: "STARTED", evidence: null, start: data.elapsed_ms, end: null, skipped,
    };
    this.rows.push(row);
    return row;
  }

  /** A stage lasts until the next thing begins; a tool call until it says so itself. @param {number} at */
  #closeStage(at) {
    for (const row of this.rows) {
      if (row.index === null && row.end === null) Object.assign(row, { end: at, state: "READY" });
    }
  }

  /** @param {any} data the `content` event */
  receive(data) {
    this.intent = data.intent;
    this.body = data.body;
  }

  /** @param {any} data the `failure` event */
  fail(data) {
    this.failure = { code: data.code, message: data.message, retryable: data.retryable };
  }

  /** @param {any} data the `done` event */
  finish(data) {
    this.status = data.status;
    this.endedAt = new Date().toISOString();
    this.#end();
  }

  /** Takes over what the service has stored. @param {RunDocument} stored */
  restore(stored) {
    const news = this.startedAt === null;
    this.runId = stored.run_id;
    this.sessionId = stored.session_id;
    this.query = stored.query;
    this.intent = stored.intent;
    this.startedAt = stored.started_at;
    this.endedAt = stored.ended_at;
    if (stored.status === "RUNNING") {
      const begun = Date.parse(stored.started_at);
      if (Number.isFinite(begun)) this.#origin = performance.now() - Math.max(0, Date.now() - begun);
      if (news || this.phase !== "POLLING") this.enter("POLLING");
      return;
    }
    this.status = stored.status;
    this.body = stored.body;
    this.failure = stored.failure;
    this.feedback = stored.feedback ?? null;
    this.#end();
  }

  #end() {
    this.#closeStage(this.elapsedMs);
    for (const row of this.rows) {
      if (row.end === null) Object.assign(row, { end: this.elapsedMs, state: "LOST" });
    }
    this.problem = null;
    this.cancelling = false;
    this.enter("ENDED");
  }
}
