// A bare TCP connection: bytes out exactly as given (text or hex), HTTP answers and WebSocket frames parsed by hand.

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import net from "node:net";
import { Inbox, within } from "./wait.mjs";

export const hex = (text) => Buffer.from(text.replace(/\s+/g, ""), "hex");

export class RawConnection {
  #bytes = Buffer.alloc(0);
  #changed = [];
  #reader = null;
  isEnded = false; // The peer sent FIN, or the connection was reset.
  wasReset = false;

  static async open(port, host = "127.0.0.1") {
    const socket = net.connect({ port, host, noDelay: true });
    const connected = new Promise((resolve, reject) => {
      socket.once("connect", resolve);
      socket.once("error", reject);
    });
    await within(connected, "a TCP connection");
    return new RawConnection(socket);
  }

  constructor(socket) {
    this.socket = socket;
    socket.on("data", (bytes) => {
      if (this.#reader) return this.#reader(bytes);
      this.#bytes = Buffer.concat([this.#bytes, bytes]);
      this.#wake();
    });
    const end = () => {
      this.isEnded = true;
      this.#wake();
      this.onEnd?.();
    };
    socket.on("end", end);
    socket.on("close", end);
    socket.on("error", () => (this.wasReset = true));
  }

  #wake() {
    const waiting = this.#changed;
    this.#changed = [];
    for (const resolve of waiting) resolve();
  }

  write(data) {
    return this.socket.write(data);
  }

  /** One byte per write. */
  async writeByteByByte(bytes) {
    for (const byte of bytes) await new Promise((resolve) => this.socket.write(Buffer.from([byte]), resolve));
  }

  end() {
    this.socket.end();
  }

  destroy() {
    this.socket.destroy();
  }

  /** Until the predicate on what was received gives something. */
  async #until(look, what, seconds = 10) {
    const search = async () => {
      for (;;) {
        const found = look(this.#bytes);
        if (found !== undefined && found !== null) return found;
        if (this.isEnded) {
          throw new Error(
            `the connection ended${this.wasReset ? " (reset)" : ""} while waiting for ${what}: ` +
              JSON.stringify(this.#bytes.toString("latin1").slice(0, 300)),
          );
        }
        await new Promise((resolve) => this.#changed.push(resolve));
      }
    };
    return within(search(), what, seconds);
  }

  async take(count, what = `${count} bytes`, seconds) {
    return this.#until((bytes) => {
      if (bytes.length < count) return null;
      this.#bytes = bytes.subarray(count);
      return bytes.subarray(0, count);
    }, what, seconds);
  }

  async takeThrough(mark, what, seconds) {
    return this.#until((bytes) => {
      const at = bytes.indexOf(mark);
      if (at < 0) return null;
      this.#bytes = bytes.subarray(at + mark.length);
      return bytes.subarray(0, at + mark.length);
    }, what, seconds);
  }

  /** Everything up to the end of the connection. */
  async takeAll(seconds = 10) {
    const end = async () => {
      while (!this.isEnded) await new Promise((resolve) => this.#changed.push(resolve));
      const bytes = this.#bytes;
      this.#bytes = Buffer.alloc(0);
      return bytes;
    };
    return within(end(), "the end of the connection", seconds);
  }

  async ended(seconds = 10) {
    await this.takeAll(seconds);
  }

  /** The next answer's status line and headers. */
  async readHead(seconds) {
    const text = (await this.takeThrough("\r\n\r\n", "the head of an answer", seconds)).toString("latin1");
    const [statusLine, ...lines] = text.trimEnd().split("\r\n");
    const match = /^HTTP\/1\.[01] (\d{3})/.exec(statusLine);
    assert.ok(match, `a status line: ${statusLine}`);
    const headers = {};
    for (const line of lines) {
      const colon = line.indexOf(":");
      const name = line.slice(0, colon).toLowerCase();
      const value = line.slice(colon + 1).trim();
      headers[name] = name in headers ? `${headers[name]}, ${value}` : value;
    }
    return { status: Number(match[1]), headers, line: statusLine };
  }

  /** The next answer, whole. */
  async readAnswer({ seconds, isHead = false } = {}) {
    const head = await this.readHead(seconds);
    let bytes = Buffer.alloc(0);
    const { headers, status } = head;
    if (isHead || status === 204 || status === 304 || (status >= 100 && status < 200)) {
      // No body.
    } else if ("content-length" in headers) {
      bytes = await this.take(Number(headers["content-length"]), "the body", seconds);
    } else if (/chunked/i.test(headers["transfer-encoding"] ?? "")) {
      bytes = await this.#readChunks(seconds);
    } else {
      bytes = await this.takeAll(seconds);
    }
    const text = bytes.toString("utf8");
    return {
      ...head,
      bytes,
      text,
      get json() {
        return JSON.parse(text);
      },
    };
  }

  async #readChunks(seconds) {
    const parts = [];
    for (;;) {
      const size = Number.parseInt((await this.takeThrough("\r\n", "a chunk", seconds)).toString("latin1"), 16);
      if (size > 0) parts.push(await this.take(size, "a chunk's data", seconds));
      await this.takeThrough("\r\n", "the end of a chunk", seconds);
      if (size === 0) return Buffer.concat(parts);
    }
  }

  /** Gives a response's body away as it comes, with chunk framing taken off. */
  consumeBody(head, onBytes, onEnd) {
    const isChunked = /chunked/i.test(head.headers["transfer-encoding"] ?? "");
    let left = 0; // Of the current chunk.
    let rest = Buffer.alloc(0);
    let isOver = false;
    const over = (how) => {
      if (isOver) return;
      isOver = true;
      onEnd(how);
    };
    const unchunk = (bytes) => {
      rest = rest.length ? Buffer.concat([rest, bytes]) : bytes;
      while (rest.length > 0 && !isOver) {
        if (left > 2) {
          const data = rest.subarray(0, left - 2);
          onBytes(data);
          left -= data.length;
          rest = rest.subarray(data.length);
        } else if (left > 0) {
          const skipped = Math.min(left, rest.length);
          left -= skipped;
          rest = rest.subarray(skipped);
        } else {
          const end = rest.indexOf("\r\n");
          if (end < 0) return;
          const size = Number.parseInt(rest.subarray(0, end).toString("latin1"), 16);
          rest = rest.subarray(end + 2);
          if (size === 0) return over("end");
          left = size + 2;
        }
      }
    };
    this.#reader = isChunked ? unchunk : onBytes;
    this.onEnd = () => over(isChunked ? "cut" : "end");
    const early = this.#bytes;
    this.#bytes = Buffer.alloc(0);
    if (early.length) this.#reader(early);
    if (this.isEnded) this.onEnd();
  }

  /** Gives everything received from now on away. */
  consume(onBytes, onEnd) {
    this.#reader = onBytes;
    this.onEnd = onEnd;
    const early = this.#bytes;
    this.#bytes = Buffer.alloc(0);
    if (early.length) onBytes(early);
    if (this.isEnded) onEnd();
  }
}

/** Sends bytes on a connection of their own and reads one answer. */
export async function exchangeRaw(gateway, bytes, options) {
  const connection = await RawConnection.open(gateway.port);
  try {
    connection.write(bytes);
    return await connection.readAnswer(options);
  } finally {
    connection.destroy();
  }
}

/** A client's frame. Masked with zeros, so that the payload stays legible, unless `mask` is false. */
export function clientFrame(opcode, payload = "", { isFinal = true, rsv = 0, mask = true } = {}) {
  const data = Buffer.from(payload);
  const first = (isFinal ? 0x80 : 0) | (rsv << 4) | opcode;
  const bit = mask ? 0x80 : 0;
  let head;
  if (data.length < 126) head = Buffer.from([first, bit | data.length]);
  else if (data.length < 65536) {
    head = Buffer.alloc(4);
    head.writeUInt8(first, 0);
    head.writeUInt8(bit | 126, 1);
    head.writeUInt16BE(data.length, 2);
  } else {
    head = Buffer.alloc(10);
    head.writeUInt8(first, 0);
    head.writeUInt8(bit | 127, 1);
    head.writeBigUInt64BE(BigInt(data.length), 2);
  }
  return Buffer.concat(mask ? [head, Buffer.alloc(4), data] : [head, data]);
}

export const opcodes = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 };

/** A WebSocket whose frames are read one by one and checked: well-formed, unmasked, never interleaved. */
export class RawWebSocket {
  frames = new Inbox();
  #rest = Buffer.alloc(0);
  #parts = null;

  /** `tail`: bytes sent in the same write as the handshake. Pings are answered, unless `answersPings` is false. */
  static async open(gateway, path = "/replication", { headers = {}, tail = "", answersPings = true } = {}) {
    const { connection, head } = await RawWebSocket.handshake(gateway, path, { headers, tail });
    assert.equal(head.status, 101, head.line);
    return new RawWebSocket(connection, head, answersPings);
  }

  /** Sends the handshake and gives whatever head comes back. */
  static async handshake(gateway, path = "/replication", { headers = {}, tail = "" } = {}) {
    const connection = await RawConnection.open(gateway.port);
    const all = {
      Host: `127.0.0.1:${gateway.port}`,
      Connection: "Upgrade",
      Upgrade: "websocket",
      "Sec-WebSocket-Version": "13",
      "Sec-WebSocket-Key": randomBytes(16).toString("base64"),
      ...headers,
    };
    const lines = Object.entries(all)
      .filter(([, value]) => value !== undefined)
      .flatMap(([name, value]) => [value].flat().map((one) => `${name}: ${one}\r\n`));
    connection.write(Buffer.concat([Buffer.from(`GET ${path} HTTP/1.1\r\n${lines.join("")}\r\n`), Buffer.from(tail)]));
    return { connection, head: await connection.readHead() };
  }

  constructor(connection, head, answersPings = true) {
    this.connection = connection;
    this.head = head;
    this.answersPings = answersPings;
    connection.consume(
      (bytes) => this.#feed(bytes),
      () => this.frames.end("the connection ended"),
    );
  }

  #feed(bytes) {
    this.#rest = this.#rest.length ? Buffer.concat([this.#rest, bytes]) : bytes;
    for (;;) {
      const frame = this.#parse();
      if (!frame) return;
      try {
        this.#check(frame);
      } catch (error) {
        this.fault ??= error;
        this.frames.end(`a malformed frame: ${error.message}`);
        this.connection.destroy();
        return;
      }
    }
  }

  #parse() {
    const bytes = this.#rest;
    if (bytes.length < 2) return null;
    let length = bytes[1] & 0x7f;
    let at = 2;
    if (length === 126) {
      if (bytes.length < 4) return null;
      length = bytes.readUInt16BE(2);
      at = 4;
    } else if (length === 127) {
      if (bytes.length < 10) return null;
      length = Number(bytes.readBigUInt64BE(2));
      at = 10;
    }
    if (bytes.length < at + length) return null;
    const payload = bytes.subarray(at, at + length);
    this.#rest = bytes.subarray(at + length);
    return {
      isFinal: (bytes[0] & 0x80) !== 0,
      rsv: (bytes[0] >> 4) & 7,
      opcode: bytes[0] & 15,
      isMasked: (bytes[1] & 0x80) !== 0,
      payload,
    };
  }

  #check(frame) {
    assert.equal(frame.rsv, 0, "reserved bits");
    assert.equal(frame.isMasked, false, "a server does not mask");
    assert.ok([0, 1, 2, 8, 9, 10].includes(frame.opcode), `opcode ${frame.opcode}`);
    if (frame.opcode >= 8) {
      assert.ok(frame.isFinal && frame.payload.length <= 125, "a control frame is short and whole");
      if (frame.opcode === opcodes.ping && this.answersPings) this.write(clientFrame(opcodes.pong, frame.payload));
      this.frames.push(frame);
      return;
    }
    assert.equal(frame.opcode === 0, this.#parts !== null, "a continuation follows its start, a start nothing unfinished");
    this.#parts ??= { opcode: frame.opcode, payloads: [] };
    this.#parts.payloads.push(frame.payload);
    if (!frame.isFinal) return;
    const { opcode, payloads } = this.#parts;
    this.#parts = null;
    const payload = Buffer.concat(payloads);
    const message = { opcode, payload };
    if (opcode === 1) {
      message.text = new TextDecoder("utf-8", { fatal: true }).decode(payload);
      message.json = JSON.parse(message.text);
    }
    this.frames.push(message);
  }

  write(bytes) {
    this.connection.write(bytes);
  }

  send(message) {
    this.write(clientFrame(opcodes.text, typeof message === "string" ? message : JSON.stringify(message)));
  }

  next(what = "a frame", seconds) {
    return this.frames.next(what, seconds);
  }

  /** The next text message's value. */
  async message(fits = () => true, seconds = undefined) {
    const frame = await this.frames.take((one) => one.opcode === 1 && fits(one.json), "a message", seconds);
    return frame.json;
  }

  control(opcode, seconds) {
    return this.frames.take((one) => one.opcode === opcode, `a frame with opcode ${opcode}`, seconds);
  }

  /** The code of the close frame that comes; 1006 if the connection ends without one. */
  async closeCode(seconds) {
    try {
      const frame = await this.control(opcodes.close, seconds);
      return frame.payload.length >= 2 ? frame.payload.readUInt16BE(0) : 1005;
    } catch (error) {
      if (/the connection ended/.test(error.message)) return 1006;
      throw error;
    }
  }

  pause() {
    this.connection.socket.pause();
  }

  resume() {
    this.connection.socket.resume();
  }

  destroy() {
    this.connection.destroy();
  }

  close() {
    this.destroy();
  }
}
