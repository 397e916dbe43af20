// Owns how a run is followed to its end: one POST, its stream, and polling when the stream is lost. Never asks twice by itself.

import { ApiProblem, asProblem, cancelRun, chat, getRun, idempotencyKey } from "./api.js";
import { readEvents } from "./sse.js";

/** @typedef {import("./run.js").Run} Run */

/** The service sends a keep-alive every 10 s; three missing ones mean a dead connection. */
const SILENCE_MS = 35_000;
const POLL_MS = 2_000;
const MAX_POLL_MS = 15_000;
/** Polls at the first pace before it slows down: most runs end within a minute. */
const QUICK_POLLS = 30;
/** No run lives longer than a function can (15 min). */
const GIVE_UP_MS = 16 * 60_000;
const MAX_ERRORS = 8;

/**
 * Asks the run's question. Repeating it after a broken connection sends the same key, so that it can't start a second run.
 * @param {Run} run
 */
export async function ask(run) {
  run.key ??= idempotencyKey();
  run.problem = null;
  run.enter("ASKING");
  let body;
  try {
    body = await chat({ query: run.query, sessionId: run.sessionId, key: run.key });
  } catch (error) {
    const problem = asProblem(error);
    if (problem.code !== "RUN_IN_PROGRESS" || !problem.runId) return run.stop(problem, "REFUSED");
    run.runId = problem.runId;
    return poll(run);
  }
  const whole = await readStream(run, body).catch(() => false);
  if (whole) return;
  if (run.runId) return poll(run);
  run.stop(new ApiProblem({ status: 0, code: "NETWORK" }), "REFUSED");
}

/** @param {Run} run @param {ReadableStream<Uint8Array>} body @returns {Promise<boolean>} whether `done` came */
async function readStream(run, body) {
  for await (const { event, data } of readEvents(body, SILENCE_MS)) {
    const value = JSON.parse(data);
    if (event === "metadata") run.begin(value);
    else if (event === "status") run.progress(value);
    else if (event === "content") run.receive(value);
    else if (event === "failure") run.fail(value);
    else if (event === "done") {
      run.finish(value);
      return true;
    }
  }
  return false;
}

/**
 * Reads the stored run until it is terminal. Ends early, as UNKNOWN, when there is no such run or no answer to be had.
 * @param {Run} run
 */
export async function poll(run) {
  run.problem = null;
  run.enter("POLLING");
  const since = performance.now();
  let errors = 0;
  for (let polls = 1; performance.now() - since < GIVE_UP_MS; polls += 1) {
    let wait = polls <= QUICK_POLLS ? POLL_MS : Math.min(MAX_POLL_MS, POLL_MS * 1.2 ** (polls - QUICK_POLLS));
    try {
      run.restore(await getRun(run.runId ?? ""));
      if (run.phase === "ENDED") return;
      run.setTrouble(null);
      errors = 0;
    } catch (error) {
      const problem = asProblem(error);
      errors += 1;
      const final = [400, 401, 403, 404, 405].includes(problem.status);
      if (final || errors >= MAX_ERRORS) return run.stop(problem, "UNKNOWN");
      run.setTrouble(problem);
      wait = Math.max((problem.retryAfter ?? 0) * 1000, Math.min(MAX_POLL_MS, POLL_MS * 2 ** errors));
    }
    await pause(wait);
  }
  run.stop(new ApiProblem({ status: 0, code: "STILL_RUNNING" }), "UNKNOWN");
}

/** Waits, but no longer than until the network or the tab comes back. @param {number} ms @returns {Promise<void>} */
function pause(ms) {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      removeEventListener("online", end);
      document.removeEventListener("visibilitychange", shown);
      resolve();
    };
    const shown = () => document.visibilityState === "visible" && end();
    const timer = setTimeout(end, ms);
    addEventListener("online", end);
    document.addEventListener("visibilitychange", shown);
  });
}

/** @param {Run} run @returns {Promise<ApiProblem | null>} why it could not be asked to stop */
export async function cancel(run) {
  if (!run.runId) return null;
  run.setCancelling(true);
  try {
    await cancelRun(run.runId);
    return null;
  } catch (error) {
    run.setCancelling(false);
    return asProblem(error);
  }
}
