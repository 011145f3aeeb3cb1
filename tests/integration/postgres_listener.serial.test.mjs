// engine: postgres
// The connection that is notified dies again and again: no event waits longer than the next look.

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { describe, test } from "node:test";
import { startGateway } from "./support/gateway.mjs";
import { at, call, publish } from "./support/http.mjs";
import { metric } from "./support/metrics.mjs";
import { SqlSession, sharedServer, withParts } from "./support/postgres.mjs";
import { patient, scaled } from "./support/scale.mjs";
import { openSse } from "./support/sse.mjs";
import { until } from "./support/wait.mjs";

const rounds = scaled(50, 15);

describe("the LISTEN connection", () => {
  test("killed right before a publish of another gateway, each time: delivered within two seconds", async (t) => {
    const publisher = await startGateway(t);
    const role = `listener_${randomBytes(4).toString("hex")}`;
    const sql = await SqlSession.open(sharedServer());
    t.after(async () => {
      await sql.run(`DROP ROLE IF EXISTS ${role}`);
      await sql.close();
    });
    // By its own role its connections are told from those of the other gateway.
    await sql.run(`CREATE ROLE ${role} SUPERUSER LOGIN`);
    const gateway = await startGateway(t, { store: withParts(publisher.store, { user: role }) });
    const listener = () =>
      sql.value("SELECT pid FROM pg_stat_activity WHERE application_name = 'streamld listen' AND usename = $1", [role]);
    await call(publisher, "PUT", at("listened"));
    const reader = await openSse(gateway, at("listened", "/events"));
    await reader.named("position");

    const delays = [];
    let killed = null;
    for (let n = 1; n <= rounds; n += 1) {
      const victim = await until(async () => {
        const found = await listener();
        return found && found !== killed ? found : null;
      }, "it listens", 20);
      assert.ok(await sql.value("SELECT pg_terminate_backend($1)", [victim]));
      killed = victim;
      const begun = performance.now();
      assert.equal(await publish(publisher, "listened", { n }), n);
      assert.equal((await reader.message(10)).frame.cursor, n);
      delays.push(performance.now() - begun);
    }

    delays.sort((a, b) => a - b);
    const at_ = (part) => delays[Math.min(delays.length - 1, Math.floor(delays.length * part))].toFixed(0);
    t.diagnostic(`publish to delivery: p50 ${at_(0.5)} ms, p90 ${at_(0.9)} ms, p99 ${at_(0.99)} ms, longest ${at_(1)} ms`);
    assert.ok(delays.at(-1) < patient(2) * 1000, `${delays.at(-1)} ms`);
    await until(async () => (await metric(gateway, "streamld_store_wakes_by_polling")) === 0, "it is notified again", 20);
    assert.ok((await metric(gateway, "streamld_store_reconnects_total")) > 0);
    assert.equal((await call(gateway, "GET", "/readyz")).json.wakes, "notified");
    assert.equal((await call(gateway, "GET", at("listened"))).json.head, rounds);
    reader.close();
  });
});
