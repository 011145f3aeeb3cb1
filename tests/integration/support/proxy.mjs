// A TCP relay that can cut every connection at once, as a network does.

import net from "node:net";

export class CutProxy {
  #pairs = new Set();
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
  }

  get open() {
    return this.#pairs.size;
  }

  /** Resets every connection there is. */
  cut() {
    for (const { client, upstream } of this.#pairs) {
      client.resetAndDestroy();
      upstream.destroy();
    }
  }

  close() {
    this.cut();
    this.server.close();
  }
}
