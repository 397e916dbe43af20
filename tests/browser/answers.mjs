// A reader's way through the page in both languages: ask, watch, read the report and its evidence, find it again.

import { gzipSync } from "node:zlib";

import { ask, BASE, check, ended, expect, expectClean, expectNarrow, expectText, open, openEvidence, picture } from "./harness.mjs";

const MAX_WIRE_BYTES = 60_000;

function expectStages({ rows }) {
  const growth = [...new Set(rows)];
  expect(growth.length >= 3, `stages did not arrive one by one; row counts seen: ${rows.join(" ") || "none"}`);
  expect(growth.every((n, i) => i === 0 || n > growth[i - 1]), `the timeline lost rows: ${rows.join(" ")}`);
}

async function diagnose(page, query, conclusion) {
  const run = await ask(page, query);
  expectStages(run);
  expect(run.kind === "DIAGNOSIS_REPORT", `expected a DIAGNOSIS_REPORT, got ${run.kind}: ${run.text.slice(0, 300)}`);
  expect((await page.locator(".verdict h3").first().textContent()) === conclusion, "the report shows no conclusion");
  expect((await page.locator(".analysis").count()) > 0, "the report shows no analyses");
}

/** Opens all evidence and returns the texts of one kind. */
async function evidenceOf(page, kind) {
  const all = await page.locator(".opens-evidence").count();
  for (let i = 0; i < all; i += 1) await openEvidence(page, i);
  return page.locator(".evidence").filter({ has: page.locator(".source .badge", { hasText: kind }) });
}

export async function english(browser) {
  const { context, page, faults, response } = await open(browser);
  await check("the page forbids everything but its own files", async () => {
    const policy = response.headers()["content-security-policy"] ?? "";
    expect(policy.includes("default-src 'none'") && !policy.includes("unsafe"), `the policy is: ${policy || "missing"}`);
    expect((await page.getAttribute("html", "lang")) === "en", "an English browser does not get English");
  });
  await check("the page is small, and each file is served as what it is", async () => {
    const urls = await page.evaluate(() => performance.getEntriesByType("resource").map((entry) => entry.name));
    let bytes = 0;
    for (const url of [`${BASE}/`, ...urls.filter((name) => name.includes("/assets/"))]) {
      const file = await page.request.get(url);
      expect(file.headers()["x-content-type-options"] === "nosniff", `${url} may be sniffed`);
      bytes += gzipSync(await file.body()).length;
    }
    expect(urls.length > 15, `only ${urls.length} files were seen`);
    expect(bytes <= MAX_WIRE_BYTES, `${bytes} bytes over the wire`);
  });
  await check("an empty question is refused on the spot", async () => {
    await page.press("#query", "Enter");
    expect((await page.textContent("#ask-fault")) !== "", "no word about the empty question");
  });
  await picture(page, "ask-light");
  await check("an English diagnosis streams its stages and shows its report", () =>
    diagnose(page, "checkout 5xx since 06:05, why?", "Conclusion"));
  await picture(page, "report-light");
  await check("actions that need a person say so", async () => {
    expectText(await page.textContent(".actions"), "Needs a person's confirmation");
  });
  await check("an analysis opens its verified evidence", async () => {
    expect((await openEvidence(page)).length > 20, "the evidence is empty");
  });
  await check("log evidence has a chart that says in words what it shows", async () => {
    const lanes = page.locator(".opens-evidence").first().locator(".chart svg");
    expect((await lanes.count()) === (await page.locator(".opens-evidence").first().locator(".evidence .items > li").count()), "not one lane a pattern");
    expect(/^Pattern 1: \d+ lines from 20.*Z to 20.*Z$/.test(await lanes.first().getAttribute("aria-label")), "the chart has no words");
    const block = await lanes.first().locator("rect").evaluate((rect) => ({ width: Number(rect.getAttribute("width")), height: Number(rect.getAttribute("height")) }));
    expect(block.width > 0 && block.width <= 600 && block.height > 0, `the block is ${JSON.stringify(block)}`);
    expect((await lanes.first().locator("line").count()) > 0, "no line is marked in the chart");
  });
  await check("rows of a query are a table, runbooks name their source", async () => {
    await page.locator(".opens-evidence > summary").first().click();
    const database = await evidenceOf(page, "Database");
    expect((await database.locator("tbody tr").count()) > 0 && (await database.locator("th").count()) > 1, "no table of rows");
    const runbook = await evidenceOf(page, "Runbook").catch(() => page.locator(".evidence"));
    expect((await runbook.locator("a[href^='https://wiki.shop.example/'][rel*='noopener']").count()) > 0, "no link to where a runbook is kept");
    expect((await runbook.locator("a[href^='#document=']").count()) > 0, "no link to the runbook itself");
  });
  await check("the trace shows budget, cost and calls", async () => {
    await page.locator(".trace > summary").click();
    await page.waitForSelector(".trace progress");
    expect((await page.locator(".trace progress").count()) === 5, "not five budget bars");
    expect((await page.locator(".trace tbody tr").count()) >= 3, "hardly any calls in the trace");
    expectText(await page.textContent(".trace dl"), "Cost$0.00");
  });
  await check("a price that nobody knows is not called free", async () => {
    await page.route("**/trace", async (route) => {
      const response = await route.fetch();
      await route.fulfill({ response, json: { ...(await response.json()), cost_usd: null } });
    });
    await page.locator(".trace button").click();
    await page.waitForFunction(() => document.querySelector(".trace dl")?.textContent.includes("Costprice unknown"));
    await page.unroute("**/trace");
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
  await check("a new session starts with nothing", async () => {
    await page.click("#new-session");
    await page.waitForFunction(() => document.querySelectorAll("#history li").length === 0);
    expect((await page.locator("#run > article").count()) === 0 && !page.url().includes("#run"), "the old run is still there");
  });
  await check("nothing was blocked and the console is clean (English)", () => expectClean(faults));
  await context.close();
}

export async function chinese(browser) {
  const phone = { locale: "zh-CN", viewport: { width: 360, height: 740 }, colorScheme: "dark" };
  const { context, page, faults } = await open(browser, phone);
  await picture(page, "ask-phone-dark");
  await check("a Chinese diagnosis on a phone", async () => {
    expect((await page.getAttribute("html", "lang")) === "zh-CN", "a Chinese browser does not get Chinese");
    await diagnose(page, "支付超时是怎么回事", "结论");
    await openEvidence(page);
  });
  await check("no text of the page is left in English for a Chinese reader", async () => {
    await page.locator(".trace > summary").click();
    await page.waitForSelector(".trace progress");
    const own = await page.$$eval("header :is(a, button):not(#language), label, h3, summary, th, dt, footer", (nodes) => nodes.map((node) => node.textContent.trim()));
    const foreign = own.filter((text) => text && !/\p{Script=Han}/u.test(text));
    expect(own.length > 20 && foreign.length === 0, `in English: ${foreign.join(" | ")}`);
  });
  await picture(page, "report-phone-dark");
  await check("nothing is wider than the phone", () => expectNarrow(page, "the report"));
  await check("the language can be changed and is remembered", async () => {
    await page.click("#language");
    expect((await page.textContent("#submit")) === "Ask", "the page did not change to English");
    await page.reload();
    await ended(page);
    expect((await page.getAttribute("html", "lang")) === "en", "the choice was forgotten");
  });
  await check("nothing is wider than the phone in English either", async () => {
    for (const opens of [".trace", ".opens-evidence"]) await page.locator(`${opens} > summary`).first().click();
    await page.waitForSelector(".trace progress");
    await page.waitForSelector(".evidence");
    await expectNarrow(page, "the report");
  });
  await check("nothing was blocked and the console is clean (Chinese)", () => expectClean(faults));
  await context.close();
}
