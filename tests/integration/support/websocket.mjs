// A WebSocket client on the `ws` package: messages wait in an inbox, answers are found by their ref.

import WebSocket from "ws";
import { Inbox, within } from "./wait.mjs";

let refs = 0;

export class WsClient {
  inbox = new Inbox();

  /** Opens `ws://.../replication` plus the query; rejects with `status` and `body` where the handshake is refused. */
  static async open(gateway, query = "", { protocols = [], headers = {}, keepText = false } = {}) {
    const socket = new WebSocket(`${gateway.ws}/replication${query}`, protocols, { headers, perMessageDeflate: false });
    const client = new WsClient(socket, keepText);
    const opened = new Promise((resolve, reject) => {
      socket.once("open", resolve);
      socket.once("error", reject);
      socket.once("unexpected-response", (_, response) => {
        let body = "";
        response.on("data", (part) => (body += part));
        response.on("end", () => {
          const { statusCode, headers: answered } = response;
          reject(
            Object.assign(new Error(`handshake refused: ${statusCode} ${body}`), {
              status: statusCode,
              headers: answered,
              text: body,
              get json() {
                return JSON.parse(body);
              },
            }),
          );
          socket.terminate();
        });
      });
    });
    await within(opened, "the WebSocket handshake");
    return client;
  }

  constructor(socket, keepText) {
    this.socket = socket;
    socket.on("message", (bytes, isBinary) => {
      const text = bytes.toString("utf8");
      const message = isBinary ? { "@type": "binary" } : JSON.parse(text);
      if (keepText) Object.defineProperty(message, "text", { value: text });
      this.inbox.push(message);
    });
    socket.on("error", () => {});
    this.closed = new Promise((resolve) => {
      socket.once("close", (code, reason) => {
        resolve({ code, reason: reason.toString() });
        this.inbox.end(`the WebSocket closed with ${code}`);
      });
    });
  }

  /** A value becomes JSON; a text goes out as it stands. */
  send(message) {
    this.socket.send(typeof message === "string" ? message : JSON.stringify(message));
  }

  next(seconds) {
    return this.inbox.next("a message", seconds);
  }

  take(fits, what, seconds) {
    return this.inbox.take(fits, what, seconds);
  }

  /** The next message of that @type. */
  typed(type, seconds) {
    return this.inbox.take((message) => message["@type"] === type, `a message of type ${type}`, seconds);
  }

  frame(stream, seconds) {
    return this.inbox.take(
      (message) => message["@type"] === "ReplicationFrame" && message.event.streamId === stream,
      `a frame of ${stream}`,
      seconds,
    );
  }

  async frames(stream, count, seconds) {
    const all = [];
    while (all.length < count) all.push(await this.frame(stream, seconds));
    return all;
  }

  /** Sends with a ref of its own and waits for the first answer that carries it. */
  async ask(message, seconds) {
    refs += 1;
    const ref = `ask-${refs}`;
    this.send({ ...message, ref });
    return this.inbox.take((answer) => answer.ref === ref, `the answer to ${JSON.stringify(message).slice(0, 200)}`, seconds);
  }

  closeCode(seconds) {
    return within(
      this.closed.then(({ code }) => code),
      "the close",
      seconds,
    );
  }

  /** Ends it at once; it is fine if it has ended. */
  terminate() {
    this.socket.terminate();
  }
}

/** Opens one, runs `use` with it and ends it. */
export async function withWs(gateway, query, use, options) {
  const client = await WsClient.open(gateway, query, options);
  try {
    return await use(client);
  } finally {
    client.terminate();
  }
}
