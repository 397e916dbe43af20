// The runbooks on the page: list, search, add from a file, edit, two writers at once, delete; on a phone too.

import { ask, BASE, check, expect, expectClean, expectNarrow, expectText, open, picture, problem } from "./harness.mjs";

const ID = "tls-renewal";
const TEXT = "# Renewing certificates\n\nRun the quokkacert job, then reload the edge proxies.";

const file = (name, content, mimeType = "text/markdown") => ({ name, mimeType, buffer: Buffer.from(content) });

async function show(page) {
  await page.click("#to-documents");
  await page.waitForSelector(".entry");
}

async function edit(page, id) {
  await page.goto(`${BASE}/#document=${id}`);
  await page.getByRole("button", { name: "Edit" }).click();
  await page.waitForSelector("textarea.code");
}

const save = (page) => page.click("#documents [type=submit]");
const waitForWords = (page, text) => page.waitForFunction((part) => document.getElementById("documents").textContent.includes(part), text);

export async function documents(browser) {
  const { context, page, faults } = await open(browser, { refusals: true });
  const stored = async () => (await page.request.get(`${BASE}/api/documents/${ID}`)).json();
  await page.request.delete(`${BASE}/api/documents/${ID}`);

  await check("the runbooks are listed page by page", async () => {
    await page.route("**/api/documents?**", (route) => route.continue({ url: route.request().url().replace("limit=20", "limit=2") }));
    await show(page);
    const all = (await (await page.request.get(`${BASE}/api/documents`)).json()).documents.map((d) => d.title);
    expect((await page.locator(".entry").count()) === 2, "the first page is not one page");
    for (let n = 4; n < all.length + 2; n += 2) {
      await page.getByRole("button", { name: "Show more" }).click();
      await page.waitForFunction((least) => document.querySelectorAll(".entry").length >= least, Math.min(n, all.length));
    }
    expect(await page.evaluate(() => Boolean(document.activeElement.closest(".entry")?.previousElementSibling)), "the focus is not at the new entries");
    const shown = await page.locator(".entry strong").allTextContents();
    expect(JSON.stringify(shown) === JSON.stringify(all), `shown: ${shown.join(" | ")}`);
    expect((await page.getByRole("button", { name: "Show more" }).count()) === 0, "it offers more than there is");
    await page.unroute("**/api/documents?**");
  });
  await check("a search shows what the assistant would find", async () => {
    await page.fill("[type=search]", "who is called when a payment incident escalates?");
    await page.press("[type=search]", "Enter");
    await page.waitForSelector(".results li");
    expectText(await page.textContent(".results"), "Payment incident escalation");
    expect((await page.textContent(".results blockquote")).length > 20, "no excerpt");
    await picture(page, "runbooks-light");
  });
  await check("a search that can't be answered says so and can be repeated", async () => {
    await page.route("**/api/search?**", (route) => route.fulfill(problem(503, "STORE_UNAVAILABLE", "", { "retry-after": "5" })), { times: 1 });
    await page.press("[type=search]", "Enter");
    await page.waitForSelector(".results .problem");
    await page.click(".results button");
    await page.waitForSelector(".results li");
  });
  await check("files that are no text are refused with what would be right", async () => {
    await page.getByRole("button", { name: "Add a runbook" }).click();
    await page.setInputFiles("[type=file]", file("scan.pdf", "%PDF", "application/pdf"));
    await waitForWords(page, "Only .md and .txt files");
    await page.setInputFiles("[type=file]", file("latin.txt", Buffer.from([0x63, 0x61, 0x66, 0xe9]), "text/plain"));
    await waitForWords(page, "not UTF-8 text");
    await page.setInputFiles("[type=file]", file("long.md", "x".repeat(1024 * 1024 + 1)));
    await waitForWords(page, "at most 1 MiB. Split it");
    expect((await page.inputValue("textarea.code")) === "", "a refused file left something");
    await save(page);
    await waitForWords(page, "A runbook needs a text.");
  });
  await check("what is being written survives a look at something else", async () => {
    await page.setInputFiles("[type=file]", file(`${ID}.md`, TEXT));
    await page.waitForFunction((text) => document.querySelector("textarea.code").value === text, TEXT);
    await page.click("#to-ask");
    await page.click("#to-documents");
    expect((await page.inputValue("textarea.code")) === TEXT, "the text is lost");
    await page.click("#language");
    expect((await page.inputValue("textarea.code")) === TEXT, "the text is lost with the language");
    await page.click("#language");
  });
  await check("what the service refuses is explained, and the text stays", async () => {
    await page.fill("[type=url]", "javascript:alert(1)");
    await save(page);
    await waitForWords(page, "source must be an http or https URL");
    expect((await page.inputValue("textarea.code")) === TEXT, "the text is lost");
    await page.fill("[type=url]", "https://wiki.example/tls");
  });
  await check("a runbook from a file is added and found at once", async () => {
    await save(page);
    await page.waitForSelector(".document pre");
    expect(page.url().endsWith(`#document=${ID}`), `the address is ${page.url()}`);
    const document = await stored();
    expect(document.text === TEXT && document.title === "Renewing certificates" && document.source === "https://wiki.example/tls", JSON.stringify(document));
    await picture(page, "runbook-light");
    await show(page);
    await page.fill("[type=search]", "quokkacert");
    await page.press("[type=search]", "Enter");
    await page.waitForFunction(() => document.querySelector(".results")?.textContent.includes("quokkacert job"));
  });
  await check("an id that is taken is not overwritten", async () => {
    await page.getByRole("button", { name: "Add a runbook" }).click();
    await page.setInputFiles("[type=file]", file(`${ID}.txt`, "# Another", "text/plain"));
    await page.waitForFunction(() => document.querySelector("textarea.code").value !== "");
    await save(page);
    await waitForWords(page, "A runbook with this id exists already");
    expect((await stored()).version === 1, "it was overwritten");
    await page.getByRole("button", { name: "Cancel" }).click();
  });
  await check("an edit makes a new version", async () => {
    await edit(page, ID);
    await page.fill("textarea.code", `${TEXT}\n\nTell the duty manager.`);
    await save(page);
    await waitForWords(page, "version 2");
    expect((await stored()).text.endsWith("Tell the duty manager."), "the text is not stored");
  });
  await check("two writers: the slower one is told, loses nothing and decides", async () => {
    await edit(page, ID);
    await page.fill("textarea.code", "# Mine");
    await page.request.put(`${BASE}/api/documents/${ID}`, { data: { text: "# Theirs" } });
    await save(page);
    await waitForWords(page, "somebody else saved version 3");
    expect((await stored()).text === "# Theirs", "theirs was overwritten without asking");
    expect((await page.inputValue("textarea.code")) === "# Mine", "mine is lost");
    await page.locator("#documents details summary").click();
    await waitForWords(page, "# Theirs");
    await picture(page, "conflict-light");
    await page.getByRole("button", { name: "Save over the newer version" }).click();
    await page.waitForSelector(".document pre");
    expect((await stored()).text === "# Mine" && (await stored()).version === 4, "mine was not saved");
  });
  await check("two writers: theirs can be taken instead", async () => {
    await edit(page, ID);
    await page.fill("textarea.code", "# Mine again");
    await page.request.put(`${BASE}/api/documents/${ID}`, { data: { text: "# Theirs again" } });
    await save(page);
    await page.getByRole("button", { name: "Drop mine" }).click();
    expect((await page.inputValue("textarea.code")) === "# Theirs again", "theirs is not taken");
    await page.getByRole("button", { name: "Cancel" }).click();
    await page.waitForSelector(".document pre");
  });
  await check("someone without the right to write is told so", async () => {
    await page.route(`**/api/documents/${ID}`, (route) => (route.request().method() === "DELETE" ? route.fulfill(problem(403, "FORBIDDEN", "documents:write is missing")) : route.continue()));
    await page.getByRole("button", { name: "Delete" }).click();
    await page.getByRole("button", { name: "Yes, delete" }).click();
    await waitForWords(page, "your access key lacks the right");
    await page.unroute(`**/api/documents/${ID}`);
  });
  await check("a delete asks first, then deletes", async () => {
    await page.goto(`${BASE}/#documents`);
    await page.goto(`${BASE}/#document=${ID}`);
    await page.getByRole("button", { name: "Delete" }).click();
    await page.getByRole("button", { name: "Keep it" }).click();
    expect((await stored()).version === 5, "it is gone although it was to be kept");
    await page.getByRole("button", { name: "Delete" }).click();
    await page.getByRole("button", { name: "Yes, delete" }).click();
    await page.waitForSelector(".entry");
    expect((await page.request.get(`${BASE}/api/documents/${ID}`)).status() === 404, "it is still there");
    expect(!(await page.locator(".entry code").allTextContents()).includes(ID), "it is still listed");
  });
  await check("a runbook that is gone is said to be gone", async () => {
    await page.goto(`${BASE}/#document=${ID}`);
    await waitForWords(page, "There is nothing under this address");
  });
  await check("the way back leads to the run that was shown", async () => {
    await page.click("#to-ask");
    await ask(page, "What can you do?");
    const address = page.url();
    await show(page);
    await page.click("#to-ask");
    expect(page.url() === address && (await page.locator("#run > article").isVisible()), `the address is ${page.url()}`);
  });
  await check("nothing was blocked and the console is clean (runbooks)", () => expectClean(faults));
  await context.close();
}

export async function documentsOnPhone(browser) {
  const { context, page, faults } = await open(browser, { viewport: { width: 360, height: 740 }, colorScheme: "dark" });
  await check("runbooks fit a phone: list, search, text and form", async () => {
    await show(page);
    await page.fill("[type=search]", "支付超时");
    await page.press("[type=search]", "Enter");
    await page.waitForSelector(".results li");
    await expectNarrow(page, "the list");
    await picture(page, "runbooks-phone-dark");
    await page.locator(".entry a").first().click();
    await page.waitForSelector(".document pre");
    await expectNarrow(page, "a runbook");
    await page.getByRole("button", { name: "Edit" }).click();
    await page.waitForSelector("textarea.code");
    await expectNarrow(page, "the form");
    await picture(page, "editor-phone-dark");
    expectClean(faults);
  });
  await context.close();
}
