// A gateway between browser and service that a test can make as bad as a real one: it holds an event stream, or loses it.

import http from "node:http";

export class Gateway {
  #server = http.createServer((request, response) => this.#forward(request, response));
  /** @type {Set<import("node:net").Socket>} */
  #sockets = new Set();
  #release = Promise.resolve();
  #open = () => {};

  /** @param {string} base the service */
  constructor(base) {
    this.upstream = new URL(base);
    this.#server.on("connection", (socket) => {
      this.#sockets.add(socket);
      socket.on("close", () => this.#sockets.delete(socket));
    });
  }

  /** @returns {Promise<string>} its address */
  start() {
    return new Promise((resolve) => {
      this.#server.listen(0, "127.0.0.1", () => resolve(`http://127.0.0.1:${this.#server.address().port}`));
    });
  }

  /** From now on a stream stops after its first tool call has begun. */
  hold() {
    this.#release = new Promise((resolve) => { this.#open = resolve; });
  }

  release() {
    this.#open();
    this.#release = Promise.resolve();
  }

  /** Loses every connection there is. */
  cut() {
    for (const socket of this.#sockets) socket.destroy();
    this.release();
  }

  stop() {
    this.cut();
    this.#server.close();
  }

  #forward(request, response) {
    const { hostname, port, host } = this.upstream;
    const options = { hostname, port, method: request.method, path: request.url, headers: { ...request.headers, host } };
    const onward = http.request(options, (answer) => {
      response.writeHead(answer.statusCode, answer.headers);
      response.flushHeaders();
      if (answer.headers["content-type"]?.startsWith("text/event-stream")) void this.#pass(answer, response);
      else answer.pipe(response);
    });
    onward.on("error", () => response.destroy());
    request.pipe(onward);
  }

  /** Event by event, so that it can be held between two of them. */
  async #pass(answer, response) {
    let rest = "";
    try {
      for await (const text of answer.setEncoding("utf8")) {
        const events = (rest + text).split("\n\n");
        rest = events.pop();
        for (const event of events) {
          if (response.destroyed) return;
          response.write(`${event}\n\n`);
          if (event.includes('"stage":"TOOL"')) await this.#release;
        }
      }
      response.end();
    } catch {
      response.destroy();
    }
  }
}
