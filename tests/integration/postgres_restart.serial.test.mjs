// engine: postgres
// The server goes away under load and comes back: the gateway stays, says so meanwhile, and goes on by itself.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { startGateway } from "./support/gateway.mjs";
import { assertDense, assertProblem, at, call, readAll } from "./support/http.mjs";
import { PostgresServer } from "./support/postgres.mjs";
import { patient, scaled } from "./support/scale.mjs";
import { openSse } from "./support/sse.mjs";
import { until, within } from "./support/wait.mjs";
import { WsClient } from "./support/websocket.mjs";

const away = scaled(30_000, 10_000);

/** Publishers that go on whatever they are answered. */
class Load {
  acknowledged = new Map();
  refusals = [];
  #isOver = false;

  constructor(gateway, stream, publishers) {
    this.done = Promise.all(
      Array.from({ length: publishers }, async (_, who) => {
        for (let n = 0; !this.#isOver; n += 1) {
          const body = JSON.stringify({ who, n });
          const begun = Date.now();
          const answer = await call(gateway, "POST", at(stream, "/events"), { body, seconds: 40 });
          const took = Date.now() - begun;
          if (answer.status === 201) {
            assert.ok(!this.acknowledged.has(answer.json.sequence), "no number is given twice");
            this.acknowledged.set(answer.json.sequence, body);
            await pause(2);
          } else {
            assertProblem(answer, 503, "store-unavailable");
            this.refusals.push(took);
            await pause(50); // As a client that was asked to come back later, only sooner.
          }
        }
      }),
    );
    this.done.catch(() => {}); // stop() tells.
  }

  get count() {
    return this.acknowledged.size;
  }

  async stop() {
    this.#isOver = true;
    await within(this.done, "the publishers end", 40);
  }
}

async function readCursors(next, seen) {
  for (;;) {
    const cursor = await next();
    assert.equal(cursor, seen.cursor + 1, seen.whose);
    seen.cursor = cursor;
  }
}

describe("the server restarts", { concurrency: true }, () => {
  for (const mode of ["fast", "immediate"]) {
    test(`after a ${mode} stop`, async (t) => {
      const server = await PostgresServer.create(t); // fsync is on: what was acknowledged outlives the crash.
      const { url } = await server.freshDatabase();
      const gateway = await startGateway(t, { store: url });
      await call(gateway, "PUT", at("restarted"));
      const events = await openSse(gateway, at("restarted", "/events?after=0"), { keepText: false });
      const socket = await WsClient.open(gateway, "?stream=restarted&after=0");
      const seen = [{ whose: "SSE", cursor: 0 }, { whose: "WebSocket", cursor: 0 }];
      const broken = [];
      readCursors(async () => (await events.message(120)).frame.cursor, seen[0]).catch((error) => broken.push(error));
      readCursors(async () => (await socket.frame("restarted", 120)).cursor, seen[1]).catch((error) => broken.push(error));
      const load = new Load(gateway, "restarted", 6);
      await until(() => load.count > 100, "the load runs", 30);

      await server.stop(mode);
      const stopped = Date.now();
      const red = await until(async () => {
        const answer = await call(gateway, "GET", "/readyz");
        return answer.status === 503 && answer;
      }, "/readyz turns red", 15);
      assert.ok(red.headers["retry-after"]);
      assert.equal((await call(gateway, "GET", "/healthz")).status, 200);
      await until(() => Date.now() - stopped > away, "the time that it is away", away / 1000 + 10);
      assert.ok(load.refusals.length > 0, "publishers were refused");
      const before = load.count;

      await server.start();
      const started = Date.now();
      await until(() => load.count > before, "publishing works by itself", 20);
      const back = Date.now() - started;
      await until(async () => (await call(gateway, "GET", "/readyz")).status === 200, "/readyz turns green", 20);
      await until(() => load.count > before + 100, "the load goes on", 30);
      await load.stop();

      const stored = await readAll(gateway, "restarted");
      const last = stored.length;
      assertDense(stored.map((event) => event.sequence), 1, last);
      for (const [n, body] of load.acknowledged) assert.equal(JSON.stringify(stored[n - 1]?.payload), body, `acknowledged ${n}`);
      await until(() => seen.every(({ cursor }) => cursor === last), "the subscribers have all", 20).catch(() => {});
      assert.deepEqual(broken, [], "no subscriber had to come back");
      for (const { whose, cursor } of seen) assert.equal(cursor, last, whose);
      const longest = Math.max(...load.refusals);
      t.diagnostic(`${mode}: ${load.count} acknowledged of ${last} stored, ${load.refusals.length} refused, the slowest after ${longest} ms, back after ${back} ms`);
      assert.ok(longest < patient(15) * 1000, `${longest} ms`);
      events.close();
      socket.terminate();
      await new Promise((resolve) => setImmediate(resolve));
      await gateway.stop();
    });
  }
});
