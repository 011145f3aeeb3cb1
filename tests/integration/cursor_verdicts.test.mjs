// One table of positions, driven over every transport. A position gets the same verdict and the same GapSignal on each,
// and always one that the client can see.

import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { sharedGateway } from "./support/gateway.mjs";
import { assertDense, assertProblem, at, call, fill, publish, streamInfo } from "./support/http.mjs";
import { openSse, withSse } from "./support/sse.mjs";
import { withWs } from "./support/websocket.mjs";

const foreign = "0123456789abcdef";

// stream: events published, trimmed through. Null: never made.
const streams = {
  whole: [5, 0],
  cut: [6, 3], // F07: 4..6 remain.
  one: [1, 0],
  emptied: [4, 4],
  made: [0, 0],
  never: null,
};

// stream, after, epoch ("own", "foreign" or none), verdict, then the first event where it is resolvable (none: it waits).
const table = [
  ["whole", 0, "none", "resolvable", 1],
  ["whole", 4, "none", "resolvable", 5],
  ["whole", 5, "none", "resolvable"],
  ["whole", 6, "none", "ahead"],
  ["whole", 999999, "none", "ahead"],
  ["whole", 9007199254740991, "none", "ahead"],
  ["whole", 0, "own", "resolvable", 1],
  ["whole", 6, "own", "ahead"],
  ["whole", 0, "foreign", "epoch"],
  ["whole", 3, "foreign", "epoch"],
  ["whole", 6, "foreign", "epoch"],
  ["cut", 0, "none", "trimmed"],
  ["cut", 1, "none", "trimmed"],
  ["cut", 2, "none", "trimmed"],
  ["cut", 3, "none", "resolvable", 4],
  ["cut", 4, "none", "resolvable", 5],
  ["cut", 6, "none", "resolvable"],
  ["cut", 7, "none", "ahead"],
  ["cut", 2, "own", "trimmed"],
  ["cut", 3, "own", "resolvable", 4],
  ["cut", 2, "foreign", "epoch"],
  ["one", 0, "none", "resolvable", 1],
  ["one", 1, "none", "resolvable"],
  ["one", 2, "none", "ahead"],
  ["emptied", 0, "none", "trimmed"],
  ["emptied", 3, "none", "trimmed"],
  ["emptied", 4, "none", "resolvable"],
  ["emptied", 5, "none", "ahead"],
  ["emptied", 3, "foreign", "epoch"],
  ["made", 0, "none", "resolvable"],
  ["made", 1, "none", "ahead"],
  ["made", 0, "foreign", "epoch"],
  ["never", 0, "none", "resolvable"],
  ["never", 1, "none", "ahead"],
  ["never", 0, "foreign", "epoch"],
];

// Spellings that are no cursor (F01, F67), as they stand in a query.
const malformed = [
  "abc",
  "urn:uuid:1",
  "5.0",
  "+5",
  "-1",
  "-0",
  " 5",
  "5 ",
  "00010",
  "01",
  "1e3",
  "0x10",
  "1,5",
  "5,",
  "\u0665",
  "9007199254740992",
  "2147483648000000000",
  "9223372036854775808",
  "18446744073709551615",
  "18446744073709551616",
  "true",
  "null",
  "NaN",
];

describe("cursor verdicts", () => {
  const gateway = sharedGateway();
  const infos = {};

  before(async () => {
    for (const [stream, shape] of Object.entries(streams)) {
      if (!shape) continue;
      await call(gateway, "PUT", at(stream));
      if (shape[0]) await fill(gateway, stream, ...shape);
      infos[stream] = await streamInfo(gateway, stream);
    }
  });

  const epochOf = (stream, which) => (which === "own" ? infos[stream].epoch : which === "foreign" ? foreign : undefined);

  /** The GapSignal that the contract asks for, its members in the written order. */
  function expectedGap(stream, reason) {
    const info = infos[stream];
    const gap = { "@type": "GapSignal", stream };
    if (info?.oldestAvailable) gap.oldestAvailable = info.oldestAvailable;
    gap.head = info?.head ?? 0;
    if (info) gap.epoch = info.epoch;
    gap.reason = reason;
    return gap;
  }

  // Each transport says {gap} or {first}: the first event, or null where it waits.
  const transports = {
    async "long-poll"(stream, after, epoch) {
      const named = epoch ? `&epoch=${epoch}` : "";
      const answer = await call(gateway, "GET", at(stream, `/events?after=${after}&wait=1${named}`));
      if (answer.status === 409) return assertGapAnswer(answer);
      assert.equal(answer.status, 200, answer.text);
      return { first: answer.json.events[0]?.sequence ?? null };
    },

    async "SSE with ?after"(stream, after, epoch) {
      return sse(at(stream, `/events?after=${after}${epoch ? `&epoch=${epoch}` : ""}`), {}, stream);
    },

    async "SSE with Last-Event-ID"(stream, after, epoch) {
      return sse(at(stream, "/events"), { "last-event-id": epoch ? `${after}.${epoch}` : `${after}` }, stream);
    },

    async "SSE with ?lastEventId"(stream, after, epoch) {
      return sse(at(stream, `/events?lastEventId=${epoch ? `${after}.${epoch}` : after}`), {}, stream);
    },

    async "SSE with ?gap=event"(stream, after, epoch) {
      const path = at(stream, `/events?gap=event&after=${after}${epoch ? `&epoch=${epoch}` : ""}`);
      return withSse(gateway, path, {}, async (events) => {
        assert.equal(events.status, 200);
        for (;;) {
          const event = await events.next();
          if (event.event === "gap") {
            assert.equal(await events.ended, "end");
            assert.equal(event.data.includes("\n"), false);
            return { gap: JSON.parse(event.data), text: event.data };
          }
          const outcome = firstOf(event, stream);
          if (outcome) return outcome;
        }
      });
    },

    async "SSE over several streams"(stream, after, epoch) {
      const id = new URLSearchParams([[stream, epoch ? `${after}.${epoch}` : `${after}`]]).toString();
      const other = stream === "whole" ? "one" : "whole";
      return sse(`/events?stream=${other}&stream=${stream}`, { "last-event-id": id }, stream);
    },

    async WebSocket(stream, after, epoch) {
      return withWs(
        gateway,
        "",
        async (socket) => {
          socket.send({ "@type": "SubscriptionRequest", stream, after, epoch, ref: 1 });
          const answer = await socket.next();
          if (answer["@type"] === "GapSignal") {
            const { ref, ...gap } = answer;
            assert.equal(ref, 1);
            return { gap, text: answer.text.replace(/,"ref":1\}$/, "}") };
          }
          assert.equal(answer["@type"], "Subscribed", answer.text);
          const next = await socket.next();
          if (next["@type"] === "ReplicationFrame") return { first: next.cursor };
          assert.equal(next["@type"], "CaughtUp", next.text);
          return { first: null };
        },
        { keepText: true },
      );
    },

    async "WebSocket by query"(stream, after, epoch) {
      const query = `?stream=${stream}&after=${after}${epoch ? `&epoch=${epoch}` : ""}`;
      return withWs(
        gateway,
        query,
        async (socket) => {
          const info = infos[stream];
          if (after === (info?.head ?? 0) && (!epoch || epoch === info?.epoch)) {
            // It waits, as its answer to a live subscription behind it says.
            const answer = await socket.ask({ stream: "behind" });
            assert.equal(answer["@type"], "Subscribed");
            await socket.typed("CaughtUp");
            assert.deepEqual(socket.inbox.peek(), []);
            return { first: null };
          }
          const answer = await socket.next();
          if (answer["@type"] === "GapSignal") return { gap: answer, text: answer.text };
          return { first: answer.cursor };
        },
        { keepText: true },
      );
    },
  };

  function assertGapAnswer(answer) {
    assert.match(answer.headers["content-type"], /^application\/json\b/);
    assert.match(answer.headers["cache-control"], /no-store/);
    return { gap: answer.json, text: answer.text.trim() };
  }

  async function sse(path, headers, stream) {
    const events = await openSse(gateway, path, { headers });
    try {
      if (events.status === 409) {
        await events.ended;
        return assertGapAnswer({ headers: events.headers, json: events.json, text: events.text });
      }
      assert.equal(events.status, 200);
      for (;;) {
        const outcome = firstOf(await events.next(), stream);
        if (outcome) return outcome;
      }
    } finally {
      events.close();
    }
  }

  // Where an event stream begins: its position says that it was accepted. Whether an event follows is known from the table.
  function firstOf(event, stream) {
    if (event.event === "position") {
      const body = JSON.parse(event.data);
      const position = body.cursor ?? body.cursors[stream];
      const head = infos[stream]?.head ?? 0;
      return position < head ? null : { first: null };
    }
    const frame = JSON.parse(event.data);
    return frame.event?.streamId === stream ? { first: frame.cursor } : null;
  }

  for (const [name, ask] of Object.entries(transports)) {
    test(`${name} gives each position its verdict`, async () => {
      for (const [stream, after, which, verdict, first] of table) {
        const row = `${name}: ${stream} after ${after}, epoch ${which}`;
        const outcome = await ask(stream, after, epochOf(stream, which));

        if (verdict === "resolvable") {
          assert.deepEqual(outcome, { first: first ?? null }, row);
        } else {
          const expected = expectedGap(stream, verdict);
          assert.deepEqual(outcome.gap, expected, row);
          assert.equal(outcome.text, JSON.stringify(expected), `${row}: member order`);
        }
      }
    });
  }

  test("a read never fails for its cursor, but for a foreign epoch", async () => {
    for (const [stream, after, which, verdict] of table) {
      const epoch = epochOf(stream, which);
      const answer = await call(gateway, "GET", at(stream, `/events?after=${after}${epoch ? `&epoch=${epoch}` : ""}`));
      const row = `${stream} after ${after}, epoch ${which}: ${answer.text}`;

      if (stream === "never") {
        assert.equal(answer.status, which === "foreign" ? answer.status : 404, row);
        assert.ok([404, 409].includes(answer.status), row);
      } else if (verdict === "epoch") {
        assert.deepEqual(assertGapAnswer(answer).gap, expectedGap(stream, "epoch"), row);
        assert.equal(answer.status, 409, row);
      } else {
        const { head, oldestAvailable } = infos[stream];
        const begin = Math.max(after, (oldestAvailable ?? head + 1) - 1);
        assert.equal(answer.status, 200, row);
        assertDense(answer.json.events.map((event) => event.sequence), begin + 1, Math.max(head, begin), row);
        assert.equal(answer.json.next, Math.max(after, head), row);
      }
    }
  });

  test("NDJSON refuses a foreign epoch as a page does", async () => {
    const answer = await call(gateway, "GET", at("whole", `/events?after=0&epoch=${foreign}`), {
      headers: { accept: "application/x-ndjson" },
    });

    assert.equal(answer.status, 409);
    assert.deepEqual(answer.json, expectedGap("whole", "epoch"));
  });

  test("a malformed cursor is a 400 that names its parameter, on every door", async () => {
    for (const text of malformed) {
      const value = encodeURIComponent(text);
      const row = JSON.stringify(text);
      for (const path of [
        at("whole", `/events?after=${value}`),
        at("whole", `/events?after=${value}&wait=1`),
        at("never", `/events?after=${value}&wait=1`),
      ]) {
        assert.match(assertProblem(await call(gateway, "GET", path), 400, "invalid-cursor", row).detail, /after/, row);
      }
      const ndjson = await call(gateway, "GET", at("whole", `/events?after=${value}`), { headers: { accept: "application/x-ndjson" } });
      assertProblem(ndjson, 400, "invalid-cursor", row);
      for (const path of [
        at("whole", `/events?after=${value}`),
        at("whole", `/events?lastEventId=${value}`),
        at("whole", `/events?Last-Event-ID=${value}`),
        `/events?stream=whole&after=${value}`,
        `/events?stream=whole&stream=one&lastEventId=${encodeURIComponent(`whole=${value}`)}`,
      ]) {
        const answer = await call(gateway, "GET", path, { headers: { accept: "text/event-stream" } });
        assertProblem(answer, 400, "invalid-cursor", `${path} ${row}`);
      }
      // A header's value loses the blanks around it, and is bytes.
      if (text === text.trim() && /^[\x21-\x7e]+$/.test(text)) {
        const answer = await call(gateway, "GET", at("whole", "/events"), {
          headers: { accept: "text/event-stream", "last-event-id": text },
        });
        assertProblem(answer, 400, "invalid-cursor", row);
      }
      const shake = await call(gateway, "GET", `/replication?stream=whole&after=${value}`, {
        headers: {
          connection: "Upgrade",
          upgrade: "websocket",
          "sec-websocket-version": "13",
          "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
        },
        fresh: true,
      });
      assertProblem(shake, 400, "invalid-cursor", row);
      const trim = await call(gateway, "DELETE", at("whole", `/events?through=${value}`));
      assertProblem(trim, 400, "invalid-cursor", row);
    }
    assert.equal((await streamInfo(gateway, "whole")).count, 5, "nothing was trimmed");
  });

  test("over WebSocket a cursor is a JSON integer literal and nothing else", async () => {
    await withWs(gateway, "", async (socket) => {
      const literals = ['"5"', '""', '"abc"', "5.0", "1e3", "-1", "-0", "1.5", "9007199254740992", "18446744073709551616", "null", "true", "[5]", "{}"];
      for (const literal of literals) {
        socket.send(`{"@type":"SubscriptionRequest","stream":"whole","after":${literal},"ref":"r"}`);
        const answer = await socket.next();

        assert.equal(answer["@type"], "Error", `${literal}: ${JSON.stringify(answer)}`);
        assert.equal(answer.type, "invalid-cursor", literal);
        assert.match(answer.detail, /after/, literal);
        assert.equal(answer.ref, "r");
      }
      assert.equal((await socket.ask({ stream: "whole", after: 0 }))["@type"], "Subscribed", "the connection still serves");
    });
  });

  test("an empty cursor is a 400 as a parameter and nothing as Last-Event-ID", async () => {
    assertProblem(await call(gateway, "GET", at("whole", "/events?after=")), 400, "invalid-cursor");
    const headers = { accept: "text/event-stream" };
    assertProblem(await call(gateway, "GET", at("whole", "/events?after="), { headers }), 400, "invalid-cursor");
    for (const [path, more] of [
      [at("whole", "/events?after=3"), { "last-event-id": "" }],
      [at("whole", "/events?after=3&lastEventId="), {}],
      [at("whole", "/events?after=3&Last-Event-ID="), {}],
    ]) {
      await withSse(gateway, path, { headers: more }, async (stream) => {
        assert.equal(stream.status, 200, path);
        assert.equal((await stream.message()).frame.cursor, 4, path);
      });
    }
  });

  test("a bad epoch in an id is a 400, not a guess", async () => {
    for (const id of ["3.", "3.xyz", "3.0123456789ABCDEF", "3.0123456789abcde", `3.${foreign}0`, `.${foreign}`, `3.${foreign}.1`]) {
      const answer = await call(gateway, "GET", at("whole", "/events"), {
        headers: { accept: "text/event-stream", "last-event-id": id },
      });
      assertProblem(answer, 400, "invalid-cursor", id);
    }
  });

  test("whoever obeys a gap reads on without a hole, on every transport", async () => {
    const goOn = async (gap) => (gap.oldestAvailable === undefined ? gap.head : gap.oldestAvailable - 1);
    await fill(gateway, "obeyed", 8, 5);

    const polled = await call(gateway, "GET", at("obeyed", "/events?after=2&wait=1"));
    const page = await call(gateway, "GET", at("obeyed", `/events?after=${await goOn(polled.json)}&wait=1`));
    const refused = await call(gateway, "GET", at("obeyed", "/events?after=2"), { headers: { accept: "text/event-stream" } });
    const bySse = await withSse(gateway, at("obeyed", `/events?after=${await goOn(refused.json)}`), {}, (stream) => stream.messages(3));
    const bySocket = await withWs(gateway, "?stream=obeyed&after=2", async (socket) => {
      const gap = await socket.typed("GapSignal");
      socket.send({ stream: "obeyed", after: await goOn(gap) });
      return socket.frames("obeyed", 3);
    });

    assertDense(page.json.events.map((event) => event.sequence), 6, 8);
    assertDense(bySse.map(({ frame }) => frame.cursor), 6, 8);
    assertDense(bySocket.map((frame) => frame.cursor), 6, 8);
  });

  test("after a fully trimmed stream's gap the head is where to go on", async () => {
    await fill(gateway, "refilled", 4, 4);

    const gap = (await call(gateway, "GET", at("refilled", "/events?after=1&wait=1"))).json;
    await withSse(gateway, at("refilled", `/events?after=${gap.head}`), {}, async (stream) => {
      await publish(gateway, "refilled", { n: 5 });
      assert.equal((await stream.message()).frame.cursor, 5);
    });

    assert.equal(gap.oldestAvailable, undefined);
    assert.equal(gap.head, 4);
  });

  test("of several streams on one event stream the first that is not resolvable is told", async () => {
    const ask = (query) => call(gateway, "GET", `/events?${query}`, { headers: { accept: "text/event-stream" } });

    const second = await ask("stream=whole&stream=cut&after=1");
    const first = await ask("stream=emptied&stream=cut&after=1");
    const events = await openSse(gateway, "/events?stream=whole&stream=cut&after=1&gap=event");
    const told = await events.named("gap");

    assert.equal(second.status, 409);
    assert.deepEqual(second.json, expectedGap("cut", "trimmed"));
    assert.deepEqual(first.json, expectedGap("emptied", "trimmed"));
    assert.deepEqual(told.body, expectedGap("cut", "trimmed"));
    assert.equal(await events.ended, "end");
  });

  test("an id over several streams leaves out none of the wrong ones", async () => {
    const ask = (id) =>
      call(gateway, "GET", "/events?stream=whole&stream=one&after=0", { headers: { accept: "text/event-stream", "last-event-id": id } });

    assertProblem(await ask("whole=2&other=1"), 400, "invalid-cursor");
    assertProblem(await ask("whole=2&whole=3"), 400, "invalid-cursor");
    assertProblem(await ask("whole"), 400, "invalid-cursor");
    assertProblem(await ask("2"), 400, "invalid-cursor");
    await withSse(gateway, "/events?stream=whole&stream=one&after=0", { headers: { "last-event-id": "whole=4" } }, async (stream) => {
      const frames = (await stream.messages(2)).map(({ frame }) => [frame.event.streamId, frame.cursor]);
      assert.deepEqual(frames.sort(), [["one", 1], ["whole", 5]], "the one left out starts by the options");
    });
  });

  test("a resume near the head of a long log finds exactly the one event", async () => {
    await fill(gateway, "deep", 10_001);

    const page = await call(gateway, "GET", at("deep", "/events?after=10000"));
    const sse = await withSse(gateway, at("deep", "/events"), { headers: { "last-event-id": "10000" } }, (stream) => stream.message());
    const socket = await withWs(gateway, "?stream=deep&after=10000", (client) => client.frame("deep"));

    assert.deepEqual(page.json.events.map((event) => event.sequence), [10_001]);
    assert.equal(sse.frame.cursor, 10_001);
    assert.equal(socket.cursor, 10_001);
  });
});
