// Subscribers that connect, stall, leave and come back at random, over every transport, until they hold 1..last.

import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import { at, call, readAll } from "./http.mjs";
import { RawEventStream } from "./sse.mjs";
import { RawWebSocket } from "./raw.mjs";

/** What one subscriber has seen of one stream; refuses a miss, a repeat and a reordering at once. */
export class Account {
  cursor = 0;
  connections = 0;

  constructor(whose, onEvent = () => {}) {
    this.whose = whose;
    this.onEvent = onEvent;
  }

  take(envelope) {
    assert.equal(envelope.sequence, this.cursor + 1, `${this.whose}: after ${this.cursor} on connection ${this.connections}`);
    this.cursor = envelope.sequence;
    this.onEvent(envelope);
  }
}

// Each reads some of the stream after account.cursor and returns; the caller comes back until all is read. `enough()` says
// that the whole stream was seen.

async function byEventStream(gateway, stream, account, chance, enough) {
  const inHeader = chance.chance(0.5);
  const path = at(stream, inHeader ? "/events?after=0" : `/events?after=${account.cursor}`);
  const events = await RawEventStream.open(gateway, path, inHeader ? { "Last-Event-ID": `${account.cursor}` } : {});
  assert.equal(events.status, 200, account.whose);
  try {
    await readSome(account, chance, enough, events, async () => (await events.message(30)).frame.event);
  } finally {
    events.close();
  }
}

async function byWebSocket(gateway, stream, account, chance, enough) {
  const byQuery = chance.chance(0.5);
  const socket = await RawWebSocket.open(
    gateway,
    byQuery ? `/replication?stream=${encodeURIComponent(stream)}&after=${account.cursor}` : "/replication",
  );
  try {
    if (!byQuery) socket.send({ stream, after: account.cursor, ref: 1 });
    const isFrame = (message) => message["@type"] === "ReplicationFrame";
    await readSome(account, chance, enough, socket, async () => (await socket.message(isFrame, 30)).event);
  } finally {
    socket.destroy();
  }
}

/** Takes a random number of events, with random stalls between. */
async function readSome(account, chance, enough, connection, next) {
  const count = chance.chance(0.3) ? Infinity : chance.between(1, 400);
  for (let taken = 0; taken < count && !enough(); taken += 1) {
    if (chance.chance(0.01)) {
      connection.pause();
      await pause(chance.between(1, 60)); // The stall itself, not a wait for something.
      connection.resume();
    }
    try {
      account.take(await next());
    } catch (error) {
      throw new Error(`${account.whose} after ${account.cursor}, event ${taken} of connection ${account.connections}: ${error.message}`, { cause: error });
    }
  }
}

async function byLongPoll(gateway, stream, account, chance) {
  const limit = chance.between(1, 300);
  const answer = await call(gateway, "GET", at(stream, `/events?after=${account.cursor}&wait=2&limit=${limit}`), { seconds: 30 });
  assert.equal(answer.status, 200, `${account.whose}: ${answer.text.slice(0, 300)}`);
  for (const event of answer.json.events) account.take(event);
  assert.ok(answer.json.events.length <= limit);
  if (answer.json.events.length) assert.equal(answer.json.next, account.cursor, account.whose);
}

async function byNdjson(gateway, stream, account) {
  for (const event of await readAll(gateway, stream, { after: account.cursor })) account.take(event);
  await pause(20); // A reader that polls, at its own pace.
}

export const transports = { SSE: byEventStream, WebSocket: byWebSocket, "long-poll": byLongPoll, NDJSON: byNdjson };

/** Reads by one transport, on as many connections as chance wants, until the account holds the number `last`. */
export async function readToEnd(gateway, stream, transport, account, chance, last) {
  const enough = () => account.cursor >= last;
  while (!enough()) {
    account.connections += 1;
    await transports[transport](gateway, stream, account, chance, enough);
  }
  return account;
}
