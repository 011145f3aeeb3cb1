// A TCP relay that can cut every connection at once, or go silent without a word, as networks do.

import net from "node:net";

export class CutProxy {
  #pairs = new Set();
  #isSilent = false;
  accepted = 0;

  static async open(target) {
    const proxy = new CutProxy();
    proxy.server = net.createServer((client) => proxy.#relay(client, target));
    await new Promise((resolve) => proxy.server.listen(0, "127.0.0.1", resolve));
    proxy.port = proxy.server.address().port;
    proxy.base = `http://127.0.0.1:${proxy.port}`;
    return proxy;
  }

  #relay(client, target) {
    this.accepted += 1;
    const upstream = net.connect({ host: "127.0.0.1", port: target.port });
    const pair = { client, upstream };
    this.#pairs.add(pair);
    const drop = () => {
      this.#pairs.delete(pair);
      client.destroy();
      upstream.destroy();
    };
    client.on("error", drop).on("close", drop);
    upstream.on("error", drop).on("close", drop);
    client.pipe(upstream).pipe(client);
    if (this.#isSilent) this.#mute(pair);
  }

  #mute({ client, upstream }) {
    client.unpipe(upstream);
    upstream.unpipe(client);
    // Read on and forget: the peers' kernels see nothing wrong.
    for (const socket of [client, upstream]) socket.on("data", () => {}).resume();
  }

  /** Forwards nothing any more, on connections that are there and on new ones, and closes none. */
  goSilent() {
    this.#isSilent = true;
    for (const pair of this.#pairs) this.#mute(pair);
  }

  /** Forwards for new connections again; those that went silent stay so, as after a change of routes. */
  speakAgain() {
    this.#isSilent = false;
  }

  get open() {
    return this.#pairs.size;
  }

  /** Resets every connection there is. */
  cut() {
    for (const { client, upstream } of this.#pairs) {
      // A socket whose end was sent cannot be reset any more: Node would leak it, and spin at its own exit.
      if (client.writableEnded) client.destroy();
      else client.resetAndDestroy();
      upstream.destroy();
    }
  }

  close() {
    for (const { client, upstream } of this.#pairs) {
      client.destroy();
      upstream.destroy();
    }
    this.server.close();
  }
}
