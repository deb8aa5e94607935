import { setTimeout as pause } from "node:timers/promises";
import { Fault } from "#runtime/faults.ts";

/** Milliseconds. A page with a frame, and the refresh of another one, render the same message at once. */
const PAUSES = [250, 500, 1_000];

/** Asks for a preview again where others of the property are rendering. Between two tries it holds no connection. */
export async function patiently<T>(preview: () => Promise<T>): Promise<T> {
  for (const milliseconds of PAUSES) {
    try {
      return await preview();
    } catch (error) {
      if (!(error instanceof Fault) || error.code !== "unavailable") throw error;
      await pause(milliseconds);
    }
  }
  return preview();
}
