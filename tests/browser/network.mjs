// Runs that do not go smoothly: a lost stream, a lost network, a reload, a second tab, a tab in the background, a cancel.

import { Gateway } from "./gateway.mjs";
import { ask, BASE, begin, check, ended, expect, expectClean, expectText, open, openTab, reached, RUN_TIMEOUT_MS } from "./harness.mjs";

const DIAGNOSIS = "checkout 5xx since 06:05, why?";
/** A run of the demo model takes half a second: a cancel may come too late now and then. */
const CANCEL_TRIES = 6;

/** A page behind a gateway of its own. */
async function withGateway(browser, act) {
  const gateway = new Gateway(BASE);
  const opened = await open(browser, { base: await gateway.start(), refusals: true });
  try {
    await act({ gateway, ...opened });
  } finally {
    await opened.context.close();
    gateway.stop();
  }
}

function asked(posts) {
  return posts.filter((path) => path === "/api/chat").length;
}

/** Holds the stream in the middle of a run and waits until the page shows that middle. */
async function inTheMiddle({ gateway, page }) {
  gateway.hold();
  await begin(page, DIAGNOSIS);
  await page.waitForSelector(".timeline .row.call.started");
}

export async function lostStream(browser) {
  const { context, page, posts } = await open(browser);
  await page.route("**/api/chat", async (route) => {
    const response = await route.fetch({ timeout: RUN_TIMEOUT_MS });
    const text = await response.text();
    await route.fulfill({ response, body: text.slice(0, text.indexOf("event: status")) });
  });
  await check("a stream that is lost is followed to its result without asking twice", async () => {
    const { kind } = await ask(page, "What can you do?");
    expect(kind === "SYSTEM_REPLY", `got ${kind}`);
    expect(asked(posts) === 1, `the question was posted ${asked(posts)} times`);
  });
  await context.close();
}

export async function reload(browser) {
  await withGateway(browser, async ({ gateway, page, posts, faults }) => {
    await check("a reload in the middle of a run leads to its result without asking twice", async () => {
      await inTheMiddle({ gateway, page });
      await page.reload();
      const { kind } = await ended(page);
      expect(kind === "DIAGNOSIS_REPORT", `got ${kind}`);
      expect(asked(posts) === 1, `the question was posted ${asked(posts)} times`);
      expectClean(faults);
    });
  });
}

export async function offline(browser) {
  await withGateway(browser, async ({ gateway, context, page, posts, faults }) => {
    await check("a network that goes away in the middle of a run is said in plain words", async () => {
      await inTheMiddle({ gateway, page });
      await context.setOffline(true);
      gateway.cut();
      const { text } = await reached(page, ["POLLING"]);
      expectText(text, "There is no live connection to this run. It goes on in the service");
      await page.waitForFunction(() => document.querySelector("#run > article").textContent.includes("The service could not be reached"));
    });
    await check("when the network is back, so is the result, and the question was asked once", async () => {
      await context.setOffline(false);
      const { kind, text } = await ended(page);
      expect(kind === "DIAGNOSIS_REPORT", `got ${kind}`);
      expect(!text.includes("could not be reached"), "the trouble is still told");
      expect(asked(posts) === 1, `the question was posted ${asked(posts)} times`);
      expectClean(faults);
    });
    await check("a question that can't be sent says so, and is sent again with the same key", async () => {
      const keys = [];
      page.on("request", (r) => r.url().endsWith("/api/chat") && keys.push(r.headers()["idempotency-key"]));
      await context.setOffline(true);
      await begin(page, "What can you do?");
      const { text } = await reached(page, ["REFUSED"]);
      expectText(text, "Asking again is safe");
      await context.setOffline(false);
      await page.locator(".ways button").first().click();
      const { kind } = await ended(page);
      expect(kind === "SYSTEM_REPLY", `got ${kind}`);
      expect(keys.length === 2 && keys[0] === keys[1], `keys: ${keys}`);
    });
  });
}

export async function cancelled(browser) {
  const { context, page, faults } = await open(browser);
  const answers = [];
  page.on("response", (r) => r.url().endsWith("/cancel") && answers.push(r.status()));
  await check("a run is cancelled, says so, and publishes nothing", async () => {
    // A person is slower than the demo model: the button is pressed the moment it is there.
    await page.evaluate(() => {
      const press = () => [...document.querySelectorAll("#run .state button:not(:disabled)")].forEach((button) => button.click());
      new MutationObserver(press).observe(document.getElementById("run"), { childList: true, subtree: true });
    });
    let seen;
    for (let i = 0; i < CANCEL_TRIES && seen?.kind !== "RUN_CANCELLED"; i += 1) seen = await ask(page, DIAGNOSIS);
    expect(seen.kind === "RUN_CANCELLED", `${CANCEL_TRIES} runs ended before they were cancelled; answers: ${answers}`);
    expect(answers.at(-1) === 202, `the cancel was answered ${answers.at(-1)}`);
    expectText(seen.text, "The run was cancelled");
    expectText(seen.text, "Nothing was published");
    expect((await page.locator(".analysis").count()) === 0, "something of the draft is shown");
    expectClean(faults);
  });
  await context.close();
}

export async function tabs(browser) {
  const { context, page, faults } = await open(browser);
  const second = await openTab(context);
  await check("two tabs ask at the same time, each in its own session", async () => {
    await begin(page, DIAGNOSIS);
    await second.page.bringToFront();
    await begin(second.page, "What can you do?");
    const [one, two] = [await ended(page), await ended(second.page)];
    expect(one.kind === "DIAGNOSIS_REPORT" && two.kind === "SYSTEM_REPLY", `got ${one.kind} and ${two.kind}`);
    const sessions = await Promise.all([page, second.page].map((tab) => tab.evaluate(() => sessionStorage.getItem("superbiz.session"))));
    expect(sessions[0] && sessions[1] && sessions[0] !== sessions[1], `the sessions are ${sessions}`);
  });
  await check("a run opened by its address in another tab is the same run", async () => {
    const third = await openTab(context, { hash: new URL(page.url()).hash });
    const { kind, text } = await ended(third.page);
    expect(kind === "DIAGNOSIS_REPORT", `got ${kind}`);
    expectText(text, new URL(page.url()).hash.slice("#run=".length));
    expectClean([...faults, ...second.faults, ...third.faults]);
  });
  await context.close();
}

export async function background(browser) {
  const { context, page } = await open(browser);
  const address = new URL((await ask(page, "What can you do?"), page.url())).hash;
  // What a browser does to a tab that is not looked at: it is hidden and nothing is painted.
  await context.addInitScript(() => {
    Object.defineProperty(Document.prototype, "visibilityState", { get: () => "hidden" });
    Object.defineProperty(Document.prototype, "hidden", { get: () => true });
    globalThis.requestAnimationFrame = () => 0;
    globalThis.requestIdleCallback = () => 0;
  });
  await check("a tab opened in the background is complete when it is looked at", async () => {
    const hidden = await openTab(context, { hash: address });
    expect((await ended(hidden.page)).kind === "SYSTEM_REPLY", "the run is not shown");
    expectText(await hidden.page.title(), "What can you do?");
    expect((await ask(hidden.page, "What can you do?")).kind === "SYSTEM_REPLY", "a run does not end in the background");
    expect(asked(hidden.posts) === 1, "opening the page asked something by itself");
    expectClean(hidden.faults);
  });
  await context.close();
}
