// Postgres as the tests use it: the server of the run, servers of one's own, sessions, psql.

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { appendFileSync, chownSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { env } from "node:process";
import pg from "pg";
import { run } from "./process.mjs";
import { until, within } from "./wait.mjs";

/** Which engine a gateway gets that asks for none. */
export const usesPostgres = env.STREAMLD_TEST_STORE === "postgres";

const running = new Set();
const folders = new Set();
process.on("exit", () => {
  for (const child of running) child.kill("SIGQUIT"); // Ends the server's own children, too.
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

/** The administrator's URL of the server that ctest has started (postgres_server.sh). */
export function sharedServer() {
  const file = env.STREAMLD_TEST_POSTGRES_FILE;
  const url = env.STREAMLD_TEST_POSTGRES || (file && existsSync(file) ? readFileSync(file, "utf8").trim() : "");
  assert.ok(url, "a Postgres server: STREAMLD_TEST_POSTGRES names one");
  return url;
}

/** The same URL with another database, user or port. */
export function withParts(url, { database, user, port }) {
  const parts = new URL(url);
  if (database !== undefined) parts.pathname = `/${database}`;
  if (user !== undefined) parts.username = user;
  if (port !== undefined) parts.port = `${port}`;
  return parts.href;
}

/** One connection, as another program would have it. An error of the connection itself is kept in `lost`. */
export class SqlSession {
  lost = null;
  notifications = [];

  static async open(url, settings = {}) {
    const session = new SqlSession();
    session.client = new pg.Client({ connectionString: url, ...settings });
    session.client.on("error", (error) => (session.lost = error));
    session.client.on("notification", (one) => session.notifications.push(one));
    await session.client.connect();
    return session;
  }

  /** The rows of one statement, or of the last of several. */
  async run(sql, parameters) {
    const result = await this.client.query(sql, parameters);
    return (Array.isArray(result) ? result.at(-1) : result).rows;
  }

  /** The first column of the first row. */
  async value(sql, parameters) {
    const [row] = await this.run(sql, parameters);
    return row && Object.values(row)[0];
  }

  get backend() {
    return this.client.processID;
  }

  async close() {
    await this.client.end().catch(() => {}); // It may be lost already.
  }
}

/** Runs `use` with a session. */
export async function withSql(url, use) {
  const session = await SqlSession.open(url);
  try {
    return await use(session);
  } finally {
    await session.close();
  }
}

/** A database of one's own: {url, name, drop()}. */
export async function freshDatabase(server = sharedServer()) {
  const name = `streamld_test_${randomBytes(8).toString("hex")}`;
  await withSql(server, (session) => session.run(`CREATE DATABASE ${name}`));
  const drop = () => withSql(server, (session) => session.run(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`));
  return { url: withParts(server, { database: name }), name, drop };
}

/** SQL by the psql command line, which stops at the first error. */
export function psql(url, sql, seconds = 30) {
  return run("psql", ["--no-psqlrc", "--quiet", "--tuples-only", "--no-align", "--set=ON_ERROR_STOP=1", url], { input: sql, seconds });
}

/** The same, which must succeed; returns what it printed. */
export async function psqlOk(url, sql, seconds) {
  const { code, stdout, stderr } = await psql(url, sql, seconds);
  assert.equal(code, 0, stderr);
  return stdout.trim();
}

/** The folder of the server's programs. */
function binaries() {
  const debian = "/usr/lib/postgresql";
  const versions = existsSync(debian) ? readdirSync(debian).sort((a, b) => a - b) : [];
  const found = versions.map((version) => join(debian, version, "bin")).filter((bin) => existsSync(join(bin, "initdb")));
  return found.at(-1) ?? execFileSync("pg_config", ["--bindir"], { encoding: "utf8" }).trim();
}

/** Whom servers run as: they refuse to be root. */
export function serverUser() {
  if (process.getuid() !== 0) return {};
  const number = (flag) => Number(execFileSync("id", [flag, "postgres"], { encoding: "utf8" }));
  return { uid: number("-u"), gid: number("-g") };
}

/** A folder that servers may use, gone with this process. Sockets need a short path. */
export function serverFolder(user = serverUser()) {
  const folder = mkdtempSync("/tmp/streamld-pg-");
  folders.add(folder);
  if (user.uid !== undefined) chownSync(folder, user.uid, user.gid);
  return folder;
}

/** A port that was free a moment ago, outside of the range that clients get theirs from. */
export const randomPort = () => 20_000 + Math.floor(Math.random() * 12_000);

/**
 * A server of one test's own, which it may stop and start: `await PostgresServer.create(t, {fsync, settings, small})`.
 * `small`: the size of a file system of its own, which is mounted (root only) and which fill() fills.
 */
export class PostgresServer {
  #user = serverUser();
  #bin = binaries();
  #child = null;
  #exit = null;
  #keeper = null;
  #within = [];
  log = "";

  static async create(t, { fsync = true, settings = {}, small } = {}) {
    const server = new PostgresServer();
    t.after(() => server.discard());
    server.folder = serverFolder(server.#user);
    if (small) await server.#mount(small);
    server.#initialise({ fsync: fsync ? "on" : "off", ...settings });
    for (let attempt = 1; ; attempt += 1) {
      server.port = randomPort();
      try {
        return await server.start();
      } catch (error) {
        if (attempt === 10 || !/could not bind/.test(server.log)) throw error;
      }
    }
  }

  /** In a mount namespace that ends with its last process; `cat` is its first and ends with us. */
  async #mount(size) {
    const { uid, gid } = this.#user;
    const script = `mount -t tmpfs -o size=${size},uid=${uid},gid=${gid} none '${this.folder}' && echo mounted && exec cat`;
    const keeper = spawn("unshare", ["--mount", "--propagation", "private", "sh", "-c", script], { stdio: ["pipe", "pipe", "inherit"] });
    this.#keeper = endsWithUs(keeper);
    await within(once(keeper.stdout, "data"), "the small file system");
    const become = ["setpriv", `--reuid=${uid}`, `--regid=${gid}`, "--clear-groups"];
    this.#within = ["nsenter", "--mount", "--target", `${keeper.pid}`, ...become];
    this.#user = {};
  }

  /** The command line of one of the server's programs, and how to start it. */
  #command(program, ...args) {
    const [first, ...rest] = [...this.#within, join(this.#bin, program), ...args];
    return [first, rest, { ...this.#user, cwd: this.folder, stdio: ["ignore", "ignore", "pipe"] }];
  }

  /** A file of the server's, as it is seen from here. */
  #path(name) {
    const inside = join(this.folder, name);
    return this.#keeper ? `/proc/${this.#keeper.pid}/root${inside}` : inside;
  }

  /** Takes the room that is left on the small file system. */
  fill() {
    const zeros = Buffer.alloc(64 * 1024);
    try {
      for (;;) appendFileSync(this.#path("ballast"), zeros);
    } catch (error) {
      assert.equal(error.code, "ENOSPC");
    }
  }

  makeRoom() {
    rmSync(this.#path("ballast"));
  }

  #initialise(settings) {
    const data = join(this.folder, "data");
    execFileSync(...this.#command("initdb", "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "-N"));
    const all = { listen_addresses: "127.0.0.1", unix_socket_directories: this.folder, max_connections: 200, ...settings };
    const lines = Object.entries(all).map(([name, value]) => `${name} = '${value}'\n`);
    appendFileSync(this.#path("data/postgresql.conf"), lines.join(""));
  }

  /** Starts it, or starts it again on the same port; resolves when it takes connections. */
  async start() {
    this.log = "";
    const child = spawn(...this.#command("postgres", "-D", join(this.folder, "data"), "-p", `${this.port}`));
    this.#child = child;
    running.add(child);
    child.stderr.on("data", (bytes) => (this.log = (this.log + bytes).slice(-256 * 1024)));
    let hasEnded = false;
    this.#exit = new Promise((resolve) => {
      child.once("exit", () => {
        hasEnded = true;
        running.delete(child);
        resolve();
      });
    });
    await until(async () => {
      if (hasEnded) throw new Error(`the server ended: ${this.log}`);
      return withSql(this.url(), () => true).catch(() => false);
    }, "the server takes connections", 60);
    return this;
  }

  get isRunning() {
    return running.has(this.#child);
  }

  url(database = "postgres", user = "postgres") {
    return `postgres://${user}@127.0.0.1:${this.port}/${database}`;
  }

  /** fast: sessions are ended and all is written. immediate: as a crash, recovered at the next start. */
  async stop(mode = "fast") {
    if (!this.isRunning) return;
    this.#child.kill(mode === "immediate" ? "SIGQUIT" : "SIGINT");
    await within(this.#exit, `the ${mode} end of the server`, 60);
  }

  /** Sets what a reload can set; {} sets nothing any more. */
  async configure(settings) {
    const lines = Object.entries(settings).map(([name, value]) => `${name} = '${value}'\n`);
    writeFileSync(this.#path("data/postgresql.auto.conf"), lines.join(""));
    this.#child.kill("SIGHUP");
    const [name, value] = Object.entries(settings)[0] ?? ["default_transaction_read_only", "off"];
    await until(() => withSql(this.url(), (session) => session.value(`SHOW ${name}`)).then((now) => now === `${value}`), `${name} is ${value}`);
  }

  freshDatabase() {
    return freshDatabase(this.url());
  }

  async discard() {
    await this.stop("immediate");
    this.#keeper?.kill();
    rmSync(this.folder, { recursive: true, force: true });
    folders.delete(this.folder);
  }
}

/** Keeps a child that is to end with this process. */
export function endsWithUs(child) {
  running.add(child);
  child.once("exit", () => running.delete(child));
  return child;
}
