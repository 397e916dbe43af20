// Owns what the browser remembers: the language for good; session id and access key for this tab. All of it is optional:
// a browser that forbids storage only forgets sooner.

/** @type {Map<string, string>} */
const memory = new Map();

/** @param {() => Storage} area @param {string} key @returns {string | null} */
function read(area, key) {
  try {
    return area().getItem(key) ?? memory.get(key) ?? null;
  } catch {
    return memory.get(key) ?? null;
  }
}

/** @param {() => Storage} area @param {string} key @param {string | null} value */
function write(area, key, value) {
  if (value === null) memory.delete(key);
  else memory.set(key, value);
  try {
    if (value === null) area().removeItem(key);
    else area().setItem(key, value);
  } catch {
    // Kept in memory above.
  }
}

const tab = () => sessionStorage;
const always = () => localStorage;

export const stored = {
  get language() { return read(always, "superbiz.language"); },
  set language(value) { write(always, "superbiz.language", value); },
  get sessionId() { return read(tab, "superbiz.session"); },
  set sessionId(value) { write(tab, "superbiz.session", value); },
  get accessKey() { return read(tab, "superbiz.key"); },
  /** Tells the window, by an `accesskey` event: what was refused without the key may be asked for again. */
  set accessKey(value) {
    write(tab, "superbiz.key", value);
    dispatchEvent(new Event("accesskey"));
  },
};
