import { randomUUID } from "node:crypto";
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

async function write<T>(
  service: Service,
  { propertyId }: CallbackReader,
  work: (context: Context) => Promise<T>,
): Promise<T> {
  const property = await service.directory.property(propertyId);
  if (!property) throw new Error("the property of a call is gone");
  return workAsSystem(service, { property, transport: "page", requestId: randomUUID() }, work);
}
