// engine: sqlite
// Two gateways and a plain SQL publisher on one file: no error, no hole, and each sees what the others publish.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { startGateway } from "./support/gateway.mjs";
import { assertDense, at, call, fill, publish, readAll, streamInfo } from "./support/http.mjs";
import { sqliteOk, SqliteSession } from "./support/process.mjs";
import { generator, seed } from "./support/random.mjs";
import { Account, readToEnd } from "./support/readers.mjs";
import { scaled } from "./support/scale.mjs";
import { withSse } from "./support/sse.mjs";
import { within } from "./support/wait.mjs";
import { withWs } from "./support/websocket.mjs";

async function twoGateways(t) {
  const first = await startGateway(t);
  const second = await startGateway(t, { store: first.path });
  return [first, second];
}

describe("two gateways on one file", () => {
  test("sixty-four publishers, offsets, trims and SQL at once: all that is acknowledged is stored, once", async (t) => {
    t.diagnostic(`seed ${seed}`);
    const gateways = await twoGateways(t);
    const publishers = 64;
    const each = scaled(40, 8);
    const bySql = scaled(200, 40);
    const total = publishers * each + bySql;
    const acknowledged = new Map();
    const refused = [];
    const note = (what, answer) => {
      if (answer.status >= 300) refused.push(`${what}: ${answer.status} ${answer.text}`);
    };
    for (const stream of ["shared", "trimmed"]) await call(gateways[0], "PUT", at(stream));
    let isOver = false;

    const publishing = Array.from({ length: publishers }, async (_, who) => {
      const gateway = gateways[who % 2];
      for (let n = 0; n < each; n += 1) {
        const body = JSON.stringify({ who, n });
        const answer = await call(gateway, "POST", at("shared", "/events"), { body, seconds: 60 });
        note("publish", answer);
        if (answer.status === 201) {
          assert.ok(!acknowledged.has(answer.json.sequence), `${answer.json.sequence} was given twice`);
          acknowledged.set(answer.json.sequence, body);
        }
      }
    });
    publishing.push(
      (async () => {
        const session = new SqliteSession(gateways[0].path);
        for (let n = 0; n < bySql; n += 1) {
          await session.run(`INSERT INTO streamld_publish (stream, payload) VALUES ('shared', '{"who":"sql","n":${n}}');`);
        }
        await session.close();
      })(),
    );
    const upkeep = gateways.map(async (gateway, who) => {
      for (let n = 0; !isOver; n += 1) {
        note("publish", await call(gateway, "POST", at("trimmed", "/events"), { body: "{}", seconds: 60 }));
        const { head } = (await call(gateway, "GET", at("trimmed"), { seconds: 60 })).json;
        note("save", await call(gateway, "PUT", at("trimmed", `/consumers/c${who}`), { body: `{"offset":${head}}`, seconds: 60 }));
        if (n % 5 === 0) note("trim", await call(gateway, "DELETE", at("trimmed", `/events?through=${Math.max(0, head - 3)}`), { seconds: 60 }));
      }
    });
    const reading = [];
    const accounts = [];
    for (const gateway of gateways) {
      for (const transport of ["SSE", "WebSocket", "long-poll"]) {
        const account = new Account(`${transport} at ${gateway === gateways[0] ? "the first" : "the second"}`);
        accounts.push(account);
        reading.push(readToEnd(gateway, "shared", transport, account, generator(seed + accounts.length), total));
      }
    }
    await within(Promise.all(publishing), "all is published", 90);
    isOver = true;
    await within(Promise.all([...upkeep, ...reading]), "all is read", 60);

    assert.deepEqual(refused, []);
    for (const account of accounts) assert.equal(account.cursor, total, account.whose);
    for (const gateway of gateways) {
      const stored = await readAll(gateway, "shared");
      assertDense(stored.map((event) => event.sequence), 1, total);
      for (const [n, body] of acknowledged) assert.equal(JSON.stringify(stored[n - 1].payload), body);
      const perWho = new Map();
      for (const { payload } of stored) {
        assert.equal(payload.n, (perWho.get(payload.who) ?? -1) + 1, `the order of publisher ${payload.who}`);
        perWho.set(payload.who, payload.n);
      }
    }
    assert.equal(acknowledged.size, publishers * each);
    assert.equal(await sqliteOk(gateways[0].path, "PRAGMA integrity_check;"), "ok");
  });

  test("what one publishes the other delivers soon, each single event", async (t) => {
    const [first, second] = await twoGateways(t);
    await publish(first, "wake", { n: 0 });
    const delays = [];
    await withSse(second, at("wake", "/events"), {}, async (stream) => {
      await stream.named("position");
      await withWs(second, "?stream=wake", async (socket) => {
        await socket.ask({ "@type": "Unsubscribe", stream: "none" });
        for (let n = 1; n <= scaled(100, 20); n += 1) {
          const begun = performance.now();
          await publish(first, "wake", { n });
          const [event, frame] = await Promise.all([stream.message(3), socket.frame("wake", 3)]);
          delays.push(performance.now() - begun);
          assert.deepEqual([event.frame.cursor, frame.cursor], [n + 1, n + 1]);
        }
      });
    });
    delays.sort((a, b) => a - b);
    t.diagnostic(`publish to the other's readers: p50 ${delays[delays.length >> 1].toFixed(1)} ms, longest ${delays.at(-1).toFixed(1)} ms`);
  });

  test("every commit of another program wakes, also across a checkpoint that empties the log", async (t) => {
    const [first] = await twoGateways(t);
    await call(first, "PUT", at("checkpointed"));
    const session = new SqliteSession(first.path);
    await withSse(first, at("checkpointed", "/events"), {}, async (stream) => {
      await stream.named("position");
      for (let n = 1; n <= scaled(100, 20); n += 1) {
        await session.run(`INSERT INTO streamld_publish (stream, payload) VALUES ('checkpointed', '{"n":"same size"}');`);
        assert.equal((await stream.message(3)).frame.cursor, n);
        if (n % 3 === 0) await session.run("PRAGMA wal_checkpoint(TRUNCATE);");
      }
    });
    await session.close();
  });

  test("streams, trims, offsets and tokens of one are the other's too", async (t) => {
    const [first, second] = await twoGateways(t);
    await fill(first, "both", 10);
    const headers = { "idempotency-key": "one" };
    const made = await call(first, "POST", at("both", "/events"), { headers, body: "1" });
    const repeated = await call(second, "POST", at("both", "/events"), { headers, body: "1" });
    await call(first, "PUT", at("both", "/consumers/c"), { body: '{"offset":9}' });
    const back = await call(second, "PUT", at("both", "/consumers/c"), { body: '{"offset":4}' });
    await call(second, "DELETE", at("both", "/events?through=5"));
    const gap = await call(first, "GET", at("both", "/events?after=2&wait=1"));
    const stale = await call(second, "POST", at("both", "/events"), { headers: { "if-match": '"10"' }, body: "1" });

    assert.equal(made.json.sequence, 11);
    assert.equal(repeated.headers["idempotency-replayed"], "true");
    assert.deepEqual(back.json, { offset: 9, advanced: false });
    assert.deepEqual([gap.status, gap.json.reason, gap.json.oldestAvailable], [409, "trimmed", 6]);
    assert.equal(stale.status, 412);
    assert.equal((await streamInfo(first, "both")).epoch, (await streamInfo(second, "both")).epoch);
  });

  test("a position just made by the other gateway is never judged ahead", async (t) => {
    const [first, second] = await twoGateways(t);
    await publish(first, "fresh", { n: 1 });
    await withWs(second, "?stream=fresh", async (socket) => {
      for (let n = 2; n <= scaled(150, 30); n += 1) {
        const sequence = await publish(first, "fresh", { n });
        const answer = await socket.ask({ stream: "fresh", after: sequence });
        assert.equal(answer["@type"], "Subscribed", JSON.stringify(answer));
        const page = await call(second, "GET", at("fresh", `/events?after=${sequence - 1}`));
        assert.deepEqual(page.json.events.map((event) => event.sequence), [sequence], "a reader after the answer sees the event");
      }
    });
  });

  test("the second goes on when the first is killed", async (t) => {
    const [first, second] = await twoGateways(t);
    await fill(first, "survivor", 5);
    await withSse(second, at("survivor", "/events?after=0"), {}, async (stream) => {
      await stream.messages(5);
      await first.kill9();
      assert.equal(await publish(second, "survivor", {}), 6);
      assert.equal((await stream.message()).frame.cursor, 6);
    });
  });
});
