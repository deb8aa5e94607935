import { randomUUID } from "node:crypto";
import { setTimeout } from "node:timers/promises";
import { toFault } from "#runtime/faults.ts";
import type { Service } from "#runtime/funnel/service.ts";
import { workAsSystem } from "#runtime/funnel/system-work.ts";
import type { Context } from "#runtime/operation/context.ts";
import { keywordsOf } from "#tools/sms/keywords.ts";
import type { Heard } from "#tools/voice/engine/engine.ts";
import { type ReadSoFar, soFarReader } from "#tools/voice/engine/heard.ts";
import { hear, noteBreak, type Reply } from "#tools/voice-calls/hear.ts";
import { applyNotices } from "./apply-notices.ts";
import type { CallbackReader } from "./callbacks.ts";

/** The side of one call that speaks with the vendor's WebSocket. */
export interface Line {
  reader: CallbackReader;
  sendId: string;
}

/** The next step of a live call, stored before a word is said. */
export async function hearOn(
  service: Service,
  { reader, sendId }: Line,
  heard: Heard,
  providerCallId?: string,
): Promise<Omit<Reply, "notices">> {
  return write(service, reader, async (context) => {
    const { notices, ...reply } = await hear(context, sendId, heard, providerCallId);
    if (notices.length > 0) await applyNotices(context, reader, notices);
    return reply;
  });
}

/** Reads a person's unfinished words by the keywords of the property. */
export async function openSoFar(service: Service, { reader }: Line): Promise<ReadSoFar> {
  return write(service, reader, async (context) => soFarReader(await keywordsOf(context)));
}

/** Notes that the WebSocket of a call broke. */
export function breakLine(service: Service, { reader, sendId }: Line): Promise<void> {
  return write(service, reader, (context) => noteBreak(context, sendId));
}

/** The time for which a step waits for a lock, or for the database. */
const MOST_WAIT_MS = 60_000;
const LONGEST_PAUSE_MS = 1_000;

/** The person says a stop once: what was heard must not be lost to a lock that another writer holds. */
async function write<T>(
  service: Service,
  { propertyId }: CallbackReader,
  work: (context: Context) => Promise<T>,
): Promise<T> {
  const giveUpAt = performance.now() + MOST_WAIT_MS;
  for (let pause = 50; ; pause = Math.min(2 * pause, LONGEST_PAUSE_MS)) {
    try {
      const property = await service.directory.property(propertyId);
      if (!property) throw new Error("the property of a call is gone");
      return await workAsSystem(service, { property, transport: "page", requestId: randomUUID() }, work);
    } catch (error) {
      if (toFault(error).code !== "unavailable" || performance.now() > giveUpAt) throw error;
      service.log.warn({ err: error }, "a step of a call is not stored yet; trying again");
      await setTimeout(pause);
    }
  }
}
