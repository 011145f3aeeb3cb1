// Replication over WebSocket: every message and its answer, and the frames below them, byte by byte where it matters.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { sharedGateway, startGateway } from "./support/gateway.mjs";
import { assertDense, at, call, fill, publish, publishBatch, readAll, streamInfo, subscriptionCount } from "./support/http.mjs";
import { clientFrame, hex, opcodes, RawWebSocket } from "./support/raw.mjs";
import { scaled } from "./support/scale.mjs";
import { until, within } from "./support/wait.mjs";
import { WsClient, withWs } from "./support/websocket.mjs";

const epochPattern = /^[0-9a-f]{16}$/;

describe("replication over WebSocket", () => {
  const gateway = sharedGateway();
  /** Runs with a fresh client. */
  const withClient = (use, query = "", options = {}) => withWs(gateway, query, use, { keepText: true, ...options });

  /** Proves that nothing else is on its way: the next message is the answer to this one. */
  async function assertQuiet(socket) {
    socket.send({ "@type": "Unsubscribe", stream: "never subscribed", ref: "quiet?" });
    const next = await socket.next();
    assert.equal(next.ref, "quiet?", `expected nothing, got ${JSON.stringify(next)}`);
  }

  /** Subscribes live and waits until it is level, so that nothing of it is on its way. */
  async function subscribe(socket, message) {
    socket.send({ ...message, ref: "level" });
    const answer = await socket.take((one) => one.ref === "level", "Subscribed");
    assert.equal(answer["@type"], "Subscribed", JSON.stringify(answer));
    await socket.take((one) => one.ref === "level" && one["@type"] === "CaughtUp", "CaughtUp");
    return answer;
  }

  describe("messages", () => {
    test("a frame has its members in the written order, and cursor is the event's sequence", async () => {
      await publish(gateway, "frames", '{"a": 1}');
      await publish(gateway, "frames", "x", { query: "?key=k&snapshot=true", headers: { "content-type": "text/plain" } });

      const [plain, full] = await withClient((socket) => socket.frames("frames", 2), "?stream=frames&after=0");

      assert.match(
        plain.text,
        /^\{"@type":"ReplicationFrame","cursor":1,"event":\{"@type":"EventEnvelope","streamId":"frames","sequence":1,"isSnapshot":false,"createdAt":\d+,"payload":\{"a": 1\}\}\}$/,
      );
      assert.match(
        full.text,
        /^\{"@type":"ReplicationFrame","cursor":2,"event":\{"@type":"EventEnvelope","streamId":"frames","sequence":2,"isSnapshot":true,"key":"k","createdAt":\d+,"contentType":"text\/plain","payload":\{"@type":"xsd:base64Binary","@value":"eA=="\}\}\}$/,
      );
    });

    test("without a ref a subscription is answered by its frames alone", async () => {
      await fill(gateway, "no-ref", 2);
      await withClient(async (socket) => {
        socket.send({ "@type": "SubscriptionRequest", stream: "no-ref", after: 0 });
        assert.equal((await socket.next()).cursor, 1);
        assert.equal((await socket.next()).cursor, 2);
        socket.send({ "@type": "Unsubscribe", stream: "no-ref" });
        socket.send({ "@type": "Publish", stream: "no-ref", payload: 3 });
        socket.send({ "@type": "SaveOffset", stream: "no-ref", consumer: "c", offset: 1 });
        await assertQuiet(socket);
      });
      assert.equal((await streamInfo(gateway, "no-ref")).head, 3);
      assert.equal((await call(gateway, "GET", at("no-ref", "/consumers/c"))).json.offset, 1);
    });

    test("with a ref it is Subscribed, the frames, then CaughtUp once", async () => {
      await fill(gateway, "with-ref", 3);
      const { epoch } = await streamInfo(gateway, "with-ref");
      await withClient(async (socket) => {
        socket.send({ "@type": "SubscriptionRequest", stream: "with-ref", after: 1, ref: "s" });
        const messages = [];
        while (messages.length < 4) messages.push(await socket.next());
        await publish(gateway, "with-ref", { n: 4 });
        messages.push(await socket.next());

        assert.deepEqual(messages[0], { "@type": "Subscribed", stream: "with-ref", epoch, after: 1, head: 3, ref: "s" });
        assert.deepEqual(messages.slice(1, 3).map((message) => message.cursor), [2, 3]);
        assert.deepEqual(messages[3], { "@type": "CaughtUp", stream: "with-ref", cursor: 3, ref: "s" });
        assert.equal(messages[4].cursor, 4);
        await assertQuiet(socket);
      });
    });

    test("whoever starts at the head is caught up at once", async () => {
      await fill(gateway, "at-head", 2);
      await withClient(async (socket) => {
        socket.send({ stream: "at-head", after: 2, ref: 1 });
        assert.equal((await socket.next())["@type"], "Subscribed");
        assert.deepEqual(await socket.next(), { "@type": "CaughtUp", stream: "at-head", cursor: 2, ref: 1 });
      });
    });

    test("a stream that does not exist yet can be subscribed to and delivers from its first event", async () => {
      await withClient(async (socket) => {
        const subscribed = await subscribe(socket, { stream: "unborn" });
        await publish(gateway, "unborn", { n: 1 });
        const frame = await socket.frame("unborn");

        assert.deepEqual({ ...subscribed, ref: 0 }, { "@type": "Subscribed", stream: "unborn", after: 0, head: 0, ref: 0 });
        assert.equal(frame.cursor, 1);
      });
    });

    test("no start is a live tail", async () => {
      await fill(gateway, "tail", 3);
      await withClient(async (socket) => {
        const subscribed = await subscribe(socket, { stream: "tail" });
        await publish(gateway, "tail", { n: 4 });

        assert.deepEqual([subscribed.after, subscribed.head], [3, 3]);
        assert.match(subscribed.epoch, epochPattern);
        assert.equal((await socket.frame("tail")).cursor, 4);
      });
    });

    test("last, snapshot and consumer are starts too", async () => {
      for (let n = 1; n <= 6; n += 1) {
        await publish(gateway, "starts", { n }, { query: `?key=${n % 2 ? "odd" : "even"}${n === 4 ? "&snapshot=true" : ""}` });
      }
      await call(gateway, "PUT", at("starts", "/consumers/c"), { body: '{"offset":5}' });
      for (const [start, first] of [
        [{ last: 2 }, 5],
        [{ last: 100 }, 1],
        [{ last: 2, key: "odd" }, 3],
        [{ from: "snapshot" }, 4],
        [{ consumer: "c" }, 6],
        [{ consumer: "new" }, 1],
        [{ after: 0, key: "even" }, 2],
      ]) {
        await withClient(async (socket) => {
          socket.send({ stream: "starts", ...start });
          assert.equal((await socket.frame("starts")).cursor, first, JSON.stringify(start));
        });
      }
    });

    test("a key filters, and the others leave holes", async () => {
      for (let n = 1; n <= 9; n += 1) await publish(gateway, "keyed", { n }, { query: n % 3 ? "?key=no" : "?key=yes" });
      await withClient(async (socket) => {
        socket.send({ stream: "keyed", after: 0, key: "yes", ref: 1 });
        assert.equal((await socket.next())["@type"], "Subscribed");
        const frames = await socket.frames("keyed", 3);
        const caughtUp = await socket.typed("CaughtUp");
        await publish(gateway, "keyed", {}, { query: "?key=no" });
        await publish(gateway, "keyed", {}, { query: "?key=yes" });

        assert.deepEqual(frames.map((frame) => frame.cursor), [3, 6, 9]);
        assert.equal(caughtUp.cursor, 9);
        assert.equal((await socket.frame("keyed")).cursor, 11);
        await assertQuiet(socket);
      });
    });

    test("a ref is a string or a number and comes back as it was", async () => {
      await withClient(async (socket) => {
        for (const ref of ['"x"', '""', "0", "7", "-1", "1.5", "9007199254740991", '"caf\u00e9 \\"q\\" \\\\ \\u0001"']) {
          socket.send(`{"@type":"Unsubscribe","stream":"refs","ref":${ref}}`);
          const answer = await socket.next();
          assert.equal(answer["@type"], "Unsubscribed", `${ref}: ${answer.text}`);
          assert.deepEqual(answer.ref, JSON.parse(ref));
        }
        for (const ref of ["true", "false", "null", "[]", "[1]", "{}", '{"a":1}']) {
          socket.send(`{"@type":"Unsubscribe","stream":"refs","ref":${ref}}`);
          const answer = await socket.next();
          assert.equal(answer["@type"], "Error", `${ref}: ${answer.text}`);
          assert.ok(!("ref" in answer), answer.text);
        }
      });
    });

    test("Unsubscribe ends a subscription, and is answered where there was none", async () => {
      await fill(gateway, "unsub", 1);
      await withClient(async (socket) => {
        await subscribe(socket, { stream: "unsub" });
        await subscribe(socket, { stream: "marker" });
        assert.deepEqual(await socket.ask({ "@type": "Unsubscribe", stream: "none" }).then(({ ref, ...rest }) => rest), {
          "@type": "Unsubscribed",
          stream: "none",
        });
        assert.equal((await socket.ask({ "@type": "Unsubscribe", stream: "unsub" }))["@type"], "Unsubscribed");
        await publish(gateway, "unsub", { after: "unsubscribe" });
        await publish(gateway, "marker", { behind: "it" });

        await socket.frame("marker");
        const seen = socket.inbox.peek().filter((message) => message.event?.streamId === "unsub");
        assert.deepEqual(seen, []);
        assert.equal(await subscriptionCount(gateway, "unsub"), 0);
      });
    });

    test("a second subscription to a stream replaces the first", async () => {
      await fill(gateway, "twice", 3);
      await withClient(async (socket) => {
        socket.send({ stream: "twice", after: 0, ref: "first" });
        await socket.take((message) => message["@type"] === "CaughtUp", "CaughtUp");
        socket.send({ stream: "twice", after: 1, ref: "second" });
        await socket.take((message) => message.ref === "second" && message["@type"] === "CaughtUp", "CaughtUp again");
        await publish(gateway, "twice", { n: 4 });

        const frames = await socket.frames("twice", 6);
        assert.deepEqual(frames.map((frame) => frame.cursor), [1, 2, 3, 2, 3, 4]);
        await assertQuietBut(socket);
        assert.equal(await subscriptionCount(gateway, "twice"), 1);
      });
    });

    async function assertQuietBut(socket) {
      await socket.ask({ "@type": "Unsubscribe", stream: "nothing" });
      assert.deepEqual(socket.inbox.peek().filter((message) => message["@type"] === "ReplicationFrame"), []);
    }

    test("a replacement that meets a gap ends the first one too", async () => {
      await fill(gateway, "replaced", 4, 2);
      await withClient(async (socket) => {
        await subscribe(socket, { stream: "replaced" });
        const gap = await socket.ask({ stream: "replaced", after: 0 });
        assert.deepEqual([gap["@type"], gap.reason, gap.oldestAvailable], ["GapSignal", "trimmed", 3]);
        await publish(gateway, "replaced", {});
        assert.equal(await subscriptionCount(gateway, "replaced"), 0);
        await assertQuiet(socket);
      });
    });

    test("Publish stores what its payload says, byte for byte, and answers with the number", async () => {
      await withClient(async (socket) => {
        const first = await socket.ask({ "@type": "Publish", stream: "pub", payload: { n: 1 }, key: "k", isSnapshot: true });
        socket.send('{"@type":"Publish","stream":"pub","payload":{"n":1.0,  "n":2},"ref":9}');
        const second = await socket.next();
        const linked = await socket.ask({ "@type": "Publish", stream: "pub", payload: { a: 1 }, contentType: "application/ld+json" });
        const named = await socket.ask({ "@type": "Publish", stream: "pub", payload: [], contentType: "application/problem+json" });

        assert.deepEqual({ ...first, ref: 0 }, { "@type": "Published", stream: "pub", sequence: 1, ref: 0 });
        assert.deepEqual([second.sequence, second.ref], [2, 9]);
        assert.deepEqual([linked.sequence, named.sequence], [3, 4]);
      });
      const [one, two, three, four] = await readAll(gateway, "pub");
      assert.deepEqual([one.key, one.isSnapshot, one.payload], ["k", true, { n: 1 }]);
      assert.ok(two.line.endsWith('"payload":{"n":1.0,  "n":2}}'), two.line);
      assert.equal(three.contentType, "application/ld+json");
      assert.equal(four.contentType, "application/problem+json");
    });

    test("SaveOffset saves as PUT does", async () => {
      await fill(gateway, "save", 5);
      await withClient(async (socket) => {
        const save = (offset) => socket.ask({ "@type": "SaveOffset", stream: "save", consumer: "c", offset });

        const first = await save(3);
        assert.deepEqual({ ...first, ref: 0 }, { "@type": "OffsetSaved", stream: "save", consumer: "c", offset: 3, advanced: true, ref: 0 });
        const back = await save(2);
        assert.deepEqual([back.offset, back.advanced], [3, false]);
        for (const bad of [6, -1, 1.5, "4", null, true]) {
          const answer = await save(bad);
          assert.deepEqual([answer["@type"], answer.type], ["Error", "invalid-cursor"], JSON.stringify(bad));
        }
        const unknown = await socket.ask({ "@type": "SaveOffset", stream: "save-never", consumer: "c", offset: 0 });
        assert.deepEqual([unknown["@type"], unknown.type], ["Error", "unknown-stream"]);
      });
      assert.equal((await call(gateway, "GET", at("save", "/consumers/c"))).json.offset, 3);
    });

    test("Authenticate is accepted on an open server, whatever the token", async () => {
      await withClient(async (socket) => {
        assert.deepEqual(await socket.ask({ "@type": "Authenticate", token: "anything" }).then(({ ref, ...rest }) => rest), {
          "@type": "Authenticated",
        });
      });
    });

    test("an error says what is wrong and leaves the connection as it was", async () => {
      await fill(gateway, "errors", 2);
      await withClient(async (socket) => {
        await subscribe(socket, { stream: "errors" });
        for (const [text, types] of [
          ["", ["invalid-request"]],
          ["hello", ["invalid-request"]],
          ["[]", ["invalid-request"]],
          ['"text"', ["invalid-request"]],
          ["null", ["invalid-request"]],
          ["{", ["invalid-request"]],
          ['{"stream":"errors"}}', ["invalid-request"]],
          ['{"stream":"errors",}', ["invalid-request"]],
          ['{"@type":"Nonsense","stream":"errors"}', ["invalid-request"]],
          ['{"@type":7,"stream":"errors"}', ["invalid-request"]],
          ['{"@type":"ReplicationFrame","cursor":1}', ["invalid-request"]],
          ["{}", ["invalid-parameter"]],
          ['{"@type":"SubscriptionRequest"}', ["invalid-parameter"]],
          ['{"stream":7}', ["invalid-parameter", "invalid-name"]],
          ['{"stream":null}', ["invalid-parameter", "invalid-name"]],
          ['{"stream":""}', ["invalid-name"]],
          ['{"stream":"errors","stream":"other"}', ["invalid-parameter", "invalid-request"]],
          ['{"stream":"errors","after":"x"}', ["invalid-cursor"]],
          ['{"stream":"errors","aftr":0}', ["invalid-parameter"]],
          ['{"stream":"errors","last":-1}', ["invalid-parameter"]],
          ['{"stream":"errors","last":"3"}', ["invalid-parameter"]],
          ['{"stream":"errors","from":"now"}', ["invalid-parameter"]],
          ['{"stream":"errors","key":""}', ["invalid-name"]],
          ['{"stream":"errors","key":3}', ["invalid-parameter", "invalid-name"]],
          ['{"stream":"errors","epoch":"xyz"}', ["invalid-parameter"]],
          ['{"stream":"errors","after":0,"from":"snapshot"}', ["invalid-parameter"]],
          ['{"@type":"Publish","stream":"errors"}', ["invalid-parameter", "invalid-payload"]],
          ['{"@type":"Publish","payload":1}', ["invalid-parameter"]],
          ['{"@type":"Publish","stream":"errors","payload":1,"isSnapshot":"yes"}', ["invalid-parameter"]],
          ['{"@type":"Publish","stream":"errors","payload":1,"contentType":"application/ld+json"}', ["invalid-payload"]],
          ['{"@type":"Publish","stream":"errors","payload":"x","contentType":"text/plain"}', ["unsupported-media-type"]],
          ['{"@type":"Publish","stream":"errors","payload":1,"contentType":"json"}', ["unsupported-media-type"]],
          ['{"@type":"Publish","stream":"errors","payload":1,"idempotencyKey":7}', ["invalid-parameter"]],
          ['{"@type":"Publish","stream":"errors","payload":1,"after":7}', ["invalid-parameter"]],
          ['{"@type":"SaveOffset","stream":"errors","offset":1}', ["invalid-parameter"]],
          ['{"@type":"SaveOffset","stream":"errors","consumer":"c"}', ["invalid-parameter", "invalid-cursor"]],
          ['{"@type":"Authenticate"}', ["invalid-parameter"]],
          ['{"@type":"Unsubscribe"}', ["invalid-parameter"]],
        ]) {
          socket.send(text);
          const answer = await socket.next();
          assert.equal(answer["@type"], "Error", `${text}: ${answer.text}`);
          assert.ok(types.includes(answer.type), `${text}: ${answer.text}`);
          assert.ok(answer.detail.length > 0, text);
          assert.ok(!("ref" in answer), text);
        }
        const withRef = await socket.ask({ "@type": "Nonsense" });
        assert.deepEqual([withRef["@type"], withRef.type], ["Error", "invalid-request"]);
        assert.equal((await streamInfo(gateway, "errors")).head, 2);
        await publish(gateway, "errors", { n: 3 });
        assert.equal((await socket.next()).cursor, 3, "the first subscription lives");
      });
    });

    test("a missing @type is a SubscriptionRequest", async () => {
      await fill(gateway, "untyped", 1);
      await withClient(async (socket) => {
        assert.equal((await socket.ask({ stream: "untyped", after: 0 }))["@type"], "Subscribed");
      });
    });

    test("a gap later leaves the connection, and the stream can be taken up again", async () => {
      await fill(gateway, "gap-live", 5, 3);
      await withClient(async (socket) => {
        await subscribe(socket, { stream: "gap-other" });
        const gap = await socket.ask({ stream: "gap-live", after: 1 });
        socket.send({ stream: "gap-live", after: gap.oldestAvailable - 1 });
        assert.deepEqual((await socket.frames("gap-live", 2)).map((frame) => frame.cursor), [4, 5]);
        await publish(gateway, "gap-other", {});
        assert.equal((await socket.frame("gap-other")).cursor, 1);
      });
    });

    test("one connection carries a hundred subscriptions, each dense", async () => {
      const streams = Array.from({ length: 100 }, (_, i) => `many-${i}`);
      await Promise.all(streams.map((stream, i) => fill(gateway, stream, 1 + (i % 7))));
      await withClient(async (socket) => {
        for (const stream of streams) socket.send({ stream, after: 0 });
        const live = Promise.all(streams.map((stream) => publishBatch(gateway, stream, [1, 2, 3])));
        const expected = streams.reduce((total, _, i) => total + 4 + (i % 7), 0);
        const seen = new Map(streams.map((stream) => [stream, []]));
        for (let i = 0; i < expected; i += 1) {
          const frame = await socket.typed("ReplicationFrame", 30);
          seen.get(frame.event.streamId).push(frame.cursor);
        }
        await live;
        for (const [i, stream] of streams.entries()) assertDense(seen.get(stream), 1, 4 + (i % 7), stream);
        await assertQuiet(socket);
      });
    });
  });

  describe("the handshake", () => {
    test("a query subscribes at once, to several streams too", async () => {
      await fill(gateway, "query-a", 3);
      await fill(gateway, "query/b", 2);
      await withClient(async (socket) => {
        assert.deepEqual((await socket.frames("query-a", 3)).map((frame) => frame.cursor), [1, 2, 3]);
        assert.deepEqual((await socket.frames("query/b", 2)).map((frame) => frame.cursor), [1, 2]);
        await assertQuiet(socket);
      }, "?stream=query-a&stream=query%2Fb&after=0");
      for (const [query, first] of [["last=1", 3], ["from=snapshot", 1], ["consumer=c", 1], ["after=1", 2]]) {
        await withClient(async (socket) => assert.equal((await socket.next()).cursor, first, query), `?stream=query-a&${query}`);
      }
    });

    test("a bad query is refused as an HTTP error", async () => {
      for (const [query, slug] of [
        ["?stream=", "invalid-name"],
        ["?stream=a&after=x", "invalid-cursor"],
        ["?after=1", "invalid-parameter"],
        ["?stream=a&wait=1", "invalid-parameter"],
        ["?stream=a&after=1&last=1", "invalid-parameter"],
        ["?stream=a&stream=a", "invalid-parameter"],
      ]) {
        await assert.rejects(WsClient.open(gateway, query), (error) => {
          assert.equal(error.status, 400, query);
          assert.equal(error.json.type, `/problems/${slug}`, query);
          return true;
        });
      }
    });

    test("a query whose cursor is not resolvable is told by a GapSignal, not by an HTTP error", async () => {
      await fill(gateway, "query-gap", 3, 2);
      await withClient(async (socket) => {
        const gap = await socket.next();
        assert.deepEqual([gap["@type"], gap.reason, gap.oldestAvailable], ["GapSignal", "trimmed", 3]);
        assert.equal((await socket.ask({ stream: "query-gap", after: 2 }))["@type"], "Subscribed");
      }, "?stream=query-gap&after=0");
    });

    test("header values are lists of tokens in any case", async () => {
      const key = { "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==" };
      for (const headers of [
        { Connection: "keep-alive, Upgrade" },
        { Connection: "Upgrade, HTTP2-Settings" },
        { Connection: "upgrade" },
        { Connection: ["keep-alive", "Upgrade"] },
        { Connection: " keep-alive ,\tUPGRADE " },
        { Upgrade: "WebSocket" },
        { Upgrade: "h2c, websocket" },
      ]) {
        const { connection, head } = await RawWebSocket.handshake(gateway, "/replication", { headers: { ...key, ...headers } });
        connection.destroy();
        assert.equal(head.status, 101, JSON.stringify(headers));
        assert.equal(head.headers["sec-websocket-accept"], "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=", JSON.stringify(headers));
      }
      for (const headers of [
        { Connection: "keep-alive" },
        { Connection: "upgraded" },
        { Connection: undefined },
        { Upgrade: "websockets" },
        { Upgrade: undefined },
        { "Sec-WebSocket-Key": undefined },
        { "Sec-WebSocket-Key": "short" },
        { "Sec-WebSocket-Version": "12" },
        { "Sec-WebSocket-Version": undefined },
      ]) {
        const { connection, head } = await RawWebSocket.handshake(gateway, "/replication", { headers: { ...key, ...headers } });
        connection.destroy();
        assert.ok([400, 426].includes(head.status), `${JSON.stringify(headers)}: ${head.status}`);
        assert.match(head.headers["content-type"], /^application\/problem\+json/);
      }
      const { connection, head } = await RawWebSocket.handshake(gateway, "/replication", { headers: { "Sec-WebSocket-Version": "8" } });
      connection.destroy();
      assert.equal(head.status, 426);
      assert.equal(head.headers["sec-websocket-version"], "13");
    });

    test("the first known subprotocol is chosen, an unknown one is no obstacle", async () => {
      for (const [offered, chosen] of [
        [undefined, undefined],
        ["streamld", "streamld"],
        ["other, streamld", "streamld"],
        ["streamld.ld+json, streamld", "streamld.ld+json"],
        ["streamld,streamld.ld+json", "streamld"],
        ["other", undefined],
        [["other", "streamld"], "streamld"],
      ]) {
        const { connection, head } = await RawWebSocket.handshake(gateway, "/replication", { headers: { "Sec-WebSocket-Protocol": offered } });
        connection.destroy();
        assert.equal(head.status, 101, `${offered}`);
        assert.equal(head.headers["sec-websocket-protocol"], chosen, `${offered}`);
      }
    });

    test("an offer of compression never fails the handshake", async () => {
      for (const offer of [
        "permessage-deflate",
        "permessage-deflate; server_max_window_bits=8",
        "permessage-deflate; server_max_window_bits=15",
        "permessage-deflate; client_max_window_bits",
        "permessage-deflate; server_no_context_takeover",
        "permessage-deflate; foo=1",
        "permessage-deflate; server_max_window_bits=10; server_max_window_bits=10",
        "permessage-deflate; server_max_window_bits=99",
        "x-unknown, permessage-deflate; client_no_context_takeover",
        "permessage-deflate; foo, permessage-deflate",
        "=;,",
      ]) {
        const { connection, head } = await RawWebSocket.handshake(gateway, "/replication?stream=offered&after=0", {
          headers: { "Sec-WebSocket-Extensions": offer },
        });
        connection.destroy();
        assert.equal(head.status, 101, offer);
        assert.equal(head.headers["sec-websocket-extensions"], undefined, `${offer}: it is off by default`);
      }
    });

    test("frames right behind the handshake are not lost", async () => {
      await fill(gateway, "eager", 2);
      const socket = await RawWebSocket.open(gateway, "/replication", { tail: clientFrame(opcodes.text, '{"stream":"eager","after":0}') });
      assert.equal((await socket.message()).cursor, 1);
      assert.equal((await socket.message()).cursor, 2);
      socket.destroy();
    });
  });

  describe("frames", () => {
    test("a ping between two fragments is answered and the message stays whole, in one write or byte by byte", async () => {
      await publish(gateway, "t", { n: 1 });
      const bytes = hex("018a000000007b2273747265616d223a 8982000000006869 808e000000002274222c226166746572223a307d");
      for (const send of [
        (socket) => socket.write(bytes),
        (socket) => socket.connection.writeByteByByte(bytes),
      ]) {
        const socket = await RawWebSocket.open(gateway);
        await send(socket);
        const pong = await socket.control(opcodes.pong);
        const message = await socket.message();
        socket.destroy();

        assert.equal(pong.payload.toString(), "hi");
        assert.equal(message.cursor, 1);
      }
    });

    test("a name split inside a character is one name", async () => {
      await publish(gateway, "\u00e9", { n: 1 });
      const socket = await RawWebSocket.open(gateway);
      socket.write(hex("018c000000007b2273747265616d223a22c3 808d00000000a9222c226166746572223a307d"));
      assert.equal((await socket.message()).event.streamId, "\u00e9");
      socket.destroy();
    });

    test("what breaks the protocol is closed with its code, and harms no one else", async () => {
      const bystander = await WsClient.open(gateway, "?stream=bystander");
      await bystander.ask({ "@type": "Unsubscribe", stream: "x" });
      for (const [what, bytes, code] of [
        ["invalid UTF-8", hex("8198000000007b2273747265616d223a22ff222c226166746572223a307d"), 1007],
        ["UTF-8 cut off at the end", clientFrame(opcodes.text, Buffer.from('{"stream":"\u00e9').subarray(0, 12)), 1007],
        ["a binary message", clientFrame(opcodes.binary, '{"stream":"t"}'), 1003],
        ["a fragmented ping", clientFrame(opcodes.ping, "x", { isFinal: false }), 1002],
        ["a ping of 126 bytes", clientFrame(opcodes.ping, "x".repeat(126)), 1002],
        ["a continuation of nothing", clientFrame(opcodes.continuation, "x"), 1002],
        ["a start inside a message", Buffer.concat([clientFrame(opcodes.text, "{", { isFinal: false }), clientFrame(opcodes.text, "}")]), 1002],
        ["RSV1 without agreement", hex("c198000000007b2273747265616d223a2274222c226166746572223a307d"), 1002],
        ["RSV2", clientFrame(opcodes.text, "{}", { rsv: 2 }), 1002],
        ["RSV3", clientFrame(opcodes.text, "{}", { rsv: 1 }), 1002],
        ["an unmasked frame", clientFrame(opcodes.text, "{}", { mask: false }), 1002],
        ["opcode 3", clientFrame(3, "x"), 1002],
        ["opcode 11", clientFrame(11, "x"), 1002],
        ["a close of one byte", clientFrame(opcodes.close, "x"), 1002],
        ["a close with code 1005", clientFrame(opcodes.close, hex("03ed")), 1002],
      ]) {
        const socket = await RawWebSocket.open(gateway);
        socket.write(bytes);
        assert.equal(await socket.closeCode(), code, what);
        socket.destroy();
      }
      await publish(gateway, "bystander", {});
      assert.equal((await bystander.frame("bystander")).cursor, 1);
      bystander.terminate();
    });

    test("a length of 2^63 is refused without a byte of it", async () => {
      for (const length of ["7fffffffffffffff", "ffffffffffffffff", "0000000100000000"]) {
        const socket = await RawWebSocket.open(gateway);
        socket.write(hex(`81ff${length}00000000`));
        assert.ok([1002, 1009].includes(await socket.closeCode()), length);
        socket.destroy();
      }
    });

    test("many fragments over the limit together are 1009", async () => {
      const socket = await RawWebSocket.open(gateway);
      const part = "x".repeat(60_000);
      for (let i = 0; i < 30; i += 1) {
        socket.write(clientFrame(i === 0 ? opcodes.text : opcodes.continuation, part, { isFinal: false }));
      }
      assert.equal(await socket.closeCode(), 1009);
      socket.destroy();
    });

    test("a close is answered with its code", async () => {
      for (const [payload, ...codes] of [[hex("03e8"), 1000], [hex("03e9"), 1001], [hex("0fa0"), 4000], ["", 1005, 1000]]) {
        const socket = await RawWebSocket.open(gateway);
        socket.write(clientFrame(opcodes.close, payload));
        const code = await socket.closeCode();
        assert.ok(codes.includes(code), `${codes}: ${code}`);
        await until(() => socket.frames.isEnded, "the end of the connection");
        socket.destroy();
      }
    });

    test("a storm of pings while events pour in is answered in order and lands in no frame", async () => {
      const count = scaled(5000, 1500);
      const socket = await RawWebSocket.open(gateway, "/replication?stream=storm&after=0");
      const other = "churned";
      await fill(gateway, other, 20);
      const writers = (async () => {
        for (let sent = 0; sent < count; sent += 250) {
          await publishBatch(gateway, "storm", Array.from({ length: 250 }, (_, i) => ({ n: sent + i + 1, pad: "x".repeat(i % 200) })));
        }
      })();
      const pings = count / 5;
      for (let i = 0; i < pings; i += 1) {
        socket.write(clientFrame(opcodes.ping, `ping ${i}`));
        if (i % 10 === 0) socket.send({ stream: other, after: i % 20 });
        if (i % 10 === 5) socket.send({ "@type": "Unsubscribe", stream: other, ref: i });
        if (i % 20 === 0) await new Promise(setImmediate);
      }
      await writers;

      let expected = 1;
      let pongs = 0;
      let previous = 0;
      while (expected <= count || pongs < pings) {
        const frame = await socket.next("a frame of the storm", 30);
        if (frame.opcode === opcodes.pong) {
          assert.equal(frame.payload.toString(), `ping ${pongs}`);
          pongs += 1;
        } else if (frame.opcode === opcodes.text) {
          const { json } = frame;
          if (json.event?.streamId === "storm") {
            assert.equal(json.cursor, expected);
            assert.equal(json.event.payload.n, expected);
            expected += 1;
          } else if (json.event?.streamId === other) {
            assert.ok(json.cursor === previous + 1 || json.cursor % 10 === 1 || previous === 0, `${previous} then ${json.cursor}`);
            previous = json.cursor;
          } else {
            assert.equal(json["@type"], "Unsubscribed", frame.text);
          }
        }
      }
      socket.destroy();
    });
  });

  describe("streamld.ld+json", () => {
    test("every message is a JSON-LD document of its own", async () => {
      await publish(gateway, "ld", '{"a":1}');
      await publish(gateway, "ld", '{"@context":{"b":"urn:b"},"b":2}', { headers: { "content-type": "application/ld+json" } });
      await publish(gateway, "ld", "x", { headers: { "content-type": "text/plain" } });
      await fill(gateway, "ld-gap", 2, 1);
      await withClient(
        async (socket) => {
          const messages = [];
          socket.send({ stream: "ld", after: 0, ref: 1 });
          while (messages.length < 5) messages.push(await socket.next());
          for (const message of [
            { "@type": "Unsubscribe", stream: "ld" },
            { "@type": "Publish", stream: "ld", payload: 1 },
            { "@type": "SaveOffset", stream: "ld", consumer: "c", offset: 1 },
            { stream: "ld-gap", after: 0 },
            { "@type": "Nonsense" },
          ]) {
            messages.push(await socket.ask(message));
          }

          assert.deepEqual(
            messages.map((message) => message["@type"]),
            ["Subscribed", "ReplicationFrame", "ReplicationFrame", "ReplicationFrame", "CaughtUp", "Unsubscribed", "Published", "OffsetSaved", "GapSignal", "Error"],
          );
          for (const message of messages) {
            assert.match(message["@context"], /^https?:\/\/[^/]+\/streamld\/context\.jsonld$/, message.text);
          }
          assert.deepEqual(messages.slice(1, 4).map((message) => message.event.payload), [
            { "@type": "@json", "@value": { a: 1 } },
            { "@context": { b: "urn:b" }, b: 2 },
            { "@type": "xsd:base64Binary", "@value": "eA==" },
          ]);
        },
        "",
        { protocols: ["streamld.ld+json"] },
      );
    });
  });
});

describe("the end of a WebSocket", () => {
  test("a draining gateway closes with 1012, spread over the drain time", async (t) => {
    const gateway = await startGateway(t, { args: ["--drain", "2s"] });
    const sockets = await Promise.all(Array.from({ length: 80 }, () => WsClient.open(gateway, "?stream=drained&after=0")));
    await publish(gateway, "drained", {});
    for (const socket of sockets) await socket.frame("drained");

    gateway.signal("SIGTERM");
    const ends = await within(
      Promise.all(sockets.map((socket) => socket.closed.then(({ code }) => ({ code, at: Date.now() })))),
      "eighty closes",
    );
    const end = await within(gateway.exited, "the end of the gateway");

    assert.deepEqual([...new Set(ends.map(({ code }) => code))], [1012]);
    const times = ends.map((one) => one.at).sort((a, b) => a - b);
    assert.ok(times.at(-1) - times[0] > 100, `they are not all closed at once: ${times.at(-1) - times[0]} ms`);
    assert.equal(end.code, 0);
  });

  test("a client that is gone leaves no subscription behind", async (t) => {
    const gateway = await startGateway(t);
    await publish(gateway, "left", {});
    const polite = await WsClient.open(gateway, "?stream=left&after=0");
    const rude = await RawWebSocket.open(gateway, "/replication?stream=left&after=0");
    await polite.frame("left");
    await rude.message();
    assert.equal(await subscriptionCount(gateway, "left"), 2);

    polite.socket.close(1000);
    rude.connection.socket.resetAndDestroy();

    await until(async () => (await subscriptionCount(gateway, "left")) === 0, "no subscription is left");
    assert.equal(await polite.closeCode(), 1000);
  });
});
