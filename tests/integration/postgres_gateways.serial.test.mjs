// engine: postgres
// Several gateways and SQL publishers on one database: each number once, in the order of commits, for every reader everywhere.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { startGateway } from "./support/gateway.mjs";
import { assertDense, at, call, readAll, streamInfo } from "./support/http.mjs";
import { metric } from "./support/metrics.mjs";
import { psql, withSql } from "./support/postgres.mjs";
import { quoted } from "./support/process.mjs";
import { generator, seed } from "./support/random.mjs";
import { Account, readToEnd } from "./support/readers.mjs";
import { scaled } from "./support/scale.mjs";
import { openSqlPublisher } from "./support/sql_publisher.mjs";
import { withSse } from "./support/sse.mjs";
import { until, within } from "./support/wait.mjs";

const streams = ["shared", "other/\u00e9"];

/** Three that are notified, one that only polls. */
async function fourGateways(t) {
  const first = await startGateway(t);
  const others = [];
  for (const args of [[], [], ["--postgres-notify", "off", "--poll-interval", "200ms"]]) {
    others.push(await startGateway(t, { store: first.store, args }));
  }
  return [first, ...others];
}

/** Each commit that moves a stream takes 0 to 20 ms more, so that transactions end in another order than they began. */
const jitter = `
  CREATE FUNCTION public.wait_a_little() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN PERFORM pg_sleep(random() * 0.02); RETURN NULL; END $$;
  CREATE CONSTRAINT TRIGGER wait_a_little AFTER UPDATE ON streamld.stream
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.wait_a_little();`;

describe("gateways on one Postgres", () => {
  test("32 publishers over HTTP and some by SQL, with rollbacks: every reader of every gateway holds 1..N", async (t) => {
    t.diagnostic(`seed ${seed}`);
    const gateways = await fourGateways(t);
    const each = scaled(30, 6);
    const bySql = scaled(60, 10);
    const byPsql = scaled(10, 3);
    const last = 16 * each + 2 * bySql + byPsql; // Of either stream.
    const acknowledged = new Map(streams.map((stream) => [stream, new Map()]));
    for (const stream of streams) await call(gateways[0], "PUT", at(stream));
    await withSql(gateways[0].store, (session) => session.run(jitter));

    const publishing = Array.from({ length: 32 }, async (_, who) => {
      const stream = streams[who % 2];
      const known = acknowledged.get(stream);
      for (let n = 0; n < each; n += 1) {
        const body = JSON.stringify({ who, n });
        const answer = await call(gateways[(who >> 1) % 4], "POST", at(stream, "/events"), { body, seconds: 60 });
        assert.equal(answer.status, 201, answer.text);
        assert.ok(!known.has(answer.json.sequence), `${answer.json.sequence} was given twice`);
        known.set(answer.json.sequence, body);
      }
    });
    const sql = async (stream, who) => {
      const chance = generator(seed + who.charCodeAt(0) + stream.length);
      const session = await openSqlPublisher(gateways[0]);
      const hold = () => pause(chance.between(0, 20)); // Numbers that are given and not yet committed.
      for (let n = 0; n < bySql; n += 1) {
        while (chance.chance(0.3)) await session.publish(stream, ['"never"', '"seen"'], { rollback: true, before: hold });
        await session.publish(stream, [JSON.stringify({ who, n })], { before: hold });
      }
      await session.close();
    };
    const commandLine = async (stream) => {
      for (let n = 0; n < byPsql; n += 1) {
        const publish = (value) => `SELECT streamld.publish(${quoted(stream)}, ${quoted(JSON.stringify(value))});`;
        const text = `BEGIN; ${publish("never")} ROLLBACK; BEGIN; ${publish({ who: "psql", n })} COMMIT;`;
        const { code, stderr } = await psql(gateways[0].store, text, 60);
        assert.equal(code, 0, stderr);
      }
    };
    for (const stream of streams) publishing.push(sql(stream, "a"), sql(stream, "b"), commandLine(stream));

    const accounts = [];
    const reading = [];
    gateways.forEach((gateway, number) => {
      for (const stream of streams) {
        for (const transport of ["SSE", "WebSocket", "long-poll", "NDJSON"]) {
          const perWho = new Map();
          const whose = `${transport} of ${stream} at gateway ${number}`;
          const account = new Account(whose, ({ payload: { who, n } }) => {
            assert.equal(n, (perWho.get(who) ?? -1) + 1, `${whose}: ${who}'s order`);
            perWho.set(who, n);
          });
          accounts.push(account);
          reading.push(readToEnd(gateway, stream, transport, account, generator(seed + accounts.length), last));
        }
      }
    });
    const begun = Date.now();
    await within(Promise.all(publishing), "all is published", 60);
    const took = Date.now() - begun;
    await within(Promise.all(reading), "all is read", 30);

    for (const account of accounts) assert.equal(account.cursor, last, account.whose);
    for (const stream of streams) {
      for (const gateway of gateways) {
        assert.equal((await streamInfo(gateway, stream)).head, last, "nothing came behind the last");
        const stored = await readAll(gateway, stream);
        assertDense(stored.map((event) => event.sequence), 1, last);
        for (const [n, body] of acknowledged.get(stream)) assert.equal(JSON.stringify(stored[n - 1].payload), body);
      }
    }
    t.diagnostic(`${2 * last} events in ${took} ms, ${accounts.length} readers`);
  });

  test("what one publishes the others deliver: at once where notified, within the interval where polling", async (t) => {
    const gateways = await fourGateways(t);
    await call(gateways[0], "PUT", at("wake"));
    for (const gateway of gateways.slice(0, 3)) {
      await until(async () => (await metric(gateway, "streamld_store_wakes_by_polling")) === 0, "it listens");
    }
    assert.equal(await metric(gateways[3], "streamld_store_wakes_by_polling"), 1);
    const delays = gateways.map(() => []);
    const readers = gateways.slice(1).map((gateway, number) =>
      withSse(gateway, at("wake", "/events"), {}, async (stream) => {
        await stream.named("position");
        ready.push(number);
        for (let n = 1; n <= rounds; n += 1) {
          assert.equal((await stream.message(10)).frame.cursor, n);
          delays[number + 1].push(performance.now() - begun);
          arrived.push(n);
        }
      }),
    );
    const rounds = scaled(40, 10);
    const ready = [];
    let arrived = [];
    let begun = 0;
    await until(() => ready.length === 3, "the readers are there");
    for (let n = 1; n <= rounds; n += 1) {
      arrived = [];
      begun = performance.now();
      const answer = await call(gateways[0], "POST", at("wake", "/events"), { body: `${n}` });
      assert.equal(answer.status, 201, answer.text);
      await until(() => arrived.length === 3, `everybody has ${n}`);
    }
    await Promise.all(readers);

    for (const [number, all] of delays.entries()) {
      if (number === 0) continue;
      all.sort((a, b) => a - b);
      const how = number === 3 ? "polling" : "notified";
      t.diagnostic(`gateway ${number}, ${how}: p50 ${all[all.length >> 1].toFixed(1)} ms, longest ${all.at(-1).toFixed(1)} ms`);
      assert.ok(all[all.length >> 1] < scaled(number === 3 ? 1000 : 150, 3000), `gateway ${number}`);
    }
  });
});
