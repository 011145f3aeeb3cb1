// engine: sqlite
// A gateway that has as many connections as it may: whoever comes is told so, in a language it understands.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { startGateway } from "./support/gateway.mjs";
import { assertProblem, at, call } from "./support/http.mjs";
import { RawConnection } from "./support/raw.mjs";
import { until } from "./support/wait.mjs";

/** Connections that hold their places: each has had an answer. */
async function takePlaces(gateway, count) {
  const places = [];
  for (let i = 0; i < count; i += 1) {
    const place = await RawConnection.open(gateway.port);
    place.write("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert.equal((await place.readAnswer()).status, 200);
    places.push(place);
  }
  return places;
}

describe("beyond the limit of connections", () => {
  test("probes are answered, event streams are told to return, the rest gets 429, and places become free again", async (t) => {
    const gateway = await startGateway(t, { args: ["--shards", "1", "--max-connections", "3"] });
    // On a connection of its own: one that is kept would hold a place.
    assert.equal((await call(gateway, "POST", at("full", "/events"), { fresh: true, body: "1" })).status, 201);
    const places = await takePlaces(gateway, 3);
    const fresh = { fresh: true };

    assert.equal((await call(gateway, "GET", "/healthz", fresh)).status, 200);
    assert.equal((await call(gateway, "GET", "/metrics", fresh)).status, 200);
    const stream = await call(gateway, "GET", at("full", "/events"), { ...fresh, headers: { accept: "text/event-stream" } });
    assert.equal(stream.status, 200);
    assert.match(stream.text, /^retry: \d{4,5}\n\n$/);
    const refused = await call(gateway, "GET", at("full", "/events"), fresh);
    assertProblem(refused, 429, "too-many-requests");
    assert.ok(Number(refused.headers["retry-after"]) >= 1);
    assert.equal(refused.headers.connection, "close");

    for (const place of places) place.destroy();
    await until(
      async () => (await call(gateway, "GET", at("full", "/events"), fresh)).status === 200,
      "a place is free again",
    );
  });

  test("those who have a place are not disturbed", async (t) => {
    const gateway = await startGateway(t, { args: ["--shards", "1", "--max-connections", "2"] });
    const [place] = await takePlaces(gateway, 2);
    await call(gateway, "GET", "/healthz", { fresh: true });

    place.write(`POST ${at("full", "/events")} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n\r\n1`);

    assert.equal((await place.readAnswer()).status, 201);
  });
});
