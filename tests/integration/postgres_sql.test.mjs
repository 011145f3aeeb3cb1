// engine: postgres
// Publishing by SQL from psql, node and Python, inside the caller's own transaction, to the gateway's readers.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { sharedGateway } from "./support/gateway.mjs";
import { assertDense, at, call, payloadText, publish, readAll, streamInfo } from "./support/http.mjs";
import { psql, psqlOk, SqlSession, withSql } from "./support/postgres.mjs";
import { quoted, run } from "./support/process.mjs";
import { scaled } from "./support/scale.mjs";
import { withSse } from "./support/sse.mjs";
import { withWs } from "./support/websocket.mjs";

const hasPython = (await run("python3", ["-c", "import psycopg2"]).catch(() => ({ code: 1 }))).code === 0;

/** What a JSON library would change: spaces, big and long numbers, duplicate members, lone surrogates, escapes. */
const delicate = [
  '{"n": 1.0}',
  '{ "a" : [ 1 , 2 ] ,\t"b":null }',
  "123456789012345678901234567890.12345678901234567890",
  "[1e400,-0,0.10,1E+2,9007199254740993]",
  '{"a":1,"a":2,"a":{"b":1,"b":1}}',
  '"\\ud800"',
  '["\\udc00\\ud800","\\u0000","\\u00e9","\\/"]',
  '"\u00e9\u{1f600}\u2028"',
  '"it\'s \\\\ a \\"quote\\" $1 %s :x"',
];

describe("publishing by SQL", () => {
  const gateway = sharedGateway();

  /** Whatever `publishAll` does must reach a reader of every transport as these texts. */
  async function assertDelivered(stream, texts, publishAll) {
    await withSse(gateway, at(stream, "/events?after=0"), {}, async (events) => {
      await withWs(gateway, `?stream=${stream}&after=0`, async (socket) => {
        await publishAll();
        for (let n = 1; n <= texts.length; n += 1) {
          const event = await events.message();
          const frame = await socket.typed("ReplicationFrame");
          assert.deepEqual([event.frame.cursor, frame.cursor], [n, n]);
          assert.equal(payloadText(event.data), texts[n - 1], "SSE");
          assert.equal(payloadText(frame.text), texts[n - 1], "WebSocket");
        }
      }, { keepText: true });
    });
    const stored = await readAll(gateway, stream);
    assert.deepEqual(stored.map((event) => payloadText(event.line)), texts, "NDJSON");
  }

  test("from psql, byte for byte", async () => {
    const calls = delicate.map((text) => `SELECT streamld.publish('psql', ${quoted(text)});`);
    await assertDelivered("psql", delicate, async () => {
      const numbers = await psqlOk(gateway.store, calls.join("\n"));
      assert.equal(numbers, delicate.map((_, i) => i + 1).join("\n"), "publish() returns the number");
    });
  });

  test("from node, as text and as bytes", async () => {
    const texts = [...delicate, ...delicate];
    await assertDelivered("node", texts, () =>
      withSql(gateway.store, async (session) => {
        for (const text of delicate) await session.run("SELECT streamld.publish($1, $2::text)", ["node", text]);
        for (const text of delicate) await session.run("SELECT streamld.publish($1, $2::bytea)", ["node", Buffer.from(text)]);
      }),
    );
  });

  test("a jsonb value is published as Postgres writes it", async () => {
    await withSql(gateway.store, (session) => session.run("SELECT streamld.publish('jsonb', jsonb_build_object('b', 1.50, 'a', ARRAY[true]))"));

    const [event] = await readAll(gateway, "jsonb");
    assert.equal(payloadText(event.line), '{"a": [true], "b": 1.50}');
  });

  test("from Python", { skip: hasPython ? false : "python3-psycopg2 is not installed" }, async () => {
    const script = `
import json, psycopg2, sys
connection = psycopg2.connect(sys.argv[1])
with connection, connection.cursor() as cursor:
    for text in json.load(sys.stdin):
        cursor.execute("SELECT streamld.publish(%s, %s::text)", ("python", text))
try:
    with connection, connection.cursor() as cursor:
        cursor.execute("SELECT streamld.publish(%s, %s::text)", ("python", '"never"'))
        raise KeyError
except KeyError:
    pass
`;
    await assertDelivered("python", delicate, async () => {
      const { code, stderr } = await run("python3", ["-c", script, gateway.store], { input: JSON.stringify(delicate) });
      assert.equal(code, 0, stderr);
    });
  });

  test("key, content type and snapshot mark go with it", async () => {
    await psqlOk(gateway.store, `
      SELECT streamld.publish('full', '{"a":1}', 'k', 'application/ld+json', true);
      SELECT streamld.publish('full', '\\x00ff'::bytea, content_type => 'application/octet-stream');
      SELECT streamld.publish('full', 'no JSON', content_type => 'text/plain', key => 'k');`);

    const [one, two, three] = await readAll(gateway, "full");

    assert.deepEqual([one.key, one.contentType, one.isSnapshot, one.payload], ["k", "application/ld+json", true, { a: 1 }]);
    assert.deepEqual([two.key, two.contentType, two.isSnapshot], [undefined, "application/octet-stream", false]);
    assert.deepEqual(two.payload, { "@type": "xsd:base64Binary", "@value": "AP8=" });
    assert.deepEqual([three.key, three.contentType], ["k", "text/plain"]);
    assert.ok(Math.abs(one.createdAt - Date.now() / 1000) < 30);
  });

  test("it is part of the caller's transaction: visible with its commit, gone with its rollback", async () => {
    const session = await SqlSession.open(gateway.store);
    await session.run("CREATE TABLE public.bookings (id integer GENERATED ALWAYS AS IDENTITY, what text)");
    await withSse(gateway, at("booked", "/events?after=0"), {}, async (stream) => {
      await stream.named("position");
      for (const [what, end] of [["lost", "ROLLBACK"], ["kept", "COMMIT"]]) {
        await session.run("BEGIN");
        await session.run("INSERT INTO public.bookings (what) VALUES ($1)", [what]);
        assert.equal(await session.value("SELECT streamld.publish('booked', $1::text)", [JSON.stringify(what)]), "1");
        assert.equal((await call(gateway, "GET", at("booked"))).status, 404, "not before the commit");
        await session.run(end);
      }

      const { frame } = await stream.message();
      assert.deepEqual([frame.cursor, frame.event.payload], [1, "kept"]);
    });
    assert.deepEqual(await session.run("SELECT what FROM public.bookings"), [{ what: "kept" }]);
    assert.equal((await streamInfo(gateway, "booked")).head, 1, "the rollback left no hole");
    await session.close();
  });

  test("a savepoint takes back what follows it, and no number is lost", async () => {
    await psqlOk(gateway.store, `
      BEGIN;
      SELECT streamld.publish('saved', '1');
      SAVEPOINT s;
      SELECT streamld.publish('saved', '"never"');
      ROLLBACK TO SAVEPOINT s;
      SELECT streamld.publish('saved', '2');
      COMMIT;`);

    const events = await readAll(gateway, "saved");
    assert.deepEqual(events.map((event) => [event.sequence, event.payload]), [[1, 1], [2, 2]]);
  });

  test("a rollback among other publishers leaves no hole and no trace", async () => {
    await withSql(gateway.store, async (session) => {
      for (let n = 1; n <= 10; n += 1) {
        await publish(gateway, "mixed", { http: n });
        await session.run("BEGIN; SELECT streamld.publish('mixed', '\"no\"'); ROLLBACK");
        await session.run("SELECT streamld.publish('mixed', $1::text)", [`{"sql":${n}}`]);
      }
    });

    const events = await readAll(gateway, "mixed");
    assertDense(events.map((event) => event.sequence), 1, 20);
    assert.ok(events.every((event, i) => (i % 2 ? event.payload.sql : event.payload.http) === (i >> 1) + 1));
  });

  test("many in one statement are consecutive", async () => {
    await psqlOk(gateway.store, `SELECT count(streamld.publish('rows', format('{"n":%s}', n))) FROM generate_series(1, 500) AS n;`);

    const events = await readAll(gateway, "rows");
    assertDense(events.map((event) => event.payload.n), 1, 500);
  });

  test("bad input is refused with its reason, and leaves nothing", async () => {
    for (const [parameters, reason] of [
      ["'', '1'", /stream name/],
      ["'..', '1'", /stream name/],
      ["NULL, '1'", /stream name/],
      [`'${"x".repeat(513)}', '1'`, /stream name/],
      ["'a' || chr(10) || 'b', '1'", /control character/],
      ["'bad', NULL::text", /payload/],
      ["'bad', ''", /payload/],
      ["'bad', '{'", /JSON/],
      ["'bad', '{} x'", /JSON/],
      ["'bad', '\\x22ff22'::bytea", /JSON|UTF-8/],
      ["'bad', '1', ''", /key/],
      ["'bad', '1', 'a' || chr(9)", /control character/],
      ["'bad', '1', NULL, 'json'", /content type/],
      ["'bad', '[]', NULL, 'application/ld+json'", /object/],
    ]) {
      const { code, stderr } = await psql(gateway.store, `SELECT streamld.publish(${parameters});`);
      assert.notEqual(code, 0, parameters.slice(0, 60));
      assert.match(stderr, /streamld: /, parameters.slice(0, 60));
      assert.match(stderr, reason, parameters.slice(0, 60));
    }
    assert.equal((await call(gateway, "GET", at("bad"))).status, 404);
  });

  test("the commit wakes readers soon", async (t) => {
    const session = await SqlSession.open(gateway.store);
    await session.run("SELECT streamld.publish('wake', '0')");
    const delays = [];
    await withWs(gateway, "?stream=wake&after=1", async (socket) => {
      await socket.ask({ "@type": "Unsubscribe", stream: "none" });
      for (let n = 2; n <= scaled(200, 40); n += 1) {
        const begun = performance.now();
        const published = session.run("SELECT streamld.publish('wake', $1::text)", [`${n}`]);
        assert.equal((await socket.frame("wake", 3)).cursor, n);
        delays.push(performance.now() - begun);
        await published;
      }
    });
    await session.close();
    delays.sort((a, b) => a - b);
    t.diagnostic(
      `from the statement to the frame: p50 ${delays[delays.length >> 1].toFixed(2)} ms, ` +
        `p99 ${delays[Math.floor(delays.length * 0.99)].toFixed(2)} ms, longest ${delays.at(-1).toFixed(2)} ms`,
    );
  });

  test("a consumer's offset can be saved with the work, in one transaction", async () => {
    for (let n = 1; n <= 3; n += 1) await publish(gateway, "worked", { n });
    await psqlOk(gateway.store, "BEGIN; SELECT streamld.save_offset('worked', 'c', 1); ROLLBACK; SELECT streamld.save_offset('worked', 'c', 2);");

    assert.equal((await call(gateway, "GET", at("worked", "/consumers/c"))).json.offset, 2);
    const beyond = await psql(gateway.store, "SELECT streamld.save_offset('worked', 'c', 4);");
    assert.match(beyond.stderr, /streamld: /);
  });

  test("the view shows what was published", async () => {
    await publish(gateway, "viewed", { n: 1 }, { query: "?key=k" });

    const seen = await psqlOk(gateway.store, "SELECT stream, sequence, key, payload_text FROM streamld.events WHERE stream = 'viewed';");
    assert.equal(seen, 'viewed|1|k|{"n":1}');
  });
});
