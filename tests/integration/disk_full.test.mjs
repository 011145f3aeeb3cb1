// engine: sqlite
// A full disk: publishing says so and recovers by itself, reading goes on, and nothing acknowledged is lost. The store lies
// on a small file system of its own, in a mount namespace that ends with the gateway.

import assert from "node:assert/strict";
import { statfs } from "node:fs/promises";
import { describe, test } from "node:test";
import { startGateway } from "./support/gateway.mjs";
import { assertDense, assertProblem, at, call, publish, readAll } from "./support/http.mjs";
import { run } from "./support/process.mjs";
import { openSse } from "./support/sse.mjs";
import { until } from "./support/wait.mjs";
import { WsClient } from "./support/websocket.mjs";

const namespace = ["--mount", "--propagation", "private"];
const mayMount = (await run("unshare", [...namespace, "mount", "-t", "tmpfs", "none", "/mnt"]).catch(() => ({ code: 1 }))).code === 0;

describe("a full disk", { skip: mayMount ? false : "no right to mount a small file system" }, () => {
  test("publishing is refused with a reason and works again when there is room; readers are not disturbed", async (t) => {
    const gateway = await startGateway(t, {
      shell: `mount -t tmpfs -o size=24m none "$STREAMLD_DIR" || exit 1;`,
      before: ["unshare", ...namespace],
    });
    const inside = `/proc/${gateway.pid}/root${gateway.dir}`;
    assert.equal((await statfs(inside)).type, 0x01021994, "the store is on the small file system");
    const acknowledged = [];
    const body = (n) => `{"n":${n},"pad":"${"p".repeat(20_000)}"}`;
    const post = (n) => call(gateway, "POST", at("disk", "/events"), { body: body(n), seconds: 20 });
    await publish(gateway, "disk", body(0));
    acknowledged.push(body(0));
    const events = await openSse(gateway, at("disk", "/events?after=0"), { keepText: false });
    const socket = await WsClient.open(gateway, "?stream=disk&after=0");

    let refusal = null;
    for (let n = 1; n < 3000 && refusal === null; n += 1) {
      const answer = await post(n);
      if (answer.status === 201) acknowledged.push(body(n));
      else refusal = answer;
    }
    assert.ok(refusal, "the disk is full at some time");
    t.diagnostic(`full after ${acknowledged.length} events: ${refusal.status} ${refusal.json.type}`);
    if (refusal.status === 503) assertProblem(refusal, 503, "store-unavailable");
    else assert.equal(refusal.status, 507);

    for (let i = 0; i < 5; i += 1) {
      const answer = await post(-1);
      if (answer.status === 201) acknowledged.push(body(-1)); // A checkpoint may have made room.
      else assert.ok([503, 507].includes(answer.status), `${answer.status}`);
    }
    assert.equal((await call(gateway, "GET", "/healthz")).status, 200);
    assert.equal((await readAll(gateway, "disk")).length, acknowledged.length, "reading goes on");
    for (let n = 1; n <= acknowledged.length; n += 1) {
      assert.equal((await events.message()).frame.cursor, n);
      assert.equal((await socket.frame("disk")).cursor, n);
    }
    assert.equal(socket.inbox.isEnded || events.inbox.isEnded, false, "live connections live");

    // An operator makes room.
    const room = await run("nsenter", ["--mount", "--target", `${gateway.pid}`, "mount", "-o", "remount,size=64m", gateway.dir]);
    assert.equal(room.code, 0, room.stderr);
    const first = await until(async () => {
      const answer = await post(-2);
      return answer.status === 201 ? answer.json.sequence : null;
    }, "publishing works again", 12);

    assert.equal(first, acknowledged.length + 1, "no number was lost");
    assert.equal((await events.message()).frame.cursor, first);
    assert.equal((await socket.frame("disk")).cursor, first);
    await until(async () => (await call(gateway, "GET", "/readyz")).status === 200, "it is ready again", 12);
    const stored = await readAll(gateway, "disk");
    assertDense(stored.map((event) => event.sequence), stored[0].sequence, first);
    for (const event of stored.slice(0, -1)) assert.equal(JSON.stringify(event.payload), acknowledged[event.sequence - 1]);
    events.close();
    socket.terminate();
  });
});
