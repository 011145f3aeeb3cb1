// engine: sqlite
// What the contract promises in seconds of silence. It needs wall time, so the waits run beside each other.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { sharedGateway } from "./support/gateway.mjs";
import { at, call, fill, publishBatch, subscriptionCount } from "./support/http.mjs";
import { opcodes, RawConnection, RawWebSocket } from "./support/raw.mjs";
import { withSse } from "./support/sse.mjs";
import { until } from "./support/wait.mjs";

describe("deadlines", { concurrency: true }, () => {
  const gateway = sharedGateway();
  const since = (begun) => (Date.now() - begun) / 1000;

  test("an event stream says something at least every 15 s", async () => {
    await withSse(gateway, at("silent", "/events"), {}, async (stream) => {
      await stream.named("position");
      const begun = Date.now();
      await until(() => stream.comments >= 1, "a comment", 20);
      assert.ok(since(begun) < 16.5, `${since(begun)}`);
      await until(() => stream.comments >= 2, "another", 20);
      assert.ok(since(begun) < 32, `${since(begun)}`);
    });
  });

  test("a WebSocket is pinged every 20 s and lives as long as it answers", async () => {
    await fill(gateway, "pinged", 1);
    const socket = await RawWebSocket.open(gateway, "/replication?stream=pinged");
    const begun = Date.now();
    for (let i = 1; i <= 4; i += 1) {
      await socket.control(opcodes.ping, 25);
      assert.ok(since(begun) > 20 * i - 4 && since(begun) < 20 * i + 4, `ping ${i} after ${since(begun)} s`);
    }
    assert.equal(await subscriptionCount(gateway, "pinged"), 1);
    socket.destroy();
  });

  test("a WebSocket that answers no ping is dead after two", async () => {
    await fill(gateway, "dead", 1);
    const socket = await RawWebSocket.open(gateway, "/replication?stream=dead&after=0", { answersPings: false });
    await socket.message();
    const begun = Date.now();
    await until(() => socket.frames.isEnded, "the end of the connection", 75);

    assert.ok(since(begun) > 38, `not before it missed two: ${since(begun)} s`);
    await until(async () => (await subscriptionCount(gateway, "dead")) === 0, "its subscription is gone");
  });

  test("a request head that never ends is given up", async () => {
    const slow = await RawConnection.open(gateway.port);
    slow.write("GET /streams HTTP/1.1\r\nHost: localhost\r\nX-Slow: ");
    const drip = setInterval(() => slow.write("x"), 500);
    try {
      const answer = await slow.readAnswer({ seconds: 30 }).catch(() => null);
      if (answer) assert.ok([400, 408].includes(answer.status), `${answer.status}`);
      await slow.ended(10);
    } finally {
      clearInterval(drip);
      slow.destroy();
    }
  });

  test("an event stream whose client reads nothing for a minute is let go", async () => {
    const pad = "z".repeat(4000);
    await publishBatch(gateway, "stuck", Array.from({ length: 3000 }, (_, n) => ({ n, pad })));
    const stuck = await RawConnection.open(gateway.port);
    stuck.socket.pause();
    stuck.write(`GET ${at("stuck", "/events?after=0")} HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n`);
    await until(async () => (await subscriptionCount(gateway, "stuck")) === 1, "it subscribes");
    const begun = Date.now();
    await until(async () => (await subscriptionCount(gateway, "stuck")) === 0, "it is let go", 90);

    assert.ok(since(begun) > 50, `a minute is a minute: ${since(begun)} s`);
    stuck.destroy();
  });

  test("an idle connection outlives a proxy's minute", async () => {
    const idle = await RawConnection.open(gateway.port);
    const ask = async () => {
      idle.write("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n");
      return (await idle.readAnswer()).status;
    };
    assert.equal(await ask(), 200);
    const begun = Date.now();
    await until(() => since(begun) > 65, "65 s of silence", 70);

    assert.equal(await ask(), 200);
    idle.destroy();
  });

  test("a body that stops coming is given up and stores nothing", async () => {
    const half = await RawConnection.open(gateway.port);
    half.write(`POST ${at("half", "/events")} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{"a":`);
    const answer = await half.readAnswer({ seconds: 80 }).catch(() => null);
    if (answer) assert.ok([400, 408].includes(answer.status), `${answer.status}`);
    await half.ended(10);

    assert.equal((await call(gateway, "GET", at("half"))).status, 404);
    half.destroy();
  });
});
