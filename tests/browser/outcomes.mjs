// Every ending that is no answer, explained in plain words with what to do next. The demo model gives few of them, so most are
// put into the stream; what they have to say is the page's own words for that code.

import { ask, check, expect, expectClean, expectText, open, picture, stream } from "./harness.mjs";

const FAILURES = ["MODEL_UNAVAILABLE", "MODEL_OUTPUT_INVALID", "STORE_UNAVAILABLE", "BUDGET_EXHAUSTED", "DEADLINE_EXCEEDED", "RUN_CANCELLED", "CONTEXT_TOO_LARGE", "INTERNAL"];
const REASONS = ["SEMANTIC_UNSUPPORTED", "SEMANTIC_UNAVAILABLE", "EVIDENCE_VALIDATION_FAILED"];
const ID = "0190b3c4-0000-7000-8000-000000000001";

const words = (page, language) => page.evaluate(async (chosen) => (await import("/assets/messages.js")).messages[chosen], language);

/** Puts `events` in place of the next runs. */
async function answerWith(page, ...events) {
  await page.unroute("**/api/chat");
  await page.route("**/api/chat", (route) => route.fulfill(stream(...events)));
}

export async function failures(browser) {
  for (const [locale, language] of [["en-US", "en"], ["zh-CN", "zh"]]) {
    const { context, page, faults } = await open(browser, { locale, refusals: true });
    const texts = await words(page, language);
    await check(`each failure says what happened and what to do (${language})`, async () => {
      for (const code of FAILURES) {
        const retryable = code !== "CONTEXT_TOO_LARGE";
        await answerWith(page, ["failure", { run_id: ID, code, message: "fixed", retryable }], ["done", { run_id: ID, status: "FAILED" }]);
        const { kind, text } = await ask(page, "why?");
        expect(kind === code, `got ${kind}`);
        expect(texts[`failure.${code}`]?.length > 10, `no words for ${code}`);
        expectText(text, texts[`failure.${code}`]);
        expectText(text, texts.nothingPublished);
        if (code !== "RUN_CANCELLED") expectText(text, retryable ? texts.retryYes : texts.retryNo);
        expect((await page.locator(".outcome > button").count()) === 1, "no way to ask again");
      }
    });
    await check(`each fallback says why nothing is published and what was verified (${language})`, async () => {
      for (const reason of REASONS) {
        const body = {
          kind: "SAFE_FALLBACK", reason_code: reason, conclusion: null, message: "fixed words of the service",
          verified_sources: [{ source_type: "LOGS", source: "app-logs", timestamp: "2026-12-01T11:56:39Z" }],
          attempted: [{ tool: "query_mysql", error_code: "TIMEOUT" }, { tool: "query_logs", evidence_status: "NO_EVIDENCE" }],
        };
        await answerWith(page, ["content", { run_id: ID, intent: "DIAGNOSIS", outcome: "FALLBACK", body }], ["done", { run_id: ID, status: "FALLBACK" }]);
        const { text } = await ask(page, "why?");
        for (const key of [`reason.${reason}`, "fallbackNote", "toolError.TIMEOUT", "evidence.NO_EVIDENCE", "status.FALLBACK"]) expectText(text, texts[key]);
        expectText(text, "fixed words of the service");
        expectText(text, "app-logs");
      }
    });
    await picture(page, `fallback-${language}`);
    await check(`nothing was blocked and the console is clean (failures, ${language})`, () => expectClean(faults));
    await context.close();
  }
}

export async function realFallback(browser) {
  const { context, page, faults } = await open(browser);
  await check("a question that no runbook answers ends in the fallback, and stays so after a reload", async () => {
    const { kind, text } = await ask(page, "How do we rotate the TLS certificates of the mail relay?");
    expect(kind === "SAFE_FALLBACK", `got ${kind}: ${text.slice(0, 200)}`);
    await page.reload();
    await page.waitForSelector("#run > article[data-kind=SAFE_FALLBACK]");
    await page.locator(".outcome > button").click();
    expect((await page.inputValue("#query")).includes("TLS"), "the question does not come back for editing");
    expectClean(faults);
  });
  await context.close();
}

/** Both languages say the same things. */
export async function languages(browser) {
  const { context, page } = await open(browser);
  await check("both languages have a text for everything, with the same places to fill", async () => {
    const { en, zh } = await page.evaluate(async () => (await import("/assets/messages.js")).messages);
    const places = (text) => [...text.matchAll(/\{\w+\}/g)].map(String).sort().join();
    const differ = [...new Set([...Object.keys(en), ...Object.keys(zh)])].filter((key) => !en[key] || !zh[key] || places(en[key]) !== places(zh[key]));
    expect(Object.keys(en).length > 200 && differ.length === 0, `differ: ${differ}`);
  });
  await context.close();
}
