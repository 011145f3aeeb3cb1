// What an operator does and sees: probes, metrics, the end of the process, faulty starts, too many connections.

import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { runToEnd, sharedGateway, startGateway } from "./support/gateway.mjs";
import { assertDense, assertProblem, at, call, fill, publish, readAll, subscriptionCount } from "./support/http.mjs";
import { parseMetrics, readMetrics, sum } from "./support/metrics.mjs";
import { usesPostgres } from "./support/postgres.mjs";
import { sqliteOk } from "./support/process.mjs";
import { RawConnection } from "./support/raw.mjs";
import { scaled } from "./support/scale.mjs";
import { openSse, withSse } from "./support/sse.mjs";
import { until, within } from "./support/wait.mjs";
import { WsClient, withWs } from "./support/websocket.mjs";

/** One request on a connection of its own; null where none can be had any more. */
async function ask(gateway, method, path, options = {}) {
  try {
    return await call(gateway, method, path, { ...options, fresh: true });
  } catch (error) {
    if (["ECONNREFUSED", "ECONNRESET", "EPIPE"].includes(error.code)) return null;
    throw error;
  }
}

describe("probes and metrics", () => {
  const gateway = sharedGateway();

  test("a healthy gateway says so", async () => {
    for (const path of ["/healthz", "/readyz"]) {
      const answer = await call(gateway, "GET", path);
      assert.equal(answer.status, 200, path);
      assert.match(answer.headers["cache-control"] ?? "", /no-store|no-cache/, path);
    }
  });

  test("metrics are Prometheus text, each sample of a family that has a type", async () => {
    const { types, samples } = await readMetrics(gateway);

    assert.ok(samples.length > 10);
    for (const { name } of samples) {
      const family = types.has(name) ? name : name.replace(/_(bucket|sum|count|total)$/, "");
      assert.ok(types.has(family), name);
    }
    const seen = new Set(samples.map(({ name, labels }) => name + JSON.stringify(Object.entries(labels).sort())));
    assert.equal(seen.size, samples.length, "no sample twice");
    for (const { name, value } of samples) if (types.get(name) === "counter") assert.ok(value >= 0, name);
  });

  test("publishing, reading, gaps and errors move their counters by what was done", async () => {
    const start = await readMetrics(gateway);
    for (let n = 0; n < 4; n += 1) await publish(gateway, "counted", { n });
    await fill(gateway, "counted", 6);
    await withSse(gateway, at("counted", "/events?after=0"), {}, (stream) => stream.messages(10));
    await withWs(gateway, "?stream=counted&after=3", (socket) => socket.frames("counted", 7));
    await readAll(gateway, "counted");
    await call(gateway, "GET", at("counted", "/events?after=99&wait=1"));
    await withWs(gateway, "?stream=counted&after=99", (socket) => socket.typed("GapSignal"));
    await call(gateway, "GET", "/nowhere");
    const moved = async (name, labels) => sum(await readMetrics(gateway), name, labels) - sum(start, name, labels);

    assert.equal(await moved("streamld_events_published_total"), 10);
    assert.equal(await moved("streamld_events_delivered_total", { transport: "sse" }), 10);
    assert.equal(await moved("streamld_events_delivered_total", { transport: "websocket" }), 7);
    assert.equal(await moved("streamld_gaps_total", { reason: "ahead" }), 2);
    assert.ok((await moved("streamld_http_responses_total", { class: "2xx" })) >= 5);
    assert.ok((await moved("streamld_http_responses_total", { class: "4xx" })) >= 1);
    assert.ok((await moved("streamld_sent_bytes_total")) > 1000);
    await until(async () => (await moved("streamld_readers_ended_total", { transport: "sse" })) === 1, "the reader's end is counted");
  });

  test("connections and readers are counted while they last", async () => {
    const gauge = async (name, labels) => sum(await readMetrics(gateway), name, labels);
    await until(async () => (await gauge("streamld_readers")) === 0, "no reader is left");
    const before_ = await gauge("streamld_connections");
    const streams = await Promise.all([1, 2, 3].map(() => openSse(gateway, at("gauge", "/events"))));
    const sockets = await Promise.all([1, 2].map(() => WsClient.open(gateway, "?stream=gauge")));
    for (const stream of streams) await stream.named("position");

    await until(async () => (await gauge("streamld_readers", { transport: "sse" })) === 3, "three event streams");
    await until(async () => (await gauge("streamld_readers", { transport: "websocket" })) === 2, "two subscriptions over WebSocket");
    assert.equal(await gauge("streamld_connections"), before_ + 5);
    for (const stream of streams) stream.close();
    for (const socket of sockets) socket.terminate();
    await until(async () => (await gauge("streamld_connections")) === before_, "they are counted off");
    await until(async () => (await gauge("streamld_readers")) === 0, "so are the readers");
  });

  test("in silence many readers cost next to no processor time", async (t) => {
    const streams = await Promise.all(Array.from({ length: 40 }, (_, i) => openSse(gateway, `/events?stream=calm-${i}&stream=calm`)));
    const sockets = await Promise.all(Array.from({ length: 40 }, () => WsClient.open(gateway, "?stream=calm&stream=calm-1")));
    for (const stream of streams) await stream.named("position");
    const cpu = await gateway.cpuSeconds();
    const begun = Date.now();
    await until(() => Date.now() - begun > 3000, "the measuring time");
    const used = ((await gateway.cpuSeconds()) - cpu) / ((Date.now() - begun) / 1000);
    for (const stream of streams) stream.close();
    for (const socket of sockets) socket.terminate();

    t.diagnostic(`${(used * 100).toFixed(2)} % of a core`);
    assert.ok(used < scaled(0.02, 0.1), `${used}`);
  });

  test("no token that was shown appears in metrics, logs or error texts", async () => {
    const secret = "s3cr3t-t0ken-value";
    const headers = { authorization: `Bearer ${secret}` };
    const texts = [];
    for (const path of [at("hidden", `/events?access_token=${secret}`), `/nowhere?access_token=${secret}`, at("hidden", `/events?ticket=${secret}&after=x`)]) {
      texts.push((await call(gateway, "GET", path, { headers })).text);
    }
    await assert.rejects(WsClient.open(gateway, `?access_token=${secret}&after=x`), (error) => {
      texts.push(error.text);
      return true;
    });
    await withWs(gateway, `?access_token=${secret}`, async (socket) => {
      texts.push(JSON.stringify(await socket.ask({ "@type": "Authenticate", token: secret })));
      texts.push(JSON.stringify(await socket.ask({ "@type": "Authenticate", token: secret, unknown: 1 })));
    });
    texts.push((await call(gateway, "GET", "/metrics")).text, gateway.stdout, gateway.stderr);

    for (const text of texts) assert.ok(!text.includes(secret), text.slice(0, 500));
  });

  test("the front page and the descriptions are served", async () => {
    for (const [path, type] of [
      ["/", /^text\/html\b/],
      ["/streamld/context.jsonld", /^application\/ld\+json\b/],
      ["/streamld/model/envelope.ttl", /^text\/turtle\b/],
    ]) {
      const answer = await call(gateway, "GET", path);
      assert.equal(answer.status, 200, path);
      assert.match(answer.headers["content-type"], type, path);
      if (path.endsWith("json") || path.endsWith("jsonld")) assert.equal(typeof answer.json, "object", path);
    }
  });
});

describe("the end of the process", () => {
  test("SIGTERM under load: ready goes red, new work is refused with a reason, accepted work is kept, all readers hear it", async (t) => {
    const gateway = await startGateway(t, { args: ["--drain", "3s"] });
    await fill(gateway, "drained", 5);
    const sockets = await Promise.all(Array.from({ length: 10 }, () => WsClient.open(gateway, "?stream=drained")));
    const streams = await Promise.all(Array.from({ length: 5 }, () => openSse(gateway, at("quiet", "/events"))));
    const polls = Array.from({ length: 5 }, () => call(gateway, "GET", at("quiet-poll", "/events?after=0&wait=50"), { seconds: 60 }));
    const acknowledged = new Map();
    const refusals = [];
    let isOver = false;
    const load = Array.from({ length: 4 }, async (_, who) => {
      for (let n = 0; !isOver; n += 1) {
        const body = JSON.stringify({ who, n });
        const answer = await ask(gateway, "POST", at("loaded", "/events"), { body });
        if (answer === null) return;
        if (answer.status === 201) acknowledged.set(answer.json.sequence, body);
        else refusals.push(answer);
      }
    });
    await until(() => acknowledged.size > 50, "the load runs");

    gateway.signal("SIGTERM");
    const begun = Date.now();
    const ready = await until(async () => {
      const answer = await ask(gateway, "GET", "/readyz");
      return answer?.status === 503 ? answer : null;
    }, "readiness goes red");
    const refused = await ask(gateway, "POST", at("loaded", "/events"), { body: "1" });
    const read = await ask(gateway, "GET", at("drained", "/events"));
    const alive = await ask(gateway, "GET", "/healthz");
    const late = await openSse(gateway, at("drained", "/events?after=0"));
    const lateSocket = await WsClient.open(gateway, "?stream=drained").then(
      (socket) => socket.closeCode(),
      (error) => error.status,
    );

    assert.ok(refused, "the listener stays open to say so");
    assertProblem(refused, 503, "shutting-down");
    assert.ok(ready.headers["retry-after"], "readyz says when to come back");
    assert.ok(read === null || [200, 503].includes(read.status));
    assert.equal(alive.status, 200, "alive all the while");
    assert.equal(late.status, 200, "EventSource gives up on an error status");
    assert.equal(await within(late.ended, "the end of the late event stream"), "end");
    assert.ok(late.retry >= 1000 && late.retry <= 10_000, `${late.retry}`);
    assert.deepEqual(late.inbox.peek().filter((event) => event.data !== undefined && event.event === undefined), []);
    assert.ok([1012, 503].includes(lateSocket), `${lateSocket}`);

    for (const answer of await Promise.all(polls)) {
      assert.equal(answer.status, 200, answer.text);
      assert.deepEqual(answer.json.events, []);
    }
    for (const stream of streams) assert.equal(await within(stream.ended, "an end"), "end");
    for (const socket of sockets) assert.equal(await socket.closeCode(), 1012);
    const end = await within(gateway.exited, "the end of the process");
    const took = Date.now() - begun;
    isOver = true;
    await Promise.all(load);
    assert.equal(end.code, 0, gateway.stderr);
    t.diagnostic(`drained in ${took} ms, ${acknowledged.size} acknowledged, ${refusals.length} refused`);
    for (const answer of refusals) assertProblem(answer, 503, "shutting-down");

    await gateway.start();
    const stored = await readAll(gateway, "loaded");
    assertDense(stored.map((event) => event.sequence), 1, stored.length);
    for (const [n, body] of acknowledged) assert.equal(JSON.stringify(stored[n - 1]?.payload), body);
    assert.equal(stored.length, acknowledged.size, "what was refused was not stored");
  });

  test("with nothing open it ends at once, by SIGTERM and by SIGINT", async (t) => {
    for (const signal of ["SIGTERM", "SIGINT"]) {
      const gateway = await startGateway(t, { args: ["--drain", "20s"] });
      await publish(gateway, "s", {});
      gateway.signal(signal);
      assert.equal((await within(gateway.exited, `the end after ${signal}`, 8)).code, 0);
    }
  });

  test("a second SIGTERM ends it at once", async (t) => {
    const gateway = await startGateway(t, { args: ["--drain", "60s"] });
    const sockets = await Promise.all(Array.from({ length: 10 }, () => WsClient.open(gateway, "?stream=s")));
    gateway.signal("SIGTERM");
    await until(async () => (await ask(gateway, "GET", "/readyz"))?.status === 503, "it drains");

    gateway.signal("SIGTERM");
    const end = await within(gateway.exited, "the end after the second signal", 3);

    t.diagnostic(`exit code ${end.code}, signal ${end.signal}`);
    for (const socket of sockets) await socket.closeCode();
  });

  test("a client that never reads does not hold the end up beyond the drain time", async (t) => {
    const gateway = await startGateway(t, { args: ["--drain", "2s"] });
    await fill(gateway, "stuck", 3000);
    const stuck = await RawConnection.open(gateway.port);
    stuck.socket.pause();
    stuck.write(`GET ${at("stuck", "/events?after=0")} HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n`);
    await until(async () => (await subscriptionCount(gateway, "stuck")) === 1, "it subscribes");
    const halfRequest = await RawConnection.open(gateway.port);
    halfRequest.write(`POST ${at("stuck", "/events")} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{`);

    gateway.signal("SIGTERM");
    const end = await within(gateway.exited, "the end", 8);

    assert.equal(end.code, 0, gateway.stderr);
    stuck.destroy();
    halfRequest.destroy();
  });
});

// What a start does without the right server is in postgres_failures.
describe("faulty starts", { skip: usesPostgres }, () => {
  let dir;
  before(async () => {
    dir = await mkdtemp(join(tmpdir(), "streamld-it-"));
  });
  after(() => rm(dir, { recursive: true, force: true }));
  const store = (name) => ["--store", `sqlite:${join(dir, name)}`];
  const serve = (...args) => runToEnd(["serve", ...args]);

  test("all faults of the settings are reported together", async () => {
    const end = await serve("--listen", "nowhere", "--heartbeat", "banana", "--max-payload", "-1", "--shards", "none", "--store", "ftp:x");

    assert.notEqual(end.code, 0);
    assert.equal(end.signal, null);
    for (const word of ["--listen", "--heartbeat", "--max-payload", "--shards", "--store"]) {
      assert.ok(end.stderr.includes(word), `${word} in: ${end.stderr}`);
    }
    assert.doesNotMatch(end.stdout, /listening on/);
  });

  test("an option that does not exist, a value that is missing and a stray word are named", async () => {
    for (const [args, named] of [
      [["--no-such-flag"], "--no-such-flag"],
      [["--heartbeat"], "heartbeat"],
      [["stray"], "stray"],
    ]) {
      const end = await serve("--listen", "127.0.0.1:0", ...store("named.db"), ...args);
      assert.notEqual(end.code, 0, named);
      assert.ok(end.stderr.includes(named), `${named} in: ${end.stderr}`);
    }
  });

  test("an address in use is named", async (t) => {
    const gateway = await startGateway(t);
    const end = await serve("--listen", `127.0.0.1:${gateway.port}`, ...store("in-use.db"));

    assert.notEqual(end.code, 0);
    assert.match(end.stderr, new RegExp(`127\\.0\\.0\\.1:${gateway.port}`));
    assert.doesNotMatch(end.stderr, /reactive_socket_service|\.hpp/, "in words for people");
    await publish(gateway, "unharmed", {});
  });

  test("a file that is no database is left alone", async () => {
    await writeFile(join(dir, "letter.txt"), "Dear reader, this is not a database. ".repeat(100));
    const end = await serve("--listen", "127.0.0.1:0", ...store("letter.txt"));

    assert.notEqual(end.code, 0);
    assert.ok(end.stderr.length > 0);
    assert.doesNotMatch(end.stdout, /listening on/);
    assert.match(await readFile(join(dir, "letter.txt"), "utf8"), /^Dear reader/);
  });

  test("a database of a newer program is refused", async (t) => {
    const gateway = await startGateway(t, { store: join(dir, "newer.db") });
    await publish(gateway, "s", {});
    await gateway.stop();
    await sqliteOk(join(dir, "newer.db"), "UPDATE streamld_meta SET value = 999 WHERE key = 'schema_version';");

    const end = await serve("--listen", "127.0.0.1:0", ...store("newer.db"));

    assert.notEqual(end.code, 0);
    assert.match(end.stderr, /newer|999/);
  });

  test("a folder that does not exist is named", async () => {
    const end = await serve("--listen", "127.0.0.1:0", ...store("no/such/folder/x.db"));

    assert.notEqual(end.code, 0);
    assert.match(end.stderr, /no\/such\/folder/);
  });

  test("listening beyond the machine without any key is refused, unless it is asked for", async (t) => {
    const end = await serve("--listen", "0.0.0.0:0", ...store("open.db"));
    assert.notEqual(end.code, 0);
    assert.match(end.stderr, /insecure-open/);

    const gateway = await startGateway(t, { args: ["--listen", "0.0.0.0:0", "--insecure-open"] });
    assert.equal((await call(gateway, "GET", "/streams", { headers: { host: "anything.example" } })).status, 200);
  });

  test("tables of others in the same database are left alone", async (t) => {
    const path = join(dir, "shared.db");
    await sqliteOk(path, "CREATE TABLE mine (x); INSERT INTO mine VALUES ('kept');");
    const gateway = await startGateway(t, { store: path });
    await publish(gateway, "s", {});

    assert.equal(await sqliteOk(path, "SELECT x FROM mine;"), "kept");
  });
});

describe("too many connections", () => {
  test("at the limit of file descriptors it stays calm, serves whom it has, and recovers", async (t) => {
    const gateway = await startGateway(t, { shell: "ulimit -n 128;" });
    await publish(gateway, "full", { n: 1 });
    const watcher = await openSse(gateway, at("full", "/events?after=0"));
    await watcher.message();
    const kept = await RawConnection.open(gateway.port);
    const request = `POST ${at("full", "/events")} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 7\r\n\r\n{"n":2}`;
    kept.write(request);
    assert.equal((await kept.readAnswer()).status, 201);
    assert.equal((await watcher.message()).frame.cursor, 2);

    const idle = [];
    for (let i = 0; i < 300; i += 1) idle.push(await RawConnection.open(gateway.port));
    await until(async () => {
      kept.write(request);
      return (await kept.readAnswer()).status === 201;
    }, "an accepted connection is served");
    const cpu = await gateway.cpuSeconds();
    const measured = 4000;
    const begun = Date.now();
    await until(() => Date.now() - begun > measured, "the measuring time");
    const used = ((await gateway.cpuSeconds()) - cpu) / ((Date.now() - begun) / 1000);
    kept.write(request);
    assert.equal((await kept.readAnswer()).status, 201, "the store still has its files");
    await until(async () => (await watcher.message()).frame.cursor === 4, "the watcher sees it");
    kept.write("GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n");
    const metrics = parseMetrics((await kept.readAnswer()).text);
    const complaints = gateway.stderr.split("\n").filter((line) => /EMFILE|too many open files|connection/i.test(line)).length;

    for (const connection of idle) connection.destroy();
    const again = await until(async () => {
      const answer = await ask(gateway, "GET", "/healthz", { seconds: 2 }).catch(() => null);
      return answer?.status === 200;
    }, "new connections are served again", 20);

    t.diagnostic(`${(used * 100).toFixed(1)} % of a core at the limit, ${complaints} lines about it`);
    assert.ok(used < 0.2, `${used}`);
    assert.ok(complaints < 50, `${complaints}`);
    const open = sum(metrics, "streamld_connections");
    assert.ok(open > 20 && open < 128, `the store's files are kept free: ${open} connections`);
    assert.equal(sum(metrics, "streamld_process_max_fds"), 128);
    assert.ok(again);
    watcher.close();
    kept.destroy();
  });

  test("an event stream refused for want of room is told to come back, not given an error", async (t) => {
    const gateway = await startGateway(t, { shell: "ulimit -n 128;" });
    const streams = [];
    const isOpen = async () => {
      const connection = await RawConnection.open(gateway.port);
      streams.push(connection);
      connection.write(`GET ${at("room", "/events")} HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n`);
      const head = await connection.readHead(2).catch(() => null);
      if (head === null) return null;
      assert.equal(head.status, 200, "never an error status");
      const text = await connection.takeThrough("\n\n", "the first block").catch(() => Buffer.from("closed"));
      return text.toString().includes("event: position") ? "served" : "sent away";
    };
    const outcomes = [];
    for (let i = 0; i < 130 && !outcomes.includes("sent away") && !outcomes.includes(null); i += 1) outcomes.push(await isOpen());
    for (const connection of streams) connection.destroy();

    const served = outcomes.filter((one) => one === "served").length;
    t.diagnostic(`${served} served, then ${outcomes.at(-1)}`);
    assert.ok(served >= 30, `${served}`);
    await until(async () => (await ask(gateway, "GET", "/readyz", { seconds: 2 }).catch(() => null))?.status === 200, "it recovers", 20);
  });
});
