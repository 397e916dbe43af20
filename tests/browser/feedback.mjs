// What a reader says of a run: sent, shown, kept, changed, and not lost when it can't be sent.

import { ask, check, ended, expect, expectClean, expectText, open, problem } from "./harness.mjs";

export async function feedback(browser) {
  const { context, page, faults } = await open(browser, { refusals: true });
  const sent = [];
  page.on("request", (r) => r.url().endsWith("/feedback") && sent.push(JSON.parse(r.postData())));
  await ask(page, "What can you do?");
  await check("a rating with a comment is sent and shown", async () => {
    expectText(await page.textContent(".feedback"), "Was this useful?");
    await page.getByRole("button", { name: "Useful", exact: true }).click();
    await page.fill(".feedback textarea", "good <b>answer</b>");
    await page.click(".feedback [type=submit]");
    await page.waitForSelector(".feedback .said");
    expect(JSON.stringify(sent) === '[{"rating":"UP","comment":"good <b>answer</b>"}]', JSON.stringify(sent));
    expectText(await page.textContent(".feedback"), "good <b>answer</b>");
    expect((await page.locator(".feedback b").count()) === 0, "markup was parsed");
  });
  await check("it is still there after a reload", async () => {
    await page.reload();
    await ended(page);
    expectText(await page.textContent(".feedback"), "Your feedback: Useful");
    expectText(await page.textContent(".feedback"), "good <b>answer</b>");
  });
  await check("what can't be sent is explained and not lost", async () => {
    await page.route("**/feedback", (route) => route.fulfill(problem(503, "STORE_UNAVAILABLE", "a store is down", { "retry-after": "5" })));
    await page.locator(".feedback button").click();
    await page.getByRole("button", { name: "Not useful" }).click();
    await page.selectOption(".feedback select", "WRONG_CAUSE");
    await page.fill(".feedback textarea", "it was the channel");
    await page.click(".feedback [type=submit]");
    await page.waitForSelector(".feedback .problem");
    expectText(await page.textContent(".feedback .problem"), "Wait 5 s");
    expect((await page.inputValue(".feedback textarea")) === "it was the channel", "the comment is lost");
    expect((await page.inputValue(".feedback select")) === "WRONG_CAUSE", "the reason is lost");
  });
  await check("a later word replaces the first", async () => {
    await page.unroute("**/feedback");
    await page.click(".feedback .problem button");
    await page.waitForSelector(".feedback .said");
    await page.reload();
    await ended(page);
    const text = await page.textContent(".feedback");
    expectText(text, "Not useful");
    expectText(text, "The cause is wrong");
    expectText(text, "it was the channel");
    expect(!text.includes("good"), "the first word is still there");
  });
  await check("nothing was blocked and the console is clean (feedback)", () => expectClean(faults));
  await context.close();
}
