// Server-sent events: what comes first, what the ids are, what a client resumes from, and how an event stream ends.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { EventSource } from "eventsource";
import { sharedGateway, startGateway } from "./support/gateway.mjs";
import { assertDense, assertProblem, at, call, fill, publish, streamInfo, subscriptionCount, tokens } from "./support/http.mjs";
import { CutProxy } from "./support/proxy.mjs";
import { exchangeRaw, RawConnection } from "./support/raw.mjs";
import { scaled } from "./support/scale.mjs";
import { openSse, withSse } from "./support/sse.mjs";
import { until, within } from "./support/wait.mjs";

describe("server-sent events", () => {
  const gateway = sharedGateway();
  const sse = { accept: "text/event-stream" };
  const refused = (path, headers = {}) => call(gateway, "GET", path, { headers: { ...sse, ...headers } });
  const cursors = async (stream, count) => (await stream.messages(count)).map(({ frame }) => frame.cursor);

  test("the head and the first block come before any event exists", async () => {
    await withSse(gateway, at("quiet", "/events"), {}, async (stream) => {
      const position = await stream.next();

      assert.equal(stream.status, 200);
      assert.match(stream.headers["content-type"], /^text\/event-stream\b/);
      assert.match(stream.headers["cache-control"], /no-store/);
      assert.equal(stream.headers["x-accel-buffering"], "no");
      assert.equal(stream.headers["content-encoding"], undefined);
      assert.equal(position.event, "position");
      assert.equal(position.id, "0");
      assert.deepEqual(JSON.parse(position.data), { "@type": "Position", cursor: 0 });
      assert.ok(stream.retry >= 1500 && stream.retry <= 2500, `${stream.retry}`);
    });
  });

  test("retry differs from connection to connection within its bounds", async () => {
    const values = new Set();
    for (let i = 0; i < 20; i += 1) {
      await withSse(gateway, at("quiet", "/events"), {}, async (stream) => {
        await stream.named("position");
        assert.ok(Number.isInteger(stream.retry) && stream.retry >= 1500 && stream.retry <= 2500, `${stream.retry}`);
        values.add(stream.retry);
      });
    }
    assert.ok(values.size > 5, [...values].join(" "));
  });

  test("nothing is compressed, whatever the client offers", async () => {
    await withSse(gateway, at("quiet", "/events"), { headers: { "accept-encoding": "gzip, br, deflate, zstd" } }, async (stream) => {
      assert.equal(stream.headers["content-encoding"], undefined);
      await stream.named("position");
    });
  });

  test("an event is an id, one data line and no name", async () => {
    await publish(gateway, "shape", '{"a": 1}');
    await withSse(gateway, at("shape", "/events?after=0"), {}, async (stream) => {
      await stream.message();
      const block = stream.text.slice(stream.text.indexOf("id: 1\n"));
      assert.match(
        block,
        /^id: 1\ndata: \{"@type":"ReplicationFrame","cursor":1,"event":\{"@type":"EventEnvelope","streamId":"shape","sequence":1,"isSnapshot":false,"createdAt":\d+,"payload":\{"a": 1\}\}\}\n\n$/,
      );
    });
  });

  test("without a start it is a live tail, and every event has its id", async () => {
    await fill(gateway, "tail", 3);
    await withSse(gateway, at("tail", "/events"), {}, async (stream) => {
      assert.equal((await stream.named("position")).id, "3");
      for (const n of [4, 5]) {
        await publish(gateway, "tail", { n });
        const event = await stream.message();
        assert.deepEqual([event.id, event.frame.cursor], [`${n}`, n]);
      }
    });
  });

  test("after, last, from, consumer and key choose the start", async () => {
    for (let n = 1; n <= 6; n += 1) {
      await publish(gateway, "starts", { n }, { query: `?key=${n % 2 ? "odd" : "even"}${n === 4 ? "&snapshot=true" : ""}` });
    }
    await call(gateway, "PUT", at("starts", "/consumers/c"), { body: '{"offset":5}' });
    for (const [query, position, first] of [
      ["after=2", "2", 3],
      ["last=2", "4", 5],
      ["last=2&key=odd", undefined, 3],
      ["from=snapshot", "3", 4],
      ["consumer=c", "5", 6],
      ["consumer=new", "0", 1],
      ["after=0&key=even", "0", 2],
    ]) {
      await withSse(gateway, at("starts", `/events?${query}`), {}, async (stream) => {
        const start = await stream.named("position");
        if (position) assert.equal(start.id, position, query);
        assert.equal((await cursors(stream, 1))[0], first, query);
      });
    }
  });

  test("the header goes before the parameter, the parameter before the start options", async () => {
    await fill(gateway, "precedence", 10);
    for (const [query, header, first] of [
      ["?lastEventId=5", undefined, 6],
      ["?Last-Event-ID=5", undefined, 6],
      ["?after=5", undefined, 6],
      ["?after=3", "7", 8],
      ["?lastEventId=3", "7", 8],
      ["?lastEventId=3&after=1", "7", 8],
      ["?lastEventId=3&after=1", undefined, 4],
      ["?last=1", "2", 3],
      ["?from=snapshot", "4", 5],
      ["?after=3", "", 4],
      ["?after=3&lastEventId=", "", 4],
    ]) {
      const headers = header === undefined ? {} : { "last-event-id": header };
      await withSse(gateway, at("precedence", `/events${query}`), { headers }, async (stream) => {
        assert.equal((await stream.named("position")).id, `${first - 1}`, query);
        assert.equal((await cursors(stream, 1))[0], first, `${query} ${header}`);
      });
    }
    assertProblem(await refused(at("precedence", "/events?after=3&after=9")), 400, "invalid-parameter");
    assertProblem(await refused(at("precedence", "/events?lastEventId=3&Last-Event-ID=4")), 400, "invalid-parameter");
    assertProblem(await refused(at("precedence", "/events?lasteventid=3")), 400, "invalid-parameter");
  });

  test("an id outlives a restart", async (t) => {
    const own = await startGateway(t);
    await fill(own, "kept", 5);
    await own.kill9();
    await own.start();

    await withSse(own, at("kept", "/events"), { headers: { "last-event-id": "3" } }, async (stream) => {
      assert.deepEqual(await cursors(stream, 2), [4, 5]);
    });
  });

  test("id=epoch gives ids that know their log, and both forms are understood", async () => {
    await fill(gateway, "epochs", 3);
    const { epoch } = await streamInfo(gateway, "epochs");
    await withSse(gateway, at("epochs", "/events?after=1&id=epoch"), {}, async (stream) => {
      assert.equal((await stream.named("position")).id, `1.${epoch}`);
      assert.deepEqual((await stream.messages(2)).map(({ id }) => id), [`2.${epoch}`, `3.${epoch}`]);
    });
    for (const id of ["2", `2.${epoch}`]) {
      for (const query of ["", "?id=epoch"]) {
        await withSse(gateway, at("epochs", `/events${query}`), { headers: { "last-event-id": id } }, async (stream) => {
          const event = await stream.message();
          assert.equal(event.frame.cursor, 3);
          assert.equal(event.id, query ? `3.${epoch}` : "3");
        });
      }
    }
    const foreign = await refused(at("epochs", "/events"), { "last-event-id": "2.0000000000000000" });
    assert.deepEqual([foreign.status, foreign.json.reason], [409, "epoch"]);
  });

  test("over several streams an id is the position in all of them", async () => {
    await fill(gateway, "multi a", 2);
    await fill(gateway, "multi/b", 3);
    const path = "/events?stream=multi+a&stream=multi%2Fb";
    await withSse(gateway, `${path}&after=1`, {}, async (stream) => {
      const position = await stream.named("position");
      assert.deepEqual(position.body, { "@type": "Position", cursors: { "multi a": 1, "multi/b": 1 } });
      assert.deepEqual(Object.fromEntries(new URLSearchParams(position.id)), { "multi a": "1", "multi/b": "1" });

      const expected = { "multi a": 1, "multi/b": 1 };
      for (const event of await stream.messages(3)) {
        expected[event.frame.event.streamId] += 1;
        assert.equal(event.frame.cursor, expected[event.frame.event.streamId]);
        const id = Object.fromEntries([...new URLSearchParams(event.id)].map(([name, n]) => [name, Number(n)]));
        assert.deepEqual(id, expected);
      }
      await publish(gateway, "multi/b", {});
      const last = await stream.message();
      assert.deepEqual(Object.fromEntries(new URLSearchParams(last.id)), { "multi a": "2", "multi/b": "4" });
    });
    await withSse(gateway, path, { headers: { "last-event-id": "multi+a=1&multi%2Fb=3" } }, async (stream) => {
      const frames = (await stream.messages(2)).map(({ frame }) => [frame.event.streamId, frame.cursor]);
      assert.deepEqual(frames.sort(), [["multi a", 2], ["multi/b", 4]]);
    });
  });

  test("over several streams id=epoch names each log", async () => {
    await fill(gateway, "me-a", 1);
    await fill(gateway, "me-b", 1);
    const epochs = { "me-a": (await streamInfo(gateway, "me-a")).epoch, "me-b": (await streamInfo(gateway, "me-b")).epoch };
    const path = "/events?stream=me-a&stream=me-b&id=epoch";
    let id;
    await withSse(gateway, `${path}&after=0`, {}, async (stream) => {
      id = (await stream.messages(2)).at(-1).id;
      assert.deepEqual(Object.fromEntries(new URLSearchParams(id)), { "me-a": `1.${epochs["me-a"]}`, "me-b": `1.${epochs["me-b"]}` });
    });
    await publish(gateway, "me-b", {});
    await withSse(gateway, path, { headers: { "last-event-id": id } }, async (stream) => {
      const { frame } = await stream.message();
      assert.deepEqual([frame.event.streamId, frame.cursor], ["me-b", 2]);
    });
    const foreign = await refused(path, { "last-event-id": id.replace(epochs["me-b"], "0000000000000000") });
    assert.deepEqual([foreign.status, foreign.json.stream, foreign.json.reason], [409, "me-b", "epoch"]);
  });

  test("a stream that the id leaves out starts as if there were no id", async () => {
    await fill(gateway, "left-a", 2);
    await fill(gateway, "left-b", 2);
    await withSse(gateway, "/events?stream=left-a&stream=left-b", { headers: { "last-event-id": "left-a=0" } }, async (stream) => {
      const position = await stream.named("position");
      assert.deepEqual(position.body.cursors, { "left-a": 0, "left-b": 2 });
      assert.deepEqual(await cursors(stream, 2), [1, 2]);
    });
  });

  test("one event stream carries fifty streams", async () => {
    const streams = Array.from({ length: 50 }, (_, i) => `fifty-${i}`);
    await Promise.all(streams.map((stream) => fill(gateway, stream, 3)));
    const query = streams.map((stream) => `stream=${stream}`).join("&");
    await withSse(gateway, `/events?${query}&after=0`, {}, async (stream) => {
      const seen = new Map(streams.map((name) => [name, []]));
      for (const { frame } of await stream.messages(150, 30)) seen.get(frame.event.streamId).push(frame.cursor);
      for (const [name, numbers] of seen) assertDense(numbers, 1, 3, name);
    });
  });

  test("a start that is not resolvable is a 409, or a gap event and the end", async () => {
    await fill(gateway, "gone", 6, 3);
    const answer = await refused(at("gone", "/events?after=1"));
    assert.equal(answer.status, 409);
    assert.match(answer.headers["content-type"], /^application\/json\b/);
    assert.match(answer.headers["cache-control"], /no-store/);

    const stream = await openSse(gateway, at("gone", "/events?after=1&gap=event"));
    const gap = await stream.named("gap");
    assert.equal(stream.status, 200);
    assert.match(stream.headers["content-type"], /^text\/event-stream\b/);
    assert.deepEqual(gap.body, answer.json);
    assert.equal(await within(stream.ended, "the end"), "end");
  });

  test("the native client that meets a gap event can go on by it", async (t) => {
    await fill(gateway, "gone-native", 6, 3);
    const url = (query) => `${gateway.base}${at("gone-native", `/events?${query}`)}`;
    const first = new EventSource(url("after=1&gap=event"));
    t.after(() => first.close());
    const gap = await within(new Promise((resolve) => first.addEventListener("gap", (event) => resolve(JSON.parse(event.data)))), "a gap event");
    first.close();
    const second = new EventSource(url(`after=${gap.oldestAvailable - 1}&gap=event`));
    t.after(() => second.close());
    const seen = [];
    second.onmessage = (event) => seen.push(Number(event.lastEventId));
    await until(() => seen.length === 3, "three events");
    assert.deepEqual(seen, [4, 5, 6]);
  });

  test("HEAD gives the headers and ends", async () => {
    await fill(gateway, "head", 3, 1);
    for (const [path, status] of [
      [at("head", "/events"), 200],
      [at("head", "/events?after=1"), 200],
      [at("unborn-head", "/events"), 200],
      ["/events?stream=head", 200],
      [at("head", "/events?after=0"), 409],
      [at("head", "/events?after=x"), 400],
    ]) {
      const connection = await RawConnection.open(gateway.port);
      connection.write(`HEAD ${path} HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\nGET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n`);
      const head = await connection.readAnswer({ isHead: true });
      assert.equal(head.status, status, path);
      if (status === 200) assert.match(head.headers["content-type"], /^text\/event-stream\b/, path);
      if (!/close/i.test(head.headers.connection ?? "")) assert.equal((await connection.readAnswer()).status, 200, path);
      connection.destroy();
    }
    assert.equal(await subscriptionCount(gateway, "head"), 0);
  });

  test("a client that leaves is noticed without an event", async () => {
    await publish(gateway, "leaver", {});
    const stream = await openSse(gateway, at("leaver", "/events"));
    await stream.named("position");
    assert.equal(await subscriptionCount(gateway, "leaver"), 1);

    stream.close();

    await until(async () => (await subscriptionCount(gateway, "leaver")) === 0, "the subscription is gone");
  });

  test("JSON-LD frames are whole documents", async () => {
    await publish(gateway, "linked", '{"a":1}');
    await withSse(gateway, at("linked", "/events?after=0&format=ld%2Bjson"), {}, async (stream) => {
      const { frame } = await stream.message();
      assert.match(frame["@context"], /^https?:\/\/[^/]+\/streamld\/context\.jsonld$/);
      assert.deepEqual(frame.event.payload, { "@type": "@json", "@value": { a: 1 } });
    });
  });

  test("a page and an event stream of one path say that Accept decides", async () => {
    await publish(gateway, "vary", {});
    assert.ok(tokens((await call(gateway, "GET", at("vary", "/events"))).headers.vary).includes("accept"));
    await withSse(gateway, at("vary", "/events"), {}, async (stream) => {
      assert.match(stream.headers["content-type"], /^text\/event-stream/);
    });
    const browser = await withSse(gateway, at("vary", "/events?after=0"), { headers: { accept: "text/event-stream, */*;q=0.1" } }, (stream) =>
      stream.message(),
    );
    assert.equal(browser.frame.cursor, 1);
  });

  test("the text an event stream is made of is UTF-8 whatever was published", async () => {
    await publish(gateway, "utf8", Buffer.from([0xff, 0xfe, 0x00, 0x0d, 0x0a]), { headers: { "content-type": "application/octet-stream" } });
    await publish(gateway, "utf8", '"caf\u00e9 \u{1f600} \u2028"');
    const answer = await exchangeRaw(gateway, `GET ${at("utf8", "/events?after=0")} HTTP/1.1\r\nHost: localhost\r\nAccept: application/x-ndjson\r\n\r\n`);
    assert.doesNotThrow(() => new TextDecoder("utf-8", { fatal: true }).decode(answer.bytes));
    await withSse(gateway, at("utf8", "/events?after=0"), {}, async (stream) => {
      const [bytes, text] = await stream.messages(2);
      assert.equal(bytes.frame.event.payload["@value"], "//4ADQo=");
      assert.equal(text.frame.event.payload, "caf\u00e9 \u{1f600} \u2028");
    });
  });
});

describe("server-sent events in silence", () => {
  const gateway = sharedGateway({ args: ["--heartbeat", "1s"] });

  test("a comment without a blank line comes with each heartbeat", async () => {
    await withSse(gateway, at("beat", "/events"), {}, async (stream) => {
      await stream.named("position");
      await until(() => stream.comments >= 2, "two heartbeats");
      const rest = stream.text.slice(stream.text.indexOf("\n\n") + 2);
      assert.match(rest, /^(:[^\n]*\n)+$/, JSON.stringify(rest));
      await publish(gateway, "beat", { n: 1 });
      assert.equal((await stream.message()).frame.cursor, 1, "a comment before it does no harm");
    });
  });

  test("the position moves with a heartbeat where a key hides the events", async () => {
    await withSse(gateway, at("rare", "/events?key=rare"), {}, async (stream) => {
      assert.equal((await stream.named("position")).id, "0");
      for (let n = 1; n <= 3; n += 1) await publish(gateway, "rare", { n }, { query: "?key=common" });
      let position;
      do position = await stream.named("position");
      while (position.id !== "3");
      assert.deepEqual(position.body, { "@type": "Position", cursor: 3 });
      const comments = stream.comments;
      await until(() => stream.comments >= comments + 2, "two more heartbeats");
      assert.deepEqual(stream.inbox.peek(), [], "a position that has not moved is not told again");
      await publish(gateway, "rare", { n: 4 }, { query: "?key=rare" });
      assert.equal((await stream.message()).id, "4");
    });
  });

  test("a reader of a rare key that comes back resumes from the position it was told", async (t) => {
    const proxy = await CutProxy.open(gateway);
    t.after(() => proxy.close());
    const source = new EventSource(`${proxy.base}${at("rare-native", "/events?key=rare")}`);
    t.after(() => source.close());
    const positions = [];
    const seen = [];
    source.addEventListener("position", (event) => positions.push(event.lastEventId));
    source.onmessage = (event) => seen.push(event.lastEventId);
    await until(() => positions.length >= 1, "the first position");
    for (let n = 1; n <= 3; n += 1) await publish(gateway, "rare-native", { n }, { query: "?key=common" });
    await until(() => positions.includes("3"), "the moved position");
    const before = positions.length;

    proxy.cut();
    await publish(gateway, "rare-native", { n: 4 }, { query: "?key=rare" });
    await until(() => seen.length === 1, "the event that was published meanwhile", 15);

    assert.deepEqual(seen, ["4"]);
    assert.equal(positions[before], "3", "it came back at its place");
  });
});

describe("EventSource over a network that cuts", () => {
  const gateway = sharedGateway();

  test("a client cut before its first event comes back to its place", async (t) => {
    await fill(gateway, "cut-first", 5);
    const proxy = await CutProxy.open(gateway);
    t.after(() => proxy.close());
    const source = new EventSource(`${proxy.base}${at("cut-first", "/events")}`);
    t.after(() => source.close());
    const seen = [];
    let positions = 0;
    source.addEventListener("position", () => (positions += 1));
    source.onmessage = (event) => seen.push(JSON.parse(event.data).cursor);
    await until(() => positions === 1, "the position");

    proxy.cut();
    await publish(gateway, "cut-first", { n: 6 });
    await until(() => seen.length > 0, "the event that was missed", 15);

    assert.deepEqual(seen, [6], "the missed one once, and nothing older");
  });

  test("many cuts lose nothing and repeat nothing, over one stream and over several", async (t) => {
    const proxy = await CutProxy.open(gateway);
    t.after(() => proxy.close());
    const names = ["cuts-a", "cuts-b"];
    const urls = {
      single: `${proxy.base}${at("cuts-a", "/events?after=0")}`,
      several: `${proxy.base}/events?stream=cuts-a&stream=cuts-b&after=0`,
      epochs: `${proxy.base}/events?stream=cuts-a&stream=cuts-b&after=0&id=epoch`,
    };
    const seen = {};
    for (const [name, url] of Object.entries(urls)) {
      seen[name] = { "cuts-a": [], "cuts-b": [] };
      const source = new EventSource(url);
      t.after(() => source.close());
      source.onmessage = (event) => {
        const frame = JSON.parse(event.data);
        seen[name][frame.event.streamId].push(frame.cursor);
      };
    }
    const rounds = scaled(6, 3);
    let head = 0;
    for (let round = 0; round < rounds; round += 1) {
      const connections = proxy.accepted;
      for (let i = 0; i < 20; i += 1) {
        head += 1;
        await Promise.all(names.map((name) => publish(gateway, name, { n: head })));
        if (i === 10) proxy.cut();
      }
      await until(() => proxy.accepted >= connections + 3 || round === 0, "they come back", 15);
    }
    await until(
      () => seen.single["cuts-a"].at(-1) === head && names.every((name) => seen.several[name].at(-1) === head && seen.epochs[name].at(-1) === head),
      "all have read to the end",
      20,
    );

    assertDense(seen.single["cuts-a"], 1, head, "single");
    for (const name of names) {
      assertDense(seen.several[name], 1, head, `several ${name}`);
      assertDense(seen.epochs[name], 1, head, `epochs ${name}`);
    }
    assert.deepEqual(seen.single["cuts-b"], []);
  });
});

describe("event streams of a gateway that drains", () => {
  test("they end by themselves, and a client comes back to the next gateway without loss", async (t) => {
    const gateway = await startGateway(t);
    const { port } = gateway;
    await fill(gateway, "drained", 2);
    const stream = await openSse(gateway, at("drained", "/events?after=0"));
    await stream.messages(2);
    const source = new EventSource(`${gateway.base}${at("drained", "/events?after=0")}`);
    t.after(() => source.close());
    const seen = [];
    source.onmessage = (event) => seen.push(JSON.parse(event.data).cursor);
    await until(() => seen.length === 2, "both events");

    gateway.signal("SIGTERM");
    assert.equal(await within(stream.ended, "the end of the event stream"), "end");
    assert.equal((await within(gateway.exited, "the end of the gateway")).code, 0);
    await gateway.start("--listen", `127.0.0.1:${port}`);
    await publish(gateway, "drained", { n: 3 });

    await until(() => seen.length >= 3, "the event after the restart", 15);
    assert.deepEqual(seen, [1, 2, 3]);
  });
});
