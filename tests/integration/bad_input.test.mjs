// What users get wrong, and what attackers get right elsewhere: each gets one visible answer, and the gateway lives on.

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import { sharedGateway } from "./support/gateway.mjs";
import { assertProblem, at, call, fill, payloadText, publish, readAll, streamInfo, tokens } from "./support/http.mjs";
import { run } from "./support/process.mjs";
import { exchangeRaw, RawConnection, RawWebSocket } from "./support/raw.mjs";
import { scaled } from "./support/scale.mjs";
import { openSse, withSse } from "./support/sse.mjs";
import { WsClient, withWs } from "./support/websocket.mjs";

const slugs = [
  "invalid-name",
  "invalid-cursor",
  "invalid-parameter",
  "invalid-payload",
  "invalid-request",
  "payload-too-large",
  "unknown-path",
  "unknown-stream",
  "unknown-event",
  "event-gone",
  "precondition-failed",
  "idempotency-conflict",
  "consumers-behind",
  "unauthorized",
  "forbidden",
  "too-many-requests",
  "store-unavailable",
  "shutting-down",
  "not-acceptable",
  "method-not-allowed",
  "unsupported-media-type",
  "upgrade-required",
  "internal",
];

const sse = { accept: "text/event-stream" };
const upgrade = {
  connection: "Upgrade",
  upgrade: "websocket",
  "sec-websocket-version": "13",
  "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
};

describe("bad input", () => {
  const gateway = sharedGateway();
  const get = (path, headers = {}) => call(gateway, "GET", path, { headers });
  const shake = (query) => call(gateway, "GET", `/replication${query}`, { headers: upgrade, fresh: true });
  const post = (stream, body, headers = {}, query = "") => call(gateway, "POST", at(stream, `/events${query}`), { headers, body });

  describe("problems", () => {
    test("each kind of problem explains itself at its type", async () => {
      for (const slug of slugs) {
        const answer = await get(`/problems/${slug}`);
        assert.equal(answer.status, 200, slug);
        assert.ok(answer.text.length > 20, slug);
      }
      assertProblem(await get("/problems/nothing-of-the-kind"), 404, "unknown-path");
    });

    test("a path that is none of ours is unknown-path", async () => {
      for (const path of ["/nope", "/streams/a/b", "/streams/a/events/1/x", "/streams/a/consumers/c/d", "/streams/a/eventz", "/Streams", "/streams/a/", "/events/"]) {
        assertProblem(await get(path), 404, "unknown-path", path);
      }
    });

    test("a stream that never existed is unknown-stream", async () => {
      for (const [method, path] of [
        ["GET", at("void")],
        ["GET", at("void", "/events")],
        ["GET", at("void", "/events/1")],
        ["GET", at("void", "/consumers")],
        ["GET", at("void", "/consumers/c")],
        ["DELETE", at("void", "/events?through=1")],
      ]) {
        assertProblem(await call(gateway, method, path), 404, "unknown-stream", `${method} ${path}`);
      }
      assertProblem(await get(at("void", "/events"), { accept: "application/x-ndjson" }), 404, "unknown-stream");
      assertProblem(await get(at("void")), 404, "unknown-stream", "reading has not made it");
    });

    test("a method that a path does not have is a 405 with what it has", async () => {
      for (const [method, path, allowed] of [
        ["POST", "/streams", "get"],
        ["DELETE", at("m"), "put"],
        ["PATCH", at("m"), "put"],
        ["PUT", at("m", "/events"), "post"],
        ["DELETE", at("m", "/events/1"), "get"],
        ["POST", at("m", "/consumers"), "get"],
        ["POST", at("m", "/consumers/c"), "put"],
        ["POST", "/events", "get"],
        ["POST", "/replication", "get"],
        ["POST", "/healthz", "get"],
        ["PROPFIND", "/streams", "get"],
      ]) {
        const answer = await call(gateway, method, path);
        assertProblem(answer, 405, "method-not-allowed", `${method} ${path}`);
        assert.ok(tokens(answer.headers.allow).includes(allowed), `${method} ${path}: ${answer.headers.allow}`);
      }
    });

    test("an Accept that nothing fits is a 406", async () => {
      await publish(gateway, "accepted", {});
      for (const path of [at("accepted", "/events"), "/events?stream=accepted"]) {
        assertProblem(await get(path, { accept: "image/png" }), 406, "not-acceptable", path);
      }
      assertProblem(await get("/events?stream=accepted", { accept: "application/json" }), 406, "not-acceptable");
      for (const accept of ["*/*", "application/*", "image/png, */*;q=0.1", "application/json;q=0.5", "APPLICATION/JSON"]) {
        const answer = await get(at("accepted", "/events"), { accept });
        assert.equal(answer.status, 200, accept);
        assert.match(answer.headers["content-type"], /^application\/json\b/, accept);
      }
      assert.match((await get(at("accepted", "/events"))).headers["content-type"], /^application\/json\b/);
      await withSse(gateway, "/events?stream=accepted&after=0", { headers: { accept: "*/*" } }, async (stream) => {
        assert.equal((await stream.message()).frame.cursor, 1);
      });
    });

    test("quality values choose between the forms", async () => {
      const type = async (accept) => (await get(at("accepted", "/events"), { accept })).headers["content-type"];

      assert.match(await type("application/x-ndjson;q=0.9, application/json;q=0.1"), /^application\/x-ndjson/);
      assert.match(await type("application/json, application/x-ndjson;q=0.5"), /^application\/json/);
      assert.match(await type("application/ld+json, application/json;q=0.5"), /^application\/ld\+json/);
    });

    test("the replication endpoint asks for an upgrade", async () => {
      const plain = await get("/replication");
      const old = await call(gateway, "GET", "/replication", { headers: { ...upgrade, "sec-websocket-version": "8" }, fresh: true });

      assertProblem(plain, 426, "upgrade-required");
      assert.match(plain.headers.upgrade ?? "", /websocket/i);
      assertProblem(old, 426, "upgrade-required");
      assert.equal(old.headers["sec-websocket-version"], "13");
    });
  });

  describe("names", () => {
    // Encoded as in a path; the name it is, or null where it is none.
    const names = [
      ["a%2Fb", "a/b"],
      ["a%252Fb", "a%2Fb"],
      ["a+b", "a+b"],
      ["a%20b", "a b"],
      ["100%25", "100%"],
      ["...", "..."],
      [".a", ".a"],
      ["%2e%2e%2e", "..."],
      ["a%3Fb%23c", "a?b#c"],
      ["a:b@c;d=e,f&g", "a:b@c;d=e,f&g"],
      ["caf%C3%A9", "caf\u00e9"],
      ["cafe%CC%81", "cafe\u0301"],
      ["Orders", "Orders"],
      ["orders", "orders"],
      ["a%E2%80%8B", "a\u200b"],
      ["%C3%85", "\u00c5"],
      ["%E2%84%AB", "\u212b"],
      ["%F0%9F%98%80", "\u{1f600}"],
      ["%EF%BF%BE", "\ufffe"],
      ["%20", " "],
      ["x".repeat(512), "x".repeat(512)],
      [".", null],
      ["..", null],
      ["%2e", null],
      ["%2E%2e", null],
      ["%00", null],
      ["a%00b", null],
      ["a%0Ab", null],
      ["a%1Fb", null],
      ["a%7Fb", null],
      ["a%C2%85b", null],
      ["%zz", null],
      ["%", null],
      ["%4", null],
      ["%C3%28", null],
      ["%C0%80", null],
      ["%ED%A0%80", null],
      ["%F4%90%80%80", null],
      ["%FF", null],
      ["x".repeat(513), null],
      [`${"%C3%A9".repeat(256)}x`, null],
    ];

    test("one decoding makes a name, or says why it is none", async () => {
      for (const [encoded, name] of names) {
        const answer = await call(gateway, "POST", `/streams/${encoded}/events`, { body: "{}" });

        if (name === null) {
          assert.equal(answer.status, 400, `${encoded}: ${answer.text}`);
          assertProblem(answer, 400, "invalid-name", encoded);
        } else {
          assert.equal(answer.status, 201, `${encoded}: ${answer.text}`);
          assert.equal(answer.json.stream, name, encoded);
          const page = await get(`/streams/${encoded}/events`);
          assert.equal(page.json.stream, name, encoded);
          assert.equal(page.json.events[0].streamId, name, encoded);
        }
      }
    });

    test("names that only look alike are different streams in every place", async () => {
      const alike = [["caf\u00e9", "cafe\u0301"], ["Orders", "orders"], ["a\u200b", "a\u200c"], ["\u00c5", "\u212b"]];
      for (const pair of alike) {
        for (const [i, name] of pair.entries()) {
          const head = (await call(gateway, "PUT", at(name))).json.head;
          await publish(gateway, name, { which: i });
          assert.equal((await streamInfo(gateway, name)).head, head + 1, JSON.stringify(name));
          const frame = await withWs(gateway, "", async (socket) => {
            socket.send({ stream: name, last: 1 });
            return socket.frame(name);
          });
          assert.deepEqual(frame.event.payload, { which: i });
          const bySse = await withSse(gateway, `/events?stream=${encodeURIComponent(name)}&last=1`, {}, (stream) => stream.message());
          assert.deepEqual(bySse.frame, frame);
          const list = await get(`/streams?prefix=${encodeURIComponent(name)}`);
          assert.equal(list.json.streams[0].stream, name);
        }
      }
    });

    test("no legal name maps to another stream", async () => {
      const listed = [];
      let query = "limit=10";
      for (;;) {
        const { json } = await get(`/streams?${query}`);
        listed.push(...json.streams.map((one) => one.stream));
        if (!json.next) break;
        query = `limit=10&after=${encodeURIComponent(json.next)}`;
      }

      const legal = new Set(names.map(([, name]) => name).filter((name) => name !== null));
      for (const name of legal) assert.equal(listed.filter((one) => one === name).length, 1, JSON.stringify(name));
      const byBytes = [...listed].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
      assert.deepEqual(listed, byBytes);
    });

    test("bad names are refused by every door alike", async () => {
      for (const name of ["", ".", "..", "a\u0000b", "a\nb", "\u007f", "\u0085", "x".repeat(513), "\u00e9".repeat(257)]) {
        const encoded = encodeURIComponent(name);
        const row = JSON.stringify(name).slice(0, 40);
        assertProblem(await get(`/events?stream=${encoded}`, sse), 400, "invalid-name", row);
        assertProblem(await shake(`?stream=${encoded}`), 400, "invalid-name", row);
        if (name !== "") {
          assertProblem(await call(gateway, "PUT", `/streams/${encoded}`), 400, "invalid-name", row);
          assertProblem(await get(at("orders", `/consumers/${encoded}`)), 400, "invalid-name", row);
        }
        assertProblem(await get(at("orders", `/events?consumer=${encoded}`)), 400, "invalid-name", row);
        await withWs(gateway, "", async (socket) => {
          for (const message of [
            { stream: name },
            { "@type": "Publish", stream: name, payload: 1 },
            { "@type": "Unsubscribe", stream: name },
            { "@type": "SaveOffset", stream: "orders", consumer: name, offset: 0 },
          ]) {
            const answer = await socket.ask(message);
            assert.deepEqual([answer["@type"], answer.type], ["Error", "invalid-name"], `${row} ${JSON.stringify(answer)}`);
          }
        });
      }
    });

    test("bad keys are refused by every door alike", async () => {
      for (const key of ["", "a\u0000b", "a\nb", "\u0085", "x".repeat(513)]) {
        const encoded = encodeURIComponent(key);
        const row = JSON.stringify(key).slice(0, 40);
        assertProblem(await post("keyed", "1", {}, `?key=${encoded}`), 400, "invalid-name", row);
        assertProblem(await get(at("orders", `/events?key=${encoded}`)), 400, "invalid-name", row);
        assertProblem(await get(`/events?stream=orders&key=${encoded}`, sse), 400, "invalid-name", row);
        assertProblem(await shake(`?stream=orders&key=${encoded}`), 400, "invalid-name", row);
        const line = JSON.stringify({ payload: 1, key });
        const batch = await post("keyed", line, { "content-type": "application/x-ndjson; profile=envelope" });
        assertProblem(batch, 400, "invalid-name", row);
        await withWs(gateway, "", async (socket) => {
          for (const message of [{ stream: "orders", key }, { "@type": "Publish", stream: "keyed", payload: 1, key }]) {
            const answer = await socket.ask(message);
            assert.deepEqual([answer["@type"], answer.type], ["Error", "invalid-name"], row);
          }
        });
      }
      assertProblem(await post("keyed", "1", { "streamld-key": "" }), 400, "invalid-name", "an empty header");
      assertProblem(await get(at("keyed")), 404, "unknown-stream", "nothing was published");
    });

    test("a key may be what a name may not, and comes back as it was", async () => {
      for (const key of [".", "..", "a/b", " ", "caf\u00e9", "\u{1f600}", "x".repeat(512)]) {
        await publish(gateway, "good-keys", 1, { query: `?key=${encodeURIComponent(key)}` });
        const page = await get(at("good-keys", `/events?key=${encodeURIComponent(key)}`));
        assert.deepEqual(page.json.events.map((event) => event.key), [key]);
      }
    });

    test("the header StreamLD-Key is raw UTF-8 and must agree with the query", async () => {
      const utf8 = Buffer.from("caf\u00e9").toString("latin1");
      const sequence = await publish(gateway, "header-key", 1, { headers: { "streamld-key": utf8 } });
      assert.equal((await get(at("header-key", `/events/${sequence}`))).json.key, "caf\u00e9");
      assert.equal((await post("header-key", "1", { "streamld-key": "same" }, "?key=same")).status, 201);
      assertProblem(await post("header-key", "1", { "streamld-key": "one" }, "?key=other"), 400, "invalid-parameter");
      assertProblem(await post("header-key", "1", { "streamld-key": "\xff\xfe" }), 400, "invalid-name");
    });

    test("a target that is too long is refused as such, a long one is served", async () => {
      assert.equal((await get(`${at("orders", "/events")}?_pad=${"x".repeat(8000)}`)).status, 200);
      for (const size of [70_000, 300_000]) {
        const answer = await exchangeRaw(gateway, `GET /streams/${"x".repeat(size)} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
        assert.ok([414, 431].includes(answer.status), `${answer.status}`);
      }
      const headers = await exchangeRaw(gateway, `GET /streams HTTP/1.1\r\nHost: localhost\r\nX-Pad: ${"x".repeat(70_000)}\r\n\r\n`);
      assert.equal(headers.status, 431);
    });
  });

  describe("parameters", () => {
    test("numbers are digits within their range, or a 400 that names them", async () => {
      await fill(gateway, "numbers", 3);
      for (const value of ["0", "-1", "1e3", "1.5", "00010", "%201", "9223372036854775808", "18446744073709551616", "", "abc", "0x10", "+5", "1%20"]) {
        for (const [path, headers] of [
          [at("numbers", `/events?limit=${value}`), {}],
          [at("numbers", `/events?limit=${value}`), { accept: "application/x-ndjson" }],
          [`/streams?limit=${value}`, {}],
        ]) {
          const problem = assertProblem(await get(path, headers), 400, "invalid-parameter", `${path} ${headers.accept}`);
          assert.match(problem.detail, /limit/);
        }
        if (value !== "0") {
          assertProblem(await get(at("numbers", `/events?last=${value}`)), 400, "invalid-parameter", `last=${value}`);
          assertProblem(await get(at("numbers", `/events?last=${value}`), sse), 400, "invalid-parameter", `SSE last=${value}`);
          assertProblem(await shake(`?stream=numbers&last=${value}`), 400, "invalid-parameter", `WebSocket last=${value}`);
        }
      }
      assert.equal((await get(at("numbers", "/events?limit=2147483648"))).json.events.length, 3);
      const both = await get(at("numbers", "/events?after=9007199254740991&limit=9007199254740991"));
      assert.deepEqual([both.status, both.json.events], [200, []]);
      for (const value of ["", "abc", "-1", "1e1", "00"]) {
        assertProblem(await get(at("numbers", `/events?wait=${value}`)), 400, "invalid-parameter", `wait=${value}`);
      }
    });

    test("an event's number in a path is a number too", async () => {
      for (const value of ["abc", "-1", "01", "1.0", "+1", "9007199254740992", "18446744073709551617"]) {
        const answer = await get(at("numbers", `/events/${value}`));
        assert.ok([400, 404].includes(answer.status), `${value}: ${answer.status}`);
        if (answer.status === 400) assertProblem(answer, 400, "invalid-cursor", value);
        else assertProblem(answer, 404, answer.json.type.slice("/problems/".length), value);
      }
    });

    test("a parameter given twice is refused everywhere", async () => {
      for (const pair of ["after=1&after=2", "after=1&after=1", "limit=1&limit=2", "key=a&key=b", "from=snapshot&from=snapshot"]) {
        assertProblem(await get(at("numbers", `/events?${pair}`)), 400, "invalid-parameter", pair);
      }
      assertProblem(await get(at("numbers", "/events?after=1&after=2"), sse), 400, "invalid-parameter");
      assertProblem(await get("/events?stream=numbers&after=1&after=2", sse), 400, "invalid-parameter");
      assertProblem(await shake("?stream=numbers&after=1&after=2"), 400, "invalid-parameter");
      assertProblem(await post("numbers", "1", {}, "?key=a&key=b"), 400, "invalid-parameter");
      assertProblem(await call(gateway, "DELETE", at("numbers", "/events?through=1&through=1")), 400, "invalid-parameter");
    });

    test("a parameter that a path and method do not know is refused", async () => {
      for (const [method, path, headers = {}] of [
        ["GET", "/streams?aftr=1"],
        ["GET", at("numbers", "?limit=1")],
        ["PUT", at("numbers", "?x=1")],
        ["GET", at("numbers", "/events?afer=3")],
        ["GET", at("numbers", "/events?After=3")],
        ["GET", at("numbers", "/events?lastEventId=1")],
        ["GET", at("numbers", "/events?snapshot=true")],
        ["GET", at("numbers", "/events?since=3"), sse],
        ["GET", at("numbers", "/events?limit=3"), sse],
        ["GET", at("numbers", "/events?wait=3"), sse],
        ["GET", at("numbers", "/events?wait=3"), { accept: "application/x-ndjson" }],
        ["GET", at("numbers", "/events/1?after=1")],
        ["POST", at("numbers", "/events?after=1")],
        ["DELETE", at("numbers", "/events?through=1&limit=1")],
        ["GET", at("numbers", "/consumers/c?offset=1")],
        ["GET", "/events?stream=numbers&limit=1", sse],
        ["GET", "/replication?stream=numbers&limit=1", upgrade],
      ]) {
        const answer = await call(gateway, method, path, { headers, body: method === "POST" ? "1" : undefined, fresh: true });
        assertProblem(answer, 400, "invalid-parameter", `${method} ${path} ${JSON.stringify(headers)}`);
      }
      assert.equal((await streamInfo(gateway, "numbers")).count, 3);
    });

    test("starts that contradict each other are refused everywhere", async () => {
      const starts = ["after=1", "last=1", "from=snapshot", "consumer=c"];
      for (const [i, one] of starts.entries()) {
        for (const other of starts.slice(i + 1)) {
          const query = `${one}&${other}`;
          assertProblem(await get(at("numbers", `/events?${query}`)), 400, "invalid-parameter", query);
          assertProblem(await get(at("numbers", `/events?${query}`), sse), 400, "invalid-parameter", `SSE ${query}`);
          assertProblem(await shake(`?stream=numbers&${query}`), 400, "invalid-parameter", `WebSocket ${query}`);
        }
      }
      await withWs(gateway, "", async (socket) => {
        const answer = await socket.ask({ stream: "numbers", after: 1, last: 1 });
        assert.deepEqual([answer["@type"], answer.type], ["Error", "invalid-parameter"]);
      });
    });

    test("flags and choices have their words and no others", async () => {
      for (const query of ["?snapshot=1", "?snapshot=", "?snapshot=yes", "?snapshot=TRUE"]) {
        assertProblem(await post("numbers", "1", {}, query), 400, "invalid-parameter", query);
      }
      assert.equal((await post("flags", "1", {}, "?snapshot=false")).status, 201);
      for (const query of ["from=now", "from=", "from=Snapshot"]) {
        assertProblem(await get(at("numbers", `/events?${query}`)), 400, "invalid-parameter", query);
      }
      for (const query of ["gap=yes", "id=epochs", "format=json-ld", "id="]) {
        assertProblem(await get(at("numbers", `/events?${query}`), sse), 400, "invalid-parameter", query);
      }
      for (const value of ["xyz", "0123456789ABCDEF", "0123456789abcde", "0123456789abcdef0", ""]) {
        assertProblem(await get(at("numbers", `/events?epoch=${value}`)), 400, "invalid-parameter", `epoch=${value}`);
      }
    });

    test("a query that is not UTF-8 or badly encoded is refused", async () => {
      for (const query of ["key=%zz", "key=%", "key=%ff", "%ff=1"]) {
        const answer = await get(at("numbers", `/events?${query}`));
        assert.equal(answer.status, 400, query);
        assert.ok(["/problems/invalid-parameter", "/problems/invalid-name"].includes(answer.json.type), `${query}: ${answer.text}`);
      }
    });

    test("marketing and cache-busting parameters and tokens are let through", async () => {
      for (const query of ["_=123", "_x=1&_x=2", "utm_source=mail", "access_token=abc", "ticket=abc"]) {
        assert.equal((await get(at("numbers", `/events?${query}`))).status, 200, query);
        assert.equal((await get(`/streams?${query}`)).status, 200, query);
        assert.equal((await post("let-through", "1", {}, `?${query}`)).status, 201, query);
        await withSse(gateway, `/events?stream=numbers&after=0&${query}`, {}, async (stream) => {
          assert.equal((await stream.message()).frame.cursor, 1, query);
        });
        await withWs(gateway, `?stream=numbers&after=0&${query}`, async (socket) => {
          assert.equal((await socket.frame("numbers")).cursor, 1, query);
        });
      }
    });

    test("an event stream without a stream is refused", async () => {
      assertProblem(await get("/events", sse), 400, "invalid-parameter");
      assertProblem(await get("/events?after=1", sse), 400, "invalid-parameter");
      assertProblem(await get("/events?stream=numbers&stream=numbers", sse), 400, "invalid-parameter");
    });
  });

  describe("content types", () => {
    test("what is JSON is kept as JSON, under its own name where it has one", async () => {
      for (const [type, kept] of [
        [undefined, undefined],
        ["application/json", undefined],
        ["application/json;charset=UTF-8", undefined],
        ["Application/JSON", undefined],
        ["application/json ; charset=utf-8", undefined],
        ["application/x-www-form-urlencoded", undefined],
        ["application/problem+json", "application/problem+json"],
        ["Application/Vnd.Acme.Order+JSON; v=2", "application/vnd.acme.order+json"],
        ["application/ld+json", "application/ld+json"],
      ]) {
        const sequence = await publish(gateway, "types", '{"a": 1}', { headers: type ? { "content-type": type } : {} });
        const event = await get(at("types", `/events/${sequence}`));
        assert.equal(event.json.contentType, kept, type);
        assert.equal(payloadText(event.text), '{"a": 1}', type);
      }
    });

    test("anything else is kept as bytes", async () => {
      for (const [type, body] of [
        ["text/plain", Buffer.from("hello")],
        ["application/octet-stream", randomBytes(300)],
        ["image/png", Buffer.from([0x89, 0x50, 0, 0xff])],
        ["text/plain; charset=UTF-8", Buffer.from("caf\u00e9")],
        ["application/xml", Buffer.from("<a/>\r\n")],
      ]) {
        const sequence = await publish(gateway, "bytes", body, { headers: { "content-type": type } });
        const event = (await get(at("bytes", `/events/${sequence}`))).json;
        assert.equal(event.contentType, type.split(";")[0]);
        assert.deepEqual(event.payload, { "@type": "xsd:base64Binary", "@value": body.toString("base64") });
      }
    });

    test("a form that is no JSON is refused with a hint, other faults of the type are a 415", async () => {
      const form = await post("refused-types", "a=1&b=2", { "content-type": "application/x-www-form-urlencoded" });
      assert.match(assertProblem(form, 415, "unsupported-media-type").detail, /--json/);
      for (const type of ["json", "application/", "/json", "application json", "a/b/c", "application/json; charset", ";"]) {
        assertProblem(await post("refused-types", "{}", { "content-type": type }), 415, "unsupported-media-type", type);
      }
      // Parameters are not kept, so another charset would be lost.
      for (const type of ["application/json; charset=utf-16", "text/plain;charset=iso-8859-1"]) {
        assertProblem(await post("refused-types", "{}", { "content-type": type }), 415, "unsupported-media-type", type);
      }
      for (const encoding of ["gzip", "br", "deflate", "gzip, identity"]) {
        assertProblem(await post("refused-types", "{}", { "content-encoding": encoding }), 415, "unsupported-media-type", encoding);
      }
      assert.equal((await post("identity", "{}", { "content-encoding": "identity" })).status, 201);
      assertProblem(await get(at("refused-types")), 404, "unknown-stream");
    });

    test("JSON-LD must be an object", async () => {
      for (const body of ["[]", "1", '"a"', "null", "{", ""]) {
        assertProblem(await post("ld", body, { "content-type": "application/ld+json" }), 400, "invalid-payload", body);
      }
    });

    test("a byte-order mark, UTF-16 and nothing at all are refused with a clear word", async () => {
      const utf16 = Buffer.from("\ufeff{\"a\":1}", "utf16le");
      for (const [body, type] of [
        [Buffer.from("\ufeff{}"), "application/json"],
        [utf16, "application/json"],
        [Buffer.alloc(0), "application/json"],
        [Buffer.alloc(0), "application/octet-stream"],
        [Buffer.alloc(0), "text/plain"],
      ]) {
        const answer = await post("bom", body, { "content-type": type });
        assertProblem(answer, 400, "invalid-payload", `${body.toString("hex")} as ${type}`);
      }
      assertProblem(await get(at("bom")), 404, "unknown-stream");
    });
  });

  describe("payloads", () => {
    const nested = (depth, open = "[", close = "]", inside = "") => open.repeat(depth) + inside + close.repeat(depth);
    const valid = [
      '{"n":9007199254740993,"m":123456789012345678901234567890,"e":1e400,"z":-0.0,"f":0.1000000000000000055,"t":1.0}',
      "0",
      "-0",
      "1E+2",
      "true",
      "false",
      "null",
      '""',
      "[]",
      "{}",
      '{"a":1,"a":2}',
      '{"b":1,"a":{"d":1,"c":2}}',
      ' { "a" :\t1 } ',
      '{"a":1,\r\n"b":2,\r"c":3}',
      "\n[\n1\n,\r\n2]\n",
      '"\\u000d\\u000a\\u2028\\u2029\\u0000\\u001f"',
      '"\u2028\u2029\u0085\u007f"',
      '"\\ud800"',
      '"\\udc00\\ud800"',
      '"\\ud83d\\ude00 \u{1f600}"',
      '"\\/\\b\\f\\n\\r\\t\\"\\\\"',
      '{"__proto__":{"x":1},"constructor":2}',
      '{"":0}',
      '{"@context":"urn:x","@id":"urn:y"}',
      '{"data":"id: 7\\nevent: forged\\n\\ndata: x"}',
      '"</script><!--"',
      nested(64),
      nested(64, '{"a":', "}", "1"),
      `[${nested(63, "[", "]")},${nested(63, '{"":', "}", "0")}]`,
      `"${"x".repeat(70_000)}"`,
      `[${"0,".repeat(20_000)}0]`,
      "\t1\r",
    ];
    const invalid = [
      "NaN",
      "Infinity",
      "-Infinity",
      "01",
      "-01",
      ".5",
      "1.",
      "+1",
      "0x1",
      "1e",
      "1e+",
      "--1",
      "tru",
      "True",
      "nul",
      "'a'",
      '"a',
      '"\\x41"',
      '"\\u12"',
      '"\\ud83d\\u12"',
      '"a\nb"',
      '"a\u0001b"',
      '"a\tb"',
      "{a:1}",
      '{"a"}',
      '{"a":}',
      '{"a":1,}',
      '{,"a":1}',
      "{1:2}",
      "[1,]",
      "[,1]",
      "[1 2]",
      "[1}",
      "{}{}",
      "{} x",
      "1 2",
      "// c\n1",
      "/* c */1",
      " ",
      "\n",
      "\u00a01",
      "\u000c1",
      "1\u0000",
      "\u0000",
      nested(65),
      nested(65, '{"a":', "}", "1"),
      nested(500),
      nested(1200),
      nested(100_000),
      "[".repeat(1200),
      "[".repeat(1_000_000),
      '{"a":'.repeat(200_000),
    ].map((text) => Buffer.from(text));
    for (const bytes of ["22c32822", "22ff22", "22c08022", "22eda08022", "22f490808022", "22c3", "7b22c3223a317d", "efbbbf31", "2280 22"]) {
      invalid.push(Buffer.from(bytes.replace(" ", ""), "hex"));
    }
    const onOneLine = (text) => text.replace(/[\r\n]/g, " ");

    test("what is JSON comes back byte for byte over REST, NDJSON, SSE and WebSocket", async () => {
      for (const body of valid) await publish(gateway, "corpus", body);

      const lines = await readAll(gateway, "corpus");
      const page = await get(at("corpus", "/events"));
      const frames = [];
      await withWs(
        gateway,
        "?stream=corpus&after=0",
        async (socket) => {
          while (frames.length < valid.length) frames.push(await socket.frame("corpus"));
        },
        { keepText: true },
      );
      const events = await withSse(gateway, at("corpus", "/events?after=0"), {}, (stream) => stream.messages(valid.length));

      for (const [i, body] of valid.entries()) {
        const row = body.slice(0, 60);
        const single = (await get(at("corpus", `/events/${i + 1}`))).text;
        assert.equal(onOneLine(payloadText(single)), onOneLine(body), `REST: ${row}`);
        assert.equal(payloadText(lines[i].line), onOneLine(body), `NDJSON: ${row}`);
        assert.equal(payloadText(frames[i].text), onOneLine(body), `WebSocket: ${row}`);
        assert.equal(events[i].data, frames[i].text, `SSE is the same text: ${row}`);
        assert.equal(events[i].id, `${i + 1}`);
        assert.ok(page.text.includes(onOneLine(body)) || page.text.includes(body), `page: ${row}`);
      }
      assert.equal(page.json.events.length, valid.length);
    });

    test("what is JSON comes back byte for byte when it came over WebSocket or in a batch", async () => {
      await withWs(gateway, "", async (socket) => {
        for (const [i, body] of valid.entries()) {
          socket.send(`{"@type":"Publish","stream":"corpus-ws","payload":${body},"ref":${i}}`);
          const answer = await socket.next();
          assert.deepEqual([answer["@type"], answer.ref], ["Published", i], `${body.slice(0, 60)}: ${JSON.stringify(answer)}`);
        }
      });
      const singleLines = valid.filter((body) => !body.includes("\n"));
      const batch = await post("corpus-batch", singleLines.join("\n"), { "content-type": "application/x-ndjson" });
      assert.equal(batch.status, 201, batch.text);
      const enveloped = singleLines.map((body) => `{"payload":${body}}`).join("\n");
      const envelopes = await post("corpus-env", enveloped, { "content-type": "application/x-ndjson;profile=envelope" });
      assert.equal(envelopes.status, 201, envelopes.text);

      for (const [stream, bodies] of [["corpus-ws", valid], ["corpus-batch", singleLines], ["corpus-env", singleLines]]) {
        const lines = await readAll(gateway, stream);
        for (const [i, body] of bodies.entries()) {
          // Blanks around a value inside an object belong to the object; inside the value they stay.
          assert.equal(payloadText(lines[i].line).trim(), onOneLine(body).trim(), `${stream}: ${body.slice(0, 60)}`);
        }
      }
    });

    test("what is no JSON is refused everywhere and stored nowhere", async () => {
      await publish(gateway, "refused", "0");
      for (const body of invalid) {
        const row = body.subarray(0, 40).toString("latin1");
        assertProblem(await post("refused", body), 400, "invalid-payload", `REST: ${row}`);
        if (!body.includes(10) && body.toString().trim() !== "") {
          const batch = await post("refused", Buffer.concat([Buffer.from("1\n"), body, Buffer.from("\n2\n")]), {
            "content-type": "application/x-ndjson",
          });
          assert.equal(batch.status, 400, `batch: ${row}: ${batch.text}`);
        }
      }
      assert.equal((await streamInfo(gateway, "refused")).head, 1);
    });

    test("what is no JSON in a WebSocket message is an Error and the connection serves on", async () => {
      await withWs(gateway, "", async (socket) => {
        let n = 0;
        for (const body of invalid) {
          const text = body.toString("utf8");
          if (!Buffer.from(text).equals(body) || text.includes("\ufeff")) continue; // Not UTF-8: that is 1007, elsewhere.
          if (text.trim() === "" && !text.includes("\u0000")) continue;
          n += 1;
          socket.send(`{"@type":"Publish","stream":"refused-ws","payload":${text},"ref":${n}}`);
          const answer = await socket.next();
          assert.equal(answer["@type"], "Error", `${text.slice(0, 60)}: ${JSON.stringify(answer)}`);
          assert.ok(["invalid-payload", "invalid-request"].includes(answer.type), answer.type);
        }
        assert.equal((await socket.ask({ "@type": "Publish", stream: "refused-ws", payload: 1 })).sequence, 1);
      });
    });

    test("no payload can forge a line of an event stream", async () => {
      const forging = '{"a":1,\r\n"b":\r2,\n"id":\r\n"event: x",\r"data":"retry: 1"}';
      await publish(gateway, "forged", forging, { query: "?key=id%3A%207" });
      const socketText = await withSse(gateway, at("forged", "/events?after=0"), {}, async (stream) => {
        const event = await stream.message();
        assert.deepEqual(event.frame.event.payload, JSON.parse(forging));
        assert.equal(event.lastEventId, "1");
        return stream.text;
      });
      for (const line of socketText.split(/\r\n|\r|\n/)) {
        assert.match(line, /^($|:|retry: \d+$|event: position$|id: \d+$|data: \{"@type")/, line);
      }
    });
  });

  test("each error answer of a table of everyday faults is complete", async () => {
    await fill(gateway, "faults", 3, 1);
    for (const [status, slug, method, path, options = {}] of [
      [400, "invalid-name", "GET", "/streams/%00"],
      [400, "invalid-cursor", "GET", at("faults", "/events?after=x")],
      [400, "invalid-parameter", "GET", at("faults", "/events?x=1")],
      [400, "invalid-payload", "POST", at("faults", "/events"), { body: "{" }],
      [404, "unknown-path", "GET", "/x"],
      [404, "unknown-stream", "GET", at("no-faults")],
      [404, "unknown-event", "GET", at("faults", "/events/9")],
      [410, "event-gone", "GET", at("faults", "/events/1")],
      [412, "precondition-failed", "POST", at("faults", "/events"), { body: "1", headers: { "if-match": '"9"' } }],
      [405, "method-not-allowed", "PATCH", at("faults")],
      [406, "not-acceptable", "GET", at("faults", "/events"), { headers: { accept: "image/png" } }],
      [415, "unsupported-media-type", "POST", at("faults", "/events"), { body: "1", headers: { "content-type": "x" } }],
      [426, "upgrade-required", "GET", "/replication"],
      [403, "forbidden", "GET", "/streams", { headers: { host: "evil.example" } }],
    ]) {
      assertProblem(await call(gateway, method, path, options), status, slug, `${method} ${path}`);
    }
    const head = await call(gateway, "HEAD", at("no-faults"));
    assert.deepEqual([head.status, head.bytes.length], [404, 0]);
    assert.match(head.headers["content-type"], /^application\/problem\+json/);
  });
});

describe("limits", () => {
  const limit = 65_536;
  const gateway = sharedGateway({ args: ["--max-payload", `${limit}`, "--max-batch", "100", "--max-body", "262144"] });
  const text = (bytes) => `"${"x".repeat(bytes - 2)}"`;
  const ndjson = { "content-type": "application/x-ndjson" };

  test("a payload at the limit is stored, one byte more is a 413", async () => {
    const exact = await call(gateway, "POST", at("limit", "/events"), { body: text(limit) });
    const more = await call(gateway, "POST", at("limit", "/events"), { body: text(limit + 1), fresh: true });

    assert.equal(exact.status, 201, exact.text);
    assertProblem(more, 413, "payload-too-large");
    assert.equal((await streamInfo(gateway, "limit")).head, 1);
    assert.equal((await call(gateway, "GET", at("limit", "/events/1"))).json.payload.length, limit - 2);
  });

  test("a batch has at most so many events, each within the limit, within the body's", async () => {
    const send = (lines) => call(gateway, "POST", at("batch-limit", "/events"), { headers: ndjson, body: lines.join("\n"), fresh: true });

    assert.deepEqual((await send(Array(100).fill("1"))).json, { stream: "batch-limit", first: 1, last: 100 });
    assertProblem(await send(Array(101).fill("1")), 413, "payload-too-large");
    assertProblem(await send(["1", text(limit + 1)]), 413, "payload-too-large");
    assert.equal((await send([text(limit), text(limit), text(limit)])).status, 201);
    assertProblem(await send(Array(5).fill(text(limit))), 413, "payload-too-large");
    assert.equal((await streamInfo(gateway, "batch-limit")).head, 103);
  });

  test("Expect: 100-continue gets its 100 at once and then the answer", async () => {
    const connection = await RawConnection.open(gateway.port);
    const body = text(40_000);
    const begun = Date.now();
    connection.write(
      `POST ${at("expect", "/events")} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n` +
        `Content-Length: ${body.length}\r\nExpect: 100-continue\r\n\r\n`,
    );
    const interim = await connection.readHead();
    connection.write(body);
    const answer = await connection.readAnswer();
    connection.destroy();

    assert.equal(interim.status, 100);
    assert.equal(answer.status, 201);
    assert.ok(Date.now() - begun < scaled(900, 5000), "without curl's second of waiting");
  });

  test("a body that would be refused is refused before it is sent", async () => {
    for (const [path, status] of [
      [at("expect-413", "/events"), 413],
      ["/nowhere", 404],
    ]) {
      const connection = await RawConnection.open(gateway.port);
      connection.write(`POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2000000\r\nExpect: 100-continue\r\n\r\n`);
      const answer = await connection.readAnswer();
      connection.destroy();

      assert.equal(answer.status, status);
    }
    assert.equal((await call(gateway, "GET", at("expect-413"))).status, 404);
  });

  test("an unknown expectation is a 417", async () => {
    const answer = await exchangeRaw(
      gateway,
      `POST ${at("expect", "/events")} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nExpect: banana\r\n\r\n1`,
    );
    assert.equal(answer.status, 417);
  });

  test("chunked bodies in every legal form are what was sent", async () => {
    const connection = await RawConnection.open(gateway.port);
    const head = `POST ${at("chunked", "/events")} HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n`;
    const forms = [
      '7\r\n{"a":1}\r\n0\r\n\r\n',
      [...'{"a":1}'].map((byte) => `1\r\n${byte}\r\n`).join("") + "0\r\n\r\n",
      '7;name=value;other="quoted"\r\n{"a":1}\r\n0;last\r\n\r\n',
      '7\r\n{"a":1}\r\n0\r\nX-Trailer: yes\r\nX-More: yes\r\n\r\n',
      '007\r\n{"a":1}\r\n000\r\n\r\n',
      `1A\r\n{"a":${" ".repeat(19)}1}\r\n0\r\n\r\n`,
      `1a\r\n{"a":${" ".repeat(19)}1}\r\n0\r\n\r\n`,
    ];
    for (const [i, form] of forms.entries()) {
      connection.write(head + form);
      const answer = await connection.readAnswer();
      assert.equal(answer.status, 201, `${form}: ${answer.text}`);
      const event = await call(gateway, "GET", at("chunked", `/events/${i + 1}`));
      assert.deepEqual(event.json.payload, { a: 1 }, form);
    }
    connection.destroy();
    const byCurl = await run("curl", ["-sS", "-X", "POST", "-T", "-", "-H", "Content-Type: application/json", `${gateway.base}${at("chunked", "/events")}`], {
      input: '{"by":"curl"}',
    });
    assert.deepEqual(JSON.parse(byCurl.stdout), { stream: "chunked", sequence: forms.length + 1 });
  });

  test("a chunked body at the limit is stored, one byte more is a 413, none is a 400", async () => {
    const send = (body) => {
      const chunks = body.length ? `${body.length.toString(16)}\r\n${body}\r\n` : "";
      const head = `POST ${at("chunk-limit", "/events")} HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n`;
      return exchangeRaw(gateway, `${head}${chunks}0\r\n\r\n`);
    };

    assert.equal((await send(text(limit))).status, 201);
    assertProblem(await send(text(limit + 1)), 413, "payload-too-large");
    assertProblem(await send(""), 400, "invalid-payload");
    assert.equal((await streamInfo(gateway, "chunk-limit")).head, 1);
  });

  test("an upload that is cut off stores nothing", async () => {
    for (const sent of [
      "Transfer-Encoding: chunked\r\n\r\n7\r\n{\"a\":1}\r\n",
      "Transfer-Encoding: chunked\r\n\r\n9\r\n{\"a\":1}",
      "Content-Length: 20\r\n\r\n{\"a\":1}",
    ]) {
      const connection = await RawConnection.open(gateway.port);
      connection.write(`POST ${at("cut", "/events")} HTTP/1.1\r\nHost: localhost\r\n${sent}`);
      connection.end();
      await connection.ended();
      connection.destroy();
    }
    assert.equal((await call(gateway, "GET", at("cut"))).status, 404);
  });

  test("a refusal of fifty megabytes is heard every time", async () => {
    const file = join(gateway.dir, "large");
    await writeFile(file, Buffer.alloc(50 << 20, "x"));
    const url = `${gateway.base}${at("heard", "/events")}`;
    const base = ["-s", "-o", "/dev/null", "-w", "%{http_code}", "-H", "Content-Type: application/json", "-H", "Expect:"];
    const seen = { "with a length": [], "in chunks": [] };
    for (let i = 0; i < scaled(30, 5); i += 1) {
      const known = await run("curl", [...base, "--data-binary", `@${file}`, url]);
      const chunked = await run("curl", [...base, "-X", "POST", "-H", "Transfer-Encoding: chunked", "-T", file, url]);
      seen["with a length"].push(known.stdout);
      seen["in chunks"].push(chunked.stdout);
    }

    for (const [how, codes] of Object.entries(seen)) assert.deepEqual([...new Set(codes)], ["413"], how);
    assert.equal((await call(gateway, "GET", at("heard"))).status, 404);
  });

  test("over WebSocket a payload over the limit is an Error, a message over it by 64 KiB is 1009", async () => {
    const socket = await WsClient.open(gateway);
    const frame = (payload) => `{"@type":"Publish","stream":"ws-limit","payload":${payload},"ref":1}`;
    socket.send(frame(text(limit)));
    const exact = await socket.next();
    socket.send(frame(text(limit + 1)));
    const more = await socket.next();
    socket.send(`{"x":${text(limit + 65_536 - 6)}}`);
    const largest = await socket.next();
    socket.send(`{"x":${text(limit + 65_536 - 5)}}`);

    assert.equal(exact["@type"], "Published");
    assert.deepEqual([more["@type"], more.type], ["Error", "payload-too-large"]);
    assert.equal(largest["@type"], "Error");
    assert.equal(await socket.closeCode(), 1009);
    assert.equal((await streamInfo(gateway, "ws-limit")).head, 1);
  });
});

describe("malformed HTTP", () => {
  const gateway = sharedGateway();

  test("what is ambiguous is a 400 and the end of the connection", async () => {
    const post = (lines, body = "1") => `POST ${at("raw", "/events")} HTTP/1.1\r\nHost: localhost\r\n${lines}\r\n\r\n${body}`;
    for (const bytes of [
      "GARBAGE\r\n\r\n",
      "GET\r\n\r\n",
      "GET /streams\r\n\r\n",
      "GET /streams HTTP/9.9\r\nHost: localhost\r\n\r\n",
      "GET /streams HTTP/1.1 extra\r\nHost: localhost\r\n\r\n",
      "GET /str eams HTTP/1.1\r\nHost: localhost\r\n\r\n",
      "GET /streams HTTP/1.1\r\nHost : localhost\r\n\r\n",
      "GET /streams HTTP/1.1\r\nHost: localhost\r\n folded: yes\r\n\r\n",
      "GET /streams HTTP/1.1\r\nHost: localhost\r\nNo colon\r\n\r\n",
      "GET /streams HTTP/1.1\r\nHost: localhost\r\nX: a\u0000b\r\n\r\n",
      "GET /streams HTTP/1.1\r\nHost: localhost\r\nX: a\rb\r\n\r\n",
      "GET /streams HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n",
      "\u0016\u0003\u0001\u0002\u0000\u0001\u0000\u0001\u00fc\u0003\u0003\r\n\r\n",
      post("Content-Length: 1\r\nContent-Length: 2"),
      post("Content-Length: 1, 1"),
      post("Content-Length: +1"),
      post("Content-Length: -1"),
      post("Content-Length: 0x1"),
      post("Content-Length: 99999999999999999999999"),
      post("Content-Length: 1\r\nTransfer-Encoding: chunked", "1\r\n1\r\n0\r\n\r\n"),
      post("Transfer-Encoding: chunked\r\nContent-Length: 1", "1\r\n1\r\n0\r\n\r\n"),
      post("Transfer-Encoding: xchunked", "1\r\n1\r\n0\r\n\r\n"),
      post("Transfer-Encoding: chunked, identity", "1\r\n1\r\n0\r\n\r\n"),
      post("Transfer-Encoding: chunked, chunked", "1\r\n1\r\n0\r\n\r\n"),
      post("Transfer-Encoding: chunked", "g\r\n1\r\n0\r\n\r\n"),
      post("Transfer-Encoding: chunked", "-1\r\n1\r\n0\r\n\r\n"),
      post("Transfer-Encoding: chunked", "1\r\n123\r\n0\r\n\r\n"),
      post("Transfer-Encoding: chunked", "fffffffffffffffff\r\n1\r\n0\r\n\r\n"),
    ]) {
      const connection = await RawConnection.open(gateway.port);
      connection.write(Buffer.from(bytes, "latin1"));
      const answer = await connection.readAnswer();
      const row = JSON.stringify(bytes.slice(0, 120));

      assert.ok([400, 413, 501, 505].includes(answer.status), `${row}: ${answer.status}`);
      assert.match(answer.headers["content-type"], /^application\/problem\+json/, row);
      if (answer.status === 400) assert.equal(answer.json.type, "/problems/invalid-request", row);
      await connection.ended();
      connection.destroy();
    }
    assert.equal((await call(gateway, "GET", at("raw"))).status, 404, "nothing was stored");
  });

  test("the HTTP/2 preface and silence do no harm", async () => {
    const h2 = await RawConnection.open(gateway.port);
    h2.write("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    const answer = await h2.readAnswer();
    const silent = await RawConnection.open(gateway.port);
    silent.end();
    await silent.ended();

    assert.ok(answer.status >= 400, `${answer.status}`);
    h2.destroy();
    silent.destroy();
  });

  test("requests behind each other in one write are answered in order", async () => {
    const connection = await RawConnection.open(gateway.port);
    const one = (path, body = "") =>
      `${body ? "POST" : "GET"} ${path} HTTP/1.1\r\nHost: localhost\r\n${body ? `Content-Length: ${body.length}\r\n` : ""}\r\n${body}`;
    connection.write(
      one(at("piped", "/events"), '{"n":1}') + one(at("piped", "/events"), '{"n":2}') + one(at("piped", "/events")) + one("/nowhere") + one("/healthz"),
    );
    const statuses = [];
    const bodies = [];
    for (let i = 0; i < 5; i += 1) {
      const answer = await connection.readAnswer();
      statuses.push(answer.status);
      bodies.push(answer.text);
    }
    connection.destroy();

    assert.deepEqual(statuses, [201, 201, 200, 404, 200]);
    assert.deepEqual(JSON.parse(bodies[2]).events.map((event) => event.sequence), [1, 2]);
  });

  test("a request that comes byte by byte is understood", async () => {
    const connection = await RawConnection.open(gateway.port);
    await connection.writeByteByByte(
      Buffer.from(`POST ${at("bytewise", "/events")} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 7\r\n\r\n{"a":1}`),
    );
    const answer = await connection.readAnswer();
    connection.destroy();

    assert.equal(answer.status, 201);
  });

  test("HTTP/1.0 is answered and closed", async () => {
    const connection = await RawConnection.open(gateway.port);
    connection.write("GET /healthz HTTP/1.0\r\n\r\n");
    const answer = await connection.readAnswer();
    await connection.ended();

    assert.equal(answer.status, 200);
    const kept = await RawConnection.open(gateway.port);
    kept.write("GET /streams HTTP/1.0\r\n\r\n");
    assert.equal((await kept.readAnswer()).status, 200, "a request without Host passes");
    kept.destroy();
  });

  test("an event stream over HTTP/1.0 comes without chunks and ends with the connection", async () => {
    await publish(gateway, "old", { n: 1 });
    const connection = await RawConnection.open(gateway.port);
    connection.write(`GET ${at("old", "/events?after=0")} HTTP/1.0\r\nAccept: text/event-stream\r\n\r\n`);
    const head = await connection.readHead();
    const text = (await connection.takeThrough('"n":1', "the event")).toString();
    connection.destroy();

    assert.equal(head.status, 200);
    assert.equal(head.headers["transfer-encoding"], undefined);
    assert.match(text, /^(:.*\n|retry: )/);
  });

  test("an absolute target means its path", async () => {
    const answer = await exchangeRaw(gateway, `GET ${gateway.base}/healthz HTTP/1.1\r\nHost: 127.0.0.1:${gateway.port}\r\n\r\n`);
    assert.equal(answer.status, 200);
  });
});

describe("hosts and origins", () => {
  const listed = "https://d.example";
  const gateway = sharedGateway({ args: ["--allow-origin", listed, "--public-url", "https://gw.example/base"] });
  const get = (path, headers) => call(gateway, "GET", path, { headers });

  test("only this server's own names are a Host, but for probes", async () => {
    for (const host of ["localhost", "127.0.0.1", "[::1]", "LocalHost", "gw.example"]) {
      for (const port of ["", `:${gateway.port}`]) {
        assert.equal((await get("/streams", { host: host + port })).status, 200, host + port);
      }
    }
    for (const host of ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "10.0.0.1", "gw.example.evil", "127.0.0.2"]) {
      assertProblem(await get("/streams", { host }), 403, "forbidden", host);
      assertProblem(await call(gateway, "POST", at("rebound", "/events"), { headers: { host }, body: "1" }), 403, "forbidden", host);
      for (const probe of ["/healthz", "/readyz", "/metrics"]) {
        assert.equal((await get(probe, { host, origin: "https://evil.example" })).status, 200, probe);
      }
    }
    assert.equal((await get(at("rebound"), {})).status, 404);
  });

  test("an unlisted origin is refused everywhere and gets no CORS headers", async () => {
    await publish(gateway, "cors", {});
    for (const origin of ["https://evil.example", "null", "https://d.example.evil", "http://d.example", "https://d.example:8443"]) {
      for (const answer of [
        await get(at("cors"), { origin }),
        await get(at("cors", "/events"), { origin, accept: "text/event-stream" }),
        await call(gateway, "POST", at("cors", "/events"), { headers: { origin, "content-type": "text/plain" }, body: "1" }),
      ]) {
        assertProblem(answer, 403, "forbidden", origin);
        assert.equal(answer.headers["access-control-allow-origin"], undefined, origin);
      }
      const preflight = await call(gateway, "OPTIONS", at("cors"), { headers: { origin, "access-control-request-method": "GET" } });
      assert.equal(preflight.headers["access-control-allow-origin"], undefined, origin);
      await assert.rejects(WsClient.open(gateway, "", { headers: { origin } }), { status: 403 }, origin);
    }
    assert.equal((await streamInfo(gateway, "cors")).head, 1);
  });

  test("same-origin, a listed origin and none are served", async () => {
    const own = `http://127.0.0.1:${gateway.port}`;
    for (const headers of [{}, { origin: own }, { origin: listed }, { origin: "https://gw.example", host: "gw.example" }]) {
      assert.equal((await get(at("cors"), headers)).status, 200, JSON.stringify(headers));
      const socket = await WsClient.open(gateway, "", { headers });
      socket.terminate();
    }
    const otherPort = { origin: `http://127.0.0.1:${gateway.port + 1}` };
    assertProblem(await get(at("cors"), otherPort), 403, "forbidden", "another port is another origin");
  });

  test("a preflight lists what the browser may send", async () => {
    const wanted = ["authorization", "cache-control", "last-event-id", "content-type", "if-match", "if-none-match", "idempotency-key", "streamld-key"];
    for (const [path, method] of [
      [at("cors", "/events"), "GET"],
      [at("cors", "/events"), "POST"],
      [at("cors", "/events"), "DELETE"],
      [at("cors", "/consumers/c"), "PUT"],
      ["/events", "GET"],
    ]) {
      const answer = await call(gateway, "OPTIONS", path, {
        headers: {
          origin: listed,
          "access-control-request-method": method,
          "access-control-request-headers": wanted.join(","),
        },
      });
      assert.equal(answer.status, 204, path);
      assert.equal(answer.headers["access-control-allow-origin"], listed);
      assert.ok(tokens(answer.headers.vary).includes("origin"));
      assert.ok(tokens(answer.headers["access-control-allow-methods"]).includes(method.toLowerCase()), path);
      const allowed = tokens(answer.headers["access-control-allow-headers"]);
      assert.deepEqual(wanted.filter((name) => !allowed.includes(name)), [], path);
    }
  });

  test("answers and errors carry the CORS headers", async () => {
    const headers = { origin: listed };
    const stream = await openSse(gateway, at("cors", "/events?after=0"), { headers });
    stream.close();
    for (const answer of [
      await get(at("cors"), headers),
      await get(at("nothing"), headers),
      await get(at("cors", "/events?after=x"), headers),
      await get(at("cors", "/events?after=99&wait=1"), headers),
      await call(gateway, "POST", at("cors", "/events"), { headers, body: "1" }),
      stream,
    ]) {
      assert.equal(answer.headers["access-control-allow-origin"], listed, `${answer.status}`);
      assert.ok(tokens(answer.headers.vary).includes("origin"), `${answer.status}`);
      const exposed = tokens(answer.headers["access-control-expose-headers"]);
      for (const name of ["etag", "link", "location"]) assert.ok(exposed.includes(name), `${answer.status}: ${name}`);
    }
  });

  test("links follow the public URL", async () => {
    const answer = await get(at("cors"), { host: "gw.example" });
    assert.match(answer.link("https://openfaster.org/streamld#websocket-replication"), /^wss:\/\/gw\.example\/base\/replication/);
    await withWs(gateway, `?stream=${encodeURIComponent("https://gw.example/base/streams/cors")}&after=0`, async (socket) => {
      assert.equal((await socket.frame("cors")).cursor, 1);
    });
  });

  test("a handshake with cookies from elsewhere is refused before the upgrade", async () => {
    const { connection, head } = await RawWebSocket.handshake(gateway, "/replication", {
      headers: { Origin: "https://evil.example", Cookie: "session=1" },
    });
    connection.destroy();
    assert.equal(head.status, 403);
  });
});
