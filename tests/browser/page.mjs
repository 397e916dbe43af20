// The web page in a real browser against a running service with the offline demo model.
//
//   BASE_URL=http://127.0.0.1:9000 node page.mjs [PART…]
//
// CHROMIUM: the browser, default /usr/bin/chromium. SCREENSHOTS: a folder for pictures of what was checked. PART: only the parts
// so named. Prints `N passed, N failed`; the exit code is 0 only if nothing failed. No times are asserted, only what arrives.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";

import * as access from "./access.mjs";
import * as answers from "./answers.mjs";
import * as documents from "./documents.mjs";
import * as feedback from "./feedback.mjs";
import { BASE, check, tally } from "./harness.mjs";
import * as hostile from "./hostile.mjs";
import * as network from "./network.mjs";
import * as outcomes from "./outcomes.mjs";
import * as readers from "./readers.mjs";

const ARGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];
const PARTS = Object.entries({ ...answers, ...readers, ...outcomes, ...network, ...feedback, ...documents, ...access, ...hostile });

async function main(chosen) {
  if (!BASE) throw new Error("set BASE_URL to the running service, for example http://127.0.0.1:9000");
  const profile = await mkdtemp(join(tmpdir(), "superbiz-browser-"));
  const executablePath = process.env.CHROMIUM || "/usr/bin/chromium";
  const browser = await chromium.launch({ executablePath, headless: true, args: ARGS, env: { ...process.env, HOME: profile } });
  try {
    for (const [name, part] of PARTS.filter(([name]) => chosen.length === 0 || chosen.includes(name))) {
      await part(browser).catch((error) => check(`${name}: the page opens`, () => { throw error; }));
    }
  } finally {
    await browser.close();
    await rm(profile, { recursive: true, force: true });
  }
}

await main(process.argv.slice(2)).catch((error) => {
  tally.failed += 1;
  console.error(`FAIL  ${error?.message ?? error}`);
});
console.log(`${tally.passed} passed, ${tally.failed} failed`);
process.exit(tally.failed === 0 && tally.passed > 0 ? 0 : 1);
