// How much work a test does and how long it waits: less and longer in a sanitizer build (ctest tells which build it is).

import { env } from "node:process";

export const isSlow = env.STREAMLD_SLOW === "1" || Boolean(env.STREAMLD_SANITIZE);

/** A count: the first in a release build, the second in a slow one. */
export const scaled = (normal, slow) => (isSlow ? slow : normal);

/** Seconds of patience. */
export const patient = (seconds) => (isSlow ? seconds * 5 : seconds);
