// engine: postgres
// The same operations over HTTP, one after the other, against both engines: the answers are the same. Only epochs and times
// may differ, and those are of one form.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { startGateway } from "./support/gateway.mjs";
import { at, call } from "./support/http.mjs";
import { openSse } from "./support/sse.mjs";

const compared = ["content-type", "cache-control", "etag", "location", "link", "allow", "retry-after", "idempotency-replayed"];
const times = new Set(["createdAt", "lastEventAt", "created_at"]);

/** The value with what is different by nature made equal: times become their kind, an epoch the number of its first use. */
function normalised(value, epochs) {
  if (Array.isArray(value)) return value.map((one) => normalised(one, epochs));
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => {
      if (times.has(name) && member !== null) {
        assert.ok(Number.isInteger(member) && Math.abs(member - Date.now() / 1000) < 120, `${name}: ${member}`);
        return [name, "recently"];
      }
      if (name === "epoch" && typeof member === "string") return [name, epochs.of(member)];
      return [name, name === "payload" ? member : normalised(member, epochs)];
    }),
  );
}

class Epochs {
  #seen = [];

  of(epoch) {
    assert.match(epoch, /^[0-9a-f]{16}$/);
    if (!this.#seen.includes(epoch)) this.#seen.push(epoch);
    return `epoch ${this.#seen.indexOf(epoch) + 1}`;
  }

  /** The same in a text, where epochs may stand anywhere, times behind their names, and the gateway's own address. */
  inText(text) {
    const known = this.#seen.reduce((all, epoch, i) => all.replaceAll(epoch, `epoch ${i + 1}`), text);
    return known.replace(/("(?:createdAt|lastEventAt)":)\d+/g, "$1recently").replace(/127\.0\.0\.1:\d+/g, "here");
  }
}

/** What is compared of an answer: status, headers, and the body both as a value and, where it is text, as bytes. */
function visible(answer, epochs) {
  const type = answer.headers["content-type"] ?? "";
  const isJson = /json/.test(type) && answer.text !== "";
  const lines = /ndjson/.test(type) ? answer.text.split("\n").filter(Boolean) : isJson ? [answer.text] : [];
  const values = lines.map((line) => normalised(JSON.parse(line), epochs));
  return {
    status: answer.status,
    headers: Object.fromEntries(compared.map((name) => [name, answer.headers[name] && epochs.inText(answer.headers[name])])),
    values,
    text: /octet-stream/.test(type) ? answer.bytes.toString("hex") : epochs.inText(answer.text),
  };
}

const post = (stream, body, { query = "", ...more } = {}) => ["POST", at(stream, `/events${query}`), { body, headers: more }];
const get = (stream, query = "", accept) => ["GET", at(stream, `/events${query}`), { headers: accept ? { accept } : {} }];
const info = (stream) => ["GET", at(stream), {}];
const put = (stream) => ["PUT", at(stream), {}];
const trim = (stream, query) => ["DELETE", at(stream, `/events?${query}`), {}];
const save = (stream, consumer, offset) => ["PUT", at(stream, `/consumers/${consumer}`), { body: `{"offset":${offset}}` }];
const ndjson = "application/x-ndjson";
const batch = (stream, lines, more = {}) => post(stream, lines.join("\n"), { "content-type": ndjson, ...more });

/** Names that a careless engine would take for one another, or in another order. */
const names = ["a", "A", "\u00e4", "a\u0308", "\u00c4", "a ", " a", "a/b", "a%", "a_", "Z", "z", "\u00df", "ss", "\u{1f600}", "\uffff", "a'b", 'a"b', "a\\b", "x".repeat(512)];

const payloads = [
  '{"n": 1.0}',
  "123456789012345678901234567890.12345678901234567890",
  "[1e400,-0,0.10,1E+2,9007199254740993]",
  '{"a":1,"a":2}',
  '"\\ud800"',
  '["\\udc00\\ud800","\\u0000","\\/"]',
  '"\u00e9\u{1f600}\u2028"',
  '  [ 1 ,\t2 ]  ',
  `${"[".repeat(64)}${"]".repeat(64)}`,
  "null",
];

const refused = ["", "{", "hello", "{} x", '"\ud800'.slice(0, 1), `${"[".repeat(65)}${"]".repeat(65)}`, "NaN", "'a'", "\u0000"];

const chapters = {
  "an unknown stream": [info("none"), get("none"), get("none", "?after=0"), get("none", "?after=5"), trim("none", "through=1"), save("none", "c", 0), ["GET", "/streams", {}]],
  "numbers and pages": [
    post("s", '{"n":1}'),
    batch("s", Array.from({ length: 30 }, (_, i) => `{"n":${i + 2}}`)),
    info("s"),
    get("s"),
    get("s", "?after=0&limit=7"),
    get("s", "?after=7&limit=7"),
    get("s", "?last=3"),
    get("s", "?from=oldest&limit=2"),
    get("s", "?after=31"),
    get("s", "?after=32"),
    get("s", "?after=99999999999999"),
    get("s", "?after=-1"),
    get("s", "?after=0", ndjson),
    ["GET", at("s", "/events/31"), {}],
    ["GET", at("s", "/events/32"), {}],
    ["GET", at("s", "/events/0"), {}],
    ["HEAD", at("s", "/events?after=30"), {}],
    batch("s", ["1", "{", "3"]),
    batch("s", []),
    info("s"),
  ],
  "creating": [put("new"), put("new"), info("new"), get("new"), get("new", "?after=0"), get("new", "?after=1"), post("new", "1"), put("new"), info("new")],
  "keys and snapshots": [
    ...[1, 2, 3, 4, 5, 6].map((n) => post("k", `${n}`, { query: `?key=${n % 2 ? "odd" : "even"}${n === 4 ? "&snapshot=true" : ""}` })),
    post("k", "7"),
    get("k", "?after=0&key=odd"),
    get("k", "?after=2&key=even&limit=1"),
    get("k", "?after=0&key=Odd"),
    get("k", "?after=0&key=none"),
    get("k", "?last=2&key=odd"),
    get("k", "?from=snapshot"),
    post("k", "8", { query: "?key=" }),
    post("k", "8", { query: `?key=${"k".repeat(513)}` }),
    post("k", "8", { query: `?key=${"k".repeat(512)}` }),
    post("k", "9", { query: "?key=%C3%A9%F0%9F%98%80" }),
    post("k", "9", { query: "?key=%FF" }),
    get("k", "?after=7"),
  ],
  "trims and gaps": [
    batch("t", Array.from({ length: 10 }, (_, i) => `${i + 1}`)),
    trim("t", "through=3&dry-run=true"),
    info("t"),
    trim("t", "through=3"),
    info("t"),
    get("t", "?after=0"),
    get("t", "?after=2"),
    get("t", "?after=3"),
    get("t", "?from=oldest"),
    get("t"),
    get("t", "?last=100"),
    ["GET", at("t", "/events/3"), {}],
    ["GET", at("t", "/events/4"), {}],
    trim("t", "through=2"),
    save("t", "slow", 5),
    trim("t", "through=7&guard=consumers"),
    trim("t", "through=7&guard=consumers&dry-run=true"),
    trim("t", "through=5&guard=consumers"),
    trim("t", "through=100"),
    info("t"),
    get("t"),
    post("t", "11"),
    get("t", "?after=9"),
    get("t", "?after=10"),
    ["GET", at("t", "/consumers"), {}],
  ],
  consumers: [
    batch("c", ["1", "2", "3", "4"]),
    save("c", "one", 2),
    save("c", "one", 1),
    save("c", "one", 2),
    save("c", "one", 4),
    save("c", "one", 5),
    save("c", "one", -1),
    save("c", "zero", 0),
    save("c", "%C3%A9", 3),
    save("c", "ONE", 1),
    ["GET", at("c", "/consumers"), {}],
    ["GET", at("c", "/consumers/one"), {}],
    ["GET", at("c", "/consumers/none"), {}],
    get("c", "?consumer=%C3%A9"),
    get("c", "?consumer=none"),
    ["DELETE", at("c", "/consumers/one"), {}],
    ["DELETE", at("c", "/consumers/one"), {}],
    ["GET", at("c", "/consumers"), {}],
  ],
  idempotency: [
    post("i", "1", { "idempotency-key": "k" }),
    post("i", "1", { "idempotency-key": "k" }),
    post("i", "2", { "idempotency-key": "k" }),
    post("i", "1", { "idempotency-key": "K" }),
    post("i2", "1", { "idempotency-key": "k" }),
    batch("i", ["1", "2"], { "idempotency-key": "b" }),
    batch("i", ["1", "2"], { "idempotency-key": "b" }),
    batch("i", ["1"], { "idempotency-key": "k" }),
    post("i", "{", { "idempotency-key": "bad" }),
    post("i", "1", { "idempotency-key": "bad" }),
    post("i", "1", { "idempotency-key": "k", "if-match": '"99"' }),
    info("i"),
  ],
  "an expected head": [
    post("h", "1", { "if-match": '"1"' }),
    info("h"),
    post("h", "1", { "if-match": '"0"' }),
    post("h", "2", { "if-match": '"0"' }),
    post("h", "2", { "if-match": '"1"' }),
    post("h", "3", { "if-none-match": "*" }),
    post("h", "3", { "if-match": '"7"', "idempotency-key": "unused" }),
    post("h", "3", { "if-match": '"2"', "idempotency-key": "unused" }),
    info("h"),
  ],
  names: [
    ...names.map((name, i) => post(name, `${i}`)),
    ...names.map((name) => get(name, "?after=0")),
    ["GET", "/streams", {}],
    ["GET", "/streams?limit=5", {}],
    ["GET", "/streams?prefix=a", {}],
    ["GET", "/streams?prefix=A", {}],
    ["GET", "/streams?prefix=a%25", {}],
    ["GET", "/streams?prefix=a_", {}],
    ["GET", "/streams?prefix=%C3%A4", {}],
    ["GET", "/streams?after=Z&limit=3", {}],
    ["GET", `/streams?after=${"x".repeat(512)}`, {}],
    ...["x".repeat(513), "a\n", "\u0085", "\u0000"].map((name) => post(name, "1")),
    ["POST", "/streams/%FF/events", { body: "1" }],
    ["POST", "/streams/%ED%A0%80/events", { body: "1" }],
  ],
  payloads: [
    ...payloads.map((text) => post("p", text)),
    ...refused.map((text) => post("p", text)),
    post("p", Buffer.from([0x22, 0xff, 0x22])),
    post("p", Buffer.from("0000ff00", "hex"), { "content-type": "application/octet-stream" }),
    post("p", Buffer.alloc(0), { "content-type": "application/octet-stream" }),
    post("p", "a\u0000b", { "content-type": "text/plain" }),
    post("p", Buffer.from("61ff62", "hex"), { "content-type": "text/plain" }),
    post("p", '{"@id":"x"}', { "content-type": "application/ld+json" }),
    post("p", "[]", { "content-type": "application/ld+json" }),
    post("p", `"${"z".repeat(900_000)}"`),
    post("p", `"${"z".repeat(1_100_000)}"`),
    get("p", "?after=0&limit=12"),
    get("p", "?after=12", ndjson),
    ...payloads.map((_, i) => ["GET", at("p", `/events/${i + 1}`), {}]),
    ["GET", at("p", "/events/11"), { headers: { accept: "application/octet-stream" } }],
    info("p"),
  ],
};

describe("both engines", () => {
  for (const [title, operations] of Object.entries(chapters)) {
    test(`answer alike: ${title}`, async (t) => {
      const sqlite = await startGateway(t, { engine: "sqlite" });
      const postgres = await startGateway(t, { engine: "postgres" });
      const epochs = [new Epochs(), new Epochs()];
      const statuses = new Map();
      for (const [method, path, options] of operations) {
        const [expected, seen] = await Promise.all([sqlite, postgres].map((gateway) => call(gateway, method, path, options)));
        const what = `${method} ${path.slice(0, 100)} ${String(options.body ?? "").slice(0, 80)}`;
        assert.deepEqual(visible(seen, epochs[1]), visible(expected, epochs[0]), what);
        assert.ok(expected.status < 500, `${what}: ${expected.status}`);
        statuses.set(expected.status, (statuses.get(expected.status) ?? 0) + 1);
      }
      t.diagnostic(`${operations.length} operations: ${[...statuses].map(([status, count]) => `${count} x ${status}`).join(", ")}`);
    });
  }

  test("deliver alike: a replay and a gap as event streams", async (t) => {
    const gateways = [await startGateway(t, { engine: "sqlite" }), await startGateway(t, { engine: "postgres" })];
    const texts = [];
    for (const gateway of gateways) {
      const epochs = new Epochs();
      for (const [method, path, options] of [...payloads.map((text) => post("d", text)), trim("d", "through=2")]) {
        assert.ok((await call(gateway, method, path, options)).status < 300);
      }
      epochs.of((await call(gateway, "GET", at("d"))).json.epoch);
      const lines = [];
      for (const query of ["?after=2", "?after=0"]) {
        const stream = await openSse(gateway, at("d", `/events${query}`));
        if (stream.status === 200) await stream.messages(payloads.length - 2);
        lines.push(stream.status, epochs.inText(stream.text).replace(/^retry: \d+$/m, "retry"));
        stream.close();
      }
      texts.push(lines);
    }
    assert.deepEqual(texts[1], texts[0]);
  });
});
