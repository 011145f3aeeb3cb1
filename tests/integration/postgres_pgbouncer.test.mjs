// engine: postgres
// Behind PgBouncer in transaction mode nobody can LISTEN: the gateway polls and says so, or listens past it.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { startGateway } from "./support/gateway.mjs";
import { assertDense, at, call, fill, publish, readAll } from "./support/http.mjs";
import { metric } from "./support/metrics.mjs";
import { hasPgBouncer, startPgBouncer } from "./support/pgbouncer.mjs";
import { freshDatabase, withSql } from "./support/postgres.mjs";
import { patient, scaled } from "./support/scale.mjs";
import { openSse } from "./support/sse.mjs";
import { until } from "./support/wait.mjs";

if (!hasPgBouncer) process.stderr.write("streamld: PgBouncer is not installed: the gateway behind it is NOT tested (./dev setup)\n");

/** A database and the same behind PgBouncer. */
async function behindPgBouncer(t) {
  const database = await freshDatabase();
  const through = await startPgBouncer(t, database.url);
  return { database, through };
}

/** Times from a commit by SQL, past the gateway, to its reader. */
async function wakeTimes(gateway, url, stream, rounds) {
  await call(gateway, "PUT", at(stream));
  const reader = await openSse(gateway, at(stream, "/events"));
  await reader.named("position");
  const times = await withSql(url, async (session) => {
    const all = [];
    for (let n = 1; n <= rounds; n += 1) {
      const begun = performance.now();
      await session.run("SELECT streamld.publish($1, $2::text)", [stream, `${n}`]);
      assert.equal((await reader.message(10)).frame.cursor, n);
      all.push(performance.now() - begun);
    }
    return all;
  });
  reader.close();
  return times.sort((a, b) => a - b);
}

describe("behind PgBouncer", { skip: hasPgBouncer ? false : "PgBouncer is not installed" }, () => {
  test("publishing and reading work; wakes are by polling, and /readyz says so", async (t) => {
    const { database, through } = await behindPgBouncer(t);
    const gateway = await startGateway(t, { store: through, args: ["--poll-interval", "300ms"] });
    t.after(() => database.drop());

    await fill(gateway, "pooled", 1000, 10);
    const publishing = Array.from({ length: 16 }, (_, who) => publish(gateway, `pooled-${who % 4}`, { who }));
    await Promise.all(publishing);
    const stored = await readAll(gateway, "pooled", { after: 10 });

    assertDense(stored.map((event) => event.sequence), 11, 1000);
    await until(async () => (await metric(gateway, "streamld_store_wakes_by_polling")) === 1, "it has found out that it polls");
    const ready = await call(gateway, "GET", "/readyz");
    assert.deepEqual([ready.status, ready.json.wakes], [200, "polling"]);
    const times = await wakeTimes(gateway, database.url, "woken", scaled(15, 5));
    t.diagnostic(`from the commit to the reader: p50 ${times[times.length >> 1].toFixed(0)} ms, longest ${times.at(-1).toFixed(0)} ms`);
    assert.ok(times.at(-1) < patient(2) * 1000, `${times.at(-1)} ms`);
  });

  test("with a listen URL past it wakes are immediate", async (t) => {
    const { database, through } = await behindPgBouncer(t);
    const gateway = await startGateway(t, { store: through, args: ["--postgres-listen-url", database.url, "--poll-interval", "5s"] });
    t.after(() => database.drop());

    await until(async () => (await metric(gateway, "streamld_store_wakes_by_polling")) === 0, "it listens");
    assert.equal((await call(gateway, "GET", "/readyz")).json.wakes, "notified");
    const times = await wakeTimes(gateway, database.url, "woken", scaled(50, 10));

    t.diagnostic(`from the commit to the reader: p50 ${times[times.length >> 1].toFixed(1)} ms, longest ${times.at(-1).toFixed(1)} ms`);
    assert.ok(times[times.length >> 1] < patient(0.5) * 1000, "far below the interval of polling");
  });
});
