import { randomUUID } from "node:crypto";
import { setTimeout } from "node:timers/promises";
import { toFault } from "#runtime/faults.ts";
import type { Service } from "#runtime/funnel/service.ts";
import { workAsSystem } from "#runtime/funnel/system-work.ts";
import type { Context } from "#runtime/operation/context.ts";
import { keywordsOf } from "#tools/sms/keywords.ts";
import type { Heard } from "#tools/voice/engine/engine.ts";
import { type ReadSoFar, soFarReader } from "#tools/voice/engine/heard.ts";
import { theirLines } from "#tools/voice/engine/transcript.ts";
import type { Answer } from "#tools/voice-calls/call.ts";
import { hear, noteBreak } from "#tools/voice-calls/hear.ts";
import { saysStop } from "#tools/voice-calls/news.ts";
import { applyNotices } from "./apply-notices.ts";
import { type CallbackReader, takeIn } from "./callbacks.ts";

/** The side of one call that speaks with the vendor's WebSocket. */
export interface Line {
  reader: CallbackReader;
  sendId: string;
}

/**
 * The next step of a live call, stored before a word is said. A stop that cannot be stored so, because another writer has
 * the player, is taken in as the vendor's news would be: it is in force at once, and its call is over.
 */
export async function hearOn(
  service: Service,
  line: Line,
  heard: Heard,
  providerCallId?: string,
): Promise<Answer> {
  const { reader, sendId } = line;
  const requestId = randomUUID();
  return persist(service, async () => {
    try {
      return await write(service, reader, requestId, async (context) => {
        const { notices, ...answer } = await hear(context, sendId, heard, providerCallId);
        if (notices.length > 0) await applyNotices(context, reader, notices);
        return answer;
      });
    } catch (error) {
      if (isPassing(error) && (await tookStop(service, line, heard, requestId)))
        return { say: [], act: "end" };
      throw error;
    }
  });
}

/** Takes what was heard in as news of an ended call, if it is a stop. Answers whether it is. */
async function tookStop(
  service: Service,
  { reader, sendId }: Line,
  heard: Heard,
  requestId: string,
): Promise<boolean> {
  if (heard.kind !== "speech" && heard.kind !== "keys") return false;
  const lines = theirLines(heard, 0, 0).map(({ by, text, keys }) => ({ by, text, ...(keys && { keys }) }));
  const at = new Date(service.directory.now()).toISOString();
  const news = { kind: "call", eventId: `heard:${requestId}`, at, sendId, state: "ended", lines } as const;
  if (!(await write(service, reader, requestId, (context) => saysStop(context, news)))) return false;
  await takeIn(service, reader, [news]);
  return true;
}

/** Reads a person's unfinished words by the keywords of the property. */
export async function openSoFar(service: Service, { reader }: Line): Promise<ReadSoFar> {
  return persist(service, () =>
    write(service, reader, randomUUID(), async (context) => soFarReader(await keywordsOf(context))),
  );
}

/** Notes that the WebSocket of a call broke. */
export function breakLine(service: Service, { reader, sendId }: Line): Promise<void> {
  return persist(service, () =>
    write(service, reader, randomUUID(), (context) => noteBreak(context, sendId)),
  );
}

/** The time for which a step waits for a lock, or for the database. */
const MOST_WAIT_MS = 60_000;
const LONGEST_PAUSE_MS = 1_000;

/** Tries again until the work is stored: a person says a thing once. */
async function persist<T>(service: Service, work: () => Promise<T>): Promise<T> {
  const giveUpAt = performance.now() + MOST_WAIT_MS;
  for (let pause = 50; ; pause = Math.min(2 * pause, LONGEST_PAUSE_MS)) {
    try {
      return await work();
    } catch (error) {
      if (!isPassing(error) || performance.now() > giveUpAt) throw error;
      service.log.warn({ err: error }, "a step of a call is not stored yet; trying again");
      await setTimeout(pause);
    }
  }
}

const isPassing = (error: unknown) => toFault(error).code === "unavailable";

async function write<T>(
  service: Service,
  { propertyId }: CallbackReader,
  requestId: string,
  work: (context: Context) => Promise<T>,
): Promise<T> {
  const property = await service.directory.property(propertyId);
  if (!property) throw new Error("the property of a call is gone");
  return workAsSystem(service, { property, transport: "page", requestId }, work);
}
