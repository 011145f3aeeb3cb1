// engine: postgres
// Another program publishes in a transaction and leaves it open: only publishers of that stream wait, and not for ever.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { startGateway } from "./support/gateway.mjs";
import { assertDense, assertProblem, at, call, publish, readAll } from "./support/http.mjs";
import { metric } from "./support/metrics.mjs";
import { SqlSession } from "./support/postgres.mjs";
import { patient, scaled } from "./support/scale.mjs";
import { openSse } from "./support/sse.mjs";
import { until } from "./support/wait.mjs";


/** Publishes into streams of their own until told to stop; the latencies in ms. */
async function measure(gateway, isOver, fresh) {
  const delays = [];
  await Promise.all(
    Array.from({ length: 4 }, async (_, who) => {
      for (let n = 0; !isOver(); n += 1) {
        const begun = performance.now();
        // Every tenth into a stream that does not exist yet: creating one must not wait either.
        await publish(gateway, n % 10 === 0 ? `${fresh}-${who}-${n}` : `free-${who}`, { n });
        delays.push(performance.now() - begun);
        await pause(2); // A publisher that thinks, so that the machine is not what is measured.
      }
    }),
  );
  delays.sort((a, b) => a - b);
  return { count: delays.length, p50: delays[delays.length >> 1], p99: delays[Math.floor(delays.length * 0.99)] };
}

// Each is held longer than a publish may take.
for (const [title, stream, isNew, heldFor] of [
  ["a stream that exists", "held", false, scaled(30_000, 13_000)],
  ["a stream that the transaction has just created", "newborn", true, scaled(15_000, 13_000)],
]) {
  describe(`a transaction left open on ${title}`, () => {
    test("others do not notice; its publishers get 503 in time; afterwards all goes on", async (t) => {
      const gateway = await startGateway(t);
      for (let who = 0; who < 4; who += 1) await publish(gateway, `free-${who}`, 0);
      if (!isNew) await publish(gateway, stream, { n: 1 });
      const first = isNew ? 1 : 2;
      const reader = await openSse(gateway, at(stream, "/events?after=0"));
      let deadline = Date.now() + scaled(5_000, 3_000);
      const before = await measure(gateway, () => Date.now() > deadline, "early");

      const session = await SqlSession.open(gateway.store);
      await session.run("BEGIN");
      const reserved = await session.value("SELECT streamld.publish($1, $2::text)", [stream, '"by sql"']);
      assert.equal(Number(reserved), first);
      deadline = Date.now() + heldFor;
      const during = measure(gateway, () => Date.now() > deadline, "late");
      const refusals = await Promise.all(
        Array.from({ length: 5 }, async (_, n) => {
          const begun = Date.now();
          const answer = await call(gateway, "POST", at(stream, "/events"), { body: `{"n":${n}}`, seconds: 40 });
          return { answer, took: Date.now() - begun };
        }),
      );
      for (const { answer, took } of refusals) {
        assertProblem(answer, 503, "store-unavailable");
        assert.ok(took < patient(15) * 1000, `${took} ms`);
      }
      assert.ok(Date.now() < deadline, "the refusals came while it was held");
      assert.ok((await metric(gateway, "streamld_store_held_streams")) >= 0);
      assert.equal((await call(gateway, "GET", "/readyz")).status, 200, "the store is well");
      const held = await during;

      // Two publishers that wait when it is released.
      const waiting = [1, 2].map((n) => call(gateway, "POST", at(stream, "/events"), { body: `{"late":${n}}`, seconds: 30 }));
      await session.run("COMMIT");
      await session.close();
      for (const answer of await Promise.all(waiting)) assert.equal(answer.status, 201, answer.text);
      const total = await publish(gateway, stream, { n: "after" });

      assert.equal(total, first + 3, "what was refused is not stored");
      const stored = await readAll(gateway, stream);
      assertDense(stored.map((event) => event.sequence), 1, total);
      assert.equal(stored[first - 1].payload, "by sql");
      for (let n = 1; n <= total; n += 1) assert.equal((await reader.message()).frame.cursor, n);
      reader.close();
      await until(async () => (await metric(gateway, "streamld_store_held_streams")) === 0, "none is held any more");

      const shown = ({ count, p50, p99 }) => `${count} publishes, p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms`;
      t.diagnostic(`before: ${shown(before)}`);
      t.diagnostic(`held:   ${shown(held)}`);
      // A machine that is busy with something else moves both; waiting for the lock would move them by seconds.
      assert.ok(held.p50 < 3 * before.p50 + 10, `the median: ${before.p50} to ${held.p50}`);
      assert.ok(held.p99 < 4 * before.p99 + 100, `the 99th hundredth: ${before.p99} to ${held.p99}`);
    });
  });
}
