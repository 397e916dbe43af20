// Who may: the access key is asked for, kept for this tab only, sent with everything, and forgotten when told so.

import { ask, begin, check, ended, expect, expectClean, expectText, open, openTab, problem, reached } from "./harness.mjs";

const KEY = "sk-browser-right";

/** The service as it is with keys: nothing without the right one. Returns the authorization of each request. */
async function guard(context) {
  const seen = [];
  await context.route("**/api/**", (route) => {
    const authorization = route.request().headers().authorization;
    seen.push(authorization);
    return authorization === `Bearer ${KEY}` ? route.continue() : route.fulfill(problem(401, "UNAUTHENTICATED", "send a key"));
  });
  return seen;
}

export async function key(browser) {
  const { context, page, faults } = await open(browser, { refusals: true });
  const seen = await guard(context);
  await check("a service that wants a key is given one, and the question goes on", async () => {
    await begin(page, "What can you do?");
    expectText((await reached(page, ["REFUSED"])).text, "Enter your access key");
    await page.fill(".key input", "sk-wrong");
    await page.press(".key input", "Enter");
    await page.waitForFunction(() => document.querySelector("#run").textContent.includes("did not accept your access key"));
    await page.fill(".key input", ` ${KEY}\u200b\n`);
    await page.press(".key input", "Enter");
    expect((await ended(page)).kind === "SYSTEM_REPLY", "the question did not go on");
  });
  await check("each request carries the key", async () => {
    await page.waitForSelector("#history li");
    const before = seen.length;
    await page.locator(".trace > summary").click();
    await page.waitForSelector(".trace progress");
    await page.click("#to-documents");
    await page.waitForSelector(".entry");
    const later = seen.slice(before);
    expect(later.length >= 2 && later.every((value) => value === `Bearer ${KEY}`), `sent: ${later}`);
  });
  await check("the key is kept for this tab only", async () => {
    const kept = await page.evaluate(() => ({ tab: JSON.stringify(sessionStorage), always: JSON.stringify(localStorage) + document.cookie + location.href }));
    expect(kept.tab.includes(KEY), "the tab does not know the key");
    expect(!kept.always.includes(KEY), "the key is kept outside of the tab");
    const other = await openTab(context, { hash: "#documents", refusals: true });
    await other.page.waitForSelector("#documents .key");
    await other.page.close();
    await page.reload();
    await page.waitForSelector(".entry");
  });
  await check("the key is forgotten when told so", async () => {
    await page.click("#forget-key");
    expect(!(await page.evaluate(() => JSON.stringify(sessionStorage))).includes(KEY), "the tab still knows the key");
    expect(!(await page.locator("#forget-key").isVisible()), "there is still something to forget");
    await page.reload();
    await page.waitForSelector("#documents .key");
    expect(seen.at(-1) === undefined, `sent: ${seen.at(-1)}`);
  });
  await check("one key given lets everything on the page go on", async () => {
    await page.fill("#documents .key input", KEY);
    await page.click("#documents .key button");
    await page.waitForSelector(".entry");
    await page.click("#to-ask");
    await page.waitForSelector("#history li");
    expect((await page.locator(".key").count()) === 0, "a key is still asked for");
  });
  await check("nothing was blocked and the console is clean (key)", () => expectClean(faults));
  await context.close();
}

export async function limits(browser) {
  const { context, page, faults } = await open(browser, { refusals: true });
  const refusals = [
    [problem(403, "FORBIDDEN", "the key lacks the scope chat"), "your access key lacks the right", "the key lacks the scope chat"],
    [problem(429, "RATE_LIMITED", "30 runs a minute", { "retry-after": "42" }), "Your limit is reached", "Wait 42 s"],
    [{ status: 429, headers: { "retry-after": "7" }, body: "<html>slow down</html>" }, "Your limit is reached", "Wait 7 s"],
    [problem(413, "PAYLOAD_TOO_LARGE", "at most 8192 bytes"), "This is too long", "at most 8192 bytes"],
    [problem(409, "SESSION_BUSY", "one at a time"), "Another run of this session", "start a new session"],
    [problem(503, "STORE_UNAVAILABLE", "try again", { "retry-after": "5" }), "A store the service needs is down", "Wait 5 s"],
    [{ status: 502, body: "<html>bad gateway</html>" }, "answered with status 502", "Try again"],
  ];
  for (const [answer, what, next] of refusals) {
    await check(`a refusal of ${answer.status} is said in plain words: ${what}`, async () => {
      await page.route("**/api/chat", (route) => route.fulfill(answer), { times: 1 });
      await begin(page, "What can you do?");
      const { text } = await reached(page, ["REFUSED"]);
      expectText(text, what);
      expectText(text, next);
    });
  }
  await check("after a refusal the same page still answers", async () => {
    expect((await ask(page, "What can you do?")).kind === "SYSTEM_REPLY", "no answer");
    expectClean(faults);
  });
  await context.close();
}
