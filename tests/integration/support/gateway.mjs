// The program under test: started on a free port with a store of its own, and ended by its own process id. The store is a
// file in a folder of its own, or (STREAMLD_TEST_STORE=postgres) a fresh database on the run's server.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { env } from "node:process";
import { after, before } from "node:test";
import { freshDatabase, usesPostgres } from "./postgres.mjs";
import { within } from "./wait.mjs";

export const program = env.STREAMLD_BIN;
const output_kept = 256 * 1024;
const children = new Set();

// Whatever way this test process ends, it leaves nothing running.
process.on("exit", () => {
  for (const child of children) child.kill("SIGKILL");
});

export class Gateway {
  #options;
  #child = null;
  #exit = null;
  #wasKilled = false;
  #database = null;

  /**
   * options: args; dir, kept if given; engine, "sqlite" or "postgres"; store, an existing one, by path or URL; shell, commands of bash that come before the program in the same
   * process; before, a command that bash itself is run by. Both find the folder in STREAMLD_DIR.
   */
  constructor(options = {}) {
    this.#options = options;
    this.dir = options.dir ?? null;
    const asked = options.engine ?? (usesPostgres ? "postgres" : "sqlite");
    this.engine = options.store === undefined ? asked : options.store.startsWith("postgres") ? "postgres" : "sqlite";
    this.stdout = "";
    this.stderr = "";
  }

  /** Starts it, or starts it again on the same store, with further settings if need be. */
  async start(...more) {
    assert.ok(program, "STREAMLD_BIN names the program under test");
    this.dir ??= await mkdtemp(join(tmpdir(), "streamld-it-"));
    await this.#findStore();
    this.stdout = "";
    this.stderr = "";
    this.#wasKilled = false;
    const args = ["serve", ...this.#settings(more)];
    const { shell, before: wrapper = [] } = this.#options;
    const command = [program, ...args];
    if (shell) command.unshift(...wrapper, "bash", "-c", `${shell} exec "$0" "$@"`);
    const child = spawn(command[0], command.slice(1), {
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...env, STREAMLD_DIR: this.dir },
    });
    this.#child = child;
    children.add(child);
    this.#exit = new Promise((resolve) => {
      child.once("error", (error) => resolve({ code: null, signal: null, error }));
      child.once("close", (code, signal) => {
        children.delete(child);
        resolve({ code, signal });
      });
    });
    child.stderr.on("data", (bytes) => {
      this.stderr = (this.stderr + bytes).slice(-output_kept);
    });
    const ready = new Promise((resolve, reject) => {
      child.stdout.on("data", (bytes) => {
        this.stdout = (this.stdout + bytes).slice(-output_kept);
        const line = /^listening on (http:\/\/\S+)$/m.exec(this.stdout);
        if (line) resolve(line[1]);
      });
      this.#exit.then((end) => reject(new Error(`it ended before it listened: ${JSON.stringify(end)}\n${this.stderr}`)));
    });
    this.base = (await within(ready, "the line `listening on`", 20)).replace(/\/$/, "");
    this.port = Number(new URL(this.base).port);
    this.ws = this.base.replace("http", "ws");
    return this;
  }

  /** `store` is the URL; `path` the file, where there is one. The same again after a restart. */
  async #findStore() {
    if (this.engine === "sqlite") {
      this.path = (this.#options.store ?? join(this.dir, "events.db")).replace(/^sqlite:/, "");
      this.store = `sqlite:${this.path}`;
    } else {
      if (this.#options.store === undefined) this.#database ??= await freshDatabase();
      this.store = this.#options.store ?? this.#database.url;
    }
  }

  #settings(more) {
    const given = [...(this.#options.args ?? []), ...more];
    const settings = [...given];
    if (!given.includes("--listen")) settings.push("--listen", "127.0.0.1:0");
    if (!given.includes("--store")) settings.push("--store", this.store);
    if (!given.includes("--drain")) settings.push("--drain", "1s");
    return settings;
  }

  get pid() {
    return this.#child.pid;
  }

  /** Resolves to {code, signal} when the process has ended. */
  get exited() {
    return this.#exit;
  }

  get isRunning() {
    return this.#child !== null && this.#child.exitCode === null && this.#child.signalCode === null;
  }

  signal(name) {
    this.#child.kill(name);
  }

  /** SIGTERM, and the end it must come to: exit code 0 and no report of a sanitizer. */
  async stop() {
    if (this.isRunning) this.signal("SIGTERM");
    const end = await within(this.#exit, "the end after SIGTERM", 30);
    assert.deepEqual({ code: end.code, signal: end.signal }, { code: 0, signal: null }, `how it ended\n${this.stderr}`);
    this.#assertNoReport();
  }

  /** kill -9, as a power cut would. */
  async kill9() {
    this.#wasKilled = true;
    this.signal("SIGKILL");
    await within(this.#exit, "the end after SIGKILL", 10);
    this.#assertNoReport();
  }

  /** Stops it, if it still runs, and removes its folder and its database. */
  async discard() {
    try {
      if (this.isRunning && !this.#wasKilled) await this.stop();
      else if (this.#child) this.#assertNoReport();
    } finally {
      if (this.isRunning) this.signal("SIGKILL");
      if (this.dir && !this.#options.dir) await rm(this.dir, { recursive: true, force: true });
      await this.#database?.drop();
      this.#database = null;
    }
  }

  #assertNoReport() {
    assert.doesNotMatch(this.stderr, /Sanitizer|runtime error:|Assertion .* failed|terminate called/, this.stderr);
  }

  /** Resident memory in bytes. */
  async rss() {
    const status = await readFile(`/proc/${this.pid}/status`, "utf8");
    return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)[1]) * 1024;
  }

  /** Processor time used so far, in seconds. */
  async cpuSeconds() {
    const stat = await readFile(`/proc/${this.pid}/stat`, "utf8");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return (Number(fields[11]) + Number(fields[12])) / 100;
  }
}

/** For a `describe`: one gateway for all its tests. */
export function sharedGateway(options) {
  const gateway = new Gateway(options);
  before(() => gateway.start());
  after(() => gateway.discard());
  return gateway;
}

/** For one test. */
export async function startGateway(t, options) {
  const gateway = new Gateway(options);
  t.after(() => gateway.discard());
  return gateway.start();
}

/** Runs the program to its end; for starts that must fail. */
export async function runToEnd(args, seconds = 15) {
  const child = spawn(program, args, { stdio: ["ignore", "pipe", "pipe"] });
  children.add(child);
  let stdout = "";
  let stderr = "";
  child.stdout.on("data", (bytes) => (stdout += bytes));
  child.stderr.on("data", (bytes) => (stderr += bytes));
  const end = new Promise((resolve) => child.once("close", (code, signal) => resolve({ code, signal })));
  try {
    const { code, signal } = await within(end, `the end of ${args.join(" ")}`, seconds);
    return { code, signal, stdout, stderr };
  } finally {
    child.kill("SIGKILL");
    children.delete(child);
  }
}
