// PgBouncer in transaction mode before a Postgres server, for one test.

import { spawn, spawnSync } from "node:child_process";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { endsWithUs, randomPort, serverFolder, serverUser, withParts, withSql } from "./postgres.mjs";
import { until } from "./wait.mjs";

const command = ["/usr/sbin/pgbouncer", "/usr/local/bin/pgbouncer", "pgbouncer"].find(
  (name) => spawnSync(name, ["--version"]).status === 0,
);
export const hasPgBouncer = command !== undefined;

/** Starts one before the server of that URL; resolves to the same URL by way of it. */
export async function startPgBouncer(t, url) {
  const { hostname, port } = new URL(url);
  const user = serverUser();
  const folder = serverFolder(user);
  const settings = join(folder, "pgbouncer.ini");
  let log = "";
  for (let attempt = 1; ; attempt += 1) {
    const own = randomPort();
    // auth_type any needs a fixed user for the server's side.
    writeFileSync(
      settings,
      `[databases]\n* = host=${hostname} port=${port} user=postgres\n[pgbouncer]\n` +
        `listen_addr = 127.0.0.1\nlisten_port = ${own}\nunix_socket_dir =\nauth_type = any\npool_mode = transaction\n` +
        `max_client_conn = 200\ndefault_pool_size = 20\n`,
    );
    const child = endsWithUs(spawn(command, [settings], { ...user, cwd: folder, stdio: ["ignore", "pipe", "pipe"] }));
    child.stdout.on("data", (bytes) => (log += bytes));
    child.stderr.on("data", (bytes) => (log += bytes));
    let hasEnded = false;
    child.once("exit", () => (hasEnded = true));
    const through = withParts(url, { port: own });
    const isUp = await until(async () => hasEnded || withSql(through, () => "up").catch(() => false), `PgBouncer: ${log}`);
    if (isUp === "up") {
      t.after(() => {
        child.kill("SIGINT");
        rmSync(folder, { recursive: true, force: true });
      });
      return through;
    }
    if (attempt === 5) throw new Error(`PgBouncer ended: ${log}`);
  }
}
