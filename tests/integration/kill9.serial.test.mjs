// kill -9 at random moments under load: what was acknowledged is there afterwards, dense and byte for byte.

import assert from "node:assert/strict";
import { env } from "node:process";
import { describe, test } from "node:test";
import { startGateway } from "./support/gateway.mjs";
import { assertDense, at, call, payloadText, readAll } from "./support/http.mjs";
import { sqliteOk } from "./support/process.mjs";
import { generator, seed } from "./support/random.mjs";
import { scaled } from "./support/scale.mjs";
import { until, within } from "./support/wait.mjs";
import { WsClient } from "./support/websocket.mjs";

const rounds = Number(env.STREAMLD_KILL_ROUNDS ?? scaled(20, 5));

describe("kill -9", () => {
  test("every acknowledged event outlives it, and the numbers stay dense", async (t) => {
    t.diagnostic(`seed ${seed}, ${rounds} rounds`);
    const chance = generator(seed);
    const gateway = await startGateway(t);
    const acknowledged = new Map(); // number -> payload text
    const offsets = new Map();
    const sent = new Set();
    let stored = [];
    let written = 0;

    for (let round = 0; round < rounds; round += 1) {
      const before = acknowledged.size;
      const goal = before + chance.between(1, 150);
      let isDead = false;
      const lost = (error) => {
        if (!isDead) throw error; // Only the kill may cut a request.
      };
      const next = () => {
        written += 1;
        const text = `{"round":${round},"n":${written},  "pad":"${"y".repeat(chance.between(0, 2000))}"}`;
        sent.add(text);
        return text;
      };
      const note = (n, text) => {
        assert.ok(!acknowledged.has(n), `${n} was acknowledged twice`);
        acknowledged.set(n, text);
      };
      const single = async () => {
        while (!isDead) {
          const text = next();
          const answer = await call(gateway, "POST", at("killed", "/events"), { body: text, fresh: true });
          if (answer.status === 201) note(answer.json.sequence, text);
          else if (!isDead) assert.fail(`${answer.status}: ${answer.text}`);
        }
      };
      const batch = async () => {
        while (!isDead) {
          const lines = Array.from({ length: chance.between(2, 20) }, next);
          const answer = await call(gateway, "POST", at("killed", "/events"), {
            headers: { "content-type": "application/x-ndjson" },
            body: lines.join("\n"),
            fresh: true,
          });
          if (answer.status === 201) lines.forEach((text, i) => note(answer.json.first + i, text));
        }
      };
      const socketed = async () => {
        const socket = await WsClient.open(gateway);
        while (!isDead) {
          const text = next();
          socket.send(`{"@type":"Publish","stream":"killed","payload":${text},"ref":"${written}"}`);
          const ref = `${written}`;
          const answer = await socket.take((message) => message.ref === ref, "the answer");
          note(answer.sequence, text);
        }
      };
      const saving = async () => {
        while (!isDead) {
          const offset = acknowledged.size ? Math.max(...[...acknowledged.keys()].slice(-50)) : 0;
          const answer = await call(gateway, "PUT", at("killed", "/consumers/c"), { body: `{"offset":${offset}}`, fresh: true });
          if (answer.status === 200) offsets.set("c", Math.max(offsets.get("c") ?? 0, answer.json.offset));
        }
      };
      const load = [single, single, single, single, batch, batch, socketed].map((one) => one().catch(lost));
      await Promise.race([until(() => acknowledged.size >= goal, "some acknowledgements", 30), Promise.all(load)]);
      load.push(saving().catch(lost));
      await Promise.race([until(() => acknowledged.size >= goal + 5 && offsets.size > 0, "some more", 30), Promise.all(load)]);
      isDead = true;
      await gateway.kill9();
      await within(Promise.all(load), "the load ends with the gateway", 30);

      await gateway.start();
      const events = await readAll(gateway, "killed");
      const texts = events.map((event) => payloadText(event.line));
      assertDense(events.map((event) => event.sequence), 1, events.length, `round ${round}`);
      for (const [n, text] of acknowledged) assert.equal(texts[n - 1], text, `round ${round}: acknowledged ${n}`);
      for (const text of texts) assert.ok(sent.has(text), `round ${round}: only what was sent is stored`);
      assert.equal(new Set(texts).size, texts.length, `round ${round}: nothing is stored twice`);
      assert.deepEqual(texts.slice(0, stored.length), stored, `round ${round}: what was read before is unchanged`);
      stored = texts;
      // Unacknowledged events that were stored all the same count from here on.
      texts.forEach((text, i) => acknowledged.set(i + 1, text));
      const consumer = (await call(gateway, "GET", at("killed", "/consumers/c"))).json;
      assert.ok(consumer.offset >= (offsets.get("c") ?? 0), `round ${round}: the saved offset`);
    }
    t.diagnostic(`${stored.length} events`);
    if (gateway.engine === "sqlite") assert.equal(await sqliteOk(gateway.path, "PRAGMA integrity_check;"), "ok");
  });

  test("a kill right behind the answer loses nothing", async (t) => {
    const gateway = await startGateway(t);
    for (let n = 1; n <= scaled(10, 4); n += 1) {
      const answer = await call(gateway, "POST", at("one", "/events"), { body: `{"n":${n}}`, fresh: true });
      await gateway.kill9();
      await gateway.start();
      assert.equal(answer.json.sequence, n);
      assert.deepEqual((await call(gateway, "GET", at("one", `/events/${n}`))).json.payload, { n });
    }
  });
});
