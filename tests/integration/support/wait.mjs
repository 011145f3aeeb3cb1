// Every wait has a deadline and says what it waited for.

import { setTimeout as pause } from "node:timers/promises";
import { patient } from "./scale.mjs";

/** Looks again and again until the condition gives something truthy, and returns that. */
export async function until(condition, what, seconds = 10) {
  const deadline = Date.now() + patient(seconds) * 1000;
  for (;;) {
    const result = await condition();
    if (result) return result;
    if (Date.now() > deadline) throw new Error(`waited in vain: ${what}`);
    await pause(10);
  }
}

/** The promise's result, or an error that says what did not come in time. */
export async function within(promise, what, seconds = 10) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`did not come in time: ${what}`)), patient(seconds) * 1000);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Things that arrive one after the other, and readers that wait for the next one. */
export class Inbox {
  #items = [];
  #waiting = [];
  #end = null;

  push(item) {
    this.#items.push(item);
    this.#wake();
  }

  /** No more will come; whoever waits on is told why. */
  end(reason) {
    this.#end ??= reason;
    this.#wake();
  }

  get size() {
    return this.#items.length;
  }

  get isEnded() {
    return this.#end !== null;
  }

  /** Removes and returns the first item that fits. */
  async take(fits, what, seconds = 10) {
    const look = () => {
      const at = this.#items.findIndex(fits);
      return at < 0 ? null : { item: this.#items.splice(at, 1)[0] };
    };
    let found = look();
    if (found) return found.item;
    const arrival = async () => {
      while (!found) {
        if (this.#end !== null) throw new Error(`${this.#end} while waiting for ${what}`);
        await new Promise((resolve) => this.#waiting.push(resolve));
        found = look();
      }
      return found.item;
    };
    return within(arrival(), what, seconds);
  }

  next(what = "the next item", seconds = 10) {
    return this.take(() => true, what, seconds);
  }

  /** What has arrived and was not taken. */
  peek() {
    return [...this.#items];
  }

  #wake() {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const resolve of waiting) resolve();
  }
}
