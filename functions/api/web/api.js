// Owns the HTTP calls: URLs, headers, and turning every refusal into an ApiProblem. No retries here, no DOM.

import { stored } from "./storage.js";

/** @typedef {"RUNNING" | "SUCCESS" | "FALLBACK" | "FAILED"} RunStatus */
/** @typedef {{code: string, message: string, retryable: boolean}} Failure */
/** @typedef {{run_id: string, session_id: string, query: string, status: RunStatus, intent: string | null, reason?: string | null, started_at: string, ended_at: string | null}} RunSummary */
/** @typedef {{rating: "UP" | "DOWN", reason?: string | null, comment?: string | null}} Feedback */
/** @typedef {RunSummary & {outcome: string | null, body: any, failure: Failure | null, feedback?: Feedback | null}} RunDocument */
/** @typedef {{source_type: string, source: string, scope: any, timestamp: string | null, excerpt: string | null, values: any}} Evidence */
/** @typedef {{run_id: string, analyses: {analysis_id: string, evidence: Evidence[]}[]}} EvidenceDocument */
/** @typedef {{runs: RunSummary[], next_cursor: string | null}} RunPage */
/** @typedef {{id: string, version: number, title: string, tags: string[], source: string, updated_at: string, bytes: number}} DocumentSummary */
/** A runbook as it is stored, and the entity tag that names this version. @typedef {DocumentSummary & {text: string, tag: string}} StoredDocument */
/** @typedef {{text: string, title?: string, tags?: string[], source?: string}} DocumentBody */
/** @typedef {{document_id: string, title: string, version: number, section_path: string, source: string, updated_at: string, score: number, excerpt: string}} Hit */

/** Long enough for a cold start behind a slow phone link. */
const GET_TIMEOUT_MS = 20_000;

/** A refusal or a broken connection. `status` 0: no answer came. */
export class ApiProblem extends Error {
  /** @param {{status: number, code: string, detail?: string, runId?: string | null, retryAfter?: number | null}} fields */
  constructor({ status, code, detail = "", runId = null, retryAfter = null }) {
    super(`${status} ${code}`);
    this.status = status;
    this.code = code;
    this.detail = detail;
    this.runId = runId;
    /** Seconds. */
    this.retryAfter = retryAfter;
  }
}

/** Turns whatever was thrown into an ApiProblem. @param {unknown} error */
export function asProblem(error) {
  return error instanceof ApiProblem ? error : new ApiProblem({ status: 0, code: "NETWORK" });
}

/**
 * Starts a run. Resolves when the stream begins.
 * @param {{query: string, sessionId: string | null, key: string}} question
 * @returns {Promise<ReadableStream<Uint8Array>>}
 */
export async function chat({ query, sessionId, key }) {
  const body = sessionId ? { query, session_id: sessionId } : { query };
  const headers = { "content-type": "application/json", accept: "text/event-stream", "idempotency-key": key };
  const response = await send("/api/chat", { method: "POST", headers, body: JSON.stringify(body) });
  const type = response.headers.get("content-type") ?? "";
  if (!response.body || !type.startsWith("text/event-stream")) throw new ApiProblem({ status: response.status, code: "UNREADABLE" });
  return response.body;
}

/** @param {string} runId @returns {Promise<RunDocument>} */
export const getRun = (runId) => get(`/api/runs/${encodeURIComponent(runId)}`);
/** @param {string} runId @returns {Promise<EvidenceDocument>} */
export const getEvidence = (runId) => get(`/api/runs/${encodeURIComponent(runId)}/evidence`);
/** @param {string} runId @returns {Promise<any>} */
export const getTrace = (runId) => get(`/api/runs/${encodeURIComponent(runId)}/trace`);

/** @param {string} sessionId @param {string | null} cursor @returns {Promise<RunPage>} */
export function getSessionRuns(sessionId, cursor) {
  const page = cursor ? `&cursor=${encodeURIComponent(cursor)}` : "";
  return get(`/api/sessions/${encodeURIComponent(sessionId)}/runs?limit=20${page}`);
}

/** Asks a run to stop; it does so at its next step. @param {string} runId */
export async function cancelRun(runId) {
  await send(`/api/runs/${encodeURIComponent(runId)}/cancel`, { method: "POST", ...timeout() });
}

/** Says what the reader thinks of a run; a later word replaces it. @param {string} runId @param {Feedback} feedback @returns {Promise<{feedback: Feedback}>} */
export async function rateRun(runId, feedback) {
  return json(await send(`/api/runs/${encodeURIComponent(runId)}/feedback`, written("POST", feedback)));
}

/** @param {string | null} cursor @returns {Promise<{documents: DocumentSummary[], next_cursor: string | null}>} */
export function getDocuments(cursor) {
  return get(`/api/documents?limit=20${cursor ? `&cursor=${encodeURIComponent(cursor)}` : ""}`);
}

/** @param {string} id @returns {Promise<StoredDocument>} */
export async function getDocument(id) {
  const response = await send(documentUrl(id), reading());
  const document = await json(response);
  // A proxy that compresses marks the tag as weak, which no precondition may be.
  const tag = response.headers.get("etag")?.replace(/^W\//, "") ?? `"${document.version}"`;
  return { ...document, tag };
}

/** Adds a runbook; without an id the service chooses one. @param {string} id @param {DocumentBody} body @returns {Promise<DocumentSummary>} */
export async function addDocument(id, body) {
  return json(await send("/api/documents", written("POST", id ? { id, ...body } : body)));
}

/** Replaces the version that `tag` names, and no other. @param {string} id @param {DocumentBody} body @param {string} tag @returns {Promise<DocumentSummary>} */
export async function replaceDocument(id, body, tag) {
  return json(await send(documentUrl(id), written("PUT", body, { "if-match": tag })));
}

/** @param {string} id @param {string} tag */
export async function removeDocument(id, tag) {
  await send(documentUrl(id), { method: "DELETE", headers: { "if-match": tag }, ...timeout() });
}

/** What the tool for runbooks would find. @param {string} query @returns {Promise<{hits: Hit[], duplicates: number}>} */
export const search = (query) => get(`/api/search?q=${encodeURIComponent(query)}`);

/** @param {string} id */
const documentUrl = (id) => `/api/documents/${encodeURIComponent(id)}`;

/** @param {string} method @param {unknown} body @param {Record<string, string>} [headers] @returns {RequestInit} */
function written(method, body, headers = {}) {
  return { method, headers: { "content-type": "application/json", ...headers }, body: JSON.stringify(body), ...timeout() };
}

/** @returns {RequestInit} */
function reading() {
  return { headers: { accept: "application/json" }, cache: "no-store", ...timeout() };
}

/** @param {string} url */
async function get(url) {
  return json(await send(url, reading()));
}

/** @param {Response} response @returns {Promise<any>} */
async function json(response) {
  try {
    return await response.json();
  } catch {
    throw new ApiProblem({ status: response.status, code: "UNREADABLE" });
  }
}

function timeout() {
  return "timeout" in AbortSignal ? { signal: AbortSignal.timeout(GET_TIMEOUT_MS) } : {};
}

/** @param {string} url @param {RequestInit} init @returns {Promise<Response>} */
async function send(url, init) {
  const headers = new Headers(init.headers);
  if (stored.accessKey) headers.set("authorization", `Bearer ${stored.accessKey}`);
  let response;
  try {
    response = await fetch(url, { ...init, headers, credentials: "same-origin" });
  } catch {
    throw new ApiProblem({ status: 0, code: "NETWORK" });
  }
  if (!response.ok) throw await problemOf(response);
  return response;
}

/** What a status means when a gateway answers it without a problem document. @type {Record<number, string>} */
const CODES = { 401: "UNAUTHENTICATED", 403: "FORBIDDEN", 404: "NOT_FOUND", 412: "PRECONDITION_FAILED", 413: "PAYLOAD_TOO_LARGE", 429: "RATE_LIMITED" };

/** @param {Response} response */
async function problemOf(response) {
  const fields = await response.json().catch(() => ({}));
  const text = (/** @type {unknown} */ value) => (typeof value === "string" ? value : "");
  const seconds = Number.parseInt(response.headers.get("retry-after") ?? "", 10);
  return new ApiProblem({
    status: response.status,
    code: text(fields?.code) || (CODES[response.status] ?? "HTTP"),
    detail: text(fields?.detail),
    runId: text(fields?.run_id) || null,
    retryAfter: Number.isFinite(seconds) ? seconds : null,
  });
}

/** A value no other request has. `randomUUID` exists on secure origins only. */
export function idempotencyKey() {
  if (typeof crypto.randomUUID === "function") return crypto.randomUUID();
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) => b.toString(16).padStart(2, "0")).join("");
}
