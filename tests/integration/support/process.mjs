// Other programs that take part: curl and the sqlite3 command line.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { Inbox, within } from "./wait.mjs";

/** Runs a program to its end. `input` goes to its standard input. */
export async function run(command, args, { input, seconds = 20 } = {}) {
  const child = spawn(command, args, { stdio: ["pipe", "pipe", "pipe"] });
  const out = [];
  const err = [];
  child.stdout.on("data", (bytes) => out.push(bytes));
  child.stderr.on("data", (bytes) => err.push(bytes));
  child.stdin.on("error", () => {}); // It may refuse to read on.
  child.stdin.end(input);
  const end = new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => resolve(code));
  });
  try {
    const code = await within(end, `the end of ${command}`, seconds);
    return { code, stdout: Buffer.concat(out).toString("utf8"), stderr: Buffer.concat(err).toString("utf8") };
  } finally {
    child.kill("SIGKILL");
  }
}

/** curl, silent; returns its standard output. */
export async function curl(...args) {
  const { code, stdout, stderr } = await run("curl", ["-sS", "--max-time", "30", ...args], { seconds: 40 });
  assert.equal(code, 0, `curl ${args.join(" ")}: ${stderr}`);
  return stdout;
}

/** A curl that goes on, its output line by line. */
export function curlLines(...args) {
  const child = spawn("curl", ["-sSN", ...args], { stdio: ["ignore", "pipe", "inherit"] });
  const lines = new Inbox();
  let rest = "";
  child.stdout.setEncoding("utf8");
  child.stdout.on("data", (text) => {
    rest += text;
    const all = rest.split("\n");
    rest = all.pop();
    for (const line of all) lines.push(line);
  });
  child.once("close", (code) => lines.end(`curl ended with ${code}`));
  return { lines, stop: () => child.kill("SIGKILL") };
}

/** Runs SQL by the sqlite3 command line; stops at the first error. */
export function sqlite(path, sql, seconds = 20) {
  return run("sqlite3", ["-batch", "-bail", "-cmd", ".timeout 10000", path], { input: sql, seconds });
}

/** The same, which must succeed; returns what it printed. */
export async function sqliteOk(path, sql) {
  const { code, stdout, stderr } = await sqlite(path, sql);
  assert.equal(code, 0, stderr);
  return stdout.trim();
}

/** A sqlite3 command line that stays open, as another program would. */
export class SqliteSession {
  #child;
  #lines = new Inbox();
  #errors = "";
  #marks = 0;

  constructor(path) {
    this.#child = spawn("sqlite3", ["-batch", path], { stdio: ["pipe", "pipe", "pipe"] });
    this.ended = new Promise((resolve) => this.#child.once("close", resolve));
    let rest = "";
    this.#child.stdout.setEncoding("utf8");
    this.#child.stdout.on("data", (text) => {
      rest += text;
      const all = rest.split("\n");
      rest = all.pop();
      for (const line of all) this.#lines.push(line);
    });
    this.#child.stderr.on("data", (text) => (this.#errors += text));
    this.#child.once("close", () => this.#lines.end("sqlite3 ended"));
    this.#child.stdin.on("error", () => {});
    this.#child.stdin.write(".timeout 30000\n");
  }

  /** Runs statements and returns the lines they print. Throws on an error. */
  async run(sql, seconds = 60) {
    this.#marks += 1;
    const mark = `mark-${this.#marks}`;
    this.#child.stdin.write(`${sql}\n.print ${mark}\n`);
    const printed = [];
    for (;;) {
      const line = await this.#lines.next(`sqlite3's answer to ${sql.slice(0, 100)}`, seconds);
      if (line === mark) break;
      printed.push(line);
    }
    const errors = this.#errors;
    this.#errors = "";
    if (errors) throw new Error(`sqlite3: ${errors}`);
    return printed;
  }

  async close() {
    this.#child.stdin.end();
    try {
      await within(this.ended, "the end of sqlite3", 10);
    } finally {
      this.#child.kill("SIGKILL");
    }
  }
}

/** A text as an SQL literal. */
export const quoted = (text) => `'${text.replaceAll("'", "''")}'`;
