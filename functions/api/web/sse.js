// Owns the decoding of a text/event-stream: bytes in, whole events out. Knows nothing of runs.

/** @typedef {{event: string, data: string, id: string}} SseEvent */

/** Characters one event may have before the stream is given up as broken. */
const MAX_BUFFER = 4 * 1024 * 1024;

/** Feeds on chunks cut anywhere: within a UTF-8 sequence, a CRLF pair or a field name. */
export class SseParser {
  #decoder = new TextDecoder("utf-8");
  #rest = "";
  #event = "";
  /** @type {string[]} */
  #data = [];
  #id = "";

  /**
   * @param {Uint8Array} bytes
   * @returns {SseEvent[]} the events these bytes completed
   */
  push(bytes) {
    let text = this.#rest + this.#decoder.decode(bytes, { stream: true });
    // A CR at the very end may be the first half of a CRLF: it waits for the next chunk.
    let held = "";
    if (text.endsWith("\r")) {
      held = "\r";
      text = text.slice(0, -1);
    }
    const lines = text.split(/\r\n|\n|\r/);
    this.#rest = (lines.pop() ?? "") + held;
    if (this.#rest.length > MAX_BUFFER) throw new Error("an event is too long");
    /** @type {SseEvent[]} */
    const events = [];
    for (const line of lines) {
      const event = this.#line(line);
      if (event) events.push(event);
    }
    return events;
  }

  /** @param {string} line @returns {SseEvent | null} */
  #line(line) {
    if (line === "") return this.#dispatch();
    const colon = line.indexOf(":");
    if (colon === 0) return null;
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (field === "event") this.#event = value;
    else if (field === "data") this.#data.push(value);
    else if (field === "id" && !value.includes("\0")) this.#id = value;
    return null;
  }

  #dispatch() {
    const event = { event: this.#event || "message", data: this.#data.join("\n"), id: this.#id };
    const empty = this.#data.length === 0;
    this.#event = "";
    this.#data = [];
    return empty ? null : event;
  }
}

/**
 * The events of a response body. Ends when the body ends; throws when it breaks, or when not even a keep-alive came for
 * `silenceMs`. An event cut off by the end is dropped, as it must be.
 * @param {ReadableStream<Uint8Array>} body
 * @param {number} silenceMs
 * @returns {AsyncGenerator<SseEvent>}
 */
export async function* readEvents(body, silenceMs) {
  const parser = new SseParser();
  const reader = body.getReader();
  try {
    for (;;) {
      const { done, value } = await within(reader.read(), silenceMs);
      if (done) return;
      yield* parser.push(value);
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

/** @template T @param {Promise<T>} promise @param {number} ms @returns {Promise<T>} */
function within(promise, ms) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error("the stream went silent")), ms);
    promise.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
