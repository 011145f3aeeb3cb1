// The main walk: publish, read back, watch; then each option of publishing and reading, each as its user meets it.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { EventSource } from "eventsource";
import { sharedGateway, startGateway } from "./support/gateway.mjs";
import {
  assertDense,
  assertProblem,
  at,
  call,
  fill,
  payloadText,
  publish,
  publishBatch,
  readAll,
  streamInfo,
  subscriptionCount,
  tokens,
} from "./support/http.mjs";
import { curl, curlLines } from "./support/process.mjs";
import { withSse } from "./support/sse.mjs";
import { until } from "./support/wait.mjs";
import { withWs } from "./support/websocket.mjs";

const epochPattern = /^[0-9a-f]{16}$/;
const now = () => Math.floor(Date.now() / 1000);
const assertRecent = (seconds) => assert.ok(Number.isInteger(seconds) && Math.abs(seconds - now()) <= 30, `${seconds}`);

describe("walk: publish, read, watch", () => {
  const gateway = sharedGateway();
  const url = (stream, rest = "/events") => `${gateway.base}${at(stream, rest)}`;

  test("curl publishes and reads back what it published", async () => {
    const created = await curl("-i", "-d", '{"id":1}', url("orders"));
    const page = JSON.parse(await curl(url("orders")));

    assert.match(created, /^HTTP\/1\.1 201 /);
    assert.match(created, /^location: \/streams\/orders\/events\/1\r$/im);
    assert.match(created, /\r\n\r\n\{"stream":"orders","sequence":1\}\s*$/);
    assert.equal(page.events.length, 1);
    assert.deepEqual(page.events[0].payload, { id: 1 });
  });

  test("curl, EventSource and ws watch the same stream and see the same events", async (t) => {
    await publish(gateway, "watched", { n: 1 });
    const watcher = curlLines("-H", "Accept: text/event-stream", `${url("watched")}?after=0`);
    t.after(() => watcher.stop());
    const source = new EventSource(`${url("watched")}?after=0`);
    t.after(() => source.close());
    const bySource = [];
    source.onmessage = (event) => bySource.push({ id: event.lastEventId, frame: JSON.parse(event.data) });

    await withWs(gateway, "?stream=watched&after=0", async (socket) => {
      for (const n of [2, 3]) await publish(gateway, "watched", { n });
      const byWebSocket = await socket.frames("watched", 3);
      await until(() => bySource.length >= 3, "three events by EventSource");
      const byCurl = [];
      while (byCurl.length < 3) {
        const line = await watcher.lines.next("a line of curl's");
        if (line.startsWith("data: ") && line.includes('"ReplicationFrame"')) byCurl.push(JSON.parse(line.slice(6)));
      }

      assertDense(byWebSocket.map((frame) => frame.cursor), 1, 3);
      assert.deepEqual(byCurl, byWebSocket);
      assert.deepEqual(bySource.map(({ frame }) => frame), byWebSocket);
      assert.deepEqual(bySource.map(({ id }) => id), ["1", "2", "3"]);
    });
  });

  test("a publish is answered with 201, its place and its number", async () => {
    for (const expected of [1, 2]) {
      const answer = await call(gateway, "POST", at("a/b c", "/events"), { body: "{}" });

      assert.equal(answer.status, 201, answer.text);
      assert.match(answer.headers["content-type"], /^application\/json\b/);
      assert.deepEqual(answer.json, { stream: "a/b c", sequence: expected });
      assert.deepEqual(Object.keys(answer.json), ["stream", "sequence"]);
      const place = new URL(answer.headers.location, gateway.base);
      assert.equal(place.pathname, `/streams/a%2Fb%20c/events/${expected}`);
      assert.equal((await call(gateway, "GET", place.pathname)).json.sequence, expected);
    }
  });

  test("an EventEnvelope has its members in the written order and only the ones that apply", async () => {
    await publish(gateway, "order", '{"plain":true}');
    await publish(gateway, "order", "hello", {
      query: "?snapshot=true",
      headers: { "streamld-key": "k-1", "content-type": "Text/Plain; charset=utf-8" },
    });
    await publish(gateway, "order", '{"@context":{"a":"urn:a"},"a":1}', { headers: { "content-type": "application/ld+json" } });

    const plain = await call(gateway, "GET", at("order", "/events/1"));
    const full = await call(gateway, "GET", at("order", "/events/2"));
    const linked = await call(gateway, "GET", at("order", "/events/3"));
    const page = await call(gateway, "GET", at("order", "/events"));

    assert.match(
      plain.text,
      /^\{"streamId":"order","sequence":1,"isSnapshot":false,"createdAt":\d+,"payload":\{"plain":true\}\}\n?$/,
    );
    assert.match(
      full.text,
      /^\{"streamId":"order","sequence":2,"isSnapshot":true,"key":"k-1","createdAt":\d+,"contentType":"text\/plain","payload":\{"@type":"xsd:base64Binary","@value":"aGVsbG8="\}\}\n?$/,
    );
    assert.equal(linked.json.contentType, "application/ld+json");
    assert.equal(payloadText(linked.text), '{"@context":{"a":"urn:a"},"a":1}');
    assertRecent(plain.json.createdAt);
    assert.deepEqual(page.json.events, [plain.json, full.json, linked.json]);
  });

  test("a page has its members, its Link to the next and its cache rules", async () => {
    await fill(gateway, "paged", 7);

    const first = await call(gateway, "GET", at("paged", "/events?limit=3"));
    const numbers = first.json.events.map((event) => event.sequence);
    let answer = first;
    let requests = 1;
    while (answer.link("next")) {
      const next = new URL(answer.link("next"), `${gateway.base}${at("paged", "/events")}`);
      answer = await call(gateway, "GET", next.pathname + next.search);
      numbers.push(...answer.json.events.map((event) => event.sequence));
      requests += 1;
    }

    assert.deepEqual(Object.keys(first.json), ["stream", "epoch", "events", "after", "next", "head", "oldestAvailable"]);
    assert.match(first.json.epoch, epochPattern);
    const { stream, after, next, head, oldestAvailable } = first.json;
    assert.deepEqual({ stream, after, next, head, oldestAvailable }, { stream: "paged", after: 0, next: 3, head: 7, oldestAvailable: 1 });
    assert.ok(tokens(first.headers.vary).includes("accept"), first.headers.vary);
    assert.equal(first.headers["cache-control"], "no-cache");
    assert.match(first.headers["content-type"], /^application\/json\b/);
    assert.equal(first.link("http://www.w3.org/ns/json-ld#context"), "/streamld/context.jsonld");
    assertDense(numbers, 1, 7);
    assert.equal(requests, 3);
    assert.equal(answer.json.next, 7);
  });

  test("a page begins at the first surviving event, says so, and never fails for its cursor", async () => {
    await fill(gateway, "trimmed-page", 100, 80);

    const seen = [];
    let after = 0;
    let page;
    do {
      page = (await call(gateway, "GET", at("trimmed-page", `/events?after=${after}&limit=10`))).json;
      assert.equal(page.after, after);
      assert.equal(page.oldestAvailable, 81);
      seen.push(...page.events.map((event) => event.sequence));
      after = page.next;
    } while (page.next < page.head);
    const beyond = (await call(gateway, "GET", at("trimmed-page", "/events?after=500"))).json;

    assertDense(seen, 81, 100);
    assert.deepEqual([beyond.events, beyond.after, beyond.next, beyond.head], [[], 500, 500, 100]);
  });

  test("a page of a stream without events has no oldestAvailable", async () => {
    await call(gateway, "PUT", at("page-of-none"));
    await fill(gateway, "page-of-trimmed", 3, 3);

    const none = (await call(gateway, "GET", at("page-of-none", "/events"))).json;
    const trimmed = (await call(gateway, "GET", at("page-of-trimmed", "/events"))).json;

    assert.deepEqual({ ...none, epoch: "" }, { stream: "page-of-none", epoch: "", events: [], after: 0, next: 0, head: 0 });
    assert.deepEqual({ ...trimmed, epoch: "" }, { stream: "page-of-trimmed", epoch: "", events: [], after: 3, next: 3, head: 3 });
  });

  test("last, from, key, consumer and limit choose what a page shows", async () => {
    for (let n = 1; n <= 10; n += 1) {
      await publish(gateway, "chosen", { n }, { query: `?key=${n % 2 ? "odd" : "even"}${n === 4 || n === 6 ? "&snapshot=true" : ""}` });
    }
    await call(gateway, "PUT", at("chosen", "/consumers/c"), { body: '{"offset":7}' });
    const numbers = async (query) =>
      (await call(gateway, "GET", at("chosen", `/events?${query}`))).json.events.map((event) => event.sequence);

    assert.deepEqual(await numbers("last=3"), [8, 9, 10]);
    assert.deepEqual(await numbers("last=5&limit=2"), [6, 7]);
    assert.deepEqual(await numbers("last=50"), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    assert.deepEqual(await numbers("last=2&key=odd"), [7, 9]);
    assert.deepEqual(await numbers("key=even"), [2, 4, 6, 8, 10]);
    assert.deepEqual(await numbers("key=nobody"), []);
    assert.deepEqual(await numbers("after=4&key=even&limit=2"), [6, 8]);
    assert.deepEqual(await numbers("from=snapshot"), [6, 7, 8, 9, 10]);
    // The newest snapshot of that key: what rebuilds it. No snapshot: from its oldest event.
    assert.deepEqual(await numbers("from=snapshot&key=even"), [6, 8, 10]);
    assert.deepEqual(await numbers("from=snapshot&key=odd"), [1, 3, 5, 7, 9]);
    assert.deepEqual(await numbers("consumer=c"), [8, 9, 10]);
    assert.deepEqual(await numbers("consumer=new"), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    assert.deepEqual(await numbers("limit=5000"), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
  });

  test("from=snapshot without a snapshot begins at the oldest event", async () => {
    await fill(gateway, "no-snapshot", 5, 2);

    const page = (await call(gateway, "GET", at("no-snapshot", "/events?from=snapshot"))).json;

    assert.deepEqual(page.events.map((event) => event.sequence), [3, 4, 5]);
  });

  test("a page that a key filters scans to the head where it is not full", async () => {
    for (let n = 1; n <= 6; n += 1) await publish(gateway, "scanned", { n }, { query: n === 2 ? "?key=rare" : "" });

    const page = (await call(gateway, "GET", at("scanned", "/events?key=rare"))).json;
    const full = (await call(gateway, "GET", at("scanned", "/events?key=rare&limit=1"))).json;

    assert.deepEqual([page.events.length, page.next, page.head], [1, 6, 6]);
    assert.deepEqual([full.events.length, full.next, full.head], [1, 2, 6]);
  });

  test("without a limit a page has 100 events, and at most 1000", async () => {
    await fill(gateway, "long", 1100);

    const plain = (await call(gateway, "GET", at("long", "/events"))).json;
    const most = (await call(gateway, "GET", at("long", "/events?limit=1001"))).json;
    const last = (await call(gateway, "GET", at("long", "/events?last=300"))).json;

    assert.deepEqual([plain.events.length, plain.next], [100, 100]);
    assert.deepEqual([most.events.length, most.next], [1000, 1000]);
    assert.deepEqual([last.events.length, last.events[0].sequence], [300, 801]);
  });

  test("a batch is one event a line, all or nothing, with consecutive numbers", async () => {
    const send = (body, type = "application/x-ndjson", query = "") =>
      call(gateway, "POST", at("batch", `/events${query}`), { headers: { "content-type": type }, body });

    const three = await send('{"a":1}\n\n[2]\n"three"');
    const bad = await send('{"a":4}\n{bad}\n{"a":5}\n');
    const none = await send("\n\n\n");
    const windows = await send('{"a":6}\r\n\r\n{"a":7}\r\n');
    const events = await readAll(gateway, "batch");

    assert.equal(three.status, 201, three.text);
    assert.deepEqual(three.json, { stream: "batch", first: 1, last: 3 });
    assert.deepEqual(Object.keys(three.json), ["stream", "first", "last"]);
    assertProblem(bad, 400, "invalid-payload");
    assert.match(bad.json.detail, /2/, "the detail names the line");
    assert.equal(none.status, 400);
    assert.deepEqual(windows.json, { stream: "batch", first: 4, last: 5 });
    assert.deepEqual(events.map((event) => event.payload), [{ a: 1 }, [2], "three", { a: 6 }, { a: 7 }]);
  });

  test("lines of profile=envelope carry key and snapshot mark, and the request's go for the others", async () => {
    const body = [
      '{"payload":{"n":1}}',
      '{"payload":{"n":2},"key":"own"}',
      '{"payload":{"n":3},"isSnapshot":false}',
      '{"isSnapshot":true,"key":"other","payload":null}',
    ].join("\n");
    for (const [stream, type] of [
      ["enveloped", "application/x-ndjson; profile=envelope"],
      ["enveloped-quoted", 'application/x-ndjson;profile="envelope"'],
    ]) {
      const answer = await call(gateway, "POST", at(stream, "/events?key=shared&snapshot=true"), {
        headers: { "content-type": type },
        body,
      });
      const events = await readAll(gateway, stream);

      assert.equal(answer.status, 201, answer.text);
      assert.deepEqual(
        events.map(({ payload, key, isSnapshot }) => ({ payload, key, isSnapshot })),
        [
          { payload: { n: 1 }, key: "shared", isSnapshot: true },
          { payload: { n: 2 }, key: "own", isSnapshot: true },
          { payload: { n: 3 }, key: "shared", isSnapshot: false },
          { payload: null, key: "other", isSnapshot: true },
        ],
      );
    }
    for (const line of ["{}", '{"key":"k"}', '{"payload":1,"key":""}', '{"payload":1,"key":7}', '{"payload":1,"isSnapshot":"yes"}', "[1]"]) {
      const answer = await call(gateway, "POST", at("enveloped", "/events"), {
        headers: { "content-type": "application/x-ndjson; profile=envelope" },
        body: line,
      });
      assert.equal(answer.status, 400, `${line}: ${answer.text}`);
    }
    assert.equal((await streamInfo(gateway, "enveloped")).head, 4);
    const other = await call(gateway, "POST", at("enveloped", "/events"), {
      headers: { "content-type": "application/x-ndjson; profile=other" },
      body: "{}",
    });
    assertProblem(other, 415, "unsupported-media-type");
  });

  test("NDJSON gives the whole range, one envelope a line, with or without bounds", async () => {
    await fill(gateway, "range", 2500, 20);

    const answer = await call(gateway, "GET", at("range", "/events"), { headers: { accept: "application/x-ndjson" } });
    const lines = answer.text.split("\n");
    const some = await readAll(gateway, "range", { after: 2490, query: "&limit=4" });
    const newest = await readAll(gateway, "range", { query: "last=1200" });

    assert.match(answer.headers["content-type"], /^application\/x-ndjson\b/);
    assert.ok(tokens(answer.headers.vary).includes("accept"));
    assert.equal(lines.pop(), "", "the last line ends too");
    assertDense(lines.map((line) => JSON.parse(line).sequence), 21, 2500);
    assert.match(lines[0], /^\{"streamId":"range","sequence":21,"isSnapshot":false,"createdAt":\d+,"payload":\{"n":21\}\}$/);
    assertDense(some.map((event) => event.sequence), 2491, 2494);
    assertDense(newest.map((event) => event.sequence), 1301, 2500);
  });

  test("a range is published elsewhere as it was read", async () => {
    const body = '{"big":12345678901234567890123, "a":1, "a":2}';
    await call(gateway, "POST", at("moved", "/events?key=k&snapshot=true"), { headers: { "content-type": "application/json" }, body });
    await call(gateway, "POST", at("moved", "/events"), { headers: { "content-type": "application/json" }, body: "2" });
    const range = await call(gateway, "GET", at("moved", "/events"), { headers: { accept: "application/x-ndjson" } });

    const headers = { "content-type": "application/x-ndjson; profile=envelope" };
    const answer = await call(gateway, "POST", at("moved-to", "/events"), { headers, body: range.text });
    const copy = await call(gateway, "GET", at("moved-to", "/events"), { headers: { accept: "application/x-ndjson" } });

    assert.equal(answer.status, 201, answer.text);
    const bare = (text) => text.replaceAll(/"streamId":"[^"]*"|"createdAt":\d+/g, "");
    assert.equal(bare(copy.text), bare(range.text));
    assert.match(copy.text, /"big":12345678901234567890123, "a":1, "a":2/);
  });

  test("HEAD answers like GET without a body", async () => {
    await fill(gateway, "headed", 3);
    for (const path of [
      at("headed"),
      at("headed", "/events"),
      at("headed", "/events/2"),
      at("headed", "/consumers"),
      at("headed", "/consumers/c"),
      "/streams",
      "/healthz",
      "/readyz",
      "/metrics",
      "/",
    ]) {
      const got = await call(gateway, "GET", path);
      const head = await call(gateway, "HEAD", path);

      assert.equal(got.status, 200, `${path}: ${got.text.slice(0, 200)}`);
      assert.equal(head.status, got.status, path);
      assert.equal(head.bytes.length, 0, path);
      assert.equal(head.headers["content-type"], got.headers["content-type"], path);
    }
    assert.equal((await call(gateway, "HEAD", at("headed"))).headers.etag, '"3"');
    assert.equal((await call(gateway, "HEAD", at("never-made"))).status, 404);
  });

  test("OPTIONS is a 204 that says what is allowed", async () => {
    const allowed = {
      "/streams": ["get", "head", "options"],
      [at("any")]: ["get", "head", "put", "options"],
      [at("any", "/events")]: ["get", "head", "post", "delete", "options"],
      [at("any", "/events/1")]: ["get", "head", "options"],
      [at("any", "/consumers")]: ["get", "head", "options"],
      [at("any", "/consumers/c")]: ["get", "head", "put", "delete", "options"],
      "/events": ["get", "head", "options"],
      "/healthz": ["get", "head", "options"],
    };
    for (const [path, methods] of Object.entries(allowed)) {
      const answer = await call(gateway, "OPTIONS", path);

      assert.equal(answer.status, 204, `${path}: ${answer.text}`);
      assert.deepEqual(tokens(answer.headers.allow).sort(), methods.sort(), path);
    }
  });

  test("one event is a 200, a 404 where it never was, a 410 where it was trimmed", async () => {
    await fill(gateway, "single", 5, 2);
    const get = (n, stream = "single") => call(gateway, "GET", at(stream, `/events/${n}`));

    assert.equal((await get(3)).json.sequence, 3);
    assertProblem(await get(0), 404, "unknown-event");
    assertProblem(await get(6), 404, "unknown-event");
    assertProblem(await get(1), 410, "event-gone");
    assertProblem(await get(2), 410, "event-gone");
    assertProblem(await get(1, "single-never"), 404, "unknown-stream");
  });

  test("the list of streams is in byte order of names and pages by them", async () => {
    const names = ["list/B", "list/a", "list/b", "list/\u00e9", "list/\uff5e", "list/\u{1f600}"];
    for (const name of [...names].reverse()) await publish(gateway, name, { name });
    await call(gateway, "PUT", at("list/empty"));
    await fill(gateway, "list/gone", 2, 2);
    const byBytes = [...names, "list/empty", "list/gone"].sort((x, y) => Buffer.compare(Buffer.from(x), Buffer.from(y)));

    const seen = [];
    let after = "";
    for (;;) {
      const answer = await call(gateway, "GET", `/streams?prefix=list%2F&limit=3${after && `&after=${encodeURIComponent(after)}`}`);
      assert.equal(answer.status, 200, answer.text);
      seen.push(...answer.json.streams);
      if (!answer.json.next) break;
      assert.equal(answer.json.streams.length, 3);
      after = answer.json.next;
    }
    const whole = await call(gateway, "GET", "/streams?prefix=list%2F");

    assert.deepEqual(seen.map((one) => one.stream), byBytes);
    assert.deepEqual(whole.json.streams, seen);
    assert.equal(whole.json.next, undefined);
    const find = (name) => seen.find((one) => one.stream === name);
    assert.deepEqual(Object.keys(find("list/a")), ["stream", "epoch", "head", "oldestAvailable", "count", "createdAt", "lastEventAt"]);
    assert.deepEqual(Object.keys(find("list/empty")), ["stream", "epoch", "head", "count", "createdAt"]);
    assert.deepEqual(
      [find("list/a").head, find("list/a").oldestAvailable, find("list/a").count, find("list/gone").head, find("list/gone").count],
      [1, 1, 1, 2, 0],
    );
    assert.equal(find("list/gone").oldestAvailable, undefined);
    assertRecent(find("list/a").createdAt);
    assertRecent(find("list/a").lastEventAt);
    assert.deepEqual(
      (await call(gateway, "GET", "/streams?prefix=list%2F&after=list%2Fb&limit=1")).json.streams.map((one) => one.stream),
      ["list/empty"],
    );
    assert.deepEqual((await call(gateway, "GET", "/streams?prefix=nothing-has-it")).json, { streams: [] });
  });

  test("PUT makes a stream once", async () => {
    const made = await call(gateway, "PUT", at("put"));
    const again = await call(gateway, "PUT", at("put"));
    const got = await call(gateway, "GET", at("put"));
    await publish(gateway, "put", { n: 1 });
    const filled = await call(gateway, "PUT", at("put"));

    assert.deepEqual([made.status, again.status, filled.status], [201, 200, 200]);
    assert.match(made.json.epoch, epochPattern);
    assert.deepEqual(
      { ...made.json, epoch: "", createdAt: 0 },
      { stream: "put", epoch: "", head: 0, count: 0, createdAt: 0 },
    );
    assert.deepEqual(again.json, made.json);
    assert.deepEqual(got.json, made.json);
    assert.equal(filled.json.head, 1);
    assert.equal(filled.json.epoch, made.json.epoch);
    assertProblem(await call(gateway, "GET", at("put-never")), 404, "unknown-stream");
  });

  test("a stream says its head in ETag, and If-None-Match does not make it a 304", async () => {
    await fill(gateway, "tagged", 4);

    const first = await call(gateway, "GET", at("tagged"));
    const second = await call(gateway, "GET", at("tagged"), { headers: { "if-none-match": first.headers.etag } });

    assert.equal(first.headers.etag, '"4"');
    assert.equal(second.status, 200);
  });

  test("a stream links to its bindings", async () => {
    await publish(gateway, "bound/x", {});

    const answer = await call(gateway, "GET", at("bound/x"));
    const sse = new URL(answer.link("https://openfaster.org/streamld#sse"), gateway.base);
    const replication = new URL(answer.link("https://openfaster.org/streamld#websocket-replication"), gateway.base);

    assert.equal(replication.protocol, "ws:");
    assert.equal(replication.host, `127.0.0.1:${gateway.port}`);
    await withSse(gateway, sse.pathname + sse.search, {}, async (stream) => {
      assert.equal(stream.status, 200);
      assert.match(stream.headers["content-type"], /^text\/event-stream\b/);
    });
    assert.equal(replication.pathname, "/replication");
  });

  test("If-Match appends only at that head, If-None-Match only to an empty stream", async () => {
    const post = (headers) => call(gateway, "POST", at("guarded", "/events"), { headers, body: "{}" });

    assert.equal((await post({ "if-none-match": "*" })).status, 201);
    const second = await post({ "if-none-match": "*" });
    const problem = assertProblem(second, 412, "precondition-failed");
    assert.equal(problem.head, 1);
    assert.equal(second.headers.etag, '"1"');
    assert.equal((await post({ "if-match": '"1"' })).json.sequence, 2);
    const stale = await post({ "if-match": '"1"' });
    assert.equal(assertProblem(stale, 412, "precondition-failed").head, 2);
    assert.equal(stale.headers.etag, '"2"');
    for (const bad of ["2", 'W/"2"', '"2","3"', '"x"', '"02"', ""]) {
      const answer = await post({ "if-match": bad });
      assert.ok(answer.status === 400 || answer.status === 412, `If-Match: ${bad}: ${answer.status}`);
    }
    assert.equal((await streamInfo(gateway, "guarded")).head, 2);
    const batch = await call(gateway, "POST", at("guarded", "/events"), {
      headers: { "if-match": '"2"', "content-type": "application/x-ndjson" },
      body: "1\n2\n",
    });
    assert.deepEqual(batch.json, { stream: "guarded", first: 3, last: 4 });
  });

  test("If-Match on a new stream means head 0", async () => {
    const post = (tag) => call(gateway, "POST", at("guarded-new", "/events"), { headers: { "if-match": tag }, body: "{}" });

    assert.equal(assertProblem(await post('"1"'), 412, "precondition-failed").head, 0);
    assert.equal((await post('"0"')).status, 201);
  });

  test("of many publishers that expect the same head exactly one wins", async () => {
    await publish(gateway, "raced", {});

    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, n) =>
        call(gateway, "POST", at("raced", "/events"), { headers: { "if-match": '"1"' }, body: `{"n":${n}}` }),
      ),
    );

    assert.equal(answers.filter((answer) => answer.status === 201).length, 1);
    assert.equal(answers.filter((answer) => answer.status === 412).length, 19);
    assert.equal((await streamInfo(gateway, "raced")).head, 2);
  });

  describe("idempotency", () => {
    const post = (stream, token, body, { query = "", headers = {} } = {}) =>
      call(gateway, "POST", at(stream, `/events${query}`), { headers: { "idempotency-key": token, ...headers }, body });

    test("the same publish again gets the first answer and makes no second event", async () => {
      const first = await post("idem", "t-1", '{"a":1}');
      await publish(gateway, "idem", { other: true });
      const again = await post("idem", "t-1", '{"a":1}');

      assert.equal(first.status, 201);
      assert.equal(first.headers["idempotency-replayed"], undefined);
      assert.equal(again.status, 201);
      assert.equal(again.headers["idempotency-replayed"], "true");
      assert.equal(again.text, first.text);
      assert.equal(again.headers.location, first.headers.location);
      assert.equal((await streamInfo(gateway, "idem")).head, 2);
    });

    test("the token with anything else is a conflict", async () => {
      await post("idem-other", "t", '{"a":1}', { query: "?key=k" });

      for (const [what, answer] of [
        ["body", await post("idem-other", "t", '{"a":2}', { query: "?key=k" })],
        ["spelling", await post("idem-other", "t", '{"a": 1}', { query: "?key=k" })],
        ["key", await post("idem-other", "t", '{"a":1}')],
        ["other key", await post("idem-other", "t", '{"a":1}', { query: "?key=l" })],
        ["snapshot", await post("idem-other", "t", '{"a":1}', { query: "?key=k&snapshot=true" })],
        ["content type", await post("idem-other", "t", '{"a":1}', { query: "?key=k", headers: { "content-type": "application/ld+json" } })],
        ["batch", await post("idem-other", "t", '{"a":1}', { query: "?key=k", headers: { "content-type": "application/x-ndjson" } })],
      ]) {
        assertProblem(answer, 422, "idempotency-conflict", what);
      }
      assert.equal((await streamInfo(gateway, "idem-other")).head, 1);
    });

    test("a token belongs to its stream", async () => {
      await post("idem-a", "shared", "1");

      const other = await post("idem-b", "shared", "2");

      assert.equal(other.status, 201, other.text);
      assert.equal(other.headers["idempotency-replayed"], undefined);
    });

    test("a batch repeats as a whole", async () => {
      const headers = { "content-type": "application/x-ndjson" };

      const first = await post("idem-batch", "b", "1\n2\n3\n", { headers });
      const again = await post("idem-batch", "b", "1\n2\n3\n", { headers });
      const shorter = await post("idem-batch", "b", "1\n2\n", { headers });

      assert.deepEqual(first.json, { stream: "idem-batch", first: 1, last: 3 });
      assert.deepEqual(again.json, first.json);
      assert.equal(again.headers["idempotency-replayed"], "true");
      assertProblem(shorter, 422, "idempotency-conflict");
      assert.equal((await streamInfo(gateway, "idem-batch")).head, 3);
    });

    test("HTTP and WebSocket share the tokens", async () => {
      await withWs(gateway, "", async (socket) => {
        const publishTo = { "@type": "Publish", stream: "idem-ws", payload: { a: 1 }, idempotencyKey: "w-1" };

        const first = await socket.ask(publishTo);
        const again = await socket.ask(publishTo);
        const byHttp = await post("idem-ws", "w-1", '{"a":1}');
        const http = await post("idem-ws", "h-1", '{"b":2}');
        const bySocket = await socket.ask({ ...publishTo, payload: { b: 2 }, idempotencyKey: "h-1" });
        const conflict = await socket.ask({ ...publishTo, payload: { b: 3 } });

        assert.deepEqual([first["@type"], first.sequence, first.replayed], ["Published", 1, undefined]);
        assert.deepEqual([again.sequence, again.replayed], [1, true]);
        assert.deepEqual([byHttp.status, byHttp.json.sequence, byHttp.headers["idempotency-replayed"]], [201, 1, "true"]);
        assert.deepEqual([http.json.sequence, bySocket.sequence, bySocket.replayed], [2, 2, true]);
        assert.deepEqual([conflict["@type"], conflict.type], ["Error", "idempotency-conflict"]);
        assert.equal((await streamInfo(gateway, "idem-ws")).head, 2);
      });
    });

    test("fifty at once make one event", async () => {
      const answers = await Promise.all(Array.from({ length: 50 }, () => post("idem-50", "same", '{"once":true}')));

      assert.deepEqual([...new Set(answers.map((answer) => answer.status))], [201]);
      assert.deepEqual([...new Set(answers.map((answer) => answer.json.sequence))], [1]);
      assert.equal(answers.filter((answer) => answer.headers["idempotency-replayed"] === "true").length, 49);
      assert.equal((await streamInfo(gateway, "idem-50")).head, 1);
    });

    test("a repeat is recognised before a precondition is looked at", async () => {
      const headers = { "if-none-match": "*" };

      const first = await post("idem-pre", "p", "{}", { headers });
      const again = await post("idem-pre", "p", "{}", { headers });

      assert.equal(first.status, 201);
      assert.equal(again.status, 201);
      assert.equal(again.headers["idempotency-replayed"], "true");
    });

    test("a refused publish does not use the token up", async () => {
      const refused = await post("idem-refused", "r", "{}", { headers: { "if-match": '"5"' } });
      const invalid = await post("idem-refused", "r", "{bad");
      const accepted = await post("idem-refused", "r", '{"now":"good"}');

      assert.equal(refused.status, 412);
      assert.equal(invalid.status, 400);
      assert.equal(accepted.status, 201);
      assert.equal(accepted.headers["idempotency-replayed"], undefined);
    });

    test("a token outlives a restart", async (t) => {
      const own = await startGateway(t);
      const headers = { "idempotency-key": "kept" };
      await call(own, "POST", at("s", "/events"), { headers, body: "1" });
      await own.kill9();
      await own.start();

      const again = await call(own, "POST", at("s", "/events"), { headers, body: "1" });

      assert.equal(again.headers["idempotency-replayed"], "true");
      assert.equal((await streamInfo(own, "s")).head, 1);
    });
  });

  describe("consumers", () => {
    const consumer = (stream, name = "c") => at(stream, `/consumers/${encodeURIComponent(name)}`);
    const save = (stream, offset, headers = {}) =>
      call(gateway, "PUT", consumer(stream), { headers, body: `{"offset":${offset}}` });

    test("an offset that was never saved is 0", async () => {
      await fill(gateway, "cons-new", 20);

      const answer = await call(gateway, "GET", consumer("cons-new", "nobody yet"));

      assert.equal(answer.status, 200);
      assert.deepEqual(answer.json, { consumer: "nobody yet", stream: "cons-new", offset: 0, head: 20, lag: 20 });
      assert.deepEqual(Object.keys(answer.json), ["consumer", "stream", "offset", "head", "lag"]);
      assert.deepEqual((await call(gateway, "GET", at("cons-new", "/consumers"))).json, { stream: "cons-new", consumers: [] });
    });

    test("a saved offset only rises and never passes the head", async () => {
      await fill(gateway, "cons", 20);

      assert.deepEqual((await save("cons", 10)).json, { offset: 10, advanced: true });
      assert.deepEqual((await save("cons", 7)).json, { offset: 10, advanced: false });
      assert.deepEqual((await save("cons", 10)).json, { offset: 10, advanced: false });
      await Promise.all([save("cons", 12), save("cons", 11)]);
      assertProblem(await save("cons", 21), 422, "invalid-cursor");
      for (const bad of ["-1", "1.5", '"9"', "null", "1e1", "9007199254740992"]) {
        assertProblem(await save("cons", bad), 400, "invalid-cursor", bad);
      }
      const stored = await call(gateway, "GET", consumer("cons"));
      assert.deepEqual([stored.json.offset, stored.json.lag], [12, 8]);
      const next = await call(gateway, "GET", at("cons", "/events?consumer=c&limit=1"));
      assert.equal(next.json.events[0].sequence, 13);
    });

    test("a body that is no offset is refused", async () => {
      await fill(gateway, "cons-body", 3);
      for (const body of ["", "{}", "[]", "3", "{", '{"offset":1,"offset":2,}']) {
        const answer = await call(gateway, "PUT", consumer("cons-body"), { body });
        assert.equal(answer.status, 400, `${body}: ${answer.text}`);
      }
      assert.equal((await call(gateway, "GET", consumer("cons-body"))).json.offset, 0);
    });

    test("saving takes any content type", async () => {
      await fill(gateway, "cons-type", 5);
      let offset = 0;
      for (const type of ["application/json", "application/x-www-form-urlencoded", "text/plain", "application/merge-patch+json"]) {
        offset += 1;
        assert.deepEqual((await save("cons-type", offset, { "content-type": type })).json, { offset, advanced: true }, type);
      }
    });

    test("the list is by name, and a deleted one is forgotten", async () => {
      await fill(gateway, "cons-list", 3);
      for (const [name, offset] of [["b", 2], ["a/b", 1], ["\u00e9", 3]]) {
        await call(gateway, "PUT", consumer("cons-list", name), { body: `{"offset":${offset}}` });
      }

      const list = await call(gateway, "GET", at("cons-list", "/consumers"));
      const gone = await call(gateway, "DELETE", consumer("cons-list", "b"));
      const goneAgain = await call(gateway, "DELETE", consumer("cons-list", "b"));
      const after = await call(gateway, "GET", at("cons-list", "/consumers"));

      assert.deepEqual(list.json.consumers.map((one) => [one.consumer, one.offset]), [["a/b", 1], ["b", 2], ["\u00e9", 3]]);
      assert.deepEqual([gone.status, goneAgain.status], [204, 204]);
      assert.deepEqual(after.json.consumers.map((one) => one.consumer), ["a/b", "\u00e9"]);
      assert.equal((await call(gateway, "GET", consumer("cons-list", "b"))).json.offset, 0);
    });

    test("a stream that never existed has none", async () => {
      for (const [method, path, body] of [
        ["GET", at("cons-never", "/consumers")],
        ["GET", consumer("cons-never")],
        ["PUT", consumer("cons-never"), '{"offset":0}'],
        ["DELETE", consumer("cons-never")],
      ]) {
        assertProblem(await call(gateway, method, path, { body }), 404, "unknown-stream", `${method} ${path}`);
      }
    });

    test("reading on from a consumer's offset that was trimmed shows the hole", async () => {
      await fill(gateway, "cons-trim", 10);
      await save("cons-trim", 2);
      await call(gateway, "DELETE", at("cons-trim", "/events?through=6"));

      const page = (await call(gateway, "GET", at("cons-trim", "/events?consumer=c"))).json;

      assert.deepEqual([page.after, page.oldestAvailable, page.events[0].sequence], [2, 7, 7]);
    });
  });

  describe("trim", () => {
    const trim = (stream, query) => call(gateway, "DELETE", at(stream, `/events?${query}`));

    test("it removes up to a number, moves only forward and never past the head", async () => {
      await fill(gateway, "trim", 10);

      assert.deepEqual((await trim("trim", "through=0")).json, { stream: "trim", removed: 0, oldestAvailable: 1, head: 10 });
      const first = await trim("trim", "through=4");
      assert.equal(first.status, 200);
      assert.deepEqual(first.json, { stream: "trim", removed: 4, oldestAvailable: 5, head: 10 });
      assert.deepEqual((await trim("trim", "through=2")).json, { stream: "trim", removed: 0, oldestAvailable: 5, head: 10 });
      assert.deepEqual((await trim("trim", "through=900")).json, { stream: "trim", removed: 6, head: 10 });
      const info = await streamInfo(gateway, "trim");
      assert.deepEqual([info.head, info.count, info.oldestAvailable], [10, 0, undefined]);
      assert.equal(await publish(gateway, "trim", {}), 11);
      assert.equal((await streamInfo(gateway, "trim")).oldestAvailable, 11);
    });

    test("it needs a number, and a stream", async () => {
      await fill(gateway, "trim-args", 1);

      assertProblem(await trim("trim-args", ""), 400, "invalid-parameter");
      assertProblem(await trim("trim-args", "through=x"), 400, "invalid-cursor");
      assertProblem(await trim("trim-args", "through="), 400, "invalid-cursor");
      assertProblem(await trim("trim-args", "through=1&dry-run=yes"), 400, "invalid-parameter");
      assertProblem(await trim("trim-args", "through=1&guard=all"), 400, "invalid-parameter");
      assertProblem(await trim("trim-never", "through=1"), 404, "unknown-stream");
      assert.equal((await streamInfo(gateway, "trim-args")).count, 1);
    });

    test("a dry run says what would go and whom it would hit, and removes nothing", async () => {
      await fill(gateway, "dry", 10);
      for (const [name, offset] of [["behind", 2], ["level", 5], ["ahead", 8]]) {
        await call(gateway, "PUT", at("dry", `/consumers/${name}`), { body: `{"offset":${offset}}` });
      }
      await withSse(gateway, at("dry", "/events"), {}, async (stream) => {
        await stream.named("position");
        await withWs(gateway, "?stream=dry&after=0", async (socket) => {
          await socket.frames("dry", 10);

          const answer = await trim("dry", "through=5&dry-run=true");

          assert.equal(answer.status, 200);
          assert.deepEqual(answer.json, {
            stream: "dry",
            removed: 5,
            oldestAvailable: 6,
            head: 10,
            consumers: [{ consumer: "behind", offset: 2 }],
            subscriptions: 2,
          });
        });
      });
      assert.equal((await streamInfo(gateway, "dry")).count, 10);
      await until(async () => (await subscriptionCount(gateway, "dry")) === 0, "both subscriptions are gone");
    });

    test("a guarded trim is refused while a consumer is behind", async () => {
      await fill(gateway, "guard", 10);
      await call(gateway, "PUT", at("guard", "/consumers/slow"), { body: '{"offset":4}' });

      const refused = await trim("guard", "through=5&guard=consumers");
      const allowed = await trim("guard", "through=4&guard=consumers");

      assertProblem(refused, 409, "consumers-behind");
      assert.equal(allowed.json.removed, 4);
      assert.equal((await trim("guard", "through=6")).json.removed, 2, "unguarded it goes through");
    });
  });

  describe("long-poll", () => {
    const poll = (stream, query, options) => call(gateway, "GET", at(stream, `/events?${query}`), { seconds: 30, ...options });

    test("it answers at once where there is an event", async () => {
      await fill(gateway, "poll", 3);
      const begun = Date.now();

      const answer = await poll("poll", "after=1&wait=20");

      assert.ok(Date.now() - begun < 10_000);
      assert.deepEqual(answer.json.events.map((event) => event.sequence), [2, 3]);
      assert.deepEqual([answer.json.after, answer.json.next, answer.json.head], [1, 3, 3]);
      assert.match(answer.headers["cache-control"], /no-cache|no-store/);
    });

    test("it answers as soon as an event comes", async () => {
      await fill(gateway, "poll-later", 3);
      const waiting = poll("poll-later", "after=3&wait=30");
      await until(async () => (await subscriptionCount(gateway, "poll-later")) === 1, "the poll waits");
      const published = Date.now();
      await publish(gateway, "poll-later", { late: true });

      const answer = await waiting;

      assert.ok(Date.now() - published < 5_000);
      assert.deepEqual(answer.json.events.map((event) => event.sequence), [4]);
      assert.deepEqual([answer.json.next, answer.json.head], [4, 4]);
    });

    test("it answers with an empty page when the time is over", async () => {
      await fill(gateway, "poll-none", 3);
      const begun = Date.now();

      const answer = await poll("poll-none", "after=3&wait=1");

      assert.ok(Date.now() - begun >= 900, "not before its time");
      assert.equal(answer.status, 200);
      assert.deepEqual([answer.json.events, answer.json.after, answer.json.next, answer.json.head], [[], 3, 3, 3]);
    });

    test("without a start it waits for the next event", async () => {
      await fill(gateway, "poll-live", 3);
      const waiting = poll("poll-live", "wait=30");
      await until(async () => (await subscriptionCount(gateway, "poll-live")) === 1, "the poll waits");
      await publish(gateway, "poll-live", {});

      const answer = await waiting;

      assert.deepEqual(answer.json.events.map((event) => event.sequence), [4]);
      assert.equal(answer.json.after, 3);
    });

    test("it waits for a stream that does not exist yet", async () => {
      const none = await poll("poll-unborn", "after=0&wait=1");
      const waiting = poll("poll-unborn", "after=0&wait=30");
      await publish(gateway, "poll-unborn", { born: true });
      const born = await waiting;

      assert.equal(none.status, 200, none.text);
      assert.deepEqual([none.json.events, none.json.head, none.json.epoch], [[], 0, undefined]);
      assert.deepEqual(born.json.events.map((event) => event.sequence), [1]);
    });

    test("with a key it waits for that key's events and scans past the others", async () => {
      await publish(gateway, "poll-key", {}, { query: "?key=b" });

      const none = await poll("poll-key", "after=0&key=a&wait=1");
      const waiting = poll("poll-key", "after=1&key=a&wait=30");
      await publish(gateway, "poll-key", {}, { query: "?key=b" });
      await publish(gateway, "poll-key", {}, { query: "?key=a" });
      const found = await waiting;

      assert.deepEqual([none.json.events, none.json.next], [[], 1]);
      assert.deepEqual(found.json.events.map((event) => event.sequence), [3]);
    });

    test("it keeps to its limit", async () => {
      await fill(gateway, "poll-limit", 10);

      const answer = await poll("poll-limit", "after=0&wait=5&limit=4");

      assert.deepEqual([answer.json.events.length, answer.json.next], [4, 4]);
      assert.ok(answer.link("next"));
    });
  });

  test("pages and events as JSON-LD carry a context and wrap plain payloads", async () => {
    await publish(gateway, "linked", '{"a":1}');
    await publish(gateway, "linked", '{"@context":{"b":"urn:b"},"b":2}', { headers: { "content-type": "application/ld+json" } });
    await publish(gateway, "linked", "raw", { headers: { "content-type": "text/plain" } });

    const page = await call(gateway, "GET", at("linked", "/events"), { headers: { accept: "application/ld+json" } });
    const single = await call(gateway, "GET", at("linked", "/events/1"), { headers: { accept: "application/ld+json" } });

    assert.match(page.headers["content-type"], /^application\/ld\+json\b/);
    assert.ok(page.json["@context"], page.text);
    assert.deepEqual(page.json.events.map((event) => event.payload), [
      { "@type": "@json", "@value": { a: 1 } },
      { "@context": { b: "urn:b" }, b: 2 },
      { "@type": "xsd:base64Binary", "@value": "cmF3" },
    ]);
    assert.ok(single.json["@context"], single.text);
  });

  test("every live endpoint takes the stream as a parameter, and as its own URL", async () => {
    await publish(gateway, "by/param", {});
    for (const name of ["by/param", `${gateway.base}/streams/by%2Fparam`, `${gateway.ws}/streams/by%2Fparam`]) {
      const query = `?stream=${encodeURIComponent(name)}&after=0`;
      await withSse(gateway, `/events${query}`, {}, async (stream) => {
        assert.equal((await stream.message()).frame.event.streamId, "by/param", name);
      });
      await withWs(gateway, query, async (socket) => {
        assert.equal((await socket.frame("by/param")).cursor, 1);
      });
    }
    const elsewhere = "http://elsewhere.example/streams/by%2Fparam";
    await withWs(gateway, "", async (socket) => {
      const answer = await socket.ask({ stream: elsewhere, after: 0 });
      assert.equal(answer.stream, elsewhere, "another server's URL is the name as it stands");
    });
  });

  test("an answer comes on a connection that goes on", async () => {
    const answers = [];
    for (let n = 0; n < 5; n += 1) answers.push(await call(gateway, "GET", "/healthz"));

    assert.ok(answers.every((answer) => answer.headers.connection !== "close"));
  });
});
