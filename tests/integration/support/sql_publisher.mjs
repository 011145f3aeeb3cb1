// Another program that publishes by SQL, on either engine.

import { SqlSession, psqlOk } from "./postgres.mjs";
import { quoted, sqliteOk, SqliteSession } from "./process.mjs";

/** Publishes texts into a stream, all in one transaction. */
class BySqlite {
  constructor(gateway) {
    this.session = new SqliteSession(gateway.path);
  }

  async publish(stream, texts) {
    const rows = texts.map((text) => `(${quoted(stream)},${quoted(text)})`);
    await this.session.run(`BEGIN IMMEDIATE; INSERT INTO streamld_publish (stream, payload) VALUES ${rows.join(",")}; COMMIT;`);
  }

  /** Holds the lock that publishers of this stream need. */
  async hold() {
    await this.session.run("BEGIN IMMEDIATE;");
  }

  async release() {
    await this.session.run("ROLLBACK;");
  }

  close() {
    return this.session.close();
  }
}

class ByPostgres {
  async open(gateway) {
    this.session = await SqlSession.open(gateway.store);
    return this;
  }

  /** `rollback`: it is all undone in the end. */
  async publish(stream, texts, { rollback = false, before = async () => {} } = {}) {
    await this.session.run("BEGIN");
    for (const text of texts) await this.session.run("SELECT streamld.publish($1, $2::text)", [stream, text]);
    await before();
    await this.session.run(rollback ? "ROLLBACK" : "COMMIT");
  }

  async hold(stream) {
    await this.session.run("BEGIN");
    await this.session.run("SELECT streamld.publish($1, $2::text)", [stream, '"held"']);
  }

  async release() {
    await this.session.run("ROLLBACK");
  }

  close() {
    return this.session.close();
  }
}

export async function openSqlPublisher(gateway) {
  return gateway.engine === "postgres" ? new ByPostgres().open(gateway) : new BySqlite(gateway);
}

/** One text by the engine's command line, as a person would. */
export async function publishBySql(gateway, stream, text) {
  if (gateway.engine === "postgres") return psqlOk(gateway.store, `SELECT streamld.publish(${quoted(stream)}, ${quoted(text)});`);
  return sqliteOk(gateway.path, `INSERT INTO streamld_publish (stream, payload) VALUES (${quoted(stream)}, ${quoted(text)});`);
}
