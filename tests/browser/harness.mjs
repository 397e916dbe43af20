// What every part of the browser test stands on: counted checks, pages that note their faults, and asking a question.

import { mkdir } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";

export const BASE = process.env.BASE_URL?.replace(/\/+$/, "");
export const RUN_TIMEOUT_MS = 120_000;
const LOAD_TIMEOUT_MS = 20_000;
/** By a timer: a tab in the background paints nothing that could be waited for. */
const POLL_MS = 50;
const AXE = createRequire(import.meta.url).resolve("axe-core/axe.min.js");

export const tally = { passed: 0, failed: 0 };

/** One expectation of a reader, checked. A failure is told and the next one still runs. */
export async function check(name, act) {
  try {
    await act();
    tally.passed += 1;
    console.log(`ok    ${name}`);
  } catch (error) {
    tally.failed += 1;
    console.log(`FAIL  ${name}\n      ${String(error?.message ?? error).split("\n").slice(0, 4).join("\n      ")}`);
  }
}

export function expect(truth, message) {
  if (!truth) throw new Error(message);
}

/** `text` has to have `part` in it. */
export function expectText(text, part) {
  expect(text?.includes(part), `“${part}” is missing from: ${text?.replace(/\s+/g, " ").slice(0, 400)}`);
}

/**
 * A page with its own storage that notes all that went wrong on it: exceptions, dialogs, blocked or foreign requests.
 * `base`: another address of the service. `refusals`: answers of 4xx and 5xx and broken requests belong to this test.
 */
export async function open(browser, { base = BASE, hash = "", refusals = false, ...options } = {}) {
  const context = await browser.newContext({ locale: "en-US", viewport: { width: 1280, height: 900 }, ...options });
  // The browser's own policy does not hold for what the test adds.
  await context.addInitScript({ path: AXE });
  await context.addInitScript(() => {
    addEventListener("securitypolicyviolation", (e) => console.error(`CSP blocked ${e.violatedDirective} ${e.blockedURI}`));
  });
  return { context, ...(await openTab(context, { base, hash, refusals })) };
}

/** One more tab of the same browser window. */
export async function openTab(context, { base = BASE, hash = "", refusals = false } = {}) {
  const page = await context.newPage();
  page.setDefaultTimeout(LOAD_TIMEOUT_MS);
  const faults = [];
  const posts = [];
  const expected = (text) => refusals && text.startsWith("Failed to load resource");
  page.on("console", (m) => ["error", "warning"].includes(m.type()) && !expected(m.text()) && faults.push(`console ${m.type()}: ${m.text()}`));
  page.on("pageerror", (error) => faults.push(`exception: ${error.message}`));
  page.on("dialog", (dialog) => { faults.push(`dialog: ${dialog.message()}`); return dialog.dismiss(); });
  page.on("requestfailed", (r) => r.resourceType() !== "fetch" && faults.push(`not loaded: ${r.url()}`));
  page.on("request", (r) => {
    if (!r.url().startsWith(base) && !r.url().startsWith("data:")) faults.push(`asked another host: ${r.url()}`);
    if (r.method() === "POST") posts.push(new URL(r.url()).pathname);
  });
  const response = await page.goto(`${base}/${hash}`);
  await page.waitForSelector("#examples button", { state: "attached" });
  return { page, faults, posts, response };
}

/** Asks by keyboard and waits for the end; returns what kind of answer came and the row counts seen while it streamed. */
export async function ask(page, query) {
  await begin(page, query);
  return ended(page);
}

/** Asks by keyboard and waits until the question has a place on the page. */
export async function begin(page, query) {
  const before = await page.$("#run > article");
  await page.evaluate(() => {
    globalThis.__rows = [];
    const note = () => {
      const run = document.querySelector("#run > article");
      if (run?.dataset.phase === "STREAMING") globalThis.__rows.push(run.querySelectorAll(".timeline > li").length);
    };
    globalThis.__observer?.disconnect();
    globalThis.__observer = new MutationObserver(note);
    globalThis.__observer.observe(document.getElementById("run"), { childList: true, subtree: true });
  });
  await page.fill("#query", query);
  await page.press("#query", "Enter");
  await page.waitForFunction((old) => document.querySelector("#run > article") !== old, before, { polling: POLL_MS });
}

/** Waits for one of the phases and returns what is shown then. */
export async function reached(page, phases) {
  const there = (names) => names.includes(document.querySelector("#run > article")?.dataset.phase ?? "");
  await page.waitForFunction(there, phases, { timeout: RUN_TIMEOUT_MS, polling: POLL_MS });
  return page.evaluate(() => {
    const run = document.querySelector("#run > article");
    return { phase: run.dataset.phase, kind: run.dataset.kind, text: run.textContent, rows: globalThis.__rows ?? [] };
  });
}

export async function ended(page) {
  const seen = await reached(page, ["ENDED", "REFUSED", "UNKNOWN"]);
  expect(seen.phase === "ENDED", `the run did not end but is ${seen.phase}: ${seen.text.slice(0, 300)}`);
  return seen;
}

export async function openEvidence(page, nth = 0) {
  const disclosure = page.locator(".opens-evidence").nth(nth);
  await disclosure.locator("summary").click();
  await disclosure.locator(".evidence").first().waitFor();
  return disclosure.locator(".disclosed").textContent();
}

/** Nothing may scroll sideways. */
export async function expectNarrow(page, where) {
  const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  expect(over <= 0, `${where} is ${over} px too wide`);
}

/** Accessibility rules, best practices included, on what is shown now. */
export async function expectAccessible(page) {
  const violations = await page.evaluate(async () => (await globalThis.axe.run(document, { resultTypes: ["violations"] })).violations);
  const told = violations.map((v) => `${v.id}: ${v.nodes.map((n) => n.target.join(" ")).slice(0, 3).join(", ")}`);
  expect(violations.length === 0, told.join("\n"));
}

export function expectClean(faults) {
  expect(faults.length === 0, faults.join("\n"));
}

/** Keeps a picture of the whole page where SCREENSHOTS names a folder. */
export async function picture(page, name) {
  const folder = process.env.SCREENSHOTS;
  if (!folder) return;
  await mkdir(folder, { recursive: true });
  await page.screenshot({ path: join(folder, `${name}.png`), fullPage: true });
}

/** A problem document as the service writes it. */
export function problem(status, code, detail = "", headers = {}) {
  return { status, headers: { "content-type": "application/problem+json", ...headers }, body: JSON.stringify({ type: "about:blank", title: code, status, code, detail }) };
}

/** An event stream as the service writes it: metadata, then `events` as [name, data] pairs. */
export function stream(...events) {
  const all = [["metadata", { session_id: "s-browser", run_id: "0190b3c4-0000-7000-8000-000000000001", time_limit_ms: 60_000 }], ...events];
  const text = all.map(([event, data], i) => `id: ${i + 1}\nevent: ${event}\ndata: ${JSON.stringify(data)}\n\n`).join("");
  return { status: 200, headers: { "content-type": "text/event-stream" }, body: text };
}
