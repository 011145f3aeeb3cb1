// engine: sqlite
// Publishing by plain SQL from the sqlite3 command line, inside the caller's own transaction, while the gateway serves.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { sharedGateway } from "./support/gateway.mjs";
import { assertDense, at, call, payloadText, publish, readAll, streamInfo } from "./support/http.mjs";
import { sqlite, sqliteOk, SqliteSession } from "./support/process.mjs";
import { scaled } from "./support/scale.mjs";
import { withSse } from "./support/sse.mjs";
import { withWs } from "./support/websocket.mjs";

describe("publishing by SQL", () => {
  const gateway = sharedGateway();
  const sql = (text) => sqliteOk(gateway.path, text);

  test("an INSERT is an event for every reader", async () => {
    await withSse(gateway, at("plain", "/events?after=0"), {}, async (stream) => {
      await withWs(gateway, "?stream=plain&after=0", async (socket) => {
        await sql(`INSERT INTO streamld_publish (stream, payload) VALUES ('plain', '{"n": 1.0}');`);

        const event = await stream.message();
        const frame = await socket.frame("plain");
        const [stored] = await readAll(gateway, "plain");
        assert.deepEqual([event.id, frame.cursor, stored.sequence], ["1", 1, 1]);
        assert.equal(payloadText(stored.line), '{"n": 1.0}');
        assert.equal(stored.contentType, undefined);
        assert.ok(Math.abs(stored.createdAt - Date.now() / 1000) < 30);
      });
    });
  });

  test("key, content type and snapshot mark go with it", async () => {
    await sql(`
      INSERT INTO streamld_publish (stream, key, payload, content_type, is_snapshot) VALUES
        ('full', 'k', '{"a":1}', 'application/ld+json', 1),
        ('full', NULL, X'00FF', 'application/octet-stream', 0);`);

    const [one, two] = await readAll(gateway, "full");

    assert.deepEqual([one.key, one.contentType, one.isSnapshot, one.payload], ["k", "application/ld+json", true, { a: 1 }]);
    assert.deepEqual([two.key, two.contentType, two.isSnapshot], [undefined, "application/octet-stream", false]);
    assert.deepEqual(two.payload, { "@type": "xsd:base64Binary", "@value": "AP8=" });
  });

  test("it is part of the caller's transaction: visible with its commit, gone with its rollback", async () => {
    await sql("CREATE TABLE bookings (id INTEGER PRIMARY KEY, what TEXT);");
    await withSse(gateway, at("booked", "/events?after=0"), {}, async (stream) => {
      await stream.named("position");
      await sql(`BEGIN; INSERT INTO bookings (what) VALUES ('lost');
        INSERT INTO streamld_publish (stream, payload) VALUES ('booked', '"lost"'); ROLLBACK;`);
      const session = new SqliteSession(gateway.path);
      await session.run(`BEGIN; INSERT INTO bookings (what) VALUES ('kept');
        INSERT INTO streamld_publish (stream, payload) VALUES ('booked', '"kept"');`);
      assert.equal((await call(gateway, "GET", at("booked"))).status, 404, "not before the commit");
      await session.run("COMMIT;");
      await session.close();

      const { frame } = await stream.message();
      assert.deepEqual([frame.cursor, frame.event.payload], [1, "kept"]);
    });
    assert.equal(await sql("SELECT what FROM bookings;"), "kept");
    assert.equal((await streamInfo(gateway, "booked")).head, 1, "the rollback left no hole");
  });

  test("a rollback among other publishers leaves no hole and no trace", async () => {
    for (let n = 1; n <= 10; n += 1) {
      await publish(gateway, "mixed", { http: n });
      await sql(`BEGIN; INSERT INTO streamld_publish (stream, payload) VALUES ('mixed', '"no"'); ROLLBACK;`);
      await sql(`INSERT INTO streamld_publish (stream, payload) VALUES ('mixed', '{"sql":${n}}');`);
    }

    const events = await readAll(gateway, "mixed");
    assertDense(events.map((event) => event.sequence), 1, 20);
    assert.ok(events.every((event, i) => (i % 2 ? event.payload.sql : event.payload.http) === (i >> 1) + 1));
  });

  test("a long transaction of another program delays publishers and loses none of them", async () => {
    const session = new SqliteSession(gateway.path);
    await session.run(`BEGIN IMMEDIATE; INSERT INTO streamld_publish (stream, payload) VALUES ('held', '0');`);
    const waiting = Array.from({ length: 20 }, (_, n) => publish(gateway, "held", { n }));
    assert.equal((await call(gateway, "GET", "/healthz")).status, 200, "it answers meanwhile");
    await session.run("COMMIT;");
    await session.close();

    const numbers = await Promise.all(waiting);
    assertDense(numbers.sort((a, b) => a - b), 2, 21);
  });

  test("many rows in one statement are consecutive", async () => {
    const rows = Array.from({ length: 500 }, (_, i) => `('rows', '{"n":${i + 1}}')`);
    await sql(`INSERT INTO streamld_publish (stream, payload) VALUES ${rows.join(",")};`);

    const events = await readAll(gateway, "rows");
    assertDense(events.map((event) => event.payload.n), 1, 500);
  });

  test("bad input is refused with its reason, and leaves nothing", async () => {
    for (const [values, reason] of [
      [`('', '1')`, /stream name/],
      [`('.', '1')`, /stream name/],
      [`('..', '1')`, /stream name/],
      [`(NULL, '1')`, /stream name/],
      [`(7, '1')`, /stream name/],
      [`(X'61', '1')`, /stream name/],
      [`('${"x".repeat(513)}', '1')`, /stream name/],
      [`('a' || char(10) || 'b', '1')`, /control character/],
      [`('a' || char(133), '1')`, /control character/],
      [`('a' || char(0), '1')`, /control character/],
      [`(CAST(X'61FF' AS TEXT), '1')`, /UTF-8/],
      [`('bad', NULL)`, /payload/],
      [`('bad', '')`, /payload/],
      [`('bad', 1)`, /payload/],
      [`('bad', 1.5)`, /payload/],
      [`('bad', '{')`, /JSON/],
      [`('bad', 'hello')`, /JSON/],
      [`('bad', '{} x')`, /JSON/],
    ]) {
      const { code, stderr } = await sqlite(gateway.path, `INSERT INTO streamld_publish (stream, payload) VALUES ${values};`);
      assert.notEqual(code, 0, values.slice(0, 60));
      assert.match(stderr, reason, values.slice(0, 60));
    }
    for (const [columns, values, reason] of [
      ["key", "''", /key/],
      ["key", "7", /key/],
      ["key", `'${"k".repeat(513)}'`, /key/],
      ["key", "'a' || char(9)", /control character/],
      ["content_type", "'json'", /content type/],
      ["content_type", "'Text/Plain'", /content type/],
      ["content_type", "'text/plain; charset=utf-8'", /content type/],
      ["is_snapshot", "2", /is_snapshot/],
      ["is_snapshot", "'yes'", /is_snapshot/],
    ]) {
      const statement = `INSERT INTO streamld_publish (stream, payload, ${columns}) VALUES ('bad', '1', ${values});`;
      const { code, stderr } = await sqlite(gateway.path, statement);
      assert.notEqual(code, 0, statement.slice(0, 120));
      assert.match(stderr, reason, statement.slice(0, 120));
    }
    const ld = await sqlite(gateway.path, `INSERT INTO streamld_publish (stream, payload, content_type) VALUES ('bad', '[]', 'application/ld+json');`);
    assert.match(ld.stderr, /object/);
    assert.equal((await call(gateway, "GET", at("bad"))).status, 404);
  });

  test("OR IGNORE and OR REPLACE do not get around the checks", async () => {
    for (const way of ["OR IGNORE", "OR REPLACE", "OR FAIL"]) {
      await sqlite(gateway.path, `INSERT ${way} INTO streamld_publish (stream, payload) VALUES ('around', '{');`);
      assert.equal((await call(gateway, "GET", at("around"))).status, 404, way);
    }
    await sql(`INSERT OR REPLACE INTO streamld_publish (stream, payload) VALUES ('around', '1'), ('around', '2');`);
    assertDense((await readAll(gateway, "around")).map((event) => event.sequence), 1, 2);
  });

  test("bytes that are not UTF-8, and JSON deeper than the limit, come out as base64Binary", async () => {
    const deep = "[".repeat(65) + "]".repeat(65);
    await sql(`
      INSERT INTO streamld_publish (stream, payload) VALUES
        ('odd', '"before"'),
        ('odd', CAST(X'22FF22' AS TEXT)),
        ('odd', X'22C32822'),
        ('odd', '${deep}'),
        ('odd', '"after"');`);

    const events = await readAll(gateway, "odd");
    const frames = await withWs(gateway, "?stream=odd&after=0", (socket) => socket.frames("odd", 5));
    const byEvent = await withSse(gateway, at("odd", "/events?after=0"), {}, (stream) => stream.messages(5));

    const binary = (bytes) => ({ "@type": "xsd:base64Binary", "@value": Buffer.from(bytes).toString("base64") });
    const expected = ["before", binary([0x22, 0xff, 0x22]), binary([0x22, 0xc3, 0x28, 0x22]), binary(Buffer.from(deep)), "after"];
    assert.deepEqual(events.map((event) => event.payload), expected);
    assert.deepEqual(frames.map((frame) => frame.event.payload), expected);
    assert.deepEqual(byEvent.map(({ frame }) => frame.event.payload), expected);
  });

  test("line breaks in a payload by SQL stay inside one line of every stream", async () => {
    await sql(`INSERT INTO streamld_publish (stream, payload) VALUES ('breaks', '{"a":1,' || char(13) || char(10) || '"b":' || char(13) || '2}');`);
    await withSse(gateway, at("breaks", "/events?after=0"), {}, async (stream) => {
      assert.deepEqual((await stream.message()).frame.event.payload, { a: 1, b: 2 });
    });
    const [event] = await readAll(gateway, "breaks");
    assert.equal(payloadText(event.line), '{"a":1,  "b": 2}');
  });

  test("the commit of another program wakes readers soon", async (t) => {
    const session = new SqliteSession(gateway.path);
    await sql(`INSERT INTO streamld_publish (stream, payload) VALUES ('wake', '0');`);
    const delays = [];
    await withWs(gateway, "?stream=wake&after=1", async (socket) => {
      await socket.ask({ "@type": "Unsubscribe", stream: "none" });
      for (let n = 2; n <= scaled(200, 40); n += 1) {
        const begun = performance.now();
        const inserted = session.run(`INSERT INTO streamld_publish (stream, payload) VALUES ('wake', '${n}');`);
        assert.equal((await socket.frame("wake", 3)).cursor, n);
        delays.push(performance.now() - begun);
        await inserted;
      }
    });
    await session.close();
    delays.sort((a, b) => a - b);
    t.diagnostic(
      `from the statement to the frame: p50 ${delays[delays.length >> 1].toFixed(2)} ms, ` +
        `p99 ${delays[Math.floor(delays.length * 0.99)].toFixed(2)} ms, longest ${delays.at(-1).toFixed(2)} ms`,
    );
  });

  test("the view shows what was published", async () => {
    await publish(gateway, "viewed", { n: 1 }, { query: "?key=k" });

    assert.equal(await sql("SELECT stream, key, payload FROM streamld_publish WHERE stream = 'viewed';"), 'viewed|k|{"n":1}');
  });
});
