// Plain HTTP: requests whose every header is ours, and what the answers must look like.

import assert from "node:assert/strict";
import http from "node:http";
import { within } from "./wait.mjs";

const agent = new http.Agent({ keepAlive: true, maxSockets: 256 });

/** The address of a stream's resource: `at("a/b", "/events")`. */
export const at = (stream, rest = "") => `/streams/${encodeURIComponent(stream)}${rest}`;

/** One request and its whole answer. The path goes out as it stands. */
export function call(gateway, method, path, { headers = {}, body, seconds = 15, fresh = false } = {}) {
  const answer = new Promise((resolve, reject) => {
    const options = { host: "127.0.0.1", port: gateway.port, method, path, headers, agent: fresh ? false : agent };
    const request = http.request(options, (response) => {
      const parts = [];
      response.on("data", (part) => parts.push(part));
      response.on("error", reject);
      response.on("end", () => resolve(new Answer(response, Buffer.concat(parts))));
    });
    request.on("error", reject);
    // As bytes: node would send the headers in the encoding of a text body.
    request.end(typeof body === "string" ? Buffer.from(body) : body);
  });
  return within(answer, `the answer to ${method} ${path.slice(0, 200)}`, seconds);
}

class Answer {
  constructor(response, bytes) {
    this.status = response.statusCode;
    this.headers = response.headers;
    this.bytes = bytes;
    const links = [];
    for (let i = 0; i < response.rawHeaders.length; i += 2) {
      if (response.rawHeaders[i].toLowerCase() === "link") links.push(response.rawHeaders[i + 1]);
    }
    this.linkHeader = links.join(", ");
  }

  get text() {
    return this.bytes.toString("utf8");
  }

  get json() {
    try {
      return JSON.parse(this.text);
    } catch (error) {
      throw new Error(`status ${this.status}, no JSON: ${this.text.slice(0, 500)}`, { cause: error });
    }
  }

  /** The target of the first Link of that relation. */
  link(relation) {
    for (const [, target, parameters] of this.linkHeader.matchAll(/<([^>]*)>([^<]*)/g)) {
      const rel = /;\s*rel="?([^";]*)"?/.exec(parameters);
      if (rel && rel[1].trim() === relation) return target;
    }
    return undefined;
  }
}

/** Publishes one payload (text, bytes, or a value that becomes JSON) and returns its number. */
export async function publish(gateway, stream, payload, { query = "", headers = {} } = {}) {
  const body = typeof payload === "string" || Buffer.isBuffer(payload) ? payload : JSON.stringify(payload);
  const answer = await call(gateway, "POST", at(stream, `/events${query}`), { headers, body });
  assert.equal(answer.status, 201, `publish to ${stream}: ${answer.text}`);
  return answer.json.sequence;
}

/** Publishes many values as one batch; returns {first, last}. */
export async function publishBatch(gateway, stream, values, { query = "" } = {}) {
  const answer = await call(gateway, "POST", at(stream, `/events${query}`), {
    headers: { "content-type": "application/x-ndjson" },
    body: values.map((value) => `${typeof value === "string" ? value : JSON.stringify(value)}\n`).join(""),
    seconds: 60,
  });
  assert.equal(answer.status, 201, `batch to ${stream}: ${answer.text}`);
  return answer.json;
}

/** Makes a stream with events 1..count, {"n":1} and so on, trimmed through `trim`. */
export async function fill(gateway, stream, count, trim = 0) {
  const values = Array.from({ length: count }, (_, i) => ({ n: i + 1 }));
  for (let from = 0; from < count; from += 5000) await publishBatch(gateway, stream, values.slice(from, from + 5000));
  if (trim > 0) {
    const answer = await call(gateway, "DELETE", at(stream, `/events?through=${trim}`));
    assert.equal(answer.status, 200, answer.text);
  }
}

export async function streamInfo(gateway, stream) {
  const answer = await call(gateway, "GET", at(stream));
  assert.equal(answer.status, 200, answer.text);
  return answer.json;
}

/** How many subscriptions of this gateway a stream has, as a trim's dry run says. */
export async function subscriptionCount(gateway, stream) {
  const answer = await call(gateway, "DELETE", at(stream, "/events?through=0&dry-run=true"));
  assert.equal(answer.status, 200, answer.text);
  return answer.json.subscriptions;
}

/** Every event after a cursor, read as NDJSON. */
export async function readAll(gateway, stream, { after, query = "", seconds = 60 } = {}) {
  const start = after === undefined ? "" : `after=${after}`;
  const answer = await call(gateway, "GET", at(stream, `/events?${start}${query}`), {
    headers: { accept: "application/x-ndjson" },
    seconds,
  });
  assert.equal(answer.status, 200, answer.text.slice(0, 500));
  return answer.text.split("\n").filter(Boolean).map((line) => ({ line, ...JSON.parse(line) }));
}

/** The bytes of the payload inside an envelope's or frame's text, whose last member it is. */
export function payloadText(text) {
  const whole = text.replace(/\n$/, ""); // An answer of its own ends its line.
  const start = whole.indexOf('"payload":') + '"payload":'.length;
  return whole.slice(start, whole.includes('"event":{"@type"') ? -2 : -1);
}

/** The numbers first..last, one after the other. */
export function assertDense(numbers, first, last, whose = "events") {
  let expected = first;
  for (const number of numbers) {
    assert.equal(number, expected, `${whose}: after ${expected - 1}`);
    expected += 1;
  }
  assert.equal(expected - 1, last, `${whose}: the last number`);
}


/** An RFC 9457 problem of that status and kind, complete in every part. */
export function assertProblem(answer, status, slug, message = "") {
  const seen = `${message}\n${answer.status} ${answer.text.slice(0, 500)}`;
  assert.equal(answer.status, status, seen);
  assert.match(answer.headers["content-type"] ?? "", /^application\/problem\+json\b/, seen);
  assert.match(answer.headers["cache-control"] ?? "", /no-store/, seen);
  const problem = answer.json;
  assert.equal(problem.type, `/problems/${slug}`, seen);
  assert.equal(problem.status, status, seen);
  assert.equal(typeof problem.title, "string", seen);
  assert.ok(problem.title.length > 0, seen);
  assert.ok(typeof problem.detail === "string" && problem.detail.length > 0, seen);
  assert.doesNotMatch(problem.detail, /sqlite|postgres|libpq|SELECT |INSERT /i, `no word of the store's inside: ${seen}`);
  if (status === 405) assert.ok(answer.headers.allow, seen);
  if (status === 429 || status === 503) assert.match(answer.headers["retry-after"] ?? "", /^[1-9]\d*$/, seen);
  return problem;
}

/** A header's comma-separated values in lower case. */
export const tokens = (value = "") => value.toLowerCase().split(",").map((token) => token.trim()).filter(Boolean);
