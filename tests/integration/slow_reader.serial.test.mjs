// Readers that stop reading: they cost a bounded amount of memory, disturb no one, and hold every event in the end.

import assert from "node:assert/strict";
import { stat } from "node:fs/promises";
import { env } from "node:process";
import { describe, test } from "node:test";
import { startGateway } from "./support/gateway.mjs";
import { at, call, publishBatch, streamInfo } from "./support/http.mjs";
import { usesPostgres } from "./support/postgres.mjs";
import { RawWebSocket } from "./support/raw.mjs";
import { isSlow, scaled } from "./support/scale.mjs";
import { RawEventStream } from "./support/sse.mjs";
import { within } from "./support/wait.mjs";

const events = Number(env.STREAMLD_SLOW_READER_EVENTS ?? scaled(50_000, 6_000));
const mebibyte = 1 << 20;
// For ten readers, however many events pass: while they stand still, and while all of them catch up at once.
const stalledRiseMax = 32 * mebibyte;
const catchUpRiseMax = 96 * mebibyte;

/** Publishes numbers first..last, a kilobyte each. */
async function pour(gateway, stream, first, last) {
  for (let from = first; from <= last; from += 1000) {
    const count = Math.min(1000, last - from + 1);
    const answer = await publishBatch(gateway, stream, Array.from({ length: count }, (_, i) => `{"n":${from + i},"pad":"${"z".repeat(1000)}"}`));
    assert.equal(answer.first, from);
  }
}

/** Takes frames first..last from a reader, each with its own number. */
async function takeFrames(reader, first, last) {
  const next = reader instanceof RawEventStream ? async () => (await reader.message(30)).frame : () => reader.message(undefined, 30);
  for (let n = first; n <= last; n += 1) {
    const frame = await next();
    assert.equal(frame.cursor, n);
    assert.equal(frame.event.payload.n, n);
  }
}

const open = {
  SSE: (gateway, stream, after) => RawEventStream.open(gateway, at(stream, `/events?after=${after}`)),
  WebSocket: (gateway, stream, after) => RawWebSocket.open(gateway, `/replication?stream=${stream}&after=${after}`),
};

describe("readers that stop reading", () => {
  test("they cost bounded memory, leave others alone and get every event in order", async (t) => {
    const gateway = await startGateway(t);
    const warmUp = scaled(20_000, 2_000);
    const witness = await open.WebSocket(gateway, "poured", 0);
    const readWarmUp = takeFrames(witness, 1, warmUp);
    await pour(gateway, "poured", 1, warmUp);
    await within(readWarmUp, "the warm-up", 60);

    const stalled = [];
    for (let i = 0; i < 5; i += 1) {
      for (const transport of Object.keys(open)) stalled.push(await open[transport](gateway, "poured", warmUp));
    }
    for (const reader of stalled) reader.pause();
    const before = await gateway.rss();
    let highest = before;
    const end = warmUp + events;
    let isDone = false;
    const watching = (async () => {
      while (!isDone) {
        highest = Math.max(highest, await gateway.rss());
        await new Promise((resolve) => setTimeout(resolve, 50)); // A sample now and then.
      }
    })();
    const witnessed = takeFrames(witness, warmUp + 1, end);
    const begun = Date.now();
    await pour(gateway, "poured", warmUp + 1, end);
    await within(witnessed, "the one that reads has everything", 60);
    const seconds = (Date.now() - begun) / 1000;
    const whileStalled = highest;
    for (const reader of stalled) reader.resume();
    await within(Promise.all(stalled.map((reader) => takeFrames(reader, warmUp + 1, end))), "the stalled ones catch up", 120);
    isDone = true;
    await watching;
    for (const reader of stalled) reader.close();
    witness.close();

    const mib = (bytes) => (bytes / mebibyte).toFixed(1);
    t.diagnostic(
      `${events} events of 1 KiB past ${stalled.length} stalled readers in ${seconds.toFixed(1)} s: RSS ${mib(before)} MiB, ` +
        `${mib(whileStalled)} at most while they stalled, ${mib(highest)} while they caught up`,
    );
    // A sanitizer keeps freed memory back; what it measures is not ours.
    if (isSlow) return;
    assert.ok(whileStalled - before < stalledRiseMax, `the rise while they stalled: ${mib(whileStalled - before)} MiB`);
    assert.ok(highest - before < catchUpRiseMax, `the rise while they caught up: ${mib(highest - before)} MiB`);
  });

  for (const transport of Object.keys(open)) {
    test(`a stalled ${transport} reader that was trimmed meanwhile is told the gap, and nothing is skipped in silence`, async (t) => {
      const gateway = await startGateway(t);
      const total = 30_000; // Far more than sockets and the memory of a tail hold.
      const trimmed = total - 1000;
      await pour(gateway, "trimmed", 1, 10);
      const reader = await open[transport](gateway, "trimmed", 0);
      await takeFrames(reader, 1, 10);
      reader.pause();
      await pour(gateway, "trimmed", 11, total);
      const trim = await call(gateway, "DELETE", at("trimmed", `/events?through=${trimmed}`), { seconds: 60 });
      assert.equal(trim.status, 200, trim.text);
      reader.resume();

      let seen = 10;
      let gap = null;
      const next = async () => {
        if (transport === "WebSocket") return reader.message(undefined, 30);
        const event = await reader.next(30);
        if (event.event === "position") return next();
        const body = JSON.parse(event.data);
        assert.equal(event.event, body["@type"] === "GapSignal" ? "gap" : undefined);
        return body;
      };
      while (gap === null && seen < total) {
        const message = await next();
        if (message["@type"] === "GapSignal") gap = message;
        else {
          assert.equal(message.cursor, seen + 1);
          seen = message.cursor;
        }
      }
      const { epoch } = await streamInfo(gateway, "trimmed");

      assert.ok(seen < trimmed, `it was behind: ${seen}`);
      assert.deepEqual(gap, { "@type": "GapSignal", stream: "trimmed", oldestAvailable: trimmed + 1, head: total, epoch, reason: "trimmed" });
      t.diagnostic(`the gap came after ${seen} of ${total}`);
      if (transport === "SSE") {
        assert.equal(await within(reader.ended, "the end behind the gap"), "end");
        const again = await open.SSE(gateway, "trimmed", gap.oldestAvailable - 1);
        await takeFrames(again, trimmed + 1, total);
        again.close();
      } else {
        reader.send({ stream: "trimmed", after: gap.oldestAvailable - 1 });
        await takeFrames(reader, trimmed + 1, total);
        reader.close();
      }
    });
  }

  test("catch-up readers do not let the log of SQLite grow without bound", { skip: usesPostgres }, async (t) => {
    const gateway = await startGateway(t);
    const count = scaled(10_000, 3_000);
    await pour(gateway, "wal", 1, count);
    const readers = [];
    for (let i = 0; i < 10; i += 1) readers.push(await open.SSE(gateway, "wal", 0));
    const reading = Promise.all(readers.map((reader) => takeFrames(reader, 1, count)));
    let largest = 0;
    for (let from = count + 1; from <= 2 * count; from += 1000) {
      await pour(gateway, "wal", from, Math.min(from + 999, 2 * count));
      largest = Math.max(largest, (await stat(`${gateway.path}-wal`)).size);
    }
    await within(reading, "the readers", 90);
    for (const reader of readers) reader.close();

    t.diagnostic(`the largest -wal: ${(largest / mebibyte).toFixed(1)} MiB`);
    assert.ok(largest < 64 * mebibyte, `${largest}`);
  });
});
