// The Prometheus text format, parsed strictly.

import assert from "node:assert/strict";
import { call } from "./http.mjs";

const sample = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(\{[^}]*\})? (\S+)(?: (-?\d+))?$/;
const label = /^([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"$/;

/** {types: Map(name -> type), samples: [{name, labels, value}]} */
export function parseMetrics(text) {
  assert.ok(text.endsWith("\n"), "the text ends with a line break");
  const types = new Map();
  const samples = [];
  for (const line of text.split("\n")) {
    if (line === "" || /^# HELP \S+ /.test(line)) continue;
    const type = /^# TYPE (\S+) (counter|gauge|histogram|summary|untyped)$/.exec(line);
    if (type) {
      assert.ok(!types.has(type[1]), `one TYPE for ${type[1]}`);
      types.set(type[1], type[2]);
      continue;
    }
    const match = sample.exec(line);
    assert.ok(match, `a line of metrics: ${line}`);
    const labels = {};
    for (const part of (match[2] ?? "{}").slice(1, -1).split(/,(?=[a-zA-Z_][a-zA-Z0-9_]*=")/).filter(Boolean)) {
      const pair = label.exec(part);
      assert.ok(pair, `a label: ${part}`);
      labels[pair[1]] = pair[2];
    }
    const value = match[3] === "+Inf" ? Infinity : Number(match[3]);
    assert.ok(!Number.isNaN(value), `a value: ${line}`);
    samples.push({ name: match[1], labels, value });
  }
  return { types, samples };
}

export async function readMetrics(gateway) {
  const answer = await call(gateway, "GET", "/metrics");
  assert.equal(answer.status, 200, answer.text);
  assert.match(answer.headers["content-type"], /^text\/plain\b/);
  return parseMetrics(answer.text);
}

/** The sum over all samples of a name whose labels fit. */
export function sum({ samples }, name, labels = {}) {
  return samples
    .filter((one) => one.name === name && Object.entries(labels).every(([key, value]) => one.labels[key] === value))
    .reduce((total, one) => total + one.value, 0);
}

/** One value, as it is now. */
export async function metric(gateway, name, labels) {
  const metrics = await readMetrics(gateway);
  assert.ok(metrics.types.has(name), `the metric ${name}`);
  return sum(metrics, name, labels);
}
