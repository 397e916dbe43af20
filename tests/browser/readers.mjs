// Readers with a keyboard or a screen reader: accessibility rules on every view in both colour schemes, focus, spoken progress.

import { ask, check, expect, expectAccessible, expectClean, expectText, open, openEvidence, problem } from "./harness.mjs";

async function everyView(page, scheme) {
  const rules = (view) => check(`no accessibility rule is broken: ${view} (${scheme})`, () => expectAccessible(page));
  await rules("question");
  await page.press("#query", "Enter");
  await rules("question with a fault");
  await ask(page, "checkout 5xx since 06:05, why?");
  for (let i = 0; i < (await page.locator(".opens-evidence").count()); i += 1) await openEvidence(page, i);
  await page.locator(".progress > summary").click();
  await rules("report with open evidence");
  await page.locator(".trace > summary").click();
  await page.waitForSelector(".trace progress");
  await page.getByRole("button", { name: "Not useful" }).click();
  await rules("trace and feedback");
  await ask(page, "How do we escalate a payment incident?");
  await openEvidence(page);
  await rules("answer from runbooks");
  await page.route("**/api/chat", (route) => route.fulfill(problem(401, "UNAUTHENTICATED", "send a key")), { times: 1 });
  await page.fill("#query", "why?");
  await page.press("#query", "Enter");
  await page.waitForSelector(".key");
  await rules("access key");
  await page.click("#to-documents");
  await page.waitForSelector(".entry");
  await page.fill("[type=search]", "payment");
  await page.press("[type=search]", "Enter");
  await page.waitForSelector(".results li");
  await rules("runbooks and search");
  await page.locator(".entry a").first().click();
  await page.waitForSelector(".document pre");
  await page.getByRole("button", { name: "Delete" }).click();
  await rules("runbook about to be deleted");
  await page.getByRole("button", { name: "Keep it" }).click();
  await page.getByRole("button", { name: "Edit" }).click();
  await page.fill("textarea.code", "");
  await page.click("#documents [type=submit]");
  await rules("editor with a fault");
}

export async function accessibility(browser) {
  for (const colorScheme of ["light", "dark"]) {
    const { context, page, faults } = await open(browser, { colorScheme, refusals: true });
    await everyView(page, colorScheme);
    await check(`nothing was blocked and the console is clean (${colorScheme})`, () => expectClean(faults));
    await context.close();
  }
}

export async function keyboard(browser) {
  const { context, page, faults } = await open(browser);
  const focused = (property) => page.evaluate((name) => document.activeElement?.[name] ?? "", property);
  await check("the first tab stop skips to the content", async () => {
    await page.keyboard.press("Tab");
    expect((await focused("id")) === "skip", `the first stop is ${await focused("outerHTML")}`);
    expect((await page.locator("#skip").boundingBox()).x >= 0, "it is not visible");
    await page.keyboard.press("Enter");
    expect((await focused("id")) === "main", "the focus is not in the content");
  });
  await check("a run tells its progress and its end to a screen reader", async () => {
    await page.evaluate(() => {
      globalThis.__said = [];
      new MutationObserver(() => globalThis.__said.push(document.getElementById("live").textContent)).observe(document.getElementById("live"), { childList: true });
    });
    await ask(page, "checkout 5xx since 06:05, why?");
    const said = await page.evaluate(() => globalThis.__said);
    expect(said.length >= 4 && said.some((words) => words.includes("Logs: evidence found")), `said: ${said.join(" | ")}`);
    expectText(said.at(-1), "The run has ended: Verified.");
  });
  await check("a report is read, and followed to its evidence, without a mouse", async () => {
    await page.locator(".verdict .ref").first().focus();
    await page.keyboard.press("Enter");
    expect((await focused("className")) === "analysis", "the reference does not lead to its analysis");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await page.locator(".opens-evidence[open] .evidence").first().waitFor();
  });
  await check("what is opened by its address gets the focus", async () => {
    await page.locator("#to-documents").focus();
    await page.keyboard.press("Enter");
    await page.waitForSelector(".entry");
    expectText(await focused("textContent"), "Runbooks");
    await page.locator(".entry a").first().focus();
    await page.keyboard.press("Enter");
    await page.waitForSelector(".document pre");
    expect((await focused("tagName")) === "H2", `the focus is on ${await focused("outerHTML")}`);
    await page.locator(".danger").focus();
    await page.keyboard.press("Enter");
    expectText(await focused("textContent"), "Keep it");
    await page.keyboard.press("Enter");
    expectText(await focused("textContent"), "Delete");
    expectClean(faults);
  });
  await context.close();
}

export async function motion(browser) {
  const { context, page } = await open(browser, { reducedMotion: "reduce" });
  await check("nothing moves for a reader who asked for that", async () => {
    await page.evaluate(() => document.getElementById("run").append(Object.assign(document.createElement("span"), { className: "pulse" })));
    expect((await page.locator(".pulse").evaluate((node) => getComputedStyle(node).animationName)) === "none", "the pulse moves");
  });
  await context.close();
}
