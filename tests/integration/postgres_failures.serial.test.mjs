// engine: postgres
// What goes wrong between a gateway and its server: each is told with 503, in time, and over once its cause is over.

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { describe, test } from "node:test";
import { runToEnd, startGateway } from "./support/gateway.mjs";
import { assertDense, assertProblem, at, call, publish, readAll } from "./support/http.mjs";
import { freshDatabase, PostgresServer, randomPort, sharedServer, SqlSession, withParts, withSql } from "./support/postgres.mjs";
import { run } from "./support/process.mjs";
import { CutProxy } from "./support/proxy.mjs";
import { patient, scaled } from "./support/scale.mjs";
import { openSse } from "./support/sse.mjs";
import { until } from "./support/wait.mjs";
import { WsClient } from "./support/websocket.mjs";

const namespace = ["--mount", "--propagation", "private"];
const mayMount = (await run("unshare", [...namespace, "mount", "-t", "tmpfs", "none", "/mnt"]).catch(() => ({ code: 1 }))).code === 0;

const post = (gateway, stream, body) => call(gateway, "POST", at(stream, "/events"), { body, seconds: 40 });

/** Publishes until it is refused as it should be; the time that the refusal took. */
async function untilRefused(gateway, stream, acknowledged) {
  for (;;) {
    const body = `{"n":${acknowledged.length + 1}}`;
    const begun = Date.now();
    const answer = await post(gateway, stream, body);
    if (answer.status !== 201) {
      assertProblem(answer, 503, "store-unavailable");
      return Date.now() - begun;
    }
    acknowledged.push(body);
  }
}

/** Waits until publishing works by itself; the time that took. */
async function untilAccepted(gateway, stream, acknowledged) {
  const begun = Date.now();
  await until(async () => {
    const body = `{"n":${acknowledged.length + 1}}`;
    const answer = await post(gateway, stream, body);
    if (answer.status !== 201) return false;
    acknowledged.push(body);
    return true;
  }, "publishing works again", 40);
  return Date.now() - begun;
}

const isReady = async (gateway) => (await call(gateway, "GET", "/readyz")).status === 200;

async function assertStored(gateway, stream, acknowledged) {
  const stored = await readAll(gateway, stream);
  assertDense(stored.map((event) => event.sequence), 1, stored.length);
  let from = 0; // What was refused may have been stored all the same, where the answer got lost.
  for (const body of acknowledged) {
    from = stored.findIndex((event, i) => i >= from && JSON.stringify(event.payload) === body) + 1;
    assert.ok(from > 0, `${body} is stored`);
  }
  return stored.length;
}

/** Both kinds of subscribers of a stream with one event, which must come to `last` on the connections they have. */
async function subscribe(gateway, stream) {
  const events = await openSse(gateway, at(stream, "/events?after=0"));
  const socket = await WsClient.open(gateway, `?stream=${stream}&after=0`);
  // Only who has begun keeps its place when the database goes.
  assert.equal((await events.message(20)).frame.cursor, 1);
  assert.equal((await socket.frame(stream, 20)).cursor, 1);
  return {
    async assertThrough(last) {
      for (let n = 2; n <= last; n += 1) {
        assert.equal((await events.message(20)).frame.cursor, n);
        assert.equal((await socket.frame(stream, 20)).cursor, n);
      }
      events.close();
      socket.terminate();
    },
  };
}

describe("a server that takes no writes", () => {
  test("read-only and back: publishes are refused, reads go on, then all works by itself", async (t) => {
    const server = await PostgresServer.create(t, { fsync: false });
    const { url } = await server.freshDatabase();
    const gateway = await startGateway(t, { store: url });
    const acknowledged = ['{"n":1}'];
    await publish(gateway, "s", acknowledged[0]);
    const subscribers = await subscribe(gateway, "s");

    await server.configure({ default_transaction_read_only: "on" });
    const refused = await untilRefused(gateway, "s", acknowledged);
    await until(async () => !(await isReady(gateway)), "/readyz turns red", 15);
    assert.equal((await readAll(gateway, "s")).length, acknowledged.length, "reading goes on");
    assert.equal((await call(gateway, "GET", "/healthz")).status, 200);

    await server.configure({});
    const back = await untilAccepted(gateway, "s", acknowledged);
    await until(() => isReady(gateway), "/readyz turns green", 15);

    await subscribers.assertThrough(await assertStored(gateway, "s", acknowledged));
    t.diagnostic(`refused within ${refused} ms, accepted again after ${back} ms`);
    assert.ok(refused < patient(15) * 1000);
    await gateway.stop();
  });

  test("a full disk: publishes are refused, reads go on, and room is enough to go on", async (t) => {
    if (!mayMount) {
      process.stderr.write("streamld: no right to mount a small file system: a full disk of Postgres is NOT tested\n");
      return t.skip("no right to mount a small file system");
    }
    const server = await PostgresServer.create(t, { fsync: false, small: "200m", settings: { max_wal_size: "32MB", min_wal_size: "32MB" } });
    const { url } = await server.freshDatabase();
    const gateway = await startGateway(t, { store: url });
    const acknowledged = [];
    await publish(gateway, "s", '{"n":1}');
    acknowledged.push('{"n":1}');
    const subscribers = await subscribe(gateway, "s");

    server.fill();
    // Some room is left inside of what the server has. Random bytes do not shrink.
    let refusal = null;
    for (let n = 0; n < 200 && refusal === null; n += 1) {
      const answer = await post(gateway, "ballast", JSON.stringify({ n, pad: randomBytes(600_000).toString("base64") }));
      if (answer.status !== 201) refusal = answer;
    }
    assert.ok(refusal, "the disk is full at some time");
    assertProblem(refusal, 503, "store-unavailable");
    assert.equal((await readAll(gateway, "s")).length, 1, "reading goes on");

    server.makeRoom();
    if (!server.isRunning) await server.start(); // A full disk of the log itself ends the server.
    await untilAccepted(gateway, "s", acknowledged);
    await until(() => isReady(gateway), "/readyz turns green", 15);

    await subscribers.assertThrough(await assertStored(gateway, "s", acknowledged));
    await gateway.stop();
  });
});

describe("connections that break", () => {
  test("every backend is terminated, again and again, under load", async (t) => {
    const gateway = await startGateway(t);
    const admin = await SqlSession.open(sharedServer());
    t.after(() => admin.close());
    const acknowledged = [];
    let isOver = false;
    let refused = 0;
    await publish(gateway, "s", '{"n":0}');
    const subscribers = await subscribe(gateway, "s");
    const load = Promise.all(
      Array.from({ length: 4 }, async (_, who) => {
        for (let n = 0; !isOver; n += 1) {
          const body = `{"who":${who},"n":${n}}`;
          const answer = await post(gateway, "s", body);
          if (answer.status === 201) acknowledged.push([answer.json.sequence, body]);
          else {
            assertProblem(answer, 503, "store-unavailable");
            refused += 1;
          }
        }
      }),
    );
    const name = new URL(gateway.store).pathname.slice(1);
    for (let round = 0; round < scaled(20, 6); round += 1) {
      const before = acknowledged.length;
      await admin.run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1", [name]);
      await Promise.race([until(() => acknowledged.length > before + 20, `publishing after round ${round}`, 20), load]);
    }
    isOver = true;
    await load;

    const stored = await readAll(gateway, "s");
    assertDense(stored.map((event) => event.sequence), 1, stored.length);
    for (const [n, body] of acknowledged) assert.equal(JSON.stringify(stored[n - 1].payload), body);
    const texts = new Set(stored.map((event) => JSON.stringify(event.payload)));
    assert.equal(texts.size, stored.length, "nothing is stored twice");
    await subscribers.assertThrough(stored.length);
    t.diagnostic(`${acknowledged.length} acknowledged, ${refused} refused, ${stored.length} stored`);
  });

  test("a network that goes silent: refused in time, and healed by new connections", async (t) => {
    const database = await freshDatabase();
    const { port } = new URL(database.url);
    const proxy = await CutProxy.open({ port: Number(port) });
    t.after(() => proxy.close());
    const gateway = await startGateway(t, { store: withParts(database.url, { port: proxy.port }) });
    t.after(() => database.drop());
    const acknowledged = ['{"n":1}'];
    await publish(gateway, "s", acknowledged[0]);
    const subscribers = await subscribe(gateway, "s");

    proxy.goSilent();
    const refused = await untilRefused(gateway, "s", acknowledged);
    await until(async () => !(await isReady(gateway)), "/readyz turns red", 25);
    assert.equal((await call(gateway, "GET", "/healthz")).status, 200);
    proxy.speakAgain();
    const back = await untilAccepted(gateway, "s", acknowledged);
    await until(() => isReady(gateway), "/readyz turns green", 25);
    // Past the gateway: whether it notices although its notifying connection went silent, too.
    await withSql(database.url, (session) => session.run("SELECT streamld.publish('s', '{\"n\":\"by sql\"}')"));
    acknowledged.push('{"n":"by sql"}');

    await subscribers.assertThrough(await assertStored(gateway, "s", acknowledged));
    t.diagnostic(`refused within ${refused} ms, accepted again after ${back} ms`);
    assert.ok(refused < patient(15) * 1000, `${refused} ms`);
    await gateway.stop();
    proxy.close();
  });

  test("connections that are reset all at once", async (t) => {
    const database = await freshDatabase();
    const proxy = await CutProxy.open({ port: Number(new URL(database.url).port) });
    t.after(() => proxy.close());
    const gateway = await startGateway(t, { store: withParts(database.url, { port: proxy.port }) });
    t.after(() => database.drop());
    const acknowledged = ['{"n":1}'];
    await publish(gateway, "s", acknowledged[0]);
    const subscribers = await subscribe(gateway, "s");

    for (let round = 0; round < 10; round += 1) {
      proxy.cut();
      await untilAccepted(gateway, "s", acknowledged);
    }

    await subscribers.assertThrough(await assertStored(gateway, "s", acknowledged));
    await gateway.stop();
  });
});

describe("faulty starts on Postgres", () => {
  const serve = (store, ...args) => runToEnd(["serve", "--listen", "127.0.0.1:0", "--store", store, ...args], 60);

  function assertRefused(end, words) {
    assert.notEqual(end.code, 0, end.stdout);
    assert.equal(end.signal, null);
    assert.match(end.stderr, words);
    assert.doesNotMatch(end.stdout, /listening on/);
    assert.doesNotMatch(end.stderr, /s3cret|terminate called|Sanitizer/);
  }

  test("no server there", async () => {
    assertRefused(await serve(`postgres://postgres:s3cret@127.0.0.1:${randomPort()}/nothing`), /refused|reach/i);
  });

  test("no such database, no such role", async () => {
    const server = sharedServer();
    assertRefused(await serve(withParts(server, { database: "streamld_no_such" })), /streamld_no_such/);
    assertRefused(await serve(withParts(server, { user: "streamld_nobody" })), /streamld_nobody/);
  });

  test("a URL that cannot be read", async () => {
    assertRefused(await serve("postgres://u:s3cret@host:port:port/x?no_such_setting=1"), /--store|store/);
  });

  test("a database of a newer program, or with another encoding", async (t) => {
    const gateway = await startGateway(t);
    await publish(gateway, "s", {});
    await gateway.stop();
    await withSql(gateway.store, (session) => session.run("UPDATE streamld.meta SET value = '999' WHERE key = 'schema_version'"));
    assertRefused(await serve(gateway.store), /newer|999/);

    const name = new URL(gateway.store).pathname.slice(1) + "_latin";
    await withSql(sharedServer(), async (session) => {
      await session.run(`CREATE DATABASE ${name} ENCODING 'LATIN1' LOCALE_PROVIDER libc LOCALE 'C' TEMPLATE template0`);
      assertRefused(await serve(withParts(sharedServer(), { database: name })), /UTF-?8/i);
      await session.run(`DROP DATABASE ${name} WITH (FORCE)`);
    });
  });

  test("eight gateways that start at once on an empty database agree", async (t) => {
    const database = await freshDatabase();
    const gateways = await Promise.all(Array.from({ length: scaled(8, 4) }, () => startGateway(t, { store: database.url })));
    t.after(() => database.drop());

    const numbers = await Promise.all(gateways.map((gateway) => publish(gateway, "first", {})));

    assertDense(numbers.sort((a, b) => a - b), 1, gateways.length);
  });
});
