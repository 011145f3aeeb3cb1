// Event streams: the parser of the HTML standard, a reader over node:http, and one over a bare socket that can stop reading.

import http from "node:http";
import { StringDecoder } from "node:string_decoder";
import { RawConnection } from "./raw.mjs";
import { Inbox, within } from "./wait.mjs";

/** Calls onBlock({event, id, data, retry}) per dispatched event and onComment(text). Keeps every line it saw. */
export class SseParser {
  #decoder = new StringDecoder("utf8");
  #rest = "";
  #skipLineFeed = false;
  #fields = {};
  lastEventId = "";
  retry = undefined;

  constructor(onEvent, onComment = () => {}) {
    this.onEvent = onEvent;
    this.onComment = onComment;
  }

  feed(bytes) {
    let text = this.#decoder.write(bytes);
    if (this.#skipLineFeed && text.startsWith("\n")) text = text.slice(1);
    this.#skipLineFeed = false;
    this.#rest += text;
    let start = 0;
    for (;;) {
      const end = this.#rest.slice(start).search(/[\r\n]/);
      if (end < 0) break;
      const at = start + end;
      this.#line(this.#rest.slice(start, at));
      start = at + 1;
      if (this.#rest[at] !== "\r") continue;
      if (this.#rest[start] === "\n") start += 1;
      else if (start === this.#rest.length) this.#skipLineFeed = true;
    }
    this.#rest = this.#rest.slice(start);
  }

  #line(line) {
    if (line === "") return this.#dispatch();
    if (line.startsWith(":")) return this.onComment(line.slice(1));
    const colon = line.indexOf(":");
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (name === "data") (this.#fields.data ??= []).push(value);
    else if (name === "id") this.lastEventId = this.#fields.id = value;
    else if (name === "retry") this.retry = this.#fields.retry = Number(value);
    else this.#fields[name] = value;
  }

  #dispatch() {
    const { data, ...fields } = this.#fields;
    this.#fields = {};
    if (data === undefined && Object.keys(fields).length === 0) return;
    this.onEvent({ ...fields, data: data?.join("\n"), lastEventId: this.lastEventId });
  }
}

/** What both readers offer: `next`, `message` (unnamed events), `named`, `ended`. */
class EventReader {
  inbox = new Inbox();
  comments = 0;
  text = "";

  constructor({ keepText = true } = {}) {
    this.parser = new SseParser(
      (event) => this.inbox.push(event),
      () => (this.comments += 1),
    );
    this.ended = new Promise((resolve) => (this.resolveEnded = resolve));
    this.keepText = keepText;
  }

  take(bytes) {
    if (this.keepText) this.text += bytes.toString("utf8");
    this.parser.feed(bytes);
  }

  finish(how) {
    this.inbox.end(`the event stream ended (${how})`);
    this.resolveEnded(how);
  }

  get retry() {
    return this.parser.retry;
  }

  /** The next event of any kind. */
  next(seconds) {
    return this.inbox.next("the next event", seconds);
  }

  /** The next event without a name; its frame is parsed into `frame`. */
  async message(seconds) {
    const event = await this.inbox.take((one) => one.event === undefined && one.data !== undefined, "a message", seconds);
    return { ...event, frame: JSON.parse(event.data) };
  }

  async messages(count, seconds) {
    const all = [];
    while (all.length < count) all.push(await this.message(seconds));
    return all;
  }

  /** The next event of that name; its data parsed into `body`. */
  async named(name, seconds) {
    const event = await this.inbox.take((one) => one.event === name, `an event named ${name}`, seconds);
    return { ...event, body: JSON.parse(event.data) };
  }
}

export class EventStream extends EventReader {
  constructor(response, options) {
    super(options);
    this.response = response;
    this.status = response.statusCode;
    this.headers = response.headers;
    response.on("data", (bytes) => this.take(bytes));
    response.on("end", () => this.finish("end"));
    response.on("error", () => this.finish("cut"));
    response.on("close", () => this.finish("cut"));
  }

  get json() {
    return JSON.parse(this.text);
  }

  close() {
    this.response.destroy();
  }
}

/** Opens an event stream; resolves at the response's head, whatever its status. */
export function openSse(gateway, path, { headers = {}, method = "GET", seconds = 10, keepText = true } = {}) {
  const opened = new Promise((resolve, reject) => {
    const request = http.request(
      {
        host: "127.0.0.1",
        port: gateway.port,
        method,
        path,
        headers: { accept: "text/event-stream", ...headers },
        agent: false,
      },
      (response) => resolve(new EventStream(response, { keepText })),
    );
    request.on("error", reject);
    request.end();
  });
  return within(opened, `the head of the event stream ${path.slice(0, 200)}`, seconds);
}

/** Opens one, runs `use` with it and closes it. */
export async function withSse(gateway, path, options, use) {
  const stream = await openSse(gateway, path, options);
  try {
    return await use(stream);
  } finally {
    stream.close();
  }
}

/** An event stream over a bare socket, whose reading stops and goes on by pause() and resume(). */
export class RawEventStream extends EventReader {
  static async open(gateway, path, headers = {}) {
    const stream = new RawEventStream({ keepText: false });
    stream.connection = await RawConnection.open(gateway.port);
    const lines = Object.entries({ Host: `127.0.0.1:${gateway.port}`, Accept: "text/event-stream", ...headers });
    stream.connection.write(`GET ${path} HTTP/1.1\r\n${lines.map(([k, v]) => `${k}: ${v}\r\n`).join("")}\r\n`);
    const head = await stream.connection.readHead();
    stream.status = head.status;
    stream.headers = head.headers;
    stream.connection.consumeBody(
      head,
      (bytes) => stream.take(bytes),
      (how) => stream.finish(how),
    );
    return stream;
  }

  pause() {
    this.connection.socket.pause();
  }

  resume() {
    this.connection.socket.resume();
  }

  close() {
    this.connection.destroy();
  }
}
