// Owns the page as a whole: session, address (#run=ID, #documents, #document=ID), what is shown, and what is spoken to screen readers.

import { byId, fill } from "./dom.js";
import { ask, cancel, poll } from "./follow.js";
import { applyLanguage, t, toggleLanguage, word } from "./i18n.js";
import { Run } from "./run.js";
import { stored } from "./storage.js";
import { AskView } from "./view-ask.js";
import { DocumentsView } from "./view-documents.js";
import { HistoryView } from "./view-history.js";
import { RunView, statusWord } from "./view-run.js";
import { spoken } from "./view-timeline.js";

/** Runs that still go on, shown or not: leaving one and coming back finds its stream where it was. @type {Set<RunView>} */
const going = new Set();
/** @type {RunView | null} */
let shown = null;
/** Counts the sessions of this page: a run names its session only if no newer one was begun meanwhile. */
let epoch = 0;
/** The epoch each going run belongs to. @type {WeakMap<Run, number>} */
const born = new WeakMap();

const history = new HistoryView(byId("history-body"), () => ({ sessionId: stored.sessionId, openId: shown?.run.runId ?? null }));
const asking = new AskView(submit);
const documents = new DocumentsView(byId("documents"), say);
/** Whether the runbooks are shown, and not the questions. */
let reading = false;

/** @type {import("./view-run.js").Actions} */
const actions = {
  cancel: async (run) => {
    const problem = await cancel(run);
    if (problem && run.live) run.stop(problem, run.phase);
  },
  retry: (run) => void ask(run),
  check: (run) => void poll(run),
  edit: (query) => asking.edit(query),
  open: (runId) => { location.hash = `run=${runId}`; },
};

/** @param {string} query @returns {string | null} */
function submit(query) {
  const busy = [...going].some((view) => view.run.live && (view.run.sessionId === stored.sessionId && (view.run.sessionId !== null || born.get(view.run) === epoch)));
  if (busy) return t("faultBusy");
  const run = new Run({ query, sessionId: stored.sessionId });
  show(track(run));
  void ask(run);
  return null;
}

/** Makes the view of a run and keeps page and history in step with it. @param {Run} run */
function track(run) {
  const view = new RunView(run, actions);
  born.set(run, epoch);
  let said = "";
  going.add(view);
  run.listen((what) => {
    const first = what === "phase" && run.phase === "STREAMING";
    if (born.get(run) === epoch) stored.sessionId ??= run.sessionId;
    if (first && view === shown && !reading) replaceHash(`#run=${run.runId}`);
    if (run.live) going.add(view);
    else going.delete(view);
    if (view !== shown) return what === "phase" && first ? void history.refresh() : undefined;
    const words = what === "stage" ? spoken(/** @type {any} */ (run.rows.at(-1))) : phaseWords(run);
    if (words !== said) say(words);
    said = words;
    if (what === "phase") settle();
  });
  return view;
}

/** @param {Run} run */
function phaseWords(run) {
  if (run.phase !== "ENDED") return t(`phase.${run.phase}`);
  return t("announceEnd", { status: word("status", statusWord(run.status ?? "", run.intent, run.failure?.code)) });
}

/** After a phase change of the shown run. */
function settle() {
  entitle();
  void history.refresh();
}

function entitle() {
  const subject = reading ? t("docs.title") : shown?.run.query.slice(0, 60);
  document.title = subject ? t("title", { subject }) : "SuperBizAgent";
}

/** @param {string} words */
function say(words) {
  byId("live").textContent = words;
}

/** @param {RunView | null} view */
function show(view) {
  shown = view;
  fill(byId("run"), view?.node);
  byId("examples").hidden = view !== null;
  if (view) settle();
  else entitle();
}

/** Shows the runbooks, or the questions. @param {boolean} documents */
function turnTo(documents) {
  reading = documents;
  for (const id of ["ask", "run", "history"]) byId(id).hidden = reading;
  byId("documents").hidden = !reading;
  for (const [id, current] of /** @type {const} */ ([["to-ask", !reading], ["to-documents", reading]])) {
    if (current) byId(id).setAttribute("aria-current", "page");
    else byId(id).removeAttribute("aria-current");
  }
  entitle();
}

/** Shows what the address names: a run, the runbooks or one of them. */
function followAddress() {
  const opened = /^#document(?:s|=([\w-]{1,64}))$/.exec(location.hash);
  turnTo(opened !== null);
  if (opened) return documents.open(opened[1] ?? null);
  const id = /^#run=([\w-]{1,64})$/.exec(location.hash)?.[1];
  if (!id && shown?.run.runId) replaceHash(`#run=${shown.run.runId}`);
  if (!id || shown?.run.runId === id) return;
  const known = [...going].find((view) => view.run.runId === id);
  const view = known ?? track(new Run({ runId: id }));
  show(view);
  if (!known) void poll(view.run);
  view.focus();
}

/** @param {string} hash */
function replaceHash(hash) {
  window.history.replaceState(null, "", location.pathname + location.search + hash);
}

function startSession() {
  epoch += 1;
  stored.sessionId = null;
  replaceHash("");
  turnTo(false);
  show(null);
  void history.refresh();
  asking.edit("");
  say(t("sessionStarted"));
}

function draw() {
  applyLanguage();
  byId("language").textContent = t("otherLanguage");
  byId("language").lang = t("otherLanguage") === "English" ? "en" : "zh-CN";
  asking.drawExamples();
  for (const view of new Set([...going, ...(shown ? [shown] : [])])) view.draw();
  history.draw();
  documents.draw();
  entitle();
  drawKey();
}

function drawKey() {
  byId("forget-key").hidden = stored.accessKey === null;
}

byId("language").addEventListener("click", () => {
  toggleLanguage();
  draw();
});
byId("forget-key").addEventListener("click", () => {
  stored.accessKey = null;
  byId("language").focus();
  say(t("keyForgotten"));
});
addEventListener("accesskey", () => {
  drawKey();
  void history.refresh();
});
byId("new-session").addEventListener("click", startSession);
byId("skip").addEventListener("click", (event) => {
  // A jump by address would lose the run's own address.
  event.preventDefault();
  byId("main").focus();
});
addEventListener("hashchange", followAddress);

draw();
void history.refresh();
followAddress();
