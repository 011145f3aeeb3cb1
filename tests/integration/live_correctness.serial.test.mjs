// The promise above all: whoever reads, however often it stalls and comes back, holds exactly 1..N in order.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { startGateway } from "./support/gateway.mjs";
import { at, call, readAll } from "./support/http.mjs";
import { generator, seed } from "./support/random.mjs";
import { Account, readToEnd, transports } from "./support/readers.mjs";
import { scaled } from "./support/scale.mjs";
import { openSqlPublisher } from "./support/sql_publisher.mjs";
import { within } from "./support/wait.mjs";
import { WsClient } from "./support/websocket.mjs";

const streams = ["alpha", "beta/\u00e9"];
const perPublisher = scaled(400, 60);

/** Publishers of every kind; each resolves to nothing once all its events are acknowledged. `acknowledge(stream, n, value)`. */
function publishers(gateway, stream, chance, acknowledge) {
  const values = (who) => Array.from({ length: perPublisher }, (_, n) => ({ who, n, pad: "x".repeat(chance.between(0, 300)) }));

  const byHttp = async (who) => {
    const all = values(who);
    while (all.length) {
      if (chance.chance(0.2)) {
        const batch = all.splice(0, chance.between(1, 30));
        const answer = await call(gateway, "POST", at(stream, "/events"), {
          headers: { "content-type": "application/x-ndjson" },
          body: batch.map((value) => JSON.stringify(value)).join("\n"),
          seconds: 30,
        });
        assert.equal(answer.status, 201, answer.text);
        batch.forEach((value, i) => acknowledge(stream, answer.json.first + i, value));
      } else {
        const value = all.shift();
        const answer = await call(gateway, "POST", at(stream, "/events"), { body: JSON.stringify(value), seconds: 30 });
        assert.equal(answer.status, 201, answer.text);
        acknowledge(stream, answer.json.sequence, value);
      }
    }
  };

  const byWebSocket = async (who) => {
    const socket = await WsClient.open(gateway);
    const all = values(who);
    for (let sent = 0; sent < all.length; ) {
      const some = all.slice(sent, sent + chance.between(1, 20));
      const answers = await Promise.all(some.map((payload) => socket.ask({ "@type": "Publish", stream, payload }, 30)));
      answers.forEach((answer, i) => {
        assert.equal(answer["@type"], "Published", JSON.stringify(answer));
        acknowledge(stream, answer.sequence, some[i]);
      });
      sent += some.length;
    }
    socket.terminate();
  };

  const bySql = async (who) => {
    const other = await openSqlPublisher(gateway);
    const all = values(who);
    for (let sent = 0; sent < all.length; ) {
      const some = all.slice(sent, sent + chance.between(1, 20));
      await other.publish(stream, some.map((value) => JSON.stringify(value)));
      sent += some.length;
    }
    await other.close();
  };

  return [byHttp("http-1"), byHttp("http-2"), byWebSocket("ws"), bySql("sql")];
}

describe("live correctness", () => {
  for (const shards of [1, 2]) {
    test(`readers of every transport hold exactly 1..N, on ${shards} shard${shards > 1 ? "s" : ""}`, async (t) => {
      t.diagnostic(`seed ${seed}`);
      const gateway = await startGateway(t, { args: ["--shards", `${shards}`] });
      const chance = generator(seed + shards);
      const acknowledged = new Map(streams.map((stream) => [stream, new Map()]));
      const last = 4 * perPublisher;
      for (const stream of streams) await call(gateway, "PUT", at(stream));

      const accounts = [];
      const readers = [];
      for (const stream of streams) {
        for (const transport of Object.keys(transports)) {
          for (let i = 0; i < 3; i += 1) {
            const perWho = new Map();
            const account = new Account(`${transport} ${i} of ${stream}`, ({ payload: { who, n } }) => {
              assert.equal(n, (perWho.get(who) ?? -1) + 1, `${transport} ${i} of ${stream}: ${who}'s order`);
              perWho.set(who, n);
            });
            accounts.push(account);
            const own = generator(seed + accounts.length * 1000 + shards);
            readers.push(readToEnd(gateway, stream, transport, account, own, last));
          }
        }
      }
      const published = streams.map(async (stream) => {
        const acknowledge = (name, n, value) => acknowledged.get(name).set(n, value);
        await Promise.all(publishers(gateway, stream, chance, acknowledge));
      });
      await within(Promise.all([...published, ...readers]), "all is published and read", 100);

      for (const account of accounts) assert.equal(account.cursor, last, account.whose);
      for (const stream of streams) {
        const stored = await readAll(gateway, stream);
        assert.equal(stored.length, last);
        for (const [n, value] of acknowledged.get(stream)) assert.deepEqual(stored[n - 1].payload, value, `${stream} ${n}`);
      }
      const connections = accounts.reduce((total, account) => total + account.connections, 0);
      t.diagnostic(`${streams.length * last} events, ${accounts.length} readers, ${connections} connections`);
    });
  }
});

describe("the seam between replay and live", () => {
  test("a reader that joins under fire misses nothing, wherever it begins", async (t) => {
    t.diagnostic(`seed ${seed}`);
    const gateway = await startGateway(t);
    const chance = generator(seed);
    const total = scaled(6000, 900);
    let head = 0;
    let isOver = false;
    const publisher = (async () => {
      while (head < total) {
        const count = chance.between(1, 20);
        const answer = await call(gateway, "POST", at("seam", "/events"), {
          headers: { "content-type": "application/x-ndjson" },
          body: Array.from({ length: count }, (_, i) => `{"n":${head + i + 1}}`).join("\n"),
        });
        assert.equal(answer.status, 201, answer.text);
        assert.equal(answer.json.first, head + 1);
        head = answer.json.last;
      }
      isOver = true;
    })();
    let joins = 0;
    const joiner = async (transport, own) => {
      while (!isOver) {
        const account = new Account(`${transport} join ${joins}`, ({ sequence, payload }) => assert.equal(payload.n, sequence));
        account.cursor = own.chance(0.5) ? head : own.between(0, head);
        const goal = Math.min(account.cursor + own.between(1, 300), total);
        joins += 1;
        await readToEnd(gateway, "seam", transport, account, { ...own, chance: () => false }, goal);
      }
    };
    await call(gateway, "PUT", at("seam"));
    const joiners = ["SSE", "WebSocket"].flatMap((transport) => [1, 2].map((i) => joiner(transport, generator(seed + i))));
    await within(Promise.all([publisher, ...joiners]), "the joins", 60);

    t.diagnostic(`${joins} joins while ${head} events were published`);
    assert.ok(joins > 20, `${joins}`);
  });
});
